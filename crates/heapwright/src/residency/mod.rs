//! Residency: which heaps are in memory when the GPU uses them.
//!
//! | file | holds |
//! |---|---|
//! | `desc/` | what a residency manager and a residency heap are asked for, and what they answer |
//! | `pageable`, `paged_object` | what can be resident: its size, its segment group; why any thread may page it |
//! | `budget/` | how much memory there is: the operating system's budgets, overrides, pressure |
//! | `manager`, `heap`, `list` | what users hold: [`ResidencyManager`], [`ResidencyHeap`], [`ResidencyList`] |
//! | `shared` | what all handles of a manager share: the books, and the locks |
//! | `creation` | how an object becomes a residency heap |
//! | `submit`, `queue` | handing command lists to queues; a fence for each queue |
//! | `standing` | how much is used, and how much could not be evicted |
//! | `pager`, `worker`, `gpu_wait` | carrying plans out; paging in on a thread; waiting for the GPU |
//!
//! What to evict and what to page in is decided in heapwright-core (`residency`), as values that `pager` carries out.

mod budget;
mod creation;
mod desc;
mod gpu_wait;
mod heap;
mod list;
mod manager;
mod pageable;
mod paged_object;
mod pager;
mod queue;
mod shared;
mod standing;
mod submit;
mod worker;

pub use self::budget::{Pressure, PressureLevel, PressureRegistration};
pub(crate) use self::desc::level;
pub use self::desc::{
    BudgetOverride, BudgetStep, GroupBudgets, ResidencyGroupStats, ResidencyHeapDesc, ResidencyHeapFlags,
    ResidencyHeapInfo, ResidencyHeapStatus, ResidencyManagerDesc, ResidencyManagerFlags,
    ResidencyManagerStats,
};
pub use self::heap::ResidencyHeap;
pub use self::list::{OpenResidencyList, ResidencyList};
pub use self::manager::ResidencyManager;
