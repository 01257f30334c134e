//! Recordings are what happened, in both formats.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use heapwright_trace::session::{Action, Counter, Description, Record};
use heapwright_trace::{EventKind, RecordReader, Trace};

use crate::gpu::*;

fn options(file: &Path) -> RecordOptions {
    RecordOptions { flags: RecordFlags::ALL, trace_file: Some(file.to_owned()), ..Default::default() }
}

fn recorded(gpu: &impl Opened, options: RecordOptions) -> ResourceAllocator {
    allocator(gpu, ResourceAllocatorDesc { record_options: options, ..Default::default() })
}

/// Returns a path in a folder that is deleted when it is dropped.
fn file_in_folder(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    (folder, file)
}

/// Reads a complete file, whose references are checked.
fn read(file: &Path) -> Vec<Action> {
    let mut reader = RecordReader::new(file, File::open(file).expect("written")).expect("a session");
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().expect("valid");
    assert_eq!(reader.truncated_at(), None);
    records.into_iter().map(|record| record.action).collect()
}

/// Makes an allocation of each kind.
fn one_of_each(allocator: &ResourceAllocator) -> Vec<ResourceAllocation> {
    let make = |heap_type, flags, desc| create(allocator, &place(heap_type, flags), &desc);
    vec![
        make(HeapType::Default, NONE, buffer_of(1000)),
        make(HeapType::Default, NONE, buffer_of(100_000)),
        make(HeapType::Default, NONE, texture(64, 32)),
        make(HeapType::Default, OWN, buffer_of(MIB)),
        make(HeapType::Default, COMMITTED, buffer_of(3 * MIB)),
        make(HeapType::Upload, WITHIN, buffer_of(100)),
        make(HeapType::Upload, WITHIN, buffer_of(200)),
    ]
}

fn count(actions: &[Action], is: fn(&Action) -> bool) -> usize {
    actions.iter().filter(|action| is(action)).count()
}

#[test]
fn a_session_is_what_happened() {
    use Placement::*;
    let (_folder, file) = file_in_folder("all.hws");
    let gpu = open("discrete");
    let allocator = recorded(&gpu, options(&file));
    let mut made = one_of_each(&allocator);
    made[0].set_debug_name("a \"name\"").expect("named");
    made[5].map().expect("mapped").write(0, &[7; 100]).expect("written");
    made[5].record_contents().expect("recorded");
    let facts: Vec<_> = made
        .iter()
        .map(|it| {
            let is_buffer = desc_of(it).Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
            let address = it.gpu_virtual_address().filter(|_| is_buffer).map(GpuVirtualAddress::get);
            (it.offset().get() + it.offset_from_resource().get(), address)
        })
        .collect();
    let heap_sizes: Vec<u64> = made
        .iter()
        .map(|it| if it.heap().is_some() { heap_of(it).SizeInBytes } else { it.size().get() })
        .collect();
    allocator.end_frame();
    drop(made);
    allocator.release_empty_heaps();
    drop(allocator);

    let actions = read(&file);
    let mut descriptions: Vec<&Description> = Vec::new();
    let (mut places, mut addresses, mut heaps) =
        (Vec::new(), vec![None; 7], std::collections::HashMap::new());
    let (mut freed, mut destroyed, mut ids) = (Vec::new(), 0, Vec::new());
    for action in &actions {
        match action {
            Action::Allocate(allocation) => ids.push(allocation.id),
            Action::Describe(description) => descriptions.push(description),
            Action::CreateHeap(heap) => assert!(heaps.insert(heap.id, heap.size).is_none()),
            Action::Place { heap, offset, .. } => places.push((heaps[heap], *offset)),
            Action::AllocationAddress { address, .. } => addresses[ids.len() - 1] = Some(*address),
            Action::Free { allocation } => freed.push(*allocation),
            Action::DestroyHeap { .. } => destroyed += 1,
            _ => {}
        }
    }
    let placements: Vec<_> = descriptions.iter().map(|it| it.placement.expect("recorded")).collect();
    let expected = [SharedHeap, SharedHeap, SharedHeap, OwnHeap, Committed, WithinResource, WithinResource];
    assert_eq!(placements, expected);
    let (offsets, expected_addresses): (Vec<_>, Vec<_>) = facts.into_iter().unzip();
    assert_eq!(places, heap_sizes.into_iter().zip(offsets).collect::<Vec<_>>());
    assert_eq!(addresses, expected_addresses);
    assert_eq!((descriptions[2].width, descriptions[2].height), (64, 32));
    assert_eq!(descriptions[4].allocation_flags, COMMITTED.bits());
    assert_eq!(freed, ids);
    assert_eq!(destroyed, heaps.len());
    assert!(actions.contains(&Action::Name { allocation: ids[0], name: "a \"name\"".into() }));
    assert!(actions.contains(&Action::Contents { allocation: ids[5], offset: 0, bytes: vec![7; 100] }));
    assert!(actions.contains(&Action::Frame) && actions.contains(&Action::ReleaseHeaps { bytes: u64::MAX }));
    let has = |wanted| {
        actions.iter().any(|action| matches!(action, Action::Count { counter, .. } if *counter == wanted))
    };
    assert!(has(Counter::LocalBudget) && has(Counter::Reserved) && has(Counter::Fragmentation));
}

