//! The longest step of a defragmentation, after a random 70 % of the buffers were freed.
//!
//! A step plans at most 64 moves of at most 64 MiB and completes them. Copies, and resources at the new places, are the
//! program's, and not timed. vk-mem does not export the description of a defragmentation, so VMA takes no part.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
use heapwright::defragmentation::{DefragmentationBudget, DefragmentationState};
use heapwright::{HeapType, InitialState, ResourceAllocationDesc, buffer_desc};

use super::{MOST_UNITS, Point, UNIT, index_in};
use crate::memory::allocators::{Failed, MemoryAllocator as _};
use crate::memory::ours::{Default as Defaults, Heapwright};
use crate::memory::prices::Prices;
use crate::random::Random;

const RUNS: usize = 3;

/// Measures with a number of buffers that are live after 70 % were freed.
///
/// # Errors
///
/// Returns the first error of the allocator.
pub fn measure(live: usize) -> Result<Vec<Point>, Failed> {
    let mut shortest = Duration::MAX;
    for _ in 0..RUNS {
        shortest = shortest.min(longest_step(live)?);
    }
    Ok(vec![Point { allocator: "heapwright", live, microseconds: shortest.as_secs_f64() * 1e6 }])
}

/// Returns the number of buffers of which 30 % are `live`.
fn before(live: usize) -> usize {
    live * 10 / 3
}

fn longest_step(live: usize) -> Result<Duration, Failed> {
    let mut random = Random::new(72);
    let owner = Heapwright::<Defaults>::new(&Prices::on_h200())?;
    let allocator = owner.allocator();
    let mut buffers = HashMap::new();
    for key in 0..before(live) as u64 {
        let desc =
            ResourceAllocationDesc { user_data: key, ..ResourceAllocationDesc::new(HeapType::Default) };
        let resource = buffer_desc(random.log_size(MOST_UNITS, UNIT));
        let buffer = allocator.create_resource(&desc, &resource, D3D12_RESOURCE_STATE_COMMON, None);
        buffers.insert(key, buffer.map_err(Failed::new)?);
    }
    let mut keys: Vec<u64> = (0..before(live) as u64).collect();
    while keys.len() > live {
        let index = index_in(&keys, &mut random);
        buffers.remove(&keys.swap_remove(index));
    }
    // glibc sorts what was freed in later larger requests, 10,000 parts in each, which would be those of the first
    // steps.
    (0..1000).for_each(|_| drop(black_box(vec![0_u8; 64 << 10])));
    let mut run = allocator.defragment(Default::default()).map_err(Failed::new)?;
    let mut longest = Duration::ZERO;
    loop {
        let start = Instant::now();
        let step = run.step(DefragmentationBudget::default());
        let mut time = start.elapsed();
        for mut planned in step.moves {
            let Some(buffer) = buffers.get_mut(&planned.user_data()) else { continue };
            planned.create_resource(buffer, InitialState::default(), None, &[]).map_err(Failed::new)?;
            let start = Instant::now();
            planned.complete(buffer).map_err(Failed::new)?;
            time += start.elapsed();
        }
        longest = longest.max(time);
        if step.state == DefragmentationState::Finished {
            return Ok(longest);
        }
    }
}
