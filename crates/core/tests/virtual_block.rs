//! Compares virtual blocks of every algorithm with an interval map and a map of the values.

mod shadowed;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use heapwright_core::suballoc::virtual_block::{End, Feature, Refused};
use heapwright_core::suballoc::{
    self, Algorithm, AuditError, DetailedStatistics, FenceOrderError, RangeUse, Retired, SuballocError,
    Suballocation, SuballocationId, Suballocator, VirtualAllocationDesc, VirtualBlock,
};
use heapwright_core::{Alignment, ByteSize, FenceValue, HeapRange};
use proptest::prelude::*;
use shadowed::{IntervalMap, STEPS, Shadowed, Step, alignment, config, sizes, steps};

/// A value that records when it is dropped, and cannot be cloned.
struct Tag {
    number: u64,
    dropped: Rc<RefCell<Vec<u64>>>,
}

impl Drop for Tag {
    fn drop(&mut self) {
        self.dropped.borrow_mut().push(self.number);
    }
}

/// A virtual block with tags as values, and a model of the tags: the number of each tag by offset.
#[derive(Debug)]
struct Tagged {
    block: VirtualBlock<Tag>,
    tags: BTreeMap<u64, u64>,
    /// The number of the next tag.
    next: u64,
    dropped: Rc<RefCell<Vec<u64>>>,
}

impl Tagged {
    fn new(algorithm: Algorithm, capacity: u64) -> Self {
        let block = VirtualBlock::new(algorithm, ByteSize::new(capacity)).unwrap();
        Self { block, tags: BTreeMap::new(), next: 0, dropped: Rc::default() }
    }

    fn allocate_desc(&mut self, desc: &VirtualAllocationDesc) -> Result<Suballocation, SuballocError> {
        let number = self.next;
        let tag = Tag { number, dropped: Rc::clone(&self.dropped) };
        match self.block.allocate_desc(desc, tag) {
            Ok(suballocation) => {
                self.next += 1;
                self.tags.insert(suballocation.range.start().get(), number);
                Ok(suballocation)
            }
            Err(Refused { error, user_data }) => {
                assert_eq!(user_data.number, number, "the value comes back");
                assert_eq!(self.dropped(), [0; 0]);
                drop(user_data);
                assert_eq!(self.dropped(), [number]);
                Err(error)
            }
        }
    }

    /// Returns the numbers of the tags dropped since the last call, sorted.
    fn dropped(&self) -> Vec<u64> {
        let mut dropped = self.dropped.take();
        dropped.sort_unstable();
        dropped
    }
}

impl Suballocator for Tagged {
    fn allocate(&mut self, size: ByteSize, alignment: Alignment) -> Result<Suballocation, SuballocError> {
        self.allocate_desc(&VirtualAllocationDesc::new(size).with_alignment(alignment))
    }

    fn free(&mut self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        let expected = self.block.get(id).map(|tag| tag.number);
        match self.block.free(id) {
            Ok((range, tag)) => {
                assert_eq!(Some(tag.number), expected);
                assert_eq!(self.tags.remove(&range.start().get()), expected);
                assert_eq!(self.dropped(), [0; 0]);
                drop(tag);
                assert_eq!(self.dropped(), Vec::from_iter(expected));
                Ok(range)
            }
            Err(error) => {
                assert_eq!(expected, None);
                assert!(self.block.get_mut(id).is_none());
                assert_eq!(self.dropped(), [0; 0]);
                Err(error)
            }
        }
    }

    fn range_of(&self, id: SuballocationId) -> Result<HeapRange, SuballocError> {
        self.block.range_of(id)
    }

    fn clear(&mut self) {
        self.block.clear();
        let mut tags: Vec<u64> = std::mem::take(&mut self.tags).into_values().collect();
        tags.sort_unstable();
        assert_eq!(self.dropped(), tags);
    }

    fn capacity(&self) -> ByteSize {
        self.block.capacity()
    }

    fn used(&self) -> ByteSize {
        self.block.statistics().used
    }

    fn free_size(&self) -> ByteSize {
        self.block.statistics().free
    }

    fn allocation_count(&self) -> u64 {
        self.block.statistics().allocation_count
    }

