//! Copies, resolves and clears between formats.

use heapwright_d3d12::*;

use super::commands::resolves;
use super::copies::{committed_for_copies, to_source};
use crate::answer::{Stop, each, require_eq, skipped};
use crate::check::{Check, Need, check};
use crate::com::commands::{CopyLocation, List};
use crate::com::{device, views};
use crate::context::Context;
use crate::desc::*;
use crate::queue::{pattern, read};
use crate::target::Target;

const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];
const BLOCKS: &str = "vkd3d-proton, test_copy_texture_bc_rgba";
const RESOLVE: &str = "Learn, ID3D12GraphicsCommandList::ResolveSubresource, Format";
const CLEAR: &str = "Learn, ID3D12GraphicsCommandList::ClearRenderTargetView";

/// Uncompressed formats, block formats of the same size, and the bytes of two texels or blocks.
const CASES: [(DXGI_FORMAT, DXGI_FORMAT, usize); 3] = [
    (DXGI_FORMAT_R32G32B32A32_UINT, DXGI_FORMAT_BC3_UNORM, 32),
    (DXGI_FORMAT_R32G32_UINT, DXGI_FORMAT_BC1_UNORM, 16),
    (DXGI_FORMAT_R16G16B16A16_FLOAT, DXGI_FORMAT_BC4_SNORM, 16),
];

