//! Devices with wrong descriptions, sizes and placement of textures.

use heapwright_d3d12::*;

use super::{HONEST, KIB_4, KIB_64, TIGHT, WrongDevice, is_buffer, is_texture, is_valid, tight_alignment};
use crate::lies::{Lies, Map};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "flags-follow-the-format",
        what: "sRGB textures take no unordered access, though their family does",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let is_unordered = request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0;
                if is_unordered && request.desc.Format == DXGI_FORMAT_R8G8B8A8_UNORM_SRGB {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/flags-of-the-family"],
    },
    WrongDevice {
        name: "small-textures-at-512",
        what: "small textures with Alignment 4 KiB are aligned to 512 bytes",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.iter().any(|desc| desc.Alignment == KIB_4) && is_valid(info) {
                    info.Alignment = 512;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/small-alignment"],
    },
    WrongDevice {
        name: "everything-is-small",
        what: "large textures and render targets are small resources",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) && descs.iter().any(|desc| desc.Alignment == KIB_4) {
                    *info = D3D12_RESOURCE_ALLOCATION_INFO { SizeInBytes: 1 << 20, Alignment: KIB_4 };
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/large-is-not-small", "texture/render-target-is-not-small"],
    },
    WrongDevice {
        name: "tight-textures-above-the-maximum",
        what: "tight textures are aligned to 128 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) {
                    tight_alignment(2 * KIB_64, descs, info);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/texture-alignment-max", "tight/small-texture-alignment-max"],
    },
    WrongDevice {
        name: "small-textures-worse-than-without",
        what: "tight small textures are aligned to 64 KiB, without the flag to 4 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if is_texture(descs) {
                    tight_alignment(KIB_64, descs, info);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/never-worse-for-small-textures", "tight/small-texture-alignment-max"],
    },
    WrongDevice {
        name: "samples-forgotten",
        what: "multisampled textures take what one sample takes",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.SampleDesc.Count == 4 {
                    desc.SampleDesc.Count = 1;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/size-holds-the-texels"],
    },
    WrongDevice {
        name: "three-samples",
        what: "a texture of 3 samples is made, of 4",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.SampleDesc.Count == 3 {
                    request.desc.SampleDesc.Count = 4;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/sample-count-refused"],
    },
    WrongDevice {
        name: "swizzle-layouts-are-tight",
        what: "the flag is taken beside 64KB_UNDEFINED_SWIZZLE and 64KB_STANDARD_SWIZZLE",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Flags & TIGHT != 0 && !is_buffer(request) {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/undefined-swizzle-refused", "tight/standard-swizzle-refused"],
    },
    WrongDevice {
        name: "mip-levels-clamped",
        what: "mip levels beyond the full chain are left out",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if !is_buffer(request) && request.desc.MipLevels > 6 && request.desc.Width == 32 {
                    request.desc.MipLevels = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/mips-beyond-the-chain"],
    },
    WrongDevice {
        name: "mip-levels-stay-0",
        what: "GetDesc answers MipLevels 0 for a full chain",
        profile: "discrete",
        lies: Lies {
            desc: Some(|desc| {
                if desc.MipLevels > 1 {
                    desc.MipLevels = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/mip-levels-0-is-the-full-chain", "texture/desc-round-trip"],
    },
    WrongDevice {
        name: "both-attachments",
        what: "a texture may be a render target and a depth buffer",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                let both = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                if request.desc.Flags & both == both {
                    request.desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/render-target-and-depth-refused"],
    },
    WrongDevice {
        name: "row-major-for-all",
        what: "ROW_MAJOR is taken without ALLOW_CROSS_ADAPTER",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if !is_buffer(request) && request.desc.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR {
                    request.desc.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/row-major-alone-refused"],
    },
    WrongDevice {
        name: "textures-in-upload",
        what: "textures are made in UPLOAD heaps, which are DEFAULT ones",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if let (false, Some(home)) = (is_buffer(request), &mut request.properties) {
                    home.Type = D3D12_HEAP_TYPE_DEFAULT;
                    request.state = D3D12_RESOURCE_STATE_COMMON;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/upload-refused", "texture/readback-refused"],
    },
    WrongDevice {
        name: "render-targets-anywhere",
        what: "render targets may be placed in heaps that deny them",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.place.is_some() {
                    let attachments =
                        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
                    if request.desc.Flags & attachments != 0 {
                        request.desc = D3D12_RESOURCE_DESC {
                            Flags: 0,
                            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
                            ..request.desc
                        };
                    }
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/render-target-in-a-texture-heap-refused"],
    },
    WrongDevice {
        name: "textures-have-addresses",
        what: "GetGPUVirtualAddress of a texture is not 0",
        profile: "discrete",
        lies: Lies {
            address: Some(
                |desc, address| {
                    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER { address } else { 1 << 32 }
                },
            ),
            ..HONEST
        },
        caught_by: &["texture/has-no-gpu-address"],
    },
    WrongDevice {
        name: "opaque-textures-have-pointers",
        what: "Map of an opaque texture discloses a pointer",
        profile: "discrete",
        lies: Lies {
            map: Some(|map: &mut Map| {
                if map.hresult.is_err() && map.address == 0 {
                    (map.hresult, map.start) = (S_OK, map.elsewhere);
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/texture-maps-without-a-pointer", "texture/is-not-mapped-in-default"],
    },
    WrongDevice {
        name: "no-1d",
        what: "1D textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/1d", "texture/1d-array", "copies/texture-1d"],
    },
    WrongDevice {
        name: "no-3d",
        what: "3D textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/3d", "copies/texture-3d"],
    },
    WrongDevice {
        name: "no-block-compression",
        what: "BC1 is refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Format == DXGI_FORMAT_BC1_UNORM {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/block-compressed", "copies/texture-of-blocks"],
    },
    WrongDevice {
        name: "no-typeless",
        what: "typeless formats are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Format == DXGI_FORMAT_R8G8B8A8_TYPELESS {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/typeless"],
    },
    WrongDevice {
        name: "no-multisampling",
        what: "multisampled textures are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.SampleDesc.Count == 4 {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/multisampled"],
    },
    WrongDevice {
        name: "no-depth",
        what: "depth buffers are refused",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0 {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/depth-buffer", "texture/depth-stencil", "copies/clear-depth"],
    },
    WrongDevice {
        name: "no-placed-msaa",
        what: "multisampled textures are refused in heaps",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.SampleDesc.Count > 1 && request.place.is_some() {
                    request.desc.Width = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &["texture/msaa-in-a-4-mib-heap"],
    },
];
