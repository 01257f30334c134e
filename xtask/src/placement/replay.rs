//! One workload through one setting.

use std::fmt;

use heapwright_core::placement::{PlacementError, SharedHeapSet, SharedPlacementId};
use heapwright_core::{Alignment, ByteSize};

use super::variants::Variant;
use super::workload::{Step, Workload};

/// What the devices that the traces are compared on align buffers to.
const ALIGNMENT: u64 = 256;

/// What a workload made of a setting.
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

/// Replays on one thread.
pub(super) fn replay(workload: &Workload, variant: &Variant) -> Result<Outcome, String> {
    let set: SharedHeapSet<()> =
        SharedHeapSet::new(variant.sizing, variant.retention, variant.slots_up_to, 1);
    let alignment = Alignment::new(ALIGNMENT).ok_or("the alignment is a power of two")?;
    let mut live: Vec<Option<SharedPlacementId>> = vec![None; workload.allocation_count as usize];
    let (mut peak_reserved, mut created) = (0_u64, 0_u64);
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
        peak_reserved = peak_reserved.max(set.totals().reserved.get());
    }
    Ok(Outcome {
        peak_ratio: peak_reserved as f64 / workload.peak_live as f64,
        creations: created as f64 / f64::from(workload.allocation_count),
    })
}

fn allocate(
    set: &SharedHeapSet<()>,
    size: ByteSize,
    alignment: Alignment,
    created: &mut u64,
) -> Result<SharedPlacementId, PlacementError> {
    if let Some(placed) = set.allocate(size, alignment)? {
        return Ok(placed.id);
    }
    *created += 1;
    let wanted = set.plan(size, alignment)?;
    Ok(set.allocate_in_new(wanted.size, (), size, alignment)?.id)
}
