//! Checks that any bytes are a session or an error that names a place, that nothing panics, and that what is read can
//! be written and is read back.
#![no_main]

use heapwright_trace::RecordReader;
use heapwright_trace::session::{Record, SessionReader, SessionWriter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // As the records of a block with valid checksums, which the fuzzer would hardly find.
    let Some((&count, records)) = bytes.split_first() else { return };
    check(&with_block(records, count.into()));
});

fn check(bytes: &[u8]) {
    // Also checks what records refer to.
    if let Ok(reader) = RecordReader::new("fuzz.hws", bytes) {
        for record in reader {
            if let Err(error) = record {
                assert!(!error.to_string().contains('\n'), "one line: {error}");
            }
        }
    }
    let mut records = Vec::new();
    match SessionReader::new("fuzz.hws", bytes) {
        Ok(reader) => {
            for record in reader {
                match record {
                    Ok(record) => records.push(record),
                    Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
                }
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
    let mut writer = SessionWriter::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    let written = writer.finish().unwrap();
    let again =
        SessionReader::new("again.hws", &written[..]).unwrap().collect::<Result<Vec<Record>, _>>().unwrap();
    assert_eq!(again, records);
}

/// Returns a session with one block of these records.
fn with_block(records: &[u8], count: u32) -> Vec<u8> {
    let mut header = u32::try_from(records.len()).unwrap().to_le_bytes().to_vec();
    header.extend(count.to_le_bytes());
    let checksum = crc32fast::hash(&[&header, records].concat());
    let mut session = SessionWriter::new(Vec::new()).unwrap().finish().unwrap();
    // The end, which is a header of a block.
    session.truncate(session.len() - 12);
    session.extend(header);
    session.extend(checksum.to_le_bytes());
    session.extend(records);
    session
}
