//! Fence values.

use std::fmt;

/// A value of a fence (`ID3D12Fence`). The GPU signals it after it has completed the work submitted before
/// the signal.
///
/// The values of one fence only increase. The numbers have no further meaning; most programs add one per
/// submission.
///
/// ```
/// use heapwright_core::FenceValue;
///
/// let submitted = FenceValue::ZERO.next().unwrap();
/// let completed = FenceValue::ZERO;
/// assert!(completed < submitted, "the GPU is not done yet");
/// assert_eq!(submitted.to_string(), "1");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FenceValue(u64);

impl FenceValue {
    /// The usual initial value of a fence, before any signal.
    pub const ZERO: Self = Self(0);

    /// The value that `ID3D12Fence::GetCompletedValue` returns after device removal: 2^64 - 1. It is never
    /// signalled, and it is larger than every value that is.
    pub const DEVICE_REMOVED: Self = Self(u64::MAX);

    /// Creates a fence value from D3D12's number.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the value as D3D12's number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the next value to signal, or `None` after the largest.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

impl fmt::Display for FenceValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for FenceValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FenceValue({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_before_the_one_of_removed_devices() {
        assert_eq!(FenceValue::new(7).next(), Some(FenceValue::new(8)));
        assert_eq!(FenceValue::DEVICE_REMOVED.next(), None);
        assert!(FenceValue::new(u64::MAX - 1) < FenceValue::DEVICE_REMOVED);
        assert_eq!(format!("{:>4}|{:#?}", FenceValue::new(7), FenceValue::new(7)), "   7|FenceValue(7)");
    }
}
