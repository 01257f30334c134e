//! Sessions: round trips of any records.

use std::io::Cursor;

use heapwright_trace::session::{
    Action, Allocation, Asked, BareMemory, Counter, Description, Heap, HeapType, MAX_CONTENTS_LEN,
    MAX_HEAP_TYPES, MAX_NAME_LEN, Placement, PlacementReason, Record, Refusal, ResourceKind, SessionReader,
    SessionWriter, TILE_SIZE, WriteError,
};
use heapwright_trace::{Format, RecordReader, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) fn write(records: &[Record]) -> Vec<u8> {
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

/// Reads a session to its end or first error. The offset is that of a truncation.
pub(crate) fn read(bytes: &[u8]) -> (Vec<Record>, Result<Option<u64>, String>) {
    let mut reader = match SessionReader::new("s.hws", bytes) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Err(error.to_string())),
    };
    let mut records = Vec::new();
    for record in reader.by_ref() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => return (records, Err(error.to_string())),
        }
    }
    (records, Ok(reader.truncated_at()))
}

fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, any::<u64>(), (0..3_u64).prop_map(|back| u64::MAX - back)]
}

fn name() -> impl Strategy<Value = Option<Box<str>>> {
    proptest::option::of(".{1,20}".prop_map(Into::into))
}

fn heap_type() -> impl Strategy<Value = HeapType> {
    (0..6_u8).prop_map(|value| HeapType::from_d3d12(value).unwrap())
}

