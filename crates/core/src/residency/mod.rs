//! Residency: which heaps are resident, and which are evicted when memory is short.
//!
//! | type | meaning |
//! |---|---|
//! | [`ResidencyPlanner`] | tracks heaps, submissions and budgets; plans evictions and page-ins before a submission |
//! | [`Plan`] | such a plan, which the caller carries out |
//! | [`policy`] | the order of eviction: [`EvictionPolicy`](policy::EvictionPolicy) |
//!
//! Nothing here calls a device, waits, or reads a clock.

mod heap_table;
mod in_flight;
mod plan;
mod planner;
pub mod policy;
mod segment_group;
mod unlearned;

pub use heap_table::{
    HeapState, LockOutcome, ManagedHeapId, NewManagedHeap, PlanError, PriorityLevel, Status, UnknownHeap,
};
pub use in_flight::{QueueSlot, Submission, WaitFor};
pub use plan::{OverBudget, Plan, PlanOutcome, PlanRequest, PlannedWork};
pub use planner::ResidencyPlanner;
pub use segment_group::{GroupMemory, GroupTotals};

#[cfg(all(test, not(loom)))]
mod tests;
