//! The resource allocator: resources placed in heaps that it creates, shares and gives back.
//!
//! | file | holds |
//! |---|---|
//! | `desc` | what an allocator, an allocation and a pool are asked for |
//! | `create` | one allocation, from what is asked to what is held; `ways`: the order in which ways to memory are tried; `decision`: which was taken, and why |
//! | `typed_heaps` | the heaps of one kind; `heap`: one of them; `engine`: how they are divided |
//! | `plan` | where memory comes from when the usual heaps have no room; `heap_source` carries it out; `giving_back`: empty heaps go back to the device; `prefetch`: heaps made in advance |
//! | `relations` | what allocators share that are nested with one another |
//! | `within` | small buffers that share one resource |
//! | `pool` | custom pools; `pool_sums`: what all of them hold together |
//! | `unified` | what unified memory does not hold, and what limits it has |
//! | `import` | resources that somebody else made |
//! | `defragmentation` | emptying heaps, a few moves at a time |
//! | `probe` | what an allocation would do |
//! | `accounts` | what is held, and what may be; `stats`: the same for users |
//! | `striped` | references that each thread counts for itself |
//! | `deferred` | memory that comes back once the GPU is done with it |
//! | `report` | everything that is held, one by one |
//! | `notes` | names and numbers that users give to allocations, and who is alive |
//! | `allocation`, `mapping`, `texture_mapping` | what the user holds |
//! | `residency` | what the allocator and a residency manager have to do with each other |
//! | `devices`, `device_resource`, `debug_name` | calls of the device |
//!
//! One allocation, from call to memory: the description is checked, the device says what the resource takes
//! ([`requirements`](crate::requirements)), the heaps of its kind find or make room
//! ([`placement`](heapwright_core::placement)), the device places the resource there. Each step that takes something holds it in
//! a value whose drop gives it back.

mod accounts;
mod allocation;
mod create;
mod debug_name;
mod decision;
mod deferred;
pub mod defragmentation;
mod desc;
mod device_resource;
mod devices;
mod engine;
mod giving_back;
mod heap;
mod heap_source;
mod import;
mod inner;
mod mapping;
mod notes;
mod plan;
mod pool;
mod pool_sums;
mod prefetch;
mod probe;
mod relations;
mod report;
mod residency;
mod resource_allocator;
mod stats;
mod striped;
mod texture_mapping;
mod typed_heaps;
mod unified;
mod ways;
mod within;

pub use self::allocation::{ResourceAllocation, ResourceAllocationInfo, ResourceAllocationType};
pub use self::decision::{Decision, Placement, Reason};
pub use self::desc::{
    HeapLimits, HeapType, PoolAlgorithm, PoolDesc, RecordFlags, RecordOptions, RecordScope,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags,
    ResourceDesc, ResourceKind, SuballocationAlgorithm, buffer_desc,
};
use self::inner::Inner;
pub use self::mapping::Mapping;
pub use self::notes::{AllocationId, LiveAllocation};
pub use self::pool::Pool;
pub use self::probe::{Probe, ProbedMemory};
pub use self::resource_allocator::{ResourceAllocationSupport, ResourceAllocator};
pub use self::stats::{MemoryTotals, ResourceAllocatorStats};
pub use self::texture_mapping::{TexelPitches, TextureMapping};
