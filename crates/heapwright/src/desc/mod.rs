//! The descriptions of allocators, resources and pools.
//!
//! * `flags`: GPGMM's flags, and a few of D3D12MA's; how heaps are divided, and how empty heaps are kept.
//! * `allocator`: the allocator's description, and the contents of a recording.
//! * `layout_guid`: the layout that a GUID names.
//! * `pool`: the description of a custom pool.
//! * `resource`: the description of a resource, of its initial state and of its clear value.
//! * `options`: the fields of an allocator and of a pool as text, for recordings and command lines.

mod allocator;
mod flags;
mod initial_state;
mod layout_guid;
mod options;
mod pool;
mod resource;

pub(crate) use self::allocator::HEAP_GRANULARITY;
pub use self::allocator::{HeapLimits, RecordFlags, RecordOptions, RecordScope, ResourceAllocatorDesc};
pub use self::flags::{
    EmptyHeapPolicy, ResourceAllocationFlags, ResourceAllocatorFlags, SuballocationAlgorithm,
};
pub use self::initial_state::InitialState;
pub use self::layout_guid::LayoutGuid;
pub use self::pool::{PoolDesc, ResourceKind};
pub use self::resource::{ClearValue, ResourceDesc, buffer_desc};
