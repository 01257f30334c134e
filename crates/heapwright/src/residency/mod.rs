//! Residency: keeping what the GPU uses in memory, within the operating system's budgets.
//!
//! A [`ResidencyManager`] knows the heaps of an allocator ([`ResourceAllocator::with_residency`](crate::ResourceAllocator::with_residency))
//! and whatever else can be paged. A [`ResidencyList`] names the heaps that a command list uses; when the list is executed, the manager
//! makes them resident and evicts what is used later. Which heaps go first is decided by an [`eviction`] policy.
//!
//! ```
//! use heapwright::residency::{ResidencyList, ResidencyManagerDesc};
//! use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
//! # use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//!
//! let (allocator, manager) = ResourceAllocator::with_new_residency(
//!     &gpu.device,
//!     Some(&gpu.adapter),
//!     Default::default(),
//!     ResidencyManagerDesc::default(),
//! )?;
//! let desc = buffer_desc(ByteSize::from_mib(1));
//! let default = ResourceAllocationDesc::new(HeapType::Default);
//! let buffer = allocator.create_resource(&default, &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
//! let list = ResidencyList::new();
//! list.open()?.add(buffer.memory().expect("the manager knows it"))?;
//! manager.prefetch(&list)?; // or: execute_command_lists, with the command list that uses the buffer
//! assert_eq!(manager.stats().local.evicted_count, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `manager`, `heap`, `list` | what users hold: [`ResidencyManager`], [`ResidencyHeap`], [`ResidencyList`] |
//! | `desc/` | descriptions, flags, statistics |
//! | `creation` | making residency heaps of objects |
//! | `submit` | handing command lists to queues |
//! | `parts` | what all handles of a manager share: a pager and the upkeep |
//! | `upkeep` | when the operating system is queried and memory trimmed, and who is told of pressure |
//! | `pager/` | carrying plans out: evicting, paging in, waiting for the GPU |
//! | `queue` | a fence for each queue, and the heaps of its submission |
//! | `books` | the planner and the objects that it plans for, under one lock |
//! | `contained_policy` | eviction policies of the user's own, whose panics stay inside |
//! | `budget/` | how much memory there is: the operating system's budgets, overrides, pressure |
//! | `device`, `pageable`, `paged_object` | the device's calls; what can be resident, and why any thread may page it |
//!
//! Calls go down this table. What to evict and what to page in is decided in heapwright-core (`residency`), as values that `pager` carries
//! out.
//!
//! # Locks
//!
//! In this order: a queue's (`queue`), the pager's (`pager`), the budgets' (`budget`), the books' (`books`). A residency list's is
//! never waited for, and held while its heaps are read. No lock is held while the GPU is waited for, nor while a
//! callback for memory pressure runs.

mod books;
mod budget;
mod contained_policy;
mod creation;
mod desc;
mod device;
mod heap;
mod list;
mod manager;
mod pageable;
mod paged_object;
mod pager;
mod parts;
mod queue;
mod submit;
mod upkeep;

pub use heapwright_core::residency::PriorityLevel;
pub use heapwright_core::residency::policy as eviction;

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
