//! Virtual blocks.

use std::fmt;

use super::heap::Heap;
use super::user_data::UserData;
use super::{Algorithm, Allocations, Dump, DumpJson, Feature, Refused, VirtualAllocationDesc};
use crate::suballoc::{
    AuditError, DetailedStatistics, Retired, Statistics, SuballocError, Suballocation, SuballocationId,
    Suballocator,
};
use crate::{Alignment, ByteSize, FenceValue, HeapRange};

/// A suballocator of any [`Algorithm`] over the offsets from zero to a capacity, with a value of type `T` for
/// each suballocation.
///
/// It touches no memory and no device: the user decides what the offsets mean.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | the cost of the algorithm, and O(1) for the value; tables grow by doubling |
/// | [`get`](Self::get), [`get_mut`](Self::get_mut), [`range_of`](Self::range_of), [`statistics`](Self::statistics) | O(1) |
/// | [`iter`](Self::iter), [`detailed_statistics`](Self::detailed_statistics), [`dump`](Self::dump) | O(ranges) |
/// | [`clear`](Self::clear) | O(largest number of ranges at one time) |
/// | [`submit`](Self::submit), [`retire`](Self::retire) | O(1); O(1) per freed suballocation |
///
/// Each value is dropped exactly once: [`free`](Self::free) returns it to the caller; [`clear`](Self::clear),
/// [`retire`](Self::retire) and dropping the block drop it. The block is `Send` if `T` is.
///
/// # Examples
///
/// One buffer for many meshes:
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, SuballocError, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut buffer = VirtualBlock::new(Algorithm::Tlsf, ByteSize::from_mib(64))?;
/// let rock = buffer.allocate(ByteSize::from_kib(48), Alignment::new(16).unwrap(), "rock")?;
/// let tree = buffer.allocate(ByteSize::from_kib(96), Alignment::new(16).unwrap(), "tree")?;
/// assert_eq!(buffer.get(rock.id), Some(&"rock"));
///
/// let (range, name) = buffer.free(rock.id)?;
/// assert_eq!((range, name), (rock.range, "rock"));
/// assert_eq!(buffer.get(rock.id), None);
/// assert_eq!(buffer.iter().collect::<Vec<_>>(), [(tree, &"tree")]);
/// # Ok::<(), SuballocError>(())
/// ```
pub struct VirtualBlock<T = ()> {
    heap: Heap,
    /// The value of each live suballocation of the heap.
    user_data: UserData<T>,
}

