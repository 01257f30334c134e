//! Memory snapshots of PyTorch: pickles and JSON, damaged ones, and those that ask for too much.

use heapwright_trace::session::{Action, Allocation, Heap, HeapType, Record, ResourceKind};
use heapwright_trace::{Format, RecordReader, Trace};
use proptest::prelude::*;

use crate::properties::{mutate, mutation};

const PICKLES: [&[u8]; 3] = [
    include_bytes!("../snapshots/training.2.pickle"),
    include_bytes!("../snapshots/training.4.pickle"),
    include_bytes!("../snapshots/training.5.pickle"),
];
const JSON: &[u8] = include_bytes!("../snapshots/training.json");

/// The instructions of pickles.
const PICKLED: &[u8] = b"]})(KMJGNXhqjreust.02\x80\x85\x86\x87\x88\x8a\x8c\x94\x95";

fn records(bytes: &[u8]) -> Result<Vec<Record>, String> {
    let reader = RecordReader::new("s.pickle", bytes).map_err(|error| error.to_string())?;
    assert_eq!(reader.format(), Format::Snapshot);
    reader.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

#[test]
fn a_snapshot_has_its_allocations_and_segments() {
    let mut heaps = 0..;
    let mut heap = |time_us, size| {
        let heap_type = HeapType::Default;
        let id = heaps.next().unwrap();
        Record {
            time_us,
            action: Action::CreateHeap(Heap { id, size, alignment: 0, heap_type, flags: 0, name: None }),
        }
    };
    let mut allocations = 0..;
    let mut allocation = |time_us, size, name: Option<&str>| {
        let id = allocations.next().unwrap();
        let (kind, heap_type, name) = (ResourceKind::Buffer, HeapType::Default, name.map(Into::into));
        Record { time_us, action: Action::Allocate(Allocation { id, size, kind, heap_type, flags: 0, name }) }
    };
    let place = |time_us, allocation, heap, offset| Record {
        time_us,
        action: Action::Place { allocation, heap, offset },
    };
    let free = |time_us, allocation| Record { time_us, action: Action::Free { allocation } };
    let (forward, step) = (Some("forward (model.py:12)"), Some("step (adam.py:33)"));
    let expected = [
        // Before the history, in the order of addresses.
        heap(0, 1 << 20),
        heap(0, 20 << 20),
        allocation(0, 4096, None),
        place(0, 0, 0, 0),
        allocation(0, 20 << 20, forward),
        place(0, 1, 1, 0),
        heap(0, 2 << 20),
        allocation(1, 1000, forward),
        place(1, 2, 2, 0),
        allocation(5, 500_000, step),
        place(5, 3, 2, 1024),
        free(10, 2),
        free(12, 0),
        Record { time_us: 13, action: Action::DestroyHeap { heap: 0 } },
        allocation(14, 700, step),
        place(14, 4, 2, 0),
    ];
    for bytes in PICKLES.into_iter().chain([JSON]) {
        assert_eq!(records(bytes).unwrap(), expected);
    }
    let trace = Trace::from_reader("dir/net.pickle", PICKLES[1]).unwrap();
    assert_eq!(
        (trace.name(), trace.allocation_count(), trace.peak_live().get()),
        ("net", 5, (20 << 20) + 505_096)
    );
}

fn json_of(entries: &str) -> String {
    format!(r#"{{"segments": [], "device_traces": [[{entries}]]}}"#)
}

fn events(json: &str) -> Vec<(u64, bool, u64)> {
    let trace = Trace::from_reader("s.json", json.as_bytes()).unwrap();
    let events = trace.events().iter();
    events
        .map(|event| (event.time_us, event.kind == heapwright_trace::EventKind::Alloc, event.size.get()))
        .collect()
}

#[test]
fn free_requested_frees_if_nothing_completes() {
    let requested = json_of(
        r#"{"action":"alloc","addr":1,"size":8,"time_us":70},{"action":"free_requested","addr":1,"size":8,"time_us":75}"#,
    );
    assert_eq!(events(&requested), [(0, true, 8), (5, false, 8)]);
    // Without times, entries are counted. An address that is allocated again was freed.
    let counted = json_of(
        r#"{"action":"alloc","addr":1,"size":8},{"action":"alloc","addr":1,"size":0},{"action":"alloc","addr":1,"size":9}"#,
    );
    assert_eq!(events(&counted), [(0, true, 8), (1, false, 8), (2, true, 9)]);
}

#[test]
fn gpus_have_addresses_of_their_own_and_one_time() {
    let entry = |time, size| format!(r#"{{"action":"alloc","addr":4096,"size":{size},"time_us":{time}}}"#);
    let json = format!(
        r#"{{"device_traces":[[{},{}],[],[{}]]}}"#,
        entry(100, 1),
        r#"{"action":"free_completed","addr":4096,"size":1,"time_us":130}"#,
        entry(120, 2)
    );
    assert_eq!(events(&json), [(0, true, 1), (20, true, 2), (30, false, 1)]);
}

#[test]
fn a_list_of_segments_is_a_snapshot_of_one_moment() {
    let json = r#"[{"device": 0, "address": 100, "total_size": 50, "stream": 0, "blocks": [
        {"size": 20, "state": "inactive"}, {"size": 30, "requested_size": 25, "state": "active_allocated"}]}]"#;
    let records = records(json.as_bytes()).unwrap();
    assert!(matches!(records[1].action, Action::Allocate(Allocation { size: 25, .. })), "{records:?}");
    assert!(matches!(records[2].action, Action::Place { offset: 20, .. }), "{records:?}");
}

