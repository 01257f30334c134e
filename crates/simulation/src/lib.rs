//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `scenario` reads [`Scenario`]s; `workload` turns them, and traces, into the actions of a program on its
//!   heaps: a [`Workload`].
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - [`offline_bound`] is the lower bound of paging for any policy.
//!
//! The command `heapwright residency` and the comparison of policies in `policies/` use this crate.

mod scenario;
mod simulation;
mod workload;

pub use scenario::{Scenario, ScenarioError, built_in};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use workload::bound::{OfflineBound, offline_bound};
pub use workload::{
    CannotDerive, Frame, HeapNumber, NoWorkload, PagingCost, Random, TooMuch, WorkHeap, WorkSubmission,
    Workload, expand, from_session, from_trace,
};