impl<T> VirtualBlock<T> {
    /// Creates a block of the offsets from zero to `capacity`, all free.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::CapacityOutOfBounds`] if `capacity` is zero or exceeds what the algorithm can
    /// manage.
    pub fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        Ok(Self { heap: Heap::new(algorithm, capacity)?, user_data: UserData::new() })
    }

    /// Allocates `size` bytes at a multiple of `alignment`, and stores `user_data` for them.
    ///
    /// # Errors
    ///
    /// Returns the algorithm's error, and the value. The state is then unchanged.
    pub fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
        user_data: T,
    ) -> Result<Suballocation, Refused<T>> {
        self.allocate_desc(&VirtualAllocationDesc::new(size).with_alignment(alignment), user_data)
    }

    /// Allocates by a full description of the request.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate), and [`SuballocError::Unsupported`] if the
    /// algorithm does not support a requested feature.
    pub fn allocate_desc(
        &mut self,
        desc: &VirtualAllocationDesc,
        user_data: T,
    ) -> Result<Suballocation, Refused<T>> {
        match self.heap.allocate(desc) {
            Ok(suballocation) => {
                self.user_data.insert(suballocation.id, user_data);
                Ok(suballocation)
            }
            Err(error) => Err(Refused { error, user_data }),
        }
    }

    /// Frees a suballocation, and returns its range and its value.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed before, or the id is not from this block. The state
    /// is then unchanged.
    pub fn free(&mut self, id: SuballocationId) -> Result<(HeapRange, T), SuballocError> {
        let range = self.heap.common_mut().free(id)?;
        let user_data = self.user_data.remove(id).expect("a live suballocation has a value");
        Ok((range, user_data))
    }

    /// Returns the value of a live suballocation, or `None` if it was freed or the id is not from this block.
    /// O(1).
    #[must_use]
    pub fn get(&self, id: SuballocationId) -> Option<&T> {
        // Rejects an id whose slot was reused.
        self.range_of(id).ok()?;
        self.user_data.get(id)
    }

    /// Returns the value of a live suballocation mutably, like [`get`](Self::get). O(1).
    pub fn get_mut(&mut self, id: SuballocationId) -> Option<&mut T> {
        self.range_of(id).ok()?;
        self.user_data.get_mut(id)
    }

    /// Returns the range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::StaleId`] if it was freed, or the id is not from this block.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.heap.common().range_of(id)
    }

    /// Returns an iterator over the live suballocations in address order, each with its value.
    pub fn iter(&self) -> Allocations<'_, T> {
        let heap = self.heap.common();
        Allocations::new(heap.ranges(), &self.user_data, heap.allocation_count())
    }

    /// Closes a batch: everything allocated since the last batch is in use until the fence reaches this
    /// value. O(1).
    ///
    /// Requires [`Feature::Fences`]. See [`Ring::submit`](crate::suballoc::Ring::submit) for details.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::Unsupported`] if the algorithm does not support fences, or
    /// [`SuballocError::FenceOrder`] if the value is below the one submitted last. The state is then
    /// unchanged.
    ///
    /// ```
    /// use heapwright_core::suballoc::{Algorithm, VirtualBlock};
    /// use heapwright_core::{Alignment, ByteSize, FenceValue};
    ///
    /// let mut uploads = VirtualBlock::new(Algorithm::Ring, ByteSize::from_kib(64))?;
    /// uploads.allocate(ByteSize::from_kib(10), Alignment::ONE, "first frame")?;
    /// uploads.submit(FenceValue::new(1))?;
    /// uploads.allocate(ByteSize::from_kib(10), Alignment::ONE, "second frame")?;
    /// uploads.submit(FenceValue::new(2))?;
    ///
    /// let mut done = Vec::new();
    /// uploads.retire_each(FenceValue::new(1), |_, name| done.push(name))?;
    /// assert_eq!(done, ["first frame"]);
    /// assert_eq!(uploads.oldest_fence(), Some(FenceValue::new(2)));
    /// # Ok::<(), heapwright_core::suballoc::SuballocError>(())
    /// ```
    pub fn submit(&mut self, fence: FenceValue) -> Result<(), SuballocError> {
        self.heap.submit(fence)
    }

    /// Frees all batches whose fence value is at most `completed`, drops their values, and returns how much
    /// that was.
    ///
    /// Suballocations that were not submitted stay live. Suballocations freed individually before are not
    /// counted.
    ///
    /// # Errors
    ///
    /// Returns [`SuballocError::Unsupported`] if the algorithm does not support [`Feature::Fences`].
    pub fn retire(&mut self, completed: FenceValue) -> Result<Retired, SuballocError> {
        self.retire_each(completed, |_, _| ())
    }

    /// Frees batches like [`retire`](Self::retire), and passes each suballocation with its value to `take`,
    /// the oldest first.
    ///
    /// If `take` panics, the suballocations after the one it was called with are still live.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`retire`](Self::retire).
    pub fn retire_each(
        &mut self,
        completed: FenceValue,
        mut take: impl FnMut(Suballocation, T),
    ) -> Result<Retired, SuballocError> {
        self.heap.require(Feature::Fences)?;
        let mut retired = Retired::default();
        while let Some(suballocation) = self.heap.retire_next(completed) {
            let user_data =
                self.user_data.remove(suballocation.id).expect("a live suballocation has a value");
            retired.suballocations += 1;
            retired.bytes = retired.bytes.saturating_add(suballocation.range.size());
            take(suballocation, user_data);
        }
        Ok(retired)
    }

    /// Returns the fence value of the oldest batch with a live suballocation: the value to wait for when
    /// space is short. O(1).
    ///
    /// Returns `None` if no submitted suballocation is live, and always for an algorithm without fences.
    #[must_use]
    pub fn oldest_fence(&self) -> Option<FenceValue> {
        self.heap.oldest_fence()
    }

    /// Frees everything at once and drops all values. Ids of live suballocations become stale.
    pub fn clear(&mut self) {
        self.heap.common_mut().clear();
        self.user_data.clear();
    }

    /// Returns whether there are no live suballocations. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.common().allocation_count() == 0
    }

    /// Returns the size of the range. O(1).
    #[must_use]
    pub fn capacity(&self) -> ByteSize {
        self.heap.common().capacity()
    }

    /// Returns the algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.heap.algorithm()
    }

    /// Returns how much is used and free. O(1).
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self.heap.common())
    }

    /// Returns the sizes of all ranges, and their fragmentation. O(ranges).
    #[must_use]
    pub fn detailed_statistics(&self) -> DetailedStatistics {
        DetailedStatistics::of(self.heap.common())
    }

    /// Returns the underlying suballocator.
    #[must_use]
    pub fn suballocator(&self) -> &dyn Suballocator {
        self.heap.common()
    }

    /// Returns a value that formats every range as a line of text, for people. [`Dump`] documents the format.
    #[must_use]
    pub const fn dump(&self) -> Dump<'_, T> {
        Dump::new(self)
    }

    /// Returns a value that formats every range as a line of JSON, for tools. [`DumpJson`] documents the
    /// format.
    #[must_use]
    pub const fn dump_json(&self) -> DumpJson<'_, T> {
        DumpJson::new(self)
    }

    /// Returns the value of a range that a walk has just returned.
    pub(super) fn user_data_of(&self, suballocation: Suballocation) -> Option<&T> {
        self.user_data.get(suballocation.id)
    }

    /// Checks the underlying suballocator, and that exactly the live suballocations have values. For tests.
    ///
    /// # Errors
    ///
    /// Returns the first violated invariant, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        self.heap.common().audit()?;
        let (with_value, values) = (self.iter().count(), self.user_data.count());
        let live = self.heap.common().allocation_count();
        if u64::try_from(with_value) != Ok(live) || with_value != values {
            let finding =
                format!("{with_value} of {live} suballocations have a value; recorded {values} values");
            return Err(AuditError::new(finding));
        }
        Ok(())
    }
}

