//! Textures: copies of regions and of whole resources, and clears.

use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use windows_core::{HRESULT, Interface};

use crate::gpu::*;

pub(crate) fn texture_desc(format: DXGI_FORMAT, size: [u32; 2]) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: size[0].into(),
        Height: size[1],
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

pub(crate) fn create(device: &ID3D12Device14, desc: &D3D12_RESOURCE_DESC) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let (mut texture, state) = (None, D3D12_RESOURCE_STATE_COMMON);
    let flags = D3D12_HEAP_FLAG_NONE;
    unsafe { device.CreateCommittedResource(&properties, flags, desc, state, None, &mut texture) }
        .expect("a texture");
    texture.expect("S_OK comes with a resource")
}

pub(crate) fn create_castable(
    device: &ID3D12Device14,
    desc: &D3D12_RESOURCE_DESC1,
    castable: &[DXGI_FORMAT],
) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let (mut texture, layout, flags) = (None, D3D12_BARRIER_LAYOUT_COMMON, D3D12_HEAP_FLAG_NONE);
    let (count, list) = (u32::try_from(castable.len()).expect("few"), castable.as_ptr());
    unsafe {
        device.CreateCommittedResource3(
            &properties,
            flags,
            desc,
            layout,
            None,
            None,
            count,
            list,
            &mut texture,
        )
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

pub(crate) fn region(start: [u32; 3], end: [u32; 3]) -> D3D12_BOX {
    let ([left, top, front], [right, bottom, back]) = (start, end);
    D3D12_BOX { left, top, front, right, bottom, back }
}

/// Fills a buffer with bytes that differ from their neighbours.
fn number(bytes: &mut [u8]) {
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::try_from((index * 7 + index / 256) % 251).expect("below 251");
    }
}

#[test]
fn regions_that_do_not_fit_fail_the_list() {
    let device = open();
    let queue = Queue::direct(&device);
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
    assert_eq!(copy(&to, [1, 0, 0], &sound, None), E_INVALIDARG);
    assert_eq!(copy(&to, [1, 0, 0], &sound, Some(region([1, 0, 0], [16, 16, 1]))), S_OK);
    assert_eq!(copy(&to, [u32::MAX, 0, 0], &sound, None), E_INVALIDARG);
    assert_eq!(copy(&to, origin, &sound, Some(region([0, 0, 0], [17, 16, 1]))), E_INVALIDARG);
    assert_eq!(copy(&to, origin, &sound, Some(region([4, 4, 0], [4, 4, 1]))), S_OK, "nothing");
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
    assert_eq!(from(256, format, [16, 16, 1], 256), E_INVALIDARG, "the offset");
    assert_eq!(from(512, format, [16, 16, 1], 128), E_INVALIDARG, "the pitch");
    assert_eq!(from(8192 - 512, format, [16, 16, 1], 256), E_INVALIDARG, "the end");
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
fn copy_resource_copies_whole_textures_of_equal_shape() {
    let device = open();
    let queue = Queue::direct(&device);
    let desc = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [16, 4]);
    let (first, second) = (create(&device, &desc), create(&device, &desc));
    let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let typeless = D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_R8G8B8A8_TYPELESS, Flags: flags, ..desc };
    let third = create(&device, &typeless);
    let (upload, readback) =
        (commit(&device, D3D12_HEAP_TYPE_UPLOAD, 1024), commit(&device, D3D12_HEAP_TYPE_READBACK, 1024));
    number(bytes(&upload));
    unsafe {
        let from = footprint(&upload, 0, desc.Format, [16, 4, 1], 256);
        queue.list.CopyTextureRegion(&subresource(&first, 0), 0, 0, 0, &from, None);
        queue.list.CopyResource(&second, &first);
        queue.list.CopyResource(&third, &second);
        let to = footprint(&readback, 0, desc.Format, [16, 4, 1], 256);
        queue.list.CopyTextureRegion(&to, 0, 0, 0, &subresource(&third, 0), None);
    }
    queue.run();
    for row in 0..4 {
        let row = row * 256;
        assert_eq!(bytes(&upload)[row..row + 64], bytes(&readback)[row..row + 64]);
    }
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
fn render_targets_are_cleared_subresource_by_subresource() {
    let device = open();
    let queue = Queue::direct(&device);
    let desc = D3D12_RESOURCE_DESC {
        MipLevels: 2,
        DepthOrArraySize: 2,
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_TYPELESS, [8, 4])
    };
    let texture = create(&device, &desc);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    let none = D3D12_DESCRIPTOR_HEAP_FLAG_NONE;
    let heap = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, none).expect("a heap");
    let handle = unsafe { heap.GetCPUDescriptorHandleForHeapStart() };
    let view = |format, mip, first, count| D3D12_RENDER_TARGET_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
            Texture2DArray: D3D12_TEX2D_ARRAY_RTV {
                MipSlice: mip,
                FirstArraySlice: first,
                ArraySize: count,
                PlaneSlice: 0,
            },
        },
    };
    let unorm = DXGI_FORMAT_R8G8B8A8_UNORM;
    unsafe {
        device.CreateRenderTargetView(&texture, Some(&view(unorm, 0, 0, 2)), handle);
        queue.list.ClearRenderTargetView(handle, &[0.0, 1.0, 0.0, 1.0], &[]);
        device.CreateRenderTargetView(&texture, Some(&view(unorm, 1, 1, 1)), handle);
        let whole = RECT { left: 0, top: 0, right: 4, bottom: 2 };
        queue.list.ClearRenderTargetView(handle, &[1.0, 0.0, 0.0, 0.0], &[whole]);
        for index in 0..4 {
            let mip = index % 2;
            let to = footprint(&readback, u64::from(index) * 1024, unorm, [8 >> mip, 4 >> mip, 1], 256);
            queue.list.CopyTextureRegion(&to, 0, 0, 0, &subresource(&texture, index), None);
        }
    }
    queue.run();
    let texel = |at: usize| &bytes(&readback)[at..at + 4];
    assert_eq!((texel(0), texel(3 * 256 + 28)), (&[0, 255, 0, 255][..], &[0, 255, 0, 255][..]));
    assert_eq!(texel(1024), [0; 4], "mip 1 of slice 0 is as it was");
    assert_eq!(texel(2048 + 4), [0, 255, 0, 255]);
    assert_eq!((texel(3072), texel(3072 + 256 + 12)), (&[255, 0, 0, 0][..], &[255, 0, 0, 0][..]));

    // A refused view leaves the descriptor as it was, so each case uses an empty one.
    let refused = |wrong: D3D12_RENDER_TARGET_VIEW_DESC| {
        let empty = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, none).expect("a heap");
        let handle = unsafe { empty.GetCPUDescriptorHandleForHeapStart() };
        unsafe { device.CreateRenderTargetView(&texture, Some(&wrong), handle) };
        queue.close_after(|list| unsafe { list.ClearRenderTargetView(handle, &[1.0; 4], &[]) })
    };
    assert_eq!(refused(view(unorm, 2, 0, 1)), E_INVALIDARG);
    assert_eq!(refused(view(unorm, 0, 1, 2)), E_INVALIDARG);
    assert_eq!(refused(view(unorm, 0, 0, u32::MAX)), S_OK, "the rest");
    assert_eq!(refused(view(DXGI_FORMAT_R16_FLOAT, 0, 0, 1)), E_INVALIDARG);
    assert_eq!(refused(view(DXGI_FORMAT_UNKNOWN, 0, 0, 1)), E_INVALIDARG, "typeless");
}

