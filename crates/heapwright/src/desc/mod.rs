//! What an allocator, a resource and a pool are asked for.
//!
//! * `flags`: GPGMM's flags, and a few of D3D12MA's.
//! * `algorithms`: how heaps are divided, and how empty ones are kept.
//! * `allocator`: the allocator's description.
//! * `pool`: a custom pool's.
//! * `resource`: what resource, and how it begins.
//! * `record_options`: what a recording will hold.

mod algorithms;
mod allocator;
mod flags;
mod pool;
mod record_options;
mod resource;

pub use self::algorithms::{EmptyHeapPolicy, SuballocationAlgorithm};
pub(crate) use self::allocator::HEAP_GRANULARITY;
pub use self::allocator::{HeapLimits, ResourceAllocatorDesc};
pub use self::flags::{ResourceAllocationFlags, ResourceAllocatorFlags};
pub use self::pool::{PoolDesc, ResourceKind};
pub use self::record_options::{RecordFlags, RecordOptions, RecordScope};
pub use self::resource::ResourceDesc;
