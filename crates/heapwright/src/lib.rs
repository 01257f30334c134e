//! GPU memory management for Direct3D 12.
//!
//! [`ResourceAllocator`] places resources in heaps that it creates, shares and releases. It requires no more
//! than the first `ID3D12Device`, and uses `IDXGIAdapter3` and newer interfaces where they exist. Therefore it runs on
//! Windows' D3D12, on other implementations of D3D12, and on heapwright-runtime, which needs neither Windows nor a GPU.
//!
//! ```
//! use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
//! use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
//! use heapwright_runtime::{HostProfile, Instance};
//!
//! let gpu = Instance::open(HostProfile::default_profile())?; // or your own ID3D12Device and IDXGIAdapter3
//! let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
//! let upload = ResourceAllocationDesc::new(HeapType::Upload);
//! let desc = buffer_desc(ByteSize::from_kib(4));
//! let mut buffer = allocator.create_resource(&upload, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, None)?;
//! buffer.map()?.write(0, b"hello")?;
//! println!("{} at {:?}", buffer.size(), buffer.gpu_virtual_address());
//! drop(buffer); // its memory goes back to the allocator
//! assert_eq!(allocator.stats().used, ByteSize::ZERO);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Contents
//!
//! | part | what it does |
//! |---|---|
//! | [`ResourceAllocator`], [`ResourceAllocation`] | resources placed in shared heaps or in heaps of their own, suballocated within a buffer, committed or imported; custom [`Pool`]s, budgets and limits; [`probe`](ResourceAllocator::probe) |
//! | [`defragmentation`] | empties heaps that are used little, by moves that the application executes |
//! | [`residency`]: [`ResidencyManager`] | keeps the memory that the GPU uses resident, within the operating system's budgets |
//! | [`report`] | everything that an allocator holds, as plain data |
//! | [`recording`] | records memory events to a file |
//! | [`DeviceCaps`], [`AdapterDesc`], [`VideoMemoryInfo`] | properties of a device and its adapter, as plain values |
//! | [`suballoc`] | the algorithms without a device: suballocators over offsets of your own ([`Tlsf`](suballoc::Tlsf), D3D12MA's virtual block, and [`Linear`](suballoc::Linear) for upload rings) |
//! | [`windows_interop!`], [`on_windows`] | conversions from and to any version of the crate `windows`; Windows, the Agility SDK and the debug layer |
//! | [`usage_patterns`] | which settings for which resources |
//! | [`from_d3d12ma`], [`gpgmm`], [gpu-allocator](on_windows#coming-from-gpu-allocator) | the equivalent of each name of another library |
//!
//! Other crates use the library's public API, and are compiled only by programs that name them: `heapwright-transient`,
//! resources of a frame that share memory, with their barriers; `heapwright-aliasing`, the planner of aliased memory by
//! itself; `heapwright-tiles`, reserved resources.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `residency`, on by default | [`residency`] |
//! | `serde` | [`report`]s and number types implement `Serialize` and `Deserialize` |
//! | `bytemuck` | [`Mapping`]s read and write slices of plain data |
//! | `preview` | what previews of the Agility SDK add, which may change in any version: [`LayoutGuid`]s |
//!
//! # Safety
//!
//! The GPU accesses memory only because the program executes a command list. Executing is an `unsafe` call, of D3D12 or
//! of [`ResidencyManager::execute_command_lists`](residency::ResidencyManager::execute_command_lists). Its caller
//! promises that everything the list references stays alive, keeps its memory and is resident until the GPU has
//! finished. Memory can be freed, moved or evicted while the GPU uses it only if that promise is broken. The functions
//! that free, move or evict memory are therefore safe:
//!
//! | operation | why it is safe |
//! |---|---|
//! | dropping an allocation, a pool, a residency heap or an allocator; [`free_after`](ResourceAllocator::free_after) and [`collect`](ResourceAllocator::collect); [`release_empty_heaps`](ResourceAllocator::release_empty_heaps) | the promise covers the lifetime of everything that lists reference, and the allocations of its memory |
//! | [`Move::complete`](defragmentation::Move::complete), and dropping a [`Move`] | the same promise: either the old range or the new one is freed |
//! | [`ResidencyManager::trim`](residency::ResidencyManager::trim), [`evict_at_least`](residency::ResidencyManager::evict_at_least), [`manage`](residency::ResidencyManager::manage), [`set_residency_status`](residency::ResidencyManager::set_residency_status), [`ResidencyHeap::unlock`](residency::ResidencyHeap::unlock), creating memory for which other heaps are evicted | the promise covers residency; the manager does not evict heaps that unfinished submissions through it use |
//! | [`ResourceAllocation::map`], [`Mapping`] | the mapped bytes belong to one mapping and are copied; the caller that executes lists orders them with CPU accesses |
//! | [`resource`](ResourceAllocation::resource), [`heap`](ResourceAllocation::heap), [`pageable`](residency::ResidencyHeap::pageable) and other functions that return interfaces | every method of an interface is an `unsafe fn` |
//! | interfaces that are passed in, and those that a callback of [`create_heap`](residency::ResidencyManager::create_heap) returns | by its type, an interface is a live COM object; its device and kind are checked |
//!
//! Operations whose preconditions cannot be checked are `unsafe fn`s that document them: `execute_command_lists`,
//! [`ResourceAllocator::import`] (other code may map the resource), `from_raw` (a pointer), and [`windows_interop!`] (a
//! crate that is named `windows`).
//!
//! [`Defragmentation`]: defragmentation::Defragmentation
//! [`Move`]: defragmentation::Move
//! [`ResidencyHeap`]: residency::ResidencyHeap
//! [`ResidencyManager`]: residency::ResidencyManager
//!
//! # Threads
//!
//! Allocators, allocations, pools, residency managers, their heaps and lists, defragmentations, moves, descriptions,
//! reports and errors are `Send` and `Sync`. A [`Mapping`] and an [`OpenResidencyList`](residency::OpenResidencyList)
//! are not `Send`: they stay on the thread that created them. No lock is held while the device creates or destroys an
//! object.

