//! Transformations of workloads: changed sizes, parts, and combinations. Overfitted settings perform worse on these.

use super::workload::{Recorder, Step, Workload};

/// Multiplies all sizes by `numerator / denominator`.
pub(super) fn scaled(workload: &Workload, numerator: u64, denominator: u64) -> Workload {
    let name = format!("{} x {:.2}", workload.name, numerator as f64 / denominator as f64);
    with_sizes(workload, name, |bytes| (bytes * numerator).div_ceil(denominator))
}

/// Changes each distinct size by a different factor of up to 20 %.
pub(super) fn jittered(workload: &Workload, seed: u64) -> Workload {
    with_sizes(workload, format!("{} jittered {seed}", workload.name), |bytes| {
        // 80 to 120 %.
        (bytes * (820 + fastrand::Rng::with_seed(bytes ^ seed << 48).u64(..410))).div_ceil(1024)
    })
}

fn with_sizes(workload: &Workload, name: String, change: impl Fn(u64) -> u64) -> Workload {
    let mut recorder = Recorder::default();
    for &step in &workload.steps {
        replay(&mut recorder, 0, 1, step, &change);
    }
    recorder.finish(name)
}

/// Returns the second half of a workload, without the allocations that are live at its start.
pub(super) fn second_half(workload: &Workload) -> Workload {
    let mut recorder = Recorder::default();
    for &step in &workload.steps[workload.steps.len() / 2..] {
        replay(&mut recorder, 0, 1, step, &|bytes| bytes);
    }
    recorder.finish(format!("{} 2nd half", workload.name))
}

/// Interleaves two workloads in `bursts`. The sizes of the second are scaled to the peak of the first.
pub(super) fn interleaved(first: &Workload, second: &Workload, bursts: usize) -> Workload {
    let mut recorder = Recorder::default();
    let burst = |workload: &Workload| workload.steps.len().div_ceil(bursts).max(1);
    let scale = |bytes: u64| {
        let scaled = u128::from(bytes) * u128::from(first.peak_live) / u128::from(second.peak_live.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    };
    let (mut of_first, mut of_second) =
        (first.steps.chunks(burst(first)), second.steps.chunks(burst(second)));
    for _ in 0..bursts {
        for &step in of_first.next().unwrap_or_default() {
            replay(&mut recorder, 0, 2, step, &|bytes| bytes);
        }
        for &step in of_second.next().unwrap_or_default() {
            replay(&mut recorder, 1, 2, step, &scale);
        }
    }
    recorder.finish(format!("{} + {}", first.name, second.name))
}

/// Interleaves a workload with itself, delayed by a third of its length.
pub(super) fn shifted(workload: &Workload) -> Workload {
    let mut recorder = Recorder::default();
    let behind = workload.steps.len() / 3;
    let burst = 64;
    let starts = (0..workload.steps.len() + behind).step_by(burst);
    let part = |start: usize| {
        let end = (start + burst).min(workload.steps.len());
        workload.steps.get(start..end).unwrap_or_default()
    };
    let behind = behind.next_multiple_of(burst);
    for start in starts {
        for &step in part(start) {
            replay(&mut recorder, 0, 2, step, &|bytes| bytes);
        }
        for &step in start.checked_sub(behind).map(part).unwrap_or_default() {
            replay(&mut recorder, 1, 2, step, &|bytes| bytes);
        }
    }
    recorder.finish(format!("{} twice", workload.name))
}

/// Records a step of workload `which` of `count`.
fn replay(recorder: &mut Recorder, which: usize, count: usize, step: Step, change: &impl Fn(u64) -> u64) {
    let key = |number: u32| number as usize * count + which;
    match step {
        Step::Allocate { number, bytes } => recorder.allocate_as(key(number), change(bytes)),
        Step::Free { number } => recorder.free_as(key(number)),
        Step::Period => recorder.pass_period(),
    }
}
