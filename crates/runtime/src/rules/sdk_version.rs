//! The version of the Agility SDK, on which rules and interfaces depend.

use std::fmt;
use std::str::FromStr;

/// A version of the Agility SDK: `619.4` for the package 1.619.4.
///
/// A program selects the first number with `D3D12SDKVersion`; the second one is that of the `D3D12Core.dll` it ships.
///
/// ```
/// use heapwright_runtime::SdkVersion;
///
/// let version: SdkVersion = "619.4".parse()?;
/// assert_eq!(version, SdkVersion::new(619, 4));
/// assert!(version < SdkVersion::NEWEST && SdkVersion::default() == SdkVersion::NEWEST);
/// // Without the second number, the newest package of that version.
/// assert!("618".parse::<SdkVersion>()? > SdkVersion::new(618, 5));
/// assert_eq!("1.619.4".parse(), Ok(version));
/// # Ok::<(), heapwright_runtime::ParseSdkVersionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SdkVersion {
    number: u32,
    revision: u32,
}

impl SdkVersion {
    /// The newest retail version whose rules the runtime knows.
    pub const NEWEST: Self = Self::new(619, 5);

    /// The first version in which an `Alignment` beside the tight alignment flag is a floor.
    pub(crate) const ALIGNMENT_FLOOR: Self = Self::new(619, 4);

    /// The first version with `ID3D12Device15` and D3D12_FEATURE_D3D12_OPTIONS22.
    pub(crate) const DEVICE15: Self = Self::new(619, 0);

    /// The first version that takes a size of 0 in views by byte offsets.
    pub(crate) const IMPLICIT_VIEW_SIZE: Self = Self::new(619, 4);

    /// The first version with D3D12_FEATURE_BARRIER_LAYOUT.
    pub(crate) const BARRIER_LAYOUT: Self = Self::new(618, 0);

    /// The newest preview whose rules the runtime knows. A device has them only if it is opened with it.
    #[cfg(feature = "preview")]
    pub const PREVIEW: Self = Self::new(721, 1);

    /// The first version with layout GUIDs and the heap flag of memory tracking.
    #[cfg(feature = "preview")]
    pub(crate) const FIRST_PREVIEW: Self = Self::new(721, 0);

    /// Returns the version of the package 1.`number`.`revision`.
    #[must_use]
    pub const fn new(number: u32, revision: u32) -> Self {
        Self { number, revision }
    }
}

impl Default for SdkVersion {
    /// Returns [`NEWEST`](Self::NEWEST).
    fn default() -> Self {
        Self::NEWEST
    }
}

/// The error of a text that is not a version, such as `619.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseSdkVersionError;

impl fmt::Display for ParseSdkVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Agility SDK has a version such as 619 or 619.4")
    }
}

impl std::error::Error for ParseSdkVersionError {}

impl FromStr for SdkVersion {
    type Err = ParseSdkVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix("1.").unwrap_or(text);
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().ok_or(ParseSdkVersionError)
        };
        match text.split_once('.') {
            Some((version, revision)) => Ok(Self::new(number(version)?, number(revision)?)),
            None => Ok(Self::new(number(text)?, u32::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_both_numbers() {
        let versions = ["4", "608", "618.0", "618.5", "618", "619.3", "619.4", "619.5"];
        let parsed: Vec<SdkVersion> = versions.iter().map(|text| text.parse().expect(text)).collect();
        assert!(parsed.is_sorted(), "{parsed:?}");
        assert!(parsed.windows(2).all(|pair| pair[0] != pair[1]), "{parsed:?}");
        for text in ["", ".", "619.", ".4", "619.4.1", "-1", "+619", "x", "619 ", "99999999999"] {
            assert_eq!(text.parse::<SdkVersion>(), Err(ParseSdkVersionError), "{text}");
        }
    }
}
