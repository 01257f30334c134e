//! Checks that any bytes are records of a capture or an error that names a place, and that nothing panics.
#![no_main]

use heapwright_trace::RecordReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Bytes alone, and as events, so that the fuzzer need not find the object around them.
    check(bytes);
    check(&[b"{\"traceEvents\":[", bytes, b"]}"].concat());
});

fn check(bytes: &[u8]) {
    let records =
        RecordReader::new("fuzz.json", bytes).and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
    if let Err(error) = records {
        let text = error.to_string();
        // A file of another kind has no position.
        assert!(
            error.location().position.is_some() || text.starts_with("fuzz.json: is "),
            "no position: {error}"
        );
        assert!(!text.contains('\n'), "one line: {error}");
    }
}
