//! Devices with wrong standard swizzle or cross-adapter row-major layouts: which descriptions are valid,
//! and where texels lie.

use heapwright_d3d12::*;

use super::{HONEST, KIB_64, WrongDevice, field, is_buffer, is_texture, is_valid};
use crate::lies::{Lies, Request};

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
    WrongDevice {
        name: "standard-swizzle-cap-without-the-layout",
        what: "StandardSwizzle64KBSupported is TRUE, and the layout refused",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 10, 1)
            }),
            ..HONEST
        },
        caught_by: &["swizzle/the-cap-means-the-layout"],
    },
    WrongDevice {
        name: "standard-swizzle-without-the-cap",
        what: "StandardSwizzle64KBSupported is FALSE, and the layout taken",
        profile: "uma",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 10, 0)
            }),
            ..HONEST
        },
        caught_by: &["swizzle/the-cap-means-the-layout"],
    },
    WrongDevice {
        name: "standard-swizzle-is-linear-in-tiles",
        what: "standard swizzle is tiles whose texels lie in rows",
        profile: "uma",
        lies: Lies {
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
        caught_by: &[
            "swizzle/a-buffer-sees-the-pattern",
            "swizzle/a-buffer-sees-the-pattern-of-volumes",
            "swizzle/the-cpu-sees-the-pattern",
            "swizzle/the-cpu-writes-the-pattern",
        ],
    },
    WrongDevice {
        name: "standard-swizzle-not-of-2-bytes",
        what: "texels of 2 bytes, and of no other size, lie in rows inside of tiles",
        profile: "uma",
        lies: Lies {
            resource: Some(|request| {
                other_layout(
                    request,
                    D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
                    request.desc.Format == DXGI_FORMAT_R16_UINT,
                );
            }),
            ..HONEST
        },
        caught_by: &["swizzle/a-buffer-sees-the-pattern", "swizzle/a-buffer-sees-the-pattern-of-volumes"],
    },
    WrongDevice {
        name: "standard-swizzle-not-of-volumes",
        what: "texels of volumes lie in rows inside of tiles",
        profile: "uma",
        lies: Lies {
            resource: Some(|request| {
                let is_volume = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
                other_layout(request, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, is_volume);
            }),
            ..HONEST
        },
        caught_by: &["swizzle/a-buffer-sees-the-pattern-of-volumes"],
    },
    WrongDevice {
        name: "standard-swizzle-with-samples",
        what: "multisampled textures are taken in standard swizzle",
        profile: "uma",
        lies: Lies {
            resource: Some(|request| {
                other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, request.desc.SampleDesc.Count > 1);
            }),
            ..HONEST
        },
        caught_by: &["swizzle/several-samples-refused"],
    },
    WrongDevice {
        name: "standard-swizzle-of-lines",
        what: "textures of one dimension are taken in standard swizzle",
        profile: "uma",
        lies: Lies {
            resource: Some(|request| {
                let is_line = request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D;
                other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_line);
            }),
            ..HONEST
        },
        caught_by: &["swizzle/1d-refused"],
    },
    WrongDevice {
        name: "standard-swizzle-of-depth",
        what: "depth buffers are taken in standard swizzle",
        profile: "cache-coherent-uma",
        lies: Lies {
            resource: Some(|request| {
                let is_depth = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
                other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_depth);
            }),
            ..HONEST
        },
        caught_by: &["swizzle/depth-stencil-refused"],
    },
    WrongDevice {
        name: "standard-swizzle-of-12-bytes",
        what: "texels of 96 bits are taken in standard swizzle",
        profile: "uma",
        lies: Lies {
            resource: Some(|request| {
                let is_96_bit = request.desc.Format == DXGI_FORMAT_R32G32B32_UINT;
                other_layout(request, D3D12_TEXTURE_LAYOUT_UNKNOWN, is_96_bit);
            }),
            ..HONEST
        },
        caught_by: &["swizzle/96-bit-texels-refused"],
    },
    WrongDevice {
        name: "second-mip-not-mapped",
        what: "Map refuses the second mip of standard swizzle",
        profile: "uma",
        lies: Lies {
            map: Some(|map| {
                if map.subresource == 1 && !map.start.is_null() {
                    map.hresult = E_INVALIDARG;
                }
            }),
            ..HONEST
        },
        caught_by: &["swizzle/mips-are-mapped-apart"],
    },
    WrongDevice {
        name: "tiles-half-allocated",
        what: "allocations of tiled textures are a tile too small",
        profile: "uma",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.iter().any(is_tiled) && is_valid(info) {
                    info.SizeInBytes -= KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/allocation-covers-the-tiles", "swizzle/allocation-is-in-tiles"],
    },
    WrongDevice {
        name: "tiled-textures-aligned-to-4-mib",
        what: "textures in tiles are aligned to 4 MiB",
        profile: "uma",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) && descs.iter().any(is_tiled) && is_valid(info) {
                    info.Alignment = 4 << 20;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/tiled-alignment-is-64-kib", "swizzle/allocation-is-in-tiles"],
    },
    WrongDevice {
        name: "tiled-lines",
        what: "textures of one dimension are taken in tiles",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/tiled-1d-refused"],
    },
    WrongDevice {
        name: "cross-adapter-implies-shared",
        what: "SHARED_CROSS_ADAPTER alone counts as SHARED as well",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| {
                if desc.Flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0 {
                    desc.Flags |= D3D12_HEAP_FLAG_SHARED;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/cross-adapter-heap-needs-shared"],
    },
    WrongDevice {
        name: "cross-adapter-dropped",
        what: "buffers lose ALLOW_CROSS_ADAPTER, which their heaps ask for",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER),
            ..HONEST
        },
        caught_by: &["layouts/cross-adapter-buffer"],
    },
    WrongDevice {
        name: "cross-adapter-forgotten",
        what: "heaps and resources forget that they are for several adapters",
        profile: "discrete",
        lies: Lies {
            heap: Some(|desc| desc.Flags &= !D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER),
            resource: Some(|request| {
                if is_buffer(request) {
                    request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/cross-adapter-heap-and-buffer-need-each-other"],
    },
    WrongDevice {
        name: "row-major-mips",
        what: "textures in rows may have mips, slices and depth",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
                    request.desc.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
                    (request.desc.MipLevels, request.desc.DepthOrArraySize) = (1, 1);
                }
            }),
            ..HONEST
        },
        caught_by: &["layouts/row-major-is-one-image"],
    },
];
