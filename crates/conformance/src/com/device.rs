//! Feature queries, creation, allocation info, footprints and tilings.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(crate) use heapwright_d3d12::resource_desc::upgrade;
use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use super::{Result, cast, count, created, done};
use crate::answer::Answer;
use crate::desc::properties;

/// A structure of `CheckFeatureSupport`.
///
/// # Safety
///
/// `FEATURE` must take exactly this structure.
pub(crate) unsafe trait FeatureData: Copy + Default {
    const FEATURE: D3D12_FEATURE;
    const NAME: &'static str;
}

macro_rules! feature_data {
    ($($data:ty => $feature:ident),* $(,)?) => {$(
        // SAFETY: d3d12.h pairs them.
        unsafe impl FeatureData for $data {
            const FEATURE: D3D12_FEATURE = $feature;
            const NAME: &'static str = stringify!($feature);
        }
    )*

        /// Returns each feature with its name and the size of its structure.
        pub(crate) fn features() -> impl Iterator<Item = (&'static str, D3D12_FEATURE, u32)> {
            [$((stringify!($feature), $feature, size_of_u32::<$data>())),*].into_iter()
        }
    };
}

feature_data! {
    D3D12_FEATURE_DATA_D3D12_OPTIONS => D3D12_FEATURE_D3D12_OPTIONS,
    D3D12_FEATURE_DATA_ARCHITECTURE => D3D12_FEATURE_ARCHITECTURE,
    D3D12_FEATURE_DATA_ARCHITECTURE1 => D3D12_FEATURE_ARCHITECTURE1,
    D3D12_FEATURE_DATA_FORMAT_SUPPORT => D3D12_FEATURE_FORMAT_SUPPORT,
    D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS => D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS,
    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT => D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT,
    D3D12_FEATURE_DATA_EXISTING_HEAPS => D3D12_FEATURE_EXISTING_HEAPS,
    D3D12_FEATURE_DATA_D3D12_OPTIONS2 => D3D12_FEATURE_D3D12_OPTIONS2,
    D3D12_FEATURE_DATA_D3D12_OPTIONS4 => D3D12_FEATURE_D3D12_OPTIONS4,
    D3D12_FEATURE_DATA_D3D12_OPTIONS7 => D3D12_FEATURE_D3D12_OPTIONS7,
    D3D12_FEATURE_DATA_D3D12_OPTIONS12 => D3D12_FEATURE_D3D12_OPTIONS12,
    D3D12_FEATURE_DATA_D3D12_OPTIONS16 => D3D12_FEATURE_D3D12_OPTIONS16,
    D3D12_FEATURE_DATA_D3D12_OPTIONS17 => D3D12_FEATURE_D3D12_OPTIONS17,
    D3D12_FEATURE_DATA_D3D12_OPTIONS19 => D3D12_FEATURE_D3D12_OPTIONS19,
    D3D12_FEATURE_DATA_D3D12_OPTIONS20 => D3D12_FEATURE_D3D12_OPTIONS20,
    D3D12_FEATURE_DATA_TIGHT_ALIGNMENT => D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT,
    D3D12_FEATURE_DATA_FORMAT_INFO => D3D12_FEATURE_FORMAT_INFO,
    D3D12_FEATURE_DATA_BARRIER_LAYOUT => D3D12_FEATURE_BARRIER_LAYOUT,
    D3D12_FEATURE_DATA_D3D12_OPTIONS22 => D3D12_FEATURE_D3D12_OPTIONS22,
}

/// The size of a structure as D3D12 takes it.
pub(crate) fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("D3D12's structures are small")
}

/// `CheckFeatureSupport` with all inputs zero.
pub(crate) fn feature<T: FeatureData>(device: &ID3D12Device) -> Answer<T> {
    feature_of(device, T::default())
}

/// `CheckFeatureSupport` with a structure that has inputs.
pub(crate) fn feature_of<T: FeatureData>(device: &ID3D12Device, mut data: T) -> Answer<T> {
    let size = size_of_u32::<T>();
    // SAFETY: data is the feature's structure and has that size.
    let hresult = unsafe { device.CheckFeatureSupport(T::FEATURE, (&raw mut data).cast(), size) };
    // The first D3D12 returns E_INVALIDARG for every feature that was added later: it does not implement the feature.
    let is_later = T::FEATURE > D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT;
    let is_unknown = hresult.is_err() && is_later && cast::<ID3D12Device1>(device).is_err();
    let hresult = if is_unknown { E_NOTIMPL } else { hresult };
    done(format!("CheckFeatureSupport of {}", T::NAME), hresult).map(|()| data)
}

