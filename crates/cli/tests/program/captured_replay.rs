//! `replay --profile captured`: every size, offset and heap is that of the recording.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use heapwright::{
    ByteSize, EmptyHeapPolicy, HeapType, ResourceAllocationDesc, ResourceAllocator, ResourceAllocatorDesc,
    ResourceAllocatorFlags, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::RecordReader;
use heapwright_trace::session::{Action, Counter, Description, Heap, Placement, Refusal, SessionWriter};

use crate::recorded_program::{
    Does, Done, Numbers, Program, any_allocation, profile_of, record_program, record_to,
};
use crate::support::{Folder, Outcome, command, heapwright};

/// The simulated GPU of most programs.
const USUAL: &str = "discrete";

/// The ids of one kind of object as numbers in the order of their first appearance.
#[derive(Default)]
struct Ids(HashMap<u64, u64>);

impl Ids {
    fn number(&mut self, id: u64) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(id).or_insert(next)
    }
}

/// Sizes, heaps and offsets in order, which must be identical. The ids count objects, as a replay creates allocators
/// earlier.
fn memory_actions(file: &Path) -> Vec<Action> {
    let mut reader = RecordReader::new(file, File::open(file).unwrap()).unwrap();
    let (mut allocations, mut heaps) = (Ids::default(), Ids::default());
    let (mut pools, mut runs) = (Ids::default(), Ids::default());
    let mut found = Vec::new();
    for record in reader.by_ref() {
        let action = record.unwrap().action;
        found.push(match action {
            Action::Allocate(mut allocation) => {
                allocation.id = allocations.number(allocation.id);
                Action::Allocate(allocation)
            }
            Action::Free { allocation } => Action::Free { allocation: allocations.number(allocation) },
            Action::Describe(description) => {
                let allocation = allocations.number(description.allocation);
                Action::Describe(Box::new(Description { allocation, ..*description }))
            }
            Action::Reason { allocation, reason } => {
                Action::Reason { allocation: allocations.number(allocation), reason }
            }
            Action::UsePool { allocation, pool } => {
                Action::UsePool { allocation: allocations.number(allocation), pool: pools.number(pool) }
            }
            Action::Place { allocation, heap, offset } => {
                Action::Place { allocation: allocations.number(allocation), heap: heaps.number(heap), offset }
            }
            Action::CreateHeap(heap) => Action::CreateHeap(Heap { id: heaps.number(heap.id), ..heap }),
            Action::DestroyHeap { heap } => Action::DestroyHeap { heap: heaps.number(heap) },
            Action::CreatePool { pool, options } => Action::CreatePool { pool: pools.number(pool), options },
            Action::DropPool { pool } => Action::DropPool { pool: pools.number(pool) },
            Action::ReleasePool { pool } => Action::ReleasePool { pool: pools.number(pool) },
            Action::Ask { allocation, request } => {
                Action::Ask { allocation: allocations.number(allocation), request }
            }
            Action::Refuse(refusal) => Action::Refuse(Box::new(Refusal {
                pool: refusal.pool.map(|pool| pools.number(pool)),
                ..*refusal
            })),
            Action::BeginDefragmentation { run, pool } => Action::BeginDefragmentation {
                run: runs.number(run),
                pool: pool.map(|pool| pools.number(pool)),
            },
            Action::StepDefragmentation { run, moves, bytes, time_checks, planned } => {
                Action::StepDefragmentation { run: runs.number(run), moves, bytes, time_checks, planned }
            }
            Action::CompleteMove { run, number, allocation } => Action::CompleteMove {
                run: runs.number(run),
                number,
                allocation: allocations.number(allocation),
            },
            Action::AbandonMove { run, number } => Action::AbandonMove { run: runs.number(run), number },
            Action::EndDefragmentation { run } => Action::EndDefragmentation { run: runs.number(run) },
            // The last allocators and pools are dropped at the end of the program, and not in a replay, which asks what
            // they hold.
            step @ (Action::Frame
            | Action::IdlePeriod
            | Action::ReleaseHeaps { .. }
            | Action::RefusePool { .. }
            | Action::HeapTime { .. }) => step,
            _ => continue,
        });
    }
    assert_eq!(reader.truncated_at(), None);
    found
}

