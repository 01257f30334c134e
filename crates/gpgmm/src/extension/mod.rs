//! `heapwright::d3d12`: what heapwright has beyond GPGMM's API, of the header `heapwright_d3d12.h`.
//!
//! | module | contents |
//! |---|---|
//! | `interfaces` | the tables of methods, and the IIDs |
//! | `structures` | the header's structures, and their conversion |
//! | `allocator` | IAllocator, which is a second interface of the object of an IResourceAllocator |
//! | `pool`, `defragmentation`, `text`, `virtual_block` | the other objects |

pub(crate) mod allocator;
mod defragmentation;
mod interfaces;
mod pool;
pub(crate) mod structures;
mod text;
pub(crate) mod virtual_block;
