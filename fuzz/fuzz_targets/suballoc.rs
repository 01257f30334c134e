//! Every algorithm, in a virtual block, compared with an interval map.
//!
//! After each step, checks the audit, every range and counter against the map, the values against their
//! suballocations, and the number of instances of each value. A refused step must change nothing. Once
//! everything is freed, the block must look and behave like a new one.
#![no_main]

#[allow(dead_code, reason = "the tests of the crate use the rest")]
#[path = "../../crates/core/tests/suballoc/interval_map.rs"]
mod interval_map;

use std::rc::Rc;

use arbitrary::Arbitrary;
use heapwright_core::suballoc::virtual_block::{End, Feature};
use heapwright_core::suballoc::{
    Algorithm, RangeUse, Statistics, Strategy, SuballocError, Suballocation, VirtualAllocationDesc,
    VirtualBlock,
};
use heapwright_core::{Alignment, ByteSize, FenceValue};
use interval_map::IntervalMap;
use libfuzzer_sys::fuzz_target;

/// A size with a bias towards interesting values: all magnitudes up to a tebibyte, and neighbours of powers of
/// two.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Size {
    Small(u8),
    Medium(u16),
    Power {
        log2: u8,
        off_by: i8,
    },
    Magnitude {
        log2: u8,
        bits: u64,
    },
    /// A multiple of an eighth of the capacity.
    Eighths(u8),
    Zero,
    Any(u64),
}

impl Size {
    const LARGEST_LOG2: u8 = 40;

