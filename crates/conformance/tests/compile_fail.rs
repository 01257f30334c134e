//! Checks that calls which rely on a promise of the caller do not compile outside of `unsafe`.
//!
//! Not run on Windows: the result is the same on every system, and Wine, where the cross-compiled tests
//! run, has no cargo.
#![cfg(not(windows))]

#[test]
fn promises_cannot_be_left_out() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
