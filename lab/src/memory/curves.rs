//! The held memory over the time of a trace, beside peers, as CSV for a plot.

use std::fmt::Write as _;

use heapwright_trace::Trace;

use super::allocators::{Failed, MemoryAllocator, replay_observed};
use super::d3d12ma::D3d12Ma;
use super::ours::{Default, Heapwright};
use super::peers::Vma;
use super::prices::Prices;

/// The number of samples of a curve: a plot has about as many pixels.
const SAMPLES: u64 = 400;

/// Returns the live bytes, and what allocators without randomness hold, in lines of `trace,name,seconds,mib`.
///
/// A sample is the maximum since the one before, so that no peak is lost.
///
/// # Errors
///
/// Returns the first error of an allocator.
pub fn curves(trace: &Trace) -> Result<String, Failed> {
    let mut text = String::new();
    let (live, held) = sampled::<Heapwright<Default>>(trace)?;
    let curves = [
        ("live", live),
        ("heapwright", held),
        ("VMA", sampled::<Vma>(trace)?.1),
        ("D3D12MA's rules", sampled::<D3d12Ma<64>>(trace)?.1),
    ];
    for (name, curve) in curves {
        for (time_us, bytes) in curve {
            let (seconds, mib) = (time_us as f64 / 1e6, bytes as f64 / f64::from(1 << 20));
            writeln!(text, "{},{name},{seconds:.3},{mib:.1}", trace.name()).map_err(Failed::new)?;
        }
    }
    Ok(text)
}

/// Times in microseconds, and bytes.
type Curve = Vec<(u64, u64)>;

/// Returns the curves of the live and of the held bytes.
fn sampled<A: MemoryAllocator>(trace: &Trace) -> Result<(Curve, Curve), Failed> {
    let prices = Prices::on_h200();
    let end_us = trace.events().last().map_or(0, |event| event.time_us);
    let (mut live, mut held): (Curve, Curve) = (vec![(0, 0)], vec![(0, 0)]);
    replay_observed(A::new(&prices)?, trace, &[prices], |time_us, meter| {
        let sample = (time_us * SAMPLES / end_us.max(1)) * end_us / SAMPLES;
        let (now_live, now_held) = meter.live_and_held();
        for (curve, bytes) in [(&mut live, now_live), (&mut held, now_held)] {
            match curve.last_mut().filter(|(last, _)| *last == sample) {
                Some((_, most)) => *most = bytes.max(*most),
                None => curve.push((sample, bytes)),
            }
        }
    })?;
    Ok((live, held))
}
