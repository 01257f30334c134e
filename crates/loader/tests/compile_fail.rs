//! Functions that require guarantees of the caller cannot be called in safe code.
//!
//! The test does not run on Windows, because there is no cargo in Wine, where cross-compiled tests run.
#![cfg(not(windows))]

#[test]
fn loading_a_library_is_unsafe() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
