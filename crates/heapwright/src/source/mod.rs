//! The source of memory: calls of the device, limits, budgets and the residency manager.
//!
//! | file | contents |
//! |---|---|
//! | `heap_source` | [`HeapSource`]: the device, budget, limits and residency manager of an allocator |
//! | `owner` | the allocator, as its heaps see it |
//! | `device` | the device's interfaces, and the calls that create a resource |
//! | `heap` | a heap with its charge, and the number of heaps of a pool |
//! | `ledger` | what is held, and what limits it |
//! | `managed` | memory that a residency manager manages |
//! | `heap_time` | the time that the device takes for heaps |
//! | `labels` | names and user data of allocations |
//! | `idle` | the time after which idle memory is released, and the thread that does it |

mod device;
mod heap;
mod heap_source;
mod heap_time;
mod idle;
mod labels;
mod ledger;
mod managed;
mod owner;

pub(crate) use self::device::{
    CREATE_HEAP, Refused, Suspects, create_committed, create_placed, set_debug_name,
};
pub(crate) use self::heap::{Heap, PoolHeaps};
pub(crate) use self::heap_source::{HeapSource, NewMemory};
pub(crate) use self::idle::IdleThreadUser;
pub use self::labels::AllocationId;
pub(crate) use self::labels::{BackingAddress, Label, LabelSlot, Labels, Listed, next_number};
pub(crate) use self::ledger::{Account, Charge, Charged};
pub use self::managed::MemoryReference;
pub(crate) use self::managed::{KeptResident, OwnHeap};
pub(crate) use self::owner::{Owner, UnusedBuffer};
