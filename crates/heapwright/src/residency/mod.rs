//! Residency management: keeps the memory that the GPU uses resident, within the operating system's budgets.
//!
//! Use it if the application may need more memory than the budget allows. A [`ResidencyManager`] manages the heaps of
//! an allocator ([`ResourceAllocator::with_residency`](crate::ResourceAllocator::with_residency)) and any other
//! pageable object. A [`ResidencyList`] names the heaps that a command list uses. When the list is executed, the
//! manager makes these heaps resident, and if necessary evicts others. A [policy](PolicyKind) selects the heaps that
//! are evicted.
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
//! list.add_allocation(&buffer)?;
//! manager.prefetch(&list)?; // or: execute_command_lists, with the command list that uses the buffer
//! assert_eq!(manager.stats().local.evicted_count, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! No lock is held while a thread waits for the GPU, nor while a callback for memory pressure runs. The lock of a
//! residency list is never waited for.

// Each module calls those below it:
//
// - `manager`, `heap`, `list`: the public objects.
// - `desc`: descriptions, flags, statistics.
// - `submit`: submission of command lists to queues.
// - `pager`: the state that all handles of a manager share. It carries out plans: evicts, makes resident, waits for the
//   GPU; and it decides when the operating system is queried, when memory is trimmed, and when pressure callbacks are
//   called.
// - `queue`: a fence for each queue, and the heaps of its submission.
// - `recorded`: recording of heaps, submissions and paging.
// - `books`: the planner and the objects that it plans for, under one lock.
// - `budget`: available memory: the operating system's budgets, overrides, pressure.
// - `claim`: which objects are managed, and what residency they were left in.
// - `device`: the calls of the device; the objects that can be resident, and why any thread may page them.
//
// heapwright-core (`residency`) decides which heaps to evict and to make resident, and returns the decision as values
// that `pager` carries out. Locks are taken in this order: a queue's (`queue`), the pager's (`pager`), that of the
// table of queues (`queue`), the budgets' (`budget`), the books' (`books`). That of a residency list is held while its
// heaps are read.

mod books;
mod budget;
mod claim;
mod desc;
mod device;
mod heap;
mod list;
mod manager;
mod pager;
mod queue;
mod recorded;
mod submit;

pub use heapwright_core::residency::PriorityLevel;
pub use heapwright_core::residency::policy::PolicyKind;

pub use self::budget::{Pressure, PressureLevel, PressureRegistration};
pub use self::desc::{
    GroupBudgets, ResidencyBudget, ResidencyGroupStats, ResidencyHeapDesc, ResidencyHeapFlags,
    ResidencyHeapInfo, ResidencyHeapStatus, ResidencyManagerDesc, ResidencyManagerFlags,
    ResidencyManagerStats,
};
pub use self::heap::ResidencyHeap;
pub use self::list::{OpenResidencyList, ResidencyList};
pub use self::manager::ResidencyManager;
