//! The methods that are the same in all types of this module that hand out what comes next.

/// Implements what [`LiveRanges`](super::live_ranges::LiveRanges) alone tells, for a type with fields `live` and `capacity`.
macro_rules! methods_by_live_ranges {
    ($type:ty) => {
        impl $type {
            /// The range of a live suballocation. O(1).
            ///
            /// # Errors
            ///
            /// [`SuballocError::StaleId`] when it was freed, or the id never came from here.
            pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
                self.live.range_of(id)
            }

            /// The size of the whole range that is managed. O(1).
            #[must_use]
            pub const fn capacity(&self) -> ByteSize {
                ByteSize::new(self.capacity)
            }

            /// The sum of the sizes asked for of all that is live. O(1).
            #[must_use]
            pub const fn used(&self) -> ByteSize {
                ByteSize::new(self.live.used)
            }

            /// How many suballocations are live. O(1).
            #[must_use]
            pub fn allocation_count(&self) -> u64 {
                self.live.count()
            }

            /// Whether nothing is handed out. O(1).
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.live.count() == 0
            }

            /// Makes room in the table for `additional` more suballocations, 32 bytes for each.
            ///
            /// Without it, the table doubles as it fills, which copies it: O(1) on average, and O(n) for that one allocation.
            pub fn reserve(&mut self, additional: usize) {
                self.live.slots.reserve(additional);
            }

            /// Checks the whole structure: every invariant of the [module page](super). O(n); for tests.
            ///
            /// # Errors
            ///
            /// [`AuditError`] with the first rule found broken. That is a defect in this crate; no sequence of calls is meant to
            /// bring it about.
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
