//! The range, and what is handed out of it.

use std::fmt;

use super::heap::Heap;
use super::user_data::UserData;
use super::{Algorithm, Allocations, Dump, DumpJson, Feature, Refused, VirtualAllocationDesc};
use crate::suballoc::{
    AuditError, DetailedStatistics, Retired, Statistics, SuballocError, Suballocation, SuballocationId,
    Suballocator,
};
use crate::{Alignment, ByteSize, FenceValue, HeapRange};

/// The offsets from zero to a capacity, handed out by an [`Algorithm`], with a value of type `T` for each suballocation.
///
/// It touches no memory and no device: what the offsets mean is the user's to know.
///
/// | call | cost |
/// |---|---|
/// | [`allocate`](Self::allocate), [`free`](Self::free) | what the algorithm costs, and O(1) for the value; tables grow by doubling |
/// | [`get`](Self::get), [`get_mut`](Self::get_mut), [`range_of`](Self::range_of), [`statistics`](Self::statistics) | O(1) |
/// | [`iter`](Self::iter), [`detailed_statistics`](Self::detailed_statistics), [`dump`](Self::dump) | O(ranges) |
/// | [`clear`](Self::clear) | O(ranges there were at one time) |
/// | [`submit`](Self::submit), [`retire`](Self::retire) | O(1); O(1) for each suballocation taken back |
///
/// A value is dropped exactly once, by whoever has it: [`free`](Self::free) gives it back; [`clear`](Self::clear),
/// [`retire`](Self::retire) and the block's own drop drop it. The block is `Send` when `T` is.
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
    /// A value for each live suballocation of the heap, and for nothing else.
    user_data: UserData<T>,
}

