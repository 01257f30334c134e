//! Checks that any bytes are a trace or an error that names a place, and that nothing panics.
#![no_main]

use heapwright_trace::Trace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Trace::from_reader("fuzz.csv", bytes) {
        Ok(trace) => assert!(trace.allocation_count() <= trace.events().len()),
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
});
