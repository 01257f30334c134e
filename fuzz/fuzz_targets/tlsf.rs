//! TLSF beside an interval map.
#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use heapwright_core::suballoc::Tlsf;
use heapwright_core::{Alignment, ByteSize};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum Step {
    Allocate { size_log2: u8, part: u16, alignment_log2: u8 },
    Free { index: u16 },
}

fuzz_target!(|input: (u64, Vec<Step>)| {
    let (capacity, steps) = input;
    let Ok(mut tlsf) = Tlsf::new(ByteSize::new(capacity)) else { return };
    let mut live = BTreeMap::new();
    for step in steps.into_iter().take(500) {
        match step {
            Step::Allocate { size_log2, part, alignment_log2 } => {
                let size = (1_u64 << (size_log2 % 63)).saturating_add(u64::from(part));
                let alignment = Alignment::from_log2(u32::from(alignment_log2 % 40)).expect("below 64");
                let Ok(made) = tlsf.allocate(ByteSize::new(size), alignment) else { continue };
                let (start, end) = (made.range.start().get(), made.range.end().get());
                assert!(start % alignment.get() == 0 && end - start == size && end <= capacity);
                let below = live.range(..end).next_back();
                assert!(below.is_none_or(|(_, &(below_end, _))| below_end <= start), "overlap");
                live.insert(start, (end, made.id));
            }
            Step::Free { index } => {
                let Some(&start) = live.keys().nth(usize::from(index) % live.len().max(1)) else { continue };
                let (_, id) = live.remove(&start).expect("just read");
                tlsf.free(id).expect("live");
                assert!(tlsf.free(id).is_err(), "freed twice");
            }
        }
        tlsf.audit().expect("consistent");
    }
    for (_, (_, id)) in live {
        tlsf.free(id).expect("live");
    }
    assert_eq!(tlsf.ranges().count(), 1, "one free range again");
});
