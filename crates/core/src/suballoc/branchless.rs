//! Branchless selection.

/// Returns `yes` if `condition` holds and `no` otherwise, without a branch.
///
/// From Rust 1.88 on, `std::hint::select_unpredictable` does the same.
#[inline(always)]
pub(super) fn select(condition: bool, yes: u32, no: u32) -> u32 {
    no ^ ((yes ^ no) & u32::from(condition).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_two_is_chosen() {
        for (yes, no) in [(0, u32::MAX), (u32::MAX, 0), (5, 7), (7, 5), (3, 3)] {
            assert_eq!(select(true, yes, no), yes);
            assert_eq!(select(false, yes, no), no);
        }
    }
}
