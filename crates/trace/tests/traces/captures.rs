//! Captures of GPGMM.

use heapwright_trace::gpgmm::CaptureWriter;
use heapwright_trace::session::{
    Action, Allocation, Counter, Description, Heap, HeapType, Record, ResourceKind,
};
use heapwright_trace::{EventKind, Format, Position, RecordReader, Trace};

pub(crate) const DAWN: &str = "dawn_queue_write_buffer_2023-04";
pub(crate) const DIRECTML: &str = "directml_superresolution_2022-04";
pub(crate) const WEBNN: &str = "webnn_mobilenetv2_2022-03";

pub(crate) fn capture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/captures/{name}.json.gz", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn records(bytes: &[u8]) -> Vec<Record> {
    RecordReader::new("c.json", bytes).unwrap().collect::<Result<_, _>>().unwrap()
}

fn read(json: &str) -> Result<Trace, String> {
    Trace::from_reader("c.json", json.as_bytes()).map_err(|error| error.to_string())
}

/// Returns a capture with these events.
fn events(events: &[&str]) -> String {
    format!("{{\"traceEvents\":[{}]}}", events.join(","))
}

/// Counts of allocations, buffers, textures, frees, heaps, destroyed heaps and placements.
fn counts(records: &[Record]) -> [usize; 7] {
    let count = |is: &dyn Fn(&Action) -> bool| records.iter().filter(|record| is(&record.action)).count();
    let of_kind =
        |kind| count(&|action| matches!(action, Action::Allocate(allocation) if allocation.kind == kind));
    [
        count(&|action| matches!(action, Action::Allocate(_))),
        of_kind(ResourceKind::Buffer),
        of_kind(ResourceKind::Texture),
        count(&|action| matches!(action, Action::Free { .. })),
        count(&|action| matches!(action, Action::CreateHeap(_))),
        count(&|action| matches!(action, Action::DestroyHeap { .. })),
        count(&|action| matches!(action, Action::Place { .. })),
    ]
}

#[test]
fn every_version_is_read() {
    assert_eq!(counts(&records(&capture(DAWN))), [4, 4, 0, 4, 4, 4, 0]);
    assert_eq!(counts(&records(&capture(DIRECTML))), [46, 45, 1, 46, 10, 10, 46]);
    assert_eq!(counts(&records(&capture(WEBNN))), [9, 9, 0, 9, 7, 7, 9]);
}

/// Returns the records of the capture that these records make.
fn written(records: &[Record]) -> Vec<Record> {
    let mut writer = CaptureWriter::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    let bytes = writer.finish().unwrap();
    serde_json::from_slice::<serde_json::Value>(&bytes).expect("valid JSON");
    self::records(&bytes)
}

#[test]
fn a_capture_that_is_written_again_has_the_same_records() {
    for name in [DAWN, DIRECTML, WEBNN] {
        let mut expected = records(&capture(name));
        for record in &mut expected {
            // The descriptions of textures are not in the records.
            if let Action::Allocate(allocation) = &mut record.action
                && allocation.kind == ResourceKind::Texture
            {
                (allocation.kind, allocation.heap_type) = (ResourceKind::Unknown, HeapType::Unknown);
                allocation.flags = 0;
            }
        }
        // Options, which are first, are read in the order of their names.
        let name_of = |record: &Record| match &record.action {
            Action::SetOption { name, .. } => name.clone(),
            _ => "~".into(),
        };
        expected.sort_by_key(name_of);
        assert_eq!(written(&expected), expected, "{name}");
    }
}