#[test]
fn depth_and_stencil_are_cleared_separately() {
    let device = open();
    let queue = Queue::direct(&device);
    let desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture_desc(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, [8, 8])
    };
    let texture = create(&device, &desc);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 8192);
    let (_heap, handle) = view_of(&device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, &texture);
    let read = |queue: &Queue| {
        let depth = footprint(&readback, 0, DXGI_FORMAT_R32_TYPELESS, [8, 8, 1], 256);
        let stencil = footprint(&readback, 4096, DXGI_FORMAT_R8_TYPELESS, [8, 8, 1], 256);
        unsafe {
            queue.list.CopyTextureRegion(&depth, 0, 0, 0, &subresource(&texture, 0), None);
            queue.list.CopyTextureRegion(&stencil, 0, 0, 0, &subresource(&texture, 1), None);
        }
        queue.run();
        let depth = bytes(&readback)[..4].try_into().expect("four bytes");
        (f32::from_le_bytes(depth), bytes(&readback)[4096])
    };
    unsafe {
        queue.list.ClearDepthStencilView(handle, D3D12_CLEAR_FLAG_DEPTH, 0.75, 9, &[]);
        assert_eq!(read(&queue), (0.75, 0));
        queue.list.ClearDepthStencilView(handle, D3D12_CLEAR_FLAG_STENCIL, 0.5, 9, &[]);
        assert_eq!(read(&queue), (0.75, 9));
        let refused =
            |flags, depth| queue.close_after(|list| list.ClearDepthStencilView(handle, flags, depth, 0, &[]));
        assert_eq!(refused(0, 0.0), E_INVALIDARG);
        assert_eq!(refused(D3D12_CLEAR_FLAG_DEPTH, 1.5), E_INVALIDARG);
        assert_eq!(refused(D3D12_CLEAR_FLAG_DEPTH, f32::NAN), E_INVALIDARG);
    }
}

#[test]
fn volumes_are_cleared_through_views_of_other_formats() {
    let device = open();
    let queue = Queue::direct(&device);
    let desc = D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        Width: 4,
        Height: 4,
        DepthOrArraySize: 4,
        MipLevels: 1,
        Format: DXGI_FORMAT_R16G16_FLOAT,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        ..Default::default()
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
    unsafe {
        let to = footprint(&readback, 0, DXGI_FORMAT_R16G16_FLOAT, [4, 4, 4], 256);
        queue.list.CopyTextureRegion(&to, 0, 0, 0, &subresource(&castable, 0), None);
    }
    queue.run();
    let slices: Vec<[u8; 4]> = (0..4)
        .map(|z| bytes(&readback)[z * 1024 + 3 * 256 + 12..][..4].try_into().expect("four bytes"))
        .collect();
    assert_eq!(slices, [[0, 0x3c, 0, 0x38], [255, 128, 0, 255], [255, 128, 0, 255], [1, 2, 3, 4]]);
    let refused = |format, first, count| queue.close_after(|_| clear(&plain, format, first, count));
    assert_eq!(refused(DXGI_FORMAT_R8G8B8A8_UNORM, 0, 1), E_INVALIDARG, "not castable");
    assert_eq!(refused(DXGI_FORMAT_R16G16_FLOAT, 3, 2), E_INVALIDARG);
}
