//! `heapwright::d3d12`: what heapwright has beyond GPGMM's API, of the header `heapwright_d3d12.h`.
//!
//! | module | contents |
//! |---|---|
//! | `allocator` | ALLOCATOR_DESC, the methods that IAllocator adds to IResourceAllocator's, IText |
//! | `residency_manager` | RESIDENCY_GROUP_STATS, the methods that IBudgetManager adds to IResidencyManager's |
//! | `transient` | ITransientHeaps, ITransientResources |
//!
//! Each has the header's structures that it uses.

pub(crate) mod allocator;
pub(crate) mod residency_manager;
mod transient;
