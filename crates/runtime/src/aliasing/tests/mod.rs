//! Programs on a tracker without a runtime around it.

#[allow(clippy::cast_possible_truncation, reason = "heaps of half a MiB")]
mod agreement;
#[allow(clippy::cast_possible_truncation, reason = "heaps of half a MiB")]
mod model;
mod programs;
mod stage;
