//! Frees in the order of the allocations, as an upload ring that waits for fences.

use heapwright_core::{Alignment, ByteSize};

use super::Effort;
use super::script::{Operation, Script};
use crate::random::Random;
use crate::rival::Terms;

/// What is live at once: uploads of a few frames.
const LIVE: u32 = 2000;

/// 256 B to 64 KiB, 256-aligned, the oldest of 2,000 freed before the next is allocated.
#[must_use]
pub fn upload_ring(effort: Effort) -> Script {
    let pairs: u32 = effort.pick(200_000, 50_000, 20_000);
    let mut random = Random::new(4);
    let mut size = || random.log_size(256, ByteSize::new(256));
    let warm_up = (0..LIVE).map(|slot| Operation::Allocate { slot, size: size() }).collect();
    let pairs = (0..pairs).map(|pair| {
        let slot = pair % LIVE;
        [Operation::Free { slot }, Operation::Allocate { slot, size: size() }]
    });
    Script {
        name: "upload ring".to_owned(),
        // Twice what is live on average.
        terms: Terms {
            capacity: ByteSize::from_mib(64),
            alignment: Alignment::new(256).expect("a power of two"),
            most_live: LIVE,
        },
        slots: LIVE as usize,
        warm_up,
        passes: vec![pairs.flatten().collect()],
        repeats: 1,
    }
}
