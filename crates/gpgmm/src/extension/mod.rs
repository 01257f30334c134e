//! `heapwright::d3d12`: what heapwright has beyond GPGMM's API, of the header `heapwright_d3d12.h`.
//!
//! | module | contents |
//! |---|---|
//! | `allocator` | ALLOCATOR_DESC, the methods that IAllocator adds to IResourceAllocator's, IText |
//! | `transient` | ITransientHeaps, ITransientResources |
//!
//! Each has the header's structures that it uses.

pub(crate) mod allocator;
mod transient;
