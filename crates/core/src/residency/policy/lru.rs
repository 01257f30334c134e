//! The least recently used policy.

use super::chains::{Chain, Rows};
use super::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};
use crate::ByteSize;

/// Evicts the least recently used heap first.
///
/// Of heaps that are used by the same submission, the one whose use becomes known first is evicted first. It takes 12
/// bytes per heap. Its weakness is cyclic use, which is typical of frames: of heaps that are used in turn and
/// do not fit together, it always evicts the one that is needed next.
#[derive(Default)]
pub struct Lru {
    rows: Rows<Held>,
    by_use: Chain,
}

/// Whether a heap is held, and thus in the chain.
#[derive(Debug, Clone, Copy, Default)]
struct Held(bool);

impl Lru {
    #[inline]
    fn remove(&mut self, heap: HeapSlot) {
        if let Some(held) = self.rows.get_mut(heap) {
            if std::mem::take(&mut held.0) {
                self.rows.unlink(&mut self.by_use, heap);
            }
        }
    }
}

impl EvictionPolicy for Lru {
    #[inline]
    fn admit(&mut self, heap: HeapSlot, _size: ByteSize, _cause: Admission, _now: Moment) {
        self.remove(heap);
        self.rows.make(heap).0 = true;
        self.rows.push(&mut self.by_use, heap);
    }

    #[inline]
    fn touch(&mut self, heap: HeapSlot, _now: Moment) {
        if self.rows.get(heap).is_some_and(|held| held.0) {
            self.rows.renew(&mut self.by_use, heap);
        }
    }

    #[inline]
    fn touch_regularly(&mut self, heap: HeapSlot, _interval: u64, _count: u64, last: Moment) {
        self.touch(heap, last);
    }

    #[inline]
    fn may_learn_late(&self) -> bool {
        true
    }

    #[inline]
    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        self.remove(heap);
    }

    #[inline]
    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
    }

    #[inline]
    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.rows.choose_oldest(&self.by_use, need, |_| true, evict);
    }
}
