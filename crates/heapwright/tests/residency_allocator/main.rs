//! An allocator whose memory a residency manager pages, on the simulated GPU, which loses its device when a copy touches what is evicted.
//!
//! GPGMM's defects are named by their numbers in the notes on it: each test fails on that behaviour.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

#[path = "../faulty_device/mod.rs"]
mod faulty_device;
#[path = "../gpu/mod.rs"]
mod gpu;

mod budget;
mod evicted;
mod faults;
mod mapping;
mod memory;
mod scene;
