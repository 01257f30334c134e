//! Heaps by number, and the totals of an engine.

use super::EmptyHeaps;
use crate::ByteSize;
use crate::placement::{HeapSetTotals, PlacementError};
use crate::suballoc::AuditError;

/// Heaps in use, by number. Vacant numbers are reused, the last first.
#[derive(Clone)]
pub(super) struct HeapTable<T> {
    heaps: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for HeapTable<T> {
    fn default() -> Self {
        Self { heaps: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> HeapTable<T> {
    pub(super) fn count(&self) -> u64 {
        ByteSize::from_usize(self.heaps.len() - self.vacant.len()).get()
    }

    /// Returns the number of the next heap.
    pub(super) fn next_number(&self) -> Result<u32, PlacementError> {
        match self.vacant.last() {
            Some(&number) => Ok(number),
            None => u32::try_from(self.heaps.len())
                .ok()
                .filter(|&number| number < u32::MAX)
                .ok_or(PlacementError::TooManyHeaps),
        }
    }

    /// Inserts a heap with the [next number](Self::next_number).
    pub(super) fn insert(&mut self, heap: T) {
        match self.vacant.pop() {
            Some(number) => self.heaps[number as usize] = Some(heap),
            None => self.heaps.push(Some(heap)),
        }
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.heaps.get(number as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.heaps.get_mut(number as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let heap = self.heaps.get_mut(number as usize)?.take()?;
        self.vacant.push(number);
        Some(heap)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.heaps).filter_map(|(number, heap)| Some((number, heap.as_ref()?)))
    }

    /// Checks the list of vacant numbers. O(n log n).
    pub(super) fn audit(&self) -> Result<(), AuditError> {
        let mut vacant = self.vacant.clone();
        vacant.sort_unstable();
        let is_vacant = |&(_, heap): &(u32, &Option<T>)| heap.is_none();
        if (0..).zip(&self.heaps).filter(is_vacant).map(|(number, _)| number).eq(vacant) {
            Ok(())
        } else {
            Err(AuditError::new("the recorded list of vacant heap numbers is wrong".to_owned()))
        }
    }
}

/// The totals of an engine, updated with each change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InUse {
    /// The total size of live allocations.
    pub(super) used: ByteSize,
    /// The number of live allocations.
    pub(super) allocation_count: u64,
    /// The total size of heaps in use.
    pub(super) reserved: ByteSize,
}

impl InUse {
    pub(super) fn allocated(&mut self, size: ByteSize) {
        self.used = self.used.saturating_add(size);
        self.allocation_count += 1;
    }

    pub(super) fn freed(&mut self, size: ByteSize) {
        self.used = self.used.saturating_sub(size);
        self.allocation_count -= 1;
    }

    /// Compares the counts of an audit with the recorded totals.
    pub(super) fn agrees_with(&self, noted: &Self) -> Result<(), AuditError> {
        if self == noted {
            Ok(())
        } else {
            Err(AuditError::new(format!("counted {self:?}, recorded {noted:?}")))
        }
    }

    pub(super) fn totals<H>(&self, heap_count: u64, empty: &EmptyHeaps<H>) -> HeapSetTotals {
        HeapSetTotals {
            used: self.used,
            reserved: self.reserved.saturating_add(empty.bytes()),
            allocation_count: self.allocation_count,
            heap_count: heap_count + empty.count(),
            empty_heap_count: empty.count(),
            empty: empty.bytes(),
        }
    }
}
