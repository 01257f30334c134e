//! Frees in the order of the allocations, like an upload ring that waits for fences.

use heapwright_core::{Alignment, ByteSize};

use super::Effort;
use super::script::{Operation, Script};
use crate::random::Random;
use crate::rival::Terms;

/// Number of live allocations: the uploads of a few frames.
const LIVE: u32 = 2000;

/// Creates the script: 256 B to 64 KiB at alignment 256; the oldest of 2,000 is freed before each allocation.
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
        // Twice the average size of the live allocations.
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
