//! Allocator.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use heapwright::d3d12::resource_desc::downgrade;
use heapwright::d3d12::*;
use heapwright::residency::{ResidencyManager, ResidencyManagerDesc};
use heapwright::{
    Alignment, Architecture, ByteSize, ClearValue, EmptyHeapPolicy, Error, HeapOffset, HeapType,
    InitialState, Prediction, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc, ResourceKind, SegmentGroup,
};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use super::allocation::{Allocation, Contents, Memory, OwnResource};
use super::defragmentation::{self, Description};
use super::descriptors::{
    AllocationDesc, AllocatorDesc, PoolDescription, TIGHT_ALIGNMENT, Wanted, allocator_flag, check_bits,
    memory_alignment, null, receiving, required, store,
};
use super::host_memory::{HostMemory, hosted};
use super::json;
use super::pool::PoolObject;
use super::state::State;
use super::statistics::{Snapshot, Statistics, TotalStatistics, count};
use crate::allocator::Allocator;
use crate::call::{self, Failure, Fallible};
use crate::debug_name::WideChar;
use crate::descriptors::{refuse, size};
use crate::object::{Out, Reference, methods, recognize};

/// The body of an Allocator.
pub(crate) struct AllocatorObject(Arc<State>);

/// `Budget`.
#[repr(C)]
struct Budget {
    stats: Statistics,
    usage: u64,
    budget: u64,
}

/// `ALLOCATOR_DESC::PreferredBlockSize` is zero, or in this range.
const BLOCK_SIZES: std::ops::Range<u64> = 16..1 << 40;

/// Creates an allocator; with a description of a residency manager, also the manager.
///
/// # Safety
///
/// As the exported function.
pub(crate) unsafe fn create(
    desc: *const AllocatorDesc,
    residency: Option<ResidencyManagerDesc>,
) -> Fallible<Reference<AllocatorObject>> {
    // SAFETY: the caller's promises.
    let (desc, device, adapter, host) = unsafe {
        let desc = required(desc, "pDesc")?;
        let device = ID3D12Device::from_raw_borrowed(&desc.device).ok_or_else(|| null("pDevice"))?;
        let adapter = IUnknown::from_raw_borrowed(&desc.adapter).ok_or_else(|| null("pAdapter"))?;
        (desc, device, adapter, HostMemory::of(desc.callbacks)?)
    };
    check_bits("ALLOCATOR_DESC::Flags", desc.flags, allocator_flag::ALL)?;
    if desc.preferred_block_size != 0 && !BLOCK_SIZES.contains(&desc.preferred_block_size) {
        let size = desc.preferred_block_size;
        return refuse(
            "ALLOCATOR_DESC::PreferredBlockSize",
            format_args!("{size} is not in {BLOCK_SIZES:?}"),
        );
    }
    let (mut options, mut adapter_desc) =
        (D3D12_FEATURE_DATA_D3D12_OPTIONS::default(), DXGI_ADAPTER_DESC::default());
    let (start, space) = ((&raw mut options).cast(), count(size_of_val(&options) as u64));
    // SAFETY: the device is alive, and the space is for this structure. The library checks that the device answers.
    let _ = unsafe { device.CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, start, space) };
    if let Ok(adapter) = adapter.cast::<IDXGIAdapter>() {
        // SAFETY: the adapter is alive. If it fails, the description is zeros.
        let _ = unsafe { adapter.GetDesc(&mut adapter_desc) };
    }
    let adapter = adapter.cast::<IDXGIAdapter3>().ok();
    let mut flags = ResourceAllocatorFlags::empty();
    let has = |flag| desc.flags & flag != 0;
    flags.set(ResourceAllocatorFlags::ALWAYS_COMMITTED, has(allocator_flag::ALWAYS_COMMITTED));
    flags.set(ResourceAllocatorFlags::CREATE_NOT_ZEROED, has(allocator_flag::NOT_ZEROED));
    flags.set(ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT, has(allocator_flag::NOT_TIGHT));
    let of_library = ResourceAllocatorDesc {
        flags,
        empty_heap_policy: EmptyHeapPolicy::UntilNextFree,
        preferred_heap_size: size(desc.preferred_block_size),
        min_alignment: Alignment::new(TIGHT_ALIGNMENT).unwrap_or(Alignment::ONE),
        ..Default::default()
    };
    let allocator = match residency {
        None => ResourceAllocator::new(device, adapter.as_ref(), of_library)?,
        Some(residency) => {
            let manager = ResidencyManager::new(device, adapter.as_ref(), residency)?;
            ResourceAllocator::with_residency(device, adapter.as_ref(), of_library, &manager)?
        }
    };
    let (flags, (frame, pools, shards)) = (desc.flags, Default::default());
    let state = State { allocator, adapter, adapter_desc, options, flags, host, frame, pools, shards };
    host.create(AllocatorObject(Arc::new(state)))
}

