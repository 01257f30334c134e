//! A suballocator with values, and an interval map that check each other at every step: ranges, counters, values, fence
//! values, and which requests may be refused. The fuzz target `suballoc` uses this file, too.

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

impl Request {
    /// Returns the lowest aligned start between two offsets, if the request fits there.
    fn lowest_in(&self, (start, end): (u64, u64)) -> Option<u64> {
        let start = start.checked_next_multiple_of(self.alignment.get())?;
        (start.checked_add(self.size.get())? <= end).then_some(start)
    }

    /// Returns the highest aligned start between two offsets, if the request fits there.
    fn highest_in(&self, (start, end): (u64, u64)) -> Option<u64> {
        let latest = end.checked_sub(self.size.get())?;
        Some(latest - latest % self.alignment.get()).filter(|&latest| latest >= start)
    }
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
    /// Whether it is at the upper end of a linear suballocator.
    upper: bool,
}

impl Live {
    fn value(&self) -> Option<u64> {
        (self.number % 7 != 6).then_some(self.number)
    }

    fn bounds(&self) -> (u64, u64) {
        (self.made.range.start().get(), self.made.range.end().get())
    }
}

/// The free ranges of a linear suballocator, as the order of its live suballocations determines them.
struct Gaps {
    /// After the newest suballocation of the lower end.
    middle: (u64, u64),
    /// Before the oldest one, if the lower end can wrap.
    at_zero: (u64, u64),
    has_wrapped: bool,
}

pub(crate) struct Shadowed {
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

impl Shadowed {
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

    pub(crate) fn state(&self) -> (Vec<RangeUse>, [ByteSize; 3]) {
        (
            self.heap.ranges(),
            each!(&self.heap, heap => [heap.used(), heap.free_size(), heap.largest_free_range()]),
        )
    }

    /// Returns the free ranges as (start, end), in ascending order.
    pub(crate) fn free_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.map.free_ranges().map(|(start, size)| (start, start + size))
    }

    fn gaps(&self) -> Gaps {
        let at = |upper| self.live.iter().filter(move |live| live.upper == upper).map(Live::bounds);
        let to = at(true).map(|(start, _)| start).min();
        let (oldest, _) = at(false).next().unwrap_or_default();
        let (newest, end) = at(false).next_back().unwrap_or_default();
        let has_wrapped = newest < oldest;
        let can_wrap = !has_wrapped && to.is_none();
        Gaps {
            middle: (end, if has_wrapped { oldest } else { to.unwrap_or(self.map.capacity()) }),
            at_zero: (0, if can_wrap { oldest } else { 0 }),
            has_wrapped,
        }
    }

    /// Returns the offset that the request gets, if that is documented: a linear suballocator has one that fits, and
    /// the lowest one is exact.
    fn expected_start(&self, request: &Request) -> Option<Option<u64>> {
        match self.heap.algorithm() {
            Algorithm::Linear => {
                let Gaps { middle, at_zero, has_wrapped } = self.gaps();
                Some(match request.upper {
                    true => request.highest_in(middle).filter(|_| !has_wrapped),
                    false => request.lowest_in(middle).or_else(|| request.lowest_in(at_zero)),
                })
            }
            Algorithm::Tlsf if request.strategy == FreeRangeChoice::MinOffset => {
                Some(self.free_ranges().find_map(|free| request.lowest_in(free)))
            }
            Algorithm::Tlsf => None,
        }
    }

    /// Checks a refusal by TLSF against the guarantees of a good fit.
    fn check_refusal(&self, request: &Request) {
        let free: Vec<_> = self.free_ranges().collect();
        if free.len() <= 64 {
            let fitting = free.iter().find(|&&free| request.lowest_in(free).is_some());
            assert_eq!(fitting, None, "{request:?} fits, among {} ranges", free.len());
        }
        let certain = u128::from(request.size.get()) + u128::from(request.alignment.get() - 1);
        let largest = free.iter().map(|(start, end)| u128::from(end - start)).max().unwrap_or(0);
        assert!(largest * 32 < certain * 33, "{request:?} is refused, {largest} bytes are in one piece");
    }

    /// Allocates, and checks the result.
    pub(crate) fn allocate(&mut self, request: &Request) -> Result<Suballocation, SuballocError> {
        let (expected, (_, [_, free, largest])) = (self.expected_start(request), self.state());
        let answer = self.heap.allocate(request);
        match answer {
            Ok(made) => {
                let (start, size) = (made.range.start(), made.range.size());
                assert!(start.is_aligned(request.alignment), "{made:?} at {}", request.alignment);
                assert_eq!(size, request.size);
                assert!(
                    expected.is_none_or(|expected| expected == Some(start.get())),
                    "{made:?}, not {expected:?}"
                );
                self.map.take(start.get(), size.get());
                let live = Live { made, number: self.next, fence: None, upper: request.upper };
                if let Some(number) = live.value() {
                    let value = Some((number, Rc::clone(&self.shares)));
                    assert_eq!(each!(&mut self.heap, heap => heap.set_value(made.id, value)), Ok(None));
                }
                self.live.push(live);
                self.next += 1;
            }
            Err(SuballocError::ZeroSize) => assert!(request.size.is_zero()),
            Err(SuballocError::LargerThanCapacity { requested, capacity }) => {
                assert_eq!((requested, capacity.get()), (request.size, self.map.capacity()));
                assert!(requested > capacity);
            }
            Err(SuballocError::OutOfSpace { requested, alignment, free: reported, largest_free }) => {
                assert_eq!((requested, alignment), (request.size, request.alignment));
                assert_eq!((reported, largest_free), (free, largest));
                assert!(requested > largest_free || alignment > Alignment::ONE || request.upper);
                match expected {
                    Some(expected) => assert_eq!(expected, None, "{request:?} is refused"),
                    None => self.check_refusal(request),
                }
            }
            Err(other) => panic!("{other}"),
        }
        // If the request was refused, nothing has changed in the map.
        self.check();
        answer
    }

    /// Allocates at the lower end, by the usual strategy.
    pub(crate) fn put(&mut self, size: u64, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        let (size, strategy) = (ByteSize::new(size), FreeRangeChoice::MinMemory);
        self.allocate(&Request { size, alignment, strategy, upper: false })
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
        match &self.heap {
            Heap::Tlsf(tlsf) => {
                let [largest, reported] = [largest, largest_free.get()].map(u128::from);
                assert!(reported <= largest && (largest * 32 < reported * 33 || largest == 0));
                assert_eq!(tlsf.free_range_count(), self.map.free_ranges().count() as u64);
            }
            Heap::Linear(linear) => {
                assert_eq!(largest_free.get(), largest);
                let Gaps { middle, at_zero, .. } = self.gaps();
                let expected = [at_zero, middle].into_iter().filter(|(start, end)| start < end);
                let gaps = linear.ranges().filter(RangeUse::is_free).map(|free| free.range());
                assert!(gaps.map(|gap| (gap.start().get(), gap.end().get())).eq(expected));
            }
        }
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
            let [ours, theirs] = [&mut self, &mut fresh].map(|shadowed| shadowed.allocate(request));
            assert_eq!(ours.map(|made| made.range), theirs.map(|made| made.range));
        }
    }

    /// Drops the suballocator: each value that is left is dropped once.
    pub(crate) fn drop_heap(self) {
        let Self { heap, shares, .. } = self;
        drop(heap);
        assert_eq!(Rc::strong_count(&shares), 1);
    }
}
