//! Sizes in bytes.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::Alignment;

/// A number of bytes: the size of an allocation, a heap or a budget.
///
/// `Display` formats it in binary units, rounded to two decimals. [`get`](Self::get) returns the exact
/// number. `FromStr` reads `65536`, `64KiB`, `1.5 GiB`, and the form that `Display` writes (rounded, and below
/// 16 EiB).
///
/// ```
/// use heapwright_core::ByteSize;
///
/// assert_eq!(ByteSize::new(256).to_string(), "256 B");
/// assert_eq!(ByteSize::from_kib(1536).to_string(), "1.50 MiB");
/// assert_eq!("1.5MiB".parse(), Ok(ByteSize::from_kib(1536)));
/// assert_eq!(ByteSize::from_gib(1).checked_add(ByteSize::new(1)).map(ByteSize::get), Some((1 << 30) + 1));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// The largest representable size.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a size of `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Creates a size of `kib` KiB (1 KiB = 1,024 bytes).
    ///
    /// # Panics
    ///
    /// Panics if the size does not fit in 64 bits; in a `const`, this is a compile-time error. For a number
    /// that comes from outside, use [`checked_mul`](Self::checked_mul).
    #[must_use]
    pub const fn from_kib(kib: u64) -> Self {
        Self::in_units(kib, 10)
    }

    /// Creates a size of `mib` MiB (1 MiB = 1,048,576 bytes).
    ///
    /// # Panics
    ///
    /// Panics under the same condition as [`from_kib`](Self::from_kib).
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self::in_units(mib, 20)
    }

    /// Creates a size of `gib` GiB (1 GiB = 1,073,741,824 bytes).
    ///
    /// # Panics
    ///
    /// Panics under the same condition as [`from_kib`](Self::from_kib).
    #[must_use]
    pub const fn from_gib(gib: u64) -> Self {
        Self::in_units(gib, 30)
    }

    const fn in_units(count: u64, unit_log2: u32) -> Self {
        match count.checked_mul(1 << unit_log2) {
            Some(bytes) => Self(bytes),
            None => panic!("the size exceeds 64 bits"),
        }
    }

    /// Creates a size from a size in host memory, such as a slice's length or `size_of`.
    ///
    /// ```
    /// # use heapwright_core::ByteSize;
    /// assert_eq!(ByteSize::from_usize([0_u8; 12].len()), ByteSize::new(12));
    /// ```
    #[must_use]
    pub fn from_usize(bytes: usize) -> Self {
        // No Rust target has a usize of more than 64 bits.
        Self(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns the number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the size as a `usize`, or `None` if it does not fit in this machine's `usize`.
    #[must_use]
    pub fn to_usize(self) -> Option<usize> {
        usize::try_from(self.0).ok()
    }

    /// Returns whether the size is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sum, or `None` if it does not fit in 64 bits.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// Returns the difference, or `None` if `other` is larger.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// Returns this size times `count`, or `None` if the product does not fit in 64 bits.
    #[must_use]
    pub const fn checked_mul(self, count: u64) -> Option<Self> {
        match self.0.checked_mul(count) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// Returns the sum, or [`MAX`](Self::MAX) if it does not fit in 64 bits.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the smallest multiple of `alignment` that is not less than this size, or `None` if it does not
    /// fit in 64 bits.
    ///
    /// ```
    /// # use heapwright_core::{Alignment, ByteSize};
    /// let page = Alignment::new(4096).unwrap();
    /// assert_eq!(ByteSize::new(1).align_up(page), Some(ByteSize::from_kib(4)));
    /// assert_eq!(ByteSize::from_kib(4).align_up(page), Some(ByteSize::from_kib(4)));
    /// assert_eq!(ByteSize::ZERO.align_up(page), Some(ByteSize::ZERO));
    /// // The next multiple of 4,096 would be 2^64.
    /// assert_eq!(ByteSize::MAX.align_up(page), None);
    /// ```
    #[must_use]
    pub const fn align_up(self, alignment: Alignment) -> Option<Self> {
        match self.0.checked_add(alignment.mask()) {
            Some(sum) => Some(Self(sum & !alignment.mask())),
            None => None,
        }
    }

    /// Returns whether the size is a multiple of `alignment`.
    #[must_use]
    pub const fn is_aligned(self, alignment: Alignment) -> bool {
        self.0 & alignment.mask() == 0
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        // Hundredths of the unit, rounded half up, in the first unit in which the formatted number is below
        // 1024.00.
        let mut text = String::new();
        for (shift, unit) in (10_u32..).step_by(10).zip(UNITS) {
            let hundredths = ((u128::from(self.0) * 100) + (1 << (shift - 1))) >> shift;
            text = format!("{}.{:02} {unit}", hundredths / 100, hundredths % 100);
            if hundredths < 102_400 {
                break;
            }
        }
        f.pad(&text)
    }
}

impl fmt::Display for Alignment {
    /// Formats the alignment as a size: "64.00 KiB".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ByteSize::new(self.get()), f)
    }
}

impl fmt::Debug for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByteSize({})", self.0)
    }
}