impl Drop for AllocatorObject {
    fn drop(&mut self) {
        self.0.orphan();
    }
}

// The library's allocator is also an IAllocator.
hosted!(AllocatorObject, METHODS, |this| this.0.host, |this| {
    Some(Allocator::of(this.0.allocator.clone()).into_unknown())
});

/// Converts an error of the library: GPGMM has another result for some shortages.
fn failure(error: Error) -> Failure {
    let is_shortage = error.is_out_of_memory();
    if is_shortage { Failure::Refused(E_OUTOFMEMORY, error.to_string()) } else { error.into() }
}

/// A description of a resource as C++ passes it.
#[derive(Clone, Copy)]
enum Described {
    First(*const D3D12_RESOURCE_DESC),
    /// The second generation, with the number of the device's interface that it needs.
    Second(*const D3D12_RESOURCE_DESC1, u32),
}

/// The parameters of a resource.
struct Parameters {
    desc: Described,
    state: InitialState,
    clear_value: *const D3D12_CLEAR_VALUE,
    castable: (u32, *const DXGI_FORMAT),
}

impl Parameters {
    fn in_state(desc: Described, state: States, clear_value: *const Clear) -> Self {
        Self { desc, state: InitialState::State(state), clear_value, castable: (0, std::ptr::null()) }
    }

    /// # Safety
    ///
    /// The pointers are null or valid.
    unsafe fn convert(&self, state: &State) -> Fallible<ResourceDesc<'_>> {
        // SAFETY: the caller's promise.
        unsafe {
            let (desc, sampler_feedback_mip_region) = match self.desc {
                First(desc) => (*required(desc, "pResourceDesc")?, D3D12_MIP_REGION::default()),
                Second(_, version) if state.allocator.caps().interface_version < version => {
                    return Err(Failure::Refused(E_NOINTERFACE, format!("no ID3D12Device{version}")));
                }
                Second(desc, _) => {
                    let desc = required(desc, "pResourceDesc")?;
                    (downgrade(desc), desc.SamplerFeedbackMipRegion)
                }
            };
            let castable = call::array(self.castable.1, self.castable.0, "pCastableFormats");
            Ok(ResourceDesc {
                desc,
                sampler_feedback_mip_region,
                initial_state: self.state,
                clear_value: self.clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)),
                castable_formats: castable.map_err(|_| null("pCastableFormats"))?,
                protected_session: None,
                ..ResourceDesc::default()
            })
        }
    }
}

/// Stores a reference to a resource, of the interface that the program asks for.
///
/// # Safety
///
/// The IID is null or valid.
unsafe fn give(resource: &ID3D12Resource, iid: *const GUID, out: Out) -> Fallible<()> {
    let mut object = std::ptr::null_mut();
    if iid.is_null() {
        return Err(null("riidResource"));
    }
    // SAFETY: the resource is alive, and the caller's promise.
    let asked = unsafe { resource.query(iid, &mut object) };
    asked
        .ok()
        .map_err(|error| Failure::Refused(error.code(), "riidResource is no interface of it".into()))?;
    out.set(object);
    Ok(())
}

/// Creates a resource with its memory.
///
/// # Safety
///
/// The pointers are null or valid.
#[inline]
unsafe fn create_resource(
    AllocatorObject(state): &AllocatorObject,
    desc: *const AllocationDesc,
    resource: &Parameters,
    out: *mut *mut c_void,
    (iid, resource_out): (*const GUID, *mut *mut c_void),
) -> Fallible<HRESULT> {
    // SAFETY: the caller's promise.
    unsafe {
        let (resource_out, out) = (Out::new(resource_out), receiving(out, "ppAllocation")?);
        let (desc, mut resource) = (required(desc, "pAllocDesc")?, resource.convert(state)?);
        let mut wanted = desc.convert(state)?;
        wanted.place(state, &mut resource.desc);
        let data = desc.private_data;
        let object = if wanted.has_explicit_heap && wanted.desc.extra_required_heap_flags != 0 {
            let contents = in_own_heap(state, &wanted, &resource)?;
            state.enter(data, || contents)?
        } else {
            // Without `?`, which would move the allocation, which is large, once more.
            match state.allocator.create(&wanted.desc, resource) {
                Ok(made) => state.enter(data, || of_resource(state, &wanted, made))?,
                Err(error) => return Err(failure(error)),
            }
        };
        if !resource_out.is_null() {
            object.body().lock().resource().map_or(Ok(()), |resource| give(resource, iid, resource_out))?;
        }
        out.set(object.into_raw());
        Ok(S_OK)
    }
}

