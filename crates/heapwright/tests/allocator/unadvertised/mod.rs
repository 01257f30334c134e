//! The library requests nothing of a device that it did not advertise.
//!
//! * `first_generation`: the runtime's profile with the first interface alone, and no adapter.
//! * `watched`: tests on devices that hide features or interfaces and record the requests.
//! * `watched_device`: those devices; `everyday_use`: every use of an allocator.

mod everyday_use;
mod first_generation;
mod watched;
mod watched_device;