impl<T> VirtualBlock<T> {
    /// A block of the offsets from zero to `capacity`, all of them free.
    ///
    /// # Errors
    ///
    /// [`SuballocError::CapacityOutOfBounds`] for zero, and for more than the algorithm can manage.
    pub fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        Ok(Self { heap: Heap::new(algorithm, capacity)?, user_data: UserData::new() })
    }

    /// Hands out `size` bytes that start at a multiple of `alignment`, and keeps `user_data` for them.
    ///
    /// # Errors
    ///
    /// What the algorithm refuses, and the value back. The state is what it was.
    pub fn allocate(
        &mut self,
        size: ByteSize,
        alignment: Alignment,
        user_data: T,
    ) -> Result<Suballocation, Refused<T>> {
        self.allocate_desc(&VirtualAllocationDesc::new(size).with_alignment(alignment), user_data)
    }

    /// The same for a request that says more than size and alignment.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate), and [`SuballocError::Unsupported`] for what the algorithm does not have.
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

    /// Takes a suballocation back, and answers its range and its value.
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed before, or the id never came from here. The state is what it was.
    pub fn free(&mut self, id: SuballocationId) -> Result<(HeapRange, T), SuballocError> {
        let range = self.heap.common_mut().free(id)?;
        let user_data = self.user_data.remove(id).expect("what is live has a value");
        Ok((range, user_data))
    }

    /// The value of a live suballocation; `None` when it was freed, or the id never came from here. O(1).
    #[must_use]
    pub fn get(&self, id: SuballocationId) -> Option<&T> {
        // An id of a slot that was used again is stale.
        self.range_of(id).ok()?;
        self.user_data.get(id)
    }

    /// As [`get`](Self::get), to change it. O(1).
    pub fn get_mut(&mut self, id: SuballocationId) -> Option<&mut T> {
        self.range_of(id).ok()?;
        self.user_data.get_mut(id)
    }

    /// The range of a live suballocation. O(1).
    ///
    /// # Errors
    ///
    /// [`SuballocError::StaleId`] when it was freed, or the id never came from here.
    pub fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.heap.common().range_of(id)
    }

    /// What is handed out, each with its value, from the lowest offset to the highest.
    pub fn iter(&self) -> Allocations<'_, T> {
        let heap = self.heap.common();
        Allocations::new(heap.ranges(), &self.user_data, heap.allocation_count())
    }

    /// Closes a batch: all that was handed out since the last one is in use until the fence has this value. O(1).
    ///
    /// For algorithms that have [`Feature::Fences`]; [`Ring::submit`](crate::suballoc::Ring::submit) says more.
    ///
    /// # Errors
    ///
    /// [`SuballocError::Unsupported`], or [`SuballocError::FenceOrder`] when the value is below the one submitted last.
    /// Nothing is changed.
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

    /// Takes back all batches whose fence value is `completed` or less, drops their values, and answers what that was.
    ///
    /// What was not submitted stays. What was freed before, one by one, is not counted.
    ///
    /// # Errors
    ///
    /// [`SuballocError::Unsupported`] when the algorithm does not have [`Feature::Fences`].
    pub fn retire(&mut self, completed: FenceValue) -> Result<Retired, SuballocError> {
        self.retire_each(completed, |_, _| ())
    }

    /// As [`retire`](Self::retire), and hands on each suballocation with its value, the oldest first.
    ///
    /// When `take` panics, those that come after the one that it was called with are still live.
    ///
    /// # Errors
    ///
    /// As [`retire`](Self::retire).
    pub fn retire_each(
        &mut self,
        completed: FenceValue,
        mut take: impl FnMut(Suballocation, T),
    ) -> Result<Retired, SuballocError> {
        self.heap.require(Feature::Fences)?;
        let mut retired = Retired::default();
        while let Some(suballocation) = self.heap.retire_next(completed) {
            let user_data = self.user_data.remove(suballocation.id).expect("what is live has a value");
            retired.suballocations += 1;
            retired.bytes = retired.bytes.saturating_add(suballocation.range.size());
            take(suballocation, user_data);
        }
        Ok(retired)
    }

    /// The fence value of the oldest batch that has something live in it: what to wait for when there is no room. O(1).
    ///
    /// `None` when nothing that was submitted is live, as is always so where there are no fences.
    #[must_use]
    pub fn oldest_fence(&self) -> Option<FenceValue> {
        self.heap.oldest_fence()
    }

    /// Takes everything back at once and drops all values. Ids that were live are stale from then on.
    pub fn clear(&mut self) {
        self.heap.common_mut().clear();
        self.user_data.clear();
    }

    /// Whether nothing is handed out. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.common().allocation_count() == 0
    }

    /// The size of the whole range. O(1).
    #[must_use]
    pub fn capacity(&self) -> ByteSize {
        self.heap.common().capacity()
    }

    /// Which algorithm serves it.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.heap.algorithm()
    }

    /// How much is used and free. O(1).
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::of(self.heap.common())
    }

    /// The sizes of all ranges, and how fragmented they are. O(ranges).
    #[must_use]
    pub fn detailed_statistics(&self) -> DetailedStatistics {
        DetailedStatistics::of(self.heap.common())
    }

    /// The suballocator inside, to ask what all of them answer.
    #[must_use]
    pub fn suballocator(&self) -> &dyn Suballocator {
        self.heap.common()
    }

    /// Every range, a line each, for people; prints with `{}`. The format is that of [`Dump`].
    #[must_use]
    pub const fn dump(&self) -> Dump<'_, T> {
        Dump::new(self)
    }

    /// Every range, a line of JSON each, for tools; prints with `{}`. The format is that of [`DumpJson`].
    #[must_use]
    pub const fn dump_json(&self) -> DumpJson<'_, T> {
        DumpJson::new(self)
    }

    /// The value of a range that was just met in a walk.
    pub(super) fn user_data_of(&self, suballocation: Suballocation) -> Option<&T> {
        self.user_data.get(suballocation.id)
    }

    /// Checks the suballocator inside, and that each suballocation has a value and nothing else has. For tests.
    ///
    /// # Errors
    ///
    /// The first rule found broken, a defect in this crate.
    pub fn audit(&self) -> Result<(), AuditError> {
        self.heap.common().audit()?;
        let (with_value, values) = (self.iter().count(), self.user_data.count());
        let live = self.heap.common().allocation_count();
        if u64::try_from(with_value) != Ok(live) || with_value != values {
            let finding = format!("of {live} suballocations, {with_value} have a value; there are {values}");
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
    /// A summary, of one length whatever is live. [`dump`](Self::dump) shows the rest.
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
        assert!(few.audit().unwrap_err().to_string().contains("of 4 suballocations, 2 have a value"));

        let mut many = block();
        let id = many.iter().nth(2).unwrap().0.id;
        many.heap.common_mut().free(id).unwrap();
        assert!(many.audit().unwrap_err().to_string().contains("3 have a value; there are 4"));
    }
}