#[test]
fn both_formats_have_the_same_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let traces = ["a.hws", "a.json"].map(|name| {
        let file = folder.path().join(name);
        let gpu = open("discrete");
        let allocator = recorded(&gpu, options(&file));
        let mut made = one_of_each(&allocator);
        made[1].set_debug_name("control \u{1} and \\").expect("named");
        made.remove(3);
        drop(one_of_each(&allocator));
        drop((made, allocator));
        Trace::read(&file).expect("valid")
    });
    let events = |trace: &Trace| -> Vec<(EventKind, u64, usize)> {
        // The size of a texture is that of its texels in a capture, and what it takes in a session.
        let size = |event: &heapwright_trace::Event| {
            if event.size.get() == 64 * 32 * 4 { 64 * KIB } else { event.size.get() }
        };
        trace.events().iter().map(|it| (it.kind, size(it), it.allocation.as_usize())).collect()
    };
    assert_eq!(events(&traces[0]).len(), 28);
    assert_eq!(events(&traces[0]), events(&traces[1]));
}

/// A crash loses the last moment only: the file is complete while the program runs.
#[test]
fn the_file_is_complete_while_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.hws", "a.json"] {
        let file = folder.path().join(name);
        let gpu = open("discrete");
        let allocator = recorded(&gpu, options(&file));
        let made: Vec<_> = (0..3).map(|_| one_of_each(&allocator)).collect();
        wait_until(|| {
            Trace::read(&file).is_ok_and(|trace| trace.events().len() == 21 && trace.truncated_at().is_none())
        });
        drop(made);
        // The allocator keeps the recording; what it has written is read again after more.
        wait_until(|| {
            Trace::read(&file).is_ok_and(|trace| trace.events().len() == 42 && trace.truncated_at().is_none())
        });
        drop(allocator);
    }
}

#[test]
fn flags_select_what_is_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    for (number, flags) in
        [RecordFlags::API_OBJECTS, RecordFlags::API_CALLS, RecordFlags::COUNTERS, RecordFlags::API_TIMINGS]
            .into_iter()
            .enumerate()
    {
        let file = folder.path().join(format!("{number}.hws"));
        let gpu = open("discrete");
        let allocator = recorded(&gpu, RecordOptions { flags, ..options(&file) });
        drop(one_of_each(&allocator));
        allocator.end_frame();
        drop(allocator);
        let actions = read(&file);
        let has = |is: fn(&Action) -> bool| actions.iter().any(is);
        let is_object = |action: &Action| matches!(action, Action::Allocate(_) | Action::CreateHeap(_));
        assert_eq!(has(is_object), flags == RecordFlags::API_OBJECTS, "{flags:?}");
        let is_call = |action: &Action| matches!(action, Action::Frame | Action::Describe(_));
        assert_eq!(has(is_call), flags == RecordFlags::API_CALLS, "{flags:?}");
        let is_count = |action: &Action| matches!(action, Action::Count { .. });
        assert_eq!(has(is_count), flags == RecordFlags::COUNTERS, "{flags:?}");
        assert_eq!(actions.is_empty(), flags == RecordFlags::API_TIMINGS, "timings are in Chrome traces");
    }
}

#[test]
fn the_instances_of_a_process_share_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("shared.hws");
    let gpu = open("discrete");
    let [first, second] = [0, 1].map(|_| recorded(&gpu, options(&file)));
    let made = [&first, &second].map(|allocator| local(allocator, 1000));
    drop((made, first, second));
    // After the last object is gone, the file goes on.
    drop(local(&recorded(&gpu, options(&file)), 2000));
    let actions = read(&file);
    let selected = actions.iter().filter(|action| matches!(action, Action::SelectAllocator { .. }));
    assert!(selected.count() >= 3);
    assert_eq!(count(&actions, |action| matches!(action, Action::Allocate(_))), 3);

    let own = RecordOptions { scope: RecordScope::PerInstance, ..options(&folder.path().join("own.hws")) };
    let desc = || ResourceAllocatorDesc { record_options: own.clone(), ..Default::default() };
    let only = ResourceAllocator::new(&gpu.device, None, desc()).expect("the first");
    let another = ResourceAllocator::new(&gpu.device, None, desc());
    fails(another, "is being written by another instance");
    drop(only);
    drop(ResourceAllocator::new(&gpu.device, None, desc()).expect("the file is free"));
}

