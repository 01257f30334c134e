//! Replays traces through the placement policy alone, with each of its settings varied.
//!
//! The documentation of `HeapSizing` and `HeapRetention` quotes these figures as the reason for their defaults.

use std::path::PathBuf;

use heapwright_core::placement::{HeapRetention, HeapSet, HeapSizing};
use heapwright_core::{Alignment, ByteSize};
use heapwright_trace::{EventKind, Trace};

/// What the devices that the traces are compared on align buffers to.
const ALIGNMENT: u64 = 256;

/// One setting of the policy.
struct Variant {
    label: &'static str,
    sizing: HeapSizing,
    retention: HeapRetention,
}

/// What one trace made of it.
struct Outcome {
    peak_ratio: f64,
    creations: f64,
}

/// Prints a row for each variant: the geometric mean of the peak ratios, the worst share of creations, and both for each trace.
pub(crate) fn run(paths: &[PathBuf]) -> Result<(), String> {
    let traces: Vec<Trace> =
        paths.iter().map(Trace::read).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let names: Vec<_> = traces.iter().map(Trace::name).collect();
    println!("{:<28} {:>6} {:>6}  {}", "change", "mean", "worst", names.join(", "));
    for variant in variants() {
        let outcomes = traces.iter().map(|trace| replay(trace, &variant)).collect::<Result<Vec<_>, _>>()?;
        let logarithms: f64 = outcomes.iter().map(|outcome| outcome.peak_ratio.ln()).sum();
        let mean = (logarithms / outcomes.len() as f64).exp();
        let worst = outcomes.iter().map(|outcome| outcome.creations).fold(0.0, f64::max);
        let each: Vec<_> = outcomes
            .iter()
            .map(|outcome| format!("{:.3} {:4.1}%", outcome.peak_ratio, outcome.creations * 100.0))
            .collect();
        println!("{:<28} {mean:>6.3} {:>5.1}%  {}", variant.label, worst * 100.0, each.join(" | "));
    }
    Ok(())
}

fn variants() -> Vec<Variant> {
    let (sizing, retention) = (HeapSizing::default(), HeapRetention::default());
    let unlimited = ByteSize::from_gib(1 << 20);
    let size = |label, sizing| Variant { label, sizing, retention };
    let keep = |label, decay_log2| Variant { label, sizing, retention: HeapRetention { decay_log2 } };
    vec![
        size("defaults", sizing),
        size("batch 1", HeapSizing { batch: 1, ..sizing }),
        size("growth_limit 0", HeapSizing { growth_limit: ByteSize::ZERO, ..sizing }),
        size(
            "used_fraction 1/64 unlimited",
            HeapSizing { used_fraction_log2: 6, growth_limit: unlimited, ..sizing },
        ),
        size("subdivisions_log2 2", HeapSizing { subdivisions_log2: 2, ..sizing }),
        size("subdivisions_log2 4", HeapSizing { subdivisions_log2: 4, ..sizing }),
        size("multiples of 64 KiB", HeapSizing { subdivisions_log2: 63, ..sizing }),
        size("small_up_to 0", HeapSizing { small_up_to: ByteSize::ZERO, ..sizing }),
        size("small_up_to 256 KiB", HeapSizing { small_up_to: ByteSize::from_kib(256), ..sizing }),
        size("own_heap_from 64 MiB", HeapSizing { own_heap_from: ByteSize::from_mib(64), ..sizing }),
        size("own_heap_from never", HeapSizing { own_heap_from: unlimited, ..sizing }),
        keep("decay_log2 10", 10),
        keep("decay_log2 14", 14),
        keep("decay_log2 16", 16),
        keep("never sinking", 63),
    ]
}

fn replay(trace: &Trace, variant: &Variant) -> Result<Outcome, String> {
    let mut set: HeapSet<()> = HeapSet::new(variant.sizing, variant.retention);
    let alignment = Alignment::new(ALIGNMENT).ok_or("the alignment is a power of two")?;
    let mut live = vec![None; trace.allocation_count()];
    let (mut peak_reserved, mut created) = (0_u64, 0_u64);
    for event in trace.events() {
        match event.kind {
            EventKind::Alloc => {
                let size = event.size.align_up(alignment).ok_or("a size overflows")?;
                let placed = set.allocate(size, alignment).map_err(|error| error.to_string())?;
                let id = match placed {
                    Some(placed) => placed.id,
                    None => {
                        created += 1;
                        let wanted = set.plan(size).map_err(|error| error.to_string())?;
                        let heap = set.insert(wanted.size, ()).map_err(|error| error.to_string())?;
                        let placed =
                            set.allocate_in(heap, size, alignment).map_err(|error| error.to_string())?;
                        placed.ok_or("a fresh heap has room")?.id
                    }
                };
                live[event.allocation.as_usize()] = Some(id);
            }
            EventKind::Free => {
                let id = live[event.allocation.as_usize()].take().ok_or("a trace frees what is live")?;
                set.free(id).map_err(|error| error.to_string())?;
            }
        }
        peak_reserved = peak_reserved.max(set.totals().reserved.get());
    }
    let allocations = trace.allocation_count();
    Ok(Outcome {
        peak_ratio: peak_reserved as f64 / trace.peak_live().get() as f64,
        creations: created as f64 / allocations as f64,
    })
}
