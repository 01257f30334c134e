//! Numbers with types, as plain numbers in JSON. For `#[serde(with = "number")]`.

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset};
use serde::de::Unexpected;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number with a type.
pub(super) trait Number: Copy {
    fn to_u64(self) -> u64;
    fn from_u64(number: u64) -> Option<Self>;
}

impl Number for ByteSize {
    fn to_u64(self) -> u64 {
        self.get()
    }

    fn from_u64(number: u64) -> Option<Self> {
        Some(Self::new(number))
    }
}

impl Number for HeapOffset {
    fn to_u64(self) -> u64 {
        self.get()
    }

    fn from_u64(number: u64) -> Option<Self> {
        Some(Self::new(number))
    }
}

impl Number for GpuVirtualAddress {
    fn to_u64(self) -> u64 {
        self.get()
    }

    fn from_u64(number: u64) -> Option<Self> {
        Self::new(number)
    }
}

pub(super) fn serialize<N: Number, S: Serializer>(number: &N, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(number.to_u64())
}

pub(super) fn deserialize<'de, N: Number, D: Deserializer<'de>>(deserializer: D) -> Result<N, D::Error> {
    typed(u64::deserialize(deserializer)?)
}

fn typed<N: Number, E: serde::de::Error>(number: u64) -> Result<N, E> {
    N::from_u64(number)
        .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &"a number that is not 0"))
}

/// For `#[serde(with = "number::option")]`: absent, `null` or a number.
pub(super) mod option {
    use super::*;

    pub(in super::super) fn serialize<N: Number, S: Serializer>(
        number: &Option<N>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number.map(Number::to_u64).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, N: Number, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<N>, D::Error> {
        Option::<u64>::deserialize(deserializer)?.map(typed::<N, D::Error>).transpose()
    }
}
