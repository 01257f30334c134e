//! Validation of requests, and aligned placement in a gap.

use super::super::SuballocError;
use crate::{Alignment, ByteSize};

/// The largest capacity: 2^63 bytes.
pub(super) const MAX_CAPACITY: ByteSize = ByteSize::new(1 << 63);

/// Validates a capacity and returns it in bytes.
pub(super) fn check_capacity(capacity: ByteSize) -> Result<u64, SuballocError> {
    if capacity.is_zero() || capacity > MAX_CAPACITY {
        return Err(SuballocError::CapacityOutOfBounds { capacity, limit: MAX_CAPACITY });
    }
    Ok(capacity.get())
}

/// Validates the size of a request and returns it in bytes: 1 to the capacity.
#[inline]
pub(super) fn check_size(size: ByteSize, capacity: u64) -> Result<u64, SuballocError> {
    if size.is_zero() {
        return Err(SuballocError::ZeroSize);
    }
    if size.get() > capacity {
        return Err(SuballocError::LargerThanCapacity { requested: size, capacity: ByteSize::new(capacity) });
    }
    Ok(size.get())
}

/// Returns the lowest aligned start in the gap from `start` to `end`, if the request fits there. No argument
/// exceeds 2^63.
#[inline]
pub(super) const fn lowest_in(start: u64, end: u64, size: u64, alignment: Alignment) -> Option<u64> {
    // The sum is at most 2^64 - 1.
    let aligned = (start + alignment.mask()) & !alignment.mask();
    match end.checked_sub(aligned) {
        Some(room) if room >= size => Some(aligned),
        _ => None,
    }
}

/// Returns the highest aligned start in the gap from `start` to `end`, if the request fits there.
#[inline]
pub(super) const fn highest_in(start: u64, end: u64, size: u64, alignment: Alignment) -> Option<u64> {
    match end.checked_sub(size) {
        Some(latest) if latest & !alignment.mask() >= start => Some(latest & !alignment.mask()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_and_the_highest_place_in_a_gap() {
        let at = |log2| Alignment::from_log2(log2).unwrap();
        assert_eq!(lowest_in(10, 20, 10, at(0)), Some(10));
        assert_eq!(lowest_in(10, 20, 4, at(4)), Some(16));
        assert_eq!(lowest_in(10, 20, 5, at(4)), None);
        assert_eq!(lowest_in(1 << 63, 1 << 63, 1, Alignment::MAX), None);
        assert_eq!(lowest_in((1 << 63) - 1, 1 << 63, 1, Alignment::MAX), None);
        assert_eq!(lowest_in(0, 1 << 63, 1 << 63, Alignment::MAX), Some(0));
        assert_eq!(highest_in(10, 20, 10, at(0)), Some(10));
        assert_eq!(highest_in(10, 20, 4, at(4)), Some(16));
        assert_eq!(highest_in(10, 20, 5, at(4)), None);
        assert_eq!(highest_in(0, 1 << 63, 1 << 63, Alignment::MAX), Some(0));
        assert_eq!(highest_in(0, 9, 10, at(0)), None);
    }
}
