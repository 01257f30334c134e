//! The library asks a device for nothing that it did not advertise.
//!
//! * `first_generation`: the runtime's profile with the first interface alone, and no adapter.
//! * `watched`: devices that hide features or interfaces, watched for what they are asked.
//! * `watched_device`: how they are watched; `everyday_use`: all that an allocator is for.
#![allow(missing_docs, reason = "a test")]

mod everyday_use;
mod first_generation;
#[path = "../gpu/mod.rs"]
mod gpu;
#[path = "../log_lines/mod.rs"]
mod log_lines;
mod watched;
mod watched_device;
