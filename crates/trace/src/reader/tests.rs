use super::*;
use std::io;

const HEADER: &str = "time_us,event,id,size_bytes\n";

fn read(rows: &str) -> Result<Vec<Event>, TraceError> {
    TraceReader::new("t.csv", format!("{HEADER}{rows}").as_bytes())?.collect()
}

fn error(rows: &str) -> String {
    read(rows).unwrap_err().to_string()
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
    assert_eq!(
        error.to_string(),
        "t.csv:1: the file is empty, but a trace starts with the line \"time_us,event,id,size_bytes\""
    );
}

#[test]
fn an_id_is_used_once() {
    assert_eq!(
        error("0,alloc,7,16\n0,alloc,8,16\n1,alloc,7,16\n"),
        "t.csv:4: id 7 is allocated again, but an id is used once (first allocated on line 2)"
    );
    assert_eq!(
        error("0,alloc,1,16\n0,free,1,16\n1,alloc,1,16\n"),
        "t.csv:4: id 1 is allocated again, but an id is used once (first allocated on line 2)"
    );
}

#[test]
fn only_what_is_live_is_freed() {
    assert_eq!(error("0,free,3,16\n"), "t.csv:2: free of id 3, which is not live: it was never allocated");
    assert_eq!(
        error("0,alloc,3,16\n1,free,3,16\n2,free,3,16"),
        "t.csv:4: free of id 3, which is not live: it was already freed on line 3"
    );
}

#[test]
fn a_free_repeats_the_size() {
    assert_eq!(
        error("0,alloc,3,16\n1,free,3,17\n"),
        "t.csv:3: free of id 3 gives size_bytes 17, but 16 were allocated on line 2"
    );
}

#[test]
fn time_does_not_go_back() {
    assert_eq!(
        error("5,alloc,0,1\n5,alloc,1,1\n4,alloc,2,1\n"),
        "t.csv:4: time_us goes back from 5 to 4, but events are in order of time"
    );
}

#[test]
fn live_bytes_are_counted_in_64_bits() {
    let max = u64::MAX;
    assert_eq!(read(&format!("0,alloc,0,{max}\n0,free,0,{max}\n0,alloc,1,{max}\n")).unwrap().len(), 3);
    assert_eq!(
        error(&format!("0,alloc,0,{max}\n0,alloc,1,1\n")),
        "t.csv:3: more bytes are live at once than fit in 64 bits"
    );
}

#[test]
fn malformed_rows_name_their_line() {
    assert_eq!(
        error("0,alloc,0,16\n0,alloc,x,16\n0,alloc,y,16\n"),
        "t.csv:3: id must be decimal digits, found \"x\""
    );
    assert_eq!(
        error("0,alloc,0,16\n\n0,alloc,1,16\n"),
        "t.csv:3: expected 4 fields (time_us,event,id,size_bytes), found 0: \"\""
    );
    assert_eq!(
        error(&format!("0,alloc,0,16\n{}\n", "1".repeat(257))),
        "t.csv:3: the line is longer than 256 bytes, the most that a row may have"
    );
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
    assert_eq!(reader.max_line, Trace::MAX_EVENTS + 1);
    reader.max_line = 3;
    let error = reader.find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), "t.csv:4: the trace has more than 4194304 events, the most that is read");
}

#[test]
fn an_input_that_fails_is_no_fault_of_a_line() {
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
    assert_eq!(error.line(), None);
    assert_eq!(error.path(), Path::new("t.csv"));
}

#[test]
fn the_reader_counts_what_it_has_yielded() {
    let text = format!("{HEADER}0,alloc,0,100\n1,alloc,1,50\n2,free,0,100\n3,alloc,2,70\n");
    let mut reader = TraceReader::new("t.csv", text.as_bytes()).unwrap();
    assert_eq!((reader.peak_live().get(), reader.allocation_count()), (0, 0));
    assert_eq!(reader.by_ref().count(), 4);
    assert_eq!((reader.peak_live().get(), reader.allocation_count()), (150, 3));
}