/// Binary units, from 2^10 bytes on.
const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// The maximum number of decimals of a size in text.
const MAX_DECIMALS: usize = 6;

/// The error of a text that is no size, or one of more than 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseByteSizeError(());

impl fmt::Display for ParseByteSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a size below 2^64 bytes, such as 65536, 64KiB or 1.5 GiB")
    }
}

impl Error for ParseByteSizeError {}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    /// Reads a number with an optional unit: `B`, which is the default, or `KiB` to `EiB`. Numbers of a larger unit
    /// than `B` may have up to six decimals; a fraction of a byte is dropped.
    #[inline]
    fn from_str(text: &str) -> Result<Self, ParseByteSizeError> {
        parse(text).ok_or(ParseByteSizeError(()))
    }
}

#[inline]
fn parse(text: &str) -> Option<ByteSize> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let shift = match unit {
        "" | "B" => 0,
        _ => 10 * (UNITS.iter().position(|&name| name == unit)? + 1),
    };
    let number = if unit.is_empty() { number } else { number.trim_end_matches(' ') };
    let (whole, decimals) = match number.split_once('.') {
        Some(parts) if shift > 0 => parts,
        Some(_) => return None,
        None => (number, "0"),
    };
    // The integers' own parser accepts signs.
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(decimals) || decimals.len() > MAX_DECIMALS {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    // Below 2^64 * 2^60, and below 10^6 * 2^60.
    let whole = u128::from(whole.parse::<u64>().ok()?) << shift;
    let fraction = (decimals.parse::<u128>().ok()? << shift) / scale;
    u64::try_from(whole + fraction).ok().map(ByteSize::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_in_the_largest_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (1536 * 1024, "1.50 MiB"),
            ((1 << 20) - 1, "1.00 MiB"),
            (1023 * 1024, "1023.00 KiB"),
            (64 << 20, "64.00 MiB"),
            (1 << 40, "1.00 TiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(ByteSize::new(bytes).to_string(), text, "{bytes} bytes");
        }
    }

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("65536", 65_536),
            ("65536 B", 65_536),
            ("64KiB", 65_536),
            ("64 KiB", 65_536),
            ("1.50 MiB", 3 << 19),
            ("0.25 GiB", 1 << 28),
            ("3 TiB", 3 << 40),
            ("15.999999EiB", 18_446_742_920_788_047_009),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize::new(bytes)), "{text}");
        }
    }

    #[test]
    fn malformed_sizes_are_refused() {
        for text in [
            "",
            " ",
            "GiB",
            " GiB",
            "1 GB",
            "1gib",
            "-1",
            "-1 GiB",
            "+1 B",
            "1. GiB",
            ".5 GiB",
            "1.5",
            "1.5 B",
            "1e3",
            "1 ",
            " 1",
            "1 KiB ",
            "1\tKiB",
            "1.0000001 TiB",
            "16 EiB",
            "18446744073709551616",
            "1\u{e9}",
            "\u{e9}KiB",
        ] {
            assert!(text.parse::<ByteSize>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn arithmetic_detects_overflow() {
        assert_eq!(ByteSize::MAX.checked_add(ByteSize::new(1)), None);
        assert_eq!(ByteSize::ZERO.checked_sub(ByteSize::new(1)), None);
        assert_eq!(ByteSize::from_gib(1).checked_mul(u64::MAX), None);
        assert_eq!(ByteSize::ZERO.saturating_sub(ByteSize::new(1)), ByteSize::ZERO);
        assert_eq!(ByteSize::MAX.saturating_add(ByteSize::new(1)), ByteSize::MAX);
        assert_eq!(ByteSize::MAX.align_up(Alignment::ONE), Some(ByteSize::MAX));
        assert_eq!(ByteSize::new((1 << 63) + 1).align_up(Alignment::MAX), None);
    }

    #[test]
    #[should_panic(expected = "exceeds 64 bits")]
    fn constructors_in_units_panic_on_overflow() {
        let _ = ByteSize::from_gib(1 << 34);
    }
}
