//! The C++ API of GPGMM for Direct3D 12, `gpgmm::d3d12`, implemented by heapwright.
//!
//! The API is the header `include/gpgmm_d3d12.h`, and what heapwright adds is `include/heapwright_d3d12.h`; Rust
//! programs use the crate heapwright. `docs/reference.md` and `docs/extension.md` in the package list each name of the
//! API, the Rust item behind it and the test that uses it.
//!
//! The header's functions are inline, over the C functions in [`exports`], the only symbols that the library exports.
//! Objects are COM objects: a pointer to a table of methods, then a reference count (`object`).
//!
//! | module | contents |
//! |---|---|
//! | [`exports`] | the exported functions |
//! | `descriptors` | the header's structures, and their conversion |
//! | `allocator`, `allocation`, `residency_manager`, `residency_heap`, `residency_list` | the objects |
//! | `object` | tables of methods, reference counts, QueryInterface, objects as parameters and results |
//! | `identity` | the one object that stands for something of the library |
//! | `d3d12ma` | `D3D12MA`, of the header `D3D12MemAlloc.h` |
//! | `extension` | `heapwright::d3d12`, of the header `heapwright_d3d12.h` |
//! | `debug_name` | IDebugObject, and names as C++ passes them |
//! | `call` | the boundary: results and panics become HRESULTs and log lines |
//! | `log` | log lines on the standard error stream |
//!
//! # Reference counts
//!
//! AddRef and Release count the references of the application alone, as D3D12's objects do: an allocation does not
//! change the count of its allocator. It keeps what it needs alive inside the library, so objects are released in any
//! order. An allocator whose count reaches zero is therefore gone, and reports its leaks, even if allocations remain.

mod allocation;
mod allocator;
mod call;
mod d3d12ma;
mod debug_name;
mod descriptors;
pub mod exports;
mod extension;
mod failure;
mod identity;
mod log;
mod object;
mod residency_heap;
mod residency_list;
mod residency_manager;
