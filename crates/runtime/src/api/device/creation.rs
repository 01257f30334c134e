//! Creation of heaps and resources, and their allocation info.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknownImpl, Interface, Ref};

use super::Device_Impl;
use crate::aliasing::CreatedState;
use crate::api::call;
use crate::api::command_list::read_array;
use crate::api::heap::Heap;
use crate::api::resource::{CommittedPlan, PlacedPlan, ReservedPlan, Resource};
use crate::ddi::{Architecture, CpuPageProperty, DriverCaps, MemoryPool, ResourceArgs};
use crate::rules::resource::Resource as ResourceRules;
use crate::rules::{self, Refusal, allocation_info, clear_value, initial, placement, recreate, under};

/// The initial state of a resource. The API has two generations: resource states and barrier layouts.
#[derive(Clone, Copy)]
enum Initial {
    State(D3D12_RESOURCE_STATES),
    Layout(D3D12_BARRIER_LAYOUT),
}

/// The out parameters `riid` and `ppv` of a creation call.
type Out = (*const GUID, *mut *mut c_void);

/// The parameters of the newest resource creation calls. Older calls use defaults for some of them.
pub(super) struct ResourceRequest<'a> {
    desc: Result<D3D12_RESOURCE_DESC1, Refusal>,
    initial: Initial,
    clear_value: *const D3D12_CLEAR_VALUE,
    castable_formats: &'a [DXGI_FORMAT],
    session: Option<&'a ID3D12ProtectedResourceSession>,
    out: Out,
}

impl<'a> ResourceRequest<'a> {
    /// Creates a request with a resource state.
    pub(super) fn in_state(
        desc: Result<D3D12_RESOURCE_DESC1, Refusal>,
        state: D3D12_RESOURCE_STATES,
        clear_value: *const D3D12_CLEAR_VALUE,
        out: Out,
    ) -> Self {
        Self { desc, initial: Initial::State(state), clear_value, castable_formats: &[], session: None, out }
    }

    /// Creates a request with a barrier layout.
    pub(super) fn in_layout(
        desc: Result<D3D12_RESOURCE_DESC1, Refusal>,
        layout: D3D12_BARRIER_LAYOUT,
        clear_value: *const D3D12_CLEAR_VALUE,
        out: Out,
    ) -> Self {
        Self {
            desc,
            initial: Initial::Layout(layout),
            clear_value,
            castable_formats: &[],
            session: None,
            out,
        }
    }

    /// Adds a protected session, which may be null.
    pub(super) fn in_session(self, session: &'a Ref<'_, ID3D12ProtectedResourceSession>) -> Self {
        Self { session: session.as_ref(), ..self }
    }

    /// Adds the castable formats.
    ///
    /// # Safety
    ///
    /// `formats` is null or has `count` elements.
    pub(super) unsafe fn castable_to(self, count: u32, formats: *const DXGI_FORMAT) -> Self {
        // SAFETY: guaranteed by the caller.
        match unsafe { read_formats(count, formats) } {
            Ok(castable_formats) => Self { castable_formats, ..self },
            Err(refusal) => Self { desc: Err(refusal), ..self },
        }
    }

    /// Converts the description to the form that the rules use, and logs notices about it.
    fn check_resource(&self, device: &Device_Impl, name: &'static str) -> Result<ResourceRules, Refusal> {
        let desc = self.desc.as_ref().map_err(Clone::clone)?;
        let (caps, options) = (device.driver().caps(), device.options());
        let resource = rules::resource::check_castable(desc, self.castable_formats, caps, &options)?;
        device.log().notices(name, &rules::resource::notices(desc));
        Ok(resource)
    }

