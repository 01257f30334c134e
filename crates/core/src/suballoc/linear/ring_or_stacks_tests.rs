//! Compares the ring that becomes a double stack with a ring, a double stack, and a list of live ranges.

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::{RangeUse, SuballocError, Suballocation, Suballocator};
use super::{DoubleStack, Ring, RingOrStacks};
use crate::{Alignment, ByteSize};

#[derive(Debug, Clone)]
enum Step {
    Lower(u64, u32),
    Upper(u64, u32),
    Free(Index),
    FreeOldest,
}

fn steps(with_upper: bool) -> impl Strategy<Value = Vec<Step>> {
    let upper = if with_upper { 2 } else { 0 };
    let step = prop_oneof![
        5 => (1_u64..200, 0_u32..7).prop_map(|(size, log2)| Step::Lower(size, log2)),
        upper => (1_u64..200, 0_u32..7).prop_map(|(size, log2)| Step::Upper(size, log2)),
        3 => any::<Index>().prop_map(Step::Free),
        3 => Just(Step::FreeOldest),
    ];
    prop::collection::vec(step, 0..if cfg!(miri) { 20 } else { 120 })
}

fn request(size: u64, log2: u32) -> (ByteSize, Alignment) {
    (ByteSize::new(size), Alignment::from_log2(log2).unwrap())
}

/// Returns only the offset: the errors differ in the reported free size.
fn place(result: Result<Suballocation, SuballocError>) -> Option<u64> {
    result.ok().map(|suballocation| suballocation.range.start().get())
}

fn check(heap: &RingOrStacks, live: &[Suballocation]) {
    heap.audit().unwrap();
    let ranges: Vec<_> = heap.ranges().collect();
    let mut end = 0;
    for range in &ranges {
        assert_eq!(range.range().start().get(), end, "{ranges:?}");
        end = range.range().end().get();
    }
    assert_eq!(end, heap.capacity().get());
    let free: Vec<_> =
        ranges.iter().filter(|range| range.is_free()).map(|range| range.range().size()).collect();
    assert_eq!(free.iter().map(|size| size.get()).sum::<u64>(), heap.free_size().get(), "{ranges:?}");
    assert_eq!(free.iter().max().copied().unwrap_or_default(), heap.largest_free_range(), "{ranges:?}");
    let mut used: Vec<_> = ranges
        .iter()
        .filter_map(|range| match range {
            RangeUse::Used(suballocation) => Some(*suballocation),
            _ => None,
        })
        .collect();
    let mut live = live.to_vec();
    live.sort_unstable_by_key(|live| live.range.start());
    used.sort_unstable_by_key(|used| used.range.start());
    assert_eq!(used, live);
    assert_eq!(heap.used().get(), live.iter().map(|live| live.range.size().get()).sum::<u64>());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn agrees_with_a_list(steps in steps(true)) {
        let mut heap = RingOrStacks::new(ByteSize::new(1000)).unwrap();
        let mut live: Vec<Suballocation> = Vec::new();
        for step in steps {
            match step {
                Step::Lower(size, log2) | Step::Upper(size, log2) => {
                    let (size, alignment) = request(size, log2);
                    let largest = heap.largest_free_range();
                    let is_upper = matches!(step, Step::Upper(..));
                    let placed = if is_upper { heap.allocate_upper(size, alignment) } else { heap.allocate(size, alignment) };
                    match placed {
                        Ok(placed) => {
                            prop_assert!(placed.range.start().is_aligned(alignment) && placed.range.size() == size);
                            live.push(placed);
                        }
                        Err(error) => {
                            prop_assert!(error.is_out_of_space());
                            prop_assert!(is_upper || alignment != Alignment::ONE || size > largest);
                        }
                    }
                }
                Step::Free(_) | Step::FreeOldest if live.is_empty() => {}
                Step::Free(at) => {
                    let freed = live.remove(at.index(live.len()));
                    prop_assert_eq!(heap.free(freed.id), Ok(freed.range));
                    prop_assert!(heap.free(freed.id).is_err());
                }
                Step::FreeOldest => {
                    let freed = live.remove(0);
                    prop_assert_eq!(heap.free(freed.id), Ok(freed.range));
                }
            }
            check(&heap, &live);
        }
        heap.clear();
        check(&heap, &[]);
        prop_assert_eq!(heap.largest_free_range(), heap.capacity());
    }

    #[test]
    fn without_upper_allocations_it_is_a_ring(steps in steps(false)) {
        let capacity = ByteSize::new(1000);
        compare(Ring::new(capacity).unwrap(), RingOrStacks::new(capacity).unwrap(), steps, |_, _, _| unreachable!());
    }

    #[test]
    fn with_upper_allocations_it_is_a_double_stack(steps in steps(true)) {
        let mut stack = DoubleStack::new(ByteSize::new(1000)).unwrap();
        let mut heap = RingOrStacks::new(ByteSize::new(1000)).unwrap();
        let (size, alignment) = request(10, 0);
        stack.allocate_upper(size, alignment).unwrap();
        heap.allocate_upper(size, alignment).unwrap();
        compare(stack, heap, steps, DoubleStack::allocate_upper);
    }
}

/// Checks that both place and free alike.
fn compare<A: Suballocator>(
    mut reference: A,
    mut heap: RingOrStacks,
    steps: Vec<Step>,
    allocate_upper: fn(&mut A, ByteSize, Alignment) -> Result<Suballocation, SuballocError>,
) {
    let mut live = Vec::new();
    for step in steps {
        match step {
            Step::Lower(size, log2) | Step::Upper(size, log2) => {
                let (size, alignment) = request(size, log2);
                let (one, other) = if let Step::Upper(..) = step {
                    (allocate_upper(&mut reference, size, alignment), heap.allocate_upper(size, alignment))
                } else {
                    (reference.allocate(size, alignment), heap.allocate(size, alignment))
                };
                assert_eq!(place(one), place(other));
                live.extend(one.ok().zip(other.ok()));
            }
            Step::Free(_) | Step::FreeOldest if live.is_empty() => {}
            Step::Free(_) | Step::FreeOldest => {
                let at = if let Step::Free(at) = step { at.index(live.len()) } else { 0 };
                let (one, other) = live.remove(at);
                reference.free(one.id).unwrap();
                heap.free(other.id).unwrap();
            }
        }
        assert_eq!(reference.free_size(), heap.free_size());
    }
}