/// Returns the contents of an allocation that the library created with a resource.
#[inline(always)]
fn of_resource(state: &State, wanted: &Wanted<'_>, made: ResourceAllocation) -> Contents {
    let (size, group) = (made.size().get(), group_of(state, wanted, made.heap_type()));
    // The library does not count committed resources with their pool.
    let pool = wanted.pool.filter(|_| made.heap().is_none()).map(|PoolObject(pool)| Arc::clone(pool));
    pool.iter().for_each(|pool| pool.count_committed(size, true));
    let resource = OwnResource::OfMemory;
    Contents { memory: Memory::Resource(made), resource, name: None, pool, size, group }
}

/// Returns the segment group of an allocation.
#[inline]
fn group_of(state: &State, wanted: &Wanted<'_>, heap_type: HeapType) -> SegmentGroup {
    match wanted.pool {
        None => state.allocator.caps().segment_group(heap_type),
        Some(PoolObject(pool)) => pool.pool.segment_group(),
    }
}

/// Creates a resource in an explicit heap with flags of its own.
fn in_own_heap(state: &State, wanted: &Wanted<'_>, resource: &ResourceDesc<'_>) -> Fallible<Contents> {
    let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let kind = match (resource.desc.Dimension, resource.desc.Flags & targets) {
        (D3D12_RESOURCE_DIMENSION_BUFFER, _) => ResourceKind::Buffers,
        (_, 0) => ResourceKind::Textures,
        _ => ResourceKind::RenderTargets,
    };
    let usual = ResourceAllocationDesc { heap_type: wanted.desc.heap_type, ..Default::default() };
    let Prediction { size, alignment, .. } = state.allocator.probe(&usual, resource).map_err(failure)?;
    let made = state.allocator.allocate_memory(&wanted.desc, kind, size, alignment).map_err(failure)?;
    let placed = OwnResource::Set(Some(made.create_resource(HeapOffset::ZERO, resource)?));
    let (size, group) = (made.size().get(), group_of(state, wanted, made.heap_type()));
    Ok(Contents::new(Memory::Range(made), placed, size, group))
}

/// Creates a resource in the memory of an allocation.
///
/// # Safety
///
/// The pointers are null or valid.
unsafe fn create_aliasing(
    AllocatorObject(state): &AllocatorObject,
    (allocation, offset): (*mut c_void, u64),
    resource: &Parameters,
    (iid, out): (*const GUID, *mut *mut c_void),
) -> Fallible<HRESULT> {
    // SAFETY: the caller's promise.
    unsafe {
        let (out, resource) = (receiving(out, "ppvResource")?, resource.convert(state)?);
        let allocation = recognize::<Allocation>(allocation);
        let Some(allocation) = allocation.filter(|it| std::ptr::eq(it.state(), &raw const **state)) else {
            return Err(Failure::invalid_argument("pAllocation is null or of another allocator"));
        };
        give(&allocation.lock().place(HeapOffset::new(offset), &resource)?, iid, out)?;
        Ok(S_OK)
    }
}

use D3D12_BARRIER_LAYOUT as Layout;
use D3D12_CLEAR_VALUE as Clear;
use D3D12_RESOURCE_DESC as Desc;
use D3D12_RESOURCE_DESC1 as Desc1;
use D3D12_RESOURCE_STATES as States;
use Described::{First, Second};
/// A parameter that receives an object.
type Receive = *mut *mut c_void;

