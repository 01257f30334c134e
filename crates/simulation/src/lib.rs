//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `scenario` reads [`Scenario`]s; `workload` turns them, and traces, into the actions of a program on its
//!   heaps: a [`Workload`].
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - `offline` has the lower bound of paging for any policy: [`offline_bound`].
//! - `published` has the policies that can be simulated: those of `heapwright-core`, and a published one.
//!
//! The command `heapwright residency` uses this crate.

mod offline;
mod published;
mod scenario;
mod simulation;
mod workload;

pub use published::{AgedLru, AgedLruDesc, Policy};
pub use scenario::{Scenario, ScenarioError, built_in};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use workload::bound::{OfflineBound, offline_bound};
pub use workload::{
    CannotDerive, Frame, Generated, HeapNumber, NoWorkload, PagingCost, Random, Shape, TooMuch,
    UnknownGenerated, WorkHeap, WorkSubmission, Workload, expand, from_session, from_trace,
};
