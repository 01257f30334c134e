//! GPU memory management for Direct3D 12.
//!
//! [`ResourceAllocator`] places resources in heaps that it creates, shares and gives back. It talks to
//! `ID3D12Device` and `IDXGIAdapter3` and to nothing else, so it runs on Windows' D3D12, on another implementation of
//! it, and on heapwright-runtime, which needs neither Windows nor a GPU.
//!
//! ```
//! use heapwright::d3d12::D3D12_RESOURCE_STATE_GENERIC_READ;
//! use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
//! # use heapwright_runtime::{HostProfile, Instance};
//! # let gpu = Instance::open(HostProfile::default_profile())?;
//! # let (device, adapter) = (gpu.device, gpu.adapter);
//!
//! let allocator = ResourceAllocator::new(&device, Some(&adapter), Default::default())?;
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
//! # What is there
//!
//! | part | state |
//! |---|---|
//! | [`ResourceAllocator`]: resources placed in shared heaps, in heaps of their own, within a buffer, committed or imported; custom [`Pool`]s; budgets and limits; [defragmentation](defragmentation::Defragmentation); [`probe`](ResourceAllocator::probe) | here |
//! | [`report`]: everything that an allocator holds, as plain data, with the feature `serde` as JSON | here |
//! | [`suballoc`]: suballocators over offsets of your own, [`VirtualBlock`](suballoc::VirtualBlock) and upload rings among them | here |
//! | [`windows_interop!`]: conversions between any version of the crate `windows` and these bindings; [`on_windows`]: Windows, the Agility SDK, the debug layer | here |
//! | [`DeviceCaps`], [`AdapterDesc`], [`VideoMemoryInfo`]: what a device and its adapter say, as plain values | here |
//! | [`ResidencyManager`]: what is in memory when the GPU uses it, within the operating system's budgets | here |
//! | reserved resources, aliasing, recording | not yet |
//!
//! # Safety
//!
//! What the GPU does, it does because somebody executed a command list. That is an `unsafe` call, of D3D12 or
//! [`ResidencyManager::execute_command_lists`](residency::ResidencyManager::execute_command_lists), and who makes it promises that whatever the list references lives, keeps its
//! memory and is resident until the GPU has finished. Memory is taken from under the GPU only by breaking this promise, so the
//! functions that give memory back, move it or evict it are safe:
//!
//! | what | why it is safe |
//! |---|---|
//! | dropping an allocation, a pool, a residency heap or an allocator; [`free_after`](ResourceAllocator::free_after) and [`collect`](ResourceAllocator::collect); [`release_empty_heaps`](ResourceAllocator::release_empty_heaps) | the promise covers the lifetime of what lists reference, and allocations of their memory |
//! | [`Move::complete`](defragmentation::Move::complete), and dropping a [`Move`] | the same: the old place is free, or the new one |
//! | [`ResidencyManager::trim`](residency::ResidencyManager::trim), [`evict_at_least`](residency::ResidencyManager::evict_at_least), [`manage`](residency::ResidencyManager::manage), [`set_residency_status`](residency::ResidencyManager::set_residency_status), [`ResidencyHeap::unlock`](residency::ResidencyHeap::unlock), creating memory that makes others go | the promise covers residency; what was submitted through the manager it does not evict |
//! | [`ResourceAllocation::map`], [`Mapping`] | the mapped bytes are one mapping's alone, and are copied; whoever executes lists orders them with what the CPU does |
//! | [`resource`](ResourceAllocation::resource), [`heap`](ResourceAllocation::heap), [`pageable`](residency::ResidencyHeap::pageable) and other interfaces that are handed out | every method of an interface is an `unsafe fn` |
//! | interfaces that are passed in, and those that a callback of [`create_heap`](residency::ResidencyManager::create_heap) returns | an interface is a live COM object by its type; of which device and kind it is, is checked |
//!
//! What cannot be known is an `unsafe fn` that says what it relies on: `execute_command_lists`,
//! [`ResourceAllocator::import`] (a resource that somebody else may map), `from_raw` (a pointer), and [`windows_interop!`] (a
//! crate that is called `windows`).
//!
//! [`Defragmentation`]: defragmentation::Defragmentation
//! [`Move`]: defragmentation::Move
//! [`ResidencyHeap`]: residency::ResidencyHeap
//! [`ResidencyManager`]: residency::ResidencyManager
//!
//! # Threads
//!
//! Allocators, allocations, pools, residency managers, their heaps and lists, defragmentations and moves, descriptions, reports and
//! errors are `Send` and `Sync`. A [`Mapping`] and an [`OpenResidencyList`](residency::OpenResidencyList) are not `Send`: they stay on
//! the thread that opened them. No lock is held while the device creates or destroys anything.

#[doc(hidden)]
#[path = "windows_interop.rs"]
pub mod __windows_interop;
mod adapter;
mod allocator;
mod buffer_desc;
mod buffers;
mod caps;
pub mod defragmentation;
mod desc;
mod error;
pub mod gpgmm;
mod heap_family;
mod heap_type;
mod memory;
pub mod on_windows;
mod plan;
pub mod report;
mod requirements;
pub mod residency;

pub use adapter::{AdapterDesc, VideoMemoryInfo};
pub use allocator::{
    LiveAllocation, Mapping, MemoryTotals, Pool, Probe, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocationInfo, ResourceAllocationSupport, ResourceAllocator, ResourceAllocatorStats,
    TexelPitches, TextureMapping,
};
pub use buffer_desc::buffer_desc;
pub use caps::{AlignmentBesideTight, Architecture, DeviceCaps};
pub use desc::{
    EmptyHeapPolicy, HeapLimits, PoolDesc, RecordFlags, RecordOptions, RecordScope, ResourceAllocationFlags,
    ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc, ResourceKind, SuballocationAlgorithm,
};
pub use error::Error;
pub use heap_family::{HeapTypePreference, InitialState, NodeMasks};
pub use heap_type::HeapType;
pub use heapwright_core::residency::SegmentGroup;
pub use heapwright_core::suballoc::Strategy;
pub use heapwright_core::{
    Alignment, ByteSize, FenceValue, GpuVirtualAddress, HeapOffset, HeapRange, suballoc,
};
pub use heapwright_d3d12 as d3d12;
pub use memory::{AllocationId, ProbedMemory};
pub use plan::{Decision, Placement, Reason};
pub use requirements::BufferUses;

/// The README's example is a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