/// `CheckFeatureSupport` with any size up to 256 bytes and zeroed data.
pub(crate) fn feature_of_size(device: &ID3D12Device, feature: D3D12_FEATURE, size: u32) -> HRESULT {
    let mut data = [0_u64; 32];
    assert!(size <= 256, "the data has 256 bytes");
    // SAFETY: data has at least size bytes, and zero is valid for every structure.
    unsafe { device.CheckFeatureSupport(feature, data.as_mut_ptr().cast(), size) }
}

/// `CheckFeatureSupport` with a null pointer.
pub(crate) fn feature_of_null(device: &ID3D12Device, feature: D3D12_FEATURE, size: u32) -> HRESULT {
    // SAFETY: a null pointer is what is tested; D3D12 refuses it.
    unsafe { device.CheckFeatureSupport(feature, null_mut(), size) }
}

/// Returns the highest of these feature levels that the device has.
pub(crate) fn feature_level(
    device: &ID3D12Device,
    levels: &[D3D_FEATURE_LEVEL],
) -> Answer<D3D_FEATURE_LEVEL> {
    let mut data = D3D12_FEATURE_DATA_FEATURE_LEVELS {
        NumFeatureLevels: count(levels),
        pFeatureLevelsRequested: levels.as_ptr(),
        MaxSupportedFeatureLevel: 0,
    };
    let size = size_of_u32::<D3D12_FEATURE_DATA_FEATURE_LEVELS>();
    let start = (&raw mut data).cast();
    // SAFETY: data is the feature's structure, and its pointer and count are a slice's.
    let hresult = unsafe { device.CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, start, size) };
    done("CheckFeatureSupport of FEATURE_LEVELS", hresult).map(|()| data.MaxSupportedFeatureLevel)
}

/// Returns the number of a format's planes; 1 if the device does not tell.
pub(crate) fn plane_count(device: &ID3D12Device, format: DXGI_FORMAT) -> u32 {
    let data = D3D12_FEATURE_DATA_FORMAT_INFO { Format: format, ..Default::default() };
    feature_of(device, data).result().map_or(1, |data| u32::from(data.PlaneCount).max(1))
}

pub(crate) fn node_count(device: &ID3D12Device) -> u32 {
    // SAFETY: the device is live.
    unsafe { device.GetNodeCount() }
}

pub(crate) fn adapter_luid(device: &ID3D12Device) -> LUID {
    // SAFETY: the device is live.
    unsafe { device.GetAdapterLuid() }
}

pub(crate) fn removed_reason(device: &ID3D12Device) -> HRESULT {
    // SAFETY: the device is live.
    unsafe { device.GetDeviceRemovedReason() }
}

pub(crate) fn custom_heap_properties(
    device: &ID3D12Device,
    node_mask: u32,
    heap_type: D3D12_HEAP_TYPE,
) -> D3D12_HEAP_PROPERTIES {
    // SAFETY: the device is live.
    unsafe { device.GetCustomHeapProperties(node_mask, heap_type) }
}

pub(crate) fn descriptor_increment(device: &ID3D12Device, heap_type: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
    // SAFETY: the device is live.
    unsafe { device.GetDescriptorHandleIncrementSize(heap_type) }
}

pub(crate) fn create_heap(device: &ID3D12Device, desc: &D3D12_HEAP_DESC) -> Answer<ID3D12Heap> {
    let mut heap = None;
    // SAFETY: desc is a valid structure, heap takes one interface.
    created(with_flag_names("CreateHeap", desc.Flags), unsafe { device.CreateHeap(desc, &mut heap) }, heap)
}

pub(crate) fn create_heap1(device: &ID3D12Device4, desc: &D3D12_HEAP_DESC) -> Answer<ID3D12Heap1> {
    let mut heap = None;
    // SAFETY: as in create_heap.
    created("CreateHeap1", unsafe { device.CreateHeap1(desc, None, &mut heap) }, heap)
}

/// `OpenExistingHeapFromAddress`. The caller keeps the memory for as long as the heap.
pub(crate) fn open_existing_heap(device: &ID3D12Device, address: *const c_void) -> Answer<ID3D12Heap> {
    let device: Result<ID3D12Device3> = cast(device);
    let opened = device.and_then(|device| {
        // SAFETY: the device is live. An address without memory is refused.
        unsafe { device.OpenExistingHeapFromAddress(address) }.map_err(|error| error.code())
    });
    Answer::new("OpenExistingHeapFromAddress", opened)
}

