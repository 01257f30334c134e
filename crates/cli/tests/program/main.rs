//! Tests that run the program and check its exit code, standard output and standard error.

mod bad_input;
mod browser;
mod captured_replay;
mod conformance;
mod convert;
mod foreign_files;
mod help;
mod known_gaps;
mod library;
mod loaded_device;
mod plan;
mod readme;
mod recorded_program;
mod recorded_tiles;
mod recorded_traces;
mod recording;
mod replay;
mod report;
mod residency;
mod results;
mod schema;
mod support;
#[cfg(feature = "vulkan")]
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
mod vulkan_device;
mod workload;
