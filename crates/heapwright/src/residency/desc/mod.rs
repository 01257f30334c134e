//! Descriptions, flags and statistics of residency managers and residency heaps.
//!
//! * `flags`: GPGMM's flags.
//! * `manager`: the manager's description.
//! * `budget_override`: budgets that replace the operating system's.
//! * `heap`: a heap's description and its status.
//! * `stats`: a manager's statistics.

mod budget_override;
mod flags;
mod heap;
mod manager;
mod stats;

pub use self::budget_override::{BudgetOverride, BudgetStep, GroupBudgets};
pub use self::flags::{ResidencyHeapFlags, ResidencyManagerFlags};
pub(crate) use self::heap::level;
pub use self::heap::{ResidencyHeapDesc, ResidencyHeapInfo, ResidencyHeapStatus};
pub use self::manager::ResidencyManagerDesc;
pub use self::stats::{ResidencyGroupStats, ResidencyManagerStats};
