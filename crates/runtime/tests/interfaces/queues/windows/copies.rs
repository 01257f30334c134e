//! Copies, resolves and clears that Windows accepts.

use heapwright_d3d12::*;

use crate::gpu::*;
use crate::queues::barriers::{texture_barrier, texture_group};
use crate::queues::textures::{create, download, region, subresource, upload_to};

/// Fills a buffer with bytes that differ from their neighbours.
fn numbered(buffer: &ID3D12Resource) {
    for (index, byte) in bytes(buffer).iter_mut().enumerate() {
        *byte = u8::try_from(index % 251).expect("below 251");
    }
}

fn buffers(device: &ID3D12Device14, width: u64) -> [ID3D12Resource; 2] {
    [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].map(|heap_type| commit(device, heap_type, width))
}

/// vkd3d-proton's test_copy_texture_bc_rgba: 2 by 2 texels of 128 bits correspond to 8 by 8 of BC3.
#[test]
fn sizes_of_compressed_textures_count_in_blocks() {
    let (device, queue) = open_direct();
    let [small, large] =
        [[2, 2], [8, 8]].map(|size| create(&device, &texture_desc(DXGI_FORMAT_R32G32B32A32_UINT, size)));
    let bc = create(&device, &texture_desc(DXGI_FORMAT_BC3_UNORM, [8, 8]));
    messages(&device);
    let copied_to = |x, y| {
        let texel = region([0, 0, 0], [1, 1, 1]);
        let (bc, small) = (subresource(&bc, 0), subresource(&small, 0));
        queue.close_after(|list| unsafe { list.CopyTextureRegion(&bc, x, y, 0, &small, Some(&texel)) })
    };
    assert_eq!((copied_to(4, 4), messages(&device)), (S_OK, vec![]));
    assert_eq!((copied_to(8, 0), copied_to(2, 0)), (E_INVALIDARG, E_INVALIDARG));
    let copied = |from| queue.close_after(|list| unsafe { list.CopyResource(&bc, from) });
    assert_eq!((copied(&small), copied(&large)), (S_OK, E_INVALIDARG));
    let half = create(&device, &texture_desc(DXGI_FORMAT_BC1_UNORM, [8, 8]));
    assert_eq!(copied(&half), E_INVALIDARG, "blocks of 8 bytes and of 16");
}

/// Between format families of one size the copy is executed, and the debug layer reports a message.
#[test]
fn copies_between_families_of_one_size_record() {
    let (device, queue) = open_direct();
    let [upload, readback] = buffers(&device, 256);
    numbered(&upload);
    let from = create(&device, &texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 1]));
    let [to, other] = [(); 2].map(|()| create(&device, &texture_desc(DXGI_FORMAT_R32_FLOAT, [4, 1])));
    messages(&device);
    unsafe {
        upload_to(&queue.list, (&from, 0), &upload, DXGI_FORMAT_R8G8B8A8_UNORM, [4, 1, 1], 256);
        queue.list.CopyResource(&to, &from);
        queue.list.CopyTextureRegion(&subresource(&other, 0), 0, 0, 0, &subresource(&to, 0), None);
        download(&queue.list, (&other, 0), (&readback, 0), DXGI_FORMAT_R32_FLOAT, [4, 1, 1], 256);
    }
    queue.run();
    assert_eq!(bytes(&readback)[..16], bytes(&upload)[..16]);
    let told = messages(&device);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDSRCRESOURCE);
}

/// conformance's `copies/texture-region-within-a-subresource` copies one that does not overlap.
#[test]
fn regions_of_one_subresource_must_not_overlap() {
    let (device, queue) = open_direct();
    let texture = create(&device, &texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [8, 4]));
    let copied = |[x, y]: [u32; 2], part: D3D12_BOX| {
        let texture = subresource(&texture, 0);
        queue.close_after(|list| unsafe { list.CopyTextureRegion(&texture, x, y, 0, &texture, Some(&part)) })
    };
    assert_eq!(copied([3, 0], region([0, 0, 0], [4, 4, 1])), E_INVALIDARG);
    assert_eq!(copied([3, 2], region([0, 0, 0], [4, 2, 1])), S_OK, "no overlap in y");
    assert_eq!(copied([0, 0], region([0, 0, 0], [1, 1, 1])), E_INVALIDARG);
}