    fn largest_free_range(&self) -> ByteSize {
        self.block.statistics().largest_free_range
    }

    fn ranges(&self) -> Box<dyn Iterator<Item = RangeUse> + '_> {
        self.block.suballocator().ranges()
    }

    /// Runs the block's audit, and checks that each value is where the model has it and that the statistics
    /// agree.
    fn audit(&self) -> Result<(), AuditError> {
        self.block.audit()?;
        let tags = self.block.iter().map(|(suballocation, tag)| {
            let again = self.block.get(suballocation.id).expect("live");
            assert_eq!(again.number, tag.number);
            (suballocation.range.start().get(), tag.number)
        });
        assert!(tags.eq(self.tags.iter().map(|(&start, &number)| (start, number))));
        assert_eq!(self.block.iter().len(), self.tags.len());
        assert_eq!(self.block.is_empty(), self.tags.is_empty());

        let (quick, exact) = (self.block.statistics(), self.block.detailed_statistics());
        assert!(quick.largest_free_range <= exact.free.largest);
        assert_eq!(quick.internal_fragmentation(), exact.internal_fragmentation());
        let summary = exact.summary();
        assert_eq!(
            [quick.capacity, quick.used, quick.free, quick.padding],
            [summary.capacity, summary.used, summary.free, summary.padding]
        );
        assert_eq!(quick.allocation_count, summary.allocation_count);
        assert_eq!(exact.free_sizes.iter().map(|(_, count)| count).sum::<u64>(), exact.free.count);
        for share in [exact.internal_fragmentation(), exact.external_fragmentation()] {
            assert!((0.0..=1.0).contains(&share), "{share}");
        }
        Ok(())
    }
}

/// Each algorithm's own tests check its refusals; the harness checks that a request of `largest_free_range`
/// succeeds.
fn no_guarantee(_: &Tagged, _: &IntervalMap, _: u64, _: Alignment) {}

fn algorithms() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL)
}

fn block<T>(capacity: u64) -> VirtualBlock<T> {
    VirtualBlock::new(Algorithm::Tlsf, ByteSize::new(capacity)).unwrap()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn values_stay_with_what_they_were_given_to_in_a_crowded_block(
        algorithm in algorithms(),
        capacity in 1_u64..3000,
        steps in steps(9, 8, 0..STEPS),
    ) {
        shadowed::run(|| Tagged::new(algorithm, capacity), no_guarantee, steps);
    }

    #[test]
    fn values_stay_with_what_they_were_given_to_up_to_a_tebibyte(
        algorithm in algorithms(),
        capacity in sizes(42),
        steps in steps(40, 22, 0..STEPS),
    ) {
        shadowed::run(|| Tagged::new(algorithm, capacity), no_guarantee, steps);
    }

    /// Dropping a block drops the remaining values, each once.
    #[test]
    fn a_block_drops_the_values_that_are_left(
        algorithm in algorithms(),
        steps in steps(9, 4, 0..STEPS / 2),
    ) {
        let mut heap = Shadowed::new(Tagged::new(algorithm, 3000), no_guarantee);
        for step in steps {
            match step {
                Step::Allocate { size, alignment_log2 } => {
                    let _ = heap.allocate(size, alignment(alignment_log2));
                }
                Step::Free(at) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
                Step::Free(_) | Step::FreeAgain(_) => {}
            }
        }
        let Tagged { block, tags, dropped, .. } = heap.heap;
        drop(block);
        let mut tags: Vec<u64> = tags.into_values().collect();
        tags.sort_unstable();
        let mut dropped = dropped.take();
        dropped.sort_unstable();
        prop_assert_eq!(dropped, tags);
    }
}

#[test]
fn a_refused_request_gives_its_value_back() {
    let mut block = block(100);
    let refused = block.allocate(ByteSize::new(101), Alignment::ONE, String::from("kept")).unwrap_err();
    assert_eq!(refused.user_data, "kept");
    assert!(refused.error.is_out_of_space());
    assert_eq!(refused.to_string(), "101 B exceeds the capacity of 100 B");
    assert!(block.is_empty());
    let (requested, capacity) = (ByteSize::new(101), ByteSize::new(100));
    assert_eq!(SuballocError::from(refused), SuballocError::LargerThanCapacity { requested, capacity });
}