#[test]
fn a_session_is_written_as_a_capture() {
    let action = |time_us, action| Record { time_us, action };
    let allocation = |id, size, kind| {
        let (heap_type, flags, name) = (HeapType::Upload, 4, None);
        Action::Allocate(Allocation { id, size, kind, heap_type, flags, name })
    };
    let texture = Description {
        allocation: 6,
        dimension: 3,
        width: 64,
        height: 32,
        depth_or_array_size: 1,
        mip_levels: 1,
        format: 28,
        sample_count: 1,
        ..Description::default()
    };
    let heap =
        Heap { id: 3, size: 65536, alignment: 65536, heap_type: HeapType::Upload, flags: 0, name: None };
    let session = [
        action(1, Action::SelectAllocator { allocator: 9 }),
        action(1, Action::SetOption { name: "max_heap_size".into(), value: "1024".into() }),
        action(2, Action::CreateHeap(heap)),
        action(3, allocation(5, 100, ResourceKind::Buffer)),
        action(3, Action::Place { allocation: 5, heap: 3, offset: 512 }),
        action(3, Action::AllocationAddress { allocation: 5, address: 0x1200, size: 100 }),
        action(4, Action::Name { allocation: 5, name: "a \"quoted\" name".into() }),
        action(5, Action::Count { counter: Counter::LocalBudget, value: u64::MAX }),
        action(5, allocation(6, 8192, ResourceKind::Texture)),
        action(5, Action::Describe(Box::new(texture))),
        action(6, Action::DefineSet { set: 2, heaps: vec![3] }),
        action(6, Action::Submit { queue: 1, fence_value: 7, sets: vec![2] }),
        action(7, Action::Frame),
        action(8, Action::Free { allocation: 5 }),
        action(9, Action::DestroyHeap { heap: 3 }),
    ];
    let found: Vec<(u64, Action)> =
        written(&session).into_iter().map(|record| (record.time_us, record.action)).collect();
    assert_eq!(found[0], (1, Action::SetOption { name: "max_heap_size".into(), value: "1024".into() }));
    let is_texture = |(_, action): &&(u64, Action)| matches!(action, Action::Allocate(allocation) if allocation.kind == ResourceKind::Texture && allocation.size == 8192);
    assert_eq!(found.iter().filter(is_texture).count(), 1);
    for expected in [
        (3, allocation(0, 100, ResourceKind::Buffer)),
        (3, Action::Place { allocation: 0, heap: 0, offset: 512 }),
        (8, Action::Free { allocation: 0 }),
        (9, Action::DestroyHeap { heap: 0 }),
    ] {
        assert!(found.contains(&expected), "{expected:?}: {found:?}");
    }
    let submits = |(_, action): &&(u64, Action)| matches!(action, Action::Submit { .. });
    assert_eq!(found.iter().filter(submits).count(), 1);
}

