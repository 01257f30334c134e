//! Residency: which heaps are in memory when the GPU uses them.
//!
//! | file | holds |
//! |---|---|
//! | `desc/` | what a residency manager and a residency heap are asked for, and what they answer |
//! | `pageable` | what can be resident: its size, its segment group |
//! | `budget/` | how much memory there is: the operating system's budgets, overrides, pressure |

#[allow(dead_code, unused_imports, reason = "for the manager, which comes next")]
mod budget;
#[allow(dead_code, unused_imports, reason = "for the manager, which comes next")]
mod desc;
#[allow(dead_code, unused_imports, reason = "for the manager, which comes next")]
mod pageable;

pub use self::budget::{Pressure, PressureLevel, PressureRegistration};
pub use self::desc::{
    BudgetOverride, BudgetStep, GroupBudgets, ResidencyGroupStats, ResidencyHeapDesc, ResidencyHeapFlags,
    ResidencyHeapInfo, ResidencyHeapStatus, ResidencyManagerDesc, ResidencyManagerFlags,
    ResidencyManagerStats,
};
