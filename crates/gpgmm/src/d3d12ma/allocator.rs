//! Allocator.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use heapwright::d3d12::resource_desc::downgrade;
use heapwright::d3d12::*;
use heapwright::residency::{ResidencyManager, ResidencyManagerDesc};
use heapwright::{
    Alignment, Architecture, ByteSize, ClearValue, EmptyHeapPolicy, Error, HeapOffset, InitialState,
    Prediction, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc,
    ResourceAllocatorFlags, ResourceDesc, ResourceKind, SegmentGroup,
};
use windows_core::{GUID, HRESULT, IUnknown, Interface};

use super::allocation::{Allocation, Contents, Memory, OwnResource};
use super::defragmentation::{self, Description};
use super::descriptors::{
    AllocationDesc, AllocatorDesc, PoolDescription, TIGHT_ALIGNMENT, allocator_flag, check_bits,
    memory_alignment, null, receiving, required, store,
};
use super::host_memory::{HostMemory, hosted};
use super::json;
use super::pool::PoolObject;
use super::state::State;
use super::statistics::{Snapshot, Statistics, TotalStatistics, count};
use crate::allocator::Allocator;
use crate::call;
use crate::debug_name::WideChar;
use crate::descriptors::{refuse, size};
use crate::failure::{Failure, Fallible};
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
    let is_tight = !has(allocator_flag::NOT_TIGHT) && allocator.caps().tight_alignment_tier > 0;
    let (flags, (frame, pools, shards)) = (desc.flags, Default::default());
    let state =
        State { allocator, adapter, adapter_desc, options, flags, is_tight, host, frame, pools, shards };
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

/// Returns the description of a resource in a state.
///
/// # Safety
///
/// The clear value is null or valid.
#[inline(always)]
unsafe fn in_state<'a>(desc: &Desc, state: States, clear_value: *const Clear) -> ResourceDesc<'a> {
    // SAFETY: the caller's promise.
    let clear_value = unsafe { clear_value.as_ref().map(|value| ClearValue::from_d3d12(value)) };
    ResourceDesc { clear_value, ..ResourceDesc::in_state(desc, state) }
}

/// Returns the description of a resource that needs a version of the device's interface.
///
/// # Safety
///
/// The pointers are null or valid.
unsafe fn described<'a>(
    state: &State,
    version: u32,
    desc: *const Desc1,
    initial_state: InitialState,
    clear_value: *const Clear,
    (count, formats): (u32, *const DXGI_FORMAT),
) -> Fallible<ResourceDesc<'a>> {
    if state.allocator.caps().interface_version < version {
        return Err(Failure::Refused(E_NOINTERFACE, format!("no ID3D12Device{version}")));
    }
    // SAFETY: the caller's promise.
    unsafe {
        let desc = required(desc, "pResourceDesc")?;
        let castable_formats = call::array(formats, count, "pCastableFormats");
        Ok(ResourceDesc {
            sampler_feedback_mip_region: desc.SamplerFeedbackMipRegion,
            initial_state,
            castable_formats: castable_formats.map_err(|_| null("pCastableFormats"))?,
            ..in_state(&downgrade(desc), D3D12_RESOURCE_STATE_COMMON, clear_value)
        })
    }
}

/// The parameters that receive an allocation and, if the program asks for it, its resource.
struct Receivers {
    allocation: Out,
    iid: *const GUID,
    resource: Out,
}

impl Receivers {
    /// # Safety
    ///
    /// The pointers are null or valid.
    #[inline(always)]
    unsafe fn new(allocation: Receive, iid: *const GUID, resource: Receive) -> Fallible<Self> {
        // SAFETY: the caller's promise.
        let (resource, allocation) = unsafe { (Out::new(resource), receiving(allocation, "ppAllocation")) };
        Ok(Self { allocation: allocation?, iid, resource })
    }

    /// Returns a reference to a resource if the program asks for it.
    #[inline(always)]
    fn asked(&self, resource: &ID3D12Resource) -> Option<ID3D12Resource> {
        (!self.resource.is_null()).then(|| resource.clone())
    }

