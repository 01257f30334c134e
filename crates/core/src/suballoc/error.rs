//! The error type of the suballocators.

use std::error::Error;
use std::fmt;

use super::SuballocationId;
use crate::{Alignment, ByteSize};

/// An error of a suballocator. The suballocator's state is unchanged.
///
/// Most callers need one distinction: if [`is_out_of_space`](Self::is_out_of_space) returns true, another
/// heap may serve the request; anything else is a mistake in the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuballocError {
    /// No free range was found that holds the request at its alignment. The request may succeed after
    /// something is freed.
    OutOfSpace {
        /// The requested size.
        requested: ByteSize,
        /// The requested alignment.
        alignment: Alignment,
        /// The total free bytes.
        free: ByteSize,
        /// The suballocator's `largest_free_range` at this moment, within the bounds that it documents.
        largest_free: ByteSize,
    },

    /// The request is larger than the whole range, so it can never succeed here.
    LargerThanCapacity {
        /// The requested size.
        requested: ByteSize,
        /// The size of the whole range.
        capacity: ByteSize,
    },

    /// The number of ranges, used and free, has reached its limit.
    TooManyRanges {
        /// The largest number of ranges.
        limit: u32,
    },

    /// Zero bytes were requested. An empty range would have no offset of its own.
    ZeroSize,

    /// The suballocator cannot manage a range of this size.
    CapacityOutOfBounds {
        /// The size of the range.
        capacity: ByteSize,
        /// The largest size that can be managed.
        limit: ByteSize,
    },

    /// The id does not name a live suballocation: it was freed before, or comes from another suballocator.
    StaleId {
        /// The id that was passed.
        id: SuballocationId,
    },
}

impl SuballocError {
    /// Returns whether the request was valid but did not fit, so that another heap may serve it.
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
                write!(f, "{requested} exceeds the capacity of {capacity}")
            }
            Self::TooManyRanges { limit } => {
                write!(f, "the limit of {limit} used and free ranges is reached")
            }
            Self::ZeroSize => f.write_str("the requested size is zero"),
            Self::CapacityOutOfBounds { capacity, limit } => {
                write!(f, "a capacity of {capacity} is out of range; 1 B to {limit} is allowed")
            }
            Self::StaleId { id } => write!(f, "{id:?} is not a live suballocation of this suballocator"),
        }
    }
}

impl Error for SuballocError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_contains_the_request_and_the_obstacle() {
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
