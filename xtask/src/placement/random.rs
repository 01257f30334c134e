//! Reproducible random numbers.

/// A generator with 64 bits of state (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number from `low` to `high`, inclusive.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        low + mix(self.0) % (high - low + 1)
    }

    /// Returns an index below `count`.
    pub(super) fn position(&mut self, count: usize) -> usize {
        let last = u64::try_from(count).unwrap_or(u64::MAX).saturating_sub(1);
        usize::try_from(self.between(0, last)).unwrap_or(0)
    }

    /// Returns one of the values.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.position(of.len())]
    }

    /// Returns true with probability 1 / `times`.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.between(1, times) == 1
    }
}

/// The finishing function of SplitMix64.
pub(super) fn mix(mut value: u64) -> u64 {
    value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}
