//! What previews of the Agility SDK 1.721 add: texture layouts by GUID, and a heap flag for tools.

use std::ptr::{null, null_mut};

use heapwright_d3d12::preview::*;
use heapwright_d3d12::*;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, SdkVersion};
use windows_core::{GUID, HRESULT, Interface};

use crate::gpu::{Answer as _, create_heap, feature, heap_desc, of_type};

const ROW_MAJOR: GUID = D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_WITH_RENDER_AND_VPBLT_CAPABILITY;

fn open(profile: &str, sdk: SdkVersion) -> Instance {
    let profile = HostProfile::find(profile).expect("a profile of that name");
    Instance::open_with(profile, DeviceOptions { sdk, ..DeviceOptions::default() }).expect("a fresh instance")
}

fn preview(profile: &str) -> ID3D12GuidTextureLayoutDevice {
    open(profile, SdkVersion::PREVIEW).device.cast().expect("the interface of previews")
}

fn texture(format: DXGI_FORMAT, width: u64, height: u32) -> D3D12_RESOURCE_DESC2 {
    D3D12_RESOURCE_DESC2 {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_GUID,
        LayoutGuid: ROW_MAJOR,
        ..Default::default()
    }
}

/// A frame of full HD video: 2048 bytes a row.
fn frame() -> D3D12_RESOURCE_DESC2 {
    texture(DXGI_FORMAT_NV12, 1920, 1080)
}

/// Memory of the CPU that the GPU reaches, in which textures may be.
const CPU: D3D12_HEAP_PROPERTIES = D3D12_HEAP_PROPERTIES {
    Type: D3D12_HEAP_TYPE_CUSTOM,
    CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
    MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
    CreationNodeMask: 1,
    VisibleNodeMask: 1,
};

fn commit(
    device: &ID3D12GuidTextureLayoutDevice,
    properties: &D3D12_HEAP_PROPERTIES,
    desc: &D3D12_RESOURCE_DESC2,
) -> Result<ID3D12Resource, HRESULT> {
    let mut made = null_mut();
    let result = unsafe {
        device.CreateCommittedResource4(
            properties,
            D3D12_HEAP_FLAG_NONE,
            desc,
            D3D12_BARRIER_LAYOUT_COMMON,
            null(),
            null_mut(),
            0,
            null(),
            &ID3D12Resource::IID,
            &mut made,
        )
    };
    assert_eq!(result.is_ok(), !made.is_null());
    result.ok().map_err(|error| error.code())?;
    Ok(unsafe { ID3D12Resource::from_raw(made) })
}

fn place(
    device: &ID3D12GuidTextureLayoutDevice,
    heap: &ID3D12Heap,
    offset: u64,
    desc: &D3D12_RESOURCE_DESC2,
) -> Result<ID3D12Resource, HRESULT> {
    let mut made = null_mut();
    let (layout, iid) = (D3D12_BARRIER_LAYOUT_COMMON, &ID3D12Resource::IID);
    unsafe {
        device.CreatePlacedResource3(heap.as_raw(), offset, desc, layout, null(), 0, null(), iid, &mut made)
    }
    .ok()
    .map_err(|error| error.code())?;
    Ok(unsafe { ID3D12Resource::from_raw(made) })
}

fn size(device: &ID3D12GuidTextureLayoutDevice, desc: &D3D12_RESOURCE_DESC2) -> (u64, u64) {
    let mut info = D3D12_RESOURCE_ALLOCATION_INFO::default();
    let returned =
        unsafe { device.GetResourceAllocationInfo4(&mut info, 0, 1, desc, null(), null(), null_mut()) };
    assert!(std::ptr::eq(returned, &info), "MSVC reads the result where the method says that it is");
    (info.SizeInBytes, info.Alignment)
}

fn described(resource: &ID3D12Resource) -> D3D12_RESOURCE_DESC2 {
    let newest: ID3D12GuidTextureLayoutResource = resource.cast().expect("the interface of previews");
    let mut desc = D3D12_RESOURCE_DESC2::default();
    let returned = unsafe { newest.GetDesc2(&mut desc) };
    assert!(std::ptr::eq(returned, &desc));
    desc
}

