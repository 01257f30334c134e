//! The source of memory: calls of the device, limits, budgets and the residency manager.
//!
//! | file | contents |
//! |---|---|
//! | `heap_source` | [`HeapSource`]: the device, budget, limits and residency manager of an allocator |
//! | `owner` | the allocator, as its heaps see it |
//! | `device` | the device's interfaces, and the calls that create a resource |
//! | `heap` | a heap with its charge, and the number of heaps of a pool |
//! | `accounts` | limits and totals |
//! | `managed` | memory that a residency manager manages |
//! | `heap_time` | the time that the device takes for heaps |
//! | `labels` | names and user data of allocations |
//! | `idle` | the time after which idle memory is released, and the thread that does it |

mod accounts;
mod device;
mod heap;
mod heap_source;
mod heap_time;
mod idle;
mod labels;
mod managed;
mod owner;

pub(crate) use self::accounts::{Account, Charge, Charged};
pub(crate) use self::device::{
    CREATE_HEAP, Refused, Suspects, create_committed, create_placed, set_debug_name,
};
pub(crate) use self::heap::{Heap, HeapPermit, PoolHeaps};
pub(crate) use self::heap_source::{Constraints, GivenBack, HeapSource, LimitKind, Limits, NewMemory};
pub(crate) use self::idle::IdleThreadUser;
pub use self::labels::AllocationId;
pub(crate) use self::labels::{BackingAddress, Label, LabelSlot, Labels, Listed, next_number};
pub use self::managed::MemoryReference;
pub(crate) use self::managed::{KeptResident, OwnHeap};
pub(crate) use self::owner::{Owner, UnusedBuffer};
