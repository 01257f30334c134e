//! Descriptions, flags and statistics of residency managers and residency heaps.
//!
//! * `flags`: GPGMM's flags.
//! * `manager`: the manager's description.
//! * `group_budgets`: a budget for each segment group.
//! * `heap`: a heap's description and its status.
//! * `stats`: a manager's statistics.

mod flags;
mod group_budgets;
mod heap;
mod manager;
mod stats;

pub use self::flags::{ResidencyHeapFlags, ResidencyManagerFlags};
pub use self::group_budgets::GroupBudgets;
pub(crate) use self::heap::level;
pub use self::heap::{ResidencyHeapDesc, ResidencyHeapInfo, ResidencyHeapStatus};
pub use self::manager::ResidencyManagerDesc;
pub use self::stats::{ResidencyGroupStats, ResidencyManagerStats};
