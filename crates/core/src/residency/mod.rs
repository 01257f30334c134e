//! Residency: which heaps are in memory, and which go when it is short.
//!
//! | type | is |
//! |---|---|
//! | [`ResidencyPlanner`] | the books: heaps, submissions in flight, budgets; answers what to evict and to page in before a submission |
//! | [`Plan`] | such an answer, which somebody else carries out |
//! | [`offline`] | the optimum to compare with |
//! | [`policy`] | which heaps go first: [`EvictionPolicy`](policy::EvictionPolicy) |
//!
//! Nothing here calls a device, waits, or reads a clock.

mod heap_table;
mod in_flight;
mod managed_heap;
pub mod offline;
mod plan;
mod planner;
pub mod policy;
mod priority;
mod segment_group;
mod totals;

pub use heap_table::{ManagedHeapId, Status};
pub use in_flight::{QueueSlot, Submission};
pub use managed_heap::{HeapState, LockOutcome, NewManagedHeap, PlanError, UnknownHeap};
pub use plan::{OverBudget, Plan, PlanOutcome, PlanRequest, WaitFor};
pub use planner::ResidencyPlanner;
pub use priority::PriorityLevel;
pub use segment_group::SegmentGroup;
pub use totals::{GroupMemory, GroupTotals};

#[cfg(all(test, not(loom)))]
mod tests;