/// An allocator whose beginning is not recorded is not named, as readers refuse that.
#[test]
fn a_nested_allocator_is_recorded_whatever_its_parent_records() {
    let (_folder, file) = file_in_folder("nested.hws");
    let gpu = open("discrete");
    for (flags, is_nested) in [(RecordFlags::COUNTERS, false), (RecordFlags::API_OBJECTS, true)] {
        let scope = RecordScope::PerProcess;
        let parent = recorded(&gpu, RecordOptions { flags, scope, ..options(&file) });
        let nested = ResourceAllocatorDesc { record_options: options(&file), ..Default::default() };
        let nested = parent.create_nested(nested).expect("an allocator");
        drop((local(&nested, 1000), nested, parent));
        let has_parent = |action: &Action| matches!(action, Action::NestAllocator { .. });
        assert_eq!(read(&file).iter().any(has_parent), is_nested, "{flags:?}");
    }
}

/// While a recording is made, the call prefetches itself: a replay of the call does the same, at the same moment.
#[test]
fn a_recorded_call_prefetches_itself() {
    let (_folder, file) = file_in_folder("prefetched.hws");
    let gpu = open("discrete");
    let flags = ResourceAllocatorFlags::ALLOW_PREFETCH;
    let allocator =
        allocator(&gpu, ResourceAllocatorDesc { record_options: options(&file), ..flagged(flags) });
    let own = OWN | ALWAYS_PREFETCH_HEAP;
    let desc = place(HeapType::Default, own);
    let size = mib(4);

    let held = buffer(&allocator, &desc, size.get());
    assert_usage(&gpu, mib(8));
    assert_eq!(allocator.release_empty_heaps(), size);
    drop(held);
    allocator.release_empty_heaps();

    let pool = new_pool(&allocator, PoolDesc::default());
    let held = buffer(&allocator, &ResourceAllocationDesc { pool: Some(&pool), ..desc }, size.get());
    assert_eq!(pool.release_empty_heaps(), size);
    let again = buffer(&allocator, &ResourceAllocationDesc { pool: Some(&pool), ..desc }, size.get());
    drop(allocator);
    drop((held, again, pool));
    assert_usage(&gpu, ByteSize::ZERO);
    let actions = read(&file);
    assert_eq!(count(&actions, |action| matches!(action, Action::CreateHeap(_))), 6);
    assert_eq!(count(&actions, |action| matches!(action, Action::DestroyHeap { .. })), 6);
}

/// The allocator and its manager have a prefetched heap when the last handle is dropped.
#[test]
fn files_are_complete_when_everything_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["allocator.hws", "manager.hws"].map(|name| folder.path().join(name));
    let [of_allocator, of_manager] =
        files.each_ref().map(|file| RecordOptions { scope: RecordScope::PerInstance, ..options(file) });
    let gpu = open("discrete");
    let manager = ResidencyManagerDesc { record_options: of_manager, ..Default::default() };
    let manager = manager_on(&gpu, manager);
    let flags = ResourceAllocatorFlags::ALLOW_PREFETCH;
    let desc = ResourceAllocatorDesc { record_options: of_allocator, ..flagged(flags) };
    let allocator = managed_by(&manager, &gpu, desc);
    let own = OWN | ALWAYS_PREFETCH_HEAP;
    let held = buffer(&allocator, &place(HeapType::Default, own), 4 * MIB);
    drop((held, allocator, manager));
    let complete = files.each_ref().map(|file| fs::read(file).expect("written"));
    let actions = read(&files[0]);
    let created = count(&actions, |action| matches!(action, Action::CreateHeap(_)));
    assert_eq!(count(&actions, |action| matches!(action, Action::DestroyHeap { .. })), created);
    assert_eq!(count(&actions, |action| matches!(action, Action::DropAllocator)), 1);
    read(&files[1]);
    #[cfg(target_os = "linux")]
    for open in fs::read_dir("/proc/self/fd").expect("Linux has it") {
        let file = fs::read_link(open.expect("an entry").path());
        assert!(!file.is_ok_and(|file| files.contains(&file)), "a file is still open");
    }
    drop(gpu);
    assert!(files.map(|file| fs::read(file).expect("written")) == complete, "a file has grown");
}

