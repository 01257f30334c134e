//! Sizes in text: `64 KiB`, `1.5 GiB`.

use std::fmt;

use heapwright::ByteSize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A size in a scenario file: digits, optionally with a fraction, a space and `B`, `KiB`, `MiB`, `GiB` or
/// `TiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amount(pub(super) ByteSize);

const UNITS: [(&str, u32); 5] = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

/// The maximum number of digits of a fraction: with more, a fraction of a TiB would overflow.
const MAX_FRACTION_DIGITS: usize = 6;

impl Amount {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = text.split_once(' ')?;
        let &(_, shift) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || fraction.len() > MAX_FRACTION_DIGITS {
            return None;
        }
        let whole = whole.parse::<u64>().ok()?.checked_mul(1 << shift)?;
        let scale = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
        let fraction = fraction.parse::<u64>().ok()?.checked_mul(1 << shift)? / scale;
        whole.checked_add(fraction).map(|bytes| Self(ByteSize::new(bytes)))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"64 KiB\", \"1.5 GiB\" (units: B, KiB, MiB, GiB, TiB)")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                Amount::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(AmountVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        for (text, bytes) in [
            ("0 B", 0),
            ("65536 B", 65_536),
            ("64 KiB", 65_536),
            ("1.5 GiB", 3 << 29),
            ("0.25 MiB", 1 << 18),
            ("3 TiB", 3 << 40),
        ] {
            assert_eq!(Amount::parse(text), Some(Amount(ByteSize::new(bytes))), "{text}");
        }
    }

    #[test]
    fn malformed_sizes_are_refused() {
        for text in
            ["", "1", "1 GB", "GiB", " GiB", "1GiB", "-1 GiB", "1. GiB", ".5 GiB", "1e3 B", "1  B", "+1 B"]
        {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
        assert_eq!(Amount::parse("16777216 TiB"), None, "2^64 bytes");
        assert_eq!(Amount::parse("1.0000001 TiB"), None, "too many digits");
    }
}
