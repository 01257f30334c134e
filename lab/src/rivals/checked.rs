//! A rival whose results are checked.

use std::collections::BTreeMap;

use heapwright_core::{Alignment, ByteSize, HeapOffset};

use crate::rival::{Rival, Terms, Unfit};

/// Panics if an allocation exceeds the capacity, is misaligned, or overlaps a live one.
#[derive(Debug)]
pub struct Checked<R> {
    rival: R,
    live: Live,
}

/// The live ranges: the end of each by its start.
#[derive(Debug)]
struct Live {
    capacity: ByteSize,
    ends: BTreeMap<u64, u64>,
}

impl Live {
    fn new(terms: &Terms) -> Self {
        Self { capacity: terms.capacity, ends: BTreeMap::new() }
    }

    fn insert(&mut self, offset: HeapOffset, size: ByteSize, alignment: Alignment) {
        let (start, end) = (offset.get(), offset.get() + size.get());
        assert!(offset.is_aligned(alignment), "{start} is not a multiple of {alignment:?}");
        assert!(end <= self.capacity.get(), "{start}..{end} is beyond {:?}", self.capacity);
        let below = self.ends.range(..end).next_back();
        assert!(below.is_none_or(|(_, &below)| below <= start), "{start}..{end} overlaps {below:?}");
        self.ends.insert(start, end);
    }

    fn remove(&mut self, offset: HeapOffset) {
        assert!(self.ends.remove(&offset.get()).is_some(), "{offset:?} was freed by the workload twice");
    }
}

impl<R: Rival> Rival for Checked<R> {
    type Handle = (R::Handle, HeapOffset);

    fn new(terms: &Terms) -> Result<Self, Unfit> {
        Ok(Self { rival: R::new(terms)?, live: Live::new(terms) })
    }

    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Option<(Self::Handle, HeapOffset)> {
        let (handle, offset) = self.rival.allocate(size, alignment)?;
        self.live.insert(offset, size, alignment);
        Some(((handle, offset), offset))
    }

    fn free(&mut self, (handle, offset): Self::Handle) {
        self.live.remove(offset);
        self.rival.free(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::null::Null;

    fn checked() -> Checked<Null> {
        let terms = Terms { capacity: ByteSize::new(100), alignment: Alignment::ONE, most_live: 10 };
        Checked::new(&terms).expect("it takes any terms")
    }

    #[test]
    #[should_panic(expected = "overlaps")]
    fn an_overlap_is_found() {
        let mut checked = checked();
        let first = checked.allocate(ByteSize::new(10), Alignment::ONE).expect("room");
        checked.allocate(ByteSize::new(10), Alignment::ONE).expect("room");
        // The null rival goes back by ten bytes, into the second range.
        checked.free(first.0);
        checked.allocate(ByteSize::new(10), Alignment::ONE);
    }

    #[test]
    #[should_panic(expected = "not a multiple")]
    fn a_wrong_alignment_is_found() {
        let mut checked = checked();
        checked.allocate(ByteSize::new(10), Alignment::ONE).expect("room");
        checked.allocate(ByteSize::new(16), Alignment::new(16).expect("a power of two"));
    }
}