/// `CreateHeap` with a null result pointer, which only validates.
pub(crate) fn check_heap(device: &ID3D12Device, desc: Option<&D3D12_HEAP_DESC>) -> HRESULT {
    let desc = desc.map_or(null(), std::ptr::from_ref);
    // SAFETY: desc is null, which D3D12 refuses, or a valid structure; without a result pointer nothing is made.
    unsafe { (device.vtable().CreateHeap)(device.as_raw(), desc, &ID3D12Heap::IID, null_mut()) }
}

/// The way in which a resource gets its memory.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// The resource is placed in a heap at an offset.
    Placed(&'a ID3D12Heap, u64),
    /// The resource has an implicit heap.
    Committed(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS),
    /// The resource's tiles are mapped later.
    Reserved,
}

impl Home<'_> {
    /// A committed resource of this heap type.
    pub(crate) fn of(heap_type: D3D12_HEAP_TYPE) -> Self {
        Self::Committed(properties(heap_type), D3D12_HEAP_FLAG_NONE)
    }
}

/// Heap flags that a device may lack, by name.
const HEAP_FLAG_NAMES: [(D3D12_HEAP_FLAGS, &str); 8] = [
    (D3D12_HEAP_FLAG_SHARED, "SHARED"),
    (D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, "SHARED_CROSS_ADAPTER"),
    (D3D12_HEAP_FLAG_ALLOW_DISPLAY, "ALLOW_DISPLAY"),
    (D3D12_HEAP_FLAG_HARDWARE_PROTECTED, "HARDWARE_PROTECTED"),
    (D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, "ALLOW_WRITE_WATCH"),
    (D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS, "ALLOW_SHADER_ATOMICS"),
    (D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, "CREATE_NOT_RESIDENT"),
    (D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, "TOOLS_USE_MANUAL_WRITE_TRACKING"),
];

fn with_flag_names(call: &str, flags: D3D12_HEAP_FLAGS) -> String {
    let set = HEAP_FLAG_NAMES.iter().filter(|(flag, _)| flags & flag != 0);
    set.fold(call.to_owned(), |call, (_, name)| format!("{call} with {name}"))
}

/// Creates a resource with `CreatePlacedResource`, `CreateCommittedResource` or `CreateReservedResource`.
pub(crate) fn create_resource(
    device: &ID3D12Device,
    home: Home<'_>,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: Option<&D3D12_CLEAR_VALUE>,
) -> Answer<ID3D12Resource> {
    let kind = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { "a buffer" } else { "a texture" };
    let call = match home {
        Home::Placed(..) => format!("CreatePlacedResource of {kind}"),
        Home::Committed(_, flags) => with_flag_names(&format!("CreateCommittedResource of {kind}"), flags),
        Home::Reserved => format!("CreateReservedResource of {kind}"),
    };
    let clear = clear.map(std::ptr::from_ref);
    let mut resource = None;
    // SAFETY: every pointer is to a valid structure, resource takes one interface.
    let result = unsafe {
        match home {
            Home::Placed(heap, offset) => {
                device.CreatePlacedResource(heap, offset, desc, state, clear, &mut resource)
            }
            Home::Committed(properties, flags) => {
                device.CreateCommittedResource(&properties, flags, desc, state, clear, &mut resource)
            }
            Home::Reserved => device.CreateReservedResource(desc, state, clear, &mut resource),
        }
    };
    created(call, result, resource)
}

/// Calls `CreatePlacedResource1`, or `CreateCommittedResource2` for heap type DEFAULT.
pub(crate) fn create_resource_by_state(
    device: &ID3D12Device8,
    heap: Option<(&ID3D12Heap, u64)>,
    desc: &D3D12_RESOURCE_DESC1,
    state: D3D12_RESOURCE_STATES,
) -> Answer<ID3D12Resource> {
    let (home, flags) = (properties(D3D12_HEAP_TYPE_DEFAULT), D3D12_HEAP_FLAG_NONE);
    let mut resource = None;
    let out = &mut resource;
    // SAFETY: as in create_resource.
    let result = unsafe {
        match heap {
            Some((heap, offset)) => device.CreatePlacedResource1(heap, offset, desc, state, None, out),
            None => device.CreateCommittedResource2(&home, flags, desc, state, None, None, out),
        }
    };
    created("a creation call of ID3D12Device8", result, resource)
}

