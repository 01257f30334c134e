//! A Direct3D 12 memory runtime: the memory half of `ID3D12Device`, implemented in Rust, over a GPU that this crate
//! simulates. What is built on D3D12 memory can be developed, tested and measured with it on any machine.
//!
//! ```text
//!  application (heapwright, or any D3D12 program)
//!      |  COM: IDXGIFactory6, IDXGIAdapter4, ID3D12Device14, ID3D12Heap1, ID3D12Resource2
//!  api/        the COM objects
//!  rules/      D3D12's rules as pure functions
//!      |  ddi/   a trait shaped like the D3D12 DDI
//!  drivers/    host: a simulated GPU over reserved address space
//! ```
//!
//! Begin with [`Instance::open`], or call [`exports`] as a C program would call d3d12.dll.
//!
//! # What is there
//!
//! | part | state |
//! |---|---|
//! | DXGI: factory to 6, adapter to 4, memory info, reservations, budget notifications | here |
//! | heaps; placed, committed and reserved buffers and textures; tight alignment; GPU upload heaps | here |
//! | footprints, tilings, format support, private data, names, residency | here |
//! | queues, command lists with the memory commands (copies, clears, resolves, discards, render passes, barriers of both generations), fences, descriptor and query heaps | here |
//! | [`aliasing`]: validity of what resources contain, tracked; rules of aliasing and data inheritance, checked | here, once it is on |
//! | debug layer: info queue, messages with D3D12's ids, live objects | here |
//! | shared handles of heaps, committed resources and fences, within the process | here |
//! | heaps and buffers at GPU virtual addresses of one's choice, reserved when the device is created | here |
//! | heaps for display, opening what is shared across adapters, protected sessions, sampler feedback, video formats | E_NOTIMPL |
//! | [`write_tracking`]: a tool that hears which bytes the CPU wrote | here, once one is installed |
//! | root signatures, pipeline states, command signatures, bundles, queries; draws and dispatches | inert: created, recorded and not executed, which a list says once |
//! | ray tracing, state objects, predication | E_NOTIMPL, or no effect where there is no result |
//!
//! What is not there says so through `tracing` and the info queue; nothing pretends.
//!
//! # Refusals
//!
//! What D3D12 refuses is refused with the same HRESULT, and a message that names the field and the rule goes to
//! `tracing` (at level error for a broken rule, warn for what is not implemented, info for out of memory) and to the
//! device's `ID3D12InfoQueue1`; [`debug`] says when it is stored there.

pub mod aliasing;
mod api;
mod ddi;
pub mod debug;
mod drivers;
pub mod exports;
mod fence;
mod format;
mod instance;
pub mod residency;
mod rules;
pub mod write_tracking;

pub use ddi::{Architecture, GpuVirtualAddressRange, SegmentGroup};
pub use drivers::host::profile::{BudgetStep, HostProfile, SegmentProfile};
pub use instance::{DeviceOptions, Instance};
