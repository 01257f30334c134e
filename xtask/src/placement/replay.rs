//! Replay of a workload with a variant of the settings.

use std::fmt;
use std::time::{Duration, Instant};

use heapwright_core::placement::{PlacementError, SharedHeapSet, SharedPlacementId};
use heapwright_core::{Alignment, ByteSize};

use super::variants::Variant;
use super::workload::{Step, Workload};

/// Alignment of buffers, as on the devices of the comparison in README.md.
const ALIGNMENT: u64 = 256;

/// Result of a replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) peak_ratio: f64,
    pub(super) creations: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} {:4.1}%", self.peak_ratio, self.creations * 100.0)
    }
}

/// Replays the workload on one thread.
pub(super) fn replay(workload: &Workload, variant: &Variant) -> Result<Outcome, String> {
    let mut peak_reserved = 0;
    let created = replay_with(workload, variant, |set| {
        peak_reserved = peak_reserved.max(set.totals().reserved.get());
    })?;
    Ok(Outcome {
        peak_ratio: peak_reserved as f64 / workload.peak_live as f64,
        creations: created.count as f64 / f64::from(workload.allocation_count),
    })
}

/// Returns the time of a replay in seconds, without and with the time for new heaps.
pub(super) fn time(workload: &Workload, variant: &Variant) -> Result<(f64, f64), String> {
    let start = Instant::now();
    let created = replay_with(workload, variant, |_| ())?;
    let all = start.elapsed();
    Ok((all.saturating_sub(created.time).as_secs_f64(), all.as_secs_f64()))
}

/// Number of created heaps and the time for them.
#[derive(Debug, Default)]
struct Created {
    count: u64,
    time: Duration,
}

fn replay_with(
    workload: &Workload,
    variant: &Variant,
    mut after_step: impl FnMut(&SharedHeapSet<()>),
) -> Result<Created, String> {
    let set: SharedHeapSet<()> =
        SharedHeapSet::new(variant.sizing, variant.retention, variant.slots_up_to, 1);
    let alignment = Alignment::new(ALIGNMENT).ok_or("the alignment is a power of two")?;
    let mut live: Vec<Option<SharedPlacementId>> = vec![None; workload.allocation_count as usize];
    let mut created = Created::default();
    for &step in &workload.steps {
        match step {
            Step::Allocate { number, bytes } => {
                let size = ByteSize::new(bytes).align_up(alignment).ok_or("a size overflows")?;
                let id = allocate(&set, size, alignment, &mut created).map_err(|error| error.to_string())?;
                live[number as usize] = Some(id);
            }
            Step::Free { number } => {
                let id = live[number as usize].take().ok_or("a workload frees what is live")?;
                set.free(id).map_err(|error| error.to_string())?;
            }
        }
        after_step(&set);
    }
    Ok(created)
}

fn allocate(
    set: &SharedHeapSet<()>,
    size: ByteSize,
    alignment: Alignment,
    created: &mut Created,
) -> Result<SharedPlacementId, PlacementError> {
    if let Some(placed) = set.allocate(size, alignment)? {
        return Ok(placed.id);
    }
    let start = Instant::now();
    let wanted = set.plan(size, alignment)?;
    let placed = set.allocate_in_new(wanted.size, (), size, alignment)?;
    created.count += 1;
    created.time += start.elapsed();
    Ok(placed.id)
}
