//! Recordings: replayed exactly, under other settings, and by the environment variable.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator,
    ResourceAllocatorDesc, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::RecordReader;
use heapwright_trace::session::{
    Action, Allocation, Description, Heap, HeapType as RecordedHeapType, Placement, ResourceKind,
};

use crate::recorded_program::{Does, Numbers, any_allocation, record_program, record_to};
use crate::support::{Folder, Outcome, buffer, command, heap, heapwright, json, session_at};

fn run(command: &mut std::process::Command) -> Outcome {
    Outcome::from_output(command.output().unwrap())
}

/// Returns an allocator whose calls are recorded to a file.
fn recorded_allocator(file: &Path) -> (Instance, ResourceAllocator) {
    let gpu = Instance::open(HostProfile::default_profile()).unwrap();
    let desc = ResourceAllocatorDesc { record_options: record_to(file), ..Default::default() };
    let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).unwrap();
    (gpu, allocator)
}

/// Describes an allocation that is placed in one of four ways.
fn one_of_four(index: u64, heap_type: HeapType) -> ResourceAllocationDesc<'static> {
    let flags = match index % 4 {
        0 => ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
        1 => ResourceAllocationFlags::ALWAYS_COMMITTED,
        2 => ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        _ => ResourceAllocationFlags::empty(),
    };
    ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(heap_type) }
}

/// Records more than 1,000 heaps, and 4,001 buffers of which all but one have contents. The process of the test
/// records, and the program recreates.
fn record_buffers(file: &Path) {
    let (_gpu, allocator) = recorded_allocator(file);
    let mut numbers = Numbers(7);
    let mut live = Vec::new();
    for index in 0..4000_u64 {
        let (heap_type, state) = match numbers.below(3) {
            0 => (HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST),
            _ => (HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ),
        };
        let desc = buffer_desc(ByteSize::new(16 + numbers.below(3000)));
        let mut made = allocator.create_resource(&one_of_four(index, heap_type), &desc, state, None).unwrap();
        let bytes: Vec<u8> = index.to_le_bytes().repeat(2);
        made.map().unwrap().write(0, &bytes).unwrap();
        made.record_contents().unwrap();
        live.push(made);
        // Others come and go, as in a long-running program.
        if index % 5 == 0 {
            drop(any_allocation(&allocator, &mut numbers));
        }
    }
    // Now most bytes are live, which is the moment that is recreated.
    let large = buffer_desc(ByteSize::from_mib(64));
    let local = ResourceAllocationDesc::new(HeapType::Default);
    let _large = allocator.create_resource(&local, &large, D3D12_RESOURCE_STATE_COMMON, None).unwrap();
}

