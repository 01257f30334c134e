//! Workloads of heaps, simulated under heapwright's residency planner and an eviction policy.
//!
//! - `scenario` reads [`Scenario`]s; `workload` turns them, and traces, into the actions of a program on its
//!   heaps: a [`Workload`].
//! - `simulation` carries out the plans of core's planner, on a device of the host driver, in simulated time:
//!   [`simulate`].
//! - `offline` has the lower bound of paging for any policy: [`offline_bound`].
//! - `traces` generates traces of typical programs from seeds; `seeded` has their names.
//! - `published` has the policies that can be simulated: those of `heapwright-core`, and a published one.
//!
//! The command `heapwright residency` uses this crate.

mod offline;
mod published;
mod scenario;
mod seeded;
mod simulation;
mod traces;
mod workload;

pub use published::{AgedLru, AgedLruDesc, Policy};
pub use scenario::{Scenario, ScenarioError, built_in};
pub use seeded::{FIRST_EVALUATION_SEED, Part, Seeded, Shape, UnknownGenerated};
pub use simulation::{EVICT_AHEAD, Outcome, SimulationFailed, simulate};
pub use traces::{GeneratedTrace, TraceShape};
pub use workload::bound::{OfflineBound, offline_bound};
pub use workload::{
    CannotDerive, Frame, GeneratedWorkload, HeapNumber, NoWorkload, PagingCost, Random, TooMuch, WorkHeap,
    WorkSubmission, Workload, WorkloadShape, expand, from_session, from_trace,
};
