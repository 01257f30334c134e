//! Tests policies against the lower bound, in generated workloads and in some with a closed form.
#![allow(clippy::cast_precision_loss, reason = "ratios of figures that are small")]

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::SegmentGroup;
use heapwright_core::residency::policy::PolicyKind;
use heapwright_simulation::{
    EVICT_AHEAD, Frame, GeneratedTrace, Outcome, TraceShape, WorkHeap, Workload, from_records, offline_bound,
    simulate,
};
use heapwright_trace::RecordReader;

fn run(workload: &Workload, policy: PolicyKind, evict_ahead: ByteSize) -> Outcome {
    // A usage that the device does not confirm, or that exceeds the budget without need, is an error.
    simulate(workload, &|| policy.create(), evict_ahead, &mut |_| {})
        .expect("the planner and the device agree")
}

/// The workload of each shape with a seed, with a budget in percent of its peak.
fn workloads(seed: u32, percent: u32) -> impl Iterator<Item = Workload> {
    TraceShape::ALL.iter().map(move |&shape| {
        let trace = GeneratedTrace { shape, seed }.generate();
        let mut csv = Vec::new();
        trace.write(&mut csv).unwrap();
        let records = RecordReader::new(trace.name(), &csv[..]).unwrap();
        let mut workload = from_records(records).unwrap();
        workload.set_local_budget(percent);
        workload
    })
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// In generated workloads that the policy is not tuned by, the default pages in less than LRU, and in none 1.6
/// times as much.
#[test]
fn the_default_pages_in_less_than_lru() {
    let mut ratios = Vec::new();
    let budgets = [60, 90].into_iter();
    for (percent, workload) in
        budgets.flat_map(|percent| workloads(1000, percent).map(move |one| (percent, one)))
    {
        let [default, lru] = [PolicyKind::default(), PolicyKind::Lru]
            .map(|kind| run(&workload, kind, ByteSize::ZERO).bytes_in.get() as f64);
        // Where little is paged in, a few heaps make a large ratio.
        let little = f64::from(64 << 20);
        let ratio = (default + little) / (lru + little);
        assert!(ratio < 1.6, "{} at {percent} %: {ratio} of LRU", workload.name);
        ratios.push(ratio);
    }
    let mean = geometric_mean(&ratios);
    assert!(mean < 0.95, "{mean}");
}

#[test]
fn what_goes_ahead_of_need_is_hardly_missed() {
    let mut ahead = ByteSize::ZERO;
    let mut ratios = Vec::new();
    for workload in workloads(3, 60) {
        let with = run(&workload, PolicyKind::NextUse, EVICT_AHEAD);
        let without = run(&workload, PolicyKind::NextUse, ByteSize::ZERO);
        let more = with.bytes_in.get() as f64 / without.bytes_in.get() as f64;
        // More frequent calls move heaps between the policy's chains sooner, which alone makes some percent
        // either way.
        assert!(more < 1.1, "{}: {more}", workload.name);
        ratios.push(more);
        ahead = ahead.saturating_add(with.bytes_ahead);
    }
    let more = geometric_mean(&ratios);
    assert!(more < 1.01, "{more}");
    assert!(!ahead.is_zero(), "nothing went ahead anywhere");
}

const GPU: Duration = Duration::from_millis(2);

/// Ten heaps of 1 MiB that are used in turn, and one that is always used, in 101 frames with these budgets in MiB.
fn turns(group: SegmentGroup, frames_in_flight: usize, budget: impl Fn(usize) -> [u64; 2]) -> Workload {
    let mut workload = Workload::new("turns", frames_in_flight, 1);
    let mut heap =
        |group, is_resident| workload.add_heap(WorkHeap { size: ByteSize::from_mib(1), group, is_resident });
    let always = heap(SegmentGroup::Local, true);
    let turns: Vec<_> = (0..10).map(|_| heap(group, false)).collect();
    for frame in 0..101 {
        workload.submit(0, GPU, [always, turns[frame % 10]]);
        workload.frames.push(Frame {
            budget: budget(frame).map(ByteSize::from_mib),
            born: match frame {
                0 => turns.iter().copied().chain([always]).collect(),
                _ => Vec::new(),
            },
            submissions: frame..frame + 1,
            died: Vec::new(),
        });
    }
    workload
}

#[test]
fn lru_pages_all_of_a_cycle_in_and_the_bound_is_the_closed_form() {
    let workload = turns(SegmentGroup::Local, 1, |_| [6, 0]);
    let outcome = run(&workload, PolicyKind::Lru, ByteSize::ZERO);
    let bound = offline_bound(&workload);
    let mib = |bytes: ByteSize| bytes.get() as f64 / f64::from(1 << 20);
    // Each use is a miss. The bound: five of ten fit, ten cold, then (10 - 5) / (10 - 1) of the other 91, to the byte.
    assert_eq!(mib(outcome.bytes_in), 101.0);
    assert!((mib(bound) - (10.0 + 91.0 * 5.0 / 9.0)).abs() <= 1.0, "{bound:?}");
    // Five fit before the first has to go, and five are there at the end.
    assert_eq!(mib(outcome.bytes_out), 96.0);
    // One heap out and one in, then the GPU, one after the other, as the CPU is never ahead.
    let moved = Duration::from_secs_f64(2.0 * (f64::from(1 << 20) / 24e9 + 20e-6));
    let last = outcome.frame_times[100];
    assert!(last.abs_diff(moved + GPU) < Duration::from_micros(1), "{last:?}");
    assert_eq!((outcome.stalls, outcome.over_budget_frames), (0, 0));
}

#[test]
fn budgets_are_kept_unless_a_submission_exceeds_them() {
    let (local, far) = (SegmentGroup::Local, SegmentGroup::NonLocal);
    // Group, budget in frames before 50 and from 50 on, and the expected stalls and frames over budget of LRU.
    for (group, before, after, stalls, over) in [
        // Room for one in turn: before each but the first the one before must be done.
        (local, [2, 0], [2, 0], 100, 0),
        // A submission that is larger than the budget is done.
        (local, [1, 0], [1, 0], 100, 101),
        // Room for two in turn from frame 50 on, which the GPU may both use.
        (local, [6, 0], [3, 0], 51, 0),
        (far, [1, 5], [1, 5], 0, 0),
    ] {
        let workload = turns(group, 3, |frame| if frame < 50 { before } else { after });
        let lru = run(&workload, PolicyKind::Lru, ByteSize::ZERO);
        assert_eq!((lru.stalls, lru.over_budget_frames), (stalls, over), "{before:?} to {after:?}");
        assert_eq!(lru.stall_time > Duration::from_millis(stalls), stalls > 0);
        assert_eq!(lru.bytes_in, ByteSize::from_mib(101));
        for &policy in PolicyKind::all() {
            let outcome = run(&workload, policy, ByteSize::ZERO);
            assert_eq!(outcome.over_budget_frames, over, "{policy}");
            assert!(outcome.bytes_in >= offline_bound(&workload), "{policy}");
        }
    }
}

/// A queue that uses ten heaps of 1 MiB in turn, with room for one of them, and a slower queue.
#[test]
fn an_eviction_waits_for_the_queues_that_use_the_heap() {
    const SLOW: Duration = Duration::from_millis(5);
    let moved = Duration::from_secs_f64(2.0 * (f64::from(1 << 20) / 24e9 + 20e-6));
    // Whether the slow submissions use the heap, too, their queue, and the expected stalls and time of a frame.
    for (shares, queue, stalls, expected) in [
        // Heaps are moved while the slow queue works, for which only the limit of three frames waits. Before it does,
        // in the first frames, the CPU waits for the one before.
        (false, 1, 3, SLOW),
        // It waits for the other queue, then for the slow one, which has nothing to do while heaps are moved.
        (true, 1, 200, SLOW + moved),
        // In one queue, one submission follows the other. The slow one of the frame before the last one, which does not
        // use the heap, is not waited for by itself.
        (false, 0, 100, GPU + SLOW),
    ] {
        let mut workload = Workload::new("queues", 3, 2);
        let mut heap = |is_resident| {
            let (size, group) = (ByteSize::from_mib(1), SegmentGroup::Local);
            workload.add_heap(WorkHeap { size, group, is_resident })
        };
        let always = heap(true);
        let turns: Vec<_> = (0..10).map(|_| heap(false)).collect();
        for frame in 0..101 {
            let turn = turns[frame % 10];
            workload.submit(0, GPU, [always, turn]);
            workload.submit(queue, SLOW, [always].into_iter().chain(shares.then_some(turn)));
            workload.frames.push(Frame {
                budget: [ByteSize::from_mib(2), ByteSize::ZERO],
                born: if frame == 0 { turns.iter().copied().chain([always]).collect() } else { Vec::new() },
                submissions: 2 * frame..2 * frame + 2,
                died: Vec::new(),
            });
        }
        for &policy in PolicyKind::all() {
            let outcome = run(&workload, policy, ByteSize::ZERO);
            let found = (outcome.stalls, outcome.over_budget_frames, outcome.bytes_in);
            assert_eq!(found, (stalls, 0, ByteSize::from_mib(101)), "{policy}, queue {queue}, {shares}");
            let last = outcome.frame_times[100];
            assert!(last.abs_diff(expected) < Duration::from_micros(1), "{policy}, queue {queue}: {last:?}");
        }
    }
}

/// The queue of `an_eviction_waits_for_the_queues_that_use_the_heap`, with three frames in flight, and long work of
/// another queue in every tenth frame, which uses nothing that the first one could wait for.
#[test]
fn an_eviction_does_not_wait_for_independent_work() {
    const LONG: Duration = Duration::from_millis(100);
    // One heap out and one in, before the work that uses it.
    let moved = Duration::from_secs_f64(2.0 * (f64::from(1 << 20) / 24e9 + 20e-6));
    let local =
        |size| WorkHeap { size: ByteSize::from_mib(size), group: SegmentGroup::Local, is_resident: true };
    // The heap of the long work, and the budget.
    for (heap, budget) in [
        (None, [2, 0]),
        (Some(WorkHeap { group: SegmentGroup::NonLocal, ..local(1) }), [2, 1]),
        // It could be evicted once the work is done, but a heap of the first queue can be before.
        (Some(local(1)), [3, 0]),
    ] {
        let mut workload = Workload::new("independent", 3, 2);
        let always = workload.add_heap(local(1));
        let other = heap.map(|heap| workload.add_heap(heap));
        let turns: Vec<_> =
            (0..10).map(|_| workload.add_heap(WorkHeap { is_resident: false, ..local(1) })).collect();
        let mut submissions = 0;
        for frame in 0..101 {
            let before = submissions;
            if frame % 10 == 5 {
                workload.submit(1, LONG, other);
                submissions += 1;
            }
            workload.submit(0, GPU, [always, turns[frame % 10]]);
            submissions += 1;
            workload.frames.push(Frame {
                budget: budget.map(ByteSize::from_mib),
                born: if frame == 0 {
                    turns.iter().copied().chain(other).chain([always]).collect()
                } else {
                    Vec::new()
                },
                submissions: before..submissions,
                died: Vec::new(),
            });
        }
        for &policy in PolicyKind::all() {
            let outcome = run(&workload, policy, ByteSize::ZERO);
            let longest = outcome.longest_stall;
            assert!(longest < GPU + moved + Duration::from_micros(1), "{policy}, {heap:?}: {longest:?}");
            assert_eq!(outcome.over_budget_frames, 0, "{policy}, {heap:?}");
        }
    }
}
