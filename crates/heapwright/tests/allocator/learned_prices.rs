//! What the device takes for heaps decides how long empty heaps are kept.

use heapwright_core::placement::HeapCosts;
use heapwright_trace::session::Action;

use crate::gpu::*;

fn open_with(video_heap_costs: HeapCosts) -> Instance {
    let discrete = HostProfile::find("discrete").expect("a profile of that name");
    Instance::open(&HostProfile { video_heap_costs, ..*discrete }).expect("a fresh instance")
}

/// Returns after how many operations an empty heap of 64 MiB leaves.
fn kept(gpu: &Instance, policy: EmptyHeapPolicy) -> u32 {
    let allocator = allocator(gpu, of_policy(policy));
    let _first = local(&allocator, MIB);
    drop(local(&allocator, 64 * MIB));
    let held = allocator.reserved();
    let pairs = (1..).find(|_| {
        drop(local(&allocator, 100_000));
        allocator.reserved() < held
    });
    2 * pairs.expect("it leaves")
}

#[test]
fn dear_heaps_are_kept_and_cheap_ones_are_not() {
    let plain = HeapCosts::device_local();
    let operations = [plain, plain.times(10), HeapCosts::dedicated(), HeapCosts::vkd3d_proton()]
        .map(|costs| kept(&open_with(costs), EmptyHeapPolicy::Default));
    // Until it is freed, freeing the large heap is taken to cost as much as creating it.
    assert_eq!(operations, [476, 4_760, 50, 340]);
    // The least memory is held whatever heaps cost.
    let least = [plain, HeapCosts::dedicated()].map(|costs| kept(&open_with(costs), LeastMemory));
    assert_eq!(least, [8; 2]);
}

/// Returns what is held after each step, and the time for heaps.
fn program(allocator: &ResourceAllocator) -> (Vec<ByteSize>, Duration) {
    let mut random = fastrand::Rng::with_seed(7);
    let mut live = Vec::new();
    let held = (0..6_000).map(|_| {
        if random.u32(..10) < 5 || live.is_empty() {
            let bytes = 1 << random.u32(10..27);
            live.push(local(allocator, random.u64(1..bytes)));
        } else {
            live.swap_remove(random.usize(..live.len()));
        }
        if live.len() > 60 {
            live.clear();
        }
        allocator.reserved()
    });
    let held = held.collect();
    drop(live);
    (held, allocator.heap_time())
}

#[test]
fn on_a_simulated_gpu_the_same_calls_have_the_same_result() {
    let [first, second] = [(), ()].map(|()| program(&usual(&open_with(HeapCosts::device_local()))));
    assert_eq!(first, second);
    let dedicated = program(&usual(&open_with(HeapCosts::dedicated())));
    assert_ne!(first.0, dedicated.0, "prices matter");
    let sum = |held: &[ByteSize]| held.iter().map(|bytes| u128::from(bytes.get())).sum::<u128>();
    assert!(sum(&dedicated.0) < sum(&first.0), "cheap heaps are kept for less");
}

#[test]
fn a_replay_that_is_told_the_times_decides_alike() {
    // The allocator records its times; here they are those of another device.
    let recorded = HeapCosts::dedicated();
    let (expected, _) = program(&usual(&open_with(recorded)));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("prices.hws");
    let trace_file = Some(file.clone());
    let record_options = RecordOptions { flags: RecordFlags::ALL, trace_file, ..Default::default() };
    let recording =
        allocator(&open_with(recorded), ResourceAllocatorDesc { record_options, ..Default::default() });
    assert_eq!(program(&recording).0, expected, "a recording changes nothing");
    drop(recording);
    let told = times_of(&file);
    assert!(told.len() > 50, "{}", told.len());
    let replay = usual(&open_with(HeapCosts::device_local()));
    for (is_free, time) in told {
        replay.replay_heap_time(HeapType::Default, is_free, time);
    }
    assert_eq!(program(&replay).0, expected);
}

/// Returns the times that a session records.
fn times_of(file: &std::path::Path) -> Vec<(bool, Duration)> {
    let input = std::fs::File::open(file).expect("written");
    let records = heapwright_trace::RecordReader::new(file, input).expect("a session");
    let times = records.filter_map(|record| match record.expect("sound").action {
        Action::HeapTime { is_free, nanoseconds, .. } => Some((is_free, Duration::from_nanos(nanoseconds))),
        _ => None,
    });
    times.collect()
}
