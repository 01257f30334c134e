//! Comparison with a model that marks each free address.

use proptest::prelude::*;

use super::*;

const END: u64 = 4096;

fn range(start: u64, end: u64) -> Interval {
    Interval { start, end }
}

fn free() -> FreeAddresses {
    FreeAddresses::of(range(0, END))
}

/// Checks that both indices agree and that no two ranges touch.
fn audit(free: &FreeAddresses) {
    let by_size: BTreeSet<_> = free.ranges().map(|range| (range.len(), range.start)).collect();
    assert_eq!(by_size, free.sizes);
    let ranges: Vec<_> = free.ranges().collect();
    assert!(ranges.iter().all(|range| !range.is_empty()));
    assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
}

#[test]
fn the_smallest_sufficient_range_is_taken_lowest_first() {
    let mut free = free();
    for (start, end) in [(0, 1000), (1010, 2000), (2010, 3000), (3500, END)] {
        assert!(free.take_at(range(start, end)));
    }
    let take = |free: &mut FreeAddresses, size, alignment| {
        let alignment = Alignment::new(alignment).expect("a power of two");
        free.take(ByteSize::new(size), alignment).map(|taken| taken.start)
    };
    assert_eq!(take(&mut free, 10, 1), Some(1000));
    assert_eq!(take(&mut free, 10, 1), Some(2000));
    assert_eq!(take(&mut free, 10, 1), Some(3000));
    assert_eq!(take(&mut free, 489, 2), Some(3010));
    assert_eq!(take(&mut free, 2, 1), None, "one byte is left");
}

#[derive(Debug, Clone)]
enum Step {
    Take { size: u64, alignment: u32 },
    TakeAt { start: u64, size: u64 },
    GiveBack(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1_u64..400, 0_u32..9).prop_map(|(size, alignment)| Step::Take { size, alignment }),
        (0..END + 50, 0_u64..300).prop_map(|(start, size)| Step::TakeAt { start, size }),
        any::<prop::sample::Index>().prop_map(Step::GiveBack),
    ]
}

proptest! {
    #[test]
    fn free_addresses_are_those_not_taken(steps in prop::collection::vec(step(), 1..120)) {
        let mut free = free();
        let mut taken: Vec<Interval> = Vec::new();
        let mut is_free = [true; 4096];
        let mark = |is_free: &mut [bool], range: Interval, value| {
            for address in range.start..range.end {
                let slot = &mut is_free[usize::try_from(address).expect("the value fits in usize")];
                assert_ne!(*slot, value, "address {address}");
                *slot = value;
            }
        };
        for step in steps {
            match step {
                Step::Take { size, alignment } => {
                    let alignment = Alignment::from_log2(alignment).expect("a valid alignment");
                    let found = free.take(ByteSize::new(size), alignment);
                    // The length of the free run that begins at each address, from the last address on.
                    let mut run = 0;
                    let there_is = (0..END).rev().zip(is_free.iter().rev()).any(|(start, &is_free)| {
                        run = if is_free { run + 1 } else { 0 };
                        run >= size && start % alignment.get() == 0
                    });
                    prop_assert_eq!(found.is_some(), there_is);
                    if let Some(found) = found {
                        prop_assert_eq!((found.len(), found.start % alignment.get()), (size, 0));
                        mark(&mut is_free, found, false);
                        taken.push(found);
                    }
                }
                Step::TakeAt { start, size } => {
                    let wanted = range(start, start + size);
                    let missing = (start..start + size)
                        .find(|&address| !is_free.get(usize::try_from(address).expect("fits")).copied().unwrap_or(false));
                    prop_assert_eq!(free.first_missing(wanted), missing);
                    prop_assert_eq!(free.take_at(wanted), missing.is_none());
                    if missing.is_none() && size > 0 {
                        mark(&mut is_free, wanted, false);
                        taken.push(wanted);
                    }
                }
                Step::GiveBack(index) => {
                    if !taken.is_empty() {
                        let gone = taken.swap_remove(index.index(taken.len()));
                        free.give_back(gone);
                        mark(&mut is_free, gone, true);
                    }
                }
            }
            audit(&free);
            let total: u64 = free.ranges().map(Interval::len).sum();
            prop_assert_eq!(total, is_free.iter().filter(|&&free| free).count() as u64);
        }
    }
}