fn action() -> impl Strategy<Value = Action> {
    let kind = select(&[ResourceKind::Unknown, ResourceKind::Buffer, ResourceKind::Texture][..]);
    prop_oneof![
        (integer(), 1..=u64::MAX, kind, heap_type(), any::<u32>(), name()).prop_map(
            |(id, size, kind, heap_type, flags, name)| {
                Action::Allocate(Allocation { id, size, kind, heap_type, flags, name })
            }
        ),
        integer().prop_map(|allocation| Action::Free { allocation }),
        (integer(), integer(), integer(), heap_type(), any::<u32>(), name()).prop_map(
            |(id, size, alignment, heap_type, flags, name)| {
                Action::CreateHeap(Heap { id, size, alignment, heap_type, flags, name })
            }
        ),
        integer().prop_map(|heap| Action::DestroyHeap { heap }),
        (integer(), integer(), integer()).prop_map(|(allocation, heap, offset)| Action::Place {
            allocation,
            heap,
            offset
        }),
        (integer(), integer(), vec(any::<u8>(), 0..4000))
            .prop_map(|(allocation, offset, bytes)| Action::Contents { allocation, offset, bytes }),
        (integer(), vec(integer(), 0..2000)).prop_map(|(set, heaps)| Action::DefineSet { set, heaps }),
        (integer(), integer(), vec(integer(), 0..5)).prop_map(|(queue, fence_value, sets)| Action::Submit {
            queue,
            fence_value,
            sets
        }),
        (integer(), integer(), integer()).prop_map(|(heap, address, size)| Action::HeapAddress {
            heap,
            address,
            size
        }),
        (integer(), integer(), integer()).prop_map(|(allocation, address, size)| Action::AllocationAddress {
            allocation,
            address,
            size
        }),
        description().prop_map(|description| Action::Describe(Box::new(description))),
        (integer(), select(&PlacementReason::ALL[..]))
            .prop_map(|(allocation, reason)| Action::Reason { allocation, reason }),
        (integer(), ".{1,20}").prop_map(|(allocation, name)| Action::Name { allocation, name: name.into() }),
        integer().prop_map(|allocator| Action::SelectAllocator { allocator }),
        (".{0,20}", ".{0,20}")
            .prop_map(|(name, value)| Action::SetOption { name: name.into(), value: value.into() }),
        prop_oneof![Just(Action::Frame), Just(Action::IdlePeriod)],
        integer().prop_map(|bytes| Action::ReleaseHeaps { bytes }),
        (integer(), any::<bool>()).prop_map(|(heap, is_evicted)| match is_evicted {
            true => Action::Evict { heap },
            false => Action::MakeResident { heap },
        }),
        (select(&Counter::ALL[..]), integer()).prop_map(|(counter, value)| Action::Count { counter, value }),
        prop_oneof![
            integer().prop_map(|parent| Action::NestAllocator { parent }),
            Just(Action::DropAllocator),
            (integer(), vec((".{0,20}", ".{0,20}"), 0..10)).prop_map(|(pool, options)| {
                let options = options.into_iter().map(|(name, value)| (name.into(), value.into()));
                Action::CreatePool { pool, options: options.collect() }
            }),
            integer().prop_map(|pool| Action::DropPool { pool }),
            (integer(), integer()).prop_map(|(allocation, pool)| Action::UsePool { allocation, pool }),
            integer().prop_map(|pool| Action::ReleasePool { pool }),
            (any::<bool>(), integer()).prop_map(|(is_free, nanoseconds)| Action::HeapTime {
                heap_type: HeapType::Upload,
                is_free,
                nanoseconds,
            }),
            (integer(), proptest::option::of(integer()), any::<bool>())
                .prop_map(|(heap, pool, is_shared)| Action::PrefetchHeap { heap, pool, is_shared }),
        ],
        refusal(),
        defragmentation(),
        tiles(),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let memory = (any::<u8>(), integer());
    let memory = memory.prop_map(|(resources, alignment)| BareMemory { resources, alignment });
    (vec(heap_type(), 0..=MAX_HEAP_TYPES), any::<u32>(), proptest::option::of(memory))
        .prop_map(|(heap_types, uses, memory)| Asked { heap_types, uses, memory })
}

/// Requests in other ways than a description says, and those that fail.
fn refusal() -> impl Strategy<Value = Action> {
    let pool = || proptest::option::of(integer());
    prop_oneof![
        (integer(), asked()).prop_map(|(allocation, request)| Action::Ask { allocation, request }),
        (description(), any::<u32>(), asked(), pool(), any::<bool>()).prop_map(
            |(description, resource_flags, request, pool, is_out_of_memory)| {
                Action::Refuse(Box::new(Refusal {
                    description,
                    resource_flags,
                    request,
                    pool,
                    is_out_of_memory,
                }))
            }
        ),
        vec((".{0,20}", ".{0,20}"), 0..10).prop_map(|options| {
            let options = options.into_iter().map(|(name, value)| (name.into(), value.into()));
            Action::RefusePool { options: options.collect() }
        }),
    ]
}

fn tiles() -> impl Strategy<Value = Action> {
    let kind = select(vec![ResourceKind::Unknown, ResourceKind::Buffer, ResourceKind::Texture]);
    let memory = proptest::option::of((integer(), any::<u32>()));
    prop_oneof![
        (integer(), any::<u32>(), kind, ".{1,20}").prop_map(|(resource, tiles, kind, name)| {
            Action::Reserve { resource, tiles, kind, name: Some(name.into()) }
        }),
        (integer(), any::<u32>(), any::<u32>(), memory).prop_map(|(resource, first, count, memory)| {
            Action::MapTiles { resource, first, count, memory }
        }),
        integer().prop_map(|resource| Action::Unreserve { resource }),
    ]
}

fn defragmentation() -> impl Strategy<Value = Action> {
    prop_oneof![
        (integer(), proptest::option::of(integer()))
            .prop_map(|(run, pool)| Action::BeginDefragmentation { run, pool }),
        (integer(), any::<u32>(), integer(), proptest::option::of(integer()), any::<u32>()).prop_map(
            |(run, moves, bytes, time_checks, planned)| Action::StepDefragmentation {
                run,
                moves,
                bytes,
                time_checks,
                planned
            }
        ),
        (integer(), integer(), integer()).prop_map(|(run, number, allocation)| Action::CompleteMove {
            run,
            number,
            allocation
        }),
        (integer(), integer()).prop_map(|(run, number)| Action::AbandonMove { run, number }),
        integer().prop_map(|run| Action::EndDefragmentation { run }),
    ]
}

fn description() -> impl Strategy<Value = Description> {
    let placement = proptest::option::of(select(&Placement::ALL[..]));
    let whole = (placement, any::<[u32; 9]>(), any::<u8>(), any::<[u16; 2]>());
    (integer(), integer(), integer(), integer(), whole).prop_map(
        |(allocation, padding, alignment, width, (placement, numbers, strategy, small))| Description {
            allocation,
            placement,
            allocation_flags: numbers[0],
            heap_flags: numbers[1],
            padding,
            strategy,
            initial_state: numbers[2],
            dimension: numbers[3],
            alignment,
            width,
            height: numbers[4],
            depth_or_array_size: small[0],
            mip_levels: small[1],
            format: numbers[5],
            sample_count: numbers[6],
            sample_quality: numbers[7],
            layout: numbers[8],
        },
    )
}

pub(crate) fn records(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Record>> {
    vec((prop_oneof![9 => 0..1000_u64, 1 => any::<u64>()], action()), len).prop_map(|steps| {
        let mut time_us = 0_u64;
        let record = |(wait, action)| {
            time_us = time_us.saturating_add(wait);
            Record { time_us, action }
        };
        steps.into_iter().map(record).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn written_records_are_read_back(records in records(0..300)) {
        let bytes = write(&records);
        prop_assert_eq!(read(&bytes), (records, Ok(None)));
    }

    #[test]
    fn a_session_is_complete_after_each_checkpoint(records in records(1..60), steps in vec(1..20_usize, 1..6)) {
        let mut writer = SessionWriter::new(Cursor::new(Vec::new())).unwrap();
        let mut written = 0;
        for step in steps {
            let end = records.len().min(written + step);
            records[written..end].iter().for_each(|record| writer.write(record).unwrap());
            written = end;
            writer.checkpoint().unwrap();
            let bytes = writer.get_mut().get_ref().clone();
            prop_assert_eq!(read(&bytes), (records[..written].to_vec(), Ok(None)));
        }
    }

    #[test]
    fn flushed_records_are_read_back_without_an_end(records in records(1..60), flushed in 1..60_usize) {
        let flushed = flushed.min(records.len());
        let mut bytes = Vec::new();
        let mut writer = SessionWriter::new(&mut bytes).unwrap();
        for (place, record) in records.iter().enumerate() {
            writer.write(record).unwrap();
            if place + 1 == flushed {
                writer.flush().unwrap();
            }
        }
        drop(writer);
        let (found, result) = read(&bytes);
        prop_assert_eq!(result, Ok(Some(bytes.len() as u64)));
        prop_assert!(found.len() >= flushed);
        prop_assert_eq!(&found[..], &records[..found.len()]);
    }
}

fn allocate(id: u64, size: u64) -> Action {
    let (kind, heap_type) = (ResourceKind::Buffer, HeapType::Default);
    Action::Allocate(Allocation { id, size, kind, heap_type, flags: 4, name: None })
}

fn at(time_us: u64, action: Action) -> Record {
    Record { time_us, action }
}

#[test]
fn the_bytes_are_as_documented() {
    let bytes = write(&[at(300, allocate(3, 128)), at(301, Action::Free { allocation: 2 })]);
    let records = [1, 0xac, 2, 6, 0x80, 1, 1, 1, 4, 0, 2, 1, 1];
    assert_eq!(&bytes[..12], b"\x89HWS\r\n\x1a\n\x01\0\0\0");
    assert_eq!(bytes[16..24], [13, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(bytes[28..41], records);
    assert_eq!(bytes[41..49], [0; 8]);
    assert_eq!(bytes.len(), 53);
    // CRC-32 of the header and of 8 zero bytes, as other programs calculate it.
    assert_eq!(u32::from_le_bytes(bytes[49..].try_into().unwrap()), 0x6522_df69);
}

#[test]
fn invalid_records_are_refused_and_others_can_follow() {
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    writer.write(&at(5, allocate(0, 1))).unwrap();
    let error = writer.write(&at(4, Action::Free { allocation: 0 })).unwrap_err();
    assert!(matches!(error, WriteError::TimeGoesBack { previous: 5, found: 4 }), "{error}");
    let error = writer.write(&at(6, allocate(1, 0))).unwrap_err();
    assert!(matches!(error, WriteError::ZeroSize { id: 1 }), "{error}");
    let error = writer.write(&at(6, Action::DefineSet { set: 0, heaps: vec![0; 65537] })).unwrap_err();
    assert!(matches!(error, WriteError::ListTooLong { len: 65537 }), "{error}");
    let request = Asked { heap_types: vec![HeapType::Upload; 9], ..Asked::default() };
    let refusal = Refusal { request: request.clone(), ..Refusal::default() };
    for action in [Action::Ask { allocation: 0, request }, Action::Refuse(Box::new(refusal))] {
        let error = writer.write(&at(6, action)).unwrap_err().to_string();
        assert_eq!(error, "a session has at most 8 heap types of a request");
    }
    let options = vec![Default::default(); 65];
    let error = writer.write(&at(6, Action::RefusePool { options })).unwrap_err().to_string();
    assert_eq!(error, "a session has at most 64 options of a pool");
    writer.write(&at(5, Action::Free { allocation: 0 })).unwrap();
    assert_eq!(read(&writer.finish().unwrap()).0.len(), 2);
}

#[test]
fn long_contents_are_split_and_long_names_cut_off() {
    let contents: Vec<u8> = (0..=255).cycle().take(3 * MAX_CONTENTS_LEN + 5).collect();
    let name = format!("x{}", "ä".repeat(MAX_NAME_LEN));
    let heap =
        Heap { id: 1, size: 2, alignment: 3, heap_type: HeapType::Custom, flags: 4, name: Some(name.into()) };
    let written = [
        at(0, Action::Contents { allocation: 1, offset: 10, bytes: contents.clone() }),
        at(0, Action::CreateHeap(heap)),
    ];
    let (records, result) = read(&write(&written));
    assert_eq!((records.len(), result), (5, Ok(None)));
    let mut joined = Vec::<u8>::new();
    for record in &records[..4] {
        let Action::Contents { allocation: 1, offset, bytes } = &record.action else { panic!("{record:?}") };
        assert_eq!(*offset, 10 + joined.len() as u64);
        joined.extend(bytes);
    }
    assert_eq!(joined, contents);
    let Action::CreateHeap(heap) = &records[4].action else { panic!("{:?}", records[4]) };
    assert_eq!(heap.name.as_ref().unwrap().len(), MAX_NAME_LEN - 1);
}

#[test]
fn allocations_of_a_session_are_a_trace_and_are_checked() {
    let free = |allocation| Action::Free { allocation };
    let trace = |actions: Vec<Action>| {
        let records: Vec<Record> = actions.into_iter().map(|action| at(1, action)).collect();
        Trace::from_reader("dir/s.hws", &write(&records)[..]).map_err(|error| error.to_string())
    };
    let place = Action::Place { allocation: 9, heap: 0, offset: 0 };
    let valid = trace(vec![heap(0), allocate(9, 64), place, allocate(2, 16), free(9)]).unwrap();
    assert_eq!((valid.name(), valid.format()), ("s", Format::Session));
    assert_eq!((valid.events().len(), valid.peak_live().get(), valid.truncated_at()), (3, 80, None));
    assert_eq!(valid.location(2).to_string(), "dir/s.hws: event 3");
    let twice = trace(vec![allocate(9, 64), Action::Frame, allocate(9, 64)]).unwrap_err();
    assert_eq!(twice, "dir/s.hws: event 2: id 9 was already allocated on event 1; ids must be unique");
    let never = trace(vec![free(3)]).unwrap_err();
    assert_eq!(never, "dir/s.hws: event 1: free of id 3, which was never allocated");
}

#[test]
fn csv_becomes_a_session_with_the_same_events() {
    let csv = "time_us,event,id,size_bytes\n0,alloc,70,100\n1,alloc,9,50\n2,free,70,100\n";
    let records: Vec<Record> =
        RecordReader::new("t.csv", csv.as_bytes()).unwrap().collect::<Result<_, _>>().unwrap();
    let session = Trace::from_reader("t.hws", &write(&records)[..]).unwrap();
    let mut again = Vec::new();
    session.write(&mut again).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), csv);
}

fn heap(id: u64) -> Action {
    Action::CreateHeap(Heap {
        id,
        size: 64,
        alignment: 1,
        heap_type: HeapType::Default,
        flags: 0,
        name: None,
    })
}

fn allocation(id: u64) -> Action {
    let (kind, heap_type) = (ResourceKind::Buffer, HeapType::Default);
    Action::Allocate(Allocation { id, size: 16, kind, heap_type, flags: 0, name: None })
}

#[test]
fn records_refer_to_objects_that_exist() {
    let set = |heaps: &[u64]| Action::DefineSet { set: 3, heaps: heaps.to_vec() };
    let contents = |offset, len| Action::Contents { allocation: 7, offset, bytes: vec![1; len] };
    let submit = Action::Submit { queue: 0, fence_value: 1, sets: vec![3] };
    let place = Action::Place { allocation: 7, heap: 1, offset: 0 };
    let name = Action::Name { allocation: 7, name: "x".into() };
    let describe = Action::Describe(Box::new(Description { allocation: 7, ..Description::default() }));
    let free = Action::Free { allocation: 7 };
    let gone = Action::DestroyHeap { heap: 1 };
    let select = |allocator| Action::SelectAllocator { allocator };
    let nest = |parent| Action::NestAllocator { parent };
    let pool = || Action::CreatePool { pool: 5, options: Vec::new() };
    let use_pool = Action::UsePool { allocation: 7, pool: 5 };
    let drop_pool = Action::DropPool { pool: 5 };
    let prefetch = |pool| Action::PrefetchHeap { heap: 1, pool, is_shared: true };
    let refuse = |pool| Action::Refuse(Box::new(Refusal { pool, ..Refusal::default() }));
    let ask = Action::Ask { allocation: 7, request: Asked::default() };
    let begin = |pool| Action::BeginDefragmentation { run: 4, pool };
    let step =
        |planned| Action::StepDefragmentation { run: 4, moves: 9, bytes: 9, time_checks: None, planned };
    let complete = |number| Action::CompleteMove { run: 4, number, allocation: 7 };
    let abandon = |number| Action::AbandonMove { run: 4, number };
    let end = || Action::EndDefragmentation { run: 4 };
    let reserve = || Action::Reserve { resource: 2, tiles: 4, kind: ResourceKind::Texture, name: None };
    let map = |first, count, memory| Action::MapTiles { resource: 2, first, count, memory };
    let in_memory = |tile| Some((7, tile));
    let unreserve = || Action::Unreserve { resource: 2 };
    let tiled = || allocate(7, 2 * TILE_SIZE);
    let no_reserved = Some("there is no reserved resource 2");
    let no_run = Some("there is no live defragmentation 4");
    let no_move = Some("there is no planned move of defragmentation 4");
    let no_pool = Some("there is no live pool 5");
    let no_heap = Some("there is no live heap 1");
    let no_allocation = Some("there is no live allocation 7");
    let cases = [
        (
            vec![
                heap(1),
                allocation(7),
                place.clone(),
                set(&[1]),
                submit.clone(),
                gone.clone(),
                free.clone(),
            ],
            None,
        ),
        (vec![heap(1), set(&[1]), gone.clone(), submit.clone()], None),
        (vec![heap(1), gone.clone(), heap(1)], None),
        (vec![heap(1), heap(1)], Some("heap 1 is created a second time")),
        (vec![heap(1), gone.clone(), gone.clone()], no_heap),
        (vec![allocation(7), place.clone()], no_heap),
        (vec![heap(1), place], no_allocation),
        (vec![set(&[1])], no_heap),
        (vec![submit], Some("there is no residency set 3")),
        (vec![Action::Evict { heap: 1 }], no_heap),
        (vec![reserve(), tiled(), map(0, 4, None), map(3, 1, in_memory(1)), unreserve(), reserve()], None),
        (vec![reserve(), reserve()], Some("reserved resource 2 is created a second time")),
        (vec![map(0, 1, None)], no_reserved),
        (vec![reserve(), unreserve(), unreserve()], no_reserved),
        (vec![reserve(), map(4, 1, None)], Some("tiles of reserved resource 2 end at 5, beyond its 4")),
        (vec![reserve(), map(0, 1, in_memory(0))], no_allocation),
        (
            vec![reserve(), tiled(), map(0, 2, in_memory(1))],
            Some("tiles in allocation 7 end at 196608, beyond its size of 131072"),
        ),
        (vec![Action::MakeResident { heap: 1 }], no_heap),
        (vec![Action::HeapAddress { heap: 1, address: 1, size: 1 }], no_heap),
        (vec![Action::AllocationAddress { allocation: 7, address: 1, size: 1 }], no_allocation),
        (vec![allocation(7), free, name.clone()], no_allocation),
        (vec![name], no_allocation),
        (vec![describe], no_allocation),
        (vec![allocation(7), contents(4, 12)], None),
        (vec![select(1), select(2), nest(1), nest(1)], None),
        (vec![select(2), nest(1)], Some("there is no live allocator 1")),
        (vec![select(1), Action::DropAllocator, select(2), nest(1)], Some("there is no live allocator 1")),
        (vec![select(1), Action::DropAllocator, select(1)], Some("there is no live allocator 1")),
        (vec![select(1), Action::DropAllocator, allocation(7)], Some("there is no live allocator 1")),
        (vec![Action::DropAllocator, Action::Frame], Some("there is no live allocator 0")),
        (vec![pool(), allocation(7), use_pool.clone(), drop_pool.clone(), pool()], None),
        (vec![pool(), pool()], Some("pool 5 is created a second time")),
        (vec![pool(), drop_pool.clone(), drop_pool], no_pool),
        (vec![allocation(7), use_pool.clone()], no_pool),
        (vec![pool(), use_pool], no_allocation),
        (vec![Action::ReleasePool { pool: 5 }], no_pool),
        (vec![pool(), heap(1), prefetch(Some(5)), prefetch(None)], None),
        (vec![heap(1), prefetch(Some(5))], no_pool),
        (vec![pool(), prefetch(Some(5))], no_heap),
        (vec![pool(), refuse(None), refuse(Some(5))], None),
        (vec![refuse(Some(5))], no_pool),
        (vec![ask], no_allocation),
        (vec![allocation(7), begin(None), step(2), complete(1), end(), abandon(0), begin(None)], None),
        (vec![allocation(7), begin(None), step(1), step(0), end(), complete(0), complete(0)], no_move),
        (vec![pool(), begin(Some(5)), begin(None)], Some("defragmentation 4 is created a second time")),
        (vec![begin(Some(5))], no_pool),
        (vec![step(1)], no_run),
        (vec![begin(None), end(), step(1)], no_run),
        (vec![begin(None), step(1), end(), end()], no_run),
        (vec![begin(None), step(1), complete(0)], no_allocation),
        (vec![begin(None), abandon(0)], no_move),
        (
            vec![select(1), begin(None), Action::DropAllocator, begin(None)],
            Some("there is no live allocator 1"),
        ),
        (
            vec![allocation(7), contents(5, 12)],
            Some("contents of allocation 7 end at 17, beyond its size of 16"),
        ),
    ];
    for (actions, expected) in cases {
        let records: Vec<Record> = actions.into_iter().map(|action| Record { time_us: 0, action }).collect();
        let bytes = write(&records);
        let reader = RecordReader::new("s.hws", &bytes[..]).unwrap();
        let found = reader.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string());
        match (&found, expected) {
            (Ok(found), None) => assert_eq!(found, &records),
            (Err(error), Some(rule)) => assert!(error.ends_with(rule), "{records:?}: {error}"),
            _ => panic!("{records:?}: {found:?}"),
        }
    }
}