impl<'a, T> IntoIterator for &'a VirtualBlock<T> {
    type Item = (Suballocation, &'a T);
    type IntoIter = Allocations<'a, T>;

    fn into_iter(self) -> Allocations<'a, T> {
        self.iter()
    }
}

impl<T> fmt::Debug for VirtualBlock<T> {
    /// Formats a summary of constant length. See [`dump`](Self::dump) for the ranges.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualBlock")
            .field("algorithm", &self.algorithm())
            .field("statistics", &self.statistics())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> VirtualBlock<u32> {
        let mut block = VirtualBlock::new(Algorithm::Tlsf, ByteSize::new(100)).unwrap();
        for value in 0..4 {
            block.allocate(ByteSize::new(10), Alignment::ONE, value).unwrap();
        }
        block
    }

    #[test]
    fn the_audit_finds_a_value_too_few_or_too_many() {
        let mut few = block();
        few.audit().unwrap();
        let id = few.iter().nth(2).unwrap().0.id;
        few.user_data.remove(id).unwrap();
        assert!(few.audit().unwrap_err().to_string().contains("2 of 4 suballocations have a value"));

        let mut many = block();
        let id = many.iter().nth(2).unwrap().0.id;
        many.heap.common_mut().free(id).unwrap();
        assert!(
            many.audit()
                .unwrap_err()
                .to_string()
                .contains("3 of 3 suballocations have a value; recorded 4 values")
        );
    }
}
