//! Ranges of parameters, by part.

use super::Part;

/// The range of a parameter in each part. Bounds are inclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    development: (u64, u64),
    evaluation: (u64, u64),
}

impl Range {
    /// A range that both parts share.
    pub(super) const fn common(low: u64, high: u64) -> Self {
        assert!(low <= high, "a range must not be empty");
        Self { development: (low, high), evaluation: (low, high) }
    }

    /// Ranges that do not overlap, which is checked when the constant is compiled.
    pub(super) const fn apart(development: (u64, u64), evaluation: (u64, u64)) -> Self {
        assert!(development.0 <= development.1 && evaluation.0 <= evaluation.1, "a range must not be empty");
        assert!(development.1 < evaluation.0 || evaluation.1 < development.0, "the ranges must not overlap");
        Self { development, evaluation }
    }

    /// Returns the bounds in a part.
    pub(super) const fn of(self, part: Part) -> (u64, u64) {
        match part {
            Part::Development => self.development,
            Part::Evaluation => self.evaluation,
        }
    }
}
