//! Textures: copies of regions and of whole resources, and clears.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use crate::gpu::*;

pub(crate) fn create(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
    committed(device, of_type(D3D12_HEAP_TYPE_DEFAULT), flags, desc, state).expect("a texture")
}

pub(crate) fn create_castable(
    device: &ID3D12Device14,
    desc: &D3D12_RESOURCE_DESC,
    castable: &[DXGI_FORMAT],
) -> ID3D12Resource {
    create_castable_in(device, D3D12_HEAP_FLAG_NONE, desc, castable)
}

pub(crate) fn create_castable_in(
    device: &ID3D12Device14,
    flags: D3D12_HEAP_FLAGS,
    desc: &D3D12_RESOURCE_DESC,
    castable: &[DXGI_FORMAT],
) -> ID3D12Resource {
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    let (mut texture, layout) = (None, D3D12_BARRIER_LAYOUT_COMMON);
    let (count, list) = (u32::try_from(castable.len()).expect("few"), castable.as_ptr());
    let (desc, made) = (newer_desc(desc), &mut texture);
    unsafe {
        device.CreateCommittedResource3(&properties, flags, &desc, layout, None, None, count, list, made)
    }
    .expect("a texture");
    texture.expect("S_OK comes with a resource")
}

pub(crate) fn borrow(resource: &ID3D12Resource) -> ManuallyDrop<Option<ID3D12Resource>> {
    ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

pub(crate) fn subresource(texture: &ID3D12Resource, index: u32) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(texture),
        Type: D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 { SubresourceIndex: index },
    }
}

pub(crate) fn footprint(
    buffer: &ID3D12Resource,
    offset: u64,
    format: DXGI_FORMAT,
    [width, height, depth]: [u32; 3],
    pitch: u32,
) -> D3D12_TEXTURE_COPY_LOCATION {
    D3D12_TEXTURE_COPY_LOCATION {
        pResource: borrow(buffer),
        Type: D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT,
        Anonymous: D3D12_TEXTURE_COPY_LOCATION_0 {
            PlacedFootprint: D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
                Offset: offset,
                Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
                    Format: format,
                    Width: width,
                    Height: height,
                    Depth: depth,
                    RowPitch: pitch,
                },
            },
        },
    }
}

/// Copies a subresource to a buffer, of which it becomes `size` texels of `format` with this row pitch.
pub(crate) fn download(
    list: &ID3D12GraphicsCommandList7,
    (texture, index): (&ID3D12Resource, u32),
    (buffer, offset): (&ID3D12Resource, u64),
    format: DXGI_FORMAT,
    size: [u32; 3],
    pitch: u32,
) {
    let to = footprint(buffer, offset, format, size, pitch);
    unsafe { list.CopyTextureRegion(&to, 0, 0, 0, &subresource(texture, index), None) };
}

/// Copies `size` texels of `format` from the beginning of a buffer to a subresource.
pub(crate) fn upload_to(
    list: &ID3D12GraphicsCommandList7,
    (texture, index): (&ID3D12Resource, u32),
    buffer: &ID3D12Resource,
    format: DXGI_FORMAT,
    size: [u32; 3],
    pitch: u32,
) {
    let from = footprint(buffer, 0, format, size, pitch);
    unsafe { list.CopyTextureRegion(&subresource(texture, index), 0, 0, 0, &from, None) };
}

pub(crate) fn region(start: [u32; 3], end: [u32; 3]) -> D3D12_BOX {
    let ([left, top, front], [right, bottom, back]) = (start, end);
    D3D12_BOX { left, top, front, right, bottom, back }
}

