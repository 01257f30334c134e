//! Resolves: those that are refused, and those of depth and stencil. conformance's `commands/resolve` and
//! `commands/resolve-region` resolve colors, and `format::resolver` tests averages of different samples.

use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::clears::rect;
use super::textures::*;
use crate::gpu::*;

const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;

pub(crate) fn target_desc(format: DXGI_FORMAT, size: [u32; 2], samples: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(format, size)
    }
}

#[test]
fn depth_and_stencil_are_resolved_separately() {
    let (device, queue) = open_direct();
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    for (format, expected) in
        [(DXGI_FORMAT_D32_FLOAT_S8X24_UINT, 0.25_f32.to_bits()), (DXGI_FORMAT_D24_UNORM_S8_UINT, 0x40_0000)]
    {
        let desc = |samples| D3D12_RESOURCE_DESC {
            Flags: D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
            ..target_desc(format, [4, 4], samples)
        };
        let (source, target) = (create(&device, &desc(2)), create(&device, &desc(1)));
        let (_heap, handle) = view_of(&device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, &source);
        unsafe {
            let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
            queue.list.ClearDepthStencilView(handle, both, 0.25, 9, &[]);
            let list = &queue.list;
            let (average, max) = (D3D12_RESOLVE_MODE_AVERAGE, D3D12_RESOLVE_MODE_MAX);
            list.ResolveSubresourceRegion(&target, 0, 0, 0, &source, 0, None, format, average);
            list.ResolveSubresourceRegion(&target, 1, 0, 0, &source, 1, None, format, max);
            let depth = footprint(&readback, 0, DXGI_FORMAT_R32_TYPELESS, [4, 4, 1], 256);
            let stencil = footprint(&readback, 2048, DXGI_FORMAT_R8_TYPELESS, [4, 4, 1], 256);
            list.CopyTextureRegion(&depth, 0, 0, 0, &subresource(&target, 0), None);
            list.CopyTextureRegion(&stencil, 0, 0, 0, &subresource(&target, 1), None);
        }
        queue.run();
        let at = |offset: usize| bytes(&readback)[offset..][..4].try_into().expect("four bytes");
        assert_eq!(u32::from_le_bytes(at(3 * 256 + 12)), expected, "{format}");
        assert_eq!(at(2048 + 3 * 256), [9; 4], "{format}");
        let refused = |subresource: [u32; 2], mode| {
            queue.close_after(|list| unsafe {
                let [to, from] = subresource;
                list.ResolveSubresourceRegion(&target, to, 0, 0, &source, from, None, format, mode);
            })
        };
        assert_eq!(refused([1, 1], D3D12_RESOLVE_MODE_AVERAGE), E_INVALIDARG, "stencil cannot be averaged");
        assert_eq!(refused([0, 1], D3D12_RESOLVE_MODE_MAX), E_INVALIDARG, "two planes");
        let whole = queue.close_after(|list| unsafe {
            list.ResolveSubresource(&target, 0, &source, 0, format);
        });
        assert_eq!(whole, S_OK, "depth is resolved as well");
    }
}

