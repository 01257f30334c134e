use super::*;
use std::io;

use crate::error::{Column, TraceErrorKind};
use crate::event::EventKind;
use crate::location::Position;
use crate::records::RecordReader;
use crate::session::{Action, MAX_OTHER_RECORDS, Record, SessionWriter};
use crate::text::Snippet;
use crate::trace::Trace;

const HEADER: &str = "time_us,event,id,size_bytes\n";

fn read(rows: &str) -> Result<Vec<Event>, TraceError> {
    TraceReader::new("t.csv", format!("{HEADER}{rows}").as_bytes())?.collect()
}

fn line(error: &TraceError) -> Option<u64> {
    match error.position() {
        Some(Position::Line(line)) => Some(line),
        _ => None,
    }
}

/// Returns the line of the error, and its kind with all values.
fn error(rows: &str) -> (Option<u64>, String) {
    let error = read(rows).unwrap_err();
    (line(&error), format!("{:?}", error.kind()))
}

/// Expects an error of this kind on this line.
#[track_caller]
fn expect_error(rows: &str, line: u64, kind: &TraceErrorKind) {
    assert_eq!(error(rows), (Some(line), format!("{kind:?}")));
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
    let header_without_end = HEADER.trim_end();
    assert_eq!(TraceReader::new("t.csv", header_without_end.as_bytes()).unwrap().count(), 0);
}

#[test]
fn an_empty_input_has_no_header() {
    let error = TraceReader::new("t.csv", io::empty()).err().unwrap();
    assert!(matches!(error.kind(), TraceErrorKind::Empty), "{error}");
    assert_eq!(line(&error), Some(1));
}

#[test]
fn ids_are_unique() {
    let kind = TraceErrorKind::AllocatedTwice { id: 7, first: Position::Line(2) };
    expect_error("0,alloc,7,16\n0,alloc,8,16\n1,alloc,7,16\n", 4, &kind);
    expect_error("0,alloc,7,16\n0,free,7,16\n1,alloc,7,16\n", 4, &kind);
}

#[test]
fn only_live_allocations_can_be_freed() {
    expect_error("0,free,3,16\n", 2, &TraceErrorKind::NeverAllocated { id: 3 });
    let kind = TraceErrorKind::AlreadyFreed { id: 3, freed: Position::Line(3) };
    expect_error("0,alloc,3,16\n1,free,3,16\n2,free,3,16", 4, &kind);
}

#[test]
fn a_free_repeats_the_size() {
    let kind =
        TraceErrorKind::FreeSizeMismatch { id: 3, found: 17, allocated: 16, allocated_on: Position::Line(2) };
    expect_error("0,alloc,3,16\n1,free,3,17\n", 3, &kind);
}

#[test]
fn time_does_not_decrease() {
    let kind = TraceErrorKind::TimeGoesBack { previous: 5, found: 4 };
    expect_error("5,alloc,0,1\n5,alloc,1,1\n4,alloc,2,1\n", 4, &kind);
}

#[test]
fn live_bytes_are_limited_to_64_bits() {
    let max = u64::MAX;
    assert_eq!(read(&format!("0,alloc,0,{max}\n0,free,0,{max}\n0,alloc,1,{max}\n")).unwrap().len(), 3);
    expect_error(&format!("0,alloc,0,{max}\n0,alloc,1,1\n"), 3, &TraceErrorKind::LiveBytesOverflow);
}

#[test]
fn malformed_rows_name_their_line() {
    let kind = TraceErrorKind::NotANumber { column: Column::Id, found: Snippet::new(b"x") };
    expect_error("0,alloc,0,16\n0,alloc,x,16\n0,alloc,y,16\n", 3, &kind);
    let kind = TraceErrorKind::FieldCount { found: 0, line: Snippet::new(b"") };
    expect_error("0,alloc,0,16\n\n0,alloc,1,16\n", 3, &kind);
    let long = format!("0,alloc,0,16\n{}\n", "1".repeat(257));
    expect_error(&long, 3, &TraceErrorKind::LineTooLong);
}

#[test]
fn nothing_is_yielded_after_an_error() {
    let text = format!("{HEADER}0,alloc,0,16\nbad\n1,free,0,16\n");
    let mut reader = TraceReader::new("t.csv", text.as_bytes()).unwrap();
    assert!(matches!(reader.next(), Some(Ok(_))));
    assert!(matches!(reader.next(), Some(Err(_))));
    assert!(reader.next().is_none());
    assert!(reader.next().is_none());
}

#[test]
fn the_number_of_events_is_limited() {
    let text = format!("{HEADER}0,alloc,0,1\n0,alloc,1,1\n0,alloc,2,1\n");
    let mut reader = TraceReader::new("t.csv", text.as_bytes()).unwrap();
    assert_eq!(reader.records.max_events, Trace::MAX_EVENTS);
    reader.records.max_events = 2;
    let error = reader.find_map(Result::err).unwrap();
    assert!(matches!(error.kind(), TraceErrorKind::TooManyEvents), "{error}");
    assert_eq!(line(&error), Some(4));
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
    let error = reader.find_map(Result::err).unwrap();
    assert!(matches!(error.kind(), TraceErrorKind::TooManyOtherRecords), "{error}");
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
    let mut reader = TraceReader::new("t.csv", input.as_bytes().chain(Fails)).unwrap();
    assert!(matches!(reader.next(), Some(Ok(_))));
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "t.csv: cannot be read: the disk is gone");
    assert_eq!(error.position(), None);
    assert_eq!(error.path(), Path::new("t.csv"));
}

#[test]
fn totals_cover_the_events_yielded_so_far() {
    let text = format!("{HEADER}0,alloc,0,100\n1,alloc,1,50\n2,free,0,100\n3,alloc,2,70\n");
    let mut reader = TraceReader::new("t.csv", text.as_bytes()).unwrap();
    assert_eq!((reader.peak_live().get(), reader.allocation_count()), (0, 0));
    assert_eq!(reader.by_ref().count(), 4);
    assert_eq!((reader.peak_live().get(), reader.allocation_count()), (150, 3));
}
