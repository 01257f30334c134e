//! Which pass happens before which.

use super::{Frame, PassId};
use crate::aliasing::instance::BitMatrix;

/// The passes of a [`Frame`] that happen before each pass.
#[derive(Debug, Clone)]
pub struct PassOrder {
    before: BitMatrix,
    count: usize,
}

impl PassOrder {
    pub(super) fn new(frame: &Frame) -> Self {
        let count = frame.passes.len();
        let mut before = BitMatrix::new(count);
        // Dependencies point to passes that were added earlier, so the rows of those are complete.
        for (number, pass) in frame.passes.iter().enumerate() {
            for earlier in &pass.after {
                before.set(number, earlier.0);
                before.include_row(number, earlier.0);
            }
        }
        Self { before, count }
    }

    /// Returns whether `first` happens before `second`, which is false if they are the same.
    #[must_use]
    pub fn is_before(&self, first: PassId, second: PassId) -> bool {
        self.before.get(second.0, first.0)
    }

    /// Returns whether of each two passes one happens before the other.
    #[must_use]
    pub fn is_total(&self) -> bool {
        (1..self.count).all(|pass| self.before.get(pass, pass - 1))
    }
}
