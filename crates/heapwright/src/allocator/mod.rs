//! What users hold: the allocator, allocations, mappings and pools; and the path of one allocation.
//!
//! | file | holds |
//! |---|---|
//! | `resource_allocator` | [`ResourceAllocator`]; `inner`: what its handles share |
//! | `allocation_desc`, `allocation`, `mapping`, `texture_mapping` | what is asked for; what the user holds; the CPU's view of it |
//! | `create` | one allocation, from what is asked to what is held; `probe`: what it would do |
//! | `pool`, `create_pool`, `import`, `residency_list` | custom pools; resources that somebody else made; allocations in residency lists |
//! | `unified`, `refused_in_unified` | what limits unified memory has, and what it does not hold |
//! | `deferred`, `live_list`, `decisions` | frees that wait for the GPU; allocations that are listed one by one; how often each decision was taken |
//! | `stats`, `report` | what is held, in numbers, and one by one |

mod allocation;
mod allocation_desc;
mod create;
mod create_pool;
mod decisions;
mod deferred;
mod import;
mod inner;
mod live_list;
mod mapping;
mod pool;
mod probe;
mod refused_in_unified;
mod report;
mod residency_list;
mod resource_allocator;
mod stats;
mod texture_mapping;
mod unified;

pub use self::allocation::{ResourceAllocation, ResourceAllocationInfo};
pub use self::allocation_desc::ResourceAllocationDesc;
pub(crate) use self::inner::Inner;
pub use self::live_list::LiveAllocation;
pub use self::mapping::Mapping;
pub use self::pool::Pool;
pub use self::probe::Probe;
pub use self::resource_allocator::{ResourceAllocationSupport, ResourceAllocator};
pub use self::stats::{MemoryTotals, ResourceAllocatorStats};
pub use self::texture_mapping::{TexelPitches, TextureMapping};