fn infos(
    device: &ID3D12GuidTextureLayoutDevice,
    desc: &D3D12_RESOURCE_DESC2,
    first: u32,
    count: u32,
) -> Result<Vec<D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO>, HRESULT> {
    let mut found = vec![D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO::default(); 4];
    let result = unsafe { device.GetRowMajorTextureLayoutInfo(desc, first, count, found.as_mut_ptr()) };
    found.truncate(usize::try_from(count).expect("a small count"));
    if result == S_OK { Ok(found) } else { Err(result) }
}

/// A program that did not ask for a preview gets none, although the runtime knows it.
#[test]
fn a_retail_sdk_has_nothing_of_previews() {
    for sdk in ["617", "619.3", "619.5"] {
        let gpu = open("discrete", sdk.parse().expect("a version"));
        let data = D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT::default();
        assert_eq!(feature(&gpu.device, D3D12_FEATURE_GUID_TEXTURE_LAYOUT, data).0, E_INVALIDARG, "{sdk}");
        let device: ID3D12GuidTextureLayoutDevice = gpu.device.cast().expect("compiled in");
        let mut count = 7;
        assert_eq!(unsafe { device.GetTextureLayoutCount(null(), &mut count) }, E_NOTIMPL, "{sdk}");
        assert_eq!(count, 0);
        assert_eq!(unsafe { device.GetTextureLayouts(null(), 0, null_mut()) }, E_NOTIMPL, "{sdk}");
        assert_eq!(commit(&device, &of_type(D3D12_HEAP_TYPE_DEFAULT), &frame()), Err(E_INVALIDARG), "{sdk}");
        assert_eq!(size(&device, &frame()).0, u64::MAX, "{sdk}");
        assert_eq!(infos(&device, &frame(), 0, 2), Err(E_NOTIMPL), "{sdk}");
        let desc = D3D12_HEAP_DESC {
            Flags: D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING,
            ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 65536)
        };
        assert_eq!(create_heap(&gpu.device, &desc), Err(E_INVALIDARG), "{sdk}");
        // What is not of previews is as it was.
        let old = D3D12_RESOURCE_DESC2 {
            Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
            LayoutGuid: GUID::zeroed(),
            ..frame()
        };
        commit(&device, &of_type(D3D12_HEAP_TYPE_DEFAULT), &old)
            .expect("CreateCommittedResource3 with another name");
    }
}

#[test]
fn the_feature_depends_on_driver_and_description() {
    let ask = |profile: &str, desc: *const D3D12_RESOURCE_DESC2| {
        let gpu = open(profile, SdkVersion::PREVIEW);
        let data = D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT {
            pDesc: desc,
            Support1: D3D12_FORMAT_SUPPORT1_DISPLAY,
            ..Default::default()
        };
        let (result, data) = feature(&gpu.device, D3D12_FEATURE_GUID_TEXTURE_LAYOUT, data);
        assert_eq!(result, S_OK, "{profile}");
        (data.GuidTextureLayoutTier, data.GuidSupported.as_bool(), data.Support1)
    };
    assert_eq!(ask("discrete", null()), (1, false, D3D12_FORMAT_SUPPORT1_DISPLAY), "support is left alone");
    assert_eq!(ask("old-ddi", &frame()), (0, false, D3D12_FORMAT_SUPPORT1_NONE));
    assert_eq!(ask("compute-only", &frame()), (0, false, D3D12_FORMAT_SUPPORT1_NONE));
    let (tier, supported, support) = ask("discrete", &frame());
    assert_eq!((tier, supported), (1, true));
    assert_ne!(support & D3D12_FORMAT_SUPPORT1_TEXTURE2D, 0, "what the document promises");
    assert_eq!(support & D3D12_FORMAT_SUPPORT1_VIDEO_PROCESSOR_OUTPUT, 0, "nothing processes video");
    let color = texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64);
    let (_, supported, support) = ask("discrete", &color);
    assert!(supported);
    assert_ne!(support & D3D12_FORMAT_SUPPORT1_RENDER_TARGET, 0);
    assert_eq!(support & D3D12_FORMAT_SUPPORT1_MIP, 0, "there is one level");
    let unknown = D3D12_RESOURCE_DESC2 { LayoutGuid: GUID::from_u128(1), ..color };
    assert_eq!(ask("discrete", &unknown), (1, false, D3D12_FORMAT_SUPPORT1_NONE));
    let other = D3D12_RESOURCE_DESC2 { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..color };
    assert_eq!(ask("discrete", &other), (1, false, D3D12_FORMAT_SUPPORT1_NONE));
}

