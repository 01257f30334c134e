//! What a device is asked for, and what it creates.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use super::{Result, created, done};

/// A structure of `CheckFeatureSupport`, with the feature that it belongs to.
///
/// # Safety
///
/// `FEATURE` takes exactly this structure.
pub(crate) unsafe trait FeatureData: Copy + Default {
    /// The feature.
    const FEATURE: D3D12_FEATURE;
}

macro_rules! feature_data {
    ($($data:ty => $feature:ident),* $(,)?) => {$(
        // SAFETY: d3d12.h pairs them.
        unsafe impl FeatureData for $data {
            const FEATURE: D3D12_FEATURE = $feature;
        }
    )*};
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
    D3D12_FEATURE_DATA_D3D12_OPTIONS20 => D3D12_FEATURE_D3D12_OPTIONS20,
    D3D12_FEATURE_DATA_TIGHT_ALIGNMENT => D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT,
}

/// The size of a structure as D3D12 takes it.
pub(crate) fn size_of_u32<T>() -> u32 {
    u32::try_from(size_of::<T>()).expect("D3D12's structures are small")
}

/// `CheckFeatureSupport` with all inputs zero.
pub(crate) fn feature<T: FeatureData>(device: &ID3D12Device) -> Result<T> {
    feature_of(device, T::default())
}

/// `CheckFeatureSupport` of a structure that has inputs.
pub(crate) fn feature_of<T: FeatureData>(device: &ID3D12Device, mut data: T) -> Result<T> {
    let size = size_of_u32::<T>();
    // SAFETY: data is the feature's structure and has that size.
    done(unsafe { device.CheckFeatureSupport(T::FEATURE, (&raw mut data).cast(), size) })?;
    Ok(data)
}

/// `CheckFeatureSupport` with a size of one's choice, at most 256 bytes, and zeroed data.
pub(crate) fn feature_of_size(device: &ID3D12Device, feature: D3D12_FEATURE, size: u32) -> HRESULT {
    let mut data = [0_u64; 32];
    assert!(size <= 256, "the data has 256 bytes");
    // SAFETY: data has at least size bytes, and zero is valid for every structure.
    unsafe { device.CheckFeatureSupport(feature, data.as_mut_ptr().cast(), size) }
}

/// `CheckFeatureSupport` without data.
pub(crate) fn feature_of_null(device: &ID3D12Device, feature: D3D12_FEATURE, size: u32) -> HRESULT {
    // SAFETY: a null pointer is what is tested; D3D12 answers E_INVALIDARG.
    unsafe { device.CheckFeatureSupport(feature, null_mut(), size) }
}

/// The highest of these feature levels that the device has.
pub(crate) fn feature_level(
    device: &ID3D12Device,
    levels: &[D3D_FEATURE_LEVEL],
) -> Result<D3D_FEATURE_LEVEL> {
    let mut data = D3D12_FEATURE_DATA_FEATURE_LEVELS {
        NumFeatureLevels: u32::try_from(levels.len()).expect("few"),
        pFeatureLevelsRequested: levels.as_ptr(),
        MaxSupportedFeatureLevel: 0,
    };
    let size = size_of_u32::<D3D12_FEATURE_DATA_FEATURE_LEVELS>();
    // SAFETY: data is the feature's structure, and its pointer and count are a slice's.
    done(unsafe { device.CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, (&raw mut data).cast(), size) })?;
    Ok(data.MaxSupportedFeatureLevel)
}

/// `GetNodeCount`.
pub(crate) fn node_count(device: &ID3D12Device) -> u32 {
    // SAFETY: the device is live.
    unsafe { device.GetNodeCount() }
}

/// `GetAdapterLuid`.
pub(crate) fn adapter_luid(device: &ID3D12Device) -> LUID {
    // SAFETY: the device is live.
    unsafe { device.GetAdapterLuid() }
}

/// `GetDeviceRemovedReason`.
pub(crate) fn removed_reason(device: &ID3D12Device) -> HRESULT {
    // SAFETY: the device is live.
    unsafe { device.GetDeviceRemovedReason() }
}

/// `GetCustomHeapProperties`.
pub(crate) fn custom_heap_properties(
    device: &ID3D12Device,
    node_mask: u32,
    heap_type: D3D12_HEAP_TYPE,
) -> D3D12_HEAP_PROPERTIES {
    // SAFETY: the device is live.
    unsafe { device.GetCustomHeapProperties(node_mask, heap_type) }
}

/// `GetDescriptorHandleIncrementSize`.
pub(crate) fn descriptor_increment(device: &ID3D12Device, heap_type: D3D12_DESCRIPTOR_HEAP_TYPE) -> u32 {
    // SAFETY: the device is live.
    unsafe { device.GetDescriptorHandleIncrementSize(heap_type) }
}

