//! Tests that every algorithm passes: it agrees with an interval map, the values and the fence values.

use crate::shadowed::{Algorithm, Shadowed};
use crate::steps::{Step, config, sizes, steps};
use heapwright_core::suballoc::{Linear, SuballocError, Tlsf};
use heapwright_core::{Alignment, ByteSize, HeapOffset};
use proptest::prelude::*;

const ALGORITHMS: [Algorithm; 2] = [Algorithm::Tlsf, Algorithm::Linear];

fn algorithms() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(&ALGORITHMS[..])
}

fn shadowed(capacity: u64) -> [Shadowed; 2] {
    ALGORITHMS.map(|algorithm| Shadowed::new(algorithm, capacity).unwrap())
}

/// Makes the calls. Then frees all in a third order and compares the suballocator with a new one, or drops it.
fn run(algorithm: Algorithm, capacity: u64, steps: &[Step], is_dropped: bool) {
    let mut heap = Shadowed::new(algorithm, capacity).unwrap();
    steps.iter().for_each(|step| heap.perform(step));
    if is_dropped {
        return heap.drop_heap();
    }
    while !heap.live.is_empty() {
        heap.free(heap.live.len() / 2);
    }
    heap.check();
    let requests: Vec<_> = steps
        .iter()
        .filter_map(|step| if let Step::Allocate(request) = step { Some(*request) } else { None })
        .collect();
    heap.compare_with_fresh(&requests);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_with_an_interval_map_when_crowded(
        algorithm in algorithms(), capacity in 1_u64..3000, steps in steps(9, 8), is_dropped in any::<bool>(),
    ) {
        run(algorithm, capacity, &steps, is_dropped);
    }

    /// Small suballocations, of which many are live.
    #[test]
    fn agrees_with_an_interval_map_with_many_live(
        algorithm in algorithms(), capacity in 1_u64..20_000, steps in steps(7, 5)
    ) {
        run(algorithm, capacity, &steps, false);
    }

    #[test]
    fn agrees_with_an_interval_map_of_64_mib(
        algorithm in algorithms(), missing in 0_u64..1000, steps in steps(25, 22)
    ) {
        run(algorithm, (64 << 20) - missing, &steps, false);
    }

    #[test]
    fn agrees_with_an_interval_map_with_sizes_up_to_a_tebibyte(
        algorithm in algorithms(), capacity in sizes(63), steps in steps(40, 22)
    ) {
        run(algorithm, capacity.min(1 << 63), &steps, false);
    }

    #[test]
    fn agrees_with_an_interval_map_at_any_alignment(
        algorithm in algorithms(), capacity in sizes(63), steps in steps(63, 63)
    ) {
        run(algorithm, capacity.min(1 << 63), &steps, false);
    }

    #[test]
    fn the_same_calls_get_the_same_offsets(algorithm in algorithms(), steps in steps(18, 16)) {
        let states = || {
            let mut heap = Shadowed::new(algorithm, 1 << 20).unwrap();
            let perform = |step| {
                heap.perform(step);
                heap.state()
            };
            steps.iter().map(perform).collect::<Vec<_>>()
        };
        prop_assert_eq!(states(), states());
    }
}

#[test]
fn a_capacity_of_zero_or_beyond_2_to_the_63_is_refused() {
    for capacity in [0, (1 << 63) + 1, u64::MAX].map(ByteSize::new) {
        for refused in [Tlsf::new(capacity).unwrap_err(), Linear::new(capacity).unwrap_err()] {
            assert!(matches!(refused, SuballocError::CapacityOutOfBounds { .. }), "{refused}");
            assert!(!refused.is_out_of_space());
        }
    }
}

#[test]
fn requests_that_can_never_succeed_say_so() {
    for mut heap in shadowed(4096) {
        let zero = heap.put(0, Alignment::from_log2(12).unwrap());
        assert_eq!(zero.unwrap_err(), SuballocError::ZeroSize);
        for size in [4097, 1 << 63, u64::MAX] {
            let refused = heap.put(size, Alignment::MAX).unwrap_err();
            assert!(matches!(refused, SuballocError::LargerThanCapacity { .. }), "{refused}");
            assert!(refused.is_out_of_space());
        }
    }
}

#[test]
fn the_last_byte_is_handed_out() {
    for mut heap in shadowed(61) {
        while heap.put(1, Alignment::ONE).is_ok() {}
        assert_eq!(heap.live.len(), 61);
    }
}

#[test]
fn an_alignment_beyond_the_capacity_leaves_offset_zero() {
    for mut heap in shadowed(1000) {
        let alignment = Alignment::from_log2(22).unwrap();
        assert_eq!(heap.put(10, alignment).unwrap().range.start(), HeapOffset::ZERO);
        assert!(heap.put(10, alignment).is_err());
    }
}

#[test]
fn a_suballocator_goes_to_another_thread_when_its_values_do() {
    const fn is_send<T: Send>() {}
    is_send::<Tlsf<String>>();
    is_send::<Linear<String>>();
    is_send::<Tlsf>();
}

/// Its summary is short, whatever is live.
#[test]
fn values_need_neither_debug_nor_clone() {
    struct Plain;

    let capacity = ByteSize::from_mib(1);
    let (mut heap, mut ring) = (Tlsf::with_values(capacity).unwrap(), Linear::with_values(capacity).unwrap());
    for _ in 0..1000 {
        let made = heap.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
        assert!(heap.set_value(made.id, Some(Plain)).unwrap().is_none());
        let made = ring.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
        assert!(ring.set_value(made.id, Some(Plain)).unwrap().is_none());
    }
    for text in [format!("{heap:?}"), format!("{ring:?}")] {
        assert!(text.contains("allocation_count: 1000") && text.len() < 250, "{text}");
    }
}
