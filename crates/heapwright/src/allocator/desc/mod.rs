//! What an allocator, an allocation and a pool are asked for.
//!
//! * `flags`: GPGMM's flags, and a few of D3D12MA's.
//! * `algorithms`: how heaps are divided, and how empty ones are kept.
//! * `allocator`: the allocator's description.
//! * `allocation`: an allocation's.
//! * `pool`: a custom pool's.
//! * `resource`: what resource, and how it begins.
//! * `heap_type`: D3D12's heap types.
//! * `record_options`: what a recording will hold.

mod algorithms;
mod allocation;
mod allocator;
mod flags;
mod heap_type;
mod pool;
mod record_options;
mod resource;

pub use self::algorithms::{PoolAlgorithm, SuballocationAlgorithm};
pub use self::allocation::ResourceAllocationDesc;
pub(super) use self::allocator::HEAP_GRANULARITY;
pub use self::allocator::{HeapLimits, ResourceAllocatorDesc};
pub use self::flags::{ResourceAllocationFlags, ResourceAllocatorFlags};
pub use self::heap_type::HeapType;
pub use self::pool::{PoolDesc, ResourceKind};
pub use self::record_options::{RecordFlags, RecordOptions, RecordScope};
pub use self::resource::{ResourceDesc, buffer_desc};