/// `CreateHeap`.
pub(crate) fn create_heap(device: &ID3D12Device, desc: &D3D12_HEAP_DESC) -> Result<ID3D12Heap> {
    let mut heap = None;
    // SAFETY: desc is a valid structure, heap takes one interface.
    created(unsafe { device.CreateHeap(desc, &mut heap) }, heap)
}

/// `CreateHeap1` without a session.
pub(crate) fn create_heap1(device: &ID3D12Device4, desc: &D3D12_HEAP_DESC) -> Result<ID3D12Heap1> {
    let mut heap = None;
    // SAFETY: as in create_heap.
    created(unsafe { device.CreateHeap1(desc, None, &mut heap) }, heap)
}

/// `CreateHeap` that only checks; the HRESULT as it came.
pub(crate) fn check_heap(device: &ID3D12Device, desc: Option<&D3D12_HEAP_DESC>) -> HRESULT {
    let desc = desc.map_or(null(), std::ptr::from_ref);
    // SAFETY: desc is null, which D3D12 refuses, or a valid structure; without a result pointer nothing is made.
    unsafe { (device.vtable().CreateHeap)(device.as_raw(), desc, &ID3D12Heap::IID, null_mut()) }
}

/// Where a resource goes.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// Into a heap, at an offset.
    Placed(&'a ID3D12Heap, u64),
    /// Into a heap of its own.
    Committed(&'a D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS),
    /// Nowhere: its tiles are mapped later.
    Reserved,
}

/// The first generation's call that creates a resource in `home`.
pub(crate) fn create_resource(
    device: &ID3D12Device,
    home: Home<'_>,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
    clear: Option<&D3D12_CLEAR_VALUE>,
) -> Result<ID3D12Resource> {
    let clear = clear.map(std::ptr::from_ref);
    let mut resource = None;
    // SAFETY: every pointer is to a valid structure, resource takes one interface.
    let result = unsafe {
        match home {
            Home::Placed(heap, offset) => {
                device.CreatePlacedResource(heap, offset, desc, state, clear, &mut resource)
            }
            Home::Committed(properties, flags) => {
                device.CreateCommittedResource(properties, flags, desc, state, clear, &mut resource)
            }
            Home::Reserved => device.CreateReservedResource(desc, state, clear, &mut resource),
        }
    };
    created(result, resource)
}

/// `CreateCommittedResource2`, `CreatePlacedResource1` or `CreateReservedResource1`: states and the newer description.
pub(crate) fn create_resource_by_state(
    device: &ID3D12Device8,
    home: Home<'_>,
    desc: &D3D12_RESOURCE_DESC1,
    state: D3D12_RESOURCE_STATES,
) -> Result<ID3D12Resource> {
    let mut resource = None;
    // SAFETY: as in create_resource.
    let result = unsafe {
        match home {
            Home::Placed(heap, offset) => {
                device.CreatePlacedResource1(heap, offset, desc, state, None, &mut resource)
            }
            Home::Committed(properties, flags) => {
                device.CreateCommittedResource2(properties, flags, desc, state, None, None, &mut resource)
            }
            Home::Reserved => {
                device.CreateReservedResource1(&downgrade(desc), state, None, None, &mut resource)
            }
        }
    };
    created(result, resource)
}

/// `CreateCommittedResource3`, `CreatePlacedResource2` or `CreateReservedResource2`: layouts and castable formats.
pub(crate) fn create_resource_by_layout(
    device: &ID3D12Device10,
    home: Home<'_>,
    desc: &D3D12_RESOURCE_DESC1,
    layout: D3D12_BARRIER_LAYOUT,
    castable: &[DXGI_FORMAT],
) -> Result<ID3D12Resource> {
    let count = u32::try_from(castable.len()).expect("few");
    let formats = if castable.is_empty() { null() } else { castable.as_ptr() };
    let mut resource = None;
    // SAFETY: as in create_resource; the formats are a slice's pointer and length.
    let result = unsafe {
        match home {
            Home::Placed(heap, offset) => {
                device.CreatePlacedResource2(heap, offset, desc, layout, None, count, formats, &mut resource)
            }
            Home::Committed(properties, flags) => device.CreateCommittedResource3(
                properties,
                flags,
                desc,
                layout,
                None,
                None,
                count,
                formats,
                &mut resource,
            ),
            Home::Reserved => device.CreateReservedResource2(
                &downgrade(desc),
                layout,
                None,
                None,
                count,
                formats,
                &mut resource,
            ),
        }
    };
    created(result, resource)
}

/// A creation call that only checks, with pointers that may be null; the HRESULT as it came.
pub(crate) fn check_committed(
    device: &ID3D12Device,
    properties: Option<&D3D12_HEAP_PROPERTIES>,
    desc: Option<&D3D12_RESOURCE_DESC>,
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
            D3D12_RESOURCE_STATE_COMMON,
            null(),
            &ID3D12Resource::IID,
            null_mut(),
        )
    }
}

/// `CreatePlacedResource` that only checks, with a heap that may be null; the HRESULT as it came.
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