/// Calls `CreatePlacedResource2`, or `CreateCommittedResource3` for heap type DEFAULT.
pub(crate) fn create_resource_by_layout(
    device: &ID3D12Device10,
    heap: Option<(&ID3D12Heap, u64)>,
    desc: &D3D12_RESOURCE_DESC1,
    layout: D3D12_BARRIER_LAYOUT,
    castable: &[DXGI_FORMAT],
) -> Answer<ID3D12Resource> {
    let (home, flags) = (properties(D3D12_HEAP_TYPE_DEFAULT), D3D12_HEAP_FLAG_NONE);
    let (count, formats) = (count(castable), if castable.is_empty() { null() } else { castable.as_ptr() });
    let mut resource = None;
    let out = &mut resource;
    // SAFETY: as in create_resource; the formats are a slice's pointer and length.
    let result = unsafe {
        match heap {
            Some((heap, offset)) => {
                device.CreatePlacedResource2(heap, offset, desc, layout, None, count, formats, out)
            }
            None => {
                device.CreateCommittedResource3(&home, flags, desc, layout, None, None, count, formats, out)
            }
        }
    };
    created("a creation call of ID3D12Device10", result, resource)
}

/// `CreateCommittedResource` with a null result pointer, which only validates.
pub(crate) fn check_committed(
    device: &ID3D12Device,
    properties: Option<&D3D12_HEAP_PROPERTIES>,
    desc: Option<&D3D12_RESOURCE_DESC>,
    state: D3D12_RESOURCE_STATES,
) -> HRESULT {
    let properties = properties.map_or(null(), std::ptr::from_ref);
    let desc = desc.map_or(null(), std::ptr::from_ref);
    // SAFETY: the pointers are null, which D3D12 refuses, or to valid structures; nothing is made.
    unsafe {
        (device.vtable().CreateCommittedResource)(
            device.as_raw(),
            properties,
            D3D12_HEAP_FLAG_NONE,
            desc,
            state,
            null(),
            &ID3D12Resource::IID,
            null_mut(),
        )
    }
}

/// `CreatePlacedResource` with a null result pointer, which only validates.
pub(crate) fn check_placed(
    device: &ID3D12Device,
    heap: Option<&ID3D12Heap>,
    desc: &D3D12_RESOURCE_DESC,
) -> HRESULT {
    let heap = heap.map_or(null_mut(), Interface::as_raw);
    // SAFETY: as in check_committed.
    unsafe {
        (device.vtable().CreatePlacedResource)(
            device.as_raw(),
            heap,
            0,
            desc,
            D3D12_RESOURCE_STATE_COMMON,
            null(),
            &ID3D12Resource::IID,
            null_mut(),
        )
    }
}

/// `CreateHeap` for any interface. Returns the HRESULT and whether a pointer was written.
pub(crate) fn create_heap_as(
    device: &ID3D12Device,
    desc: &D3D12_HEAP_DESC,
    iid: &windows_core::GUID,
) -> (HRESULT, bool) {
    let mut out: *mut c_void = null_mut();
    // SAFETY: desc and iid are valid, out takes one pointer.
    let hresult = unsafe { (device.vtable().CreateHeap)(device.as_raw(), desc, iid, &mut out) };
    let is_written = !out.is_null();
    if is_written {
        // SAFETY: a pointer that was written holds a reference, which is given back here.
        drop(unsafe { windows_core::IUnknown::from_raw(out) });
    }
    (hresult, is_written)
}

pub(crate) fn allocation_info(
    device: &ID3D12Device,
    visible_mask: u32,
    descs: &[D3D12_RESOURCE_DESC],
) -> D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the slice is the array.
    unsafe { device.GetResourceAllocationInfo(visible_mask, descs) }
}

/// The results of `GetResourceAllocationInfo1` and its successors: the total, and one element for each description.
pub(crate) type Layout = (D3D12_RESOURCE_ALLOCATION_INFO, Vec<D3D12_RESOURCE_ALLOCATION_INFO1>);

/// Calls `GetResourceAllocationInfo1` or a successor with an array of `len` elements.
fn layout(
    len: usize,
    ask: impl FnOnce(*mut D3D12_RESOURCE_ALLOCATION_INFO1) -> D3D12_RESOURCE_ALLOCATION_INFO,
) -> Layout {
    let mut infos = vec![D3D12_RESOURCE_ALLOCATION_INFO1::default(); len];
    (ask(infos.as_mut_ptr()), infos)
}

pub(crate) fn allocation_info1(device: &ID3D12Device4, descs: &[D3D12_RESOURCE_DESC]) -> Layout {
    // SAFETY: both arrays have one element for each description.
    layout(descs.len(), |infos| unsafe {
        device.GetResourceAllocationInfo1(0, count(descs), descs.as_ptr(), Some(infos))
    })
}