/// Replays a recording as captured while a recording is made, and compares the two up to the last free. Returns the
/// actions.
fn replay_is_identical(file: &Path, profile: &str, name: &str) -> Vec<Action> {
    let again = file.with_extension("again.hws");
    let mut replay = command();
    replay.args(["replay", "--profile", "captured", "--device", &format!("host:{profile}")]).arg(file);
    replay.env("HEAPWRIGHT_RECORD", &again);
    let replayed = Outcome::from_output(replay.output().unwrap());
    let (mut first, mut second) = (memory_actions(file), memory_actions(&again));
    // After the last free, the allocators themselves are dropped.
    let is_free = |action: &Action| matches!(action, Action::Free { .. });
    first.truncate(first.iter().rposition(is_free).unwrap());
    second.truncate(first.len());
    for (index, (first, second)) in first.iter().zip(&second).enumerate() {
        assert_eq!(first, second, "{name}, action {index}");
    }
    assert_eq!(first.len(), second.len(), "{name}");
    replayed.ok();
    first
}

#[test]
fn every_algorithm_policy_pool_nesting_and_prefetch_is_repeated() {
    let folder = Folder::new();
    let (mut pools, mut prefetched, mut drops) = (0, 0, 0);
    for seed in 1..=48 {
        let file = folder.path().join(format!("program-{seed}.hws"));
        prefetched += record_program(&file, seed, 500, Does::Usual).prefetched;
        let actions = replay_is_identical(&file, USUAL, &format!("seed {seed}"));
        let count = |is: fn(&Action) -> bool| actions.iter().filter(|action| is(action)).count();
        pools += count(|action| matches!(action, Action::UsePool { .. }));
        drops += count(|action| matches!(action, Action::DropPool { .. }));
    }
    // Otherwise the programs do not use them.
    assert!(pools > 2000 && prefetched > 50 && drops > 80, "{pools} {prefetched} {drops}");
}

#[test]
fn defragmentations_frames_memory_failures_and_imports_are_repeated() {
    let folder = Folder::new();
    let mut sums = [0; 8];
    // More of them by hand.
    let programs = std::env::var("HEAPWRIGHT_PROGRAMS").map_or(40, |count| count.parse().unwrap());
    for seed in 1..=programs {
        let file = folder.path().join(format!("program-{seed}.hws"));
        let done = record_program(&file, seed, 600, Does::Everything);
        replay_is_identical(&file, profile_of(seed, Does::Everything), &format!("seed {seed}"));
        let Done {
            completed, abandoned, frames, failed, failed_pools, imported, memory, moved_memory, ..
        } = done;
        let counts = [completed, abandoned, frames, failed, failed_pools, imported, memory, moved_memory];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    // Otherwise the programs do not do it.
    let least = [10, 25, 200, 200, 5, 200, 300, 5];
    assert!(sums.iter().zip(least).all(|(&sum, least)| sum >= least), "{sums:?}");
}

/// Periods of the clock end between any two calls, if the program stops for a while.
#[test]
fn pauses_are_repeated() {
    let folder = Folder::new();
    let file = folder.path().join("pauses.hws");
    let mut program = Program::new(&file, 320, Does::Usual);
    for step in 0..400 {
        if step % 80 == 79 {
            std::thread::sleep(Duration::from_millis(450));
        }
        program.step(step);
    }
    drop(program);
    let actions = replay_is_identical(&file, USUAL, "pauses");
    assert!(actions.iter().any(|action| matches!(action, Action::IdlePeriod)));
}

/// Each allocator has periods of its own: a nested one that was created between two periods of its parent does not
/// count the parent's.
#[test]
fn idle_periods_are_repeated() {
    let folder = Folder::new();
    let file = folder.path().join("idle.hws");
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let desc = || ResourceAllocatorDesc { record_options: record_to(&file), ..Default::default() };
    let parent = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc()).unwrap();
    parent.on_time(Duration::from_secs(1));
    let nested = parent.create_nested(desc()).unwrap();
    let mut numbers = Numbers(1);
    for step in 0..40_u64 {
        let mut live: Vec<_> = (0..20).map(|_| any_allocation(&parent, &mut numbers)).collect();
        live.extend((0..20).map(|_| any_allocation(&nested, &mut numbers)));
        drop(live);
        parent.on_time(Duration::from_millis(1_000 + 200 * step));
    }
    drop((nested, parent));
    let actions = replay_is_identical(&file, USUAL, "idle periods");
    let periods = actions.iter().filter(|action| matches!(action, Action::IdlePeriod)).count();
    assert!(periods > 30, "{periods}");
}

