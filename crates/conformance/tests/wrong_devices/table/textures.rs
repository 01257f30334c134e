//! Devices with wrong descriptions, sizes and placement of textures.

use heapwright_d3d12::*;

use super::{
    KIB_4, KIB_64, TIGHT, WrongDevice, is_buffer, is_texture, is_valid, lie, tight_alignment, wrong,
};
use crate::lies::{HONEST, Lies, Map};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "sRGB textures take no unordered access, though their family does",
        lie!(resource, |request| {
            let is_unordered = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0;
            if is_unordered && request.desc.Format == DXGI_FORMAT_R8G8B8A8_UNORM_SRGB {
                request.desc.Width = 0;
            }
        }),
        &["texture/flags-of-the-family"],
    ),
    wrong(
        "small textures with Alignment 4 KiB are aligned to 512 bytes",
        lie!(allocation, |descs, info| {
            if descs.iter().any(|desc| desc.Alignment == KIB_4) && is_valid(info) {
                info.Alignment = 512;
            }
        }),
        &["texture/small-alignment"],
    ),
    wrong(
        "large textures and render targets are small resources",
        lie!(allocation, |descs, info| {
            if is_texture(descs) && descs.iter().any(|desc| desc.Alignment == KIB_4) {
                *info = D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: 1 << 20, Alignment: KIB_4 };
            }
        }),
        &["texture/large-is-not-small", "texture/render-target-is-not-small"],
    ),
    wrong(
        "tight textures are aligned to 128 KiB",
        lie!(allocation, |descs, info| {
            if is_texture(descs) {
                tight_alignment(2 * KIB_64, descs, info);
            }
        }),
        &["tight/texture-alignment-max", "tight/small-texture-alignment-max"],
    ),
    wrong(
        "tight small textures are aligned to 64 KiB, without the flag to 4 KiB",
        lie!(allocation, |descs, info| {
            if is_texture(descs) {
                tight_alignment(KIB_64, descs, info);
            }
        }),
        &["tight/never-worse-for-small-textures", "tight/small-texture-alignment-max"],
    ),
    wrong(
        "multisampled textures take what one sample takes",
        lie!(allocation_request, |desc| {
            if desc.SampleDesc.Count == 4 {
                desc.SampleDesc.Count = 1;
            }
        }),
        &["texture/size-holds-the-texels"],
    ),
    wrong(
        "a texture of 3 samples is made, of 4",
        lie!(resource, |request| {
            if request.desc.SampleDesc.Count == 3 {
                request.desc.SampleDesc.Count = 4;
            }
        }),
        &["texture/sample-count-refused"],
    ),
    wrong(
        "the flag is taken beside 64KB_UNDEFINED_SWIZZLE and 64KB_STANDARD_SWIZZLE",
        lie!(resource, |request| {
            if request.desc.Flags & TIGHT != 0 && !is_buffer(request) {
                request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
            }
        }),
        &["tight/undefined-swizzle-refused", "tight/standard-swizzle-refused"],
    ),
    wrong(
        "mip levels beyond the full chain are left out",
        lie!(resource, |request| {
            if !is_buffer(request) && request.desc.MipLevels > 6 && request.desc.Width == 32 {
                request.desc.MipLevels = 0;
            }
        }),
        &["texture/mips-beyond-the-chain"],
    ),
    wrong(
        "GetDesc answers MipLevels 0 for a full chain",
        lie!(desc, |desc| {
            if desc.MipLevels > 1 {
                desc.MipLevels = 0;
            }
        }),
        &["texture/mip-levels-0-is-the-full-chain", "texture/desc-round-trip"],
    ),
    wrong(
        "a texture may be a render target and a depth buffer",
        lie!(resource, |request| {
            let both = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            if request.desc.Flags & both == both {
                request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            }
        }),
        &["texture/render-target-and-depth-refused"],
    ),
    wrong(
        "ROW_MAJOR is taken without ALLOW_CROSS_ADAPTER",
        lie!(resource, |request| {
            if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
                request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
            }
        }),
        &["texture/row-major-alone-refused"],
    ),
    wrong(
        "textures are made in UPLOAD heaps, which are DEFAULT ones",
        lie!(resource, |request| {
            if let (false, Some(home)) = (is_buffer(request), &mut request.properties) {
                home.Type = D3D12_HEAP_TYPE_DEFAULT;
                request.state = D3D12_RESOURCE_STATE_COMMON;
            }
        }),
        &["texture/upload-refused", "texture/readback-refused"],
    ),
    wrong(
        "render targets may be placed in heaps that deny them",
        lie!(resource, |request| {
            if request.place.is_some() {
                let attachments =
                    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                if request.desc.Flags & attachments != 0 {
                    request.desc =
                        D3D12_RESOURCE_DESC { Flags: 0, Format: DXGI_FORMAT_R8G8B8A8_UNORM, ..request.desc };
                }
            }
        }),
        &["texture/render-target-in-a-texture-heap-refused"],
    ),
    wrong(
        "GetGPUVirtualAddress of a texture is not 0",
        lie!(address, |desc, address| {
            if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { address } else { 1 << 32 }
        }),
        &["texture/has-no-gpu-address"],
    ),
    wrong(
        "Map of an opaque texture discloses a pointer",
        lie!(map, |map: &mut Map| {
            if map.hresult.is_err() && map.address == 0 {
                (map.hresult, map.start) = (S_OK, map.elsewhere);
            }
        }),
        &["upload/texture-maps-without-a-pointer", "texture/is-not-mapped-in-default"],
    ),
    wrong(
        "1D textures are refused",
        lie!(resource, |request| {
            if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
                request.desc.Width = 0;
            }
        }),
        &["texture/1d", "texture/1d-array", "copies/texture-1d"],
    ),
    wrong(
        "3D textures are refused",
        lie!(resource, |request| {
            if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
                request.desc.Width = 0;
            }
        }),
        &["texture/3d", "copies/texture-3d"],
    ),
    wrong(
        "BC1 is refused",
        lie!(resource, |request| {
            if request.desc.Format == DXGI_FORMAT_BC1_UNORM {
                request.desc.Width = 0;
            }
        }),
        &["texture/block-compressed", "copies/texture-of-blocks"],
    ),
    wrong(
        "typeless formats are refused",
        lie!(resource, |request| {
            if request.desc.Format == DXGI_FORMAT_R8G8B8A8_TYPELESS {
                request.desc.Width = 0;
            }
        }),
        &["texture/typeless"],
    ),
    wrong(
        "multisampled textures are refused",
        lie!(resource, |request| {
            if request.desc.SampleDesc.Count == 4 {
                request.desc.Width = 0;
            }
        }),
        &["texture/multisampled"],
    ),
    wrong(
        "depth buffers are refused",
        lie!(resource, |request| {
            if request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
                request.desc.Width = 0;
            }
        }),
        &["texture/depth-buffer", "texture/depth-stencil", "copies/clear-depth"],
    ),
    wrong(
        "multisampled textures are refused in heaps",
        lie!(resource, |request| {
            if request.desc.SampleDesc.Count > 1 && request.place.is_some() {
                request.desc.Width = 0;
            }
        }),
        &["texture/msaa-in-a-4-mib-heap"],
    ),
];
