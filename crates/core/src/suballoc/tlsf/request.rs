//! A request, and the place that a search finds for it.

use super::nodes::{NodeIndex, Slot};
use crate::{Alignment, ByteSize};

/// A request's size and alignment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The size in bytes, 1 to 2^63.
    pub(super) size: u64,
    /// The low bits that must be zero in the start: the alignment minus one, below 2^63.
    pub(super) alignment_mask: u64,
}

impl Request {
    /// Creates a request, or returns `None` if a heap of this capacity can never serve it.
    pub(super) fn new(size: ByteSize, alignment: Alignment, capacity: u64) -> Option<Self> {
        let size = size.get();
        (size > 0 && size <= capacity).then(|| Self { size, alignment_mask: alignment.mask() })
    }

    /// Returns the size with which a free range fits if it starts or ends at a multiple of the alignment. At
    /// most 2^64 - 1.
    #[inline]
    pub(super) const fn rounded_size(self) -> u64 {
        self.certain_size() & !self.alignment_mask
    }

    /// Returns the size with which a free range fits wherever it starts. At most 2^64 - 1.
    #[inline]
    pub(super) const fn certain_size(self) -> u64 {
        self.size + self.alignment_mask
    }

    /// Returns the place of the request in the free range, at the first aligned offset, if it fits.
    #[inline]
    pub(super) fn place<T>(self, slots: &[Slot<T>], free: NodeIndex) -> Option<Placement> {
        let node = &slots[free];
        let start = self.start_in(node.start(), node.size())?;
        Some(Placement { free, start })
    }

    /// Returns the start of the request in a free range of this start and size, if it fits.
    #[inline]
    pub(super) fn start_in(self, start: u64, size: u64) -> Option<u64> {
        let padding = start.wrapping_neg() & self.alignment_mask;
        // The operands are at most 2^63 - 1 and 2^63.
        (padding + self.size <= size).then(|| start + padding)
    }
}

/// The place of a request: a free range, and an offset in it. Found by a search, and used by
/// [`Tlsf::allocate_at`](super::Tlsf::allocate_at).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(super) free: NodeIndex,
    pub(super) start: u64,
}