pub(super) const CHECKS: &[Check] = &[
    check("formats/texels-become-blocks", BLOCKS, TEXTURES, |ctx| {
        let queue = ctx.queue(DIRECT)?;
        for (texels, blocks, row) in CASES {
            let (source, target) = (queue.upload(&pattern(512, 1))?, queue.readback(512)?);
            let (first, back) = (texture(ctx, texels, 2)?, texture(ctx, texels, 2)?);
            let compressed = texture(ctx, blocks, 8)?;
            queue.run(|list| {
                put(list, &first, &source, texels);
                list.copy_resource(&compressed, &first);
                to_source(list, &compressed);
                list.copy_resource(&back, &compressed);
                get(list, &target, &back, texels);
            })?;
            let found = read(&target, 512)?;
            for start in [0, 256] {
                let range = start..start + row;
                let what = format!("a row of format {texels} through format {blocks}");
                require_eq(what, &found[range.clone()], &pattern(512, 1)[range])?;
            }
        }
        Ok("2 by 2 texels are 8 by 8 of blocks, and back".to_owned())
    }),
    check("formats/a-block-becomes-a-texel", BLOCKS, TEXTURES, |ctx| {
        let queue = ctx.queue(DIRECT)?;
        each(CASES, |(texels, blocks, row)| {
            let (source, target) = (queue.upload(&pattern(512, 2))?, queue.readback(512)?);
            let (first, back) = (texture(ctx, texels, 2)?, texture(ctx, texels, 2)?);
            let compressed = texture(ctx, blocks, 8)?;
            let [first_at, block_at, back_at] =
                [&first, &compressed, &back].map(|texture| CopyLocation::Subresource(texture, 0));
            queue.run(|list| {
                put(list, &first, &source, texels);
                // The second texel of the first row, to the last block, and to the first texel of the second row.
                list.copy_texture_to(block_at, (4, 4, 0), first_at, Some(square(1, 0, 1)));
                to_source(list, &compressed);
                list.copy_texture_to(back_at, (0, 1, 0), block_at, Some(square(4, 4, 4)));
                get(list, &target, &back, texels);
            })?;
            let (found, half) = (read(&target, 512)?, row / 2);
            let what = format!("a texel of format {texels} through a block of format {blocks}");
            require_eq(what, &found[256..256 + half], &pattern(512, 2)[half..row])
        })
    }),
    check("formats/depth-of-24-bits", "vkd3d-proton, test_copy_texture_ds_edge_cases", TEXTURES, |ctx| {
        let format = DXGI_FORMAT_D24_UNORM_S8_UINT;
        let support = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
        let support = device::feature_of(ctx.device(), support).implemented()?;
        if !support.is_ok_and(|support| support.Support1 & D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL != 0) {
            return skipped("the device has no D24_UNORM_S8_UINT");
        }
        let queue = ctx.queue(DIRECT)?;
        let target = queue.readback(512)?;
        let color = DXGI_FORMAT_R32_FLOAT;
        let source = queue.upload(&1.5_f32.to_le_bytes().repeat(128))?;
        let first = texture(ctx, color, 2)?;
        let desc = with_format(depth_buffer(2, 2), format);
        let depth = committed_for_copies(ctx, &desc)?;
        queue.run(|list| {
            put(list, &first, &source, color);
            let [to, from] = [&depth, &first].map(|texture| CopyLocation::Subresource(texture, 0));
            list.copy_texture(to, from);
            get(list, &target, &depth, DXGI_FORMAT_R32_TYPELESS);
        })?;
        // 1.5 is 0x3fc00000.
        require_eq("a texel", &read(&target, 4)?[..], &0x00c0_0000_u32.to_le_bytes()[..])
    }),
    check("formats/clear-saturates-half-floats", CLEAR, TEXTURES, |ctx| {
        let desc = with_format(render_target(64, 8), DXGI_FORMAT_R16G16_FLOAT);
        let (target, queue) = (Target::new(ctx, &desc)?, ctx.queue(DIRECT)?);
        queue.run(|list| list.clear_target(target.view, [f32::MAX, 1.0, 0.0, 0.0], &[]))?;
        target.returns(ctx, &queue, |_, _| [0xff, 0x7b, 0x00, 0x3c])
    }),
    check("formats/resolve-between-unorm-and-srgb", RESOLVE, TEXTURES, |ctx| {
        let formats = [DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
        each(formats.into_iter().flat_map(|from| formats.map(|to| (from, to))), |(from, to)| {
            let source = with_format(multisampled(64, 8, 4), from);
            each(formats, |format| resolves(ctx, &source, to, format))
        })
    }),
    check("formats/resolve-of-depth", RESOLVE, TEXTURES, |ctx| {
        let source = with_samples(depth_buffer(64, 8), 4, 0);
        each([DXGI_FORMAT_D32_FLOAT, DXGI_FORMAT_R32_FLOAT], |format| {
            resolves(ctx, &source, DXGI_FORMAT_D32_FLOAT, format)
        })
    }),
    check("formats/read-only-aspects", "Learn, D3D12_DSV_FLAGS", TEXTURES, |ctx| {
        let desc = with_format(depth_buffer(4, 4), DXGI_FORMAT_D32_FLOAT_S8X24_UINT);
        let state = D3D12_RESOURCE_STATE_DEPTH_WRITE;
        let (queue, texture) = (ctx.queue(DIRECT)?, ctx.created(&desc, state)?);
        let mut heaps = Vec::new();
        let mut view = |flags| -> Result<_, Stop> {
            let heap = ctx.descriptors(D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
            let view = views::create_depth_view(ctx.device(), &texture, Some((desc.Format, flags)), &heap);
            heaps.push(heap);
            Ok(view)
        };
        let all = view(D3D12_DSV_FLAG_NONE)?;
        let (depth, stencil) =
            (view(D3D12_DSV_FLAG_READ_ONLY_DEPTH)?, view(D3D12_DSV_FLAG_READ_ONLY_STENCIL)?);
        let footprints = device::footprints(ctx.device(), &desc, 0, 2, 0);
        let len = usize::try_from(footprints.total).unwrap_or(0);
        let target = queue.readback(len)?;
        queue.run(|list| {
            list.clear_depth(all, 0.5, &[]);
            list.clear_stencil(all, 1);
            list.clear_stencil(depth, 2);
            list.clear_depth(stencil, 0.25, &[]);
            list.transition(&texture, state, COPY_SOURCE);
            for (plane, &layout) in (0..).zip(&footprints.layouts) {
                let to = CopyLocation::Footprint(&target, layout);
                list.copy_texture(to, CopyLocation::Subresource(&texture, plane));
            }
        })?;
        let found = read(&target, len)?;
        let start = usize::try_from(footprints.layouts[1].Offset).unwrap_or(0);
        let clears = "cleared through views whose other aspect is read-only";
        require_eq(format!("depth {clears}"), &found[..4], &0.25_f32.to_le_bytes()[..])?;
        require_eq(format!("stencil {clears}"), found[start], 2)
    }),
];

/// Creates a square texture in COPY_DEST.
fn texture(ctx: &Context, format: DXGI_FORMAT, side: u32) -> Result<ID3D12Resource, Stop> {
    committed_for_copies(ctx, &texture2d(format, side.into(), side))
}

fn square(left: u32, top: u32, side: u32) -> D3D12_BOX {
    D3D12_BOX { left, top, front: 0, right: left + side, bottom: top + side, back: 1 }
}

/// Returns a footprint of 2 by 2 texels in rows of 256 bytes.
fn rows(format: DXGI_FORMAT) -> D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
    let footprint =
        D3D12_SUBRESOURCE_FOOTPRINT { Format: format, Width: 2, Height: 2, Depth: 1, RowPitch: 256 };
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT { Offset: 0, Footprint: footprint }
}

/// Copies 2 by 2 texels from a buffer to a texture, and transitions the texture to COPY_SOURCE.
fn put(list: &List, texture: &ID3D12Resource, buffer: &ID3D12Resource, format: DXGI_FORMAT) {
    let from = CopyLocation::Footprint(buffer, rows(format));
    list.copy_texture(CopyLocation::Subresource(texture, 0), from);
    to_source(list, texture);
}

/// Copies 2 by 2 texels to a buffer from a texture in COPY_DEST.
fn get(list: &List, buffer: &ID3D12Resource, texture: &ID3D12Resource, format: DXGI_FORMAT) {
    to_source(list, texture);
    let to = CopyLocation::Footprint(buffer, rows(format));
    list.copy_texture(to, CopyLocation::Subresource(texture, 0));
}