/// An allocator that needs memory has another one of the process release its empty heaps. The replay has both.
#[test]
fn what_allocators_release_for_one_another_is_repeated() {
    let folder = Folder::new();
    let file = folder.path().join("others.hws");
    let profile = "discrete-2gib";
    let gpu = Instance::open(HostProfile::find(profile).unwrap()).unwrap();
    let new = || {
        let desc = ResourceAllocatorDesc {
            record_options: record_to(&file),
            flags: ResourceAllocatorFlags::ALWAYS_IN_BUDGET,
            empty_heap_policy: EmptyHeapPolicy::FewestHitches,
            ..Default::default()
        };
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).unwrap()
    };
    let allocators = [new(), new(), new()];
    for round in 0..6_usize {
        let desc = ResourceAllocationDesc::new(HeapType::Default);
        let size = buffer_desc(ByteSize::from_mib(90 + round as u64));
        let allocator = &allocators[round % 3];
        let live = (0..15).map(|_| allocator.create(&desc, size).unwrap()).collect::<Vec<_>>();
        let held = allocators.each_ref().map(|it| it.reserved().get());
        assert!(held.iter().sum::<u64>() <= 2 << 30, "{held:?}");
        drop(live);
    }
    drop(allocators);
    let actions = replay_is_identical(&file, profile, "others");
    let destroyed = actions.iter().filter(|action| matches!(action, Action::DestroyHeap { .. })).count();
    assert!(destroyed > 30, "{destroyed}: each released heaps of others");
}

/// Allocators are created when they are first used, those in which they are nested before them.
#[test]
fn an_allocator_is_nested_in_one_that_does_nothing() {
    let folder = Folder::new();
    let file = folder.path().join("nested.hws");
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let desc = || ResourceAllocatorDesc { record_options: record_to(&file), ..Default::default() };
    let outermost = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc()).unwrap();
    let middle = outermost.create_nested(desc()).unwrap();
    let innermost = middle.create_nested(desc()).unwrap();
    drop(any_allocation(&innermost, &mut Numbers(1)));
    drop((innermost, middle, outermost));
    replay_is_identical(&file, USUAL, "nested");
    let replayed = file.with_extension("again.hws");
    let records = RecordReader::new(&replayed, File::open(&replayed).unwrap()).unwrap();
    let actions = records.map(|record| record.unwrap().action);
    assert_eq!(actions.filter(|action| matches!(action, Action::NestAllocator { .. })).count(), 2);
}