/// `GetResourceAllocationInfo1` with a null array.
pub(crate) fn allocation_info1_whole(
    device: &ID3D12Device4,
    descs: &[D3D12_RESOURCE_DESC],
) -> D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the array has one element for each description, and the other pointer may be null.
    unsafe { device.GetResourceAllocationInfo1(0, count(descs), descs.as_ptr(), None) }
}

pub(crate) fn allocation_info2(device: &ID3D12Device8, descs: &[D3D12_RESOURCE_DESC1]) -> Layout {
    // SAFETY: both arrays have one element for each description.
    layout(descs.len(), |infos| unsafe {
        device.GetResourceAllocationInfo2(0, count(descs), descs.as_ptr(), Some(infos))
    })
}

/// `GetResourceAllocationInfo3` without castable formats.
pub(crate) fn allocation_info3(device: &ID3D12Device12, descs: &[D3D12_RESOURCE_DESC1]) -> Layout {
    // SAFETY: both arrays have one element for each description; null counts and formats mean that there are none.
    layout(descs.len(), |infos| unsafe {
        device.GetResourceAllocationInfo3(0, count(descs), descs.as_ptr(), null(), null(), Some(infos))
    })
}

/// The output of `GetCopyableFootprints`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprints {
    pub(crate) layouts: Vec<D3D12_PLACED_SUBRESOURCE_FOOTPRINT>,
    pub(crate) row_counts: Vec<u32>,
    pub(crate) row_sizes: Vec<u64>,
    pub(crate) total: u64,
}

/// The value that the total has before the call.
pub(crate) const UNTOUCHED_TOTAL: u64 = 0x5555_5555_5555_5555;

/// `GetCopyableFootprints` of `count` subresources from `first`.
pub(crate) fn footprints(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
    first: u32,
    count: u32,
    base_offset: u64,
) -> Footprints {
    let len = usize::try_from(count).expect("the count fits in usize");
    let mut found = Footprints {
        layouts: vec![D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(); len],
        row_counts: vec![0; len],
        row_sizes: vec![0; len],
        total: UNTOUCHED_TOTAL,
    };
    // SAFETY: desc is valid, and each array has count elements.
    unsafe {
        device.GetCopyableFootprints(
            desc,
            first,
            count,
            base_offset,
            Some(found.layouts.as_mut_ptr()),
            Some(found.row_counts.as_mut_ptr()),
            Some(found.row_sizes.as_mut_ptr()),
            Some(&raw mut found.total),
        );
    }
    found
}

/// `GetCopyableFootprints` with null arrays. Returns the total.
pub(crate) fn footprint_total(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC, count: u32) -> u64 {
    let mut total = UNTOUCHED_TOTAL;
    // SAFETY: desc is valid, and the arrays may be null.
    unsafe { device.GetCopyableFootprints(desc, 0, count, 0, None, None, None, Some(&raw mut total)) };
    total
}

pub(crate) fn footprint_total1(device: &ID3D12Device8, desc: &D3D12_RESOURCE_DESC1, count: u32) -> u64 {
    let mut total = UNTOUCHED_TOTAL;
    // SAFETY: desc is valid, and the arrays may be null.
    unsafe { device.GetCopyableFootprints1(desc, 0, count, 0, None, None, None, Some(&raw mut total)) };
    total
}

/// The output of `GetResourceTiling`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tiling {
    pub(crate) tile_count: u32,
    pub(crate) packed: D3D12_PACKED_MIP_INFO,
    pub(crate) shape: D3D12_TILE_SHAPE,
    pub(crate) subresources: Vec<D3D12_SUBRESOURCE_TILING>,
}

/// `GetResourceTiling` of up to `count` subresources.
pub(crate) fn tiling(device: &ID3D12Device, resource: &ID3D12Resource, count: u32) -> Tiling {
    let mut found = Tiling {
        tile_count: u32::MAX,
        packed: D3D12_PACKED_MIP_INFO::default(),
        shape: D3D12_TILE_SHAPE::default(),
        subresources: vec![
            D3D12_SUBRESOURCE_TILING::default();
            usize::try_from(count).expect("the count fits in usize")
        ],
    };
    let mut written = count;
    // SAFETY: the resource is live, and the array has the number of elements that `written` says.
    unsafe {
        device.GetResourceTiling(
            resource,
            Some(&raw mut found.tile_count),
            Some(&raw mut found.packed),
            Some(&raw mut found.shape),
            Some(&raw mut written),
            0,
            found.subresources.as_mut_ptr(),
        );
    }
    found.subresources.truncate(usize::try_from(written).unwrap_or(0));
    found
}