/// `CreateHeap` into an interface of one's choice: the HRESULT, and whether a pointer was written.
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

/// `GetResourceAllocationInfo`.
pub(crate) fn allocation_info(
    device: &ID3D12Device,
    visible_mask: u32,
    descs: &[D3D12_RESOURCE_DESC],
) -> D3D12_RESOURCE_ALLOCATION_INFO {
    // SAFETY: the slice is the array.
    unsafe { device.GetResourceAllocationInfo(visible_mask, descs) }
}

/// What `GetResourceAllocationInfo1` and its successors answer: the whole, and each description's part.
pub(crate) type Layout = (D3D12_RESOURCE_ALLOCATION_INFO, Vec<D3D12_RESOURCE_ALLOCATION_INFO1>);

fn parts(count: usize) -> (u32, Vec<D3D12_RESOURCE_ALLOCATION_INFO1>) {
    (u32::try_from(count).expect("few"), vec![D3D12_RESOURCE_ALLOCATION_INFO1::default(); count])
}

/// `GetResourceAllocationInfo1`.
pub(crate) fn allocation_info1(device: &ID3D12Device4, descs: &[D3D12_RESOURCE_DESC]) -> Layout {
    let (count, mut infos) = parts(descs.len());
    // SAFETY: both arrays have count elements.
    let whole =
        unsafe { device.GetResourceAllocationInfo1(0, count, descs.as_ptr(), Some(infos.as_mut_ptr())) };
    (whole, infos)
}

/// `GetResourceAllocationInfo1` without room for the parts.
pub(crate) fn allocation_info1_whole(
    device: &ID3D12Device4,
    descs: &[D3D12_RESOURCE_DESC],
) -> D3D12_RESOURCE_ALLOCATION_INFO {
    let (count, _) = parts(descs.len());
    // SAFETY: the array has count elements, and the other pointer may be null.
    unsafe { device.GetResourceAllocationInfo1(0, count, descs.as_ptr(), None) }
}

/// `GetResourceAllocationInfo2`.
pub(crate) fn allocation_info2(device: &ID3D12Device8, descs: &[D3D12_RESOURCE_DESC1]) -> Layout {
    let (count, mut infos) = parts(descs.len());
    // SAFETY: both arrays have count elements.
    let whole =
        unsafe { device.GetResourceAllocationInfo2(0, count, descs.as_ptr(), Some(infos.as_mut_ptr())) };
    (whole, infos)
}

/// `GetResourceAllocationInfo3` without castable formats.
pub(crate) fn allocation_info3(device: &ID3D12Device12, descs: &[D3D12_RESOURCE_DESC1]) -> Layout {
    let (count, mut infos) = parts(descs.len());
    // SAFETY: both arrays have count elements; null counts and formats mean that there are none.
    let whole = unsafe {
        device.GetResourceAllocationInfo3(0, count, descs.as_ptr(), null(), null(), Some(infos.as_mut_ptr()))
    };
    (whole, infos)
}

/// What `GetCopyableFootprints` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprints {
    pub(crate) layouts: Vec<D3D12_PLACED_SUBRESOURCE_FOOTPRINT>,
    pub(crate) row_counts: Vec<u32>,
    pub(crate) row_sizes: Vec<u64>,
    pub(crate) total: u64,
}

/// What the total is before the call: no device answers it.
pub(crate) const UNTOUCHED_TOTAL: u64 = 0x5555_5555_5555_5555;

/// `GetCopyableFootprints` of `count` subresources from `first`.
pub(crate) fn footprints(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
    first: u32,
    count: u32,
    base_offset: u64,
) -> Footprints {
    let len = usize::try_from(count).expect("few");
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

/// `GetCopyableFootprints` that asks for the total alone.
pub(crate) fn footprint_total(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC, count: u32) -> u64 {
    let mut total = UNTOUCHED_TOTAL;
    // SAFETY: desc is valid, and the arrays may be null.
    unsafe { device.GetCopyableFootprints(desc, 0, count, 0, None, None, None, Some(&raw mut total)) };
    total
}

/// `GetCopyableFootprints1`.
pub(crate) fn footprint_total1(device: &ID3D12Device8, desc: &D3D12_RESOURCE_DESC1, count: u32) -> u64 {
    let mut total = UNTOUCHED_TOTAL;
    // SAFETY: desc is valid, and the arrays may be null.
    unsafe { device.GetCopyableFootprints1(desc, 0, count, 0, None, None, None, Some(&raw mut total)) };
    total
}

/// What `GetResourceTiling` writes.
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
        subresources: vec![D3D12_SUBRESOURCE_TILING::default(); usize::try_from(count).expect("few")],
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

/// A description of the second generation.
pub(crate) fn upgrade(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: D3D12_MIP_REGION::default(),
    }
}

/// A description of the first generation.
pub(crate) fn downgrade(desc: &D3D12_RESOURCE_DESC1) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
    }
}