#[test]
fn filters_select_layouts() {
    let device = preview("discrete");
    let count = |filter: *const D3D12_TEXTURE_LAYOUT_FILTER| {
        let mut count = 7;
        let result = unsafe { device.GetTextureLayoutCount(filter, &mut count) };
        (result, count)
    };
    assert_eq!(count(null()), (S_OK, 1));
    let nameless =
        D3D12_RESOURCE_DESC2 { LayoutGuid: GUID::zeroed(), ..texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64) };
    let filter = D3D12_TEXTURE_LAYOUT_FILTER { Desc: nameless, ..Default::default() };
    assert_eq!(count(&filter), (S_OK, 1));
    let rendered = D3D12_TEXTURE_LAYOUT_FILTER { Support1: D3D12_FORMAT_SUPPORT1_RENDER_TARGET, ..filter };
    assert_eq!(count(&rendered), (S_OK, 1));
    let decoded = D3D12_TEXTURE_LAYOUT_FILTER { Support1: D3D12_FORMAT_SUPPORT1_DECODER_OUTPUT, ..filter };
    assert_eq!(count(&decoded), (S_OK, 0));
    let tiled = D3D12_TEXTURE_LAYOUT_FILTER { Support2: D3D12_FORMAT_SUPPORT2_TILED, ..filter };
    assert_eq!(count(&tiled), (S_OK, 0));
    let mips =
        D3D12_TEXTURE_LAYOUT_FILTER { Desc: D3D12_RESOURCE_DESC2 { MipLevels: 2, ..nameless }, ..filter };
    assert_eq!(count(&mips), (S_OK, 0));
    let opaque = D3D12_RESOURCE_DESC2 { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..nameless };
    assert_eq!(count(&D3D12_TEXTURE_LAYOUT_FILTER { Desc: opaque, ..filter }), (S_OK, 0));
    assert_eq!(count(&D3D12_TEXTURE_LAYOUT_FILTER { Flags: 1, ..filter }), (E_INVALIDARG, 0));
    assert_eq!(unsafe { device.GetTextureLayoutCount(null(), null_mut()) }, E_INVALIDARG);

    let mut found = [GUID::from_u128(1); 2];
    let list = |count, guids| unsafe { device.GetTextureLayouts(&filter, count, guids) };
    assert_eq!(list(0, null_mut()), S_OK);
    assert_eq!(list(1, null_mut()), E_INVALIDARG);
    assert_eq!(list(1, found.as_mut_ptr()), S_OK);
    assert_eq!(found, [ROW_MAJOR, GUID::from_u128(1)]);
    assert_eq!(list(2, found.as_mut_ptr()), E_INVALIDARG);
    assert_eq!(list(u32::MAX, found.as_mut_ptr()), E_INVALIDARG);
}

/// What layout GUIDs are for: the CPU reads both planes of video as one piece of memory.
#[test]
fn planes_follow_each_other_in_mapped_memory() {
    let device = preview("uma");
    let frame = frame();
    let found = infos(&device, &frame, 0, 2).expect("two planes");
    let luma = 2048 * 1080;
    let info = |offset, height| D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO {
        Offset: offset,
        RowPitch: 2048,
        HeightInRows: height,
        SizeInBytes: 2048 * u64::from(height),
    };
    assert_eq!(found, [info(0, 1080), info(luma, 540)]);
    assert_eq!(infos(&device, &frame, 1, 1), Ok(vec![info(luma, 540)]));

    let resource = commit(&device, &CPU, &frame).expect("memory of the CPU");
    let map = |subresource| {
        let mut start = null_mut();
        unsafe { resource.Map(subresource, None, &mut start) }.succeeds();
        start.cast::<u8>()
    };
    let (y, uv) = (map(0), map(1));
    let luma = usize::try_from(luma).expect("in memory");
    assert_eq!(uv.addr() - y.addr(), luma, "one plane after the other");
    // The texel at (1, 1) of each plane, through the mapping and through ReadFromSubresource.
    let texel = D3D12_BOX { left: 1, top: 1, front: 0, right: 2, bottom: 2, back: 1 };
    let mut read = [0_u8; 3];
    unsafe {
        y.add(2048 + 1).write(10);
        uv.add(2048 + 2).write(20);
        uv.add(2048 + 3).write(30);
        resource.ReadFromSubresource(read.as_mut_ptr().cast(), 256, 0, 0, Some(&texel)).succeeds();
        resource.ReadFromSubresource(read[1..].as_mut_ptr().cast(), 256, 0, 1, Some(&texel)).succeeds();
    }
    assert_eq!(read, [10, 20, 30]);
}

