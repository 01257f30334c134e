//! A device and its newer interfaces, queried once.

use heapwright_core::HeapOffset;
#[cfg(feature = "preview")]
use heapwright_d3d12::preview::{D3D12_RESOURCE_DESC2, ID3D12GuidTextureLayoutDevice, with_layout_guid};
use heapwright_d3d12::{ID3D12Object, PCWSTR, *};
use windows_core::{HRESULT, Interface};

use super::heap::Heap;
use super::managed::KeptResident;
use crate::desc::{ClearValue, ResourceDesc};
use crate::error::{MemorySource, Obstacle, Refusal};
use crate::request::with_mip_region;
use crate::residency::ResidencyHeap;
use crate::{DeviceCaps, Error, InitialState};

/// A device with each interface that may create a resource. `None` if the device does not support it.
#[derive(Clone)]
pub(crate) struct Devices {
    pub(crate) device: ID3D12Device,
    pub(crate) device1: Option<ID3D12Device1>,
    pub(crate) device4: Option<ID3D12Device4>,
    pub(crate) device8: Option<ID3D12Device8>,
    pub(crate) device10: Option<ID3D12Device10>,
    pub(crate) device12: Option<ID3D12Device12>,
    /// For layout GUIDs.
    #[cfg(feature = "preview")]
    pub(crate) layout_device: Option<ID3D12GuidTextureLayoutDevice>,
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
            #[cfg(feature = "preview")]
            layout_device: device.cast().ok(),
        }
    }

    /// Checks that the device has the interfaces that a resource and heap flags need; `field` names the flags.
    ///
    /// CREATE_NOT_ZEROED is a hint, which is never rejected: see [`known_heap_flags`](Self::known_heap_flags).
    #[inline]
    pub(crate) fn check(
        &self,
        caps: &DeviceCaps,
        resource: &ResourceDesc<'_>,
        (heap_flags, field): (D3D12_HEAP_FLAGS, &'static str),
    ) -> Result<(), Error> {
        let has_layout = matches!(resource.initial_state, InitialState::Layout(_));
        if !resource.castable_formats.is_empty() {
            if !has_layout {
                let rule =
                    "castable formats require an initial layout instead of a state (CreatePlacedResource2)";
                return Err(Error::invalid_argument("ResourceDesc::castable_formats", rule));
            }
            if self.device12.is_none() {
                return Err(Error::unsupported("castable formats (require ID3D12Device12)"));
            }
            if !caps.relaxed_format_casting {
                let what = "castable formats (require RelaxedFormatCastingSupported)";
                return Err(Error::unsupported(what));
            }
        }
        #[cfg(feature = "preview")]
        if !resource.layout_guid.is_null() {
            if !has_layout {
                let rule = "requires an initial layout instead of a state (CreatePlacedResource3)";
                return Err(Error::invalid_argument("ResourceDesc::layout_guid", rule));
            }
            if self.layout_device.is_none() || caps.layout_guid_tier == 0 {
                let what = "a layout GUID (requires ID3D12GuidTextureLayoutDevice)";
                return Err(Error::unsupported(what));
            }
        }
        if resource.protected_session.is_some() && self.device4.is_none() {
            return Err(Error::unsupported("a protected session (requires ID3D12Device4)"));
        }
        if has_layout && self.device10.is_none() {
            return Err(Error::unsupported("an initial layout (requires ID3D12Device10)"));
        }
        if has_layout && !caps.enhanced_barriers {
            return Err(Error::unsupported("an initial layout (requires EnhancedBarriersSupported)"));
        }
        if heap_flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0 && self.device8.is_none() {
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
    /// The fields of which E_INVALIDARG is about one; `None` for a heap.
    pub(crate) suspects: Option<Suspects>,
}

/// The field of a resource that the device refuses after it has accepted the description, as far as it can be told, and
/// what is known about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspects {
    field: &'static str,
    note: &'static str,
}

impl Suspects {
    /// Returns what may be wrong with the heaps of a pool that have these flags.
    pub(crate) fn of_pool(heap_flags: D3D12_HEAP_FLAGS) -> Option<Self> {
        let of_kinds = D3D12_HEAP_FLAG_DENY_BUFFERS
            | D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES
            | D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES;
        let has_extra = heap_flags & !of_kinds != 0;
        has_extra.then_some(Self { field: "PoolDesc::extra_heap_flags", note: "" })
    }

    fn of(heap_type: D3D12_HEAP_TYPE, heap_flags: D3D12_HEAP_FLAGS, resource: &ResourceDesc<'_>) -> Self {
        /// Implementations of D3D12 may refuse larger buffers in memory of the CPU.
        const LARGE: u64 = 0xffff_0000;
        let canonical = match heap_type {
            D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
            D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
            _ => D3D12_RESOURCE_STATE_COMMON,
        };
        if canonical != D3D12_RESOURCE_STATE_COMMON && resource.desc.Width > LARGE {
            let note =
                "; some versions of D3D12 refuse UPLOAD and READBACK buffers of more than 0xffff0000 bytes";
            return Self { field: "D3D12_RESOURCE_DESC::Width", note };
        }
        // Every resource may begin in the others.
        let has_state = match resource.initial_state {
            InitialState::State(state) => state != canonical && state != D3D12_RESOURCE_STATE_COMMON,
            InitialState::Layout(layout) => {
                ![D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_BARRIER_LAYOUT_COMMON].contains(&layout)
            }
        };
        let has_flags = heap_flags & !D3D12_HEAP_FLAG_CREATE_NOT_ZEROED != 0;
        let field = match (has_state, resource.clear_value.is_some(), has_flags) {
            (true, true, true) => "initial_state, clear_value or extra_required_heap_flags",
            (true, true, false) => "initial_state or clear_value",
            (true, false, true) => "initial_state or extra_required_heap_flags",
            (true, false, false) => "initial_state",
            (false, true, true) => "clear_value or extra_required_heap_flags",
            (false, true, false) => "clear_value",
            (false, false, true) => "extra_required_heap_flags",
            (false, false, false) => "D3D12_RESOURCE_DESC",
        };
        Self { field, note: "" }
    }
}

impl Refused {
    fn of(call: &'static str, created: windows_core::Result<()>, suspects: Suspects) -> Self {
        // Success without an object.
        let hresult = created.err().map_or(E_POINTER, |error| error.code());
        Self { call, hresult, suspects: Some(suspects) }
    }

    /// Converts to a refusal of a source of memory.
    pub(crate) fn into_refusal(self, source: MemorySource) -> Refusal {
        match self.hresult {
            E_OUTOFMEMORY => Refusal::of(source, Obstacle::Device(self.hresult)),
            _ => self.into_error().into(),
        }
    }

    /// Converts to an error. For a resource, E_INVALIDARG names the fields that can still be wrong after the device
    /// accepted the description.
    pub(crate) fn into_error(self) -> Error {
        let Self { call, hresult, suspects } = self;
        match suspects {
            Some(Suspects { field, note }) if hresult == E_INVALIDARG => {
                Error::invalid_argument(field, format!("{call} failed with E_INVALIDARG{note}"))
            }
            _ => Error::device(call, hresult),
        }
    }
}

/// The call that creates a resource, with its initial state or layout.
enum Creation<'a> {
    /// A call of `ID3D12Device`, or of `ID3D12Device4` if there is a protected session.
    InState(D3D12_RESOURCE_STATES),
    /// A call of `ID3D12Device8`, which takes a mip region of sampler feedback.
    WithMipRegion(&'a ID3D12Device8, D3D12_RESOURCE_DESC1, D3D12_RESOURCE_STATES),
    /// A call of `ID3D12Device10`, which takes a layout and castable formats.
    InLayout(&'a ID3D12Device10, D3D12_RESOURCE_DESC1, D3D12_BARRIER_LAYOUT),
    /// A call of `ID3D12GuidTextureLayoutDevice`, which takes a layout GUID in addition.
    #[cfg(feature = "preview")]
    WithLayoutGuid(&'a ID3D12GuidTextureLayoutDevice, D3D12_RESOURCE_DESC2, D3D12_BARRIER_LAYOUT),
}

impl<'a> Creation<'a> {
    /// Returns the call for a resource in a heap of a type, or `None` if the device lacks its interface.
    ///
    /// Since the release of D3D12 that added `ID3D12Device10`, resources in UPLOAD and READBACK heaps may be created in
    /// state COMMON, and in UPLOAD heaps in parts of GENERIC_READ. Before, they have a single state for their lifetime,
    /// to which these states are converted.
    #[inline]
    fn of(
        devices: &'a Devices,
        heap_type: D3D12_HEAP_TYPE,
        resource: &ResourceDesc<'_>,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Option<Self> {
        let region = resource.sampler_feedback_mip_region;
        let state = match resource.initial_state {
            InitialState::State(state) if devices.device10.is_some() => state,
            InitialState::State(state) => match heap_type {
                D3D12_HEAP_TYPE_UPLOAD if state & !D3D12_RESOURCE_STATE_GENERIC_READ == 0 => {
                    D3D12_RESOURCE_STATE_GENERIC_READ
                }
                D3D12_HEAP_TYPE_READBACK if state == D3D12_RESOURCE_STATE_COMMON => {
                    D3D12_RESOURCE_STATE_COPY_DEST
                }
                _ => state,
            },
            #[cfg(feature = "preview")]
            InitialState::Layout(layout) if !resource.layout_guid.is_null() => {
                let device = devices.layout_device.as_ref()?;
                let desc = with_layout_guid(&with_mip_region(desc, region), resource.layout_guid.get());
                return Some(Self::WithLayoutGuid(device, desc, layout));
            }
            InitialState::Layout(layout) => {
                let device = devices.device10.as_ref()?;
                return Some(Self::InLayout(device, with_mip_region(desc, region), layout));
            }
        };
        if !resource.has_mip_region() {
            return Some(Self::InState(state));
        }
        let device = devices.device8.as_ref()?;
        Some(Self::WithMipRegion(device, with_mip_region(desc, region), state))
    }
}

/// Places a resource with `desc`, which was derived from `resource`, in a heap of the type. If the device refuses and
/// the heap is evicted, tries again with the heap resident.
///
/// D3D12 does not specify whether the heap must be resident, and some devices require it. A shortage and a removed
/// device are not such refusals.
#[inline]
pub(crate) fn create_placed(
    devices: &Devices,
    heap_type: D3D12_HEAP_TYPE,
    heap: &Heap,
    offset: HeapOffset,
    resource: &ResourceDesc<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, Refused> {
    let mut placed: Option<ID3D12Resource> = None;
    let (d3d12, place) = (heap.d3d12(), offset.get());
    let clear_value = resource.clear_value.map(ClearValue::to_d3d12);
    let clear = clear_value.as_ref().map(std::ptr::from_ref);
    let (call, created) = match Creation::of(devices, heap_type, resource, desc) {
        Some(Creation::InState(state)) => {
            let device = &devices.device;
            // SAFETY: device and heap are live COM objects; the description and the clear value outlive the call; the
            // result is written to a variable of the interface that is asked for. The caller provides the range.
            let created =
                unsafe { device.CreatePlacedResource(d3d12, place, desc, state, clear, &mut placed) };
            ("ID3D12Device::CreatePlacedResource", created)
        }
        Some(Creation::WithMipRegion(device, desc, state)) => {
            // SAFETY: as above.
            let created =
                unsafe { device.CreatePlacedResource1(d3d12, place, &desc, state, clear, &mut placed) };
            ("ID3D12Device8::CreatePlacedResource1", created)
        }
        Some(Creation::InLayout(device, desc, layout)) => {
            let (count, list) = castable(resource);
            // SAFETY: as above; there are as many formats as are counted, and they outlive the call.
            let created = unsafe {
                device.CreatePlacedResource2(d3d12, place, &desc, layout, clear, count, list, &mut placed)
            };
            ("ID3D12Device10::CreatePlacedResource2", created)
        }
        #[cfg(feature = "preview")]
        Some(Creation::WithLayoutGuid(device, desc, layout)) => {
            let (count, list) = castable(resource);
            let clear = clear.unwrap_or(std::ptr::null());
            let (iid, mut made) = (&ID3D12Resource::IID, std::ptr::null_mut());
            // SAFETY: as above.
            let created = unsafe {
                let heap = d3d12.as_raw();
                device.CreatePlacedResource3(heap, place, &desc, layout, clear, count, list, iid, &mut made)
            };
            // SAFETY: the call asked for this interface, and returned a reference or null.
            placed = (!made.is_null()).then(|| unsafe { ID3D12Resource::from_raw(made) });
            ("ID3D12GuidTextureLayoutDevice::CreatePlacedResource3", created.ok())
        }
        None => ("ID3D12Device::CreatePlacedResource", Err(E_NOINTERFACE.into())),
    };
    if let (Ok(()), Some(placed)) = (&created, placed) {
        return Ok(placed);
    }
    let suspects = Suspects::of(heap_type, D3D12_HEAP_FLAG_NONE, resource);
    let refused = Refused::of(call, created, suspects);
    let is_evicted = |memory: &&ResidencyHeap| !memory.is_resident();
    let evicted = heap.residency().filter(|_| refused.hresult == E_INVALIDARG).filter(is_evicted);
    match evicted.map(KeptResident::new) {
        Some(Ok(_kept)) => create_placed(devices, heap_type, heap, offset, resource, desc),
        _ => Err(refused),
    }
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
    let session = resource.protected_session;
    let usual = "ID3D12Device::CreateCommittedResource";
    let suspects = Suspects::of(properties.Type, heap_flags, resource);
    let missing = |call| Refused { call, hresult: E_NOINTERFACE, suspects: Some(suspects) };
    let (flags, clear) = (heap_flags, clear_value);
    let creation = Creation::of(devices, properties.Type, resource, desc).ok_or(missing(usual))?;
    let (call, created) = match (creation, session) {
        (Creation::InState(state), None) => {
            let device = &devices.device;
            // SAFETY: as in `create_placed`; the properties outlive the call.
            let created =
                unsafe { device.CreateCommittedResource(properties, flags, desc, state, clear, &mut made) };
            (usual, created)
        }
        (Creation::InState(state), Some(session)) => {
            let call = "ID3D12Device4::CreateCommittedResource1";
            let device = devices.device4.as_ref().ok_or(missing(call))?;
            // SAFETY: as above; the session is a live COM object.
            let created = unsafe {
                device.CreateCommittedResource1(properties, flags, desc, state, clear, session, &mut made)
            };
            (call, created)
        }
        (Creation::WithMipRegion(device, desc, state), session) => {
            // SAFETY: as above.
            let created = unsafe {
                device.CreateCommittedResource2(properties, flags, &desc, state, clear, session, &mut made)
            };
            ("ID3D12Device8::CreateCommittedResource2", created)
        }
        (Creation::InLayout(device, desc, layout), session) => {
            let (count, list) = castable(resource);
            // SAFETY: as above; there are as many formats as are counted, and they outlive the call.
            let created = unsafe {
                device.CreateCommittedResource3(
                    properties, flags, &desc, layout, clear, session, count, list, &mut made,
                )
            };
            ("ID3D12Device10::CreateCommittedResource3", created)
        }
        #[cfg(feature = "preview")]
        (Creation::WithLayoutGuid(device, desc, layout), session) => {
            let (count, list) = castable(resource);
            let (clear, session) =
                (clear.unwrap_or(std::ptr::null()), session.map_or(std::ptr::null_mut(), Interface::as_raw));
            let (iid, mut created) = (&ID3D12Resource::IID, std::ptr::null_mut());
            // SAFETY: as above.
            let result = unsafe {
                device.CreateCommittedResource4(
                    properties,
                    flags,
                    &desc,
                    layout,
                    clear,
                    session,
                    count,
                    list,
                    iid,
                    &mut created,
                )
            };
            // SAFETY: the call asked for this interface, and returned a reference or null.
            made = (!created.is_null()).then(|| unsafe { ID3D12Resource::from_raw(created) });
            ("ID3D12GuidTextureLayoutDevice::CreateCommittedResource4", result.ok())
        }
    };
    made.filter(|_| created.is_ok()).ok_or_else(|| Refused::of(call, created, suspects))
}

/// Returns castable formats as the calls take them.
fn castable(resource: &ResourceDesc<'_>) -> (u32, *const DXGI_FORMAT) {
    let formats = resource.castable_formats;
    // More than 2^32 are rejected when the requirements are queried.
    let count = u32::try_from(formats.len()).unwrap_or(0);
    (count, if formats.is_empty() { std::ptr::null() } else { formats.as_ptr() })
}

/// Sets the name of a D3D12 object.
pub(crate) fn set_debug_name(object: &ID3D12Object, name: &str) -> Result<(), Error> {
    // A zero would end the name early, and the rest would be lost silently.
    let units = name.encode_utf16().filter(|&unit| unit != 0);
    // There are no more units than bytes, and the rest are zeros, which end the name.
    let (mut short, mut long) = ([0; 64], Vec::new());
    let wide = match short.get_mut(..=name.len()) {
        Some(short) => short,
        None => {
            long.resize(name.len() + 1, 0);
            &mut long
        }
    };
    wide.iter_mut().zip(units).for_each(|(place, unit)| *place = unit);
    // SAFETY: the object is live, and the name, which ends with a zero, outlives the call.
    let hresult = unsafe { object.SetName(PCWSTR(wide.as_ptr())) };
    if hresult.is_err() { Err(Error::device("ID3D12Object::SetName", hresult)) } else { Ok(()) }
}
