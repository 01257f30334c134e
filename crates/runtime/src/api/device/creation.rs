//! Creation of heaps and resources, and their allocation info.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::Arc;

use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, IUnknownImpl, Interface};

use super::Device_Impl;
use crate::api::call;
use crate::api::command_list::read_array;
use crate::api::heap::Heap;
use crate::api::resource::{Placement, Resource};
use crate::ddi::{Architecture, CpuPageProperty, MemoryPool};
use crate::rules::creation::{self, Request};
use crate::rules::initial::Initial;
use crate::rules::resource::{Additions, Described};
use crate::rules::{self, Refusal, allocation_info, recreate, under};

/// The out parameters `riid` and `ppv` of a creation call.
type Out = (*const GUID, *mut *mut c_void);

/// Returns a creation request with a resource state.
///
/// # Safety
///
/// `clear_value` is null or points to a clear value that stays readable while the request is in use.
pub(super) unsafe fn in_state<'a>(
    desc: Result<D3D12_RESOURCE_DESC1, Refusal>,
    state: D3D12_RESOURCE_STATES,
    clear_value: *const D3D12_CLEAR_VALUE,
) -> Result<Request<'a>, Refusal> {
    Ok(Request {
        desc: desc?,
        initial: Initial::State(state),
        // SAFETY: guaranteed by the caller.
        clear_value: unsafe { clear_value.as_ref() },
        additions: Additions::default(),
        create_at: None,
    })
}

/// Returns a creation request with a barrier layout.
///
/// # Safety
///
/// As of [`in_state`].
pub(super) unsafe fn in_layout<'a>(
    desc: Result<D3D12_RESOURCE_DESC1, Refusal>,
    layout: D3D12_BARRIER_LAYOUT,
    clear_value: *const D3D12_CLEAR_VALUE,
) -> Result<Request<'a>, Refusal> {
    // SAFETY: guaranteed by the caller.
    unsafe { in_state(desc, 0, clear_value) }
        .map(|request| Request { initial: Initial::Layout(layout), ..request })
}

/// Adds a protected session, which may be null.
pub(super) fn in_session<'a>(
    request: Result<Request<'a>, Refusal>,
    session: Option<&ID3D12ProtectedResourceSession>,
) -> Result<Request<'a>, Refusal> {
    request.and_then(|request| check_session(session).map(|()| request))
}

/// Adds the castable formats.
///
/// # Safety
///
/// `formats` is null or has `count` elements, which stay readable while the request is in use.
pub(super) unsafe fn castable_to<'a>(
    request: Result<Request<'a>, Refusal>,
    count: u32,
    formats: *const DXGI_FORMAT,
) -> Result<Request<'a>, Refusal> {
    let request = request?;
    // SAFETY: guaranteed by the caller.
    let formats = unsafe { read_array(count, formats, "pCastableFormats") }?;
    Ok(Request { additions: request.additions.castable_to(formats), ..request })
}

