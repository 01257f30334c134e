//! The algorithms with their parameters.

use super::ranges::{Blocks, Ranges};
use super::{HeapSizing, PlacementAlgorithm, PlacementError, PlacementRequest, Sharing, SlabSizing};
use crate::suballoc::{Buddy, Linear, SuballocError, Tlsf};
use crate::{Alignment, ByteSize};

/// The maximum size of a heap.
pub(super) const LARGEST_HEAP: ByteSize = Tlsf::MAX_CAPACITY;

/// An algorithm with its parameters: which requests share a heap, the size of a heap, and its suballocator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlacementRule {
    /// The default algorithm: requests of many sizes share heaps, by a good fit.
    Default(HeapSizing),
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
        /// The unit of the sizes of heaps for one request alone.
        granularity: Alignment,
    },
    /// D3D12MA's linear algorithm, in heaps of one size.
    Linear {
        /// The size of a heap. Larger requests need a heap of their own.
        heap_size: ByteSize,
        /// Limits the set to one heap that is shared, whose upper end can be used as well: a [`Linear`]
        /// suballocator.
        one_heap: bool,
        /// The unit of the sizes of heaps for one request alone.
        granularity: Alignment,
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
        Self::BuddySystem { heap_size: ByteSize::new(wanted.min(largest)), granularity }
    }

    /// Returns the algorithm without its parameters.
    #[must_use]
    pub const fn algorithm(&self) -> PlacementAlgorithm {
        match self {
            Self::Default(_) => PlacementAlgorithm::Default,
            Self::SlabBySize(_) => PlacementAlgorithm::SlabBySize,
            Self::BuddySystem { .. } => PlacementAlgorithm::BuddySystem,
            Self::Linear { .. } => PlacementAlgorithm::Linear,
            Self::Dedicated { .. } => PlacementAlgorithm::Dedicated,
        }
    }

    pub(super) const fn is_default(&self) -> bool {
        matches!(self, Self::Default(_))
    }

    pub(super) fn has_one_heap(&self) -> bool {
        matches!(self, Self::Linear { one_heap: true, .. })
    }

    /// Returns the unit of the sizes of heaps for one request alone.
    pub(super) const fn granularity(&self) -> Alignment {
        match self {
            Self::Default(sizing) => sizing.granularity,
            Self::SlabBySize(sizing) => sizing.granularity,
            Self::BuddySystem { granularity, .. }
            | Self::Linear { granularity, .. }
            | Self::Dedicated { granularity } => *granularity,
        }
    }

    /// Returns whether a request shares its heap.
    pub(super) const fn sharing_of(&self, request: &PlacementRequest) -> Sharing {
        match (self, request.sharing) {
            (Self::Dedicated { .. }, Sharing::Shared) => Sharing::Alone { reusable: true },
            (_, sharing) => sharing,
        }
    }

    /// Checks a request.
    ///
    /// # Errors
    ///
    /// Returns an error for a request that no heap of the set can ever serve.
    pub(super) fn check(&self, request: &PlacementRequest) -> Result<(), PlacementError> {
        let PlacementRequest { size, upper, .. } = *request;
        if size.is_zero() {
            return Err(SuballocError::ZeroSize.into());
        }
        let is_shared = self.sharing_of(request) == Sharing::Shared;
        if upper && (self.is_default() || is_shared && !self.has_one_heap()) {
            return Err(PlacementError::NoUpperEnd { algorithm: self.algorithm() });
        }
        match *self {
            Self::SlabBySize(_) if is_shared && self.block_size(request).is_none() => {
                Err(PlacementError::TooLarge { requested: size })
            }
            Self::BuddySystem { heap_size, .. } | Self::Linear { heap_size, .. }
                if is_shared && size > heap_size =>
            {
                Err(PlacementError::NeedsOwnHeap { requested: size, largest: heap_size })
            }
            _ => Ok(()),
        }
    }

    /// Returns the size of the blocks of the heaps that a request shares, if they have blocks of one size.
    pub(super) fn block_size(&self, request: &PlacementRequest) -> Option<ByteSize> {
        match self {
            Self::SlabBySize(_) => SlabSizing::block_size(request.size, request.alignment),
            _ => None,
        }
    }

    /// Returns the bytes that a heap must have for a request, at least.
    pub(super) fn least_heap_size(&self, request: &PlacementRequest) -> ByteSize {
        let least = match self {
            Self::SlabBySize(_) => self.block_size(request),
            Self::BuddySystem { .. } => request.size.get().checked_next_power_of_two().map(ByteSize::new),
            _ => None,
        };
        let is_shared = self.sharing_of(request) == Sharing::Shared;
        least.filter(|_| is_shared).unwrap_or(request.size)
    }

    /// Creates the suballocator of a heap without allocations. Except with the default algorithm, it is one block until
    /// the heap is [used](Self::ranges_for).
    pub(super) fn ranges_of_empty(&self, heap_size: ByteSize) -> Result<Ranges, SuballocError> {
        match self {
            Self::Default(_) => Tlsf::new(heap_size).map(Ranges::Tlsf),
            _ if heap_size.is_zero() || heap_size > LARGEST_HEAP => {
                Err(SuballocError::CapacityOutOfBounds { capacity: heap_size, limit: LARGEST_HEAP })
            }
            _ => Ok(Ranges::Blocks(Blocks::whole(heap_size))),
        }
    }

    /// Creates the suballocator of an empty heap for its first request, or returns `None` if the heap does not hold it.
    /// Not for the default algorithm.
    pub(super) fn ranges_for(&self, request: &PlacementRequest, heap_size: ByteSize) -> Option<Ranges> {
        if self.sharing_of(request) != Sharing::Shared {
            return Blocks::new(heap_size, request.size, 1).map(Ranges::Blocks);
        }
        match self {
            Self::SlabBySize(sizing) => {
                let most = if sizing.is_one_per_heap() { 1 } else { u32::MAX };
                Blocks::new(heap_size, self.block_size(request)?, most).map(Ranges::Blocks)
            }
            Self::BuddySystem { .. } => Buddy::new(heap_size).map(Ranges::Buddy),
            Self::Linear { .. } => Linear::new(heap_size).ok().map(Ranges::Linear),
            Self::Default(_) | Self::Dedicated { .. } => None,
        }
    }

    /// Returns the largest free range with which a heap certainly has room for a request, or `None` on
    /// overflow.
    pub(super) fn certain_room(&self, request: &PlacementRequest) -> Option<ByteSize> {
        let PlacementRequest { size, alignment, .. } = *request;
        match self {
            // A free block is aligned to its size.
            Self::BuddySystem { .. } => Some(size.max(ByteSize::new(alignment.get()))),
            Self::SlabBySize(_) | Self::Dedicated { .. } => Some(size),
            Self::Default(_) | Self::Linear { .. } => size.checked_add(ByteSize::new(alignment.get() - 1)),
        }
    }
}
