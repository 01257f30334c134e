//! The workloads.
//!
//! Operations are generated before the clock starts and are the same for all rivals. Only [`full`] reacts to refusals,
//! since full heaps are its subject.

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

/// Rounds a size up to units of the alignment, as applications request it.
///
/// `GetResourceAllocationInfo` and `vkGetBufferMemoryRequirements` return such sizes, and allocators pass them on. With
/// other sizes, free ranges too small for any request remain between used ones, and some rivals' lists of them grow
/// long.
#[must_use]
pub fn rounded_up(size: ByteSize, alignment: Alignment) -> ByteSize {
    size.align_up(alignment).unwrap_or(size)
}

/// The amount of each workload to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For figures to publish.
    Full,
    /// For a first impression, in less than a minute.
    Quick,
    /// For checking results, where each operation also costs an operation of a map.
    Check,
}

impl Effort {
    /// Returns the argument for this effort.
    #[must_use]
    pub fn pick<T>(self, full: T, quick: T, check: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
            Self::Check => check,
        }
    }
}
