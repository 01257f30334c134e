//! A Direct3D 12 memory runtime: the memory part of `ID3D12Device`, implemented in Rust over a simulated GPU, or over a
//! real one with a Vulkan driver. Software that uses D3D12 memory can be developed, tested and measured with it on any
//! machine.
//!
//! ```text
//!  application (heapwright, or any D3D12 program)
//!      |  COM: IDXGIFactory6, IDXGIAdapter4, ID3D12Device14, ID3D12Heap1, ID3D12Resource2
//!  api/        the COM objects
//!  rules/      D3D12's rules as pure functions
//!      |  ddi/   a trait shaped like the D3D12 DDI
//!  drivers/    host: a simulated GPU over reserved address space
//!              vulkan: GPUs with a Vulkan driver (feature `vulkan`)
//! ```
//!
//! Start with [`Instance::open`], or call the functions in [`exports`] as a C program would call d3d12.dll.
//!
//! # Supported features
//!
//! | part | state |
//! |---|---|
//! | DXGI: `IDXGIFactory6`, `IDXGIAdapter4`, memory info, reservations, budget notifications | supported |
//! | heaps; placed, committed and reserved buffers and textures; tight alignment; GPU upload heaps | supported |
//! | footprints, tilings, format support, private data, names, residency | supported |
//! | queues, fences, descriptor and query heaps; command lists with copies, clears, resolves, discards, render passes, barriers | supported |
//! | [`aliasing`]: validity of contents, rules of aliasing and data inheritance | supported, off by default |
//! | debug layer: info queue, messages with D3D12's ids, live objects | supported |
//! | shared handles of heaps, committed resources and fences | supported within the process |
//! | heaps and buffers at chosen GPU virtual addresses, reserved when the device is created | supported |
//! | heaps over memory of the application, by its address | supported on simulated GPUs, on Linux and Windows |
//! | timestamp queries, in the clock of the queues | supported |
//! | pipeline libraries | names of pipeline states |
//! | display heaps, objects shared across adapters, protected sessions, sampler feedback, video formats | E_NOTIMPL |
//! | [`write_tracking`]: a tool that is notified of CPU writes | supported while a tool is installed |
//! | root signatures, pipelines, command signatures, bundles, other queries, draws, dispatches | created or recorded, not executed; logged once per list |
//! | ray tracing, state objects, predication | E_NOTIMPL, or no effect if the call returns nothing |
//!
//! Calls to unsupported features are reported through `tracing` and the info queue.
//!
//! # Differences from Windows
//!
//! * `D3D12CreateDevice` creates a new device with each call. On Windows, an adapter has one device in a process, which
//!   each call returns as long as it exists.
//! * A shared handle has a meaning only in its process. What a closed handle kept is freed at the next call that
//!   creates or opens a shared handle or releases a shared object or a device; with more than 64 handles, some calls
//!   later.
//! * Releasing a queue blocks until the submitted work is complete. Work after a wait for a fence that is not reached
//!   by then is dropped.
//!
//! # Errors
//!
//! A call that D3D12 refuses is refused with the same HRESULT. A message that names the field and the rule is sent to
//! `tracing` (level error for a violated rule, warn for an unsupported feature, info for out of memory) and to the
//! device's `ID3D12InfoQueue1`. A device that is created while the debug layer is on stores its messages, and so does
//! each device of [`Instance::open`]. Other devices store none: their messages go only to `tracing`.
//!
//! Every device supports `QueryInterface` for `ID3D12InfoQueue1`, whereas D3D12 returns E_NOINTERFACE without the debug
//! layer. The queue of a device without the debug layer stays empty. `SetBreakOnSeverity` and its relatives count
//! breaks instead of stopping the program; [`break_count`] returns the count.

pub mod aliasing;
mod api;
mod ddi;
mod debug;
mod drivers;
pub mod exports;
mod fence;
mod format;
mod instance;
pub mod residency;
mod rules;
mod timestamps;
pub mod write_tracking;

pub use api::debug::break_count;
pub use ddi::{Architecture, ComputeOnly, Eviction, GpuVirtualAddressRange, SegmentGroup};
pub use drivers::host::profile::{BudgetStep, HostProfile, InvalidHostProfile, SegmentProfile};
#[cfg(feature = "vulkan")]
pub use drivers::vulkan::{VulkanError, VulkanGpu, validation_messages as vulkan_validation_messages};
pub use instance::{DeviceOptions, Instance};
pub use rules::sdk_version::{ParseSdkVersionError, SdkVersion};
