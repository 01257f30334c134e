//! Which events a Chrome trace has: each call of the API, by each of the flags.

use std::collections::HashMap;
use std::path::Path;

use heapwright_transient::{QueueKind, TransientFrame, TransientHeaps, Use};
use serde_json::Value;

use crate::gpu::*;

fn record_options(file: &Path, flags: RecordFlags) -> RecordOptions {
    RecordOptions { flags, trace_file: Some(file.to_owned()), ..Default::default() }
}

/// The calls that [`use_everything`] makes, and how many of each have an instant, and how many a duration.
///
/// Missing are the methods that only return what an object holds: `GetInfo`, `GetResource`, `GetGPUVirtualAddress`,
/// `GetOffsetFromResource`, `GetMemory`, `GetResourceAllocator`, `GetResidencyManager`, `GetDebugName` and their like.
const CALLS: [(&str, usize, usize); 34] = [
    ("ResidencyManager.CreateResidencyManager", 1, 1),
    ("ResidencyManager.ExecuteCommandLists", 2, 2),
    ("ResidencyManager.SetVideoMemoryReservation", 1, 1),
    ("ResidencyManager.QueryVideoMemoryInfo", 1, 1),
    ("ResidencyManager.SetResidencyStatus", 1, 1),
    ("ResidencyManager.QueryStats", 1, 1),
    ("ResidencyManager.SetDebugName", 1, 1),
    ("ResidencyManager.Trim", 1, 1),
    ("ResidencyManager.EvictAtLeast", 1, 1),
    ("ResidencyList.CreateResidencyList", 1, 1),
    ("ResidencyList.Add", 2, 2),
    ("ResidencyList.Reset", 1, 1),
    ("ResidencyHeap.Lock", 1, 1),
    ("ResidencyHeap.Unlock", 1, 1),
    ("ResidencyHeap.SetDebugName", 1, 1),
    ("ResidencyHeap.SetResidencyPriority", 1, 1),
    ("ResourceAllocator.CreateResourceAllocator", 3, 3),
    ("ResourceAllocator.CreateResource", 6, 6),
    ("ResourceAllocator.Probe", 1, 1),
    ("ResourceAllocator.CreatePool", 1, 1),
    ("Pool.ReleaseEmptyHeaps", 1, 1),
    ("Pool.Release", 1, 0),
    ("ResourceAllocator.FreeAfter", 1, 1),
    ("ResourceAllocator.Collect", 1, 1),
    ("ResourceAllocator.Frame", 1, 1),
    ("ResourceAllocator.ReleaseResourceHeaps", 1, 1),
    ("ResourceAllocator.QueryStats", 1, 1),
    ("ResourceAllocator.GetReport", 1, 1),
    ("ResourceAllocator.CheckFeatureSupport", 1, 1),
    ("ResourceAllocator.SetDebugName", 1, 1),
    ("ResourceAllocator.Release", 3, 0),
    ("ResourceAllocation.Map", 1, 1),
    ("ResourceAllocation.Unmap", 1, 1),
    ("ResourceAllocation.SetDebugName", 1, 1),
];

