//! Tests of linear suballocators.

use crate::shadowed::{Algorithm, Shadowed};
use crate::steps::{STEPS, alignment, config};
use heapwright_core::suballoc::Linear;
use heapwright_core::{Alignment, ByteSize, FenceValue, HeapOffset};
use proptest::prelude::*;

fn linear(capacity: u64) -> Linear {
    Linear::new(ByteSize::new(capacity)).unwrap()
}

proptest! {
    #![proptest_config(config())]

    /// A renderer with a number of frames in flight, and a maximum number of bytes per frame.
    #[test]
    fn a_ring_for_the_frames_in_flight_never_refuses(
        frames in prop::collection::vec(prop::collection::vec(1_u64..=256, 0..16), 1..STEPS / 4),
        in_flight in 1_u64..4,
    ) {
        // One frame is recorded while the others are in flight, and the end of the ring may be skipped.
        let frame = 16 * 256;
        let mut ring = linear((in_flight + 1) * frame + 256);
        for (number, uploads) in (1_u64..).zip(frames) {
            ring.retire(FenceValue::new(number.saturating_sub(in_flight + 1)));
            for size in uploads {
                ring.allocate(ByteSize::new(size), alignment(8)).unwrap();
            }
            ring.submit(FenceValue::new(number)).unwrap();
            ring.audit().unwrap();
        }
    }
}

#[test]
fn the_largest_ranges_there_are() {
    let mut heap = Shadowed::new(Algorithm::Linear, 1 << 63).unwrap();
    heap.put(1 << 62, Alignment::MAX).unwrap();
    assert!(heap.put(1, Alignment::MAX).unwrap_err().is_out_of_space());
    assert_eq!(heap.put(1 << 62, alignment(62)).unwrap().range.end(), HeapOffset::new(1 << 63));
    assert!(heap.put(1, Alignment::ONE).unwrap_err().is_out_of_space());
    heap.free(0);
    assert_eq!(heap.put(1, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);

    let mut heap = linear(1 << 63);
    let (size, at) = (ByteSize::new(1 << 62), alignment(62));
    assert_eq!(heap.allocate_upper(size, at).unwrap().range.start(), HeapOffset::new(1 << 62));
    assert_eq!(heap.allocate_upper(size, Alignment::MAX).unwrap().range.start(), HeapOffset::ZERO);
    assert_eq!(heap.free_size(), ByteSize::ZERO);
}
