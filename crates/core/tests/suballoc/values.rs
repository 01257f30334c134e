//! Compares suballocators with an interval map, the values and the fence values.

use crate::shadowed::{STEPS, Step, alignment, config, sizes, steps};
use crate::shadowed_values::{Algorithm, Request, ShadowedValues};
use heapwright_core::suballoc::{self, Linear, Tlsf};
use heapwright_core::{Alignment, ByteSize};
use proptest::prelude::*;

fn algorithms() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(&[Algorithm::Tlsf, Algorithm::Linear][..])
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

/// Makes the calls with a check after each. Then frees all in a third order and compares the suballocator with a new
/// one, or drops it.
fn run(algorithm: Algorithm, capacity: u64, calls: Vec<Call>, is_dropped: bool) {
    let mut heap = ShadowedValues::new(algorithm, capacity).unwrap();
    let mut requests = Vec::new();
    for call in calls {
        match call {
            Call::Step(Step::Allocate { size, alignment_log2 }) | Call::Upper { size, alignment_log2 } => {
                let strategies = [
                    suballoc::FreeRangeChoice::MinMemory,
                    suballoc::FreeRangeChoice::MinTime,
                    suballoc::FreeRangeChoice::MinOffset,
                ];
                requests.push(Request {
                    size: ByteSize::new(size),
                    alignment: alignment(alignment_log2),
                    strategy: strategies[requests.len() % 3],
                    upper: matches!(call, Call::Upper { .. }),
                });
                heap.allocate(&requests[requests.len() - 1]);
            }
            Call::Step(Step::Free(at)) if !heap.live.is_empty() => heap.free(at.index(heap.live.len())),
            Call::Step(Step::FreeOldest) if !heap.live.is_empty() => heap.free(0),
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
        return heap.drop_heap();
    }
    while !heap.live.is_empty() {
        heap.free(heap.live.len() / 2);
    }
    heap.check();
    heap.compare_with_fresh(&requests);
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
    fn retiring_gives_values_back_oldest_first(capacity in 1_u64..3000, calls in calls(7, 5)) {
        run(Algorithm::Linear, capacity, calls, false);
    }
}

#[test]
fn a_suballocator_goes_to_another_thread_when_its_values_do() {
    const fn is_send<T: Send>() {}
    is_send::<Tlsf<String>>();
    is_send::<Linear<String>>();
    is_send::<Tlsf>();
}

#[test]
fn values_need_neither_debug_nor_clone() {
    struct Plain;

    let mut heap = Tlsf::with_values(ByteSize::from_mib(1)).unwrap();
    let one = heap.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
    assert!(heap.set_value(one.id, Some(Plain)).unwrap().is_none());
    let mut ring = Linear::with_values(ByteSize::from_mib(1)).unwrap();
    let one = ring.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
    assert!(ring.set_value(one.id, Some(Plain)).unwrap().is_none());
    assert!(
        format!(
            "{heap:?} {ring:?} {:?} {:?}",
            heap.ranges().collect::<Vec<_>>(),
            ring.ranges().collect::<Vec<_>>()
        )
        .contains("Used")
    );
}