/// Makes each call of the API. An allocator without options of its own belongs to the recording of the process, and so
/// does one that is nested in it.
fn use_everything(gpu: &impl Opened, options: RecordOptions) {
    let desc = ResidencyManagerDesc { record_options: options.clone(), ..Default::default() };
    let manager = ResidencyManager::new(gpu.device(), gpu.adapter(), desc).expect("a manager");
    let desc = ResourceAllocatorDesc { record_options: options, ..Default::default() };
    let managed = ResourceAllocator::with_residency(gpu.device(), gpu.adapter(), desc, &manager);
    let managed = managed.expect("an allocator");
    let plain = usual(gpu);
    let nested = plain.create_nested(Default::default()).expect("an allocator");

    let upload = place(HeapType::Upload, NONE);
    let mut mapped = buffer(&managed, &upload, 1000);
    drop(mapped.map().expect("mapped"));
    mapped.set_debug_name("a name").expect("named");
    let committed = buffer(&plain, &place(HeapType::Default, COMMITTED), 1000);
    // SAFETY: nothing maps the resource.
    drop(unsafe { plain.import(&Default::default(), committed.resource()) }.expect("imported"));
    let none = D3D12_RESOURCE_DESC { Width: 0, ..buffer_of(1) };
    plain.create_resource(&Default::default(), &none, COMMON, None).expect_err("no size");
    drop(local(&nested, 1000));
    plain.probe(&Default::default(), buffer_of(1000)).expect("there is room");
    let pool = new_pool(&plain, PoolDesc::default());
    pool.release_empty_heaps();
    drop(pool);
    let fence = fence_of(gpu.device());
    plain.free_after(local(&plain, 1000), &fence, FenceValue::ZERO).expect("its own");
    assert_eq!(plain.collect(), 1);
    plain.end_frame();
    plain.release_empty_heaps();
    let _ = (plain.stats(), plain.report(), plain.resource_allocation_support());
    plain.record_counters();
    plain.set_debug_name("an allocator");

    let heap = mapped.memory().expect("it is managed");
    heap.lock().and_then(|()| heap.unlock()).expect("locked");
    heap.set_debug_name("a heap");
    heap.set_residency_priority(D3D12_RESIDENCY_PRIORITY_HIGH).expect("a priority");
    let list = ResidencyList::new();
    list.add(heap).expect("added");
    submit(gpu, &manager, &list);
    manager.prefetch(&list).expect("resident");
    list.reset().expect("closed");
    list.open().expect("closed").add(heap).expect("added");
    manager.set_residency_status(heap, ResidencyHeapStatus::Resident).expect("its own");
    let _ = (manager.query_video_memory_info(LOCAL), manager.stats());
    manager.set_video_memory_reservation(LOCAL, ByteSize::ZERO).expect("reserved");
    manager.record_counters();
    manager.trim();
    manager.evict_at_least(LOCAL, ByteSize::ZERO);
    manager.set_debug_name("a manager");
    // Heaps of the program itself, of which one has no manager.
    let heaps = [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_READBACK].map(|heap_type| {
        raw_heap(gpu.device(), heap_type, MIB, D3D12_HEAP_FLAG_NONE).expect("there is room").into()
    });
    let own = manager.manage(&ResidencyHeapDesc::default(), &heaps[0]).expect("managed");
    let unmanaged = ResidencyHeap::unmanaged(&ResidencyHeapDesc::default(), &heaps[1]).expect("known");
    drop((own, unmanaged, list, mapped, committed, nested, plain, managed, manager));
}

/// Numbers of events, by name and phase.
type Counts = HashMap<(String, String), usize>;

fn count(counts: &Counts, name: &str, phase: &str) -> usize {
    counts.get(&(name.to_owned(), phase.to_owned())).copied().unwrap_or_default()
}

fn counts(file: &Path) -> Counts {
    let root: Value = serde_json::from_slice(&std::fs::read(file).expect("written")).expect("JSON");
    let mut counts = HashMap::new();
    for event in root["traceEvents"].as_array().expect("events") {
        let text = |key: &str| event[key].as_str().expect("text").to_owned();
        *counts.entry((text("name"), text("ph"))).or_default() += 1;
    }
    counts
}

/// The calls of [`move_and_plan`], as in [`CALLS`].
const OTHER_CALLS: [(&str, usize, usize); 16] = [
    ("ResidencyManager.CreateResidencyManager", 1, 1),
    ("ResidencyManager.SetBudget", 1, 1),
    ("ResourceAllocator.CreateResourceAllocator", 1, 1),
    ("ResourceAllocator.CreatePool", 2, 2),
    ("ResourceAllocator.CreateResource", 10, 10),
    ("MemoryAllocation.CreateResource", 1, 1),
    ("ResourceAllocator.Defragment", 2, 2),
    ("Defragmentation.Step", 2, 2),
    ("Defragmentation.CreateResource", 2, 2),
    ("Defragmentation.CompleteMove", 2, 2),
    ("Pool.Release", 2, 0),
    ("ResourceAllocator.Release", 1, 0),
    ("Defragmentation.Release", 2, 0),
    ("MemoryAllocation.CreateAliasingResource", 1, 1),
    ("TransientHeaps.Prepare", 1, 1),
    ("TransientHeaps.Release", 1, 1),
];