    /// Stores an allocation, and its resource if the program asks for it.
    ///
    /// # Safety
    ///
    /// The IID is null or valid.
    #[inline(always)]
    unsafe fn hand_over(
        self,
        made: Reference<Allocation>,
        asked: Option<ID3D12Resource>,
    ) -> Fallible<HRESULT> {
        if let Some(resource) = asked {
            // SAFETY: the caller's promise.
            unsafe { give(resource, self.iid, self.resource) }?;
        }
        self.allocation.set(made.into_raw());
        Ok(S_OK)
    }
}

/// Stores a reference to a resource, of the interface that the program asks for.
///
/// # Safety
///
/// The IID is null or valid.
unsafe fn give(resource: ID3D12Resource, iid: *const GUID, out: Out) -> Fallible<()> {
    // SAFETY: the caller's promise.
    if *unsafe { required(iid, "riidResource") }? == ID3D12Resource::IID {
        out.set(resource.into_raw());
        return Ok(());
    }
    let mut object = std::ptr::null_mut();
    // SAFETY: the resource is alive, and the caller's promise.
    let queried = unsafe { resource.query(iid, &mut object) };
    let refused = |error: windows_core::Error| {
        Failure::Refused(error.code(), "riidResource is no interface of it".into())
    };
    queried.ok().map_err(refused)?;
    out.set(object);
    Ok(())
}

/// Creates a resource with its memory.
///
/// # Safety
///
/// The pointers are null or valid.
// Within its callers, and with structures that are built where they stay: to move them takes longer than all else here.
#[inline(always)]
unsafe fn create_resource(
    AllocatorObject(state): &AllocatorObject,
    desc: *const AllocationDesc,
    resource: &mut ResourceDesc<'_>,
    to: Receivers,
) -> Fallible<HRESULT> {
    let mut wanted = ResourceAllocationDesc::default();
    // SAFETY: the caller's promise.
    let (desc, pool) = unsafe {
        let desc = required(desc, "pAllocDesc")?;
        (desc, desc.convert(state, Some(&mut resource.desc), &mut wanted)?)
    };
    let is_explicit = wanted.flags.contains(ResourceAllocationFlags::NEVER_FALLBACK);
    if is_explicit && wanted.extra_required_heap_flags != 0 {
        // SAFETY: the caller's promise.
        return unsafe { create_in_own_heap(state, desc.private_data, &wanted, resource, to) };
    }
    // It stays where the library wrote it, until it is moved to its object.
    let made = state.allocator.create_from(&wanted, resource);
    match made {
        Err(error) => Err(failure(error)),
        Ok(ref allocation) => {
            // Before others see it, who could move it.
            let asked = to.asked(allocation.resource());
            // The library does not count committed resources with their pool.
            let pool = pool.filter(|_| allocation.heap().is_none()).map(Arc::clone);
            // SAFETY: it is forgotten where it was read; and the caller's promise.
            unsafe {
                let memory = || Memory::Resource(std::ptr::read(allocation));
                let contents = || Contents::new(memory(), OwnResource::OfMemory, pool);
                let object = state.enter(desc.private_data, contents)?;
                std::mem::forget(made);
                to.hand_over(object, asked)
            }
        }
    }
}

/// Creates a resource in an explicit heap with flags of its own.
///
/// # Safety
///
/// The IID is null or valid.
#[cold]
unsafe fn create_in_own_heap(
    state: &Arc<State>,
    data: usize,
    wanted: &ResourceAllocationDesc<'_>,
    resource: &ResourceDesc<'_>,
    to: Receivers,
) -> Fallible<HRESULT> {
    let usual = ResourceAllocationDesc { heap_type: wanted.heap_type, ..Default::default() };
    let Prediction { size, alignment, .. } = state.allocator.probe(&usual, resource).map_err(failure)?;
    let made = state.allocator.allocate_memory(wanted, ResourceKind::of(&resource.desc), size, alignment);
    let made = made.map_err(failure)?;
    let placed = made.create_resource(HeapOffset::ZERO, resource)?;
    let asked = to.asked(&placed);
    let contents = || Contents::new(Memory::Range(made), OwnResource::Set(Some(placed)), None);
    // SAFETY: the caller's promise.
    unsafe { to.hand_over(state.enter(data, contents)?, asked) }
}