/// Each call is a sample, however soon it follows another one.
#[test]
fn counters_are_recorded_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    let count = |flags, wanted| {
        let file = folder.path().join("counters.hws");
        let scope = RecordScope::PerInstance;
        let record_options = RecordOptions { flags, scope, ..options(&file) };
        let manager = ResidencyManagerDesc { record_options: record_options.clone(), ..Default::default() };
        let manager = manager_on(&gpu, manager);
        (0..5).for_each(|_| manager.record_counters());
        drop(manager);
        let of_manager = read(&file);
        let allocator = recorded(&gpu, record_options);
        (0..7).for_each(|_| allocator.record_counters());
        drop(allocator);
        [of_manager, read(&file)].map(|actions| {
            let is_wanted =
                |action: &&Action| matches!(action, Action::Count { counter, .. } if *counter == wanted);
            actions.iter().filter(is_wanted).count()
        })
    };
    assert_eq!(count(RecordFlags::COUNTERS, Counter::LocalResident), [5, 0]);
    assert_eq!(count(RecordFlags::COUNTERS, Counter::Reserved), [0, 7]);
    assert_eq!(count(RecordFlags::CAPTURE, Counter::Reserved), [0, 0]);
}

#[test]
fn a_manager_and_its_allocator_name_a_heap_once() {
    let (_folder, file) = file_in_folder("managed.hws");
    let gpu = open("discrete");
    let manager = ResidencyManagerDesc { record_options: options(&file), ..Default::default() };
    let manager = manager_on(&gpu, manager);
    let desc = ResourceAllocatorDesc { record_options: options(&file), ..Default::default() };
    let allocator = managed_by(&manager, &gpu, desc);
    let made = one_of_each(&allocator);
    manager.evict_at_least(LOCAL, ByteSize::MAX);
    let heaps: std::collections::HashSet<*const _> =
        made.iter().filter_map(|it| it.memory()).map(std::ptr::from_ref).collect();
    let heap_count = heaps.len();
    drop((made, allocator, manager));
    let actions = read(&file);
    assert_eq!(count(&actions, |action| matches!(action, Action::CreateHeap(_))), heap_count);
    assert!(count(&actions, |action| matches!(action, Action::Evict { .. })) > 0);
    assert_eq!(count(&actions, |action| matches!(action, Action::Place { .. })), 7);
}

#[test]
fn a_move_is_a_new_place() {
    let (_folder, file) = file_in_folder("moved.hws");
    let gpu = open("discrete");
    let allocator = recorded(&gpu, options(&file));
    // One allocation of four stays, so that heaps can be emptied.
    let mut made: Vec<_> = (0..64).map(|_| Some(local(&allocator, MIB))).collect();
    made.iter_mut().enumerate().filter(|(index, _)| index % 4 != 0).for_each(|(_, slot)| *slot = None);
    let desc = DefragmentationDesc::default();
    let mut defragmentation = allocator.defragment(desc).expect("begins");
    let mut moved = Vec::new();
    for mut next in defragmentation.step(without_time_limit()).moves {
        let allocation =
            made.iter_mut().flatten().find(|it| it.id() == next.allocation()).expect("one of these");
        next.create_resource(allocation, InitialState::default(), None, &[]).expect("created");
        next.complete(allocation).expect("moved");
        let address = allocation.gpu_virtual_address().expect("a buffer").get();
        moved.push((allocation.offset().get(), address));
    }
    assert!(!moved.is_empty());
    drop((made, defragmentation, allocator));
    let actions = read(&file);
    let places: Vec<(u64, u64)> = actions
        .windows(2)
        .filter_map(|pair| match pair {
            [Action::Place { offset, .. }, Action::AllocationAddress { address, size: MIB, .. }] => {
                Some((*offset, *address))
            }
            _ => None,
        })
        .collect();
    assert_eq!(places[64..], moved);
}

#[test]
fn options_are_read_back_from_both_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    for name in ["a.hws", "a.json"] {
        for options_set in [
            vec![],
            vec![
                ("empty_heap_policy", "least-memory"),
                ("max_heap_size", "1073741824"),
                ("release_size", "3145728"),
            ],
        ] {
            let file = folder.path().join(format!("{}{name}", options_set.len()));
            let mut desc = ResourceAllocatorDesc { record_options: options(&file), ..Default::default() };
            for (name, value) in &options_set {
                desc.set_option(name, value).expect("valid");
            }
            drop(local(&allocator(&gpu, desc), 1000));
            let actions = read(&file);
            let found: Vec<(&str, &str)> = actions
                .iter()
                .filter_map(|action| match action {
                    Action::SetOption { name, value } => Some((&**name, &**value)),
                    _ => None,
                })
                .collect();
            assert_eq!(found, options_set, "{name}");
        }
    }
}