/// Moves a buffer and memory, prepares a frame, and makes other calls that [`use_everything`] does not make.
fn move_and_plan(gpu: &impl Opened, options: RecordOptions) {
    let desc = ResidencyManagerDesc { record_options: options.clone(), ..Default::default() };
    let manager = ResidencyManager::new(gpu.device(), gpu.adapter(), desc).expect("a manager");
    manager.set_budget(LOCAL, ResidencyBudget::Bytes(mib(64))).expect("a budget");
    let allocator = allocator(gpu, ResourceAllocatorDesc { record_options: options, ..Default::default() });
    buffer(&allocator, &place(HeapType::Upload, NONE), 1000).record_bytes(0, b"bytes").expect("recorded");

    // Two heaps, each half full.
    let (size, alignment) = (kib(256), Alignment::new(64 << 10).expect("a power of two"));
    let pool = || new_pool(&allocator, pool_of(kib(512)));
    let budget = without_time_limit();
    let resources = pool();
    let mut buffers: Vec<_> = (0..4).map(|_| buffer(&allocator, &in_pool(&resources), size.get())).collect();
    drop((buffers.swap_remove(1), buffers.swap_remove(2)));
    let mut run = allocator.defragment(DefragmentationDesc { pool: Some(&resources) }).expect("Default");
    let mut planned = run.step(budget).moves.pop().expect("a move");
    let moved = buffers.iter_mut().find(|it| it.id() == planned.allocation()).expect("it is live");
    planned.create_resource(moved, InitialState::default(), None, &[]).expect("there is room");
    planned.complete(moved).expect("it is the one to move");

    let bare = pool();
    let mut memory: Vec<_> = (0..4)
        .map(|_| allocator.allocate_memory(&in_pool(&bare), ResourceKind::Buffers, size, alignment))
        .map(|made| made.expect("there is room"))
        .collect();
    drop((memory.swap_remove(1), memory.swap_remove(2)));
    drop(memory[0].create_resource(HeapOffset::ZERO, buffer_desc(size)).expect("it fits"));
    let mut run = allocator.defragment(DefragmentationDesc { pool: Some(&bare) }).expect("Default");
    let planned = run.step(budget).moves.pop().expect("a move");
    drop(planned.place(HeapOffset::ZERO, buffer_desc(size)).expect("it fits"));
    let moved = memory.iter_mut().find(|it| it.id() == planned.allocation()).expect("it is live");
    planned.complete_memory(moved).expect("it is the one to move");

    let mut frame = TransientFrame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let pass = frame.add_pass(queue).expect("a queue of it");
    let used = frame.add_resource(&buffer_desc(size), None);
    frame.add_use(pass, used, Use::CopyAll, D3D12_RESOURCE_STATE_COPY_DEST).expect("a pass of it");
    let mut heaps = TransientHeaps::new(&allocator);
    drop(heaps.prepare(&frame).expect("there is room"));
    heaps.release();
}

#[test]
fn each_call_is_recorded_by_its_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    for flags in [
        RecordFlags::API_OBJECTS,
        RecordFlags::API_CALLS,
        RecordFlags::API_TIMINGS,
        RecordFlags::COUNTERS,
        RecordFlags::CAPTURE,
        RecordFlags::ALL,
    ] {
        let file = folder.path().join(format!("{}.json", flags.bits()));
        use_everything(&open("discrete"), record_options(&file, flags));
        let counts = check_calls(&file, flags, &CALLS);
        let count = |name, phase| count(&counts, name, phase);
        let has = |flag| flags.contains(flag);
        let (objects, calls, timings) =
            (has(RecordFlags::API_OBJECTS), has(RecordFlags::API_CALLS), has(RecordFlags::API_TIMINGS));
        // The creation of a heap is a call, and how GPGMM's replay creates the object: those of the allocators, of a
        // committed resource, and of the program.
        let heaps = if objects || calls { 5 } else { 0 };
        assert_eq!(count("Heap.CreateResidencyHeap", "i"), heaps, "{flags:?}");
        assert_eq!(count("Heap.CreateResidencyHeap", "X"), if timings { 3 } else { 0 }, "{flags:?}");
        for (name, number) in [
            ("IResidencyManager", 1),
            ("IResourceAllocator", 3),
            ("IResourceAllocation", 5),
            ("IResidencyHeap", 5),
            ("ResidencyList", 1),
        ] {
            let expected = if objects { [number; 2] } else { [0; 2] };
            assert_eq!([count(name, "N"), count(name, "D")], expected, "{name} with {flags:?}");
        }
        assert_eq!(count("Heaps", "C") > 0, has(RecordFlags::COUNTERS), "{flags:?}");
        let file = folder.path().join(format!("others-{}.json", flags.bits()));
        move_and_plan(&open("discrete"), record_options(&file, flags));
        let counts = check_calls(&file, flags, &OTHER_CALLS);
        let contents = self::count(&counts, "ResourceAllocation.RecordContents", "i");
        assert_eq!(contents, usize::from(has(RecordFlags::CAPTURE)), "{flags:?}");
    }
}

/// Checks that a trace with some flags has the calls of a table and no others, and returns the numbers of its events.
fn check_calls(file: &Path, flags: RecordFlags, table: &[(&str, usize, usize)]) -> Counts {
    let counts = counts(file);
    let (calls, timings) = (flags.contains(RecordFlags::API_CALLS), flags.contains(RecordFlags::API_TIMINGS));
    for &(name, instants, durations) in table {
        let expected = (if calls { instants } else { 0 }, if timings { durations } else { 0 });
        assert_eq!((count(&counts, name, "i"), count(&counts, name, "X")), expected, "{name} with {flags:?}");
    }
    for (name, phase) in counts.keys().filter(|(_, phase)| matches!(&**phase, "i" | "X")) {
        let others = [
            "Heap.CreateResidencyHeap",
            "ResidencyManager.Evict",
            "ResidencyManager.MakeResident",
            "ResourceAllocation.RecordContents",
        ];
        let is_known = table.iter().any(|(known, ..)| known == name) || others.contains(&&**name);
        assert!(is_known, "{name} ({phase}) is not in the table");
    }
    counts
}

