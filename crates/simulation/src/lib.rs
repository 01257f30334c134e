//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `workload` turns traces and sessions into the actions of a program on its heaps: a [`Workload`].
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - `offline` has the lower bound of paging for any policy: [`offline_bound`].
//! - `traces` generates traces of typical programs from seeds.
//!
//! The command `heapwright residency` uses this crate.

mod offline;
mod simulation;
mod traces;
mod workload;

pub use offline::offline_bound;
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use traces::{GeneratedTrace, Random, TraceShape, UnknownGenerated};
pub use workload::{CannotDerive, Frame, HeapNumber, WorkHeap, WorkSubmission, Workload, from_records};
