//! Tests that need private state.

use proptest::prelude::*;

use super::super::private_state_tests::config;
use super::*;

fn buddy(capacity: u64) -> Buddy {
    Buddy::new(ByteSize::new(capacity)).unwrap()
}

fn put(heap: &mut Buddy, size: u64) -> Suballocation {
    heap.allocate(ByteSize::new(size), Alignment::ONE).unwrap()
}

#[test]
fn a_refused_call_changes_nothing() {
    let mut heap = buddy(1000);
    let (_, gone) = (put(&mut heap, 500), put(&mut heap, 100));
    heap.free(gone.id).unwrap();
    let before = heap.clone();
    for (size, alignment) in [(0, 1), (501, 1), (1001, 1), (u64::MAX, 1), (1, 1024), (u64::MAX, 1 << 63)] {
        assert_eq!(heap.allocate(ByteSize::new(size), Alignment::new(alignment).unwrap()), None);
        assert_eq!(heap.free(gone.id), Err(SuballocError::StaleId { id: gone.id }));
        assert_eq!(heap, before, "{size} at {alignment}");
    }
}

/// Violates one invariant at a time, to test that the audit detects it.
#[test]
fn the_audit_finds_each_violation() {
    /// Free 16, used 16, free 32, used 64 (of which 24 bytes are padding), free 128 and 256.
    fn heap() -> Buddy {
        let mut heap = buddy(512);
        let [first, _, _] = [16, 16, 40].map(|size| put(&mut heap, size));
        heap.free(first.id).unwrap();
        heap.audit().unwrap();
        heap
    }
    type Violation = fn(&mut Buddy);
    let violations: [(&str, Violation); 7] = [
        ("where the previous range ends", |heap| assert!(heap.free.remove([4, 0, 0]))),
        ("where the previous range ends", |heap| heap.free.insert([3, 0, 0])),
        ("instead of 0x201", |heap| heap.capacity = ByteSize::new(513)),
        ("was not joined with its buddy", |heap| {
            heap.free.remove([5, 32, 0]);
            heap.free.insert([4, 32, 0]);
            heap.free.insert([4, 48, 0]);
        }),
        ("not at a multiple of its size", |heap| {
            heap.free.remove([8, 256, 0]);
            heap.free.remove([7, 128, 0]);
            heap.free.insert([8, 128, 0]);
            heap.free.insert([7, 384, 0]);
        }),
        ("recorded", |heap| heap.used = ByteSize::new(1)),
        ("not issued yet", |heap| heap.next_stamp = Stamp::FIRST),
    ];
    for (finding, violate) in violations {
        let mut heap = heap();
        violate(&mut heap);
        let found = heap.audit().unwrap_err().to_string();
        assert!(found.contains(finding), "{finding:?} is missing: {found}");
    }
}

/// Compares buddies with a map of the used and free ranges.
mod agree_with_an_interval_map {
    use super::super::super::interval_map::IntervalMap;
    use super::*;
    use crate::HeapOffset;

    /// Returns the free blocks as (start, size), computed from the used ranges alone: the largest aligned powers
    /// of two that fit between them.
    fn expected_free(shadow: &IntervalMap) -> Vec<(u64, u64)> {
        let ends = shadow
            .used_ranges()
            .map(|(start, size)| (start, start + size.next_power_of_two()))
            .chain([(shadow.capacity(), shadow.capacity())]);
        let (mut free, mut start) = (Vec::new(), 0);
        for (used_start, used_end) in ends {
            while start < used_start {
                let fits = 1 << (used_start - start).ilog2();
                let aligned = if start == 0 { fits } else { 1 << start.trailing_zeros() };
                free.push((start, fits.min(aligned)));
                start += fits.min(aligned);
            }
            start = used_end;
        }
        free
    }

    struct Shadowed {
        heap: Buddy,
        shadow: IntervalMap,
        live: Vec<Suballocation>,
    }

    impl Shadowed {
        fn new(capacity: u64) -> Self {
            Self { heap: buddy(capacity), shadow: IntervalMap::new(capacity), live: Vec::new() }
        }

