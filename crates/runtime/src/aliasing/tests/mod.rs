//! Tests of the tracker with programs, without the rest of the runtime.

#[allow(clippy::cast_possible_truncation, reason = "heaps of half a MiB")]
mod agreement;
mod call_overlaps;
mod dispatches;
#[allow(clippy::cast_possible_truncation, reason = "heaps of half a MiB")]
mod model;
mod programs;
mod stage;
