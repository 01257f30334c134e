//! A table with a row per heap, and chains through its rows, for use by policies.

use super::HeapSlot;
use crate::ByteSize;

/// The link value for no heap.
const NONE: HeapSlot = HeapSlot(u32::MAX);

/// A row per [`HeapSlot`]: a policy's data of the heap, and the links of the one chain that may contain it.
///
/// The table grows by doubling and never shrinks, so nothing is allocated once every slot has a row. A row
/// takes eight bytes more than its `T`.
#[derive(Default)]
pub struct Rows<T> {
    rows: Vec<Row<T>>,
}

struct Row<T> {
    older: HeapSlot,
    newer: HeapSlot,
    data: T,
}

/// An ordered chain of heaps: each heap is added at the newest end. Its links are in [`Rows`].
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    oldest: HeapSlot,
    newest: HeapSlot,
}

impl Default for Chain {
    #[inline]
    fn default() -> Self {
        Self { oldest: NONE, newest: NONE }
    }
}

impl Chain {
    /// Returns the heap at the oldest end.
    #[must_use]
    #[inline]
    pub fn oldest(&self) -> Option<HeapSlot> {
        linked(self.oldest)
    }

    /// Returns the heap at the newest end.
    #[must_use]
    #[inline]
    pub fn newest(&self) -> Option<HeapSlot> {
        linked(self.newest)
    }
}

#[inline]
fn linked(heap: HeapSlot) -> Option<HeapSlot> {
    (heap != NONE).then_some(heap)
}

impl<T: Default> Rows<T> {
    /// Returns the data of a heap, or `None` if its row was never [made](Self::make).
    #[must_use]
    #[inline]
    pub fn get(&self, heap: HeapSlot) -> Option<&T> {
        self.rows.get(heap.index()).map(|row| &row.data)
    }

    /// Returns the data of a heap mutably, like [`get`](Self::get).
    #[inline]
    pub fn get_mut(&mut self, heap: HeapSlot) -> Option<&mut T> {
        self.rows.get_mut(heap.index()).map(|row| &mut row.data)
    }

    /// Returns the data of a heap, and adds a row if there is none.
    #[inline]
    pub fn make(&mut self, heap: HeapSlot) -> &mut T {
        let index = heap.index();
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, || Row { older: NONE, newer: NONE, data: T::default() });
        }
        &mut self.rows[index].data
    }

    /// Adds a heap that is in no chain at the newest end of a chain.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, heap: HeapSlot) {
        let before = chain.newest;
        let Some(row) = self.rows.get_mut(heap.index()) else {
            return;
        };
        row.older = before;
        row.newer = NONE;
        chain.newest = heap;
        match self.rows.get_mut(before.index()) {
            Some(row) => row.newer = heap,
            None => chain.oldest = heap,
        }
    }

    /// Removes a heap from the chain that contains it.
    #[inline]
    pub fn unlink(&mut self, chain: &mut Chain, heap: HeapSlot) {
        let Some(row) = self.rows.get_mut(heap.index()) else {
            return;
        };
        let (older, newer) = (row.older, row.newer);
        (row.older, row.newer) = (NONE, NONE);
        match self.rows.get_mut(older.index()) {
            Some(row) => row.newer = newer,
            None => chain.oldest = newer,
        }
        match self.rows.get_mut(newer.index()) {
            Some(row) => row.older = older,
            None => chain.newest = older,
        }
    }

    /// Moves a heap of a chain to its newest end.
    #[inline]
    pub fn renew(&mut self, chain: &mut Chain, heap: HeapSlot) {
        if chain.newest != heap {
            self.unlink(chain, heap);
            self.push(chain, heap);
        }
    }

    /// Returns the next heap towards the newest end of the chain.
    #[must_use]
    #[inline]
    pub fn newer(&self, heap: HeapSlot) -> Option<HeapSlot> {
        self.rows.get(heap.index()).and_then(|row| linked(row.newer))
    }

    /// Returns the next heap towards the oldest end of the chain.
    #[must_use]
    #[inline]
    pub fn older(&self, heap: HeapSlot) -> Option<HeapSlot> {
        self.rows.get(heap.index()).and_then(|row| linked(row.older))
    }

    /// Chooses heaps from the oldest of a chain on, until `need` is reached or a heap is not `wanted`.
    /// Returns the number of bytes chosen.
    pub fn choose_oldest(
        &self,
        chain: &Chain,
        need: ByteSize,
        wanted: impl Fn(&T) -> bool,
        evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>,
    ) -> ByteSize {
        let mut chosen = ByteSize::ZERO;
        let mut next = chain.oldest();
        while let Some(heap) = next {
            if chosen >= need || !self.get(heap).is_some_and(&wanted) {
                break;
            }
            next = self.newer(heap);
            if let Some(size) = evict(heap) {
                chosen = chosen.saturating_add(size);
            }
        }
        chosen
    }
}
