//! Defragmentation on the embedded runtime, whose queues copy the bytes that resources hold.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod convergence;
mod copying_queue;
mod faults;
#[path = "../faulty_device/mod.rs"]
mod faulty_device;
#[path = "../gpu/mod.rs"]
mod gpu;
mod interleaving;
mod on_any_device;
mod pools;
mod rules;
mod scene;
mod threads;
