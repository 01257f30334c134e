//! `D3D12MA`: the API of D3D12 Memory Allocator, of the header `D3D12MemAlloc.h`.
//!
//! Its classes are COM objects, like GPGMM's: the header declares their methods as virtual, in the order of the tables
//! here.
//!
//! | module | contents |
//! |---|---|
//! | `state` | what the objects of an allocator share, and the list of its allocations |
//! | `allocator` | Allocator |
//! | `allocation` | Allocation |
//! | `pool` | Pool |
//! | `descriptors` | the header's structures, and their conversion |
//! | `statistics` | the blocks of an allocator with what is in them, and sums over them |
//! | `json` | the string of statistics |
//! | `defragmentation` | DefragmentationContext |
//! | `virtual_block` | VirtualBlock |
//! | `host_memory` | the memory of the objects |

mod allocation;
pub(crate) mod allocator;
mod defragmentation;
pub(crate) mod descriptors;
mod host_memory;
mod json;
mod pool;
mod state;
mod statistics;
pub(crate) mod virtual_block;