/// Creates a resource in the memory of an allocation.
///
/// # Safety
///
/// The pointers are null or valid.
unsafe fn create_aliasing(
    AllocatorObject(state): &AllocatorObject,
    (allocation, offset): (*mut c_void, u64),
    resource: &ResourceDesc<'_>,
    iid: *const GUID,
    out: Out,
) -> Fallible<HRESULT> {
    // SAFETY: the caller's promise.
    unsafe {
        let allocation = recognize::<Allocation>(allocation);
        let Some(allocation) = allocation.filter(|it| std::ptr::eq(it.state, &raw const **state)) else {
            return Err(Failure::invalid_argument("pAllocation is null or of another allocator"));
        };
        let placed = allocation.with(|contents| contents.place(HeapOffset::new(offset), resource))?;
        give(placed, iid, out)?;
        Ok(S_OK)
    }
}

use D3D12_BARRIER_LAYOUT as Layout;
use D3D12_CLEAR_VALUE as Clear;
use D3D12_RESOURCE_DESC as Desc;
use D3D12_RESOURCE_DESC1 as Desc1;
use D3D12_RESOURCE_STATES as States;
/// A parameter that receives an object.
type Receive = *mut *mut c_void;
const NO_FORMATS: (u32, *const DXGI_FORMAT) = (0, std::ptr::null());

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
        let to = Receivers::new(out, iid, resource_out)?;
        let mut resource = in_state(required(resource, "pResourceDesc")?, state, clear);
        create_resource(this, desc, &mut resource, to)
    }
    method AllocateMemory(
        this, desc: *const AllocationDesc, info: *const D3D12_RESOURCE_ALLOCATION_INFO, out: Receive
    ) -> HRESULT {
        let (state, out) = (&this.0, receiving(out, "ppAllocation")?);
        let (desc, info) = (required(desc, "pAllocDesc")?, required(info, "pAllocInfo")?);
        let mut wanted = ResourceAllocationDesc::default();
        let kind = desc.kind(desc.convert(state, None, &mut wanted)?);
        let (size, alignment) = (ByteSize::new(info.SizeInBytes), memory_alignment(info.Alignment)?);
        let made = state.allocator.allocate_memory(&wanted, kind, size, alignment).map_err(failure)?;
        let contents = || Contents::new(Memory::Range(made), OwnResource::Set(None), None);
        out.set(state.enter(desc.private_data, contents)?.into_raw());
        Ok(S_OK)
    }
    method CreateAliasingResource(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc, state: States, clear: *const Clear,
        iid: *const GUID, out: Receive
    ) -> HRESULT {
        let out = receiving(out, "ppvResource")?;
        let resource = in_state(required(resource, "pResourceDesc")?, state, clear);
        create_aliasing(this, (allocation, offset), &resource, iid, out)
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
                Budget { stats: Statistics::of(this.0.allocator.totals_in(group)), usage, budget }
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
        let to = Receivers::new(out, iid, resource_out)?;
        let mut resource = described(&this.0, 8, resource, InitialState::State(state), clear, NO_FORMATS)?;
        create_resource(this, desc, &mut resource, to)
    }
    method CreateAliasingResource1(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc1, state: States, clear: *const Clear,
        iid: *const GUID, out: Receive
    ) -> HRESULT {
        let out = receiving(out, "ppvResource")?;
        let resource = described(&this.0, 8, resource, InitialState::State(state), clear, NO_FORMATS)?;
        create_aliasing(this, (allocation, offset), &resource, iid, out)
    }
    method CreateResource3(
        this, desc: *const AllocationDesc, resource: *const Desc1, layout: Layout, clear: *const Clear,
        formats: u32, list: *const DXGI_FORMAT, out: Receive, iid: *const GUID, resource_out: Receive
    ) -> HRESULT {
        let to = Receivers::new(out, iid, resource_out)?;
        let mut resource = described(&this.0, 10, resource, InitialState::Layout(layout), clear, (formats, list))?;
        create_resource(this, desc, &mut resource, to)
    }
    method CreateAliasingResource2(
        this, allocation: *mut c_void, offset: u64, resource: *const Desc1, layout: Layout, clear: *const Clear,
        formats: u32, list: *const DXGI_FORMAT, iid: *const GUID, out: Receive
    ) -> HRESULT {
        let out = receiving(out, "ppvResource")?;
        let resource = described(&this.0, 10, resource, InitialState::Layout(layout), clear, (formats, list))?;
        create_aliasing(this, (allocation, offset), &resource, iid, out)
    }
);
