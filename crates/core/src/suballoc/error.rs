//! Why a suballocator declined.

use std::error::Error;
use std::fmt;

use super::virtual_block::{Algorithm, Feature};
use super::{FenceOrderError, SuballocationId};
use crate::{Alignment, ByteSize};

/// Why a suballocator declined. Its state is what it was before the call.
///
/// Most callers need one distinction: [`is_out_of_space`](Self::is_out_of_space) says to try another heap, anything else
/// is a mistake in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuballocError {
    /// No free range was found that holds the request at its alignment. After something is freed there may be one.
    OutOfSpace {
        /// The size asked for.
        requested: ByteSize,
        /// The alignment asked for.
        alignment: Alignment,
        /// All free bytes together.
        free: ByteSize,
        /// The suballocator's `largest_free_range` at this moment, with the bound that it documents.
        largest_free: ByteSize,
    },

    /// The request is larger than the whole range: it can never succeed here.
    LargerThanCapacity {
        /// The size asked for.
        requested: ByteSize,
        /// The size of the whole range.
        capacity: ByteSize,
    },

    /// There are as many ranges, used and free, as can be numbered.
    TooManyRanges {
        /// The largest number of ranges.
        limit: u32,
    },

    /// Zero bytes were asked for. An empty range would have no offset of its own.
    ZeroSize,

    /// A suballocator cannot manage a range of this size.
    CapacityOutOfBounds {
        /// The size of the range.
        capacity: ByteSize,
        /// The largest size that can be managed.
        limit: ByteSize,
    },

    /// The range does not hold a single block of the smallest size that was asked for.
    CapacityBelowMinimum {
        /// The size of the range.
        capacity: ByteSize,
        /// The size of the smallest block.
        minimum: Alignment,
    },

    /// The id names no live suballocation: it was freed before, or comes from another suballocator.
    StaleId {
        /// The id that was given.
        id: SuballocationId,
    },

    /// A batch was submitted under a fence value below that of an earlier one.
    FenceOrder(FenceOrderError),

    /// The algorithm does not have what the request asks for.
    Unsupported {
        /// The algorithm that was asked.
        algorithm: Algorithm,
        /// What it was asked for.
        feature: Feature,
    },
}

impl SuballocError {
    /// Whether the request was sound and there was no room for it, so that another heap may serve it.
    #[must_use]
    pub const fn is_out_of_space(&self) -> bool {
        matches!(self, Self::OutOfSpace { .. } | Self::LargerThanCapacity { .. } | Self::TooManyRanges { .. })
    }
}

impl fmt::Display for SuballocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfSpace { requested, alignment, free, largest_free } => write!(
                f,
                "no free range holds {requested} at alignment {alignment}: {free} free, \
                 largest free range {largest_free}"
            ),
            Self::LargerThanCapacity { requested, capacity } => {
                write!(f, "{requested} requested from a range of {capacity} in all")
            }
            Self::TooManyRanges { limit } => {
                write!(f, "{limit} used and free ranges exist already, and there can be no more")
            }
            Self::ZeroSize => f.write_str("zero bytes requested"),
            Self::CapacityOutOfBounds { capacity, limit } => {
                write!(f, "a range of {capacity} cannot be managed, only 1 B to {limit}")
            }
            Self::CapacityBelowMinimum { capacity, minimum } => {
                write!(f, "a range of {capacity} holds no block of {minimum}, the smallest asked for")
            }
            Self::StaleId { id } => write!(f, "{id:?} is not live: freed before, or not from here"),
            Self::FenceOrder(error) => error.fmt(f),
            Self::Unsupported { algorithm, feature } => {
                write!(f, "the algorithm {algorithm} has no {feature}")
            }
        }
    }
}

impl Error for SuballocError {}

impl From<FenceOrderError> for SuballocError {
    fn from(error: FenceOrderError) -> Self {
        Self::FenceOrder(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_asked_and_what_stood_in_the_way() {
        let error = SuballocError::OutOfSpace {
            requested: ByteSize::from_mib(8),
            alignment: Alignment::new(65_536).unwrap(),
            free: ByteSize::from_mib(12),
            largest_free: ByteSize::from_mib(6),
        };
        assert_eq!(
            error.to_string(),
            "no free range holds 8.00 MiB at alignment 64.00 KiB: 12.00 MiB free, largest free range 6.00 MiB"
        );
        assert!(error.is_out_of_space());
        assert!(!SuballocError::ZeroSize.is_out_of_space());
    }
}