#[test]
fn resolves_are_checked() {
    let (device, queue) = open_direct();
    let desc = |format, size, samples| create(&device, &target_desc(format, size, samples));
    let source = desc(RGBA, [8, 8], 4);
    let target = desc(RGBA, [8, 8], 1);
    let whole = |target: &ID3D12Resource, to, source: &ID3D12Resource, from, format| -> HRESULT {
        queue.close_after(|list| unsafe { list.ResolveSubresource(target, to, source, from, format) })
    };
    assert_eq!(whole(&target, 0, &source, 0, RGBA), S_OK);
    let id = |answer: HRESULT| {
        assert_eq!(answer, E_INVALIDARG);
        messages(&device).first().expect("a message").0
    };
    messages(&device);
    let counts = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_SAMPLE_COUNT;
    assert_eq!(id(whole(&target, 0, &desc(RGBA, [8, 8], 1), 0, RGBA)), counts, "one sample");
    assert_eq!(id(whole(&source, 0, &source, 0, RGBA)), counts, "several in the target");
    let index = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_SUBRESOURCE_INDEX;
    assert_eq!(id(whole(&target, 1, &source, 0, RGBA)), index);
    assert_eq!(id(whole(&target, 0, &source, u32::MAX, RGBA)), index);
    let mismatch = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_RESOURCE_MISMATCH;
    assert_eq!(id(whole(&desc(RGBA, [8, 4], 1), 0, &source, 0, RGBA)), mismatch);
    let buffer = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 256);
    let of_target = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALIDDSTRESOURCE;
    assert_eq!(id(whole(&buffer, 0, &source, 0, RGBA)), of_target);
    let of_source = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALIDSRCRESOURCE;
    assert_eq!(id(whole(&target, 0, &buffer, 0, RGBA)), of_source);
    let null = queue.close_after(|list| unsafe { list.ResolveSubresource(&target, 0, None, 0, RGBA) });
    assert_eq!(id(null), D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_NULLSRC);
    let format = D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_INVALID_FORMAT;
    assert_eq!(id(whole(&target, 0, &source, 0, DXGI_FORMAT_R8G8B8A8_SNORM)), format, "both are typed");
    assert_eq!(id(whole(&target, 0, &source, 0, DXGI_FORMAT_UNKNOWN)), format);
    let typeless = DXGI_FORMAT_R8G8B8A8_TYPELESS;
    let (from, to) = (desc(typeless, [8, 8], 2), desc(typeless, [8, 8], 1));
    assert_eq!(whole(&to, 0, &from, 0, DXGI_FORMAT_R8G8B8A8_UNORM_SRGB), S_OK);
    assert_eq!(whole(&target, 0, &from, 0, RGBA), S_OK, "the typed one's format");
    messages(&device);
    assert_eq!(id(whole(&to, 0, &from, 0, typeless)), format);
    assert_eq!(id(whole(&to, 0, &from, 0, DXGI_FORMAT_R8G8B8A8_UINT)), format, "integers");
    assert_eq!(id(whole(&to, 0, &from, 0, DXGI_FORMAT_R16G16_UNORM)), format, "another family");
    for list_type in [D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY] {
        let other = Queue::new(&device, list_type);
        let answer = other.close_after(|list| unsafe {
            list.ResolveSubresource(&target, 0, &source, 0, RGBA);
        });
        assert_eq!(answer, E_INVALIDARG, "list type {list_type}");
    }
}

