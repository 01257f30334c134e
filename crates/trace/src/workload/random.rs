//! Pseudorandom integers. No floating-point numbers, whose functions differ between systems.

/// A generator with 64 bits of state: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Creates the generator of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15)))
    }

    /// Returns a number from `low` to `high`, inclusive. `low` must not be greater.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        low + mix(self.0) % (high - low + 1)
    }

    /// Returns a number from `low` to `high` whose logarithm is about uniformly distributed. `low` must not be 0.
    pub(super) fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let octave = self.between(0, u64::from((high / low).ilog2()));
        self.in_octave(low, octave, high)
    }

    /// Returns a number from `low` to `high` whose logarithm has about a normal distribution in the middle of the two.
    /// `low` must not be 0.
    pub(super) fn log_normal(&mut self, low: u64, high: u64) -> u64 {
        let octaves = u64::from((high / low).ilog2());
        let sum: u64 = (0..3).map(|_| self.between(0, octaves)).sum();
        self.in_octave(low, sum / 3, high)
    }

    fn in_octave(&mut self, low: u64, octave: u64, high: u64) -> u64 {
        let start = low << octave;
        self.between(start, high.min(2 * start))
    }
}

/// The finishing function of SplitMix64.
pub(super) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut random = Random::new(1);
        for (low, high) in [(1, 1), (5, 9), (1, 1 << 40), (3, 100)] {
            for _ in 0..1000 {
                assert!((low..=high).contains(&random.between(low, high)));
                assert!((low..=high).contains(&random.log_uniform(low, high)));
                assert!((low..=high).contains(&random.log_normal(low, high)));
            }
        }
    }

    #[test]
    fn logarithms_are_distributed_as_documented() {
        let mut random = Random::new(2);
        let mut share_below = |normal: bool, limit: u64| {
            let draws = (0..10_000).filter(|_| {
                let draw =
                    if normal { random.log_normal(1, 1 << 20) } else { random.log_uniform(1, 1 << 20) };
                draw < limit
            });
            draws.count()
        };
        // The lowest quarter of the logarithms holds a quarter of the numbers, or few.
        assert!((2_000..3_000).contains(&share_below(false, 1 << 5)));
        assert!(share_below(true, 1 << 5) < 800);
        assert!((4_000..6_000).contains(&share_below(true, 1 << 10)));
    }
}