fn check_session(session: Option<&ID3D12ProtectedResourceSession>) -> Result<(), Refusal> {
    match session {
        Some(_) => Err(Refusal::not_implemented("protected resource sessions")),
        None => Ok(()),
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
                check_session(session)?;
                let heap = rules::heap::check(desc, self.driver().caps(), &self.options())?;
                rules::heap::check_behaviour(desc.Flags)?;
                recreate::check(create_at, None, true, self.driver().caps())?;
                Ok((desc, heap))
            };
            let make =
                |(desc, heap)| Ok(ComObject::new(Heap::new(self.to_object(), desc, &heap, create_at)?));
            // SAFETY: guaranteed by the caller.
            unsafe { call::create(self.log(), name, riid, ppv, check, make) }
        })
    }

    /// Creates a placed resource.
    ///
    /// # Safety
    ///
    /// `out` are null or point to a GUID and to writable space for a pointer.
    pub(super) unsafe fn create_placed(
        &self,
        name: &'static str,
        heap: Option<&ID3D12Heap>,
        offset: u64,
        request: Result<Request<'_>, Refusal>,
        out: Out,
    ) -> windows_core::Result<()> {
        let home = || {
            let null =
                || Refusal::invalid("pHeap is null").with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAP);
            let heap = heap.ok_or_else(null)?.cast_object_ref::<Heap>().ok();
            let heap = heap.filter(|heap| heap.child().belongs_to(self));
            let heap = heap.ok_or_else(|| Refusal::invalid("pHeap belongs to another device"))?;
            Ok(Placement::Placed(Arc::clone(heap.inner()), offset))
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.create_resource(name, home, request, out) }
    }

    /// Creates a committed resource.
    ///
    /// # Safety
    ///
    /// `properties` is null or points to properties; `out` are null or point to a GUID and to writable space for a
    /// pointer.
    pub(super) unsafe fn create_committed(
        &self,
        name: &'static str,
        properties: *const D3D12_HEAP_PROPERTIES,
        flags: D3D12_HEAP_FLAGS,
        request: Result<Request<'_>, Refusal>,
        out: Out,
    ) -> windows_core::Result<()> {
        let home = || {
            // SAFETY: guaranteed by the caller.
            let properties = unsafe { call::read(properties, "pHeapProperties") }
                .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_NULLHEAPPROPERTIES))?;
            Ok(Placement::Committed(Box::new((*properties, flags))))
        };
        // SAFETY: guaranteed by the caller.
        unsafe { self.create_resource(name, home, request, out) }
    }

    /// Creates a reserved resource.
    ///
    /// # Safety
    ///
    /// `out` are null or point to a GUID and to writable space for a pointer.
    pub(super) unsafe fn create_reserved(
        &self,
        name: &'static str,
        request: Result<Request<'_>, Refusal>,
        out: Out,
    ) -> windows_core::Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.create_resource(name, || Ok(Placement::Reserved), request, out) }
    }

    /// Creates a resource whose memory `home` finds.
    ///
    /// # Safety
    ///
    /// `out` are null or point to a GUID and to writable space for a pointer.
    unsafe fn create_resource(
        &self,
        name: &'static str,
        home: impl FnOnce() -> Result<Placement, Refusal>,
        request: Result<Request<'_>, Refusal>,
        out: Out,
    ) -> windows_core::Result<()> {
        self.create_at_next_address(|create_at| {
            // One body, because what is checked is large: it would be copied on its way to the creation.
            let body = |is_wanted: bool| {
                self.removal().check_present()?;
                let placement = home()?;
                let request = Request { create_at, ..request? };
                let plan = creation::check(&request, placement.home(), self.driver(), &self.options())?;
                self.log().notices(name, &plan.notices);
                let make = || {
                    // SAFETY: by the COM contract, the clear value is one for its format.
                    unsafe { Resource::create(self.to_object(), &request, &plan, placement) }
                };
                is_wanted.then(|| make().map(ComObject::new)).transpose()
            };
            // SAFETY: guaranteed by the caller.
            unsafe { call::create_if_wanted(self.log(), name, out.0, out.1, body) }
        })
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
        descs: Result<impl Iterator<Item = Described>, Refusal>,
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
            let checked = descs?.enumerate().map(|(index, (desc, additions))| {
                // SAFETY: the caller guarantees that castable has a list for each description.
                let formats = unsafe { castable.of(index) }?;
                let additions = additions.castable_to(formats);
                self.log().notices(name, &rules::resource::notices(&desc, &additions));
                rules::resource::check_with(&desc, &additions, driver.caps(), &options)
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
            read_array(count, list, "pCastableFormats")
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
    convert: impl Fn(&T) -> Described + 'a,
) -> Result<impl Iterator<Item = Described> + 'a, Refusal> {
    // SAFETY: guaranteed by the caller.
    let descs = unsafe { read_array(count, pointer, "pResourceDescs") }?;
    Ok(descs.iter().map(convert))
}
