//! Textures of video formats as memory: sizes, planes, copies and clears of planes.

use heapwright_d3d12::*;

use super::textures::{create, download, upload_to};
use crate::gpu::*;

/// The formats, and the bytes of 64 by 32 texels of each.
const FORMATS: [(DXGI_FORMAT, u64); 19] = [
    (DXGI_FORMAT_NV12, 3072),
    (DXGI_FORMAT_420_OPAQUE, 3072),
    (DXGI_FORMAT_NV11, 3072),
    (DXGI_FORMAT_P010, 6144),
    (DXGI_FORMAT_P016, 6144),
    (DXGI_FORMAT_P208, 4096),
    (DXGI_FORMAT_V208, 4096),
    (DXGI_FORMAT_V408, 6144),
    (DXGI_FORMAT_YUY2, 4096),
    (DXGI_FORMAT_Y210, 8192),
    (DXGI_FORMAT_Y216, 8192),
    (DXGI_FORMAT_AYUV, 8192),
    (DXGI_FORMAT_Y410, 8192),
    (DXGI_FORMAT_Y416, 16_384),
    (DXGI_FORMAT_AI44, 2048),
    (DXGI_FORMAT_IA44, 2048),
    (DXGI_FORMAT_P8, 2048),
    (DXGI_FORMAT_A8P8, 4096),
    (DXGI_FORMAT_R8_UNORM, 2048),
];

/// The footprint of a subresource: its format, size, row pitch, number of rows and bytes of a row.
struct Plane {
    format: DXGI_FORMAT,
    size: [u32; 3],
    pitch: u32,
    rows: usize,
    row: usize,
}

fn planes(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> Vec<Plane> {
    let data = D3D12_FEATURE_DATA_FORMAT_INFO { Format: desc.Format, PlaneCount: 0 };
    let (result, data) = feature(device, D3D12_FEATURE_FORMAT_INFO, data);
    assert_eq!(result, S_OK);
    let plane = |index| {
        let (mut placed, mut rows, mut row) = (D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(), 0, 0);
        unsafe {
            let out = (Some(&raw mut placed), Some(&raw mut rows), Some(&raw mut row));
            device.GetCopyableFootprints(desc, index, 1, 0, out.0, out.1, out.2, None);
        }
        let D3D12_SUBRESOURCE_FOOTPRINT { Format, Width, Height, Depth, RowPitch } = placed.Footprint;
        let (rows, row) = (usize::try_from(rows).expect("few"), usize::try_from(row).expect("few"));
        Plane { format: Format, size: [Width, Height, Depth], pitch: RowPitch, rows, row }
    };
    (0..u32::from(data.PlaneCount)).map(plane).collect()
}

/// The bytes that each plane has: different for each plane, row and column.
fn pattern(plane: usize, row: usize, byte: usize) -> u8 {
    u8::try_from((plane * 101 + row * 7 + byte) % 251).expect("below 256")
}

fn views(device: &ID3D12Device14) -> ID3D12DescriptorHeap {
    let flags = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
    descriptor_heap(device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, flags).expect("a heap")
}

#[test]
fn planes_are_uploaded_copied_and_downloaded() {
    let (device, queue) = open_direct();
    for (format, texels) in FORMATS {
        let desc = texture_desc(format, [64, 32]);
        let planes = planes(&device, &desc);
        assert_eq!(
            planes.iter().map(|plane| (plane.rows * plane.row) as u64).sum::<u64>(),
            texels,
            "{format}"
        );
        let info = unsafe { device.GetResourceAllocationInfo(0, &[desc]) };
        assert_eq!((info.SizeInBytes, info.Alignment), (65_536, 65_536), "{format}");
        let [first, second] = [(); 2].map(|()| create(&device, &desc));
        let (upload, readback) = (D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK);
        let stages: Vec<_> = (planes.iter().enumerate())
            .map(|(index, plane)| {
                let len = u64::from(plane.pitch) * u64::from(plane.size[1]);
                let [source, target] = [upload, readback].map(|home| commit(&device, home, len));
                for row in 0..plane.rows {
                    let start = row * plane.pitch as usize;
                    let bytes = &mut bytes(&source)[start..start + plane.row];
                    bytes.iter_mut().enumerate().for_each(|(byte, place)| *place = pattern(index, row, byte));
                }
                (source, target)
            })
            .collect();
        for ((index, plane), (source, _)) in (0..).zip(&planes).zip(&stages) {
            upload_to(&queue.list, (&first, index), source, plane.format, plane.size, plane.pitch);
        }
        unsafe { queue.list.CopyResource(&second, &first) };
        for ((index, plane), (_, target)) in (0..).zip(&planes).zip(&stages) {
            download(&queue.list, (&second, index), (target, 0), plane.format, plane.size, plane.pitch);
        }
        queue.run();
        for ((index, plane), (_, target)) in planes.iter().enumerate().zip(&stages) {
            for row in 0..plane.rows {
                let start = row * plane.pitch as usize;
                let found = &bytes(target)[start..start + plane.row];
                let is_same =
                    found.iter().enumerate().all(|(byte, found)| *found == pattern(index, row, byte));
                assert!(is_same, "{format}: plane {index}, row {row}: {found:?}");
            }
        }
    }
}

#[test]
fn a_large_texture_takes_the_bytes_of_its_planes() {
    let device = open();
    let size = |format| {
        let desc = texture_desc(format, [1024, 1024]);
        unsafe { device.GetResourceAllocationInfo(0, &[desc]) }.SizeInBytes
    };
    for (format, texels) in FORMATS {
        assert_eq!(size(format), texels * 512, "{format}: 512 times 64 by 32 texels");
    }
}

#[test]
fn sizes_are_whole_blocks_of_each_plane() {
    let device = open();
    let is_valid = |desc: &D3D12_RESOURCE_DESC| {
        unsafe { device.GetResourceAllocationInfo(0, std::slice::from_ref(desc)) }.SizeInBytes != u64::MAX
    };
    for (format, width, height) in [
        (DXGI_FORMAT_NV12, 2, 2),
        (DXGI_FORMAT_P010, 2, 2),
        (DXGI_FORMAT_420_OPAQUE, 2, 2),
        (DXGI_FORMAT_NV11, 4, 1),
        (DXGI_FORMAT_P208, 2, 1),
        (DXGI_FORMAT_V208, 1, 2),
        (DXGI_FORMAT_V408, 1, 1),
        (DXGI_FORMAT_YUY2, 2, 1),
        (DXGI_FORMAT_AYUV, 1, 1),
    ] {
        for (x, y) in [(12, 12), (13, 12), (14, 12), (12, 13), (12, 14)] {
            let expected = x % width == 0 && y % height == 0;
            assert_eq!(is_valid(&texture_desc(format, [x, y])), expected, "{format}: {x} by {y}");
        }
        let desc = texture_desc(format, [64, 64]);
        let array = D3D12_RESOURCE_DESC { DepthOrArraySize: 8, ..desc };
        assert!(is_valid(&array), "{format}: decoders use arrays");
        for (what, wrong) in [
            ("mip levels", D3D12_RESOURCE_DESC { MipLevels: 2, ..desc }),
            (
                "samples",
                D3D12_RESOURCE_DESC { SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 }, ..desc },
            ),
            ("volume", D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..array }),
            ("tiles", D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..desc }),
            ("depth", D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, ..desc }),
        ] {
            assert!(!is_valid(&wrong), "{format}: {what}");
        }
    }
}

