//! Tests that every algorithm passes.

/// Tests the algorithm `$type` with the guarantee `$guarantee`.
///
/// `$run` compares it with an interval map: its arguments are a capacity, random bits, and random steps.
macro_rules! every_algorithm {
    ($type:ty, $guarantee:expr, $run:expr) => {
        mod every_algorithm {
            use super::*;
            use crate::shadowed::{STEPS, Step, alignment, config, sizes, steps};
            use heapwright_core::suballoc::SuballocError;
            use heapwright_core::{Alignment, ByteSize, HeapOffset};

            fn shadowed(capacity: u64) -> crate::shadowed::Shadowed<$type> {
                crate::shadowed::Shadowed::new(<$type>::new(ByteSize::new(capacity)).unwrap(), $guarantee)
            }

            proptest! {
                #![proptest_config(config())]

                #[test]
                fn agrees_with_an_interval_map_when_crowded(
                    capacity in 1_u64..3000,
                    random in any::<u64>(),
                    steps in steps(9, 8, 0..STEPS),
                ) {
                    $run(capacity, random, steps);
                }

                #[test]
                fn agrees_with_an_interval_map_of_64_mib(
                    missing in 0_u64..1000,
                    random in any::<u64>(),
                    steps in steps(25, 22, 0..STEPS),
                ) {
                    $run((64 << 20) - missing, random, steps);
                }

                #[test]
                fn agrees_with_an_interval_map_with_sizes_up_to_a_tebibyte(
                    log2 in 40_u32..=63,
                    random in any::<u64>(),
                    steps in steps(40, 22, 0..STEPS),
                ) {
                    let capacity = (1_u64 << log2) | (random & ((1 << log2) - 1));
                    $run(capacity.min(1 << 63), random.rotate_left(32), steps);
                }

                #[test]
                fn agrees_with_an_interval_map_at_any_alignment(
                    capacity in sizes(63),
                    random in any::<u64>(),
                    steps in steps(63, 63, 0..STEPS / 2),
                ) {
                    $run(capacity.min(1 << 63), random, steps);
                }

                #[test]
                fn the_same_calls_get_the_same_offsets(steps in steps(18, 16, 0..STEPS)) {
                    let offsets = || {
                        let mut heap = <$type>::new(ByteSize::from_mib(1)).unwrap();
                        let mut live = Vec::new();
                        let place = |step: &Step| match step {
                            Step::Allocate { size, alignment_log2 } => {
                                live.extend(heap.allocate(ByteSize::new(*size), alignment(*alignment_log2)));
                                live.last().map(|made| made.range)
                            }
                            Step::Free(at) | Step::FreeAgain(at) if !live.is_empty() => {
                                heap.free(live.swap_remove(at.index(live.len())).id).ok()
                            }
                            Step::FreeOldest if !live.is_empty() => heap.free(live.remove(0).id).ok(),
                            Step::Free(_) | Step::FreeOldest | Step::FreeAgain(_) => None,
                        };
                        steps.iter().map(place).collect::<Vec<_>>()
                    };
                    prop_assert_eq!(offsets(), offsets());
                }
            }

            #[test]
            fn a_capacity_of_zero_or_beyond_2_to_the_63_is_refused() {
                for capacity in [0, (1 << 63) + 1, u64::MAX] {
                    let refused = <$type>::new(ByteSize::new(capacity)).unwrap_err();
                    assert!(matches!(refused, SuballocError::CapacityOutOfBounds { .. }), "{refused}");
                    assert!(!refused.is_out_of_space());
                }
            }

            #[test]
            fn requests_that_can_never_succeed_say_so() {
                let mut heap = shadowed(4096);
                let zero = heap.allocate(0, Alignment::from_log2(12).unwrap());
                assert_eq!(zero.unwrap_err(), SuballocError::ZeroSize);
                for size in [4097, 1 << 63, u64::MAX] {
                    let refused = heap.allocate(size, Alignment::MAX).unwrap_err();
                    assert!(matches!(refused, SuballocError::LargerThanCapacity { .. }), "{refused}");
                    assert!(refused.is_out_of_space());
                }
                assert!(heap.live.is_empty());
                assert_eq!(heap.heap.largest_free_range(), heap.heap.capacity());
            }

            #[test]
            fn the_last_byte_is_handed_out() {
                let mut heap = shadowed(61);
                while heap.allocate(1, Alignment::ONE).is_ok() {}
                assert_eq!(heap.heap.free_size(), ByteSize::ZERO);
                assert_eq!(heap.heap.largest_free_range(), ByteSize::ZERO);
            }

            #[test]
            fn an_alignment_beyond_the_capacity_leaves_offset_zero() {
                let mut heap = shadowed(1000);
                let alignment = Alignment::from_log2(22).unwrap();
                assert_eq!(heap.allocate(10, alignment).unwrap().range.start(), HeapOffset::ZERO);
                assert!(heap.allocate(10, alignment).is_err());
            }

            #[test]
            fn debug_is_a_summary_whatever_is_live() {
                let mut heap = <$type>::new(ByteSize::from_mib(1)).unwrap();
                for _ in 0..1000 {
                    heap.allocate(ByteSize::new(16), Alignment::ONE).unwrap();
                }
                let text = format!("{heap:?}");
                assert!(text.contains("allocation_count: 1000") && text.len() < 250, "{text}");
            }
        }
    };
}
