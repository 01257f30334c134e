//! An allocator whose memory a residency manager pages, on the simulated GPU, which removes the device when
//! a copy accesses an evicted heap.
//!
//! GPGMM's defects have their numbers of the research notes (gpgmm.md, F.2); each test fails on an
//! allocator with that defect.
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod budget;
mod evicted;
mod faults;
mod former_owner;
mod mapping;
mod memory;
mod scene;