/// GPGMM writes the largest integer as the offset of a standalone allocation.
#[test]
fn a_standalone_allocation_is_at_the_start_of_its_heap() {
    let event = |name: &str, phase: &str, id: u32, args: &str| {
        format!(r#"{{"name":"{name}","ph":"{phase}","tid":1,"ts":1,"id":"{id:#x}"{args}}}"#)
    };
    let snapshot = |fields: &str| format!(r#","args":{{"snapshot":{{{fields}}}}}"#);
    let placed =
        snapshot(r#""SizeInBytes":65536,"HeapOffset":18446744073709551615,"ResourceHeap":{"id_ref":"0x7"}"#);
    let events = events(&[
        &event("Heap", "N", 7, ""),
        &event("Heap", "O", 7, &snapshot(r#""SizeInBytes":131072"#)),
        &event("ResourceAllocation", "N", 8, ""),
        &event("ResourceAllocation", "O", 8, &placed),
    ]);
    let placements: Vec<Action> = records(events.as_bytes())
        .into_iter()
        .map(|record| record.action)
        .filter(|action| matches!(action, Action::Place { .. }))
        .collect();
    assert_eq!(placements, [Action::Place { allocation: 0, heap: 0, offset: 0 }]);
}

#[test]
fn peaks_are_those_of_the_captured_resources() {
    // The research's table counts in units of 64 KiB.
    for (name, allocations, peak_mib) in [(DAWN, 4, 12.1), (DIRECTML, 46, 701.6), (WEBNN, 9, 48.1)] {
        let trace = Trace::from_reader(format!("{name}.json.gz"), &capture(name)[..]).unwrap();
        assert_eq!((trace.name(), trace.format()), (name, Format::Capture));
        assert_eq!(trace.allocation_count(), allocations);
        let (mut live, mut peak) = (0, 0);
        for event in trace.events() {
            let size = event.size.get().next_multiple_of(64 << 10);
            match event.kind {
                EventKind::Alloc => live += size,
                EventKind::Free => live -= size,
            }
            peak = peak.max(live);
        }
        assert_eq!(live, 0, "{name} frees everything");
        let found = f64::from(u32::try_from(peak >> 10).unwrap()) / 1024.0;
        assert!((found - peak_mib).abs() < 0.06, "{name}: {found} MiB");
    }
}

#[test]
fn descriptions_and_placements_are_read() {
    let mut records = records(&capture(DIRECTML));
    // The allocator's options come first; a test of their own has them.
    records.retain(|record| !matches!(record.action, Action::SetOption { .. }));
    let Action::CreateHeap(heap) = &records[0].action else { panic!("{:?}", records[0]) };
    assert_eq!((heap.id, heap.size, heap.alignment), (0, 4 << 20, 4 << 20));
    assert_eq!(heap.heap_type, HeapType::Upload);
    let Action::Allocate(allocation) = &records[1].action else { panic!("{:?}", records[1]) };
    assert_eq!((allocation.size, allocation.heap_type), (96, HeapType::Upload));
    assert_eq!(records[2].action, Action::Place { allocation: 0, heap: 0, offset: 0 });
    assert!(records.is_sorted_by_key(|record| record.time_us));
}

const ALLOCATOR: &str = r#"{"name":"ResourceAllocator","ph":"N","id":"0xa","ts":1}"#;

fn call(thread: u32, width: u64) -> String {
    format!(
        r#"{{"name":"ResourceAllocator.CreateResource","ph":"i","tid":{thread},"ts":5,"args":{{"allocationDescriptor":{{"HeapType":1}},"resourceDescriptor":{{"Dimension":1,"Width":{width}}}}}}}"#
    )
}

fn allocation(phase: &str, thread: u32, id: u64) -> String {
    format!(r#"{{"name":"IResourceAllocation","ph":"{phase}","tid":{thread},"ts":7.5,"id":"{id:#x}"}}"#)
}

/// heapwright writes the options that were set, under their own names, beside GPGMM's fields.
#[test]
fn the_options_of_an_allocator_are_those_that_were_set() {
    let options = |snapshot: &str| -> Vec<(String, String)> {
        let snapshot = format!(
            r#"{{"name":"ResourceAllocator","ph":"O","id":"0xa","ts":1,"args":{{"snapshot":{snapshot}}}}}"#
        );
        let records = records(events(&[ALLOCATOR, &snapshot]).as_bytes());
        let options = records.into_iter().map(|record| match record.action {
            Action::SetOption { name, value } => (name.into(), value.into()),
            other => panic!("{other:?}"),
        });
        options.collect()
    };
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(options(r#"{"PoolAlgorithm":3,"heapwright":{}}"#), []);
    assert_eq!(
        options(r#"{"PoolAlgorithm":3,"heapwright":{"release_size":"3145728","max_heap_size":"1024"}}"#),
        [text("max_heap_size", "1024"), text("release_size", "3145728")]
    );
    assert_eq!(
        options(r#"{"PoolAlgorithm":3,"MaxResourceHeapSize":1024}"#),
        [
            text("suballocation_algorithm", "slab"),
            text("empty_heap_policy", "fixed-pool"),
            text("max_heap_size", "1024")
        ]
    );
}

#[test]
fn calls_belong_to_the_allocation_of_their_thread_and_ids_are_reused() {
    let json = events(&[
        ALLOCATOR,
        &call(1, 100),
        &call(2, 200),
        &allocation("N", 2, 0x20),
        // This call has failed.
        &call(2, 300),
        &call(2, 400),
        &allocation("N", 1, 0x10),
        &allocation("D", 1, 0x20),
        &allocation("N", 2, 0x20),
    ]);
    let trace = read(&json).unwrap();
    let sizes: Vec<_> =
        trace.events().iter().map(|event| (event.allocation.get(), event.size.get())).collect();
    assert_eq!(sizes, [(0, 200), (1, 100), (0, 200), (2, 400)]);
    assert_eq!(trace.position(2), Position::Event(3));
}

#[test]
fn an_allocation_without_call_has_the_size_of_its_snapshot_or_is_skipped() {
    let snapshot = r#"{"name":"GPUMemoryAllocation","ph":"O","ts":9,"id":"0x10","args":{"snapshot":{"SizeInBytes":4096}}}"#;
    let json = events(&[
        &allocation("N", 1, 0x10),
        &allocation("N", 1, 0x11),
        snapshot,
        snapshot,
        &allocation("D", 1, 0x11),
        &allocation("D", 1, 0x10),
    ]);
    let trace = read(&json).unwrap();
    assert_eq!((trace.events().len(), trace.events()[0].size.get()), (2, 4096));
}

#[test]
fn submissions_are_read() {
    let heap = |phase: &str, args: &str| {
        format!(r#"{{"name":"IResidencyHeap","ph":"{phase}","id":"0x5","tid":1,"ts":2{args}}}"#)
    };
    let json = events(&[
        &heap("N", ""),
        &heap("O", r#","args":{"snapshot":{"SizeInBytes":65536,"Alignment":65536,"DebugName":"h"}}"#),
        r#"{"name":"ResidencyManager.ExecuteCommandLists","ph":"i","tid":1,"ts":3,"args":{"ResidencyLists":[{"Heaps":[{"id_ref":"0x5"},{"id_ref":"0x6"}]},{}]}}"#,
        &heap("D", ""),
    ]);
    let actions: Vec<_> = records(json.as_bytes()).into_iter().skip(1).map(|record| record.action).collect();
    assert_eq!(
        actions,
        [
            Action::DefineSet { set: 0, heaps: vec![0] },
            Action::DefineSet { set: 1, heaps: vec![] },
            Action::Submit { queue: 0, fence_value: 1, sets: vec![0, 1] },
            Action::DestroyHeap { heap: 0 },
        ]
    );
}

#[test]
fn foreign_events_are_skipped() {
    let json = events(&[
        r#"{"ph":"X","args":{"snapshot":7,"x":[{"y":null}]},"dur":4}"#,
        r#"{"name":"ResourceAllocator.CreateResource","ph":"i","args":{"Description":"\u00e4","ID":2}}"#,
        ALLOCATOR,
    ]);
    assert!(read(&json).unwrap().events().is_empty());
}

#[test]
fn errors_name_the_file_and_the_offset() {
    let error = |body: &[&str]| read(&events(body)).unwrap_err();
    let start = "c.json: byte ";
    assert_eq!(
        error(&[]),
        format!(
            "{start}18: the Chrome trace has no event of GPGMM, whose captures need its recording flags for API objects and API calls"
        )
    );
    assert_eq!(error(&["{\"ph\" 1}"]), format!("{start}22: invalid JSON: expected `:`"));
    let second = 16 + ALLOCATOR.len() + 1;
    assert_eq!(
        error(&[ALLOCATOR, &allocation("D", 1, 0x33)]),
        format!("{start}{second}: \"IResourceAllocation\" 0x33 is deleted although it does not exist")
    );
    assert_eq!(
        error(&[ALLOCATOR, r#"{"name":"Heap","ph":"N"}"#]),
        format!("{start}{second}: event \"Heap\" has no id")
    );
    assert_eq!(
        error(&[ALLOCATOR, &call(1, 0)]),
        format!("{start}{second}: resourceDescriptor: Width is 0, but must be at least 1")
    );
    let twice = [&*allocation("N", 1, 1), &*allocation("N", 1, 1)];
    assert!(error(&twice).ends_with("\"IResourceAllocation\" 0x1 is created although it exists"));
    assert!(error(&[r#"{"name":"Heap","ph":"N","id":"xyz"}"#]).contains("hexadecimal"));
}