#[test]
fn descriptions_have_their_guid_again() {
    let device = preview("discrete");
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    let resource = commit(&device, &properties, &frame()).expect("a committed texture");
    assert_eq!(described(&resource), D3D12_RESOURCE_DESC2 { Alignment: 65536, ..frame() });
    assert_eq!(unsafe { resource.GetDesc() }.Layout, D3D12_TEXTURE_LAYOUT_GUID);
    commit(&device, &properties, &described(&resource)).expect("a description again");

    // Without the layout, the GUID is ignored and not remembered; the log has a warning.
    let opaque = D3D12_RESOURCE_DESC2 { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..frame() };
    let resource = commit(&device, &properties, &opaque).expect("CreateCommittedResource3 with another name");
    assert_eq!(described(&resource).LayoutGuid, D3D12_GUID_TEXTURE_LAYOUT_NULL);
}

#[test]
fn resources_are_placed_at_64_kib() {
    let gpu = open("discrete", SdkVersion::PREVIEW);
    let device: ID3D12GuidTextureLayoutDevice = gpu.device.cast().expect("the interface of previews");
    let bytes = (2048_u64 * (1080 + 540)).next_multiple_of(65536);
    assert_eq!(size(&device, &frame()), (bytes, 65536));
    // Small, and of 64 KiB in this layout nevertheless.
    let small = texture(DXGI_FORMAT_R8G8B8A8_UNORM, 16, 16);
    assert_eq!(size(&device, &small), (65536, 65536));
    assert_eq!(size(&device, &D3D12_RESOURCE_DESC2 { Alignment: 4096, ..small }).0, u64::MAX);

    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES;
    let desc = D3D12_HEAP_DESC { Flags: flags, ..heap_desc(D3D12_HEAP_TYPE_DEFAULT, 2 * bytes) };
    let heap = create_heap(&gpu.device, &desc).expect("a heap");
    place(&device, &heap, bytes, &frame()).expect("in the second half");
    assert_eq!(place(&device, &heap, 4096, &small), Err(E_INVALIDARG), "not aligned");
    assert_eq!(place(&device, &heap, 2 * bytes, &small), Err(E_INVALIDARG), "past the end");
}

#[test]
fn what_a_row_major_layout_excludes_is_refused() {
    let device = preview("discrete");
    let color = texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 64);
    commit(&device, &of_type(D3D12_HEAP_TYPE_DEFAULT), &color).expect("the layout itself");
    let refused: [(&str, D3D12_RESOURCE_DESC2); 14] = [
        ("no GUID", D3D12_RESOURCE_DESC2 { LayoutGuid: GUID::zeroed(), ..color }),
        ("a foreign GUID", D3D12_RESOURCE_DESC2 { LayoutGuid: GUID::from_u128(1), ..color }),
        (
            "TEXTURE1D",
            D3D12_RESOURCE_DESC2 { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, Height: 1, ..color },
        ),
        ("TEXTURE3D", D3D12_RESOURCE_DESC2 { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..color }),
        ("mips", D3D12_RESOURCE_DESC2 { MipLevels: 0, ..color }),
        ("slices", D3D12_RESOURCE_DESC2 { DepthOrArraySize: 2, ..color }),
        (
            "samples",
            D3D12_RESOURCE_DESC2 {
                SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
                Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
                ..color
            },
        ),
        (
            "depth",
            D3D12_RESOURCE_DESC2 {
                Format: DXGI_FORMAT_D32_FLOAT,
                Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
                ..color
            },
        ),
        ("blocks", D3D12_RESOURCE_DESC2 { Format: DXGI_FORMAT_BC1_UNORM, ..color }),
        ("tight", D3D12_RESOURCE_DESC2 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..color }),
        ("cross-adapter", D3D12_RESOURCE_DESC2 { Flags: D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER, ..color }),
        ("rows", texture(DXGI_FORMAT_R8G8B8A8_UNORM, 64, 63)),
        // 1084 rows are a multiple of 4; the 542 of the second plane are not.
        ("rows of a plane", texture(DXGI_FORMAT_NV12, 1920, 1084)),
        // 256 bytes a row, 8 rows: half of 4 KiB.
        ("bytes of a plane", texture(DXGI_FORMAT_NV12, 64, 8)),
    ];
    for (what, desc) in refused {
        assert_eq!(commit(&device, &of_type(D3D12_HEAP_TYPE_DEFAULT), &desc), Err(E_INVALIDARG), "{what}");
        if what != "cross-adapter" {
            assert_eq!(size(&device, &desc).0, u64::MAX, "{what}");
            assert_eq!(infos(&device, &desc, 0, 1), Err(E_INVALIDARG), "{what}");
        }
    }
    let buffer = D3D12_RESOURCE_DESC2 {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Height: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        ..color
    };
    assert_eq!(commit(&device, &of_type(D3D12_HEAP_TYPE_DEFAULT), &buffer), Err(E_INVALIDARG));
}