/// Only instances that are created while one that names the file lives, and on its device, belong to the recording of
/// the process.
#[test]
fn a_recording_of_the_process_has_the_instances_of_its_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let (gpu, other) = (open("discrete"), open("discrete"));
    let recorded = |name: &str, scope, of: &dyn Fn(&Path)| {
        let file = folder.path().join(name);
        let options = RecordOptions { scope, ..record_options(&file, RecordFlags::API_OBJECTS) };
        let before = usual(&gpu);
        let named = allocator(&gpu, ResourceAllocatorDesc { record_options: options, ..Default::default() });
        of(&file);
        drop(named);
        drop((usual(&gpu), before));
        count(&counts(&file), "IResourceAllocator", "N")
    };
    assert_eq!(recorded("none.json", RecordScope::PerProcess, &|_| ()), 1);
    assert_eq!(recorded("one.json", RecordScope::PerProcess, &|_| drop(usual(&gpu))), 2);
    assert_eq!(recorded("other.json", RecordScope::PerProcess, &|_| drop(usual(&other))), 1);
    assert_eq!(recorded("instance.json", RecordScope::PerInstance, &|_| drop(usual(&gpu))), 1);
    // Who has no flags and names itself alone wants no recording.
    let alone = || ResourceAllocatorDesc {
        record_options: RecordOptions { scope: RecordScope::PerInstance, ..Default::default() },
        ..Default::default()
    };
    assert_eq!(recorded("alone.json", RecordScope::PerProcess, &|_| drop(allocator(&gpu, alone()))), 1);
    // Its own file comes first.
    let own = |file: &Path| {
        let options = record_options(&file.with_extension("own.json"), RecordFlags::API_OBJECTS);
        drop(allocator(&gpu, ResourceAllocatorDesc { record_options: options, ..Default::default() }));
    };
    assert_eq!(recorded("two.json", RecordScope::PerProcess, &own), 1);
}

/// Executes an empty command list with a residency list.
fn submit(gpu: &impl Opened, manager: &ResidencyManager, list: &ResidencyList) {
    let direct = D3D12_COMMAND_LIST_TYPE_DIRECT;
    let (queue, fence) = (queue_of(gpu.device(), direct), fence_of(gpu.device()));
    let (_commands, empty) = list_of(gpu.device(), direct);
    // SAFETY: live objects, and a closed list that uses nothing.
    unsafe {
        empty.Close().ok().expect("closed");
        manager.execute_command_lists(&queue, &[(&empty.into(), list)]).expect("executed");
        queue.Signal(&fence, 1).ok().expect("signalled");
        wait_until(|| fence.GetCompletedValue() >= 1);
    }
}

/// A file is one file whatever its path, and its extension is its format.
#[test]
fn one_file_has_one_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    std::fs::create_dir(folder.path().join("x")).expect("a folder");
    let file = folder.path().join("a.hws");
    let make = |path: &Path, scope| {
        let record_options = RecordOptions { scope, ..record_options(path, RecordFlags::ALL) };
        ResourceAllocator::new(
            gpu.device(),
            None,
            ResourceAllocatorDesc { record_options, ..Default::default() },
        )
    };
    let first = make(&file, RecordScope::PerProcess).expect("the first");
    let paths: &[_] = if cfg!(unix) { &["x/../a.hws", "soft.hws", "hard.hws"] } else { &["x/../a.hws"] };
    let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&file, &paths[1]).expect("a link");
        std::fs::hard_link(&file, &paths[2]).expect("a link");
    }
    let mut others = Vec::new();
    for path in &paths {
        fails(make(path, RecordScope::PerInstance), "is being written by another instance");
        others.push(local(&make(path, RecordScope::PerProcess).expect("they share it"), 1000));
    }
    drop((others, first));
    let records = heapwright_trace::RecordReader::new(&file, std::fs::File::open(&file).expect("written"));
    let records: Result<Vec<_>, _> = records.expect("a session").collect();
    let is_allocation = |record: &&heapwright_trace::session::Record| {
        matches!(record.action, heapwright_trace::session::Action::Allocate(_))
    };
    assert_eq!(records.expect("sound").iter().filter(is_allocation).count(), paths.len());

    for name in ["a.txt", "a", "a.hws.gz"] {
        let path = folder.path().join(name);
        assert!(fails(make(&path, RecordScope::PerInstance), "must end with .hws").is_invalid_argument());
        assert!(!path.exists());
    }
}
