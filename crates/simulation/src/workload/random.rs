//! Pseudorandom numbers that are the same on every machine: only operations that IEEE 754 rounds uniquely are
//! used.

/// A sequence of 64-bit numbers: SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates the sequence of a seed. `stream` distinguishes sequences with the same seed in a file.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.bits();
        Self(mixed ^ stream.wrapping_mul(0xA24B_AED4_963E_E407))
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        Self::mix(self.0)
    }

    /// Returns the bits that follow from a state.
    pub(crate) fn mix(mut mixed: u64) -> u64 {
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to below `end`, which must not be zero. The bias is below 2^-32 for the counts
    /// of a scenario.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        let product = (self.bits() >> 32) * u64::from(end);
        u32::try_from(product >> 32).expect("it is below end")
    }

    /// Returns a number between the two, both included. The first must not be greater than the second.
    pub(crate) fn between(&mut self, [least, most]: [u32; 2]) -> u32 {
        match (most - least).checked_add(1) {
            Some(count) => least + self.below(count),
            None => u32::try_from(self.bits() >> 32).expect("32 bits"),
        }
    }

    /// Returns a number from 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with a probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a number from `low` to below `high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low)
    }

    /// Returns an index of a slice of this length.
    ///
    /// # Panics
    ///
    /// Panics if the length is zero.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.bits() % len as u64).expect("smaller than a length")
    }

    /// Returns a direction of length 1.
    pub(crate) fn heading(&mut self) -> [f64; 2] {
        loop {
            let [x, y] = [self.unit(), self.unit()].map(|number| 2.0 * number - 1.0);
            let square = x * x + y * y;
            if (1e-4..=1.0).contains(&square) {
                let length = square.sqrt();
                return [x / length, y / length];
            }
        }
    }
}

/// Returns `base` to the power of `exponent`, for a positive base and an exponent of 0 to 16, using 16 binary
/// fraction digits of the exponent.
///
/// `f64::powf` differs between systems; products and square roots do not.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    let mut result = 1.0;
    let mut rest = exponent;
    while rest >= 1.0 {
        result *= base;
        rest -= 1.0;
    }
    let mut root = base;
    for _ in 0..16 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            result *= root;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_determines_the_sequence() {
        // The first numbers of SplitMix64 with seed 0, as published by its authors.
        let mut random = Random(0);
        assert_eq!([random.bits(), random.bits()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
        assert_ne!(Random::new(1, 0).bits(), Random::new(1, 1).bits());
        assert_ne!(Random::new(1, 0).bits(), Random::new(2, 0).bits());
    }

    #[test]
    fn numbers_stay_in_their_ranges() {
        let mut random = Random::new(3, 0);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] += 1;
            assert!((7..=9).contains(&random.between([7, 9])));
            assert!((0.0..1.0).contains(&random.unit()));
            let [x, y] = random.heading();
            assert!((x * x + y * y - 1.0).abs() < 1e-9);
        }
        assert!(seen.iter().all(|&count| (150..250).contains(&count)), "{seen:?}");
        assert_eq!(random.between([4, 4]), 4);
        random.between([0, u32::MAX]);
    }

    #[test]
    fn powers_match_the_standard_library() {
        for (base, exponent) in [(2.0, 0.5), (10.0, 1.0), (7.0, 0.0), (3.0, 2.75), (0.5, 1.25), (1000.0, 0.9)]
        {
            let expected = f64::powf(base, exponent);
            let error = (power(base, exponent) / expected - 1.0).abs();
            assert!(error < 2e-4, "{base}^{exponent}: {error}");
        }
    }
}
