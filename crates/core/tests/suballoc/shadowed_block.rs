//! A virtual block of any algorithm, and an interval map that check each other at every step: ranges, counters, statistics,
//! values and fence values. The fuzz target `suballoc` uses this file, too.

use std::rc::Rc;

use crate::interval_map::IntervalMap;
use heapwright_core::suballoc::virtual_block::Feature;
use heapwright_core::suballoc::{
    Algorithm, FenceOrderError, RangeUse, Statistics, SuballocError, Suballocation, VirtualAllocationDesc,
    VirtualBlock,
};
use heapwright_core::{Alignment, ByteSize, FenceValue};

/// A number, and a reference to a counter of instances.
type Value = (u64, Rc<()>);

pub(crate) struct Live {
    pub(crate) made: Suballocation,
    pub(crate) number: u64,
    /// The fence value of its batch.
    fence: Option<FenceValue>,
}

pub(crate) struct ShadowedBlock {
    block: VirtualBlock<Value>,
    map: IntervalMap,
    /// In order of creation.
    pub(crate) live: Vec<Live>,
    /// The freed suballocations.
    pub(crate) stale: Vec<Suballocation>,
    next: u64,
    shares: Rc<()>,
    latest_fence: Option<FenceValue>,
}

impl ShadowedBlock {
    /// Creates a block, or `None` if its capacity is out of bounds.
    pub(crate) fn new(algorithm: Algorithm, capacity: u64) -> Option<Self> {
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

    /// Allocates, checks the result, and returns whether there was room.
    pub(crate) fn allocate(&mut self, desc: &VirtualAllocationDesc) -> bool {
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

    pub(crate) fn free(&mut self, at: usize) {
        let Live { made, number, .. } = self.live.remove(at);
        let (range, (value, _)) = self.block.free(made.id).expect("live");
        assert_eq!((range, value), (made.range, number));
        self.map.give_back(range.start().get(), range.size().get());
        self.stale.push(made);
    }

    pub(crate) fn free_again(&mut self, at: usize) {
        let id = self.stale[at].id;
        let before = self.state();
        let refused = SuballocError::StaleId { id };
        assert_eq!(self.block.free(id).map(|(range, _)| range), Err(refused));
        assert_eq!(self.block.range_of(id), Err(refused));
        assert!(self.block.get(id).is_none() && self.block.get_mut(id).is_none());
        assert_eq!(self.state(), before, "refused, and changed");
    }

    pub(crate) fn clear(&mut self) {
        self.block.clear();
        self.map = IntervalMap::new(self.map.capacity());
        self.stale.extend(self.live.drain(..).map(|live| live.made));
        self.latest_fence = None;
    }

    /// Returns the last submitted value plus `ahead`.
    pub(crate) fn fence(&self, ahead: i8) -> FenceValue {
        let latest = self.latest_fence.unwrap_or_default().get();
        FenceValue::new(latest.saturating_add_signed((ahead % 8).into()))
    }

    pub(crate) fn submit(&mut self, fence: FenceValue) {
        match self.block.submit(fence) {
            Ok(()) => {
                assert!(self.block.algorithm().has(Feature::Fences) && Some(fence) >= self.latest_fence);
                for live in &mut self.live {
                    live.fence.get_or_insert(fence);
                }
                self.latest_fence = Some(fence);
            }
            Err(SuballocError::Unsupported { .. }) => {
                assert!(!self.block.algorithm().has(Feature::Fences));
            }
            Err(SuballocError::FenceOrder(error)) => {
                let latest = self.latest_fence.expect("the first fence value may be any");
                assert!(fence < latest && error == FenceOrderError { fence, latest });
            }
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) fn retire(&mut self, completed: FenceValue) {
        let mut heard = Vec::new();
        let answer = self.block.retire_each(completed, |made, (number, _)| heard.push((made, number)));
        let Ok(retired) = answer else {
            return assert!(!self.block.algorithm().has(Feature::Fences));
        };
        let bytes = heard.iter().map(|(made, _)| made.range.size().get()).sum::<u64>();
        assert_eq!((retired.suballocations, retired.bytes.get()), (heard.len() as u64, bytes));
        let is_done = |live: &Live| live.fence.is_some_and(|fence| fence <= completed);
        let (done, left): (Vec<_>, Vec<_>) = self.live.drain(..).partition(is_done);
        self.live = left;
        assert!(heard.iter().copied().eq(done.iter().map(|live| (live.made, live.number))), "oldest first");
        for Live { made, .. } in done {
            self.map.give_back(made.range.start().get(), made.range.size().get());
            self.stale.push(made);
        }
    }

    pub(crate) fn check(&self) {
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
        let exact = block.detailed_statistics();
        assert!(statistics.largest_free_range <= exact.free.largest);
        assert_eq!(statistics.internal_fragmentation(), exact.internal_fragmentation());
        let summary = exact.summary();
        assert_eq!(
            [statistics.capacity, statistics.used, statistics.free, statistics.padding],
            [summary.capacity, summary.used, summary.free, summary.padding]
        );
        assert_eq!(statistics.allocation_count, summary.allocation_count);
        assert_eq!(exact.free_sizes.iter().map(|(_, count)| count).sum::<u64>(), exact.free.count);
        for share in [exact.internal_fragmentation(), exact.external_fragmentation()] {
            assert!((0.0..=1.0).contains(&share), "{share}");
        }
        assert_eq!((block.iter().len(), block.is_empty()), (self.live.len(), self.live.is_empty()));
        assert_eq!(Rc::strong_count(&self.shares), self.live.len() + 1, "a value was lost, or copied");
        let mut in_order: Vec<_> = self.live.iter().map(|live| (live.made, live.number)).collect();
        in_order.sort_unstable_by_key(|(made, _)| made.range.start());
        assert!(
            block.iter().map(|(made, &(number, _))| (made, number)).eq(in_order),
            "in the order of offsets"
        );
        for Live { made, number, .. } in &self.live {
            assert_eq!(block.get(made.id).expect("live").0, *number);
            assert_eq!(block.range_of(made.id), Ok(made.range));
        }
        assert_eq!(block.oldest_fence(), self.live.first().and_then(|live| live.fence));
    }

    /// With nothing live, compares the visible state with that of a new block, and what follows.
    pub(crate) fn compare_with_fresh(mut self, descs: &[VirtualAllocationDesc]) {
        let (algorithm, capacity) = (self.block.algorithm(), self.map.capacity());
        let mut fresh = Self::new(algorithm, capacity).expect("as before");
        assert_eq!(self.state(), fresh.state());
        for desc in descs.iter().take(8) {
            assert_eq!(self.allocate(desc), fresh.allocate(desc));
            let last = |shadowed: &Self| shadowed.live.last().map(|live| live.made.range);
            assert_eq!(last(&self), last(&fresh));
        }
    }

    /// Drops the block: each value that is left is dropped once.
    pub(crate) fn drop_block(self) {
        let Self { block, shares, .. } = self;
        drop(block);
        assert_eq!(Rc::strong_count(&shares), 1);
    }
}
