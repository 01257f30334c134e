//! S3-FIFO: a small queue that promotes reused heaps, a main queue, and a memory of heaps evicted from the
//! small queue.

use heapwright_core::ByteSize;
use heapwright_core::residency::policy::chains::{Chain, Rows};
use heapwright_core::residency::policy::{Admission, EvictionPolicy, HeapSlot, Moment, Withdrawal};

/// S3-FIFO, of Yang, Zhang, Qiu, Yue and Rashmi (SOSP 2023), with queues measured in bytes.
///
/// A heap enters the small queue. At its end the heap moves to the main queue if it was used at least twice
/// since, and is otherwise evicted and remembered: if it returns soon it enters the main queue directly. At
/// the end of the main queue a heap is evicted if it was not used, and otherwise reinserted, once for each
/// use, up to three. Heaps are evicted from the small queue while it has at least a tenth of the capacity.
/// Remembered heaps have at most nine tenths of the capacity. A heap that was locked returns to the main
/// queue.
///
/// The capacity is the bytes held when [`choose`](EvictionPolicy::choose) is called, because memory is full
/// then. It takes 24 bytes per heap.
///
/// [`choose`](EvictionPolicy::choose) costs O(victims + heaps that cannot be evicted + uses since the last
/// call, at most three per heap).
#[derive(Debug)]
pub struct S3Fifo {
    rows: Rows<Known>,
    queues: [Queue; 3],
    capacity: u64,
}

#[derive(Debug)]
struct Queue {
    chain: Chain,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    size: u64,
    place: Option<Place>,
    uses: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Small,
    Main,
    /// The heap was recently evicted from the small queue.
    Ghost,
}

impl Place {
    const fn index(self) -> usize {
        match self {
            Self::Small => 0,
            Self::Main => 1,
            Self::Ghost => 2,
        }
    }
}

/// The maximum number of uses that is counted.
const MOST_USES: u8 = 3;

impl Default for S3Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl S3Fifo {
    /// Creates a policy that holds no heap.
    #[must_use]
    pub const fn new() -> Self {
        const EMPTY: Queue = Queue { chain: Chain::EMPTY, bytes: 0 };
        Self { rows: Rows::new(), queues: [EMPTY; 3], capacity: 0 }
    }

    fn remove(&mut self, heap: HeapSlot) -> Option<Place> {
        let known = self.rows.get_mut(heap)?;
        let (place, size) = (known.place.take()?, known.size);
        let queue = &mut self.queues[place.index()];
        queue.bytes = queue.bytes.saturating_sub(size);
        self.rows.unlink(&mut queue.chain, heap);
        Some(place)
    }

    fn put(&mut self, heap: HeapSlot, place: Place) {
        let Some(known) = self.rows.get_mut(heap) else { return };
        known.place = Some(place);
        let queue = &mut self.queues[place.index()];
        queue.bytes = queue.bytes.saturating_add(known.size);
        self.rows.push(&mut queue.chain, heap);
    }
}

impl EvictionPolicy for S3Fifo {
    fn admit(&mut self, heap: HeapSlot, size: ByteSize, cause: Admission, _now: Moment) {
        let before = self.remove(heap);
        let known = self.rows.make(heap);
        known.size = size.get();
        known.uses = 0;
        let to_main = before == Some(Place::Ghost) || cause == Admission::Unlocked;
        self.put(heap, if to_main { Place::Main } else { Place::Small });
    }

    fn touch(&mut self, heap: HeapSlot, _now: Moment) {
        if let Some(known) = self.rows.get_mut(heap) {
            known.uses = (known.uses + 1).min(MOST_USES);
        }
    }

    fn withdraw(&mut self, heap: HeapSlot, cause: Withdrawal, _now: Moment) {
        let remembered = self.rows.get(heap).is_some_and(|known| known.place == Some(Place::Small));
        if self.rows.get(heap).is_some_and(|known| known.place == Some(Place::Ghost)) {
            return;
        }
        self.remove(heap);
        if remembered && cause == Withdrawal::Evicted {
            self.put(heap, Place::Ghost);
            let most = self.capacity - self.capacity / 10;
            while self.queues[Place::Ghost.index()].bytes > most
                && let Some(oldest) = self.queues[Place::Ghost.index()].chain.oldest()
            {
                self.remove(oldest);
            }
        }
    }

    fn forget(&mut self, heap: HeapSlot) {
        self.remove(heap);
    }

    fn choose(&mut self, need: ByteSize, _now: Moment, evict: &mut dyn FnMut(HeapSlot) -> Option<ByteSize>) {
        let [small, main, _] = &self.queues;
        self.capacity = small.bytes.saturating_add(main.bytes);
        let mut next_small = small.chain.oldest();
        let mut next_main = main.chain.oldest();
        // The bytes left in the small queue if all chosen heaps were evicted.
        let mut small_left = small.bytes;
        let mut chosen = ByteSize::ZERO;
        while chosen < need {
            let small_first = small_left.saturating_mul(10) >= self.capacity;
            let from_small = if small_first { next_small.is_some() } else { next_main.is_none() };
            let Some(heap) = (if from_small { next_small } else { next_main }) else { return };
            let newer = self.rows.newer(heap);
            let Some(known) = self.rows.get_mut(heap) else { return };
            let size = known.size;
            let promoted = from_small && known.uses > 1;
            let again = !from_small && known.uses > 0;
            known.uses = if promoted { 0 } else { known.uses.saturating_sub(u8::from(again)) };
            let next = if from_small { &mut next_small } else { &mut next_main };
            *next = newer;
            if promoted || again {
                self.remove(heap);
                self.put(heap, Place::Main);
                next_main = next_main.or(Some(heap));
                if promoted {
                    small_left = small_left.saturating_sub(size);
                }
            } else if let Some(size) = evict(heap) {
                if from_small {
                    small_left = small_left.saturating_sub(size.get());
                }
                chosen = chosen.saturating_add(size);
            }
        }
    }

    fn counts_time(&self) -> bool {
        false
    }
}
