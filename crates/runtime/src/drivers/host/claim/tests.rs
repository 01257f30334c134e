//! Claims beside what the suballocator says is free.

use heapwright_core::HeapOffset;
use proptest::prelude::*;

use super::*;

fn range(start: u64, size: u64) -> HeapRange {
    HeapRange::new(HeapOffset::new(start), ByteSize::new(size)).expect("within 64 bits")
}

/// The used ranges, from low to high.
fn used(space: &Tlsf) -> Vec<HeapRange> {
    space.ranges().filter(|range| !range.is_free()).map(|range| range.range()).collect()
}

#[test]
fn the_ends_and_the_middle_of_what_is_free_can_be_claimed() {
    let mut space = Tlsf::new(ByteSize::new(100)).expect("a capacity");
    for wanted in [range(0, 10), range(90, 10), range(40, 1), range(10, 30), range(41, 49)] {
        assert!(claim(&mut space, wanted).is_some(), "{wanted:?}");
        assert!(used(&space).contains(&wanted));
        space.audit().expect("sound");
    }
    assert_eq!(space.free_size(), ByteSize::ZERO);
    assert_eq!(claim(&mut space, range(0, 1)), None);
}

proptest! {
    /// A claim succeeds where all bytes are free, and changes nothing else.
    #[test]
    fn a_claim_takes_what_is_free_and_nothing_else(
        sizes in prop::collection::vec(1_u64..200, 1..40),
        freed in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        claims in prop::collection::vec((0_u64..4096, 1_u64..300), 1..10),
    ) {
        let mut space = Tlsf::new(ByteSize::new(4096)).expect("a capacity");
        let mut live: Vec<_> =
            sizes.iter().filter_map(|&size| space.allocate(ByteSize::new(size), Alignment::ONE).ok()).collect();
        for index in freed {
            if !live.is_empty() {
                let gone = live.swap_remove(index.index(live.len()));
                space.free(gone.id).expect("live");
            }
        }
        for (start, size) in claims {
            let wanted = range(start, size);
            let before = used(&space);
            let is_free = wanted.end().get() <= 4096 && before.iter().all(|used| !used.overlaps(wanted));
            let claimed = claim(&mut space, wanted);
            prop_assert_eq!(claimed.is_some(), is_free);
            let mut expected = before;
            expected.extend(claimed.map(|_| wanted));
            expected.sort();
            prop_assert_eq!(used(&space), expected);
            space.audit().expect("sound");
        }
    }
}
