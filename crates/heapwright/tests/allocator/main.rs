//! The allocator: descriptions and flags, memory, numbers, errors, and devices that fail or lack features.
#![allow(missing_docs, reason = "a test")]
// If a function became safe that the tests call in an unsafe block, they would not compile.
#![deny(unused_unsafe)]

mod allocation_desc;
mod allocation_flags;
mod allocator_desc;
mod allocator_flags;
mod basics;
mod committed;
#[allow(clippy::undocumented_unsafe_blocks, reason = "every call there is one of D3D12's, on live objects")]
#[path = "../defragmentation/copying_queue.rs"]
mod copying_queue;
#[path = "../counting_allocator/mod.rs"]
mod counting_allocator;
mod deferred;
mod descriptions;
mod empty_bytes;
mod empty_heaps;
mod faults;
#[path = "../faulty_device/mod.rs"]
mod faulty_device;
#[path = "../gpu/mod.rs"]
mod gpu;

mod hostile;
mod import;
mod learned_prices;
#[path = "../log_lines/mod.rs"]
mod log_lines;
mod mapping;
mod memory;
mod memory_short;
mod nested;
mod other_allocators;
mod own_memory;
mod pools;
mod probe;
mod programs;
mod random_input;
mod recorded_calls;
mod recording;
mod releases;
mod retention_model;
mod stats;
mod threads;
mod too_large;
mod unadvertised;
mod unified_memory;
mod within;
