//! Sizes in scenario files: `64 KiB`, `1.5 GiB`.

use std::fmt;

use heapwright::ByteSize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A size in a scenario file: a string that is a [`ByteSize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount(pub(super) ByteSize);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"64 KiB\", \"1.5 GiB\" (units: B, KiB, MiB, GiB, TiB)")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map(Amount).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(AmountVisitor)
    }
}