    fn get(self, capacity: u64) -> u64 {
        match self {
            Self::Small(size) => u64::from(size) + 1,
            Self::Medium(size) => u64::from(size) + 1,
            Self::Power { log2, off_by } => {
                (1_u64 << (log2 % (Self::LARGEST_LOG2 + 1))).saturating_add_signed((off_by % 4).into())
            }
            Self::Magnitude { log2, bits } => {
                let power = 1_u64 << (log2 % (Self::LARGEST_LOG2 + 1));
                power | (bits & (power - 1))
            }
            Self::Eighths(count) => capacity / 8 * u64::from(count % 9),
            Self::Zero => 0,
            Self::Any(size) => size,
        }
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Request {
    size: Size,
    alignment_log2: u8,
    /// Selects optional features of the request.
    extra: u8,
}

impl Request {
    fn get(self, algorithm: Algorithm, capacity: u64) -> VirtualAllocationDesc {
        // Mostly 1 B to 4 MiB; sometimes any alignment, and often none.
        let log2 = match self.alignment_log2 {
            log2 @ 0..=191 => log2 % 23,
            log2 @ 192..=199 => 23 + (log2 - 192) * 5,
            _ => 0,
        };
        let alignment = Alignment::from_log2(log2.into()).expect("63 at most");
        let desc =
            VirtualAllocationDesc::new(ByteSize::new(self.size.get(capacity))).with_alignment(alignment);
        // Mostly features of the algorithm, and sometimes others.
        let asks = |feature| algorithm.has(feature) || self.extra >= 240;
        match self.extra % 8 {
            0 if asks(Feature::Strategies) => desc.with_strategy(Strategy::MinMemory),
            1 if asks(Feature::Strategies) => desc.with_strategy(Strategy::MinTime),
            2 if asks(Feature::Strategies) => desc.with_strategy(Strategy::MinOffset),
            3..=5 if asks(Feature::UpperEnd) => desc.with_end(End::Upper),
            _ => desc,
        }
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Order {
    LowestFirst,
    HighestFirst,
    OldestFirst,
    NewestFirst,
    /// Every second one, then the rest.
    EverySecond,
    /// By a stride through the remaining ones.
    Stride(u8),
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Step {
    Allocate(Request),
    /// The same request until it is refused, or this many times.
    Fill(Request, u8),
    Free {
        index: u16,
    },
    FreeAgain {
        index: u16,
    },
    FreeMany(Order, u8),
    Clear,
    /// Submits with the last submitted value plus this.
    Submit(i8),
    /// Retires at the last submitted value plus this.
    Retire(i8),
}

/// A number, and a reference to a counter of instances.
type Value = (u64, Rc<()>);

struct Live {
    made: Suballocation,
    number: u64,
    /// The fence value of its batch.
    fence: Option<FenceValue>,
}

struct Shadowed {
    block: VirtualBlock<Value>,
    map: IntervalMap,
    /// In order of creation.
    live: Vec<Live>,
    /// Some freed suballocations.
    stale: Vec<Suballocation>,
    next: u64,
    shares: Rc<()>,
    latest_fence: Option<FenceValue>,
}

impl Shadowed {
    fn new(algorithm: Algorithm, capacity: u64) -> Option<Self> {
        match VirtualBlock::new(algorithm, ByteSize::new(capacity)) {
            Ok(block) => Some(Self {
                block,
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

    fn state(&self) -> (Vec<RangeUse>, Statistics) {
        (self.block.suballocator().ranges().collect(), self.block.statistics())
    }

    fn allocate(&mut self, desc: &VirtualAllocationDesc) -> bool {
        let number = self.next;
        match self.block.allocate_desc(desc, (number, Rc::clone(&self.shares))) {
            Ok(made) => {
                let (start, size) = (made.range.start(), made.range.size());
                assert!(start.is_aligned(desc.alignment), "{made:?} at {}", desc.alignment);
                assert_eq!(size, desc.size);
                self.map.take(start.get(), size.get());
                self.live.push(Live { made, number, fence: None });
                self.next += 1;
                true
            }
            Err(refused) => {
                assert_eq!(refused.user_data.0, number);
                let (capacity, statistics) = (self.block.capacity(), self.block.statistics());
                match refused.error {
                    SuballocError::Unsupported { algorithm, feature } => {
                        assert!(algorithm == self.block.algorithm() && !algorithm.has(feature));
                    }
                    SuballocError::ZeroSize => assert!(desc.size.is_zero()),
                    SuballocError::LargerThanCapacity { .. } => assert!(desc.size > capacity),
                    SuballocError::OutOfSpace { requested, alignment, free, largest_free } => {
                        assert_eq!((requested, alignment), (desc.size, desc.alignment));
                        assert_eq!((free, largest_free), (statistics.free, statistics.largest_free_range));
                        let promised = desc.size == largest_free && alignment == Alignment::ONE;
                        assert!(!promised, "{} refused, {largest_free} in one piece", desc.size);
                    }
                    other => panic!("{other}"),
                }
                drop(refused);
                // Compares with the map, in which nothing has changed.
                self.check();
                false
            }
        }
    }

    fn free(&mut self, at: usize) {
        let Live { made, number, .. } = self.live.remove(at);
        let (range, (value, _)) = self.block.free(made.id).expect("live");
        assert_eq!((range, value), (made.range, number));
        self.map.give_back(range.start().get(), range.size().get());
        self.stale.push(made);
    }

    fn free_many(&mut self, order: Order, count: usize) {
        for _ in 0..count.min(self.live.len()) {
            let start = |at: &usize| self.live[*at].made.range.start();
            let length = self.live.len();
            let at = match order {
                Order::LowestFirst => (0..length).min_by_key(start),
                Order::HighestFirst => (0..length).max_by_key(start),
                Order::OldestFirst => Some(0),
                Order::NewestFirst => length.checked_sub(1),
                Order::EverySecond => (0..length).rev().find(|&at| self.live[at].number % 2 == 1).or(Some(0)),
                Order::Stride(stride) => Some(usize::from(stride) % length),
            };
            self.free(at.expect("there are some"));
        }
    }

    fn free_again(&mut self, at: usize) {
        let id = self.stale[at].id;
        let before = self.state();
        let refused = SuballocError::StaleId { id };
        assert_eq!(self.block.free(id).map(|(range, _)| range), Err(refused));
        assert_eq!(self.block.range_of(id), Err(refused));
        assert!(self.block.get(id).is_none() && self.block.get_mut(id).is_none());
        assert_eq!(self.state(), before, "refused, and changed");
    }

    fn clear(&mut self) {
        self.block.clear();
        self.map = IntervalMap::new(self.map.capacity());
        self.stale.extend(self.live.drain(..).map(|live| live.made));
        self.latest_fence = None;
    }

    /// Returns the last submitted value plus `ahead`.
    fn fence(&self, ahead: i8) -> FenceValue {
        let latest = self.latest_fence.unwrap_or_default().get();
        FenceValue::new(latest.saturating_add_signed((ahead % 8).into()))
    }

    fn submit(&mut self, fence: FenceValue) {
        match self.block.submit(fence) {
            Ok(()) => {
                for live in &mut self.live {
                    live.fence.get_or_insert(fence);
                }
                self.latest_fence = Some(fence);
            }
            Err(SuballocError::Unsupported { .. }) => {
                assert!(!self.block.algorithm().has(Feature::Fences));
            }
            Err(SuballocError::FenceOrder(_)) => assert!(Some(fence) < self.latest_fence),
            Err(other) => panic!("{other}"),
        }
    }

    fn retire(&mut self, completed: FenceValue) {
        let mut heard = Vec::new();
        let answer = self.block.retire_each(completed, |made, (number, _)| heard.push((made, number)));
        let Ok(retired) = answer else {
            return assert!(!self.block.algorithm().has(Feature::Fences));
        };
        assert_eq!(retired.suballocations, heard.len() as u64);
        let is_done = |live: &Live| live.fence.is_some_and(|fence| fence <= completed);
        let (done, left): (Vec<_>, Vec<_>) = self.live.drain(..).partition(is_done);
        self.live = left;
        assert!(heard.iter().copied().eq(done.iter().map(|live| (live.made, live.number))), "oldest first");
        for Live { made, .. } in done {
            self.map.give_back(made.range.start().get(), made.range.size().get());
            self.stale.push(made);
        }
    }

    fn check(&self) {
        let block = &self.block;
        block.audit().expect("consistent");
        let (mut end, mut free, mut padding) = (0, 0, 0);
        let mut used_ranges = self.map.used_ranges();
        for range_use in block.suballocator().ranges() {
            let range = range_use.range();
            let (start, size) = (range.start().get(), range.size().get());
            assert!(start == end && size > 0, "{range_use:?} follows {end:#x}");
            end = range.end().get();
            match range_use {
                RangeUse::Used(_) => assert_eq!(used_ranges.next(), Some((start, size))),
                RangeUse::Free(_) => free += size,
                RangeUse::Padding(_) => padding += size,
            }
        }
        assert_eq!((end, used_ranges.next()), (self.map.capacity(), None));
        let statistics = block.statistics();
        assert_eq!((statistics.free.get(), statistics.padding.get()), (free, padding));
        assert_eq!(statistics.used.get(), self.map.capacity() - self.map.free());
        assert_eq!(block.iter().len(), self.live.len());
        assert_eq!(Rc::strong_count(&self.shares), self.live.len() + 1, "a value was lost, or copied");
        for Live { made, number, .. } in &self.live {
            assert_eq!(block.get(made.id).expect("live").0, *number);
            assert_eq!(block.range_of(made.id), Ok(made.range));
        }
        assert_eq!(block.oldest_fence(), self.live.first().and_then(|live| live.fence));
    }

    /// With nothing live, compares the visible state with that of a new block, and what follows.
    fn compare_with_fresh(mut self, requests: &[Request]) {
        let (algorithm, capacity) = (self.block.algorithm(), self.map.capacity());
        let mut fresh = Self::new(algorithm, capacity).expect("as before");
        assert_eq!(self.state(), fresh.state());
        for request in requests.iter().take(8) {
            let desc = request.get(algorithm, capacity);
            assert_eq!(self.allocate(&desc), fresh.allocate(&desc));
            let last = |shadowed: &Self| shadowed.live.last().map(|live| live.made.range);
            assert_eq!(last(&self), last(&fresh));
        }
    }
}

fuzz_target!(|input: (u8, Size, Vec<Step>, Order)| {
    let (algorithm, capacity, steps, last_order) = input;
    let algorithm = Algorithm::ALL[usize::from(algorithm) % Algorithm::ALL.len()];
    let Some(mut shadowed) = Shadowed::new(algorithm, capacity.get(1 << 41)) else { return };
    let capacity = shadowed.map.capacity();
    let mut requests = Vec::new();
    shadowed.check();
    for step in steps.into_iter().take(150) {
        match step {
            Step::Allocate(request) => {
                requests.push(request);
                shadowed.allocate(&request.get(algorithm, capacity));
            }
            Step::Fill(request, count) => {
                requests.push(request);
                let desc = request.get(algorithm, capacity);
                for _ in 0..count {
                    // More would only take longer.
                    if shadowed.live.len() >= 400 || !shadowed.allocate(&desc) {
                        break;
                    }
                }
            }
            Step::Free { index } if !shadowed.live.is_empty() => {
                shadowed.free(usize::from(index) % shadowed.live.len());
            }
            Step::FreeAgain { index } if !shadowed.stale.is_empty() => {
                shadowed.free_again(usize::from(index) % shadowed.stale.len());
            }
            Step::FreeMany(order, count) => shadowed.free_many(order, count.into()),
            Step::Clear => shadowed.clear(),
            Step::Submit(ahead) => shadowed.submit(shadowed.fence(ahead)),
            Step::Retire(ahead) => shadowed.retire(shadowed.fence(ahead)),
            Step::Free { .. } | Step::FreeAgain { .. } => {}
        }
        shadowed.check();
    }
    shadowed.free_many(last_order, usize::MAX);
    shadowed.check();
    shadowed.compare_with_fresh(&requests);
});
