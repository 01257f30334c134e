//! LEB128 and zigzag integers.

#[cfg(feature = "read")]
use crate::error::Fault;

/// Appends an integer.
pub(super) fn push(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

/// Removes an integer from the start of `bytes`.
#[cfg(feature = "read")]
#[inline]
pub(super) fn take(bytes: &mut &[u8]) -> Result<u64, Fault> {
    match **bytes {
        [byte, ref rest @ ..] if byte < 0x80 => {
            *bytes = rest;
            Ok(byte.into())
        }
        _ => take_long(bytes),
    }
}

#[cfg(feature = "read")]
fn take_long(bytes: &mut &[u8]) -> Result<u64, Fault> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds bit 63 only.
        if place == 9 && byte > 1 {
            return Err(too_large(64));
        }
        value |= bits << (7 * place);
        if byte & 0x80 == 0 {
            *bytes = &bytes[place + 1..];
            return Ok(value);
        }
    }
    Err(NOT_FILLED.into())
}

/// The rule about the length of blocks.
#[cfg(feature = "read")]
pub(super) const NOT_FILLED: &str = "the records do not fill the block exactly";

#[cfg(feature = "read")]
pub(super) fn too_large(bits: u32) -> Fault {
    format!("an integer does not fit in {bits} bits").into()
}

/// Returns the difference from `from` to `to` as a zigzag integer. Differences wrap, so any two ids have one.
pub(super) fn difference(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from).cast_signed();
    ((difference << 1) ^ (difference >> 63)).cast_unsigned()
}

/// Returns the integer whose [`difference`] from `from` is `zigzag`.
#[cfg(feature = "read")]
pub(super) fn add(from: u64, zigzag: u64) -> u64 {
    from.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg())
}

#[cfg(all(test, feature = "read"))]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_documented_bytes() {
        for (value, expected) in [(0, &[0][..]), (127, &[127]), (128, &[0x80, 1]), (300, &[0xac, 2])] {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn integers_are_read_back() {
        for value in (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest).unwrap(), value);
            assert!(rest.is_empty());
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]).unwrap_err().to_string(), NOT_FILLED);
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        for bytes in [&[&[0xff; 9][..], &[2]].concat()[..], &[0xff; 11]] {
            let error = take(&mut &*bytes).unwrap_err().to_string();
            assert_eq!(error, "an integer does not fit in 64 bits");
        }
    }

    #[test]
    fn differences_are_zigzag() {
        for (from, to, zigzag) in
            [(5, 5, 0), (5, 4, 1), (5, 6, 2), (5, 3, 3), (u64::MAX, 0, 2), (0, u64::MAX, 1)]
        {
            assert_eq!(difference(from, to), zigzag);
            assert_eq!(add(from, zigzag), to);
        }
        for (from, to) in [(0, 1 << 63), (1 << 63, 0), (u64::MAX, 1), (3, u64::MAX - 7)] {
            assert_eq!(add(from, difference(from, to)), to);
        }
    }
}
