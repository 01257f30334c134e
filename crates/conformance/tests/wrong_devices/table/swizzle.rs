//! Devices with wrong standard swizzle or cross-adapter row-major layouts: which descriptions are valid,
//! and where texels lie.

use heapwright_d3d12::*;

use super::{KIB_64, WrongDevice, field, is_buffer, is_texture, is_valid, lie, wrong};
use crate::lies::{HONEST, Lies, Request};

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

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "StandardSwizzle64KBSupported is TRUE, and the layout refused",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 10, 1)
        }),
        &["swizzle/the-cap-means-the-layout"],
    ),
    wrong(
        "StandardSwizzle64KBSupported is FALSE, and the layout taken",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 10, 0)
        }),
        &["swizzle/the-cap-means-the-layout"],
    )
    .on("uma"),
    wrong(
        "standard swizzle is tiles whose texels lie in rows",
        Lies {
            resource: Some(|request| {
                other_layout(request, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, true);
            }),
            // GetDesc still returns the layout that the application requested.
            desc: Some(|desc| {
                if desc.Layout == D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE {
                    desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE;
                }
            }),
            ..HONEST
        },
        &[
            "swizzle/a-buffer-sees-the-pattern",
            "swizzle/a-buffer-sees-the-pattern-of-volumes",
            "swizzle/the-cpu-sees-the-pattern",
            "swizzle/the-cpu-writes-the-pattern",
        ],
    )
    .on("uma"),
    wrong(
        "texels of 2 bytes, and of no other size, lie in rows inside of tiles",
        lie!(resource, |request| {
            other_layout(
                request,
                D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
                request.desc.Format == DXGI_FORMAT_R16_UINT,
            );
        }),
        &["swizzle/a-buffer-sees-the-pattern", "swizzle/a-buffer-sees-the-pattern-of-volumes"],
    )
    .on("uma"),
    wrong(
        "texels of volumes lie in rows inside of tiles",
        lie!(resource, |request| {
            let is_volume = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
            other_layout(request, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, is_volume);
        }),
        &["swizzle/a-buffer-sees-the-pattern-of-volumes"],
    )
    .on("uma"),
    wrong(
        "multisampled textures are taken in standard swizzle",
        lie!(resource, |request| {
            other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, request.desc.SampleDesc.Count > 1);
        }),
        &["swizzle/several-samples-refused"],
    )
    .on("uma"),
    wrong(
        "textures of one dimension are taken in standard swizzle",
        lie!(resource, |request| {
            let is_line = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D;
            other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_line);
        }),
        &["swizzle/1d-refused"],
    )
    .on("uma"),
    wrong(
        "depth buffers are taken in standard swizzle",
        lie!(resource, |request| {
            let is_depth = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
            other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_depth);
        }),
        &["swizzle/depth-stencil-refused"],
    )
    .on("cache-coherent-uma"),
    wrong(
        "texels of 96 bits are taken in standard swizzle",
        lie!(resource, |request| {
            let is_96_bit = request.desc.Format == DXGI_FORMAT_R32G32B32_UINT;
            other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_96_bit);
        }),
        &["swizzle/96-bit-texels-refused"],
    )
    .on("uma"),
    wrong(
        "Map refuses the second mip of standard swizzle",
        lie!(map, |map| {
            if map.subresource == 1 && !map.start.is_null() {
                map.hresult = E_INVALIDARG;
            }
        }),
        &["swizzle/mips-are-mapped-apart"],
    )
    .on("uma"),
    wrong(
        "allocations of tiled textures are a tile too small",
        lie!(allocation, |descs, info| {
            if descs.iter().any(is_tiled) && is_valid(info) {
                info.SizeInBytes -= KIB_64;
            }
        }),
        &["layouts/allocation-covers-the-tiles", "swizzle/allocation-is-in-tiles"],
    )
    .on("uma"),
    wrong(
        "textures in tiles are aligned to 4 MiB",
        lie!(allocation, |descs, info| {
            if is_texture(descs) && descs.iter().any(is_tiled) && is_valid(info) {
                info.Alignment = 4 << 20;
            }
        }),
        &["layouts/tiled-alignment-is-64-kib", "swizzle/allocation-is-in-tiles"],
    )
    .on("uma"),
    wrong(
        "textures of one dimension are taken in tiles",
        lie!(resource, |request| {
            if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
                request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
            }
        }),
        &["layouts/tiled-1d-refused"],
    ),
    wrong(
        "SHARED_CROSS_ADAPTER alone counts as SHARED as well",
        lie!(heap, |desc| {
            if desc.Flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0 {
                desc.Flags |= D3D12_HEAP_FLAG_SHARED;
            }
        }),
        &["layouts/cross-adapter-heap-needs-shared"],
    ),
    wrong(
        "buffers lose ALLOW_CROSS_ADAPTER, which their heaps ask for",
        lie!(resource, |request| request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER),
        &["layouts/cross-adapter-buffer"],
    ),
    wrong(
        "heaps and resources forget that they are for several adapters",
        Lies {
            heap: Some(|desc| desc.Flags &= !D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER),
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
                }
            }),
            ..HONEST
        },
        &["layouts/cross-adapter-heap-and-buffer-need-each-other"],
    ),
    wrong(
        "textures in rows may have mips, slices and depth",
        lie!(resource, |request| {
            if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
                request.desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
                (request.desc.MipLevels, request.desc.DepthOrArraySize) = (1, 1);
            }
        }),
        &["layouts/row-major-is-one-image"],
    ),
];
