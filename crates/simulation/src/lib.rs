//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `workload` turns traces and sessions into the actions of a program on its heaps: a [`Workload`].
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - `offline` has the lower bound of paging for any policy: [`offline_bound`].
//! - `traces` generates traces of typical programs from seeds.
//! - `published` has the policies that can be simulated: those of `heapwright-core`, and a published one.
//!
//! The command `heapwright residency` uses this crate.

mod offline;
mod published;
mod simulation;
mod traces;
mod workload;

pub use offline::offline_bound;
pub use published::{AgedLru, Policy};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use traces::{FIRST_EVALUATION_SEED, GeneratedTrace, Part, Random, TraceShape, UnknownGenerated};
pub use workload::{CannotDerive, Frame, HeapNumber, WorkHeap, WorkSubmission, Workload, from_records};
