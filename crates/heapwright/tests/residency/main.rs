//! The residency manager on the embedded runtime, where a copy from an evicted heap removes the device.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod counting_allocator;
mod faults;
#[path = "../faulty_device/mod.rs"]
mod faulty_device;
mod gpgmm;
#[path = "../gpu/mod.rs"]
mod gpu;
mod microsofts;
mod scene;
mod trim;