/// The reference of `DXGI_FORMAT`: a view of NV12 shows luminance as R8 and chrominance as R8G8.
#[test]
fn views_show_planes_and_clears_fill_them() {
    let (device, queue) = open_direct();
    let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let texture =
        create(&device, &D3D12_RESOURCE_DESC { Flags: flags, ..texture_desc(DXGI_FORMAT_NV12, [64, 32]) });
    let heap = views(&device);
    let handle = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };
    let view = |format, plane| D3D12_RENDER_TARGET_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2D,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
            Texture2D: D3D12_TEX2D_RTV { MipSlice: 0, PlaneSlice: plane },
        },
    };
    let target = commit(&device, D3D12_HEAP_TYPE_READBACK, 512 * 32);
    let clear = |format, plane| {
        unsafe { device.CreateRenderTargetView(&texture, Some(&view(format, plane)), handle) };
        let list = &queue.list;
        unsafe { list.ClearRenderTargetView(handle, &[1.0, 0.0, 0.0, 0.0], &[]) };
        let (copied, size) = match plane {
            0 => (DXGI_FORMAT_R8_TYPELESS, [64, 32, 1]),
            _ => (DXGI_FORMAT_R8G8_TYPELESS, [32, 16, 1]),
        };
        download(list, (&texture, plane), (&target, 0), copied, size, 512);
        queue.run();
    };
    clear(DXGI_FORMAT_R8_UNORM, 0);
    assert!((0..32).all(|row| bytes(&target)[row * 512..][..64] == [255; 64]));
    clear(DXGI_FORMAT_R8G8_UNORM, 1);
    assert!((0..16).all(|row| bytes(&target)[row * 512..][..64].chunks(2).all(|texel| texel == [255, 0])));
    for (format, plane) in [
        (DXGI_FORMAT_R8G8_UNORM, 0),
        (DXGI_FORMAT_R8_UNORM, 1),
        (DXGI_FORMAT_R8G8B8A8_UNORM, 0),
        (DXGI_FORMAT_NV12, 0),
        (DXGI_FORMAT_UNKNOWN, 0),
        (DXGI_FORMAT_R8_UNORM, 2),
    ] {
        let (device, _) = open_direct();
        let heap = views(&device);
        let handle = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };
        let desc = D3D12_RESOURCE_DESC { Flags: flags, ..texture_desc(DXGI_FORMAT_NV12, [64, 32]) };
        let texture = create(&device, &desc);
        unsafe { device.CreateRenderTargetView(&texture, Some(&view(format, plane)), handle) };
        assert_ne!(messages(&device), [], "{format} of plane {plane}");
    }
}
