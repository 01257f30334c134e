//! LIRS: heaps with a low inter-reference recency are kept, the others pass through a small part of memory.

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// LIRS, of Jiang and Zhang (SIGMETRICS 2002), with shares measured in bytes.
///
/// A heap that is used again while it is still in the stack (which reaches back to the last use of the
/// coldest kept heap) has a low inter-reference recency and is kept; in exchange, the coldest kept heap
/// becomes a passing heap. Kept heaps take up to 99 in 100 bytes of the capacity. Passing heaps are evicted
/// first, in a queue; evicted heaps stay in the stack.
///
/// The capacity is the bytes held when [`choose`](EvictionPolicy::choose) is called, because memory is full
/// then; until the first call, all heaps are kept. If no passing heap can be evicted, the coldest kept heaps
/// are. It takes 32 bytes per heap, and remembering a heap takes no more.
///
/// [`choose`](EvictionPolicy::choose) costs O(victims + heaps that cannot be evicted), amortized over the
/// uses, and O(heaps in the stack) in addition if no passing heap can be evicted.
#[derive(Debug)]
pub struct Lirs {
    /// The heaps in the order of their last use, back to the coldest kept heap.
    stack: Chain,
    rows: Rows<Known>,
    /// The passing heaps, in the order of eviction.
    queue: Chain,
    queue_rows: Rows<()>,
    bytes_to_keep: u64,
    bytes_passing: u64,
    /// The capacity; `None` while memory was never full.
    capacity: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    size: u64,
    status: Status,
    in_stack: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Status {
    #[default]
    NotHeld,
    Keep,
    Passing,
}

impl Default for Lirs {
    fn default() -> Self {
        Self::new()
    }
}

impl Lirs {
    /// Creates a policy that holds no heap.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            stack: Chain::EMPTY,
            rows: Rows::new(),
            queue: Chain::EMPTY,
            queue_rows: Rows::new(),
            bytes_to_keep: 0,
            bytes_passing: 0,
            capacity: None,
        }
    }

    fn most_to_keep(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity - capacity.div_ceil(100))
    }

    fn known(&self, heap: HeapSlot) -> Known {
        self.rows.get(heap).copied().unwrap_or_default()
    }

    /// Changes the status, and all that depends on it except the stack.
    fn set_status(&mut self, heap: HeapSlot, status: Status) {
        let known = self.rows.make(heap);
        let size = known.size;
        match std::mem::replace(&mut known.status, status) {
            Status::Keep => self.bytes_to_keep = self.bytes_to_keep.saturating_sub(size),
            Status::Passing => {
                self.bytes_passing = self.bytes_passing.saturating_sub(size);
                self.queue_rows.unlink(&mut self.queue, heap);
            }
            Status::NotHeld => {}
        }
        match status {
            Status::Keep => self.bytes_to_keep = self.bytes_to_keep.saturating_add(size),
            Status::Passing => {
                self.bytes_passing = self.bytes_passing.saturating_add(size);
                self.queue_rows.make(heap);
                self.queue_rows.push(&mut self.queue, heap);
            }
            Status::NotHeld => {}
        }
    }

    fn leave_stack(&mut self, heap: HeapSlot) {
        if let Some(known) = self.rows.get_mut(heap)
            && std::mem::take(&mut known.in_stack)
        {
            self.rows.unlink(&mut self.stack, heap);
        }
    }

    fn raise(&mut self, heap: HeapSlot) {
        self.leave_stack(heap);
        self.rows.make(heap).in_stack = true;
        self.rows.push(&mut self.stack, heap);
    }

    /// Removes heaps from the stack until its coldest heap is a kept one.
    fn prune(&mut self) {
        while let Some(coldest) = self.stack.oldest()
            && self.known(coldest).status != Status::Keep
        {
            self.leave_stack(coldest);
        }
    }

    /// Makes the coldest kept heaps passing heaps, until the kept heaps fit in their share. `spared` is
    /// excluded.
    fn rebalance(&mut self, spared: Option<HeapSlot>) {
        self.prune();
        while self.bytes_to_keep > self.most_to_keep()
            && let Some(coldest) = self.stack.oldest()
            && spared != Some(coldest)
        {
            self.leave_stack(coldest);
            self.set_status(coldest, Status::Passing);
            self.prune();
        }
    }

    fn withdraw_now(&mut self, heap: HeapSlot) {
        self.set_status(heap, Status::NotHeld);
        self.prune();
    }
}

impl EvictionPolicy for Lirs {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, _cause: Admission, _now: Moment) {
        self.set_status(heap, Status::NotHeld);
        let known = self.rows.make(heap);
        known.size = size.get();
        let low_recency = known.in_stack;
        let room = self.most_to_keep().saturating_sub(self.bytes_to_keep);
        let keep = low_recency || size.get() <= room;
        self.raise(heap);
        self.set_status(heap, if keep { Status::Keep } else { Status::Passing });
        self.rebalance(Some(heap));
    }

    fn touch(&mut self, heap: HeapSlot, _now: Moment) {
        let known = self.known(heap);
        match known.status {
            Status::NotHeld => {}
            Status::Keep => {
                self.raise(heap);
                self.prune();
            }
            Status::Passing => {
                self.raise(heap);
                let status = if known.in_stack { Status::Keep } else { Status::Passing };
                self.set_status(heap, status);
                self.rebalance(Some(heap));
            }
        }
    }

    fn withdraw(&mut self, heap: HeapSlot, _cause: Withdrawal, _now: Moment) {
        if self.known(heap).status != Status::NotHeld {
            self.withdraw_now(heap);
        }
    }

    fn forget(&mut self, heap: HeapSlot) {
        if self.rows.get(heap).is_some() {
            self.leave_stack(heap);
            self.withdraw_now(heap);
        }
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        self.capacity = Some(self.bytes_to_keep.saturating_add(self.bytes_passing));
        self.rebalance(None);
        let mut chosen = ByteSize::ZERO;
        let mut ask = |heap| {
            if let Some(size) = evict(heap) {
                chosen = chosen.saturating_add(size);
            }
            chosen >= need
        };
        if need.is_zero() {
            return;
        }
        let mut next = self.queue.oldest();
        while let Some(heap) = next {
            if ask(heap) {
                return;
            }
            next = self.queue_rows.newer(heap);
        }
        let mut next = self.stack.oldest();
        while let Some(heap) = next {
            if self.known(heap).status == Status::Keep && ask(heap) {
                return;
            }
            next = self.rows.newer(heap);
        }
    }

    fn counts_time(&self) -> bool {
        false
    }
}
