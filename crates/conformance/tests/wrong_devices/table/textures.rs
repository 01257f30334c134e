//! Devices with wrong descriptions, sizes and placement of textures.

use heapwright_d3d12::*;

use super::{KIB_4, KIB_64, TIGHT, is_buffer, is_texture, is_valid, tight_alignment, wrong_devices};
use crate::lies::Map;

wrong_devices! {
    "sRGB textures take no unordered access, though their family does": resource = |request| {
        let is_unordered = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0;
        if is_unordered && request.desc.Format == DXGI_FORMAT_R8G8B8A8_UNORM_SRGB {
            request.desc.Width = 0;
        }
    } => "texture/flags-of-the-family";
    "small textures with Alignment 4 KiB are aligned to 512 bytes": allocation = |descs, info| {
        if descs.iter().any(|desc| desc.Alignment == KIB_4) && is_valid(info) {
            info.Alignment = 512;
        }
    } => "texture/small-alignment";
    "large textures and render targets are small resources": allocation = |descs, info| {
        if is_texture(descs) && descs.iter().any(|desc| desc.Alignment == KIB_4) {
            *info = D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: 1 << 20, Alignment: KIB_4 };
        }
    } => "texture/large-is-not-small", "texture/render-target-is-not-small";
    "tight textures are aligned to 128 KiB": allocation = |descs, info| {
        if is_texture(descs) {
            tight_alignment(2 * KIB_64, descs, info);
        }
    } => "tight/texture-alignment-max", "tight/small-texture-alignment-max";
    "tight small textures are aligned to 64 KiB, without the flag to 4 KiB": allocation = |descs, info| {
        if is_texture(descs) {
            tight_alignment(KIB_64, descs, info);
        }
    } => "tight/never-worse-for-small-textures", "tight/small-texture-alignment-max";
    "multisampled textures take what one sample takes": allocation_request = |desc| {
        if desc.SampleDesc.Count == 4 {
            desc.SampleDesc.Count = 1;
        }
    } => "texture/size-holds-the-texels";
    "a texture of 3 samples is made, of 4": resource = |request| {
        if request.desc.SampleDesc.Count == 3 {
            request.desc.SampleDesc.Count = 4;
        }
    } => "texture/sample-count-refused";
    "the flag is taken beside 64KB_UNDEFINED_SWIZZLE and 64KB_STANDARD_SWIZZLE": resource = |request| {
        if request.desc.Flags & TIGHT != 0 && !is_buffer(request) {
            request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
        }
    } => "tight/undefined-swizzle-refused", "tight/standard-swizzle-refused";
    "mip levels beyond the full chain are left out": resource = |request| {
        if !is_buffer(request) && request.desc.MipLevels > 6 && request.desc.Width == 32 {
            request.desc.MipLevels = 0;
        }
    } => "texture/mips-beyond-the-chain";
    "GetDesc answers MipLevels 0 for a full chain": desc = |desc| {
        if desc.MipLevels > 1 {
            desc.MipLevels = 0;
        }
    } => "texture/mip-levels-0-is-the-full-chain", "texture/desc-round-trip";
    "a texture may be a render target and a depth buffer": resource = |request| {
        let both = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        if request.desc.Flags & both == both {
            request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        }
    } => "texture/render-target-and-depth-refused";
    "ROW_MAJOR is taken without ALLOW_CROSS_ADAPTER": resource = |request| {
        if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
            request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
        }
    } => "texture/row-major-alone-refused";
    "textures are made in UPLOAD heaps, which are DEFAULT ones": resource = |request| {
        if let (false, Some(home)) = (is_buffer(request), &mut request.properties) {
            home.Type = D3D12_HEAP_TYPE_DEFAULT;
            request.state = D3D12_RESOURCE_STATE_COMMON;
        }
    } => "texture/upload-refused", "texture/readback-refused";
    "render targets may be placed in heaps that deny them": resource = |request| {
        if request.place.is_some() {
            let attachments =
                D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            if request.desc.Flags & attachments != 0 {
                request.desc =
                    D3D12_RESOURCE_DESC { Flags: 0, Format: DXGI_FORMAT_R8G8B8A8_UNORM, ..request.desc };
            }
        }
    } => "texture/render-target-in-a-texture-heap-refused";
    "GetGPUVirtualAddress of a texture is not 0": address = |desc, address| {
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { address } else { 1 << 32 }
    } => "texture/has-no-gpu-address";
    "Map of an opaque texture discloses a pointer": map = |map: &mut Map| {
        if map.hresult.is_err() && map.address == 0 {
            (map.hresult, map.start) = (S_OK, map.elsewhere);
        }
    } => "upload/texture-maps-without-a-pointer", "texture/is-not-mapped-in-default";
    "1D textures are refused":
        refused_resource = |request| request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D
        => "texture/1d", "texture/1d-array", "copies/line-whole";
    "a 1D texture may have more than 2,048 slices": resource = |request| {
        if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
            request.desc.DepthOrArraySize = request.desc.DepthOrArraySize.min(2048);
        }
    } => "texture/array-too-large-refused";
    "3D textures are refused":
        refused_resource = |request| request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D
        => "texture/3d", "copies/volume-whole";
    "BC1 is refused": refused_resource = |request| request.desc.Format == DXGI_FORMAT_BC1_UNORM
        => "texture/block-compressed", "copies/blocks-whole";
    "typeless formats are refused":
        refused_resource = |request| request.desc.Format == DXGI_FORMAT_R8G8B8A8_TYPELESS
        => "texture/typeless";
    "multisampled textures are refused": refused_resource = |request| request.desc.SampleDesc.Count == 4
        => "texture/multisampled";
    "depth buffers are refused":
        refused_resource = |request| request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0
        => "texture/depth-buffer", "texture/depth-stencil", "copies/depth-buffer-whole";
    "multisampled textures are refused in heaps":
        refused_resource = |request| request.desc.SampleDesc.Count > 1 && request.place.is_some()
        => "texture/msaa-in-a-4-mib-heap";
}