    /// Registers the resource with the aliasing tracker, if it is on.
    ///
    /// # Safety
    ///
    /// The clear value of the request is null or points to a clear value whose union member for its format is
    /// initialised.
    unsafe fn tracked(&self, resource: Resource, args: &ResourceArgs) -> Resource {
        let state = match self.initial {
            Initial::State(state) => CreatedState::State(state),
            Initial::Layout(layout) => CreatedState::Layout(layout),
        };
        // SAFETY: guaranteed by the caller.
        let clear_value = unsafe { self.clear_value.as_ref() }.map(|clear_value| {
            let is_depth = crate::format::properties(clear_value.Format)
                .is_some_and(|format| format.support().has(D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
            let bits = if is_depth {
                // SAFETY: guaranteed by the caller.
                let value = unsafe { clear_value.Anonymous.DepthStencil };
                [value.Depth.to_bits(), value.Stencil.into(), 0, 0]
            } else {
                // SAFETY: guaranteed by the caller.
                unsafe { clear_value.Anonymous.Color }.map(f32::to_bits)
            };
            (clear_value.Format, bits)
        });
        resource.tracked(args, state, clear_value)
    }

    /// Checks the rules that do not depend on where the resource is placed.
    ///
    /// # Safety
    ///
    /// The clear value of the request is null or points to a clear value.
    unsafe fn check_common(
        &self,
        resource: &ResourceRules,
        heap_type: D3D12_HEAP_TYPE,
        caps: &DriverCaps,
    ) -> Result<(), Refusal> {
        let desc = self.desc.as_ref().map_err(Clone::clone)?;
        if self.session.is_some() {
            return Err(Refusal::not_implemented("protected resource sessions"));
        }
        // SAFETY: by the COM contract, pOptimizedClearValue is null or points to a clear value.
        let clear_value = unsafe { self.clear_value.as_ref() };
        clear_value::check(resource, clear_value, self.castable_formats)?;
        match self.initial {
            Initial::State(state) => {
                initial::check_state(resource, state, heap_type, desc.Flags)?;
                initial::check_generation(state, heap_type, caps)
            }
            Initial::Layout(layout) => initial::check_layout(resource, layout),
        }
    }
}

/// Refuses ALLOW_DISPLAY, whose rules are implemented but whose behaviour is not. Cross-adapter sharing is refused only
/// when the object is opened.
fn check_behaviour(flags: D3D12_HEAP_FLAGS) -> Result<(), Refusal> {
    match flags & D3D12_HEAP_FLAG_ALLOW_DISPLAY {
        0 => Ok(()),
        flags => Err(Refusal::not_implemented(format!("heap flags {flags:#x}"))),
    }
}

/// The message id for a null resource description.
const NULL_DESC: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLRESOURCEPROPERTIES;

/// Reads a `D3D12_RESOURCE_DESC`.
///
/// # Safety
///
/// `pointer` is null or points to a readable description.
pub(super) unsafe fn read_desc(pointer: *const D3D12_RESOURCE_DESC) -> Result<D3D12_RESOURCE_DESC1, Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { call::read(pointer, "pDesc") }.map_err(under(NULL_DESC)).map(rules::resource::upgrade)
}

/// Reads a `D3D12_RESOURCE_DESC1`.
///
/// # Safety
///
/// `pointer` is null or points to a readable description.
pub(super) unsafe fn read_desc1(
    pointer: *const D3D12_RESOURCE_DESC1,
) -> Result<D3D12_RESOURCE_DESC1, Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { call::read(pointer, "pDesc") }.map_err(under(NULL_DESC)).copied()
}

impl Device_Impl {
    /// # Safety
    ///
    /// `desc` is null or points to a description; `riid` is null or points to a GUID; `ppv` is null or points to
    /// writable space for one pointer.
    pub(super) unsafe fn create_heap(
        &self,
        name: &'static str,
        desc: *const D3D12_HEAP_DESC,
        session: Option<&ID3D12ProtectedResourceSession>,
        riid: *const GUID,
        ppv: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        self.create_at_next_address(|create_at| {
            let check = || {
                self.removal().check_present()?;
                // SAFETY: by the COM contract, pDesc is null or points to a description.
                let desc = unsafe { call::read(desc, "pDesc") }
                    .map_err(under(D3D12_MESSAGE_ID_CREATEHEAP_NULLDESC))?;
                if session.is_some() {
                    return Err(Refusal::not_implemented("protected resource sessions"));
                }
                let heap = rules::heap::check(desc, self.driver().caps(), &self.options())?;
                check_behaviour(desc.Flags)?;
                recreate::check_heap(create_at, self.driver().caps())?;
                Ok((desc, heap))
            };
            let make =
                |(desc, heap)| Ok(ComObject::new(Heap::new(self.to_object(), desc, &heap, create_at)?));
            // SAFETY: guaranteed by the caller.
            unsafe { call::create(self.log(), name, riid, ppv, check, make) }
        })
    }

