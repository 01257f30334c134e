//! Compares pools with a list of their content.

use proptest::prelude::*;

use super::{HeapPool, HeapPoolTotals, HeapPooling};
use crate::ByteSize;

/// Takes a heap of exactly this size.
fn take<H>(pool: &HeapPool<H>, size: ByteSize) -> Option<H> {
    pool.take_fitting(size, size).map(|(_, heap)| heap)
}

#[test]
fn threads_share_a_pool() {
    let pool = HeapPool::new(HeapPooling::Segmented);
    let rounds = if cfg!(miri) { 20 } else { 2000_u64 };
    std::thread::scope(|threads| {
        for thread in 0..4_u64 {
            let pool = &pool;
            threads.spawn(move || {
                for round in 0..rounds {
                    let size = ByteSize::new(1 + (thread + round) % 5);
                    assert_eq!(pool.put(size, size), None);
                    let taken = take(pool, size);
                    assert!(taken.is_none_or(|heap| heap == size));
                    if taken.is_some() && round % 3 == 0 {
                        assert!(pool.release(size).iter().all(|(size, heap)| size == heap));
                    }
                }
            });
        }
    });
    pool.audit().unwrap();
    let totals = pool.totals();
    let rest = pool.release(ByteSize::new(u64::MAX));
    assert_eq!(totals.heap_count, rest.len() as u64);
    assert_eq!(totals.bytes.get(), rest.iter().map(|(size, _)| size.get()).sum::<u64>());
}

#[derive(Debug, Clone)]
enum Step {
    Put(u64),
    Take(u64),
    Release(u64),
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn agrees_with_a_list(
        pooling in prop::sample::select(vec![
            HeapPooling::None, HeapPooling::Fixed(ByteSize::new(4)), HeapPooling::Segmented
        ]),
        steps in prop::collection::vec(
            prop_oneof![
                4 => (1_u64..12).prop_map(Step::Put),
                3 => (1_u64..12).prop_map(Step::Take),
                1 => (0_u64..60).prop_map(Step::Release),
            ],
            0..80,
        ),
    ) {
        let pool = HeapPool::new(pooling);
        let mut list: Vec<(u64, usize)> = Vec::new();
        for (name, step) in steps.into_iter().enumerate() {
            match step {
                Step::Put(size) => {
                    let is_kept = match pooling {
                        HeapPooling::None => false,
                        HeapPooling::Fixed(fixed) => fixed.get() == size,
                        HeapPooling::Segmented => true,
                    };
                    prop_assert_eq!(pool.put(ByteSize::new(size), name), (!is_kept).then_some(name));
                    if is_kept {
                        list.push((size, name));
                    }
                }
                Step::Take(size) => {
                    let newest = list.iter().rposition(|heap| heap.0 == size);
                    prop_assert_eq!(take(&pool, ByteSize::new(size)), newest.map(|at| list.remove(at).1));
                }
                Step::Release(bytes) => {
                    let released = pool.release(ByteSize::new(bytes));
                    let sum = released.iter().map(|(size, _)| size.get()).sum::<u64>();
                    for &(size, name) in &released {
                        prop_assert!(sum - size.get() < bytes, "{:?} for {}", released, bytes);
                        let at = list.iter().position(|heap| *heap == (size.get(), name));
                        list.remove(at.expect("the heap was in the pool"));
                    }
                    prop_assert!(sum >= bytes || list.is_empty());
                    // As few as possible: even the largest heaps would not suffice with one less.
                    let mut all: Vec<_> = list.iter().map(|heap| heap.0).collect();
                    all.extend(released.iter().map(|(size, _)| size.get()));
                    all.sort_unstable_by(|a, b| b.cmp(a));
                    let one_less = released.len().saturating_sub(1);
                    prop_assert!(all.iter().take(one_less).sum::<u64>() < bytes || bytes == 0);
                }
            }
            pool.audit().unwrap();
            let bytes = ByteSize::new(list.iter().map(|heap| heap.0).sum());
            prop_assert_eq!(pool.totals(), HeapPoolTotals { heap_count: list.len() as u64, bytes });
        }
    }
}