// Some functions have no caller in a build without the feature that calls them.
#![cfg_attr(not(feature = "residency"), allow(dead_code, unused_imports))]

// rustdoc shows a type's methods in the order of the modules. `allocator` adds a method to `ResidencyList`, so it is
// not before `residency`.
#[cfg(feature = "residency")]
pub mod residency;
#[cfg(not(feature = "residency"))]
#[path = "residency/absent.rs"]
mod residency;

#[doc(hidden)]
#[path = "windows_interop.rs"]
pub mod __windows_interop;
mod adapter;
mod allocator;
mod buffers;
mod caps;
pub mod defragmentation;
mod desc;
mod error;
#[doc = include_str!("../docs/from_d3d12ma.md")]
pub mod from_d3d12ma {}
#[doc = include_str!("../docs/gpgmm.md")]
pub mod gpgmm {}
mod heaps;
#[doc = include_str!("../docs/on_windows.md")]
pub mod on_windows {}
pub mod recording;
pub mod report;
mod request;
mod source;
#[doc = include_str!("../docs/usage_patterns.md")]
pub mod usage_patterns {}

pub use adapter::{AdapterDesc, VideoMemoryInfo};
pub use allocator::{
    AliasingRequirements, HeldHeap, Mapping, MemoryAllocation, NotFreed, Pool, Prediction, ReservedRecord,
    ResourceAllocation, ResourceAllocationDesc, ResourceAllocationInfo, ResourceAllocationSupport,
    ResourceAllocator, ResourceAllocatorStats, TexelPitches, TextureMapping,
};
pub use caps::{AlignmentWithTight, Architecture, DeviceCaps};
pub use desc::{
    ClearValue, EmptyHeapPolicy, HeapLimits, InitialState, LayoutGuid, PoolDesc, RecordFlags, RecordOptions,
    RecordScope, ResourceAllocationFlags, ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc,
    ResourceKind, SuballocationAlgorithm, buffer_desc,
};
pub use error::Error;
pub use heaps::PredictedMemory;
pub use heapwright_core::placement::HeapSetTotals as MemoryTotals;
pub use heapwright_core::suballoc::FreeRangeChoice;
pub use heapwright_core::units::ParseByteSizeError;
pub use heapwright_core::{
    Alignment, ByteSize, FenceValue, GpuVirtualAddress, HeapOffset, HeapRange, SegmentGroup, suballoc,
};
pub use heapwright_d3d12 as d3d12;
pub use request::{
    BufferUses, HeapType, HeapTypePreference, NodeMasks, Placement, PlacementDecision, PlacementReason,
};
pub use source::{AllocationId, MemoryReference};
