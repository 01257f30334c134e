//! Pseudorandom numbers that are the same in every run.

use heapwright_core::ByteSize;
use heapwright_simulation::Random as Bits;

/// The seed of all workloads, each of which uses its own stream.
pub const SEED: u64 = 20_261_121;

/// Random numbers and sizes.
#[derive(Debug)]
pub struct Random(Bits);

impl Random {
    /// Creates stream number `stream` of [`SEED`].
    #[must_use]
    pub fn new(stream: u64) -> Self {
        Self(Bits::seeded(SEED.wrapping_add(stream.wrapping_mul(0x9E37_79B9_0000_0001))))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number below `limit`, which must not be zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        scale(self.bits(), limit)
    }

    /// Returns a size of `low` to `high` bytes, uniformly distributed.
    pub fn size(&mut self, low: u32, high: u32) -> ByteSize {
        ByteSize::new(u64::from(low) + u64::from(self.below(high - low + 1)))
    }

    /// Returns a multiple of `unit`, from one unit to `units` units, log-uniformly distributed.
    pub fn log_size(&mut self, units: u32, unit: ByteSize) -> ByteSize {
        let fraction = f64::from(self.below(1 << 30)) / f64::from(1 << 30);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to units + 1")]
        let count = (f64::from(units) + 1.0).powf(fraction) as u64;
        ByteSize::new(count.clamp(1, u64::from(units)) * unit.get())
    }
}

/// Maps 64 random bits to a number below `limit`, without a division.
#[must_use]
#[inline]
pub fn scale(bits: u64, limit: u32) -> u32 {
    // Both factors are below 2^32, so the result after the shift is below `limit`.
    (((bits >> 32) * u64::from(limit)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_in_their_bounds_and_reach_them() {
        let mut random = Random::new(1);
        let uniform: Vec<u64> = (0..100_000).map(|_| random.size(1, 20).get()).collect();
        assert_eq!((uniform.iter().min(), uniform.iter().max()), (Some(&1), Some(&20)));
        let log: Vec<u64> = (0..100_000).map(|_| random.log_size(128, ByteSize::new(64)).get()).collect();
        assert_eq!((log.iter().min(), log.iter().max()), (Some(&64), Some(&(128 * 64))));
        assert!(log.iter().all(|size| size % 64 == 0));
    }
}
