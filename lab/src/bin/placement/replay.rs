//! Replay of a workload with a variant of the settings.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heapwright_core::placement::{
    HeapCosts, HeapPrices, PlacementError, PlacementRequest, SharedHeapSet, SharedPlacementId,
};
use heapwright_core::{Alignment, ByteSize};

use super::variants::Variant;
use super::workload::{Step, Workload};

/// Alignment of buffers, as on the devices of the comparison in docs/performance.md.
const ALIGNMENT: u64 = 256;

/// An operation that takes longer is a hitch.
const HITCH: Duration = Duration::from_micros(250);

/// Result of a replay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    /// Modelled time of an operation, mean.
    pub(super) micros: f64,
    pub(super) mean_ratio: f64,
    pub(super) peak_ratio: f64,
    pub(super) hitches: u64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { micros, mean_ratio, peak_ratio, hitches } = self;
        write!(f, "{micros:>9.2} / {mean_ratio:>5.3} / {peak_ratio:>5.3}, {hitches:>5} hitches")
    }
}

/// Sizes of heaps are their own handles.
type Heap = ByteSize;

/// Replays the workload on one thread.
pub(super) fn replay(workload: &Workload, variant: &Variant) -> Result<Outcome, String> {
    let (mut peak, mut held, mut time, mut hitches) = (0, 0, Duration::ZERO, 0);
    let _creation = replay_with(workload, variant, |set, step, modelled| {
        time += modelled;
        if step == Step::Period {
            // By a thread of the allocator's own, beside the operations.
            return;
        }
        let reserved = set.totals().reserved.get();
        peak = peak.max(reserved);
        held += u128::from(reserved);
        hitches += u64::from(modelled > HITCH);
    })?;
    let operations = workload.steps.iter().filter(|&&step| step != Step::Period).count() as f64;
    let placed = HeapCosts::PLACED_RESOURCE * workload.allocation_count;
    Ok(Outcome {
        micros: (time + placed).as_secs_f64() * 1e6 / operations,
        mean_ratio: held as f64 / workload.live_sum as f64,
        peak_ratio: peak as f64 / workload.peak_live as f64,
        hitches,
    })
}

/// Returns the time of a replay in seconds, without and with the time for new heaps.
pub(super) fn time(workload: &Workload, variant: &Variant) -> Result<(f64, f64), String> {
    let start = Instant::now();
    let creation = replay_with(workload, variant, |_, _, _| ())?;
    let all = start.elapsed();
    Ok((all.saturating_sub(creation).as_secs_f64(), all.as_secs_f64()))
}

/// Replays the workload, calls `after_step` with the modelled time of each step, and returns the real time that the set
/// took for new heaps.
fn replay_with(
    workload: &Workload,
    variant: &Variant,
    mut after_step: impl FnMut(&SharedHeapSet<Heap>, Step, Duration),
) -> Result<Duration, String> {
    let costs = HeapCosts::device_local();
    // Learned from the modelled calls, as an allocator learns them from real ones.
    let prices = Arc::<HeapPrices>::default();
    let set: SharedHeapSet<Heap> = SharedHeapSet::with_shared(
        variant.sizing,
        variant.retention,
        variant.slots_up_to,
        1,
        Arc::default(),
        Arc::clone(&prices),
    );
    let alignment = Alignment::new(ALIGNMENT).ok_or("the alignment is a power of two")?;
    let mut live: Vec<Option<SharedPlacementId>> = vec![None; workload.allocation_count as usize];
    let mut creation = Duration::ZERO;
    let freed = |heaps: &[Heap]| {
        let times = heaps.iter().map(|&size| (size, costs.of(size).free));
        times.inspect(|&(size, time)| prices.note_freed(size, time)).map(|(_, time)| time).sum::<Duration>()
    };
    let created = |heap| {
        let time = costs.of(heap).create;
        prices.note_created(heap, time);
        time
    };
    for &step in &workload.steps {
        let modelled = match step {
            Step::Allocate { number, bytes } => {
                let size = ByteSize::new(bytes).align_up(alignment).ok_or("a size overflows")?;
                let (id, new) =
                    allocate(&set, size, alignment, &mut creation).map_err(|error| error.to_string())?;
                live[number as usize] = Some(id);
                new.map_or(Duration::ZERO, |(heap, released)| freed(&released) + created(heap))
            }
            Step::Free { number } => {
                let id = live[number as usize].take().ok_or("a workload frees what is live")?;
                freed(&set.free(id).map_err(|error| error.to_string())?)
            }
            Step::Period => freed(&set.pass_period()),
        };
        after_step(&set, step, modelled);
    }
    Ok(creation)
}

/// The size of a heap that was created, and the heaps that were released for it.
type New = (ByteSize, Vec<Heap>);

fn allocate(
    set: &SharedHeapSet<Heap>,
    size: ByteSize,
    alignment: Alignment,
    creation: &mut Duration,
) -> Result<(SharedPlacementId, Option<New>), PlacementError> {
    let request = PlacementRequest::new(size, alignment);
    if let Some(placed) = set.allocate(&request)? {
        return Ok((placed.id, None));
    }
    let start = Instant::now();
    let wanted = set.plan(&request)?;
    let placed = set.allocate_in_new(wanted.size, wanted.size, &request)?;
    *creation += start.elapsed();
    Ok((placed.id, Some((wanted.size, wanted.release))))
}
