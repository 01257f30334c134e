//! A suballocator and an interval map that check each other at every step, and random steps for both.

pub(crate) use crate::interval_map::IntervalMap;
use heapwright_core::suballoc::{
    AuditError, Linear, RangeUse, SuballocError, Suballocation, SuballocationId, Tlsf,
};
use heapwright_core::{Alignment, ByteSize, HeapRange};
use proptest::prelude::*;

/// The number of cases per property, and the maximum number of steps per case. Miri takes a thousand times as
/// long.
pub(crate) const CASES: u32 = if cfg!(miri) { 2 } else { 96 };
pub(crate) const STEPS: usize = if cfg!(miri) { 25 } else { 120 };

pub(crate) fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn alignment(log2: u32) -> Alignment {
    Alignment::from_log2(log2).unwrap()
}

/// A suballocator without values.
pub(crate) trait Suballocator {
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError>;
    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError>;
    fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError>;
    fn clear(&mut self);
    fn capacity(&self) -> ByteSize;
    fn used(&self) -> ByteSize;
    fn free_size(&self) -> ByteSize;
    fn allocation_count(&self) -> u64;
    fn largest_free_range(&self) -> ByteSize;
    fn ranges(&self) -> impl Iterator<Item = RangeUse>;
    fn audit(&self) -> Result<(), AuditError>;
}

macro_rules! suballocators {
    ($($type:ty)*) => {$(
        impl Suballocator for $type {
            fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
                self.allocate(size, alignment)
            }

            fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
                self.free(id)
            }

            fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
                self.range_of(id)
            }

            fn clear(&mut self) {
                self.clear();
            }

            fn capacity(&self) -> ByteSize {
                self.capacity()
            }

            fn used(&self) -> ByteSize {
                self.used()
            }

            fn free_size(&self) -> ByteSize {
                self.free_size()
            }

            fn allocation_count(&self) -> u64 {
                self.allocation_count()
            }

            fn largest_free_range(&self) -> ByteSize {
                self.largest_free_range()
            }

            fn ranges(&self) -> impl Iterator<Item = RangeUse> {
                self.ranges()
            }

            fn audit(&self) -> Result<(), AuditError> {
                self.audit()
            }
        }
    )*};
}
suballocators! { Tlsf Linear }

/// Panics if a request of this size and alignment should not have been refused, given the free ranges.
pub(crate) type Guarantee<A> = fn(&A, &IntervalMap, u64, Alignment);

/// A suballocator and its shadow.
pub(crate) struct Shadowed<A> {
    pub(crate) heap: A,
    pub(crate) shadow: IntervalMap,
    /// In order of creation.
    pub(crate) live: Vec<Suballocation>,
    pub(crate) freed: Vec<Suballocation>,
    guarantee: Guarantee<A>,
}

impl<A: Suballocator> Shadowed<A> {
    /// Creates the shadow of a new suballocator.
    pub(crate) fn new(heap: A, guarantee: Guarantee<A>) -> Self {
        let shadow = IntervalMap::new(heap.capacity().get());
        let shadowed = Self { heap, shadow, live: Vec::new(), freed: Vec::new(), guarantee };
        shadowed.check();
        shadowed
    }

    /// Allocates, and checks the result.
    pub(crate) fn allocate(
        &mut self,
        size: u64,
        alignment: Alignment,
    ) -> Result<Suballocation, SuballocError> {
        self.allocate_by(size, alignment, |heap| heap.allocate(ByteSize::new(size), alignment))
    }