#[test]
fn expandable_segments_are_no_heaps() {
    let json = r#"{"segments": [{"device": 0, "address": 0, "total_size": 50, "is_expandable": true, "blocks": []}],
        "device_traces": [[{"action": "segment_map", "addr": 0, "size": 50}, {"action": "alloc", "addr": 0, "size": 5}]]}"#;
    assert_eq!(records(json.as_bytes()).unwrap().len(), 1);
}

#[test]
fn what_is_no_snapshot_is_an_error() {
    let no_snapshot =
        "s.pickle: is no memory snapshot of PyTorch, which has the keys \"segments\" and \"device_traces\"";
    for (bytes, expected) in [
        // os.system("true"), which is not called.
        (&b"\x80\x04cos\nsystem\n(\x8c\x04truetR."[..], no_snapshot),
        (b"\x80\x04}\x8c\x05model]s.", no_snapshot),
        (b"\x80\x04K\x01.", no_snapshot),
        (b"\x80\x04", "s.pickle: byte 2: unexpected end of the pickle; the file may be truncated"),
        (b"\x80\x04.", "s.pickle: byte 3: invalid pickle: an instruction finds no value"),
        (b"\x80\x04h\x05.", "s.pickle: byte 4: invalid pickle: it refers to value 5, which it does not have"),
        (b"\x80\x04\xff", "s.pickle: byte 3: invalid pickle: unknown instruction 0xff"),
        (
            br#"{"device_traces": [[{"action": "alloc", "size": 5}]]}"#,
            "s.pickle: device_traces[0][0]: there is no address",
        ),
        (
            br#"{"device_traces": [[{"action": "alloc", "addr": -1, "size": 5}]]}"#,
            "s.pickle: device_traces[0][0]: addr is no number from 0 to 2^64 - 1",
        ),
        (br#"{"device_traces": [7]}"#, "s.pickle: device_traces[0] is no list"),
        (br#"{"device_traces": [["#, "s.pickle: invalid JSON: EOF while parsing a list at line 1 column 20"),
    ] {
        assert_eq!(records(bytes).unwrap_err(), expected, "{}", bytes.escape_ascii());
    }
}

/// Pickles that would take any amount of memory or stack if each reference were a copy.
#[test]
fn small_pickles_do_not_grow() {
    // Each tuple has the previous one twice.
    let mut doubled = b"\x80\x04)".to_vec();
    (0..1000).for_each(|_| doubled.extend(b"2\x86"));
    doubled.push(b'.');
    // A million lists, each in the next one.
    let mut deep = b"\x80\x04)".to_vec();
    deep.extend([0x85].repeat(1_000_000));
    deep.push(b'.');
    // A list that contains itself.
    let recursive = b"\x80\x04]\x94h\0a.".to_vec();
    // Each list has the previous one a hundred times, by its number.
    let mut recalled = b"\x80\x04]\x94".to_vec();
    for number in 0..200_u8 {
        recalled.extend(b"](");
        recalled.extend([b'h', number].repeat(100));
        recalled.extend(b"e\x94");
    }
    recalled.push(b'.');
    for bytes in [doubled, deep, recursive, recalled] {
        assert!(records(&bytes).unwrap_err().contains("is no memory snapshot"));
    }
    // Texts and numbers that claim to be long.
    for claim in [
        &b"\x80\x04\x8d\0\0\0\0\0\0\0\x40"[..],
        b"\x80\x04\x8e\0\0\0\0\0\0\0\x40",
        b"\x80\x04\x8b\xff\xff\xff\xff",
    ] {
        assert!(records(claim).is_err());
    }
    // Copies of a value take no memory of their own, but places on the stack.
    let mut stack = b"\x80\x04)".to_vec();
    stack.extend(b"2".repeat((1 << 20) + 1));
    assert!(records(&stack).unwrap_err().contains("its stack exceeds the limit of 1048576 values"));
}

proptest! {
    /// Whatever was damaged, the reader returns records that keep the rules, or an error.
    #[test]
    fn damaged_snapshots_do_not_panic(which in 0..4_usize, mutations in proptest::collection::vec(mutation(PICKLED, 40), 1..8)) {
        let mut bytes = PICKLES.get(which).copied().unwrap_or(JSON).to_vec();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        if let Ok(reader) = RecordReader::new("s.pickle", &bytes[..]) {
            reader.take(100_000).for_each(drop);
        }
    }

    /// Any instructions are followed to an end.
    #[test]
    fn any_instructions_end(instructions in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = [b"\x80\x04", &instructions[..]].concat();
        if let Ok(reader) = RecordReader::new("s.pickle", &bytes[..]) {
            reader.for_each(drop);
        }
    }
}
