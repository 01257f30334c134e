//! Heapwright's suballocators beside those of other projects: one process, the same operations.
//!
//! | module | what is in it |
//! |---|---|
//! | [`rival`] | what a suballocator has to do to take part |
//! | [`rivals`] | those that do, ours among them, and the lists of who takes part in what |
//! | [`workload`] | what they are put through; operations are made before the clock starts, from a fixed seed |
//! | [`interleave`] | runs a workload with one rival after another, in rounds |
//! | [`suite`] | all workloads, timed for the report, or with each answer checked |
//! | [`refusals`] | whether all did the same work: a run in which one refuses what others serve fails |
//! | [`report`] | the report, as a table for people, as markdown and as JSON |
//!
//! `cargo xtask bench-table` prints the report. `cargo bench -p heapwright-core` runs the same workloads through criterion.

pub mod interleave;
pub mod random;
pub mod refusals;
pub mod report;
pub mod rival;
pub mod rivals;
pub mod suite;
pub mod workload;
