//! The differences between GPGMM's and D3D12MA's algorithms.

use super::blocks::Blocks;
use super::ranges::Ranges;
use super::{EmptyHeaps, PlacementAlgorithm, SlabSizing};
use crate::placement::{PlacementError, PlacementRequest};
use crate::suballoc::{Buddy, Linear, SuballocError};
use crate::{Alignment, ByteSize};

/// The maximum size of a heap.
pub(super) const LARGEST_HEAP: ByteSize = ByteSize::new(1 << 63);

/// An algorithm with its parameters: which requests share a heap, the size of a heap, and its suballocator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlacementRule {
    /// GPGMM's slab allocator: requests share heaps with requests of the same size, rounded up to the
    /// alignment.
    ///
    /// The overhead is the difference between requests and blocks, unused blocks, and the tail of each heap,
    /// because heap sizes are powers of two ([`SlabSizing`]).
    SlabBySize(SlabSizing),
    /// GPGMM's buddy system, in heaps of one size.
    BuddySystem {
        /// The size of a heap, in bytes: a power of two.
        heap_size: ByteSize,
    },
    /// D3D12MA's linear algorithm, in heaps of one size.
    Linear {
        /// The size of a heap. Larger requests need a heap of their own.
        heap_size: ByteSize,
        /// Limits the engine to one heap, whose upper end can be used as well: a [`Linear`] suballocator.
        one_heap: bool,
    },
    /// GPGMM's dedicated allocator: each request has its own heap.
    Dedicated {
        /// The unit of heap sizes: 64 KiB in D3D12, 4 MiB for multisampled textures.
        granularity: Alignment,
    },
}

impl PlacementRule {
    /// Returns the buddy system with heaps of `preferred` bytes: at least the granularity, rounded up to a power of
    /// two, and at most `maximum`, rounded down to one.
    #[must_use]
    pub fn buddy_system(preferred: ByteSize, maximum: ByteSize, granularity: Alignment) -> Self {
        let wanted = preferred.get().max(granularity.get()).checked_next_power_of_two().unwrap_or(1 << 63);
        let largest = maximum.get().checked_ilog2().map_or(0, |log2| 1 << log2);
        Self::BuddySystem { heap_size: ByteSize::new(wanted.min(largest)) }
    }

    /// Returns the algorithm without its parameters.
    #[must_use]
    pub const fn algorithm(&self) -> PlacementAlgorithm {
        match self {
            Self::SlabBySize(_) => PlacementAlgorithm::SlabBySize,
            Self::BuddySystem { .. } => PlacementAlgorithm::BuddySystem,
            Self::Linear { .. } => PlacementAlgorithm::Linear,
            Self::Dedicated { .. } => PlacementAlgorithm::Dedicated,
        }
    }

    pub(super) fn has_one_heap(&self) -> bool {
        matches!(self, Self::Linear { one_heap: true, .. })
    }

    /// Returns the group of requests that share a heap: the size of their block, or zero.
    ///
    /// # Errors
    ///
    /// Returns an error for a request that no heap can ever serve.
    pub(super) fn group_of(&self, request: &PlacementRequest) -> Result<ByteSize, PlacementError> {
        let PlacementRequest { size, alignment, upper, .. } = *request;
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        if upper && !self.has_one_heap() && !matches!(self, Self::Dedicated { .. }) {
            return Err(PlacementError::NoUpperEnd { algorithm: self.algorithm() });
        }
        match *self {
            Self::SlabBySize(_) => {
                SlabSizing::block_size(size, alignment).ok_or(PlacementError::TooLarge { requested: size })
            }
            Self::BuddySystem { heap_size } | Self::Linear { heap_size, .. } if size > heap_size => {
                Err(PlacementError::NeedsOwnHeap { requested: size, largest: heap_size })
            }
            _ => Ok(ByteSize::ZERO),
        }
    }

    /// Creates the suballocator of a new heap, or returns `None` if the heap does not hold the request or
    /// cannot be managed.
    pub(super) fn ranges(
        &self,
        heap_size: ByteSize,
        group: ByteSize,
        request: &PlacementRequest,
    ) -> Option<Ranges> {
        match self {
            Self::SlabBySize(sizing) => {
                let most = if sizing.is_one_per_heap() { 1 } else { u32::MAX };
                Blocks::new(heap_size, group, most).map(Ranges::Blocks)
            }
            Self::Dedicated { .. } => Blocks::new(heap_size, request.size, 1).map(Ranges::Blocks),
            Self::BuddySystem { .. } => Buddy::new(heap_size).map(Ranges::Buddy),
            Self::Linear { .. } => Linear::new(heap_size).ok().map(Ranges::Linear),
        }
    }

    /// Returns the largest free range with which a heap certainly has room for a request, or `None` on
    /// overflow.
    pub(super) fn certain_room(&self, size: ByteSize, alignment: Alignment) -> Option<ByteSize> {
        match self {
            // A free block is aligned to its size.
            Self::BuddySystem { .. } => Some(size.max(ByteSize::new(alignment.get()))),
            Self::SlabBySize(_) | Self::Dedicated { .. } => Some(size),
            Self::Linear { .. } => size.checked_add(ByteSize::new(alignment.get() - 1)),
        }
    }

    /// Returns the size of the empty heap to use for a request instead of a new heap of `wanted` bytes.
    pub(super) fn empty_for<H>(
        &self,
        empty: &EmptyHeaps<H>,
        group: ByteSize,
        wanted: ByteSize,
        request: &PlacementRequest,
    ) -> Option<ByteSize> {
        match self {
            // The size given by the rule, or the next larger one; if all are smaller, the largest that holds
            // the block.
            Self::SlabBySize(_) => {
                let or_smaller = || empty.largest().filter(|&size| size >= group);
                empty.smallest_from(wanted).or_else(or_smaller)
            }
            // A heap of another size begins with the largest block that it holds.
            Self::BuddySystem { .. } => {
                let block = request.size.get().checked_next_power_of_two()?;
                empty.smallest_from(ByteSize::new(block))
            }
            Self::Linear { .. } => empty.smallest_from(request.size),
            Self::Dedicated { .. } => Some(wanted).filter(|&size| empty.contains(size)),
        }
    }
}
