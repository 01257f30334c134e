//! The violations that the aliasing tracker reports for programs, and the contents of their resources.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod draws;
#[path = "../queues/gpu.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod gpu;
mod programs;
mod world;