#[test]
fn values_change_in_place() {
    let mut block = block(100);
    let id = block.allocate(ByteSize::new(10), Alignment::ONE, 1).unwrap().id;
    *block.get_mut(id).unwrap() += 1;
    assert_eq!(block.get(id), Some(&2));
    assert_eq!((&block).into_iter().map(|(_, value)| value).sum::<i32>(), 2);
}

/// The slot of a stale id has the value of another suballocation.
#[test]
fn a_stale_id_does_not_reach_the_value_that_came_after() {
    let mut block = block(100);
    let old = block.allocate(ByteSize::new(100), Alignment::ONE, "old").unwrap();
    assert_eq!(block.free(old.id), Ok((old.range, "old")));
    let new = block.allocate(ByteSize::new(100), Alignment::ONE, "new").unwrap();
    assert_eq!(block.get(old.id), None);
    assert_eq!(block.get_mut(old.id), None);
    assert_eq!(block.free(old.id), Err(SuballocError::StaleId { id: old.id }));
    assert_eq!(block.get(new.id), Some(&"new"));
}

#[test]
fn a_block_goes_to_another_thread_when_its_values_do() {
    const fn is_send<T: Send>() {}
    is_send::<VirtualBlock<String>>();
    is_send::<VirtualBlock>();
}

#[test]
fn debug_is_a_summary_whatever_is_live() {
    let mut block = block::<[u8; 64]>(1 << 20);
    for _ in 0..1000 {
        block.allocate(ByteSize::new(16), Alignment::ONE, [0; 64]).unwrap();
    }
    let text = format!("{block:?}");
    assert!(text.contains("allocation_count: 1000") && text.len() < 300, "{text}");
}

#[test]
fn blocks_add_up() {
    let mut blocks = [block(1000), block(500)];
    blocks[0].allocate(ByteSize::new(300), Alignment::ONE, ()).unwrap();
    let all: DetailedStatistics = blocks.iter().map(VirtualBlock::detailed_statistics).sum();
    assert_eq!((all.used.total.get(), all.free.total.get(), all.free.largest.get()), (300, 1200, 700));
    assert_eq!(all.external_fragmentation(), 0.0);
}

mod dump {
    use super::*;

    /// A value whose `Debug` output contains line breaks.
    #[derive(Clone)]
    struct Rude;

