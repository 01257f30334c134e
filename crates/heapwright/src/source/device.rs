//! A device and its newer interfaces, queried once.

use heapwright_core::HeapOffset;
use heapwright_d3d12::{ID3D12Object, PCWSTR, *};
use windows_core::{HRESULT, Interface};

use super::heap::Heap;
use super::managed::KeptResident;
use super::refusal::Refusal;
use crate::desc::{ClearValue, ResourceDesc};
use crate::error::{MemorySource, Obstacle};
use crate::request::with_mip_region;
use crate::{DeviceCaps, Error, InitialState};

/// A device with each interface that may create a resource. `None` if the device does not support it.
#[derive(Debug, Clone)]
pub(crate) struct Devices {
    pub(crate) device: ID3D12Device,
    pub(crate) device1: Option<ID3D12Device1>,
    pub(crate) device4: Option<ID3D12Device4>,
    pub(crate) device8: Option<ID3D12Device8>,
    pub(crate) device10: Option<ID3D12Device10>,
    pub(crate) device12: Option<ID3D12Device12>,
}

impl Devices {
    pub(crate) fn of(device: &ID3D12Device) -> Self {
        Self {
            device: device.clone(),
            device1: device.cast().ok(),
            device4: device.cast().ok(),
            device8: device.cast().ok(),
            device10: device.cast().ok(),
            device12: device.cast().ok(),
        }
    }

    /// Rejects heap flags that the device does not support and that matter; `field` names them.
    ///
    /// CREATE_NOT_ZEROED is a hint, which is never rejected: see [`known_heap_flags`](Self::known_heap_flags).
    #[inline]
    pub(crate) fn check_heap_flags(&self, flags: D3D12_HEAP_FLAGS, field: &'static str) -> Result<(), Error> {
        if flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0 && self.device8.is_none() {
            let what = format!("{field}: CREATE_NOT_RESIDENT (requires ID3D12Device8)");
            return Err(Error::unsupported(what));
        }
        Ok(())
    }

    /// Removes the heap flags that came with `ID3D12Device8`'s release of D3D12, if the device is older.
    #[inline]
    pub(crate) fn known_heap_flags(&self, flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_FLAGS {
        const LATER: D3D12_HEAP_FLAGS =
            D3D12_HEAP_FLAG_CREATE_NOT_ZEROED | D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
        if self.device8.is_some() { flags } else { flags & !LATER }
    }
}

pub(crate) const CREATE_HEAP: &str = "ID3D12Device::CreateHeap";

/// The error of a call that did not create a heap or a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) call: &'static str,
    pub(crate) hresult: HRESULT,
}

impl Refused {
    /// Converts to a refusal of a source of memory.
    pub(crate) fn into_refusal(self, source: MemorySource) -> Refusal {
        match self.hresult {
            E_OUTOFMEMORY => Refusal::of(source, Obstacle::Device(self.hresult)),
            _ => self.into_error().into(),
        }
    }

    /// Converts to an error. For a resource, E_INVALIDARG names the fields that can still be wrong after the device accepted the
    /// description.
    pub(crate) fn into_error(self) -> Error {
        let Self { call, hresult } = self;
        if hresult == E_INVALIDARG && call != CREATE_HEAP {
            let field = if call.contains("Committed") {
                "initial_state, clear_value or extra_required_heap_flags"
            } else {
                "initial_state or clear_value"
            };
            Error::invalid_argument(field, format!("{call} failed with E_INVALIDARG"))
        } else {
            Error::device(call, hresult)
        }
    }
}