#[test]
fn regions_of_resolves_are_checked() {
    let (device, queue) = open_direct();
    let source = create(&device, &target_desc(RGBA, [8, 8], 4));
    let target = create(&device, &target_desc(RGBA, [4, 4], 1));
    let region = |start: [u32; 2], rect: RECT, mode| {
        queue.close_after(|list| unsafe {
            let (x, y) = (start[0], start[1]);
            let rect = &raw const rect;
            list.ResolveSubresourceRegion(&target, 0, x, y, &source, 0, Some(rect), RGBA, mode);
        })
    };
    let average = D3D12_RESOLVE_MODE_AVERAGE;
    assert_eq!(region([0, 0], rect(4, 4, 8, 8), average), S_OK);
    assert_eq!(region([4, 4], rect(4, 4, 4, 4), average), S_OK, "nothing");
    assert_eq!(region([1, 0], rect(4, 4, 8, 8), average), E_INVALIDARG, "exceeds the destination");
    assert_eq!(region([u32::MAX, 0], rect(0, 0, 1, 1), average), E_INVALIDARG);
    assert_eq!(region([0, 0], rect(5, 5, 9, 8), average), E_INVALIDARG, "exceeds the source");
    assert_eq!(region([0, 0], rect(-1, 0, 1, 1), average), E_INVALIDARG);
    assert_eq!(region([0, 0], rect(2, 0, 1, 1), average), E_INVALIDARG, "inverted");
    assert_eq!(
        region([0, 0], rect(0, 0, 1, 1), D3D12_RESOLVE_MODE_DECOMPRESS),
        E_INVALIDARG,
        "samples differ"
    );
    assert_eq!(region([0, 0], rect(0, 0, 1, 1), D3D12_RESOLVE_MODE_DECODE_SAMPLER_FEEDBACK), E_NOTIMPL);
    assert_eq!(region([0, 0], rect(0, 0, 1, 1), 6), E_INVALIDARG, "no mode");
    // Without a rectangle the whole source is resolved, which is larger than the target.
    let whole = queue.close_after(|list| unsafe {
        list.ResolveSubresourceRegion(&target, 0, 0, 0, &source, 0, None, RGBA, average);
    });
    assert_eq!(whole, E_INVALIDARG);
    let integers = DXGI_FORMAT_R16G16_UINT;
    let (from, to) = (
        create(&device, &target_desc(integers, [4, 4], 2)),
        create(&device, &target_desc(integers, [4, 4], 1)),
    );
    let with = |mode| {
        queue.close_after(|list| unsafe {
            list.ResolveSubresourceRegion(&to, 0, 0, 0, &from, 0, None, integers, mode);
        })
    };
    assert_eq!([average, D3D12_RESOLVE_MODE_MIN].map(with), [E_INVALIDARG, S_OK]);
    let options = D3D12_FEATURE_DATA_D3D12_OPTIONS2::default();
    let (result, options) = feature(&device, D3D12_FEATURE_D3D12_OPTIONS2, options);
    let tier_1 = D3D12_PROGRAMMABLE_SAMPLE_POSITIONS_TIER_1;
    assert_eq!((result, options.ProgrammableSamplePositionsTier), (S_OK, tier_1));
}

#[test]
fn samples_are_decompressed_in_place_and_to_another_texture() {
    let (device, queue) = open_direct();
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4096);
    let desc = target_desc(RGBA, [4, 4], 4);
    let (source, copy, resolved) =
        (create(&device, &desc), create(&device, &desc), create(&device, &target_desc(RGBA, [4, 4], 1)));
    let (_heap, view) = view_of(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, &source);
    let mode = D3D12_RESOLVE_MODE_DECOMPRESS;
    unsafe {
        let list = &queue.list;
        list.ClearRenderTargetView(view, &[1.0; 4], &[]);
        list.ResolveSubresourceRegion(&source, 0, 0, 0, &source, 0, None, RGBA, mode);
        // The left half of the source, in the right half of the copy.
        let left = rect(0, 0, 2, 4);
        list.ResolveSubresourceRegion(&copy, 0, 2, 0, &source, 0, Some(&raw const left), RGBA, mode);
        list.ResolveSubresource(&resolved, 0, &copy, 0, RGBA);
        let rows = footprint(&readback, 0, RGBA, [4, 4, 1], 256);
        list.CopyTextureRegion(&rows, 0, 0, 0, &subresource(&resolved, 0), None);
    }
    queue.run();
    for row in 0..4 {
        let texels: Vec<u8> = bytes(&readback)[row * 256..][..16].iter().copied().step_by(4).collect();
        assert_eq!(texels, [0, 0, 255, 255], "row {row}");
    }
    let refused = |target: &ID3D12Resource, x| {
        queue.close_after(|list| unsafe {
            let one = rect(0, 0, 1, 1);
            list.ResolveSubresourceRegion(target, 0, x, 0, &source, 0, Some(&raw const one), RGBA, mode);
        })
    };
    assert_eq!(refused(&source, 0), S_OK, "in place");
    assert_eq!(refused(&source, 1), E_INVALIDARG, "another place of the same subresource");
    assert_eq!(refused(&resolved, 0), E_INVALIDARG, "one sample");
}