/// Empty heaps may have been released for it, which a replay repeats.
#[test]
fn a_refused_pool_is_recorded_with_its_options() {
    let (_folder, file) = file_in_folder("refused.hws");
    let desc = ResourceAllocatorDesc { record_options: options(&file), ..limited_to(mib(1)) };
    let allocator = allocator(&open("discrete"), desc);
    let too_many = PoolDesc { min_heap_count: 2, ..pool_of(mib(1)) };
    let expected = too_many.options().into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    refused(allocator.create_pool(too_many), Error::is_over_budget);
    drop(allocator);
    let actions = read(&file);
    assert!(actions.contains(&Action::RefusePool { options: expected }), "{actions:?}");
}

/// Contents are recorded in parts, and never beyond the size that the file has of the buffer.
#[test]
fn contents_are_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let gpu = open("discrete");
    let bytes: Vec<u8> = (0..=250).cycle().take(3_000_001).collect();
    for name in ["a.hws", "a.json"] {
        let file = folder.path().join(name);
        let allocator = recorded(&gpu, options(&file));
        let desc = buffer_of(bytes.len() as u64);
        let mut made = create(&allocator, &in_upload(), &desc);
        made.map().expect("mapped").write(0, &bytes).expect("written");
        made.record_contents().expect("recorded");
    }
    let mut found = Vec::new();
    for action in read(&folder.path().join("a.hws")) {
        if let Action::Contents { offset, bytes, .. } = action {
            assert_eq!(offset, found.len() as u64);
            found.extend(bytes);
        }
    }
    assert!(found == bytes, "{} bytes", found.len());
    let json = fs::read_to_string(folder.path().join("a.json")).expect("written");
    assert_eq!(json.matches("\"SizeInBytes\":3000001}").count(), 1, "the call, without the bytes");
}

/// For memory that the CPU cannot access, the application has the bytes.
#[test]
fn bytes_are_recorded_where_they_belong() {
    let (_folder, file) = file_in_folder("bytes.hws");
    let gpu = open("discrete");
    let allocator = recorded(&gpu, options(&file));
    let made = local(&allocator, 1000);
    made.record_bytes(0, &[]).expect("nothing");
    made.record_bytes(990, &[3; 10]).expect("to the end");
    made.record_bytes(2, &[4; 5]).expect("within");
    for (offset, len) in [(991, 10), (1001, 0), (u64::MAX, 2)] {
        fails(made.record_bytes(offset, &vec![0; len]), "exceed the buffer of 1000 bytes");
    }
    let texture = create(&allocator, &in_default(), &texture(64, 32));
    fails(texture.record_bytes(0, &[1]), "only buffers have recorded contents");
    drop((made, texture, allocator));
    let contents: Vec<(u64, Vec<u8>)> = read(&file)
        .into_iter()
        .filter_map(|action| match action {
            Action::Contents { offset, bytes, .. } => Some((offset, bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(contents, [(990, vec![3; 10]), (2, vec![4; 5])]);
}

#[test]
fn events_of_many_threads_are_all_there() {
    const THREADS: usize = 4;
    const EACH: usize = 30_000;
    let (_folder, file) = file_in_folder("threads.hws");
    let gpu = open("discrete");
    let allocator = recorded(&gpu, RecordOptions { flags: RecordFlags::API_OBJECTS, ..options(&file) });
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let allocator = &allocator;
            scope.spawn(move || {
                let mut held = std::collections::VecDeque::new();
                for size in 0..EACH {
                    let desc = buffer_of(1 + (size % 1000 + thread) as u64);
                    let place = place(HeapType::Upload, WITHIN);
                    let state = D3D12_RESOURCE_STATE_GENERIC_READ;
                    held.push_back(
                        allocator.create_resource(&place, &desc, state, None).expect("there is room"),
                    );
                    if held.len() > 10 {
                        held.pop_front();
                    }
                }
            });
        }
    });
    drop(allocator);
    let trace = Trace::read(&file).expect("valid");
    assert_eq!(trace.events().len(), 2 * THREADS * EACH);
    assert!(fs::metadata(&file).expect("written").len() > 1000);
}