methods!(METHODS, AllocatorObject, "Allocator":
    getter GetD3D12Options(this) -> usize { &raw const this.0.options as usize }
    getter IsUMA(this) -> i32 { i32::from(this.0.allocator.caps().architecture != Architecture::Discrete) }
    getter IsCacheCoherentUMA(this) -> i32 {
        i32::from(this.0.allocator.caps().architecture == Architecture::CacheCoherentUma)
    }
    getter IsGPUUploadHeapSupported(this) -> i32 { i32::from(this.0.allocator.caps().gpu_upload_heaps) }
    getter IsTightAlignmentSupported(this) -> i32 { i32::from(this.0.allocator.caps().tight_alignment_tier > 0) }
    getter GetMemoryCapacity(this, group: u32) -> u64 {
        SegmentGroup::ALL.get(group as usize).map_or(0, |&group| this.0.capacity(group))
    }
    method CreateResource(
        this, desc: *const AllocationDesc, resource: *const Desc, state: States, clear: *const Clear, out: Receive,
        iid: *const GUID, resource_out: Receive
    ) -> HRESULT {
        let parameters = Parameters::in_state(First(resource), state, clear);
        create_resource(this, desc, &parameters, out, (iid, resource_out))
    }
    method AllocateMemory(
        this, desc: *const AllocationDesc, info: *const D3D12_RESOURCE_ALLOCATION_INFO, out: Receive
    ) -> HRESULT {
        let (state, out) = (&this.0, receiving(out, "ppAllocation")?);
        let (desc, info) = (required(desc, "pAllocDesc")?, required(info, "pAllocInfo")?);
        let mut wanted = desc.convert(state)?;
        wanted.place_memory();
        let (size, alignment) = (ByteSize::new(info.SizeInBytes), memory_alignment(info.Alignment)?);
        let made = state.allocator.allocate_memory(&wanted.desc, wanted.kind, size, alignment).map_err(failure)?;
        let (size, group) = (made.size().get(), group_of(state, &wanted, made.heap_type()));
        let contents = || Contents::new(Memory::Range(made), OwnResource::Set(None), size, group);
        out.set(state.enter(desc.private_data, contents)?.into_raw());
        Ok(S_OK)
    }
    method CreateAliasingResource(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc, state: States, clear: *const Clear,
        iid: *const GUID, out: Receive
    ) -> HRESULT {
        let parameters = Parameters::in_state(First(resource), state, clear);
        create_aliasing(this, (allocation, offset), &parameters, (iid, out))
    }
    method CreatePool(this, desc: *const PoolDescription, out: Receive) -> HRESULT {
        let (out, desc) = (receiving(out, "ppPool")?, required(desc, "pPoolDesc")?);
        let pool = this.0.allocator.create_pool(desc.convert(&this.0)?).map_err(failure)?;
        out.set(PoolObject::create(&this.0, pool, desc.clone())?.into_raw());
        Ok(S_OK)
    }
    getter SetCurrentFrameIndex(this, frame: u32) -> () {
        if this.0.frame.swap(frame, Ordering::Relaxed) != frame {
            this.0.allocator.end_frame();
        }
    }
    getter GetBudget(this, local: *mut Budget, non_local: *mut Budget) -> () {
        for (group, out) in SegmentGroup::ALL.into_iter().zip([local, non_local]) {
            store(out, || {
                let (usage, budget) = this.0.usage_and_budget(group);
                Budget { stats: this.0.statistics_of(group), usage, budget }
            });
        }
    }
    getter CalculateStatistics(this, out: *mut TotalStatistics) -> () {
        store(out, || Snapshot::of(&this.0, false).totals());
    }
    getter BuildStatsString(this, out: *mut *mut WideChar, is_detailed: i32) -> () {
        store(out, || this.0.host.string(&json::of_allocator(&this.0, is_detailed != 0)));
    }
    getter FreeStatsString(this, string: *mut c_void) -> () { this.0.host.free(string) }
    getter BeginDefragmentation(this, desc: *const Description, out: Receive) -> () {
        let _ = call::hresult("Allocator::BeginDefragmentation", || defragmentation::begin(&this.0, None, desc, out));
    }
    method CreateResource2(
        this, desc: *const AllocationDesc, resource: *const Desc1, state: States, clear: *const Clear, out: Receive,
        iid: *const GUID, resource_out: Receive
    ) -> HRESULT {
        let parameters = Parameters::in_state(Second(resource, 8), state, clear);
        create_resource(this, desc, &parameters, out, (iid, resource_out))
    }
    method CreateAliasingResource1(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc1, state: States, clear: *const Clear,
        iid: *const GUID, out: Receive
    ) -> HRESULT {
        let parameters = Parameters::in_state(Second(resource, 8), state, clear);
        create_aliasing(this, (allocation, offset), &parameters, (iid, out))
    }
    method CreateResource3(
        this, desc: *const AllocationDesc, resource: *const Desc1, layout: Layout, clear_value: *const Clear,
        formats: u32, list: *const DXGI_FORMAT, out: Receive, iid: *const GUID, resource_out: Receive
    ) -> HRESULT {
        let (state, castable) = (InitialState::Layout(layout), (formats, list));
        let parameters = Parameters { desc: Second(resource, 10), state, clear_value, castable };
        create_resource(this, desc, &parameters, out, (iid, resource_out))
    }
    method CreateAliasingResource2(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc1, layout: Layout, clear_value: *const Clear,
        formats: u32, list: *const DXGI_FORMAT, iid: *const GUID, out: Receive
    ) -> HRESULT {
        let (state, castable) = (InitialState::Layout(layout), (formats, list));
        let parameters = Parameters { desc: Second(resource, 10), state, clear_value, castable };
        create_aliasing(this, (allocation, offset), &parameters, (iid, out))
    }
);
