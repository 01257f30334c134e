//! The descriptions of allocators, resources and pools.
//!
//! * `flags`: GPGMM's flags, and a few of D3D12MA's.
//! * `algorithms`: how heaps are divided, and how empty heaps are kept.
//! * `allocator`: the allocator's description.
//! * `pool`: the description of a custom pool.
//! * `resource`: the description of a resource and of its initial state.
//! * `clear_value`: the optimized clear value of a texture.
//! * `options`: the fields of an allocator and of a pool as text, for recordings and command lines.
//! * `record_options`: the contents of a recording.

mod algorithms;
mod allocator;
mod clear_value;
mod flags;
mod options;
mod pool;
mod record_options;
mod resource;

pub use self::algorithms::{EmptyHeapPolicy, SuballocationAlgorithm};
pub(crate) use self::allocator::HEAP_GRANULARITY;
pub use self::allocator::{HeapLimits, ResourceAllocatorDesc};
pub use self::clear_value::ClearValue;
pub use self::flags::{ResourceAllocationFlags, ResourceAllocatorFlags};
pub use self::pool::{PoolDesc, ResourceKind};
pub use self::record_options::{RecordFlags, RecordOptions, RecordScope};
pub use self::resource::ResourceDesc;
