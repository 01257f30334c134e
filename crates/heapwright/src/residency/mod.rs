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
//! | `desc/` | what a residency manager and a residency heap are asked for, and what they answer |
//! | `pageable`, `paged_object` | what can be resident: its size, its segment group; why any thread may page it |
//! | `budget/` | how much memory there is: the operating system's budgets, overrides, pressure |
//! | `manager`, `heap`, `list` | what users hold: [`ResidencyManager`], [`ResidencyHeap`], [`ResidencyList`] |
//! | `shared` | what all handles of a manager share: the books, and the locks |
//! | `creation` | how an object becomes a residency heap |
//! | `submit`, `queue` | handing command lists to queues; a fence for each queue |
//! | `standing` | how much is used, and how much could not be evicted |
//! | `contained_policy` | policies of the user's own, whose panics stay inside |
//! | `pager`, `worker`, `gpu_wait` | carrying plans out; paging in on a thread; waiting for the GPU |
//!
//! What to evict and what to page in is decided in heapwright-core (`residency`), as values that `pager` carries out.

mod budget;
mod contained_policy;
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