/// The interface with which a resource is created.
#[derive(Debug)]
enum Route<'a> {
    /// `ID3D12Device`, or with a protected session its successors.
    States,
    /// `ID3D12Device8`: a mip region of sampler feedback.
    States1(&'a ID3D12Device8, D3D12_RESOURCE_DESC1),
    /// `ID3D12Device10`: a layout, and castable formats.
    Layout(&'a ID3D12Device10, D3D12_RESOURCE_DESC1),
}

/// Checks that the device has the interfaces that a resource needs.
#[inline]
pub(crate) fn check_interfaces(
    devices: &Devices,
    caps: &DeviceCaps,
    resource: &ResourceDesc<'_>,
) -> Result<(), Error> {
    if !resource.castable_formats.is_empty() {
        if matches!(resource.initial_state, InitialState::State(_)) {
            let rule =
                "castable formats require an initial layout instead of a state (CreatePlacedResource2)";
            return Err(Error::invalid_argument("ResourceDesc::castable_formats", rule));
        }
        if devices.device12.is_none() {
            return Err(Error::unsupported("castable formats (require ID3D12Device12)"));
        }
        if !caps.relaxed_format_casting {
            let what = "castable formats (require RelaxedFormatCastingSupported)";
            return Err(Error::unsupported(what));
        }
    }
    if resource.protected_session.is_some() && devices.device4.is_none() {
        return Err(Error::unsupported("a protected session (requires ID3D12Device4)"));
    }
    if matches!(resource.initial_state, InitialState::Layout(_)) {
        if devices.device10.is_none() {
            return Err(Error::unsupported("an initial layout (requires ID3D12Device10)"));
        }
        if !caps.enhanced_barriers {
            let what = "an initial layout (requires EnhancedBarriersSupported)";
            return Err(Error::unsupported(what));
        }
    }
    Ok(())
}

#[inline]
fn route<'a>(
    devices: &'a Devices,
    resource: &ResourceDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
    call: &'static str,
) -> Result<Route<'a>, Refused> {
    let missing = Refused { call, hresult: E_NOINTERFACE };
    let region = resource.sampler_feedback_mip_region;
    if matches!(resource.initial_state, InitialState::Layout(_)) {
        let device = devices.device10.as_ref().ok_or(missing)?;
        return Ok(Route::Layout(device, with_mip_region(desc, region)));
    }
    if region == D3D12_MIP_REGION::default() {
        return Ok(Route::States);
    }
    let device = devices.device8.as_ref().ok_or(missing)?;
    Ok(Route::States1(device, with_mip_region(desc, region)))
}

/// Places a resource in a heap. If the device refuses and the heap is evicted, tries again with the heap resident.
///
/// D3D12 does not specify whether the heap must be resident, and some devices require it. A shortage and a removed
/// device are not such refusals.
pub(crate) fn place_resident(
    heap: &Heap,
    place: impl Fn() -> Result<ID3D12Resource, Refused>,
) -> Result<ID3D12Resource, Refused> {
    let refused = match place() {
        Err(refused) if refused.hresult == E_INVALIDARG => refused,
        other => return other,
    };
    let Some(memory) = heap.residency() else { return Err(refused) };
    if memory.is_resident() {
        return Err(refused);
    }
    match KeptResident::new(memory) {
        Ok(_kept) => place(),
        Err(_) => Err(refused),
    }
}