    /// # Safety
    ///
    /// The pointers of the request are null or point to what they are named for.
    pub(super) unsafe fn create_placed_resource(
        &self,
        name: &'static str,
        heap: Ref<'_, ID3D12Heap>,
        offset: u64,
        request: &ResourceRequest<'_>,
    ) -> windows_core::Result<()> {
        self.create_at_next_address(|create_at| {
            let check = || {
                self.removal().check_present()?;
                let desc = request.desc.as_ref().map_err(Clone::clone)?;
                let heap = Arc::clone(self.own_heap(&heap)?.inner());
                let resource = request.check_resource(self, name)?;
                recreate::check_resource(create_at, &resource, self.driver().caps())?;
                // SAFETY: guaranteed by the caller.
                unsafe {
                    request.check_common(&resource, heap.desc().Properties.Type, self.driver().caps())?
                };
                let args = ResourceArgs { create_at, ..allocation_info::placed_args(&resource) };
                let allocation = self.driver().check_resource_allocation_info(&args);
                placement::check(&resource, allocation, offset, heap.desc())?;
                recreate::check_placed(create_at, heap.has_address())?;
                Ok(PlacedPlan { desc, resource, args, allocation, heap, offset })
            };
            let make = |plan: PlacedPlan<'_>| {
                let args = plan.args;
                let placed = Resource::placed(self.to_object(), plan)?.castable_to(request.castable_formats);
                // SAFETY: guaranteed by the caller.
                Ok(ComObject::new(unsafe { request.tracked(placed, &args) }))
            };
            // SAFETY: guaranteed by the caller.
            unsafe { call::create(self.log(), name, request.out.0, request.out.1, check, make) }
        })
    }

    /// # Safety
    ///
    /// `properties` is null or points to heap properties; the pointers of the request are null or point to what they
    /// are named for.
    pub(super) unsafe fn create_committed_resource(
        &self,
        name: &'static str,
        properties: *const D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        request: &ResourceRequest<'_>,
    ) -> windows_core::Result<()> {
        self.create_at_next_address(|create_at| {
            let check = || {
                self.removal().check_present()?;
                let caps = self.driver().caps();
                // SAFETY: by the COM contract, pHeapProperties is null or points to properties.
                let properties = unsafe { call::read(properties, "pHeapProperties") }
                    .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAPPROPERTIES))?;
                let desc = request.desc.as_ref().map_err(Clone::clone)?;
                let options = self.options();
                let heap_memory = rules::heap::check_implicit(properties, flags, caps, &options)?;
                let resource = request.check_resource(self, name)?;
                recreate::check_resource(create_at, &resource, self.driver().caps())?;
                placement::check_committed(&resource, properties, flags)?;
                check_behaviour(flags)?;
                // SAFETY: guaranteed by the caller.
                unsafe { request.check_common(&resource, properties.Type, self.driver().caps())? };
                let args = ResourceArgs { create_at, ..allocation_info::committed_args(&resource) };
                let allocation = self.driver().check_resource_allocation_info(&args);
                Ok(CommittedPlan { desc, resource, args, allocation, heap_memory, properties, flags })
            };
            let make = |plan: CommittedPlan<'_>| {
                let committed =
                    Resource::committed(self.to_object(), &plan)?.castable_to(request.castable_formats);
                // SAFETY: guaranteed by the caller.
                Ok(ComObject::new(unsafe { request.tracked(committed, &plan.args) }))
            };
            // SAFETY: guaranteed by the caller.
            unsafe { call::create(self.log(), name, request.out.0, request.out.1, check, make) }
        })
    }

    /// # Safety
    ///
    /// The pointers of the request are null or point to what they are named for.
    pub(super) unsafe fn create_reserved_resource(
        &self,
        name: &'static str,
        request: &ResourceRequest<'_>,
    ) -> windows_core::Result<()> {
        self.create_at_next_address(|create_at| {
            let check = || {
                self.removal().check_present()?;
                let desc = request.desc.as_ref().map_err(Clone::clone)?;
                let resource = request.check_resource(self, name)?;
                let tier = self.driver().caps().tiled_resources_tier;
                rules::resource::reserved::check(&resource, desc.Flags, tier)?;
                recreate::check_resource(create_at, &resource, self.driver().caps())?;
                // SAFETY: guaranteed by the caller.
                unsafe { request.check_common(&resource, D3D12_HEAP_TYPE_DEFAULT, self.driver().caps())? };
                let args = ResourceArgs { create_at, ..allocation_info::placed_args(&resource) };
                let allocation = self.driver().check_resource_allocation_info(&args);
                Ok(ReservedPlan { desc, resource, args, allocation })
            };
            let make = |plan: ReservedPlan<'_>| {
                let reserved =
                    Resource::reserved(self.to_object(), &plan)?.castable_to(request.castable_formats);
                // SAFETY: guaranteed by the caller.
                Ok(ComObject::new(unsafe { request.tracked(reserved, &plan.args) }))
            };
            // SAFETY: guaranteed by the caller.
            unsafe { call::create(self.log(), name, request.out.0, request.out.1, check, make) }
        })
    }

    /// Returns the heap behind an interface, if it belongs to this device.
    fn own_heap<'a>(&self, heap: &'a Ref<'_, ID3D12Heap>) -> Result<&'a Heap, Refusal> {
        let heap = heap.as_ref().ok_or_else(|| {
            Refusal::invalid("pHeap is null").with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAP)
        })?;
        heap.cast_object_ref::<Heap>()
            .ok()
            .map(|heap| &**heap)
            .filter(|heap| heap.child().belongs_to(self))
            .ok_or_else(|| Refusal::invalid("pHeap belongs to another device"))
    }

    /// Computes the result of `GetResourceAllocationInfo` and its successors. For invalid input, the size is
    /// `UINT64_MAX`.
    ///
    /// # Safety
    ///
    /// `infos` is null or has one element for each element of `descs`; `castable` has one list for each.
    pub(super) unsafe fn allocation_info(
        &self,
        name: &'static str,
        visible_mask: u32,
        descs: Result<impl Iterator<Item = D3D12_RESOURCE_DESC1>, Refusal>,
        castable: CastableFormats,
        infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> D3D12_RESOURCE_ALLOCATION_INFO {
        let whole = call::run(self.log(), name, || {
            if visible_mask > 1 {
                return Err(Refusal::invalid(format!(
                    "visibleMask {visible_mask:#x} is out of range; the device has one node"
                )));
            }
            let (driver, options) = (self.driver(), self.options());
            let checked = descs?.enumerate().map(|(index, desc)| {
                self.log().notices(name, &rules::resource::notices(&desc));
                // SAFETY: the caller guarantees that castable has a list for each description.
                let formats = unsafe { castable.of(index) }?;
                rules::resource::check_castable(&desc, formats, driver.caps(), &options)
            });
            allocation_info::of_several(checked, driver, |index, info| {
                if !infos.is_null() {
                    // SAFETY: the caller guarantees that infos has one element for each description.
                    unsafe { infos.add(index).write(info) };
                }
            })
        });
        whole.unwrap_or(allocation_info::INVALID)
    }

    /// Computes `GetCustomHeapProperties`. A heap type without custom properties is refused in the log, and page
    /// property and memory pool are returned as UNKNOWN.
    pub(super) fn custom_heap_properties(
        &self,
        node_mask: u32,
        heap_type: D3D12_HEAP_TYPE,
    ) -> D3D12_HEAP_PROPERTIES {
        let name = "ID3D12Device::GetCustomHeapProperties";
        let caps = self.driver().caps();
        let node_mask = node_mask.max(1);
        let mut properties = D3D12_HEAP_PROPERTIES {
            Type: D3D12_HEAP_TYPE_CUSTOM,
            CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_UNKNOWN,
            MemoryPoolPreference: D3D12_MEMORY_POOL_UNKNOWN,
            CreationNodeMask: node_mask,
            VisibleNodeMask: node_mask,
        };
        let Some(memory) = rules::heap::custom_properties(heap_type, caps.architecture) else {
            let refusal = Refusal::invalid(format!("heapType {heap_type} is not an abstract heap type"));
            self.log().refused(name, &refusal);
            return properties;
        };
        if heap_type == D3D12_HEAP_TYPE_GPU_UPLOAD && !caps.has_gpu_upload_heaps() {
            self.log().refused(
                name,
                &Refusal::invalid("heapType is GPU_UPLOAD, but the device does not support GPU upload heaps"),
            );
        }
        properties.CPUPageProperty = match memory.cpu_page_property {
            CpuPageProperty::NotAvailable => D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE,
            CpuPageProperty::WriteCombine => D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE,
            CpuPageProperty::WriteBack => D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        };
        properties.MemoryPoolPreference = match memory.memory_pool {
            MemoryPool::L0 => D3D12_MEMORY_POOL_L0,
            MemoryPool::L1 => D3D12_MEMORY_POOL_L1,
        };
        properties
    }

    pub(super) fn is_uma(&self) -> bool {
        self.driver().caps().architecture.is_uma()
    }

    pub(super) fn is_cache_coherent(&self) -> bool {
        self.driver().caps().architecture == Architecture::CacheCoherentUma
    }
}

