//! A table with a row per heap, and chains through its rows: what every policy is made of.

use std::fmt;

use super::HeapSlot;
use crate::ByteSize;

/// Stands for no heap where a link is.
const NONE: HeapSlot = HeapSlot::new(u32::MAX);

/// A row per [`HeapSlot`]: what a policy knows of the heap, and its links in the one chain that it is in, if any.
///
/// The table grows by doubling and never shrinks, so nothing is allocated once every slot was seen. A row costs eight bytes more than
/// its `T`.
#[derive(Default)]
pub struct Rows<T> {
    rows: Vec<Row<T>>,
}

struct Row<T> {
    older: HeapSlot,
    newer: HeapSlot,
    data: T,
}

/// Heaps in an order: each is pushed at the newest end. Its links are in [`Rows`].
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    oldest: HeapSlot,
    newest: HeapSlot,
}

impl Chain {
    /// A chain of no heaps.
    pub const EMPTY: Self = Self { oldest: NONE, newest: NONE };

    /// The heap at the oldest end.
    #[must_use]
    #[inline]
    pub fn oldest(&self) -> Option<HeapSlot> {
        linked(self.oldest)
    }

    /// The heap at the newest end.
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
    /// Creates a table without rows.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// What is known of a heap; nothing where it was never [`made`](Self::make).
    #[must_use]
    #[inline]
    pub fn get(&self, heap: HeapSlot) -> Option<&T> {
        self.rows.get(heap.index()).map(|row| &row.data)
    }

    /// As [`get`](Self::get), to change it.
    #[inline]
    pub fn get_mut(&mut self, heap: HeapSlot) -> Option<&mut T> {
        self.rows.get_mut(heap.index()).map(|row| &mut row.data)
    }

    /// The heap's row, made now if there was none.
    pub fn make(&mut self, heap: HeapSlot) -> &mut T {
        let index = heap.index();
        if index >= self.rows.len() {
            self.rows.resize_with(index + 1, || Row { older: NONE, newer: NONE, data: T::default() });
        }
        &mut self.rows[index].data
    }

    /// Puts a heap, which is in no chain, at the newest end of one.
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

    /// Takes a heap out of the chain that it is in.
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

    /// The next heap towards the newest end of its chain.
    #[must_use]
    #[inline]
    pub fn newer(&self, heap: HeapSlot) -> Option<HeapSlot> {
        self.rows.get(heap.index()).and_then(|row| linked(row.newer))
    }

    /// The next heap towards the oldest end of its chain.
    #[must_use]
    #[inline]
    pub fn older(&self, heap: HeapSlot) -> Option<HeapSlot> {
        self.rows.get(heap.index()).and_then(|row| linked(row.older))
    }
}

impl<T: Default> Rows<T> {
    /// Chooses from the oldest heap of a chain on, until `need` is reached or a heap is not `wanted` any more. Answers how much was
    /// chosen.
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

impl<T> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.len())
    }
}