    /// Allocates by a function that the trait does not have, and checks the result.
    pub(crate) fn allocate_by(
        &mut self,
        size: u64,
        alignment: Alignment,
        allocate: impl FnOnce(&mut A) -> Result<Suballocation, SuballocError>,
    ) -> Result<Suballocation, SuballocError> {
        let before = self.used_and_free();
        let answer = allocate(&mut self.heap);
        match answer {
            Ok(suballocation) => {
                let range = suballocation.range;
                assert_eq!(range.size(), ByteSize::new(size));
                assert!(range.start().is_aligned(alignment), "{range} at {alignment}");
                self.shadow.take(range.start().get(), size);
                self.live.push(suballocation);
            }
            Err(error) => {
                match error {
                    SuballocError::ZeroSize => assert_eq!(size, 0),
                    SuballocError::LargerThanCapacity { requested, capacity } => {
                        assert_eq!((requested.get(), capacity.get()), (size, self.shadow.capacity()));
                        assert!(size > capacity.get());
                    }
                    SuballocError::OutOfSpace { requested, alignment: asked, free, largest_free } => {
                        assert_eq!((requested.get(), asked), (size, alignment));
                        assert_eq!(
                            (free, largest_free),
                            (self.heap.free_size(), self.heap.largest_free_range())
                        );
                        (self.guarantee)(&self.heap, &self.shadow, size, alignment);
                    }
                    other => panic!("{other}"),
                }
                assert_eq!(self.used_and_free(), before, "refused, and changed");
            }
        }
        self.check();
        answer
    }

    pub(crate) fn free(&mut self, at: usize) {
        let suballocation = self.live.remove(at);
        assert_eq!(self.heap.free(suballocation.id), Ok(suballocation.range));
        self.shadow.give_back(suballocation.range.start().get(), suballocation.range.size().get());
        self.freed.push(suballocation);
        self.check();
    }

    /// Frees a suballocation that was freed before.
    pub(crate) fn free_again(&mut self, at: usize) {
        let id = self.freed[at].id;
        let before = self.state();
        assert_eq!(self.heap.free(id), Err(SuballocError::StaleId { id }));
        assert_eq!(self.heap.range_of(id), Err(SuballocError::StaleId { id }));
        assert_eq!(self.state(), before, "refused, and changed");
        self.check();
    }

    /// Frees everything at once.
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        self.shadow = IntervalMap::new(self.shadow.capacity());
        self.freed.append(&mut self.live);
        self.check();
    }

    /// Returns the used ranges, and the used and free bytes, independent of fragmentation.
    fn used_and_free(&self) -> (Vec<RangeUse>, u64, u64) {
        let used = self.heap.ranges().filter(|range| matches!(range, RangeUse::Used(_))).collect();
        (used, self.heap.free_size().get(), self.heap.allocation_count())
    }

    /// Returns the publicly visible state.
    pub(crate) fn state(&self) -> (Vec<RangeUse>, [u64; 4]) {
        let heap = &self.heap;
        let numbers = [
            heap.used().get(),
            heap.free_size().get(),
            heap.allocation_count(),
            heap.largest_free_range().get(),
        ];
        (heap.ranges().collect(), numbers)
    }

    /// Runs the audit, and compares the ranges with the shadow's and the counters with the ranges.
    pub(crate) fn check(&self) {
        let heap = &self.heap;
        heap.audit().unwrap();
        let (mut end, mut free, mut padding, mut count) = (0, 0, 0, 0);
        let mut used_ranges = self.shadow.used_ranges();
        for range_use in heap.ranges() {
            let range = range_use.range();
            assert_eq!(range.start().get(), end, "a gap, or an overlap");
            assert!(!range.is_empty());
            end = range.end().get();
            match range_use {
                RangeUse::Used(suballocation) => {
                    assert_eq!(used_ranges.next(), Some((range.start().get(), range.size().get())));
                    assert_eq!(heap.range_of(suballocation.id), Ok(range));
                    count += 1;
                }
                RangeUse::Free(range) => free += range.size().get(),
                RangeUse::Padding(range) => padding += range.size().get(),
            }
        }
        assert_eq!(end, heap.capacity().get());
        assert_eq!(used_ranges.next(), None);
        assert_eq!(heap.free_size().get(), free);
        assert_eq!(heap.used().get(), self.shadow.capacity() - self.shadow.free());
        assert_eq!(heap.used().get() + free + padding, heap.capacity().get());
        assert_eq!(heap.allocation_count(), count);
        assert!(heap.largest_free_range() <= heap.free_size());
    }

    /// Checks that the state is that of a new suballocator after everything is freed.
    pub(crate) fn assert_as_fresh(&self, fresh: A) {
        assert!(self.live.is_empty());
        let fresh = Self::new(fresh, self.guarantee);
        assert_eq!(self.state(), fresh.state());
    }
}

