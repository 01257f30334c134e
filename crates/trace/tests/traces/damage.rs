//! Damaged captures and sessions are errors that name a place, or valid up to a truncation; nothing panics.

use std::io::{Read as _, Write as _};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use heapwright_trace::session::{Action, Record};
use heapwright_trace::{RecordReader, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::captures::{DAWN, DIRECTML, capture};
use crate::properties::{Mutation, mutate, mutation};
use crate::sessions::{read, write};

fn records_of(bytes: &[u8]) -> Vec<Record> {
    RecordReader::new("c.json", bytes).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A session with several small blocks.
static SESSION: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    let mut writer = heapwright_trace::session::SessionWriter::new(&mut bytes).unwrap();
    for (place, record) in records_of(&capture(DIRECTML)).iter().enumerate() {
        writer.write(record).unwrap();
        if place % 20 == 19 {
            writer.flush().unwrap();
        }
    }
    let set = Action::DefineSet { set: 0, heaps: Vec::new() };
    writer.write(&Record { time_us: u64::MAX, action: set }).unwrap();
    writer.finish().unwrap();
    bytes
});

static CAPTURE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut json = Vec::new();
    GzDecoder::new(&capture(DAWN)[..]).read_to_end(&mut json).unwrap();
    json
});

#[test]
fn a_truncated_session_is_read_to_its_last_complete_block() {
    let (all, result) = read(&SESSION);
    assert_eq!(result, Ok(None));
    let mut lens = Vec::new();
    for len in 0..SESSION.len() {
        let (records, result) = read(&SESSION[..len]);
        if len < 16 {
            assert_eq!(result, Err("s.hws: byte 0: the session ends within its header".to_owned()), "{len}");
            continue;
        }
        let offset = usize::try_from(result.unwrap().expect("the end is missing")).unwrap();
        assert!(offset <= len && records[..] == all[..records.len()], "{len}");
        lens.push((offset, records.len()));
    }
    lens.dedup();
    assert!(lens.is_sorted() && lens.len() > 5, "{lens:?}");
    assert_eq!(lens.last().unwrap().1, all.len());
}

#[test]
fn a_truncated_session_is_a_trace_that_says_so() {
    let trace = Trace::from_reader("s.hws", &SESSION[..SESSION.len() - 1]).unwrap();
    assert_eq!(trace.truncated_at(), Some(SESSION.len() as u64 - 12));
    assert_eq!(Trace::from_reader("s.hws", &SESSION[..]).unwrap().truncated_at(), None);
}

#[test]
fn a_truncated_gzip_session_is_read_to_its_last_complete_block() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(&SESSION).unwrap();
    let gzip = encoder.finish().unwrap();
    let (records, result) = read(&gzip[..gzip.len() / 2]);
    assert!(!records.is_empty());
    assert!(result.unwrap().is_some());
    assert_eq!(read(&gzip).1, Ok(None));
}

#[test]
fn a_changed_bit_of_every_byte_of_a_session_is_noticed() {
    let (all, _) = read(&SESSION);
    for place in 0..SESSION.len() {
        let mut bytes = SESSION.clone();
        bytes[place] ^= 1 << (place % 8);
        let (records, result) = read(&bytes);
        assert!(records[..] == all[..records.len()], "{place}");
        match result {
            Err(error) => {
                assert!(error.starts_with("s.hws: byte ") && error.lines().count() == 1, "{error}");
            }
            // A longer block seems to be truncated.
            Ok(truncated_at) => assert!(truncated_at.is_some(), "{place}"),
        }
    }
}

#[test]
fn other_versions_and_impossible_blocks_are_refused() {
    let mut later = SESSION.clone();
    later[8] = 2;
    assert_eq!(
        read(&later).1.unwrap_err(),
        "s.hws: byte 0: the session's header does not match its checksum; the file is corrupted"
    );
    let checksum = crc32(&later[..12]);
    later[12..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(read(&later).1.unwrap_err(), "s.hws: byte 0: session version 2 is not supported; expected 1");
    let mut long = SESSION.clone();
    long[19] = 0x80;
    let error = read(&long).1.unwrap_err();
    assert!(error.starts_with("s.hws: byte 16: a block of 2147"), "{error}");
    assert!(error.ends_with("is impossible; the limit is 1048576 bytes"), "{error}");
    let trailing = [&SESSION[..], &[0]].concat();
    let error = read(&trailing).1.unwrap_err();
    assert!(error.ends_with("there are bytes after the end of the session"), "{error}");
    let as_text = SESSION.iter().copied().filter(|&byte| byte != b'\r').collect::<Vec<u8>>();
    let error = read(&as_text).1.unwrap_err();
    assert!(error.contains("the first 8 bytes are not those of a session"), "{error}");
}

/// CRC-32 of gzip, whose file format ends with it.
fn crc32(bytes: &[u8]) -> u32 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).unwrap();
    let gzip = encoder.finish().unwrap();
    u32::from_le_bytes(gzip[gzip.len() - 8..gzip.len() - 4].try_into().unwrap())
}

