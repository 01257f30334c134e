//! heapwright on Windows: required versions, the Agility SDK, the debug layer, and migration from another allocator.
//!
//! # A device
//!
//! heapwright accepts any `ID3D12Device`, and its `IDXGIAdapter3` if there is one:
//!
//! * from the crate `windows`, of any version: [`windows_interop!`](crate::windows_interop);
//! * from C++, or other bindings, as a pointer: [`ResourceAllocator::from_raw`](crate::ResourceAllocator::from_raw);
//! * from heapwright's own bindings: `D3D12CreateDevice` in [`d3d12`](crate::d3d12).
//!
//! Without an adapter, everything except budgets works. heapwright does not link d3d12.dll or dxgi.dll; the program
//! decides where its device comes from.
//!
//! # Versions of features
//!
//! heapwright queries the device and never a version number: `CheckFeatureSupport` and `QueryInterface`, once for each
//! allocator ([`DeviceCaps`](crate::DeviceCaps) contains the results). A feature that a device does not know counts as
//! absent. *SDK* is the Agility SDK with that number, as a retail release; a Windows whose own D3D12 is as new also has
//! the feature. Most features also require a driver that supports them.
//!
//! | feature | since | use in heapwright | if absent |
//! |---|---|---|---|
//! | `IDXGIAdapter3` | DXGI 1.4 | budgets and usage: [`VideoMemoryInfo`](crate::VideoMemoryInfo), and the budgets of residency | no adapter: options that need a budget are rejected, the allocator's own limits work ([`HeapLimits`](crate::HeapLimits)); a residency manager requires [`budget_override`](crate::residency::ResidencyManagerDesc::budget_override) or a maximum |
//! | its `RegisterVideoMemoryBudgetChangeNotificationEvent` | as above | [`ALLOW_BACKGROUND_BUDGET_UPDATES`](crate::residency::ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) | a warning; budgets are queried every [`refresh_interval`](crate::residency::ResidencyManagerDesc::refresh_interval) submissions, as without the flag |
//! | `ID3D12Device1` | Windows 10 Anniversary Update | residency priorities of pools, which are set in D3D12 | not set in D3D12; a residency manager still applies them |
//! | `ID3D12Device3` | Windows 10 Fall Creators Update (1709) | `EnqueueMakeResident`: queues wait for heaps to become resident, and the CPU does not | `MakeResident` on a thread of the manager, for which queues wait |
//! | `ID3D12Device4` | Windows 10 build 20348 at the latest | heaps and committed resources of a protected session | unsupported; the error names it |
//! | `ID3D12Device8` | as above | sampler feedback regions | unsupported; the error names it |
//! | heap flag CREATE_NOT_RESIDENT | Windows 10 May 2020 Update (2004) | [`CREATE_NOT_RESIDENT`](crate::ResourceAllocatorFlags::CREATE_NOT_RESIDENT); assumed with `ID3D12Device8` | heaps are created resident, and a warning is logged |
//! | heap flag CREATE_NOT_ZEROED | Windows 10 May 2020 Update (2004) | [`CREATE_NOT_ZEROED`](crate::ResourceAllocatorFlags::CREATE_NOT_ZEROED), if requested; assumed with `ID3D12Device8` | heaps are zeroed, and a warning is logged |
//! | `ID3D12Device10`, enhanced barriers | SDK 1.608 | initial layouts: [`InitialState::Layout`](crate::InitialState::Layout) | unsupported; the error names it; [`InitialState::State`](crate::InitialState::State) works |
//! | these, and `ID3D12GraphicsCommandList7` | as above | the barriers of [`transient`](crate::transient) resources | legacy barriers |
//! | state COMMON in UPLOAD and READBACK heaps | SDK 606; assumed with `ID3D12Device10` | resources with this initial state | GENERIC_READ and COPY_DEST, the only states there |
//! | castable formats | SDK 1.608 for creation (`ID3D12Device10`), SDK 1.610 for their size (`ID3D12Device12`) | [`ResourceDesc::castable_formats`](crate::ResourceDesc) | unsupported; the error names it |
//! | GPU upload heaps | SDK 1.613; resizable BAR (not needed on UMA), support of Windows and driver | [`HeapType::GpuUpload`](crate::HeapType) | the next heap type of the [preference](crate::HeapTypePreference), otherwise unsupported; [`needs_copy`](crate::ResourceAllocation::needs_copy) distinguishes them |
//! | tight alignment | SDK 1.618.1 | every resource that supports it: a placed buffer takes its own size instead of 64 KiB | 64 KiB, 4 KiB for small textures |
//! | an alignment combined with it, as a minimum | SDK 1.619.4 | [`AlignmentBesideTight::Floor`](crate::AlignmentBesideTight), if configured: no device reports it | the resource is still placed at that alignment |
//! | manual write tracking (OPTIONS17) | SDK 1.610 | not implemented | |
//! | recreate-at addresses (OPTIONS20) | a driver that reports it | not implemented | |
//! | trim notifications (`ID3D12Device15`) | SDK 1.619 | evicts heaps that were not used since the last one, or the requested bytes, with [`ALLOW_BACKGROUND_BUDGET_UPDATES`](crate::residency::ResidencyManagerFlags::ALLOW_BACKGROUND_BUDGET_UPDATES) | only budgets show that memory is short |
//!
//! # The Agility SDK
//!
//! A program that ships D3D12Core.dll has the newest features on Windows 10 1909 and later. d3d12.dll looks for two
//! exported variables in the *executable*: the version that the program ships, and the folder, relative to the
//! executable. If Windows' own D3D12 is as new or newer, that is used instead. The NuGet package
//! `Microsoft.Direct3D.D3D12` contains the files.
//!
//! ```
//! // main.rs
//! # #![allow(non_upper_case_globals)]
//! #[unsafe(no_mangle)]
//! pub static D3D12SDKVersion: u32 = 618;
//! #[unsafe(no_mangle)]
//! pub static D3D12SDKPath: &[u8; 9] = b".\\D3D12\\\0";
//! # assert_eq!(size_of_val(&D3D12SDKPath), size_of::<*const u8>());
//! ```
//!
//! Rust does not export symbols from executables by default, so the linker needs these options:
//!
//! ```no_run
//! // build.rs
//! use std::path::Path;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let exports = Path::new(&std::env::var("OUT_DIR")?).join("exports.def");
//!     std::fs::write(&exports, "EXPORTS\n    D3D12SDKVersion DATA\n    D3D12SDKPath DATA\n")?;
//!     match std::env::var("CARGO_CFG_TARGET_ENV")?.as_str() {
//!         "gnu" => println!("cargo::rustc-link-arg-bins={}", exports.display()),
//!         "msvc" => println!("cargo::rustc-link-arg-bins=/DEF:{}", exports.display()),
//!         _ => {}
//!     }
//!     Ok(())
//! }
//! ```
//!
//! A library cannot choose: the executable does, for the whole process. To verify the result, see
//! [`DeviceCaps`](crate::DeviceCaps) of a device, which contains the newest interface. `heapwright devices` prints the
//! same.
//!
//! # Without a GPU
//!
//! WARP, Windows' software rasterizer, is an adapter like others: `IDXGIFactory4::EnumWarpAdapter`. A newer version is
//! available as the NuGet package `Microsoft.Direct3D.WARP`. The crate heapwright-runtime is a simulated GPU, for tests
//! of memory on any operating system. Its devices support everything above, or as little as an old Windows.
//!
//! # The debug layer
//!
//! The debug layer checks each call and describes errors in words. It must be enabled before the first device is
//! created. It requires Windows' optional feature *Graphics Tools*, even with the debug layer of an Agility SDK
//! (D3D12SDKLayers.dll beside D3D12Core.dll, of the same version).
//!
//! ```no_run
//! use heapwright::d3d12::windows_core::{self, Interface as _};
//! use heapwright::d3d12::*;
//!
//! fn check_everything(on_the_gpu_too: bool) -> windows_core::Result<()> {
//!     let mut debug: Option<ID3D12Debug> = None;
//!     let mut dred: Option<ID3D12DeviceRemovedExtendedDataSettings> = None;
//!     // SAFETY: each result is of the interface that is asked for.
//!     unsafe {
//!         D3D12GetDebugInterface(&mut debug)?;
//!         let Some(debug) = debug else { return Ok(()) };
//!         debug.EnableDebugLayer();
//!         if on_the_gpu_too {
//!             // What shaders really access: descriptors, states, bounds. Much slower.
//!             debug.cast::<ID3D12Debug1>()?.SetEnableGPUBasedValidation(true.into());
//!         }
//!         // Device removed extended data, Windows 10 1903: what the GPU was at, and which memory it missed, when a device is lost.
//!         let found = D3D12GetDebugInterface(&mut dred);
//!         if let (Ok(()), Some(dred)) = (found, dred) {
//!             dred.SetAutoBreadcrumbsEnablement(D3D12_DRED_ENABLEMENT_FORCED_ON);
//!             dred.SetPageFaultEnablement(D3D12_DRED_ENABLEMENT_FORCED_ON);
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! heapwright only uses features that the device reports, and makes no trial calls. An error of the debug layer in one
//! of its calls is caused by a description that the program passed, or it is a defect: please report it.
//!
//! # DLLs that are unloaded
//!
//! Dropping the last handle of a residency manager, of an allocator that prefetches, or of what is
//! [recorded](crate::recording) waits for a thread to end. On Windows, no thread ends while `DllMain` executes. A DLL that may be
//! unloaded must drop them before: in `DllMain`, the call would not return.
//!
//! # Logging
//!
//! heapwright logs through `tracing`, with targets that begin with `heapwright`. Messages have their values as fields:
//!
//! | level | contents |
//! |---|---|
//! | warn | deviations from the request that are not errors: a device without CREATE_NOT_RESIDENT or without a pool's priority, unified memory on an unsuitable architecture, tiers that waste memory, an allocation larger than requested ([`ALWAYS_WARN_ON_ALIGNMENT_MISMATCH`](crate::ResourceAllocationFlags::ALWAYS_WARN_ON_ALIGNMENT_MISMATCH)), leaks ([`NEVER_LEAK`](crate::ResourceAllocatorFlags::NEVER_LEAK)), deferred frees that leak |
//! | debug | heaps that are created, memory that is released for another attempt, prefetches that fail, resources that become committed and why |
//!
//! Errors are returned, not logged. A callback adds the debug layer's messages to the log:
//!
//! ```
//! use std::ffi::{CStr, c_void};
//!
//! use heapwright::d3d12::windows_core::Interface as _;
//! use heapwright::d3d12::*;
//! # use std::sync::atomic::{AtomicU32, Ordering};
//! # static TOLD: AtomicU32 = AtomicU32::new(0);
//!
//! /// Called on any thread, from inside D3D12: it must not call D3D12, and must not panic.
//! unsafe extern "system" fn tell(
//!     _category: D3D12_MESSAGE_CATEGORY,
//!     severity: D3D12_MESSAGE_SEVERITY,
//!     id: D3D12_MESSAGE_ID,
//!     text: PCSTR,
//!     _context: *mut c_void,
//! ) {
//!     // SAFETY: the text ends with a zero, and lives until this returns.
//!     let text = unsafe { CStr::from_ptr(text.0.cast()) }.to_string_lossy();
//! #   TOLD.fetch_add(1, Ordering::Relaxed);
//!     match severity {
//!         D3D12_MESSAGE_SEVERITY_CORRUPTION | D3D12_MESSAGE_SEVERITY_ERROR => {
//!             tracing::error!(target: "d3d12", id, "{text}");
//!         }
//!         D3D12_MESSAGE_SEVERITY_WARNING => tracing::warn!(target: "d3d12", id, "{text}"),
//!         _ => tracing::debug!(target: "d3d12", id, "{text}"),
//!     }
//! }
//!
//! /// `false`: there is no debug layer, or it is older than `ID3D12InfoQueue1`.
//! fn log_messages_of(device: &ID3D12Device) -> bool {
//!     let Ok(queue) = device.cast::<ID3D12InfoQueue1>() else { return false };
//!     let mut cookie = 0; // for UnregisterMessageCallback
//!     // SAFETY: the function is for any thread and has no context; there is room for the cookie.
//!     let answer = unsafe {
//!         let flags = D3D12_MESSAGE_CALLBACK_FLAG_NONE;
//!         queue.RegisterMessageCallback(Some(tell), flags, std::ptr::null_mut(), &mut cookie)
//!     };
//!     answer.is_ok()
//! }
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//! # assert!(log_messages_of(&gpu.device));
//! # let mut heap: Option<ID3D12Heap> = None;
//! # assert!(unsafe { gpu.device.CreateHeap(&D3D12_HEAP_DESC::default(), &mut heap) }.is_err());
//! # assert_eq!(TOLD.load(Ordering::Relaxed), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With a subscriber's filter `heapwright=debug,d3d12=warn` (as `RUST_LOG` takes it), both are in one log, in order.
//! Names help in both: [`ResourceAllocation::set_debug_name`](crate::ResourceAllocation::set_debug_name) also sets the
//! resource's D3D12 name.
//!
//! # Coming from gpu-allocator
//!
//! | gpu-allocator (`d3d12`) | heapwright |
//! |---|---|
//! | `Allocator`, behind a `Mutex` | [`ResourceAllocator`](crate::ResourceAllocator): used through `&self`, from any thread |
//! | `AllocatorCreateDesc` | [`ResourceAllocatorDesc`](crate::ResourceAllocatorDesc); the device is a separate argument, of any version of `windows` |
//! | `AllocationSizes` | [`preferred_heap_size`](crate::ResourceAllocatorDesc::preferred_heap_size), [`HeapLimits`](crate::HeapLimits) |
//! | `MemoryLocation::{GpuOnly, CpuToGpu, GpuToCpu}` | [`HeapType`](crate::HeapType)`::{Default, Upload, Readback}`, and `GpuUpload` |
//! | `create_resource(&ResourceCreateDesc)` | [`create_resource`](crate::ResourceAllocator::create_resource), and [`create`](crate::ResourceAllocator::create) for layouts and castable formats |
//! | `ResourceType::Placed` | the default |
//! | `ResourceType::Committed` | [`ALWAYS_COMMITTED`](crate::ResourceAllocationFlags::ALWAYS_COMMITTED) |
//! | `ResourceCategory` | derived from the description |
//! | `Resource`, `free_resource` | [`ResourceAllocation`](crate::ResourceAllocation), which is freed when it is dropped; [`free_after`](crate::ResourceAllocator::free_after) for a fence value |
//! | `allocate` and an explicit `CreatePlacedResource` | one call: `create`. For offsets in your own memory: [`suballoc`](crate::suballoc) |
//! | `generate_report`, `capacity` | [`stats`](crate::ResourceAllocator::stats), [`report`](crate::report), [`reserved`](crate::ResourceAllocator::reserved) |
//!
//! # Using wgpu's device
//!
//! wgpu owns its device and its memory. heapwright can create resources on the same device: wgpu-hal's
//! `dx12::Device::raw_device` is an `ID3D12Device` of the `windows` version that wgpu uses, and `texture_from_raw`
//! takes an `ID3D12Resource` of it. Name that version in `Cargo.toml`, and convert with
//! [`windows_interop!`](crate::windows_interop). Keep the [`ResourceAllocation`](crate::ResourceAllocation) until wgpu
//! and the GPU have finished with the texture: the resource's own reference does not prevent heapwright from reusing
//! its range of the heap.