#[test]
fn null_pointers_and_ranges_are_refused() {
    let device = preview("discrete");
    assert_eq!(infos(&device, &frame(), 0, 3), Err(E_INVALIDARG));
    assert_eq!(infos(&device, &frame(), u32::MAX, 2), Err(E_INVALIDARG));
    assert_eq!(infos(&device, &frame(), 2, 0), Ok(vec![]));
    unsafe {
        assert_eq!(device.GetRowMajorTextureLayoutInfo(null(), 0, 1, null_mut()), E_INVALIDARG);
        assert_eq!(device.GetRowMajorTextureLayoutInfo(&frame(), 0, 2, null_mut()), S_OK);
        let (layout, iid) = (D3D12_BARRIER_LAYOUT_COMMON, &ID3D12Resource::IID);
        let mut made = null_mut();
        let no_heap =
            device.CreatePlacedResource3(null_mut(), 0, &frame(), layout, null(), 0, null(), iid, &mut made);
        assert_eq!((no_heap, made.is_null()), (E_INVALIDARG, true));
        let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
        let none = D3D12_HEAP_FLAG_NONE;
        let commit = |properties, desc, formats, out| {
            device.CreateCommittedResource4(
                properties,
                none,
                desc,
                layout,
                null(),
                null_mut(),
                formats,
                null(),
                iid,
                out,
            )
        };
        assert_eq!(commit(&properties, null(), 0, &mut made), E_INVALIDARG);
        assert_eq!(commit(null(), &frame(), 0, &mut made), E_INVALIDARG);
        assert_eq!(commit(&properties, &frame(), 1, &mut made), E_INVALIDARG, "one castable format at null");
        assert_eq!(commit(&properties, &frame(), 0, null_mut()), S_FALSE, "a check alone");
        assert!(made.is_null());
        let mut total = 7;
        device.GetCopyableFootprints2(null(), 0, 1, 0, null_mut(), null_mut(), null_mut(), &mut total);
        assert_eq!(total, u64::MAX);
        assert!(
            device.GetResourceAllocationInfo4(null_mut(), 0, 0, null(), null(), null(), null_mut()).is_null()
        );
    }
}

/// A copy does not depend on the layout: neither do footprints.
#[test]
fn footprints_are_those_of_other_layouts() {
    let device = preview("discrete");
    let ask = |desc: &D3D12_RESOURCE_DESC2| {
        let (mut placed, mut total) = ([D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(); 2], 0);
        unsafe {
            let layouts = placed.as_mut_ptr();
            device.GetCopyableFootprints2(desc, 0, 2, 0, layouts, null_mut(), null_mut(), &mut total);
        }
        (placed, total)
    };
    let opaque =
        D3D12_RESOURCE_DESC2 { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, LayoutGuid: GUID::zeroed(), ..frame() };
    assert_eq!(ask(&frame()), ask(&opaque));
    assert_ne!(ask(&frame()).1, u64::MAX);
}