    impl std::fmt::Debug for Rude {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("two\nlines, \"quotes\", a \\, a \t and a \u{1b}")
        }
    }

    fn rude() -> VirtualBlock<Rude> {
        let mut block = block(1 << 40);
        let sizes = [1_u64 << 30, 1, 4096, 1 << 33];
        let all = sizes
            .map(|size| block.allocate(ByteSize::new(size), Alignment::new(256).unwrap(), Rude).unwrap());
        block.free(all[2].id).unwrap();
        block
    }

    #[test]
    fn for_people() {
        let expected = r#"tlsf: 9.00 GiB of 1.00 TiB used in 3 allocations, 1015.00 GiB free, 0 B padding
largest free range 1015.00 GiB; fragmentation: internal 0.0 %, external 0.0 %
free ranges: 4 KiB: 1, 512 GiB: 1
       offset           size  use      user data
          0x0     1073741824  used     two\nlines, "quotes", a \, a \t and a \u{1b}
   0x40000000              1  used     two\nlines, "quotes", a \, a \t and a \u{1b}
   0x40000001           4351  free
   0x40001100     8589934592  used     two\nlines, "quotes", a \, a \t and a \u{1b}
  0x240001100  1089847947008  free
"#;
        assert_eq!(rude().dump().to_string(), expected);
    }

    #[test]
    fn for_tools() {
        let user_data = r#""two\u000alines, \"quotes\", a \\, a \u0009 and a \u001b""#;
        let whole = r#"{"algorithm":"tlsf","capacity":1099511627776,"used":9663676417,"free":1089847951359,"padding":0,"#;
        let counts = r#""allocation_count":3,"free_range_count":2,"largest_free_range":1089847947008,"#;
        let fragmentation = r#""internal_fragmentation":0.000000,"external_fragmentation":0.000000}"#;
        let expected = [
            format!("{whole}{counts}{fragmentation}"),
            format!(r#"{{"offset":0,"size":1073741824,"use":"used","user_data":{user_data}}}"#),
            format!(r#"{{"offset":1073741824,"size":1,"use":"used","user_data":{user_data}}}"#),
            r#"{"offset":1073741825,"size":4351,"use":"free"}"#.to_owned(),
            format!(r#"{{"offset":1073746176,"size":8589934592,"use":"used","user_data":{user_data}}}"#),
            r#"{"offset":9663680768,"size":1089847947008,"use":"free"}"#.to_owned(),
        ];
        assert_eq!(rude().dump_json().to_string().lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn with_padding() {
        let mut block = VirtualBlock::new(Algorithm::Buddy, ByteSize::new(96)).unwrap();
        block.allocate(ByteSize::new(24), Alignment::ONE, Some("tree")).unwrap();
        let expected = r#"buddy: 24 B of 96 B used in 1 allocation, 64 B free, 8 B padding
largest free range 64 B; fragmentation: internal 25.0 %, external 0.0 %
free ranges: 64 B: 1
offset  size  use      user data
   0x0    64  free
  0x40    24  used     Some("tree")
  0x58     8  padding
"#;
        assert_eq!(block.dump().to_string(), expected);
        let lines: Vec<String> = block.dump_json().to_string().lines().map(str::to_owned).collect();
        assert!(lines[0].contains(r#""padding":8,"allocation_count":1,"#), "{}", lines[0]);
        assert!(lines[0].contains(r#""internal_fragmentation":0.250000,"#), "{}", lines[0]);
        assert_eq!(lines[3], r#"{"offset":88,"size":8,"use":"padding"}"#);
    }

    #[test]
    fn of_a_full_block() {
        let mut block = block(10);
        block.allocate(ByteSize::new(10), Alignment::ONE, 7).unwrap();
        let expected = "tlsf: 10 B of 10 B used in 1 allocation, 0 B free, 0 B padding
largest free range 0 B; fragmentation: internal 0.0 %, external 0.0 %
free ranges: none
offset  size  use      user data
   0x0    10  used     7
";
        assert_eq!(block.dump().to_string(), expected);
    }
}

/// A feature that the algorithm does not support is refused, not ignored, and the value is returned.
#[test]
fn a_request_for_what_an_algorithm_has_not_is_refused() {
    let desc = VirtualAllocationDesc::new(ByteSize::new(10));
    let requests = [
        (Feature::Strategies, desc.with_strategy(suballoc::Strategy::MinOffset)),
        (Feature::UpperEnd, desc.with_end(End::Upper)),
    ];
    for &algorithm in Algorithm::ALL {
        let mut block = VirtualBlock::new(algorithm, ByteSize::new(1000)).unwrap();
        assert_eq!(block.algorithm(), algorithm);
        for (feature, desc) in requests {
            match block.allocate_desc(&desc, feature) {
                Ok(_) => assert!(algorithm.has(feature), "{algorithm} ignored {feature}"),
                Err(Refused { error, user_data }) => {
                    assert_eq!(error, SuballocError::Unsupported { algorithm, feature });
                    assert!(!algorithm.has(feature) && user_data == feature && !error.is_out_of_space());
                    assert!(block.is_empty());
                }
            }
            block.clear();
        }
        let unsupported = SuballocError::Unsupported { algorithm, feature: Feature::Fences };
        let has_fences = algorithm.has(Feature::Fences);
        assert_eq!(block.submit(FenceValue::ZERO), if has_fences { Ok(()) } else { Err(unsupported) });
        assert_eq!(
            block.retire(FenceValue::ZERO),
            if has_fences { Ok(Retired::default()) } else { Err(unsupported) }
        );
        assert_eq!(block.oldest_fence(), None);
    }
}

#[test]
fn a_double_stack_hands_out_from_both_ends() {
    let mut block = VirtualBlock::new(Algorithm::DoubleStack, ByteSize::new(1000)).unwrap();
    let desc = VirtualAllocationDesc::new(ByteSize::new(100));
    let upper = block.allocate_desc(&desc.with_end(End::Upper), "upper").unwrap();
    let lower = block.allocate_desc(&desc.with_end(End::Lower), "lower").unwrap();
    assert_eq!((lower.range.start().get(), upper.range.start().get()), (0, 900));
    let in_order: Vec<_> = block.iter().map(|(_, name)| *name).collect();
    assert_eq!(in_order, ["lower", "upper"]);
}

proptest! {
    #![proptest_config(config())]

    /// Compares retirement with a list of live suballocations, oldest first, with their fence values.
    #[test]
    fn retiring_gives_values_back_oldest_first(
        algorithm in prop::sample::select(&[Algorithm::Linear, Algorithm::Ring][..]),
        steps in prop::collection::vec((0_u32..10, 1_u64..100, any::<prop::sample::Index>()), 0..STEPS),
    ) {
        let mut block = VirtualBlock::new(algorithm, ByteSize::new(1000)).unwrap();
        let mut live: Vec<(Suballocation, u64, Option<u64>)> = Vec::new();
        let (mut number, mut latest) = (0, 0);
        for (kind, amount, at) in steps {
            match kind {
                0..=4 => {
                    number += 1;
                    if let Ok(made) = block.allocate(ByteSize::new(amount), Alignment::ONE, number) {
                        live.push((made, number, None));
                    }
                }
                5 if !live.is_empty() => {
                    let (freed, value, _) = live.remove(at.index(live.len()));
                    prop_assert_eq!(block.free(freed.id), Ok((freed.range, value)));
                }
                5..=7 => {
                    let fence = latest + amount % 3;
                    block.submit(FenceValue::new(fence)).unwrap();
                    live.iter_mut().for_each(|(_, _, of)| { of.get_or_insert(fence); });
                    latest = fence;
                    if let Some(below) = fence.checked_sub(1).map(FenceValue::new) {
                        let order = FenceOrderError { fence: below, latest: FenceValue::new(latest) };
                        prop_assert_eq!(block.submit(below), Err(order.into()));
                    }
                }
                _ => {
                    let completed = (latest + 1).saturating_sub(amount % 5);
                    let is_done = |fence: &Option<u64>| fence.is_some_and(|fence| fence <= completed);
                    let (done, left): (Vec<_>, Vec<_>) = live.into_iter().partition(|(_, _, fence)| is_done(fence));
                    live = left;
                    let mut heard = Vec::new();
                    let retired = block.retire_each(FenceValue::new(completed), |made, value| heard.push((made, value)));
                    let bytes = done.iter().map(|(made, ..)| made.range.size().get()).sum();
                    let suballocations = u64::try_from(done.len()).unwrap();
                    let retired = retired.unwrap();
                    prop_assert_eq!((retired.suballocations, retired.bytes.get()), (suballocations, bytes));
                    prop_assert_eq!(heard, done.iter().map(|&(made, value, _)| (made, value)).collect::<Vec<_>>());
                }
            }
            block.audit().unwrap();
            prop_assert_eq!(block.oldest_fence().map(FenceValue::get), live.first().and_then(|&(_, _, fence)| fence));
            prop_assert_eq!(block.iter().len(), live.len());
        }
    }
}

#[test]
fn strategies_reach_the_algorithm() {
    let mut block = block(1000);
    let desc = VirtualAllocationDesc::new(ByteSize::new(200));
    let low = block.allocate(ByteSize::new(300), Alignment::ONE, "low").unwrap();
    block.allocate(ByteSize::new(500), Alignment::ONE, "middle").unwrap();
    block.free(low.id).unwrap();
    let best_fit = block.allocate_desc(&desc.with_strategy(suballoc::Strategy::MinMemory), "best").unwrap();
    assert_eq!(best_fit.range.start().get(), 800);
    block.free(best_fit.id).unwrap();
    let lowest = block.allocate_desc(&desc.with_strategy(suballoc::Strategy::MinOffset), "lowest").unwrap();
    assert_eq!(lowest.range.start().get(), 0);
}

#[test]
fn algorithms_have_names_of_one_word() {
    let names: Vec<String> = Algorithm::ALL.iter().map(Algorithm::to_string).collect();
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')), "{names:?}");
    assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
    assert_eq!(Algorithm::default().to_string(), "tlsf");
}
