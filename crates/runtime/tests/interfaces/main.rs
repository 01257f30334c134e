//! The runtime through its COM interfaces. What a check of crates/conformance says about every D3D12 is not repeated
//! here.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod aliasing;
mod device;
#[cfg(any(windows, target_os = "linux"))]
mod existing_heaps;
mod first_generation;
mod gpu;
mod null_pointers;
mod pipeline_library;
#[cfg(feature = "preview")]
mod preview;
mod queues;
mod recreate;
mod residency;
mod residency_ledger;
mod sdk;
#[cfg(any(windows, target_os = "linux"))]
mod shared_handles;
mod trim;
#[cfg(feature = "vulkan")]
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
mod vulkan;
#[cfg(not(feature = "preview"))]
mod without_preview;
