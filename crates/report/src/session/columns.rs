//! Lists of numbers as text: LEB128 integers in base64, which `data.js` reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

/// A list of numbers. Small numbers take little space.
#[derive(Clone, Debug, Default)]
pub(super) struct Column(Vec<u8>);

impl Column {
    /// Encodes numbers as they are.
    pub(super) fn plain(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut column = Self::default();
        numbers.into_iter().for_each(|number| column.push(number));
        column
    }

    /// Encodes the difference of each number to the previous one, as a zigzag integer: 0, -1, 1, -2 are 0, 1, 2, 3.
    pub(super) fn differences(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut previous = 0_u64;
        Self::plain(numbers.into_iter().map(|number| {
            let difference = number.wrapping_sub(previous).cast_signed();
            previous = number;
            (difference << 1 ^ difference >> 63).cast_unsigned()
        }))
    }

    fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        assert_eq!(Column::plain([0, 127, 128, 300]).0, [0, 127, 0x80, 1, 0xac, 2]);
        assert_eq!(Column::plain([u64::MAX]).0.len(), 10);
    }

    #[test]
    fn differences_are_zigzag_integers() {
        assert_eq!(Column::differences([0, 2, 1, 1]).0, [0, 4, 1, 0]);
        // The difference wraps around, and so does the reader's sum in 64 bits.
        assert_eq!(Column::differences([u64::MAX]).0, [1]);
    }

    #[test]
    fn a_column_is_base64() {
        assert_eq!(serde_json::to_string(&Column::plain([1, 2, 300])).unwrap(), "\"AQKsAg==\"");
    }
}
