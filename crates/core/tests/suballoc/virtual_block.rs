//! Compares virtual blocks of every algorithm with an interval map, the values and the fence values.

use crate::shadowed::{STEPS, Step, alignment, config, sizes, steps};
use crate::shadowed_block::ShadowedBlock;
use heapwright_core::suballoc::virtual_block::{End, Feature, Refused};
use heapwright_core::suballoc::{
    self, Algorithm, DetailedStatistics, Retired, SuballocError, VirtualAllocationDesc, VirtualBlock,
};
use heapwright_core::{Alignment, ByteSize, FenceValue};
use proptest::prelude::*;

fn algorithms() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL)
}

fn block<T>(capacity: u64) -> VirtualBlock<T> {
    VirtualBlock::new(Algorithm::Tlsf, ByteSize::new(capacity)).unwrap()
}

#[derive(Clone, Debug)]
enum Call {
    Step(Step),
    Upper {
        size: u64,
        alignment_log2: u32,
    },
    Clear,
    /// Submits this much above or below the last value.
    Submit(i8),
    /// Retires up to this much above or below the last submitted value.
    Retire(i8),
}

/// Generates calls, fewer frees and more submissions than in [`steps`].
fn calls(largest_log2: u32, largest_alignment_log2: u32) -> impl Strategy<Value = Vec<Call>> {
    let steps = steps(largest_log2, largest_alignment_log2, 1..2);
    let call = prop_oneof![
        20 => steps.prop_map(|mut steps| Call::Step(steps.remove(0))),
        3 => (sizes(largest_log2), 0..=largest_alignment_log2)
            .prop_map(|(size, alignment_log2)| Call::Upper { size, alignment_log2 }),
        1 => Just(Call::Clear),
        4 => (-1_i8..4).prop_map(Call::Submit),
        3 => (-6_i8..2).prop_map(Call::Retire),
    ];
    prop::collection::vec(call, 0..STEPS)
}

/// Makes the calls with a check after each. Then frees all in a third order and compares the block with a new one, or drops it.
fn run(algorithm: Algorithm, capacity: u64, calls: Vec<Call>, is_dropped: bool) {
    let mut heap = ShadowedBlock::new(algorithm, capacity).unwrap();
    let mut descs = Vec::new();
    for call in calls {
        match call {
            Call::Step(Step::Allocate { size, alignment_log2 }) | Call::Upper { size, alignment_log2 } => {
                let is_upper = matches!(call, Call::Upper { .. }) && algorithm.has(Feature::UpperEnd);
                let desc =
                    VirtualAllocationDesc::new(ByteSize::new(size)).with_alignment(alignment(alignment_log2));
                descs.push(if is_upper { desc.with_end(End::Upper) } else { desc });
                heap.allocate(&descs[descs.len() - 1]);
            }
            Call::Step(Step::Free(at)) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
            Call::Step(Step::FreeAgain(at)) if !heap.stale.is_empty() => {
                heap.free_again(at.index(heap.stale.len()));
            }
            Call::Step(_) => {}
            Call::Clear => heap.clear(),
            Call::Submit(ahead) => heap.submit(heap.fence(ahead)),
            Call::Retire(ahead) => heap.retire(heap.fence(ahead)),
        }
        heap.check();
    }
    if is_dropped {
        return heap.drop_block();
    }
    while !heap.live.is_empty() {
        heap.free(heap.live.len() / 2);
    }
    heap.check();
    heap.compare_with_fresh(&descs);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_with_an_interval_map_when_crowded(
        algorithm in algorithms(),
        capacity in 1_u64..3000,
        calls in calls(9, 8),
        is_dropped in any::<bool>(),
    ) {
        run(algorithm, capacity, calls, is_dropped);
    }

    #[test]
    fn agrees_with_an_interval_map_up_to_a_tebibyte(
        algorithm in algorithms(),
        capacity in sizes(42),
        calls in calls(40, 22),
        is_dropped in any::<bool>(),
    ) {
        run(algorithm, capacity, calls, is_dropped);
    }

    /// Retirement of small suballocations, of which many are live.
    #[test]
    fn retiring_gives_values_back_oldest_first(
        algorithm in prop::sample::select(&[Algorithm::Linear, Algorithm::Ring][..]),
        capacity in 1_u64..3000,
        calls in calls(7, 5),
    ) {
        run(algorithm, capacity, calls, false);
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
