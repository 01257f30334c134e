//! How far a GPU has come.

use std::fmt;

/// A value of a fence (`ID3D12Fence`): the GPU signals it when it has finished what was submitted before.
///
/// The values of one fence only go up. It counts nothing by itself; most programs add one for each submission.
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
    /// What most fences start with: nothing was signalled.
    pub const ZERO: Self = Self(0);

    /// What `ID3D12Fence::GetCompletedValue` answers when the device was removed: 2^64 - 1. It is reached by no signal, and
    /// larger than each that is.
    pub const DEVICE_REMOVED: Self = Self(u64::MAX);

    /// The given value, as D3D12 counts.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The value as D3D12 takes it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The value to signal after this one; `None` after the largest.
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
    fn values_go_up_to_the_one_that_says_the_device_is_gone() {
        assert_eq!(FenceValue::new(7).next(), Some(FenceValue::new(8)));
        assert_eq!(FenceValue::DEVICE_REMOVED.next(), None);
        assert!(FenceValue::new(u64::MAX - 1) < FenceValue::DEVICE_REMOVED);
        assert_eq!(format!("{:>4}|{:#?}", FenceValue::new(7), FenceValue::new(7)), "   7|FenceValue(7)");
    }
}