        /// Allocates, and checks a refusal against the documented guarantees.
        fn allocate(&mut self, size: u64, alignment: Alignment) -> Option<Suballocation> {
            let placed = self.heap.allocate(ByteSize::new(size), alignment);
            match placed {
                Some(one) => {
                    assert!(one.range.start().is_aligned(alignment) && one.range.size().get() == size);
                    self.shadow.take(one.range.start().get(), size);
                    self.live.push(one);
                }
                None if size == 0 || size > self.shadow.capacity() => {}
                None => {
                    let fits = |&&(start, free): &&(u64, u64)| {
                        free >= size.next_power_of_two() && HeapOffset::new(start).is_aligned(alignment)
                    };
                    let fitting = expected_free(&self.shadow).iter().find(fits).copied();
                    assert_eq!(fitting, None, "{size} at {alignment} fits");
                }
            }
            placed
        }

        fn free(&mut self, at: usize) {
            let one = self.live.swap_remove(at);
            assert_eq!(self.heap.free(one.id), Ok(one.range));
            assert_eq!(self.heap.free(one.id), Err(SuballocError::StaleId { id: one.id }));
            self.shadow.give_back(one.range.start().get(), one.range.size().get());
        }

        /// Checks the ranges, and that the free blocks are as large as they can be.
        fn check(&self) {
            self.heap.audit().unwrap();
            let (mut end, mut used, mut free) = (0, Vec::new(), Vec::new());
            for range_use in self.heap.ranges() {
                let range = range_use.range();
                let range = (range.start().get(), range.size().get());
                assert_eq!(range.0, end);
                end = range.0 + range.1;
                match range_use {
                    RangeUse::Used(_) => used.push(range),
                    RangeUse::Free(_) => free.push(range),
                    RangeUse::Padding(_) => {}
                }
            }
            assert_eq!(end, self.shadow.capacity());
            assert!(used.iter().copied().eq(self.shadow.used_ranges()));
            assert_eq!(free, expected_free(&self.shadow));
            let sum = |ranges: &[(u64, u64)]| ranges.iter().map(|&(_, size)| size).sum::<u64>();
            assert_eq!(self.heap.used().get(), sum(&used));
            let largest = free.iter().map(|&(_, size)| size).max().unwrap_or(0);
            assert_eq!(self.heap.largest_free_range(), ByteSize::new(largest));
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn after_each_step(
            capacity in prop_oneof![1_u64..3000, (63_u64 << 20)..64 << 20, (1_u64 << 62)..=1 << 63],
            steps in prop::collection::vec(
                (0_u32..64, any::<u64>(), prop_oneof![Just(0), 0_u32..12, 0_u32..64], any::<prop::sample::Index>(), 0..5),
                0..if cfg!(miri) { 20 } else { 120 },
            ),
        ) {
            let mut heap = Shadowed::new(capacity);
            for (log2, bits, alignment_log2, at, step) in steps {
                match step {
                    0 => {
                        heap.allocate(bits % 300, Alignment::from_log2(alignment_log2).unwrap());
                    }
                    // All magnitudes up to twice the capacity.
                    1 | 2 => {
                        let power = 1 << (log2 % (capacity.ilog2() + 2)).min(63);
                        heap.allocate(power | (bits & (power - 1)), Alignment::from_log2(alignment_log2).unwrap());
                    }
                    _ if heap.live.is_empty() => {}
                    _ => heap.free(at.index(heap.live.len())),
                }
                heap.check();
            }
            while !heap.live.is_empty() {
                heap.free(heap.live.len() / 2);
            }
            assert_eq!(heap.heap.free, buddy(capacity).free);
        }
    }

    #[test]
    fn a_capacity_of_zero_or_beyond_2_to_the_63_is_refused() {
        for capacity in [0, (1 << 63) + 1, u64::MAX] {
            assert_eq!(Buddy::new(ByteSize::new(capacity)), None);
        }
    }

    #[test]
    fn the_one_aligned_block_is_found_among_hundreds() {
        let mut heap = Shadowed::new(1 << 20);
        while heap.allocate(1024, Alignment::ONE).is_some() {}
        let is_hole = |start: u64| start == 512 << 10 || (start % 4096 == 1024 && start != 513 << 10);
        let holes: Vec<_> = heap.live.iter().map(|s| s.range.start().get()).filter(|&s| is_hole(s)).collect();
        for start in holes {
            let at = heap.live.iter().position(|live| live.range.start().get() == start).unwrap();
            heap.free(at);
        }
        assert_eq!(heap.allocate(2000, Alignment::ONE), None, "no two holes are buddies");
        let found = heap.allocate(1000, Alignment::from_log2(12).unwrap()).unwrap();
        assert_eq!(found.range.start(), HeapOffset::new(512 << 10));
    }
}
