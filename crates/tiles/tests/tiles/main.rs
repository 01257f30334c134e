//! The public API on the simulated GPU, or on the device of ours that HEAPWRIGHT_TEST_DEVICE names (`host:PROFILE`,
//! `vulkan`).
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "test code: the objects are live, and each test says what it does"
)]

mod faults;
mod gpu;
mod random;
mod residency;
mod rules;
