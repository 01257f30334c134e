//! Settings of the whole process. Each test has its own setting, which does not affect the other one.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod choose_device;
mod write_tracking;