/// Changes the first record for which a function returns another action, and returns the error of the replay.
fn replay_changed(file: &Path, change: impl Fn(&Action) -> Option<Action>) -> String {
    let reader = RecordReader::new(file, File::open(file).unwrap()).unwrap();
    let mut records = reader.collect::<Result<Vec<_>, _>>().unwrap();
    let found = records.iter_mut().find_map(|record| Some((change(&record.action)?, record)));
    let (changed, record) = found.expect("there is such a record");
    record.action = changed;
    let other = file.with_extension("changed.hws");
    let mut writer = SessionWriter::new(File::create(&other).unwrap()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    let replayed = heapwright(["replay", "--profile", "captured", other.to_str().unwrap()]);
    assert_eq!(replayed.code, 1, "{}", replayed.stderr);
    // Warnings of the library may come before it; other errors are its consequences.
    let first = replayed.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    first.replace(&format!("error: {}", other.to_str().unwrap()), "FILE")
}

/// The replay compares each value that it must repeat, and reports the first that differs.
#[test]
fn a_replay_that_differs_says_so() {
    let folder = Folder::new();
    let file = folder.path().join("program.hws");
    let has_all = |seed| {
        let _ = std::fs::remove_file(&file);
        let done = record_program(&file, seed, 600, Does::Everything);
        profile_of(seed, Does::Everything) == USUAL && done.completed > 0 && done.failed_pools > 0
    };
    assert!((1..100).any(has_all), "no program does everything");
    let memory = |description: &Description| description.dimension == 1 && description.width < 100_000;
    let differs = |how: &str, change: &dyn Fn(&Action) -> Option<Action>| {
        let error = replay_changed(&file, change);
        assert!(
            error.starts_with("FILE: event ") && error.contains(": the replay differs from the recording: "),
            "{error}"
        );
        assert!(
            error.contains(how) && error.ends_with("refusals of the device (docs/formats.md)"),
            "{error}"
        );
    };
    differs("an offset is 0, in the recording 65536", &|action| match *action {
        Action::Place { allocation, heap, offset: 0 } => {
            Some(Action::Place { allocation, heap, offset: 65536 })
        }
        _ => None,
    });
    differs("in the recording 12345", &|action| match action {
        Action::CreateHeap(heap) => Some(Action::CreateHeap(Heap { size: 12345, ..heap.clone() })),
        _ => None,
    });
    differs("a resource is in a shared heap, in the recording committed", &|action| match action {
        Action::Describe(it) if it.placement == Some(Placement::SharedHeap) && memory(it) => {
            let placement = Some(Placement::Committed);
            Some(Action::Describe(Box::new(Description { placement, ..(**it).clone() })))
        }
        _ => None,
    });
    differs("an allocator holds ", &|action| match *action {
        Action::Count { counter: Counter::Reserved, value } => {
            Some(Action::Count { counter: Counter::Reserved, value: value + 1 })
        }
        _ => None,
    });
    differs("a step of a defragmentation planned ", &|action| match *action {
        Action::StepDefragmentation { run, moves, bytes, time_checks, planned } => {
            Some(Action::StepDefragmentation { run, moves, bytes, time_checks, planned: planned + 1 })
        }
        _ => None,
    });
    differs("a request found memory that found none in the recording", &|action| match action {
        Action::Refuse(refusal) if refusal.is_out_of_memory && refusal.request.memory.is_none() => {
            let description = Description { width: 1, allocation_flags: 0, ..refusal.description.clone() };
            Some(Action::Refuse(Box::new(Refusal { description, ..(**refusal).clone() })))
        }
        _ => None,
    });
    differs("a pool could be created", &|action| match action {
        Action::RefusePool { .. } => Some(Action::RefusePool { options: Vec::new() }),
        _ => None,
    });
    // Another device has other heaps, and none of the CUSTOM ones.
    let path = file.to_str().unwrap();
    let on_other = heapwright(["replay", "--profile", "captured", "--device", "host:uma", path]);
    assert!(on_other.one_error(1).contains("L1 is not available on UMA GPUs"), "{}", on_other.stderr);
    // Other settings are no replay of the recording.
    let other = ["replay", "--profile", "captured", "--set", "suballocation_algorithm=dedicated", path];
    assert!(!heapwright(other).stderr.contains("differs"));
}

/// Only a session of heapwright with objects and calls has what is compared.
#[test]
fn a_replay_that_is_not_compared_says_so() {
    let folder = Folder::new();
    let file = folder.path().join("program.hws");
    record_program(&file, 1, 60, Does::Usual);
    let capture = folder.path().join("program.json");
    let [path, capture] = [&file, &capture].map(|path| path.to_str().unwrap());
    heapwright(["convert", path, capture]).ok();
    let not_compared = "not compared with the recording, which is no session of heapwright with all calls";
    let last_line = |args: &[&str]| heapwright(args).ok().lines().last().unwrap().to_owned();
    assert_eq!(
        last_line(&["replay", "--profile", "captured", capture]),
        format!("{capture}: {not_compared}")
    );
    assert!(!last_line(&["replay", "--profile", "captured", path]).contains(not_compared));
    assert!(!last_line(&["replay", capture]).contains(not_compared));
}
