//! A suballocator with values, and an interval map that check each other at every step: ranges, counters, values and
//! fence values. The fuzz target `suballoc` uses this file, too.

use std::rc::Rc;

use crate::interval_map::IntervalMap;
use heapwright_core::suballoc::{
    FenceOrderError, FreeRangeChoice, Linear, RangeUse, SuballocError, Suballocation, Tlsf,
};
use heapwright_core::{Alignment, ByteSize, FenceValue};

/// A number, and a reference to a counter of instances.
type Value = (u64, Rc<()>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Tlsf,
    Linear,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) size: ByteSize,
    pub(crate) alignment: Alignment,
    /// Ignored by linear suballocators.
    pub(crate) strategy: FreeRangeChoice,
    /// At the upper end of a linear suballocator.
    pub(crate) upper: bool,
}

enum Heap {
    Tlsf(Box<Tlsf<Value>>),
    Linear(Linear<Value>),
}

macro_rules! each {
    ($heap:expr, $one:ident => $call:expr) => {
        match $heap {
            Heap::Tlsf($one) => $call,
            Heap::Linear($one) => $call,
        }
    };
}

impl Heap {
    fn new(algorithm: Algorithm, capacity: ByteSize) -> Result<Self, SuballocError> {
        match algorithm {
            Algorithm::Tlsf => Tlsf::with_values(capacity).map(Box::new).map(Self::Tlsf),
            Algorithm::Linear => Linear::with_values(capacity).map(Self::Linear),
        }
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Tlsf(_) => Algorithm::Tlsf,
            Self::Linear(_) => Algorithm::Linear,
        }
    }

    fn allocate(&mut self, request: &Request) -> Result<Suballocation, SuballocError> {
        let Request { size, alignment, strategy, upper } = *request;
        match self {
            Self::Tlsf(tlsf) => tlsf.allocate_with(size, alignment, strategy),
            Self::Linear(linear) if upper => linear.allocate_upper(size, alignment),
            Self::Linear(linear) => linear.allocate(size, alignment),
        }
    }

    fn ranges(&self) -> Vec<RangeUse> {
        each!(self, heap => heap.ranges().collect())
    }
}

pub(crate) struct Live {
    pub(crate) made: Suballocation,
    /// The value; every seventh suballocation has none.
    pub(crate) number: u64,
    /// The fence value of its batch.
    fence: Option<FenceValue>,
}

impl Live {
    fn value(&self) -> Option<u64> {
        (self.number % 7 != 6).then_some(self.number)
    }
}

pub(crate) struct ShadowedValues {
    heap: Heap,
    map: IntervalMap,
    /// In order of creation.
    pub(crate) live: Vec<Live>,
    /// The freed suballocations.
    pub(crate) stale: Vec<Suballocation>,
    next: u64,
    shares: Rc<()>,
    latest_fence: Option<FenceValue>,
}

