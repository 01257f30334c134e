//! What a residency manager and a residency heap are asked for, and what they answer.
//!
//! * `flags`: GPGMM's flags.
//! * `manager`: the manager's description.
//! * `budget_override`: budgets in the place of the operating system's.
//! * `heap`: a heap's description, what is known of it.
//! * `stats`: what a manager has done.

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