/// Returns a session with one block of these records, whose checksums are right.
fn with_block(records: &[u8], count: u32) -> Vec<u8> {
    let mut bytes = write(&[])[..16].to_vec();
    let mut header = u32::try_from(records.len()).unwrap().to_le_bytes().to_vec();
    header.extend(count.to_le_bytes());
    let checksum = crc32(&[&header, records].concat());
    bytes.extend(header);
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(records);
    bytes
}

#[test]
fn malformed_records_with_a_right_checksum_are_refused() {
    let fill = "the records do not fill the block exactly";
    for (records, count, expected) in [
        (&[0, 0][..], 1, "unknown action 0"),
        (&[41, 0], 1, "unknown action 41"),
        (&[29, 0, 0, 10], 1, "unknown reason 10"),
        (&[23, 0, 1, 0x41], 1, "a list of options has length 65, which exceeds the limit of 64"),
        (&[23, 0, 1, 2, 0, 0, 0], 1, fill),
        (&[27, 0, 1, 2, 0], 1, "unknown truth value 2"),
        (&[27, 0, 1, 1, 1], 1, fill),
        (&[2], 1, fill),
        (&[2, 0, 0, 7], 1, fill),
        (&[2, 0, 0], 2, fill),
        (&[1, 0, 0, 0, 1, 1, 0, 0], 1, "size_bytes is 0, but must be at least 1"),
        (&[1, 0, 0, 1, 3, 1, 0, 0], 1, "unknown resource kind 3"),
        (&[1, 0, 0, 1, 1, 6, 0, 0], 1, "unknown heap type 6"),
        (&[1, 0, 0, 1, 1, 1, 0, 1, 0xff], 1, "a name is not valid UTF-8"),
        (&[1, 0, 0, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x10, 0], 1, "an integer does not fit in 32 bits"),
        (&[7, 0, 0, 0xff, 0xff, 3], 1, fill),
        (&[7, 0, 0, 0xff, 0xff, 0x7f], 1, "a list has length 2097151, which exceeds the limit of 65536"),
    ] {
        let (found, result) = read(&with_block(records, count));
        assert!(found.len() < 2);
        let error = result.err().filter(|error| error.contains(expected));
        // The count of the third is impossible for a block of its length only if it exceeds the length.
        assert!(error.is_some(), "{records:?}: {:?}", read(&with_block(records, count)));
    }
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    vec(mutation(b"{}[]\",:\\0x1 eE-.\0\xff", 400), 1..5)
}

/// Reads bytes in any format. An error is one line with the file, and with a position unless the file is of another
/// kind.
fn check(bytes: &[u8]) {
    if let Err(error) = Trace::from_reader("d", bytes) {
        let message = error.to_string();
        assert!(error.location().position.is_some() || message.starts_with("d: is "), "{message}");
        assert!(!message.contains(char::is_control) && message.len() < 1000, "{message:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn a_damaged_capture_never_panics(mutations in mutations()) {
        let mut bytes = CAPTURE.clone();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        check(&bytes);
    }

    #[test]
    fn a_damaged_session_never_panics(mutations in mutations()) {
        let mut bytes = SESSION.clone();
        mutations.iter().for_each(|mutation| mutate(&mut bytes, mutation));
        check(&bytes);
    }

    #[test]
    fn random_records_with_a_right_checksum_never_panic(records in vec(0..28_u8, 1..200), count in 1..50_u32) {
        let bytes = with_block(&records, count.min(u32::try_from(records.len()).unwrap()));
        let _ = read(&bytes);
        check(&bytes);
    }
}