#[test]
fn buffers_are_recreated_at_their_addresses_by_another_process() {
    let folder = Folder::new();
    let file = folder.path().join("buffers.hws");
    record_buffers(&file);
    let path = file.to_str().unwrap();
    let report = json(["recreate", "--json", path]);
    let number = |key: &str| report[key].as_u64().unwrap();
    assert_eq!(report["failures"], serde_json::json!([]));
    assert!(number("heaps") >= 1000, "{report}");
    assert_eq!((number("buffers"), number("same_addresses")), (4001, 4001));
    // The width of every buffer, of which the first bytes were written.
    assert!(number("verified_bytes") > 4000 * 1000, "{report}");

    // Without the tier, the same objects are elsewhere.
    let outcome = heapwright(["recreate", "--json", "--device", "host:old-ddi", path]);
    assert!(outcome.stderr.contains("RecreateAtTier is NOT_SUPPORTED"), "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["same_addresses"], 0);
    assert_eq!(report["at_addresses"], false);
}

/// Buffers in memory that the CPU cannot access, and some that it can, with contents of which later ones replace
/// earlier ones.
fn record_gpu_buffers(file: &Path) -> u64 {
    let (_gpu, allocator) = recorded_allocator(file);
    let (mut numbers, mut live, mut recorded) = (Numbers(11), Vec::new(), 0);
    for index in 0..400_u64 {
        let heap_type = if index % 5 == 0 { HeapType::GpuUpload } else { HeapType::Default };
        // Some are larger than what is copied at once.
        let size = if index % 100 == 7 { 5_000_000 } else { 64 + numbers.below(3000) };
        let desc = buffer_desc(ByteSize::new(size));
        let state = D3D12_RESOURCE_STATE_COMMON;
        let made = allocator.create_resource(&one_of_four(index, heap_type), &desc, state, None).unwrap();
        let bytes: Vec<u8> = (0..size).map(|at| (at ^ index).to_le_bytes()[0]).collect();
        made.record_bytes(0, &bytes).unwrap();
        made.record_bytes(17, &[9; 30]).unwrap();
        recorded += size + 30;
        live.push(made);
    }
    recorded
}

#[test]
fn the_gpu_copies_contents_that_the_cpu_cannot_write() {
    let folder = Folder::new();
    let file = folder.path().join("gpu.hws");
    let recorded = record_gpu_buffers(&file);
    let path = file.to_str().unwrap();
    let mut devices = vec!["host"];
    if heapwright(["devices", "--json"]).ok().contains("{\"device\":\"vulkan:0") {
        devices.push("vulkan");
    }
    for device in devices {
        let outcome = heapwright(["recreate", "--json", "--device", device, path]);
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(report["failures"], serde_json::json!([]), "{device}");
        assert_eq!(report["buffers"], 400, "{device}");
        assert_eq!(report["verified_bytes"], recorded, "{device}");
        let has_addresses = report["at_addresses"] == true;
        assert_eq!(report["same_addresses"], if has_addresses { 400 } else { 0 }, "{device}");
        let says_so = outcome.stderr.contains("cannot create objects at given addresses");
        assert_eq!(says_so, !has_addresses, "{device}: {}", outcome.stderr);
    }
}

/// Contents that the copy queue cannot write are named, and the others are written.
#[test]
fn a_buffer_beyond_its_heap_is_reported() {
    let folder = Folder::new();
    let heap_type = RecordedHeapType::Default;
    let within = |allocation, offset, byte| {
        let placement = Some(Placement::WithinResource);
        [
            buffer(allocation, 4096, heap_type),
            Action::Describe(Box::new(Description { allocation, placement, ..Default::default() })),
            Action::Place { allocation, heap: 1, offset },
            Action::Contents { allocation, offset: 0, bytes: vec![byte; 4096] },
        ]
    };
    let actions =
        [heap(1, 1 << 20, heap_type)].into_iter().chain(within(1, 0, 1)).chain(within(2, 1 << 20, 2));
    let path = folder.file("beyond.hws", session(actions));
    let outcome = heapwright(["recreate", "--json", &path]);
    assert_eq!(outcome.code, 1);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&report["buffers"], &report["verified_bytes"]), (&1.into(), &4096.into()), "{report}");
    assert_eq!(report["failures"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["failures"][0]["id"], 2);
    assert_eq!(report["failures"][0]["reason"], "it reaches beyond its heap");
}