/// Returns the castable formats behind a pointer and a count.
///
/// # Safety
///
/// `pointer` is null or points to `count` formats that stay readable while the result is in use.
unsafe fn read_formats<'a>(count: u32, pointer: *const DXGI_FORMAT) -> Result<&'a [DXGI_FORMAT], Refusal> {
    if count == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Refusal::invalid(format!("pCastableFormats is null but NumCastableFormats is {count}")));
    }
    let len = usize::try_from(count).map_err(|_| Refusal::invalid("NumCastableFormats is too large"))?;
    // SAFETY: guaranteed by the caller; the pointer is not null.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// The castable formats of several descriptions, as passed to `GetResourceAllocationInfo3`.
#[derive(Clone, Copy)]
pub(super) struct CastableFormats {
    /// Null, or the number of formats for each description.
    pub(super) counts: *const u32,
    /// For each description, null or its formats. Ignored if `counts` is null.
    pub(super) lists: *const *const DXGI_FORMAT,
}

impl CastableFormats {
    /// No castable formats, as in the older calls.
    pub(super) const NONE: Self = Self { counts: null(), lists: null() };

    /// Returns the formats of one description.
    ///
    /// # Safety
    ///
    /// `counts` and `lists` are null or have more than `index` elements, and each list has as many formats as its
    /// count. All stay readable while the result is in use.
    unsafe fn of<'a>(self, index: usize) -> Result<&'a [DXGI_FORMAT], Refusal> {
        if self.counts.is_null() {
            return Ok(&[]);
        }
        // SAFETY: guaranteed by the caller; neither pointer is null where it is read.
        unsafe {
            let count = self.counts.add(index).read();
            let list = if self.lists.is_null() { null() } else { self.lists.add(index).read() };
            read_formats(count, list)
        }
    }
}

/// Returns the descriptions behind a pointer and a count. Without descriptions, the allocation info has a size of 0 and
/// an alignment of 1 (vkd3d-proton's test_get_resource_allocation_info).
///
/// # Safety
///
/// `pointer` is null or points to `count` descriptions that stay readable while the result is in use.
pub(super) unsafe fn read_descs<'a, T: 'a>(
    count: u32,
    pointer: *const T,
    convert: impl Fn(&T) -> D3D12_RESOURCE_DESC1 + 'a,
) -> Result<impl Iterator<Item = D3D12_RESOURCE_DESC1> + 'a, Refusal> {
    // SAFETY: guaranteed by the caller.
    let descs = unsafe { read_array(count, pointer, "pResourceDescs") }?;
    Ok(descs.iter().map(convert))
}
