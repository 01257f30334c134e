//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `scenario` reads [`Scenario`]s; `workload` makes them, and traces, what a program does with its heaps: a [`Workload`].
//! - `simulation` carries out what core's planner decides, on a device of the host driver, in simulated time: [`simulate`].
//! - [`offline_bound`] is what paging costs at least, whatever the policy.
//!
//! The program's `heapwright residency` and the comparison of policies in `policies/` run on it.

mod scenario;
mod simulation;
mod workload;

pub use scenario::{Scenario, ScenarioError, built_in};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use workload::bound::{OfflineBound, offline_bound};
pub use workload::{
    CannotDerive, Frame, HeapNumber, PagingCost, TooMuch, WorkHeap, WorkSubmission, Workload, expand,
    from_trace,
};
