//! Methods that are the same in all suballocators of this module.

/// Implements the methods that depend only on [`LiveRanges`](super::live_ranges::LiveRanges) and the
/// capacity, for a type with fields `live` and `capacity`.
macro_rules! methods_by_live_ranges {
    ($type:ty) => {
        impl $type {
            /// Returns the range of a live suballocation. O(1).
            ///
            /// # Errors
            ///
            /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this suballocator.
            pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
                self.live.range_of(id)
            }

            /// Returns the size of the managed range. O(1).
            #[must_use]
            pub const fn capacity(&self) -> ByteSize {
                ByteSize::new(self.capacity)
            }

            /// Returns the sum of the requested sizes of all live suballocations. O(1).
            #[must_use]
            pub const fn used(&self) -> ByteSize {
                ByteSize::new(self.live.used)
            }

            /// Returns the number of live suballocations. O(1).
            #[must_use]
            pub fn allocation_count(&self) -> u64 {
                self.live.count()
            }

            /// Returns whether there are no live suballocations. O(1).
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.live.count() == 0
            }

            /// Reserves space in the table for at least `additional` more suballocations, of 32 bytes each.
            ///
            /// Otherwise the table doubles when it is full: O(1) on average, but O(n) for that one
            /// allocation.
            pub fn reserve(&mut self, additional: usize) {
                self.live.slots.reserve(additional);
            }

            /// Checks every invariant of the [module page](super). O(n); for tests.
            ///
            /// # Errors
            ///
            /// Returns an [`AuditError`] with the first violated invariant. It is a defect in this crate; no
            /// sequence of calls should cause one.
            pub fn audit(&self) -> Result<(), AuditError> {
                self.audit_all().map_err(AuditError::new)
            }

            #[cold]
            fn out_of_space(&self, requested: ByteSize, alignment: Alignment) -> SuballocError {
                SuballocError::OutOfSpace {
                    requested,
                    alignment,
                    free: self.free_size(),
                    largest_free: self.largest_free_range(),
                }
            }
        }
    };
}
pub(super) use methods_by_live_ranges;
