//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `workload` turns traces and sessions into the actions of a program on its heaps: a [`Workload`]. It also
//!   generates workloads from seeds.
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - `offline` has the lower bound of paging for any policy: [`offline_bound`].
//! - `traces` generates traces of typical programs from seeds; `seeded` has their names.
//! - `published` has the policies that can be simulated: those of `heapwright-core`, and a published one.
//!
//! The command `heapwright residency` uses this crate.

mod offline;
mod published;
mod seeded;
mod simulation;
mod traces;
mod workload;

pub use offline::offline_bound;
pub use published::{AgedLru, Policy};
pub use seeded::{FIRST_EVALUATION_SEED, Part, Seeded, Shape, UnknownGenerated};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use traces::{GeneratedTrace, TraceShape};
pub use workload::{
    CannotDerive, Frame, GeneratedWorkload, HeapNumber, Random, WorkHeap, WorkSubmission, Workload,
    WorkloadShape, from_records,
};
