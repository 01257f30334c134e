//! What all suballocators have in common.

use std::fmt;

use super::{AuditError, RangeUse, SuballocError, Suballocation, SuballocationId};
use crate::{Alignment, ByteSize, HeapRange};

/// Hands out ranges of the offsets from zero to a capacity, and takes them back.
///
/// Each algorithm has these calls as methods of its own, with what they cost and guarantee there; the trait is for code that
/// leaves the choice open, as [`VirtualBlock`](super::VirtualBlock) does.
///
/// # Invariants
///
/// - A range handed out has exactly the size asked for, starts at a multiple of the alignment, and overlaps no other.
/// - Used bytes, free bytes and padding are the whole capacity.
/// - A call that is refused changes nothing of what is used and free.
/// - When everything is freed, the state is that of a fresh one, but for the stamps of ids.
/// - The same calls get the same answers, on every machine.
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
    /// Hands out `size` bytes that start at a multiple of `alignment`.
    ///
    /// # Errors
    ///
    /// No room, or a request that can never be served; the state is what it was.
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError>;

    /// Takes a suballocation back and answers its range.
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it is not live; the state is what it was.
    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError>;

    /// The range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it is not live.
    fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError>;

    /// Takes everything back at once. Ids that were live are stale from then on.
    fn clear(&mut self);

    /// The size of the whole range that is managed. O(1).
    fn capacity(&self) -> ByteSize;

    /// The sum of the sizes asked for of all that is live. O(1).
    fn used(&self) -> ByteSize;

    /// The bytes of all [`RangeUse::Free`] ranges, in however many pieces. O(1).
    fn free_size(&self) -> ByteSize;

    /// How many suballocations are live. O(1).
    fn allocation_count(&self) -> u64;

    /// A lower bound of the largest request that would be served at alignment 1; zero when none would. O(1).
    ///
    /// A request of this size succeeds. How close it is to the largest depends on the algorithm.
    fn largest_free_range(&self) -> ByteSize;

    /// All ranges, from the lowest offset to the highest, without a gap. O(1) a step, or amortised so.
    fn ranges(&self) -> Box<dyn Iterator<Item = RangeUse> + '_>;

    /// Checks the whole structure; for tests.
    ///
    /// # Errors
    ///
    /// The first rule found broken, a defect in this crate.
    fn audit(&self) -> Result<(), AuditError>;
}

/// Implements [`Suballocator`] by the methods of the same names that the type has.
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