/// Places a resource with `desc`, which was derived from `resource`, in a heap of the type.
#[inline]
pub(crate) fn create_placed(
    devices: &Devices,
    heap_type: D3D12_HEAP_TYPE,
    heap: &ID3D12Heap,
    offset: HeapOffset,
    resource: &ResourceDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, Refused> {
    let mut placed: Option<ID3D12Resource> = None;
    let offset = offset.get();
    let clear_value = resource.clear_value.map(ClearValue::to_d3d12);
    let clear_value = clear_value.as_ref().map(std::ptr::from_ref);
    let (state, layout) = initial(devices, heap_type, resource);
    let usual = "ID3D12Device::CreatePlacedResource";
    let (call, created) = match route(devices, resource, desc, usual)? {
        Route::States => {
            let device = &devices.device;
            // SAFETY: device and heap are live COM objects; the description and the clear value outlive the call; the
            // result is written to a variable of the interface that is asked for. The caller provides the range.
            let created =
                unsafe { device.CreatePlacedResource(heap, offset, desc, state, clear_value, &mut placed) };
            (usual, created)
        }
        Route::States1(device, desc) => {
            // SAFETY: as above.
            let created =
                unsafe { device.CreatePlacedResource1(heap, offset, &desc, state, clear_value, &mut placed) };
            ("ID3D12Device8::CreatePlacedResource1", created)
        }
        Route::Layout(device, desc) => {
            let (count, list) = castable(resource);
            // SAFETY: as above; there are as many formats as are counted, and they outlive the call.
            let created = unsafe {
                device.CreatePlacedResource2(
                    heap,
                    offset,
                    &desc,
                    layout,
                    clear_value,
                    count,
                    list,
                    &mut placed,
                )
            };
            ("ID3D12Device10::CreatePlacedResource2", created)
        }
    };
    answer(call, created, placed)
}

/// Creates a committed resource.
pub(crate) fn create_committed(
    devices: &Devices,
    properties: &D3D12_HEAP_PROPERTIES,
    heap_flags: D3D12_HEAP_FLAGS,
    resource: &ResourceDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, Refused> {
    let mut made: Option<ID3D12Resource> = None;
    let clear_value = resource.clear_value.map(ClearValue::to_d3d12);
    let clear_value = clear_value.as_ref().map(std::ptr::from_ref);
    let (state, layout) = initial(devices, properties.Type, resource);
    let session = resource.protected_session;
    let usual = "ID3D12Device::CreateCommittedResource";
    let (flags, clear) = (heap_flags, clear_value);
    let (call, created) = match (route(devices, resource, desc, usual)?, session) {
        (Route::States, None) => {
            let device = &devices.device;
            // SAFETY: as in `create_placed`; the properties outlive the call.
            let created =
                unsafe { device.CreateCommittedResource(properties, flags, desc, state, clear, &mut made) };
            (usual, created)
        }
        (Route::States, Some(session)) => {
            let call = "ID3D12Device4::CreateCommittedResource1";
            let device = devices.device4.as_ref().ok_or(Refused { call, hresult: E_NOINTERFACE })?;
            // SAFETY: as above; the session is a live COM object.
            let created = unsafe {
                device.CreateCommittedResource1(properties, flags, desc, state, clear, session, &mut made)
            };
            (call, created)
        }
        (Route::States1(device, desc), session) => {
            // SAFETY: as above.
            let created = unsafe {
                device.CreateCommittedResource2(properties, flags, &desc, state, clear, session, &mut made)
            };
            ("ID3D12Device8::CreateCommittedResource2", created)
        }
        (Route::Layout(device, desc), session) => {
            let (count, list) = castable(resource);
            // SAFETY: as above; there are as many formats as are counted, and they outlive the call.
            let created = unsafe {
                device.CreateCommittedResource3(
                    properties, flags, &desc, layout, clear, session, count, list, &mut made,
                )
            };
            ("ID3D12Device10::CreateCommittedResource3", created)
        }
    };
    answer(call, created, made)
}

/// Returns the initial state of a resource in a heap of a type.
///
/// Since the release of D3D12 that added `ID3D12Device10`, resources in UPLOAD and READBACK heaps may be created in
/// state COMMON, and in UPLOAD heaps in parts of GENERIC_READ. Before, they have a single state for their lifetime, to
/// which these states are converted.
#[inline]
fn initial(
    devices: &Devices,
    heap_type: D3D12_HEAP_TYPE,
    resource: &ResourceDesc<'_>,
) -> (D3D12_RESOURCE_STATES, D3D12_BARRIER_LAYOUT) {
    let state = match resource.initial_state {
        InitialState::State(state) => state,
        InitialState::Layout(layout) => return (D3D12_RESOURCE_STATE_COMMON, layout),
    };
    let state = match heap_type {
        _ if devices.device10.is_some() => state,
        D3D12_HEAP_TYPE_UPLOAD if state & !D3D12_RESOURCE_STATE_GENERIC_READ == 0 => {
            D3D12_RESOURCE_STATE_GENERIC_READ
        }
        D3D12_HEAP_TYPE_READBACK if state == D3D12_RESOURCE_STATE_COMMON => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => state,
    };
    (state, D3D12_BARRIER_LAYOUT_UNDEFINED)
}

/// Returns castable formats as the calls take them.
fn castable(resource: &ResourceDesc<'_>) -> (u32, *const DXGI_FORMAT) {
    let formats = resource.castable_formats;
    // More than 2^32 are rejected when the requirements are queried.
    let count = u32::try_from(formats.len()).unwrap_or(0);
    (count, if formats.is_empty() { std::ptr::null() } else { formats.as_ptr() })
}

#[inline]
fn answer(
    call: &'static str,
    created: windows_core::Result<()>,
    resource: Option<ID3D12Resource>,
) -> Result<ID3D12Resource, Refused> {
    match (created, resource) {
        (Ok(()), Some(resource)) => Ok(resource),
        (Ok(()), None) => Err(Refused { call, hresult: E_POINTER }),
        (Err(error), _) => Err(Refused { call, hresult: error.code() }),
    }
}

/// Sets the name of a D3D12 object.
pub(crate) fn set_debug_name(object: &impl Interface, name: &str) -> Result<(), Error> {
    let call = "ID3D12Object::SetName";
    let object: ID3D12Object = object.cast().map_err(|error| Error::device(call, error.code()))?;
    // A zero would end the name early, and the rest would be lost silently.
    let wide: Vec<u16> = name.encode_utf16().filter(|&unit| unit != 0).chain([0]).collect();
    // SAFETY: the object is live, and the name, which ends with a zero, outlives the call.
    let hresult = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
    if hresult.is_err() { Err(Error::device(call, hresult)) } else { Ok(()) }
}