/// An operation on a suballocator.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Allocate {
        size: u64,
        alignment_log2: u32,
    },
    Free(prop::sample::Index),
    /// Frees the one that was allocated first.
    FreeOldest,
    FreeAgain(prop::sample::Index),
}

/// Generates sizes of all magnitudes up to `largest`, with powers of two and their neighbours more often.
pub(crate) fn sizes(largest_log2: u32) -> impl Strategy<Value = u64> {
    let magnitude = 0..=largest_log2;
    prop_oneof![
        4 => (magnitude.clone(), any::<u64>()).prop_map(|(log2, bits)| (1 << log2) | (bits & ((1 << log2) - 1))),
        2 => (magnitude, 0_u64..3).prop_map(|(log2, off_by)| ((1_u64 << log2) + off_by).saturating_sub(1).max(1)),
        1 => 1_u64..300,
    ]
}

/// Generates allocations and frees in any order, including requests that can never succeed.
pub(crate) fn steps(
    largest_log2: u32,
    largest_alignment_log2: u32,
    count: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Step>> {
    let allocate = (sizes(largest_log2), prop_oneof![Just(0), 0..=largest_alignment_log2])
        .prop_map(|(size, alignment_log2)| Step::Allocate { size, alignment_log2 });
    let step = prop_oneof![
        12 => allocate,
        6 => any::<prop::sample::Index>().prop_map(Step::Free),
        3 => Just(Step::FreeOldest),
        1 => any::<prop::sample::Index>().prop_map(Step::FreeAgain),
        1 => Just(Step::Allocate { size: 0, alignment_log2: 4 }),
        1 => Just(Step::Allocate { size: u64::MAX, alignment_log2: 63 }),
    ];
    prop::collection::vec(step, count)
}

/// Runs the steps with a check after each.
pub(crate) fn run<A: Suballocator>(
    make: impl Fn() -> A,
    guarantee: Guarantee<A>,
    steps: Vec<Step>,
    check: impl Fn(&mut Shadowed<A>),
) {
    let allocate = |heap: &mut Shadowed<A>, size, alignment| {
        let _ = heap.allocate(size, alignment);
    };
    run_with(make, guarantee, steps, allocate, check);
}

/// Runs the steps, of which `allocate` allocates, with a check after each. Then frees the rest in a third order, and
/// compares the result with a new suballocator.
pub(crate) fn run_with<A: Suballocator>(
    make: impl Fn() -> A,
    guarantee: Guarantee<A>,
    steps: Vec<Step>,
    mut allocate: impl FnMut(&mut Shadowed<A>, u64, Alignment),
    mut check: impl FnMut(&mut Shadowed<A>),
) {
    let mut heap = Shadowed::new(make(), guarantee);
    for step in steps {
        match step {
            Step::Allocate { size, alignment_log2 } => {
                allocate(&mut heap, size, alignment(alignment_log2));
            }
            Step::Free(at) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
            Step::FreeOldest if !heap.live.is_empty() => heap.free(0),
            Step::FreeAgain(at) if !heap.freed.is_empty() => heap.free_again(at.index(heap.freed.len())),
            Step::Free(_) | Step::FreeOldest | Step::FreeAgain(_) => {}
        }
        check(&mut heap);
    }
    if heap.live.len() % 4 == 3 {
        heap.clear();
    }
    while !heap.live.is_empty() {
        heap.free(heap.live.len() / 2);
    }
    heap.assert_as_fresh(make());
}

/// Makes 1,500 requests of up to `largest` bytes, and frees three suballocations, with a check after each, when one is
/// refused or more than 600 are live. Returns how often that was, and the largest number of free ranges.
pub(crate) fn fragment<A: Suballocator>(
    heap: &mut Shadowed<A>,
    largest: u64,
    check: impl Fn(&Shadowed<A>),
) -> (u32, usize) {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut refused, mut most_free_ranges) = (0, 0);
    for _ in 0..1500 {
        if heap.allocate(random.u64(1..=largest), alignment(random.u32(..14))).is_err()
            || heap.live.len() > 600
        {
            refused += 1;
            for _ in 0..3 {
                heap.free(random.usize(..heap.live.len()));
                check(heap);
            }
        }
        most_free_ranges = most_free_ranges.max(heap.heap.ranges().filter(RangeUse::is_free).count());
    }
    (refused, most_free_ranges)
}