#[test]
fn damaged_sessions_recreate_nothing() {
    let folder = Folder::new();
    let file = folder.path().join("whole.hws");
    record_buffers(&file);
    let whole = std::fs::read(&file).unwrap();
    let refused = |name: &str, bytes: &[u8], expected: &str| {
        let path = folder.file(name, bytes);
        let outcome = heapwright(["recreate", &path]);
        assert!(outcome.one_error(2).contains(expected), "{name}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    };
    let mut corrupted = whole.clone();
    corrupted[whole.len() / 2] ^= 4;
    refused("corrupted.hws", &corrupted, "checksum");
    refused("truncated.hws", &whole[..whole.len() / 2], "the session has no end, as after a crash");
    refused("trace.csv", b"time_us,event,id,size_bytes\n0,alloc,1,16\n", "has no addresses");
}

#[test]
fn the_environment_records_any_program() {
    let folder = Folder::new();
    let trace = folder.trace("t.csv", "0,alloc,0,4096\n5,alloc,1,70000\n9,free,0,4096\n");
    for (name, flags) in [("e.hws", None), ("e.json", Some("capture"))] {
        let file = folder.path().join(name);
        let mut replay = command();
        replay.args(["replay", "--json", &trace]).env("HEAPWRIGHT_RECORD", &file);
        if let Some(flags) = flags {
            replay.env("HEAPWRIGHT_RECORD_FLAGS", flags);
        }
        run(&mut replay).ok();
        let mut reader = RecordReader::new(&file, File::open(&file).unwrap()).unwrap();
        let allocated =
            reader.by_ref().filter(|it| matches!(it.as_ref().unwrap().action, Action::Allocate(_)));
        assert_eq!(allocated.count(), 2, "{name}");
        assert_eq!(reader.truncated_at(), None);
    }
    // What cannot be recorded makes this program fail, before it reads anything.
    for (variable, value, expected) in [
        ("HEAPWRIGHT_RECORD", "/nowhere/at/all.hws", "/nowhere/at/all.hws cannot be written"),
        ("HEAPWRIGHT_RECORD", "recording.txt", "recording.txt must end with .hws"),
        ("HEAPWRIGHT_RECORD_FLAGS", "everything", "\"everything\" is unknown"),
    ] {
        let mut replay = command();
        replay.args(["replay", "--json", &trace]).env("HEAPWRIGHT_RECORD", folder.path().join("x.hws"));
        let outcome = run(replay.env(variable, value));
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

#[test]
fn profiles_and_options_change_the_settings() {
    let folder = Folder::new();
    let file = folder.path().join("s.hws");
    record_program(&file, 3, 1500, Does::Usual);
    let path = file.to_str().unwrap();
    let replay = |args: &[&str]| {
        let all = ["replay", "--json", path].into_iter().chain(args.iter().copied());
        let report = json(all);
        let bytes = ["peak_reserved_bytes", "mean_reserved_bytes"].map(|key| report[key].as_u64().unwrap());
        (report["configuration"].as_str().unwrap().to_owned(), bytes)
    };
    let held = ["default", "captured", "max-performance", "low-memory"].map(|profile| {
        let (configuration, held) = replay(&["--profile", profile]);
        assert_eq!(configuration, profile);
        assert_eq!(replay(&["--profile", profile]).1, held, "{profile} is deterministic");
        held
    });
    let means = held.map(|[_, mean]| mean);
    assert!(means[..3].iter().all(|&mean| means[3] < mean), "{means:?}");
    assert!(means[0] <= means[2], "{means:?}");
    assert_ne!(replay(&["--set", "suballocation_algorithm=dedicated"]).1, held[0]);
    for (setting, expected) in [
        ("colour=red", "--set: option: \"colour\" is unknown; available: flags, "),
        ("release_size=much", "--set: option: release_size must be a size"),
        ("max_heap_size=0", "--set: ResourceAllocatorDesc::max_heap_size: must not be zero"),
        ("max_heap_size=4KiB", "--set: ResourceAllocatorDesc::max_heap_size: 4.00 KiB is too small"),
        ("colour", "must be OPTION=VALUE"),
    ] {
        let outcome = heapwright(["replay", "--set", setting, path]);
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// Memory that only grows is held in heaps of which the last one alone has room: at most a 32nd of it with the profile
/// of little memory, or 4 MiB, since smaller heaps are not cheaper.
#[test]
fn the_low_memory_profile_has_a_lower_peak() {
    let folder = Folder::new();
    for count in [10, 100, 1000, 3000] {
        let rows: String = (0..count).map(|id| format!("{id},alloc,{id},65536\n")).collect();
        let path = folder.trace("grows.csv", &rows);
        let [usual, low] = ["default", "low-memory"].map(|profile| {
            json(["replay", "--json", "--profile", profile, &path])["peak_reserved_bytes"].as_u64().unwrap()
        });
        let live = count * 65_536;
        assert!(low <= usual && low <= live + (live / 32).max(4 << 20), "{low} and {usual} for {live}");
        assert!(count < 3000 || low < usual, "{low} and {usual} for {live}");
    }
}

/// Checks a Chrome trace by the rules of its format, as Perfetto's importer reads it: nothing that it would count as an
/// error or drop. Perfetto's own trace processor is no package; its Python module downloads it. Returns the counter
/// tracks and the number of events of each name.
fn check_chrome_trace(file: &Path) -> (BTreeSet<String>, HashMap<String, usize>) {
    let trace: serde_json::Value = serde_json::from_reader(File::open(file).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let (mut phases, mut names) = (HashMap::<&str, usize>::new(), HashMap::<String, usize>::new());
    let mut tracks = BTreeSet::new();
    let (mut named, mut live, mut all) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut slices: Vec<(u64, f64, f64)> = Vec::new();
    let (mut references, mut processes) = (Vec::new(), HashSet::new());
    let microseconds = |value: &serde_json::Value| {
        value.as_f64().filter(|time| time.is_finite() && *time >= 0.0).unwrap_or_else(|| panic!("{value}"))
    };
    for event in events {
        let phase = event["ph"].as_str().unwrap();
        *phases.entry(phase).or_default() += 1;
        *names.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1;
        assert!(event["cat"].is_string(), "{event}");
        processes.insert(event["pid"].as_u64().unwrap());
        let thread = event["tid"].as_u64().unwrap();
        let time = microseconds(&event["ts"]);
        let id = || (event["name"].as_str().unwrap(), event["id"].as_str().unwrap());
        match phase {
            "M" => {
                assert!(event["args"]["name"].is_string(), "{event}");
                assert!(named.insert((event["name"].as_str().unwrap(), thread)), "named twice: {event}");
            }
            "i" => assert!(event["s"] == "t" && event["args"].is_object(), "{event}"),
            "X" => slices.push((thread, time, microseconds(&event["dur"]))),
            "C" => {
                for (series, value) in event["args"].as_object().unwrap() {
                    assert!(value.is_u64(), "{event}");
                    tracks.insert(format!("{}: {series}", event["name"].as_str().unwrap()));
                }
            }
            "N" => assert!(live.insert(id()) && all.insert(event["id"].as_str().unwrap()), "{event}"),
            "O" => assert!(live.contains(&id()) && event["args"]["snapshot"].is_object(), "{event}"),
            "D" => assert!(live.remove(&id()), "{event}"),
            // Begin and end events would have to be balanced; there are none.
            other => panic!("phase {other}: {event}"),
        }
        find_references(event, &mut references);
    }
    assert!(["M", "i", "X", "C", "N", "O", "D"].iter().all(|phase| phases.contains_key(phase)), "{phases:?}");
    assert!(live.is_empty(), "everything was released");
    assert_eq!(processes.len(), 1);
    assert!(references.iter().all(|id| all.contains(id)), "every reference names an object");
    // Complete events of a thread that overlap without nesting are dropped.
    slices.sort_by(|one, other| one.partial_cmp(other).unwrap());
    for pair in slices.windows(2) {
        let ((thread, start, duration), (next_thread, next, next_duration)) = (pair[0], pair[1]);
        let (end, next_end) = (start + duration, next + next_duration);
        // Sums of numbers with three decimals differ in the last bits.
        let (is_after, is_within) = (next > end - 1e-4, next_end < end + 1e-4);
        assert!(thread != next_thread || is_after || is_within, "{pair:?}");
    }
    (tracks, names)
}

/// Collects the ids to which an event refers.
fn find_references<'a>(value: &'a serde_json::Value, found: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(fields) => {
            found.extend(fields.get("id_ref").and_then(|id| id.as_str()));
            fields.values().for_each(|field| find_references(field, found));
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| find_references(value, found)),
        _ => {}
    }
}

#[test]
fn a_chrome_trace_follows_the_format() {
    let folder = Folder::new();
    let file = folder.path().join("program.json");
    record_program(&file, 4, 300, Does::Usual);
    let (tracks, names) = check_chrome_trace(&file);
    for track in [
        "Local memory: budget",
        "Local memory: usage",
        "Heaps: reserved",
        "Heaps: used",
        "Fragmentation: millionths",
    ] {
        assert!(tracks.contains(track), "{tracks:?}");
    }
    for name in ["ResourceAllocator.CreatePool", "Pool.Release"] {
        assert!(names.contains_key(name), "{names:?}");
    }
}

/// A session of these actions, 1 ms apart.
fn session(actions: impl IntoIterator<Item = Action>) -> Vec<u8> {
    session_at((1..).map(|number| number * 1000).zip(actions))
}

/// A buffer in a heap.
fn one_buffer(heap_type: RecordedHeapType) -> [Action; 3] {
    let place = Action::Place { allocation: 1, heap: 1, offset: 0 };
    [heap(1, 1 << 20, heap_type), buffer(1, 65536, heap_type), place]
}

/// A residency manager records the implicit heaps of committed resources, which may be smaller than any heap.
#[test]
fn small_committed_resources_are_no_obstacle() {
    let folder = Folder::new();
    let (heap_type, flags, name) = (RecordedHeapType::Default, 0, None);
    let implicit = Heap { id: 2, size: 4096, alignment: 4096, heap_type, flags, name: None };
    let texture = Allocation { id: 2, size: 4096, kind: ResourceKind::Texture, heap_type, flags, name };
    let placement = Some(Placement::Committed);
    let submit = Action::Submit { queue: 0, fence_value: 1, sets: vec![0] };
    let path = folder.file(
        "small.hws",
        session(one_buffer(heap_type).into_iter().chain([
            Action::CreateHeap(implicit),
            Action::Allocate(texture),
            Action::Describe(Box::new(Description { allocation: 2, placement, ..Default::default() })),
            Action::Place { allocation: 2, heap: 2, offset: 0 },
            Action::DefineSet { set: 0, heaps: vec![1, 2] },
            submit.clone(),
            submit,
        ])),
    );
    let made = heapwright(["recreate", &path]).ok();
    assert!(made.starts_with("1 heaps and 1 buffers recreated"), "{made}");
    heapwright(["residency", &path]).ok();
}

#[test]
fn objects_are_recreated_on_the_chosen_gpu() {
    let folder = Folder::new();
    let path = folder.file("visible.hws", session(one_buffer(RecordedHeapType::GpuUpload)));
    let made = heapwright(["recreate", &path]).ok();
    assert!(made.starts_with("1 heaps and 1 buffers recreated"), "{made}");
    // This GPU has no such heaps, other than the default one.
    let outcome = heapwright(["recreate", "--device", "host:discrete-2gib", &path]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("heap 1: CreateHeap failed"), "{}", outcome.stderr);
}

#[test]
fn a_session_is_not_recreated_from_standard_input() {
    let mut recreate = command();
    let outcome = run(recreate.args(["recreate", "-"]).stdin(std::process::Stdio::null()));
    assert!(outcome.one_error(2).contains("standard input can be read only once"), "{}", outcome.stderr);
}

#[test]
fn a_recording_replaces_no_input() {
    let folder = Folder::new();
    let rows = "0,alloc,0,4096\n5,alloc,1,70000\n9,free,0,4096\n";
    let csv = folder.trace("t.csv", rows);
    let hws = folder.path().join("t.hws").to_str().unwrap().to_owned();
    heapwright(["convert", &csv, &hws]).ok();
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    for path in [&csv, &hws] {
        let before = std::fs::read(path).unwrap();
        let other_spelling = folder.path().join(".").join(Path::new(path).file_name().unwrap());
        for args in [&["replay", path][..], &["residency", path]] {
            let mut command = command();
            let outcome = run(command.args(args).env("HEAPWRIGHT_RECORD", &other_spelling));
            let expected = "the recording would overwrite an input file";
            assert!(outcome.one_error(2).contains(expected), "{args:?}: {}", outcome.stderr);
            assert_eq!(std::fs::read(path).unwrap(), before, "{args:?}");
        }
        // The page's replay has a recording of its own.
        let mut command = command();
        run(command.args(["report", "-o", &page, path]).env("HEAPWRIGHT_RECORD", &other_spelling)).ok();
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    // What records nothing reads a recording that the variable still names.
    let placed = folder.file("placed.hws", session(one_buffer(RecordedHeapType::Default)));
    let before = std::fs::read(&placed).unwrap();
    for args in [&["report", "-o", &page, &placed][..], &["recreate", &placed]] {
        run(command().args(args).env("HEAPWRIGHT_RECORD", &placed)).ok();
        assert_eq!(std::fs::read(&placed).unwrap(), before, "{args:?}");
    }
}

/// As recorded with HEAPWRIGHT_RECORD_FLAGS=objects: without frames and idle periods, whose place the times take.
#[test]
fn time_passes_in_a_replay_of_objects_alone() {
    let heap_type = RecordedHeapType::Default;
    let mut rows = String::new();
    let mut actions = vec![(0, Action::SelectAllocator { allocator: 4 })];
    for id in 0..40 {
        let (from, size) = (id * 3_000_000, if id == 0 { 64 << 20 } else { 70_000 });
        rows += &format!("{from},alloc,{id},{size}\n{},free,{id},{size}\n", from + 10);
        actions.push((from, buffer(id, size, heap_type)));
        actions.push((from + 10, Action::Free { allocation: id }));
    }
    let folder = Folder::new();
    let replay = |path: &str| -> serde_json::Value {
        let report = json(["replay", "--json", path]);
        ["peak_reserved_bytes", "mean_reserved_bytes", "held_at_end_bytes", "heaps_created"]
            .into_iter()
            .map(|key| (key.to_owned(), report[key].clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let of_trace = replay(&folder.trace("t.csv", &rows));
    assert_eq!(replay(&folder.file("t.hws", session_at(actions))), of_trace);
    assert!(of_trace["held_at_end_bytes"].as_u64() < Some(64 << 20), "idle memory is released: {of_trace}");
}

#[test]
fn the_memory_of_allocators_is_added_up() {
    let folder = Folder::new();
    let allocation = |id| buffer(id, 70_000, RecordedHeapType::Default);
    let path = folder.file(
        "two.hws",
        session([
            Action::SelectAllocator { allocator: 1 },
            allocation(1),
            Action::SelectAllocator { allocator: 2 },
            allocation(2),
            Action::Free { allocation: 1 },
        ]),
    );
    let report = json(["replay", "--json", &path]);
    assert_eq!(report["heaps_created"], 2, "{report}");
    assert_eq!(report["held_at_end_bytes"], report["peak_reserved_bytes"], "{report}");
}
