//! Devices with wrong standard swizzle or cross-adapter row-major layouts: which descriptions are valid,
//! and where texels lie.

use heapwright_d3d12::*;

use super::{KIB_64, is_buffer, is_texture, is_valid, wrong_devices};
use crate::lies::Request;

/// Changes the layout of a standard swizzle texture if the condition holds.
fn other_layout(request: &mut Request, layout: D3D12_TEXTURE_LAYOUT, holds: bool) {
    if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE && holds {
        request.desc.Layout = layout;
    }
}

fn is_tiled(desc: &D3D12_RESOURCE_DESC1) -> bool {
    desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE
        || desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE
}

wrong_devices! {
    "StandardSwizzle64KBSupported is TRUE, and the layout refused":
        field = (D3D12_FEATURE_D3D12_OPTIONS, 10, 1) => "swizzle/the-cap-means-the-layout";
    "StandardSwizzle64KBSupported is FALSE, and the layout taken" on "uma":
        field = (D3D12_FEATURE_D3D12_OPTIONS, 10, 0) => "swizzle/the-cap-means-the-layout";
    "standard swizzle is tiles whose texels lie in rows" on "uma":
        resource = |request| {
            other_layout(request, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, true);
        },
        // GetDesc still returns the layout that the application requested.
        desc = |desc| {
            if desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE {
                desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE;
            }
        } =>
        "swizzle/a-buffer-sees-the-pattern", "swizzle/a-buffer-sees-the-pattern-of-volumes",
        "swizzle/the-cpu-sees-the-pattern", "swizzle/the-cpu-writes-the-pattern";
    "texels of 2 bytes, and of no other size, lie in rows inside of tiles" on "uma": resource = |request| {
        other_layout(
            request,
            D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
            request.desc.Format == DXGI_FORMAT_R16_UINT,
        );
    } => "swizzle/a-buffer-sees-the-pattern", "swizzle/a-buffer-sees-the-pattern-of-volumes";
    "texels of volumes lie in rows inside of tiles" on "uma": resource = |request| {
        let is_volume = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
        other_layout(request, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, is_volume);
    } => "swizzle/a-buffer-sees-the-pattern-of-volumes";
    "multisampled textures are taken in standard swizzle" on "uma": resource = |request| {
        other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, request.desc.SampleDesc.Count > 1);
    } => "swizzle/several-samples-refused";
    "textures of one dimension are taken in standard swizzle" on "uma": resource = |request| {
        let is_line = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D;
        other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_line);
    } => "swizzle/1d-refused";
    "depth buffers are taken in standard swizzle" on "cache-coherent-uma": resource = |request| {
        let is_depth = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
        other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_depth);
    } => "swizzle/depth-stencil-refused";
    "texels of 96 bits are taken in standard swizzle" on "uma": resource = |request| {
        let is_96_bit = request.desc.Format == DXGI_FORMAT_R32G32B32_UINT;
        other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_96_bit);
    } => "swizzle/96-bit-texels-refused";
    "Map refuses the second mip of standard swizzle" on "uma": map = |map| {
        if map.subresource == 1 && !map.start.is_null() {
            map.hresult = E_INVALIDARG;
        }
    } => "swizzle/mips-are-mapped-apart";
    "allocations of tiled textures are a tile too small" on "uma": allocation = |descs, info| {
        if descs.iter().any(is_tiled) && is_valid(info) {
            info.SizeInBytes -= KIB_64;
        }
    } => "layouts/allocation-covers-the-tiles", "swizzle/allocation-is-in-tiles";
    "textures in tiles are aligned to 4 MiB" on "uma": allocation = |descs, info| {
        if is_texture(descs) && descs.iter().any(is_tiled) && is_valid(info) {
            info.Alignment = 4 << 20;
        }
    } => "layouts/tiled-alignment-is-64-kib", "swizzle/allocation-is-in-tiles";
    "textures of one dimension are taken in tiles": resource = |request| {
        if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
            request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
        }
    } => "layouts/tiled-1d-refused";
    "SHARED_CROSS_ADAPTER alone counts as SHARED as well": heap = |desc| {
        if desc.Flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0 {
            desc.Flags |= D3D12_HEAP_FLAG_SHARED;
        }
    } => "layouts/cross-adapter-heap-needs-shared";
    "buffers lose ALLOW_CROSS_ADAPTER, which their heaps ask for":
        resource = |request| request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER
        => "layouts/cross-adapter-buffer";
    "heaps and resources forget that they are for several adapters":
        heap = |desc| desc.Flags &= !D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER,
        resource = |request| {
            if is_buffer(request) {
                request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
            }
        } => "layouts/cross-adapter-heap-and-buffer-need-each-other";
    "textures in rows may have mips, slices and depth": resource = |request| {
        if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
            request.desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
            (request.desc.MipLevels, request.desc.DepthOrArraySize) = (1, 1);
        }
    } => "layouts/row-major-is-one-image";
}
