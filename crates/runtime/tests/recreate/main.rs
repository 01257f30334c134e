//! Objects at given GPU virtual addresses (Microsoft's *Recreate at GPUVA*), through the COM interfaces.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

#[allow(dead_code, reason = "the queues' tests use all of it")]
#[path = "../queues/gpu.rs"]
mod gpu;
mod objects;
mod tools;
mod two_processes;
