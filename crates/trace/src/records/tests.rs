use super::*;
use crate::trace::Trace;
use std::io;

use crate::session::SessionWriter;

const HEADER: &str = "time_us,event,id,size_bytes\n";

fn read(rows: &str) -> Result<Vec<Event>, TraceError> {
    Trace::from_reader("t.csv", format!("{HEADER}{rows}").as_bytes()).map(|trace| trace.events().to_vec())
}

#[test]
fn events_carry_dense_indices() {
    let events = read("0,alloc,9,16\n0,alloc,4,32\n3,free,9,16\n3,alloc,5,8\n").unwrap();
    let expected = [
        (0, 16, 0, EventKind::Alloc),
        (0, 32, 1, EventKind::Alloc),
        (3, 16, 0, EventKind::Free),
        (3, 8, 2, EventKind::Alloc),
    ];
    let found: Vec<_> = events
        .iter()
        .map(|event| (event.time_us, event.size.get(), event.allocation.get(), event.kind))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_header_alone_is_a_trace_without_events() {
    assert!(read("").unwrap().is_empty());
    assert_eq!(RecordReader::new("t.csv", HEADER.trim_end().as_bytes()).unwrap().count(), 0);
}

#[test]
fn violations_name_their_line_and_the_rule() {
    let max = u64::MAX;
    assert_eq!(read(&format!("0,alloc,0,{max}\n0,free,0,{max}\n0,alloc,1,{max}\n")).unwrap().len(), 3);
    let long = format!("0,alloc,0,16\n{}\n", "1".repeat(4097));
    let overflow = format!("0,alloc,0,{max}\n0,alloc,1,1\n");
    let twice = "4: id 7 was already allocated on line 2; ids must be unique";
    for (rows, expected) in [
        ("0,alloc,7,16\n0,alloc,8,16\n1,alloc,7,16\n", twice),
        ("0,alloc,7,16\n0,free,7,16\n1,alloc,7,16\n", twice),
        ("0,free,3,16\n", "2: free of id 3, which was never allocated"),
        ("0,alloc,3,16\n1,free,3,16\n2,free,3,16", "4: free of id 3, which was already freed on line 3"),
        (
            "0,alloc,3,16\n1,free,3,17\n",
            "3: free of id 3 has size_bytes 17, but 16 bytes were allocated on line 2",
        ),
        (
            "5,alloc,0,1\n5,alloc,1,1\n4,alloc,2,1\n",
            "4: time_us decreases from 5 to 4; events must be in order of time",
        ),
        (&overflow, "3: the sum of the sizes of all live allocations exceeds 64 bits"),
        ("0,alloc,0,16\n0,alloc,x,16\n0,alloc,y,16\n", "3: id must be decimal digits, found \"x\""),
        (
            "0,alloc,0,16\n\n0,alloc,1,16\n",
            "3: expected 4 fields (time_us,event,id,size_bytes), found 0: \"\"",
        ),
        (&long, "3: the line exceeds the limit of 4096 bytes"),
    ] {
        assert_eq!(read(rows).unwrap_err().to_string(), format!("t.csv:{expected}"));
    }
}

#[test]
fn events_in_memory_are_checked_as_those_of_files() {
    let event = |time_us, kind, id, size| (time_us, kind, id, heapwright_core::ByteSize::new(size));
    let events = [
        event(0, EventKind::Alloc, 7, 16),
        event(3, EventKind::Alloc, 2, 8),
        event(3, EventKind::Free, 7, 16),
    ];
    let trace = Trace::from_events("m.csv", events).unwrap();
    assert_eq!(trace.events(), read("0,alloc,7,16\n3,alloc,2,8\n3,free,7,16\n").unwrap());
    assert_eq!((trace.name(), trace.peak_live().get()), ("m", 24));
    let error = |events: &[_]| Trace::from_events("m.csv", events.to_vec()).unwrap_err().to_string();
    let empty = error(&[event(0, EventKind::Alloc, 7, 0)]);
    assert_eq!(empty, "m.csv:2: size_bytes is 0, but must be at least 1");
    let twice = error(&[events[0], events[0]]);
    assert_eq!(twice, "m.csv:3: id 7 was already allocated on line 2; ids must be unique");
}

#[test]
fn nothing_is_yielded_after_an_error() {
    let text = format!("{HEADER}0,alloc,0,16\nbad\n1,free,0,16\n");
    let mut reader = RecordReader::new("t.csv", text.as_bytes()).unwrap();
    assert!(matches!(reader.next(), Some(Ok(_))));
    assert!(matches!(reader.next(), Some(Err(_))));
    assert!(reader.next().is_none() && reader.next().is_none());
}

#[test]
fn the_number_of_events_is_limited() {
    let text = format!("{HEADER}0,alloc,0,1\n0,alloc,1,1\n0,alloc,2,1\n");
    let mut reader = RecordReader::new("t.csv", text.as_bytes()).unwrap();
    assert_eq!(reader.max_events, Trace::MAX_EVENTS);
    reader.max_events = 2;
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), "t.csv:4: the trace exceeds the limit of 4194304 events");
}

#[test]
fn the_number_of_other_records_is_limited() {
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    let allocators = 0..3000;
    let actions = allocators.map(|allocator| Action::SelectAllocator { allocator });
    for action in actions.chain([Action::Frame, Action::IdlePeriod]) {
        writer.write(&Record { time_us: 0, action }).unwrap();
    }
    let bytes = writer.finish().unwrap();
    let reader = || RecordReader::new("s.hws", &bytes[..]).unwrap();
    assert_eq!(reader().max_others, MAX_OTHER_RECORDS);
    for (limit, expected) in [(3002, 3002), (3001, 3001)] {
        let mut reader = reader();
        reader.max_others = limit;
        assert_eq!(reader.by_ref().take_while(Result::is_ok).count(), expected);
    }
    let mut reader = reader();
    reader.max_others = 3001;
    let error = reader.find_map(Result::err).unwrap().to_string();
    assert!(error.ends_with("records other than allocations and frees"), "{error}");
}

#[test]
fn an_error_of_the_input_has_no_line() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let input = format!("{HEADER}0,alloc,0,1\n");
    let mut reader = RecordReader::new("t.csv", input.as_bytes().chain(Fails)).unwrap();
    assert!(matches!(reader.next(), Some(Ok(_))));
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "t.csv: cannot be read: the disk is gone");
    assert_eq!((error.position(), error.path()), (None, Path::new("t.csv")));
}
