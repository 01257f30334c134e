//! What the rivals are put through.
//!
//! Operations are made before the clock starts and are the same for everybody; only [`full`] reacts to refusals, since a full
//! heap is what it is about.

pub mod best;
pub mod flatness;
pub mod full;
pub mod in_order;
pub mod script;
pub mod shapes;
pub mod threads;
pub mod traces;

pub use best::{Best, Slices};
use heapwright_core::{Alignment, ByteSize};

/// A size as whoever creates resources asks for it: in units of the alignment.
///
/// `GetResourceAllocationInfo` and `vkGetBufferMemoryRequirements` answer so, and allocators pass it on. With sizes that are not rounded,
/// free ranges that nothing fits into lie between the used ones: some rivals' lists of them get long.
#[must_use]
pub fn rounded_up(size: ByteSize, alignment: Alignment) -> ByteSize {
    size.align_up(alignment).unwrap_or(size)
}

/// How much of each workload is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For figures that are to be kept.
    Full,
    /// For a look, in less than a minute.
    Quick,
    /// For checking answers, which takes a map's time for each operation.
    Check,
}

impl Effort {
    /// The first number when full, the second when quick, the third when answers are checked.
    #[must_use]
    pub fn pick<T>(self, full: T, quick: T, check: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Check => check,
        }
    }
}
