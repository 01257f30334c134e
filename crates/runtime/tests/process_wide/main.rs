//! Settings of the whole process, and its shared handles. No test affects what another one uses.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

mod choose_device;
mod shared_handles;
mod write_tracking;