impl ShadowedValues {
    /// Creates a suballocator, or `None` if its capacity is out of bounds.
    pub(crate) fn new(algorithm: Algorithm, capacity: u64) -> Option<Self> {
        match Heap::new(algorithm, ByteSize::new(capacity)) {
            Ok(heap) => Some(Self {
                heap,
                map: IntervalMap::new(capacity),
                live: Vec::new(),
                stale: Vec::new(),
                next: 0,
                shares: Rc::new(()),
                latest_fence: None,
            }),
            Err(SuballocError::CapacityOutOfBounds { limit, .. }) => {
                assert!(capacity == 0 || capacity > limit.get());
                None
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn state(&self) -> (Vec<RangeUse>, [ByteSize; 3]) {
        (
            self.heap.ranges(),
            each!(&self.heap, heap => [heap.used(), heap.free_size(), heap.largest_free_range()]),
        )
    }

    /// Allocates, checks the result, and returns whether there was room.
    pub(crate) fn allocate(&mut self, request: &Request) -> bool {
        match self.heap.allocate(request) {
            Ok(made) => {
                let (start, size) = (made.range.start(), made.range.size());
                assert!(start.is_aligned(request.alignment), "{made:?} at {}", request.alignment);
                assert_eq!(size, request.size);
                self.map.take(start.get(), size.get());
                let live = Live { made, number: self.next, fence: None };
                if let Some(number) = live.value() {
                    let value = Some((number, Rc::clone(&self.shares)));
                    assert_eq!(each!(&mut self.heap, heap => heap.set_value(made.id, value)), Ok(None));
                }
                self.live.push(live);
                self.next += 1;
                true
            }
            Err(refused) => {
                let (_, [_, free, largest]) = self.state();
                match refused {
                    SuballocError::ZeroSize => assert!(request.size.is_zero()),
                    SuballocError::LargerThanCapacity { .. } => {
                        assert!(request.size.get() > self.map.capacity());
                    }
                    SuballocError::OutOfSpace { requested, alignment, free: reported, largest_free } => {
                        assert_eq!((requested, alignment), (request.size, request.alignment));
                        assert_eq!((reported, largest_free), (free, largest));
                        let promised = requested <= largest_free && alignment == Alignment::ONE;
                        assert!(
                            !promised || request.upper,
                            "{requested} refused, {largest_free} in one piece"
                        );
                    }
                    other => panic!("{other}"),
                }
                // Compares with the map, in which nothing has changed.
                self.check();
                false
            }
        }
    }

    pub(crate) fn free(&mut self, at: usize) {
        let live = self.live.remove(at);
        let Live { made, number, .. } = live;
        // Takes the value first, or leaves it to be dropped.
        if number % 2 == 0 {
            let taken = each!(&mut self.heap, heap => heap.set_value(made.id, None)).expect("live");
            assert_eq!(taken.map(|(number, _)| number), live.value());
        }
        assert_eq!(each!(&mut self.heap, heap => heap.free(made.id)), Ok(made.range));
        self.map.give_back(made.range.start().get(), made.range.size().get());
        self.stale.push(made);
    }

    pub(crate) fn free_again(&mut self, at: usize) {
        let id = self.stale[at].id;
        let before = self.state();
        let refused = SuballocError::StaleId { id };
        each!(&mut self.heap, heap => {
            assert_eq!(heap.free(id), Err(refused));
            assert_eq!(heap.range_of(id), Err(refused));
            assert!(heap.value(id).is_none());
            assert_eq!(heap.set_value(id, Some((0, Rc::clone(&self.shares)))), Err(refused));
        });
        assert_eq!(self.state(), before, "refused, and changed");
    }

    pub(crate) fn clear(&mut self) {
        each!(&mut self.heap, heap => heap.clear());
        self.map = IntervalMap::new(self.map.capacity());
        self.stale.extend(self.live.drain(..).map(|live| live.made));
        self.latest_fence = None;
    }

    /// Returns the last submitted value plus `ahead`.
    pub(crate) fn fence(&self, ahead: i8) -> FenceValue {
        let latest = self.latest_fence.unwrap_or_default().get();
        FenceValue::new(latest.saturating_add_signed((ahead % 8).into()))
    }

    /// Closes a batch of a linear suballocator.
    pub(crate) fn submit(&mut self, fence: FenceValue) {
        let Heap::Linear(linear) = &mut self.heap else { return };
        match linear.submit(fence) {
            Ok(()) => {
                assert!(Some(fence) >= self.latest_fence);
                for live in &mut self.live {
                    live.fence.get_or_insert(fence);
                }
                self.latest_fence = Some(fence);
            }
            Err(error) => {
                let latest = self.latest_fence.expect("the first fence value may be any");
                assert!(fence < latest && error == FenceOrderError { fence, latest });
            }
        }
    }

    /// Retires batches of a linear suballocator.
    pub(crate) fn retire(&mut self, completed: FenceValue) {
        let Heap::Linear(linear) = &mut self.heap else { return };
        let mut heard = Vec::new();
        let retired =
            linear.retire_each(completed, |made, value| heard.push((made, value.map(|(number, _)| number))));
        let bytes = heard.iter().map(|(made, _)| made.range.size().get()).sum::<u64>();
        assert_eq!((retired.suballocations, retired.bytes.get()), (heard.len() as u64, bytes));
        let is_done = |live: &Live| live.fence.is_some_and(|fence| fence <= completed);
        let (done, left): (Vec<_>, Vec<_>) = self.live.drain(..).partition(is_done);
        self.live = left;
        assert!(heard.iter().copied().eq(done.iter().map(|live| (live.made, live.value()))), "oldest first");
        for Live { made, .. } in done {
            self.map.give_back(made.range.start().get(), made.range.size().get());
            self.stale.push(made);
        }
    }

    pub(crate) fn check(&self) {
        each!(&self.heap, heap => heap.audit()).expect("consistent");
        let (mut end, mut free, mut largest) = (0, 0, 0);
        let mut used_ranges = self.map.used_ranges();
        for range_use in self.heap.ranges() {
            let range = range_use.range();
            let (start, size) = (range.start().get(), range.size().get());
            assert!(start == end && size > 0, "{range_use:?} follows {end:#x}");
            end = range.end().get();
            match range_use {
                RangeUse::Used(_) => assert_eq!(used_ranges.next(), Some((start, size))),
                RangeUse::Free(_) => (free, largest) = (free + size, size.max(largest)),
                RangeUse::Padding(_) => assert_eq!(self.heap.algorithm(), Algorithm::Linear),
            }
        }
        assert_eq!((end, used_ranges.next()), (self.map.capacity(), None));
        let (_, [used, free_size, largest_free]) = self.state();
        assert_eq!((used.get(), free_size.get()), (self.map.capacity() - self.map.free(), free));
        assert!(largest_free.get() <= largest);
        let (count, is_empty) = each!(&self.heap, heap => (heap.allocation_count(), heap.is_empty()));
        assert_eq!((count, is_empty), (self.live.len() as u64, self.live.is_empty()));
        let values = self.live.iter().filter(|live| live.value().is_some()).count();
        assert_eq!(Rc::strong_count(&self.shares), values + 1, "a value was lost, or copied");
        for live in &self.live {
            let (value, range) =
                each!(&self.heap, heap => (heap.value(live.made.id), heap.range_of(live.made.id)));
            assert_eq!((value.map(|(number, _)| *number), range), (live.value(), Ok(live.made.range)));
        }
        if let Heap::Linear(linear) = &self.heap {
            assert_eq!(linear.oldest_fence(), self.live.first().and_then(|live| live.fence));
        }
    }

    /// With nothing live, compares the visible state with that of a new suballocator, and what follows.
    pub(crate) fn compare_with_fresh(mut self, requests: &[Request]) {
        let mut fresh = Self::new(self.heap.algorithm(), self.map.capacity()).expect("as before");
        assert_eq!(self.state(), fresh.state());
        for request in requests.iter().take(8) {
            assert_eq!(self.allocate(request), fresh.allocate(request));
            let last = |shadowed: &Self| shadowed.live.last().map(|live| live.made.range);
            assert_eq!(last(&self), last(&fresh));
        }
    }

    /// Drops the suballocator: each value that is left is dropped once.
    pub(crate) fn drop_heap(self) {
        let Self { heap, shares, .. } = self;
        drop(heap);
        assert_eq!(Rc::strong_count(&shares), 1);
    }
}