#[test]
fn regions_that_do_not_fit_fail_the_list() {
    let (device, queue) = open_direct();
    let format = DXGI_FORMAT_R8G8B8A8_UNORM;
    let texture = create(&device, &texture_desc(format, [16, 16]));
    let other = create(&device, &texture_desc(DXGI_FORMAT_R16_FLOAT, [16, 16]));
    let blocks = create(&device, &texture_desc(DXGI_FORMAT_BC3_UNORM, [16, 16]));
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 8192);
    let copy = |to: &D3D12_TEXTURE_COPY_LOCATION,
                at: [u32; 3],
                from: &D3D12_TEXTURE_COPY_LOCATION,
                part: Option<D3D12_BOX>|
     -> HRESULT {
        let part = part.as_ref().map(std::ptr::from_ref);
        queue.close_after(|list| unsafe { list.CopyTextureRegion(to, at[0], at[1], at[2], from, part) })
    };
    let to = subresource(&texture, 0);
    let sound = footprint(&upload, 0, format, [16, 16, 1], 256);
    let origin = [0; 3];
    assert_eq!(copy(&to, origin, &sound, None), S_OK);
    let rule =
        |at, from: &D3D12_TEXTURE_COPY_LOCATION, part| broken_rule(&device, || copy(&to, at, from, part));
    let beyond = D3D12_MESSAGE_ID_COPYTEXTUREREGION_DSTREGIONOUTOFBOUNDS;
    assert_eq!(rule([1, 0, 0], &sound, None), beyond);
    assert_eq!(copy(&to, [1, 0, 0], &sound, Some(region([1, 0, 0], [16, 16, 1]))), S_OK);
    assert_eq!(rule([u32::MAX, 0, 0], &sound, None), beyond);
    let wide = Some(region([0, 0, 0], [17, 16, 1]));
    assert_eq!(rule(origin, &sound, wide), D3D12_MESSAGE_ID_COPYTEXTUREREGION_SRCREGIONOUTOFBOUNDS);
    let samples = D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(format, [16, 16])
    };
    let samples = create(&device, &samples);
    let several = broken_rule(&device, || copy(&sound, origin, &subresource(&samples, 0), None));
    assert_eq!(several, D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCRESOURCE);
    assert_eq!(copy(&to, origin, &sound, Some(region([99, 4, 0], [99, 4, 1]))), S_OK, "nothing");
    assert_eq!(copy(&subresource(&texture, 1), origin, &sound, None), E_INVALIDARG);
    assert_eq!(copy(&to, origin, &subresource(&texture, 0), None), E_INVALIDARG, "the same");
    assert_eq!(copy(&to, origin, &subresource(&other, 0), None), E_INVALIDARG, "blocks of another size");
    assert_eq!(copy(&to, origin, &subresource(&upload, 0), None), E_INVALIDARG, "a buffer");
    assert_eq!(copy(&footprint(&texture, 0, format, [16, 16, 1], 256), origin, &sound, None), E_INVALIDARG);
    messages(&device);
    assert_eq!(copy(&sound, origin, &to, None), S_OK, "an UPLOAD heap");
    assert_eq!(messages(&device).len(), 1, "states are checked by the debug layer");
    let from = |offset, format, size, pitch| {
        copy(&to, origin, &footprint(&upload, offset, format, size, pitch), None)
    };
    for (offset, pitch, rule) in [
        (256, 256, D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCOFFSET),
        (512, 128, D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCROWPITCH),
        (8192 - 512, 256, D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCPLACEMENT),
    ] {
        assert_eq!(broken_rule(&device, || from(offset, format, [16, 16, 1], pitch)), rule);
    }
    assert_eq!(from(0, format, [16, 16, u32::MAX], u32::MAX - 255), E_INVALIDARG);
    assert_eq!(from(u64::MAX - 511, format, [16, 16, 1], 256), E_INVALIDARG);
    assert_eq!(from(0, format, [0, 16, 1], 256), E_INVALIDARG);
    assert_eq!(from(0, 9999, [16, 16, 1], 256), E_INVALIDARG);
    assert_eq!(from(0, DXGI_FORMAT_R8G8B8A8_TYPELESS, [16, 16, 1], 256), S_OK, "of the family");
    let block_source = footprint(&upload, 0, DXGI_FORMAT_BC3_TYPELESS, [16, 16, 1], 256);
    let to_blocks = |at, part| copy(&subresource(&blocks, 0), at, &block_source, part);
    assert_eq!(to_blocks(origin, None), S_OK);
    assert_eq!(to_blocks([2, 0, 0], Some(region([0; 3], [4, 4, 1]))), E_INVALIDARG, "not aligned to a block");
    assert_eq!(to_blocks(origin, Some(region([0; 3], [3, 4, 1]))), E_INVALIDARG);
    assert_eq!(to_blocks([12, 12, 0], Some(region([0; 3], [4, 4, 1]))), S_OK);
}

#[test]
fn copy_resource_needs_textures_of_equal_shape() {
    let (device, queue) = open_direct();
    let desc = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [16, 4]);
    let (first, upload) = (create(&device, &desc), commit(&device, D3D12_HEAP_TYPE_UPLOAD, 1024));
    let refused = |desc| {
        let texture = create(&device, &desc);
        queue.close_after(|list| unsafe { list.CopyResource(&texture, &first) })
    };
    assert_eq!(refused(D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_R16_FLOAT, ..desc }), E_INVALIDARG);
    assert_eq!(refused(D3D12_RESOURCE_DESC { Width: 17, ..desc }), E_INVALIDARG);
    assert_eq!(refused(D3D12_RESOURCE_DESC { MipLevels: 2, ..desc }), E_INVALIDARG);
    assert_eq!(refused(D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..desc }), E_INVALIDARG);
    let mixed = queue.close_after(|list| unsafe { list.CopyResource(&first, &upload) });
    assert_eq!(mixed, E_INVALIDARG);
}

