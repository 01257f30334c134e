//! Checks that calls which rely on a promise of the caller do not compile outside of `unsafe`.
//!
//! Not on Windows: what compiles is the same on every system, and in Wine, where cross-compiled tests run, there is no cargo.
#![cfg(not(windows))]

#[test]
fn promises_cannot_be_left_out() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
