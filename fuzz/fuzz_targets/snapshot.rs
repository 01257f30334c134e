//! Checks that any bytes are records of a memory snapshot or an error of one line, that nothing panics, and that little
//! memory is taken.
#![no_main]

use heapwright_trace::RecordReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // As a pickle, and as the entries of a history, so that the fuzzer need not find what is around them.
    check(bytes);
    check(&[b"\x80\x04", bytes].concat());
    check(&[b"{\"segments\":[],\"device_traces\":[[", bytes, b"]]}"].concat());
});

fn check(bytes: &[u8]) {
    let records =
        RecordReader::new("fuzz.pickle", bytes).and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
    if let Err(error) = records {
        assert!(!error.to_string().contains('\n'), "one line: {error}");
    }
}