#[test]
fn views_that_do_not_fit_are_refused() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        MipLevels: 2,
        DepthOrArraySize: 2,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_TYPELESS, [8, 4])
    };
    let texture = create(&device, &desc);
    let (unorm, none) = (DXGI_FORMAT_R8G8B8A8_UNORM, D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
    // A refused view leaves the descriptor as it was, so each case uses an empty one.
    let refused = |wrong: D3D12_RENDER_TARGET_VIEW_DESC| {
        let empty = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, none).expect("a heap");
        let handle = unsafe { empty.GetCPUDescriptorHandleForHeapStart() };
        unsafe { device.CreateRenderTargetView(&texture, Some(&wrong), handle) };
        queue.close_after(|list| unsafe { list.ClearRenderTargetView(handle, &[1.0; 4], &[]) })
    };
    assert_eq!(refused(slices_view(unorm, 2, 0, 1)), E_INVALIDARG);
    assert_eq!(refused(slices_view(unorm, 0, 1, 2)), E_INVALIDARG);
    assert_eq!(refused(slices_view(unorm, 0, 0, u32::MAX)), S_OK, "the rest");
    assert_eq!(refused(slices_view(DXGI_FORMAT_R16_FLOAT, 0, 0, 1)), E_INVALIDARG);
    assert_eq!(refused(slices_view(DXGI_FORMAT_UNKNOWN, 0, 0, 1)), E_INVALIDARG, "typeless");
}

#[test]
fn volumes_are_cleared_through_views_of_other_formats() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: 4,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..texture_desc(DXGI_FORMAT_R16G16_FLOAT, [4, 4])
    };
    let castable = create_castable(&device, &desc, &[DXGI_FORMAT_R8G8B8A8_UNORM]);
    let plain = create_castable(&device, &desc, &[]);
    let (views, visible) =
        (D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
    let gpu_heap = descriptor_heap(&device, views, 1, visible).expect("a heap");
    let gpu = unsafe { gpu_heap.GetGPUDescriptorHandleForHeapStart() };
    let clear = |texture: &ID3D12Resource, format, first, count| {
        let heap = descriptor_heap(&device, views, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE).expect("a heap");
        let view = D3D12_UNORDERED_ACCESS_VIEW_DESC {
            Format: format,
            ViewDimension: D3D12_UAV_DIMENSION_TEXTURE3D,
            Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
                Texture3D: D3D12_TEX3D_UAV { MipSlice: 0, FirstWSlice: first, WSize: count },
            },
        };
        unsafe {
            let cpu = heap.GetCPUDescriptorHandleForHeapStart();
            device.CreateUnorderedAccessView(texture, None, Some(&view), cpu);
            queue.list.SetDescriptorHeaps(&[Some(gpu_heap.clone())]);
            let list = &queue.list;
            if format == DXGI_FORMAT_R32_UINT {
                list.ClearUnorderedAccessViewUint(gpu, cpu, texture, &[0x0403_0201, 0, 0, 0], &[]);
            } else {
                list.ClearUnorderedAccessViewFloat(gpu, cpu, texture, &[1.0, 0.5, 0.0, 1.0], &[]);
            }
        }
    };
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    clear(&castable, DXGI_FORMAT_R16G16_FLOAT, 0, u32::MAX);
    clear(&castable, DXGI_FORMAT_R8G8B8A8_UNORM, 1, 2);
    clear(&castable, DXGI_FORMAT_R32_UINT, 3, 1);
    download(&queue.list, (&castable, 0), (&readback, 0), DXGI_FORMAT_R16G16_FLOAT, [4, 4, 4], 256);
    queue.run();
    let slices: Vec<[u8; 4]> = (0..4)
        .map(|z| bytes(&readback)[z * 1024 + 3 * 256 + 12..][..4].try_into().expect("four bytes"))
        .collect();
    assert_eq!(slices, [[0, 0x3c, 0, 0x38], [255, 128, 0, 255], [255, 128, 0, 255], [1, 2, 3, 4]]);
    let refused = |format, first, count| queue.close_after(|_| clear(&plain, format, first, count));
    assert_eq!(refused(DXGI_FORMAT_R8G8B8A8_UNORM, 0, 1), E_INVALIDARG, "not castable");
    assert_eq!(refused(DXGI_FORMAT_R16G16_FLOAT, 3, 2), E_INVALIDARG);
}
