//! The interface of all suballocators.

use std::fmt;

use super::{AuditError, RangeUse, SuballocError, Suballocation, SuballocationId};
use crate::{Alignment, ByteSize, HeapRange};

/// Allocates and frees ranges of the offsets from zero to a capacity.
///
/// Each algorithm has these functions as its own methods, which document cost and guarantees. The trait is
/// for code that is independent of the algorithm, such as [`VirtualBlock`](super::VirtualBlock).
///
/// # Invariants
///
/// - An allocated range has exactly the requested size, starts at a multiple of the alignment, and overlaps
///   no other.
/// - Used bytes, free bytes and padding add up to the capacity.
/// - A call that fails does not change what is used and free.
/// - When everything is freed, the state is that of a new suballocator, except for the stamps of ids.
/// - The same calls return the same results on every machine.
///
/// ```
/// use heapwright_core::suballoc::{SuballocError, Suballocator, Tlsf};
/// use heapwright_core::{Alignment, ByteSize};
///
/// fn fill(heap: &mut dyn Suballocator, size: ByteSize) -> u64 {
///     while heap.allocate(size, Alignment::ONE).is_ok() {}
///     heap.allocation_count()
/// }
/// assert_eq!(fill(&mut Tlsf::new(ByteSize::new(1000))?, ByteSize::new(30)), 33);
/// # Ok::<(), SuballocError>(())
/// ```
pub trait Suballocator: fmt::Debug {
    /// Allocates `size` bytes at a multiple of `alignment`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room, or the request can never succeed. The state is then unchanged.
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError>;

    /// Frees a suballocation and returns its range.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it is not live. The state is then unchanged.
    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError>;

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it is not live.
    fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError>;

    /// Frees everything at once. Ids of live suballocations become stale.
    fn clear(&mut self);

    /// Returns the size of the managed range. O(1).
    fn capacity(&self) -> ByteSize;

    /// Returns the sum of the requested sizes of all live suballocations. O(1).
    fn used(&self) -> ByteSize;

    /// Returns the total size of the [`RangeUse::Free`] ranges. O(1).
    fn free_size(&self) -> ByteSize;

    /// Returns the number of live suballocations. O(1).
    fn allocation_count(&self) -> u64;

    /// Returns a lower bound of the largest request that would succeed at alignment 1, or zero if none would.
    /// O(1).
    ///
    /// A request of this size succeeds. Each algorithm documents how tight the bound is.
    fn largest_free_range(&self) -> ByteSize;

    /// Returns an iterator over all ranges in address order, without gaps. O(1) per step, for some algorithms
    /// amortized.
    fn ranges(&self) -> Box<dyn Iterator<Item = RangeUse> + '_>;

    /// Checks the whole structure; for tests.
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant, a defect in this crate.
    fn audit(&self) -> Result<(), AuditError>;
}

/// Implements [`Suballocator`] by the type's own methods of the same names.
macro_rules! suballocator_by_methods {
    ($type:ty) => {
        impl $crate::suballoc::Suballocator for $type {
            #[inline]
            fn allocate(
                &mut self,
                size: $crate::ByteSize,
                alignment: $crate::Alignment,
            ) -> Result<$crate::suballoc::Suballocation, $crate::suballoc::SuballocError> {
                self.allocate(size, alignment)
            }

            #[inline]
            fn free(
                &mut self,
                id: $crate::suballoc::SuballocationId,
            ) -> Result<$crate::HeapRange, $crate::suballoc::SuballocError> {
                self.free(id)
            }

            fn range_of(
                &self,
                id: $crate::suballoc::SuballocationId,
            ) -> Result<$crate::HeapRange, $crate::suballoc::SuballocError> {
                self.range_of(id)
            }

            fn clear(&mut self) {
                self.clear();
            }

            fn capacity(&self) -> $crate::ByteSize {
                self.capacity()
            }

            fn used(&self) -> $crate::ByteSize {
                self.used()
            }

            fn free_size(&self) -> $crate::ByteSize {
                self.free_size()
            }

            fn allocation_count(&self) -> u64 {
                self.allocation_count()
            }

            fn largest_free_range(&self) -> $crate::ByteSize {
                self.largest_free_range()
            }

            fn ranges(&self) -> Box<dyn Iterator<Item = $crate::suballoc::RangeUse> + '_> {
                Box::new(self.ranges())
            }

            fn audit(&self) -> Result<(), $crate::suballoc::AuditError> {
                self.audit()
            }
        }
    };
}
pub(super) use suballocator_by_methods;