#[test]
fn partial_copies_of_multisampled_textures_are_reported_and_executed() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [8, 8])
    };
    let (to, from) = (create(&device, &desc), create(&device, &desc));
    messages(&device);
    let part = region([0, 0, 0], [4, 4, 1]);
    let copied = queue.close_after(|list| unsafe {
        list.CopyTextureRegion(&subresource(&to, 0), 2, 2, 0, &subresource(&from, 0), Some(&part));
    });
    assert_eq!((copied, messages(&device).len()), (S_OK, 1));
}

#[test]
fn depth_and_srgb_are_resolved() {
    let (device, queue) = open_direct();
    let resolve = |source, target, format, flags| {
        let source = D3D12_RESOURCE_DESC {
            Flags: flags,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 },
            ..texture_desc(source, [4, 4])
        };
        let target = D3D12_RESOURCE_DESC { Flags: flags, ..texture_desc(target, [4, 4]) };
        let (from, to) = (create(&device, &source), create(&device, &target));
        queue.close_after(|list| unsafe { list.ResolveSubresource(&to, 0, &from, 0, format) })
    };
    let (color, depth) = (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL);
    let unorm = DXGI_FORMAT_R8G8B8A8_UNORM;
    assert_eq!(resolve(unorm, DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, unorm, color), S_OK);
    assert_eq!(resolve(unorm, unorm, DXGI_FORMAT_R8G8B8A8_SNORM, color), E_INVALIDARG);
    assert_eq!(resolve(unorm, DXGI_FORMAT_R8G8B8A8_SNORM, unorm, color), E_INVALIDARG);
    for (texture, format) in [
        (DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_D32_FLOAT),
        (DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_R32_FLOAT),
        (DXGI_FORMAT_D16_UNORM, DXGI_FORMAT_R16_UNORM),
        (DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_D24_UNORM_S8_UINT),
        (DXGI_FORMAT_D24_UNORM_S8_UINT, DXGI_FORMAT_R24_UNORM_X8_TYPELESS),
    ] {
        assert_eq!(resolve(texture, texture, format, depth), S_OK, "{texture} as {format}");
    }
    let float = DXGI_FORMAT_D32_FLOAT;
    assert_eq!(resolve(float, float, DXGI_FORMAT_R32_UINT, depth), E_INVALIDARG);
}

/// conformance's `formats/read-only-aspects` clears the other aspect.
#[test]
fn clears_of_a_read_only_aspect_are_reported() {
    let (device, queue) = open_direct();
    let desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        ..texture_desc(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, [4, 4])
    };
    let texture = create(&device, &desc);
    let (_heap, view) = view_of(&device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, &texture);
    let desc = D3D12_DEPTH_STENCIL_VIEW_DESC {
        Format: desc.Format,
        ViewDimension: D3D12_DSV_DIMENSION_TEXTURE2D,
        Flags: D3D12_DSV_FLAG_READ_ONLY_DEPTH,
        ..Default::default()
    };
    unsafe { device.CreateDepthStencilView(&texture, Some(&desc), view) };
    messages(&device);
    let cleared = |flags| {
        let closed =
            queue.close_after(|list| unsafe { list.ClearDepthStencilView(view, flags, 0.0, 0, &[]) });
        (closed, messages(&device).len())
    };
    assert_eq!(cleared(D3D12_CLEAR_FLAG_STENCIL), (S_OK, 0));
    assert_eq!(cleared(D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL), (S_OK, 1));
}

#[test]
fn zero_slices_of_a_barrier_mean_one() {
    let (device, queue) = open_direct();
    let desc =
        D3D12_RESOURCE_DESC { DepthOrArraySize: 3, ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 4]) };
    let texture = create(&device, &desc);
    let barrier = |first, slices| {
        let barrier = D3D12_TEXTURE_BARRIER {
            Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                NumMipLevels: 1,
                FirstArraySlice: first,
                NumArraySlices: slices,
                NumPlanes: 1,
                ..Default::default()
            },
            ..texture_barrier(&texture)
        };
        let group = texture_group(&barrier);
        queue.close_after(|list| unsafe { list.Barrier(&[group]) })
    };
    assert_eq!((barrier(0, 0), barrier(2, 0), barrier(3, 0)), (S_OK, S_OK, E_INVALIDARG));
}
