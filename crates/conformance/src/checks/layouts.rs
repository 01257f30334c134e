//! Layouts that are more than the driver's choice: 64 KiB tiles, and rows for sharing between adapters.

use heapwright_d3d12::*;

use crate::answer::{Verdict, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::commands::CopyLocation;
use crate::com::device::{self, Home};
use crate::context::Context;
use crate::desc::{KIB, buffer, properties, render_target, rgba, texture2d, volume, with_flags};

const LAYOUT: &str = "D3D12, D3D12_TEXTURE_LAYOUT";
const CROSS_ADAPTER: &str = "D3D12, D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER";

const TILED: &[Need] = &[Need::TiledResources, Need::Textures];
const VOLUMES: &[Need] = &[Need::TiledVolumes, Need::Textures];
const ROW_MAJOR: &[Need] = &[Need::CrossAdapterRowMajor, Need::Textures];

const ACROSS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
const TILE: u64 = 64 * KIB;

pub(super) const CHECKS: &[Check] = &[
    check("layouts/tiled-textures-are-taken", LAYOUT, TILED, |ctx| {
        let block = texture2d(DXGI_FORMAT_BC7_UNORM, 256, 256);
        for (what, desc) in
            [("a texture", rgba(256, 256)), ("a render target", render_target(256, 256)), ("blocks", block)]
        {
            ctx.commit(D3D12_HEAP_TYPE_DEFAULT, &tiled(desc)).ok(what)?;
        }
        Ok("64KB_UNDEFINED_SWIZZLE".to_owned())
    }),
    check("layouts/tiled-1d-refused", LAYOUT, TILED, |ctx| {
        let desc = D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..rgba(256, 1) };
        refused(ctx, &tiled(desc), "a TEXTURE1D")
    }),
    check("layouts/tiled-96-bit-texels-refused", LAYOUT, TILED, |ctx| {
        refused(ctx, &tiled(texture2d(DXGI_FORMAT_R32G32B32_FLOAT, 256, 256)), "R32G32B32_FLOAT")
    }),
    check("layouts/tiled-small-alignment-refused", LAYOUT, TILED, |ctx| {
        refused(ctx, &D3D12_RESOURCE_DESC { Alignment: 4 * KIB, ..tiled(rgba(16, 16)) }, "4 KiB")
    }),
    check("layouts/tiled-alignment-is-64-kib", LAYOUT, TILED, |ctx| {
        for (width, height) in [(1, 1), (128, 128), (300, 200)] {
            let found = ctx.valid_allocation("64KB_UNDEFINED_SWIZZLE", &tiled(rgba(width, height)))?;
            require_eq(format!("Alignment of {width} by {height}"), found.alignment, TILE)?;
        }
        Ok("64 KiB".to_owned())
    }),
    check(
        "layouts/allocation-covers-the-tiles",
        "D3D12, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, contiguous 64 KiB regions; ALIAS, extra memory",
        TILED,
        |ctx| {
            // More is allowed: data of the driver's own, beside render targets above all. How mips are packed is the adapter's
            // affair, so there is one.
            let mut found = Vec::new();
            for desc in [rgba(512, 512), render_target(512, 512), render_target(1000, 300)] {
                let desc = D3D12_RESOURCE_DESC { MipLevels: 1, ..tiled(desc) };
                let state = D3D12_RESOURCE_STATE_COMMON;
                let reserved = ctx.create_resource(Home::Reserved, &desc, state, None).ok("its tiles")?;
                let tiles = u64::from(device::tiling(ctx.device(), &reserved, 1).tile_count) * TILE;
                let size = ctx.valid_allocation("64KB_UNDEFINED_SWIZZLE", &desc)?.size;
                require(size >= tiles, || format!("{size} bytes for {tiles} bytes of tiles"))?;
                found.push(format!("{size} of {tiles}"));
            }
            Ok(found.join(", "))
        },
    ),
    check("layouts/volumes-in-tiles-need-tier-3", "D3D12, D3D12_TILED_RESOURCES_TIER_3", TILED, |ctx| {
        let desc = tiled(volume(64, 64, 64));
        let answer = ctx.commit(D3D12_HEAP_TYPE_DEFAULT, &desc);
        if ctx.caps().tiled_resources_tier >= 3 {
            answer.ok("a TEXTURE3D on tier 3")?;
            return Ok("taken".to_owned());
        }
        answer.refused("a TEXTURE3D below tier 3")?;
        Ok("E_INVALIDARG".to_owned())
    })
    .validates(),
    check("layouts/volume-tiles", "D3D12, Volume Tiled Resources", VOLUMES, |ctx| {
        let desc = tiled(volume(64, 64, 64));
        let state = D3D12_RESOURCE_STATE_COMMON;
        let reserved = ctx.create_resource(Home::Reserved, &desc, state, None).ok("a TEXTURE3D")?;
        let found = device::tiling(ctx.device(), &reserved, 1);
        let shape = (found.shape.WidthInTexels, found.shape.HeightInTexels, found.shape.DepthInTexels);
        require_eq("texels of a tile", shape, (32, 32, 16))?;
        require_eq("tiles", found.tile_count, 16)?;
        Ok("16 tiles of 32 by 32 by 16".to_owned())
    }),
    check("layouts/tiled-cross-adapter-refused", LAYOUT, TILED, |ctx| {
        let desc = with_flags(tiled(rgba(256, 256)), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        ctx.commit_with(&properties(D3D12_HEAP_TYPE_DEFAULT), ACROSS, &desc)
            .refused("ALLOW_CROSS_ADAPTER")?;
        Ok("E_INVALIDARG".to_owned())
    }),
    check("layouts/row-major-is-one-image", LAYOUT, ROW_MAJOR, |ctx| {
        let heap = properties(D3D12_HEAP_TYPE_DEFAULT);
        ctx.commit_with(&heap, ACROSS, &row_major(rgba(64, 64))).ok("one image")?;
        let broken = [
            ("two mips", D3D12_RESOURCE_DESC { MipLevels: 2, ..rgba(64, 64) }),
            ("two slices", D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..rgba(64, 64) }),
            ("a volume", volume(64, 64, 4)),
        ];
        for (what, desc) in broken {
            ctx.commit_with(&heap, ACROSS, &row_major(desc)).refused(what)?;
        }
        Ok("one taken, 3 refused".to_owned())
    })
    .validates(),
    check("layouts/row-major-keeps-texels", LAYOUT, ROW_MAJOR, |ctx| {
        let heap = properties(D3D12_HEAP_TYPE_DEFAULT);
        let texture = ctx.commit_with(&heap, ACROSS, &row_major(rgba(64, 40))).ok("64 by 40")?;
        let bytes: Vec<u8> = (0..=250_u8).cycle().take(64 * 40 * 4).collect();
        let source = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(64 * 40 * 4)).ok("texels to copy")?;
        let target = ctx.commit(D3D12_HEAP_TYPE_READBACK, &buffer(64 * 40 * 4)).ok("room for texels")?;
        ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &bytes);
        let rows =
            |buffer| CopyLocation::Footprint(buffer, rows(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 40, 1], 256));
        let (image, queue) =
            (CopyLocation::Subresource(&texture, 0), ctx.queue(D3D12_COMMAND_LIST_TYPE_DIRECT)?);
        queue.run(|list| list.copy_texture(image, (0, 0, 0), rows(&source), None))?;
        queue.run(|list| list.copy_texture(rows(&target), (0, 0, 0), image, None))?;
        let found = ctx.map(&target).ok("a READBACK buffer")?.read(0, bytes.len());
        require(found == bytes, || "other texels arrived".to_owned())?;
        Ok("64 by 40".to_owned())
    }),
    check("layouts/cross-adapter-buffer", CROSS_ADAPTER, &[], |ctx| {
        let crossing = with_flags(buffer(TILE), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        let shared = ctx.create_heap(&across(ACROSS)).ok("SHARED_CROSS_ADAPTER")?;
        ctx.place(&shared, 0, &crossing).ok("both flags")?;
        Ok("in a heap of its kind".to_owned())
    }),
    check("layouts/cross-adapter-heap-needs-shared", CROSS_ADAPTER, &[], |ctx| {
        let desc = across(D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
        ctx.create_heap(&desc).refused("SHARED_CROSS_ADAPTER without SHARED")?;
        ctx.create_heap(&across(ACROSS)).ok("with SHARED")?;
        Ok("E_INVALIDARG without SHARED".to_owned())
    })
    .validates(),
    check("layouts/cross-adapter-heap-and-buffer-need-each-other", CROSS_ADAPTER, &[], |ctx| {
        let crossing = with_flags(buffer(TILE), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        let shared = ctx.create_heap(&across(ACROSS)).ok("SHARED_CROSS_ADAPTER")?;
        let plain = ctx.create_heap(&across(D3D12_HEAP_FLAG_NONE)).ok("no sharing")?;
        ctx.place(&shared, 0, &crossing).ok("both flags")?;
        ctx.place(&plain, 0, &crossing).refused("ALLOW_CROSS_ADAPTER alone")?;
        Ok("both flags, or none".to_owned())
    })
    .validates(),
    check("layouts/cross-adapter-memory-is-not-the-cpus", CROSS_ADAPTER, &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            let desc = D3D12_HEAP_DESC { Properties: properties(heap_type), ..across(ACROSS) };
            ctx.create_heap(&desc).refused("memory that the CPU can reach")?;
        }
        Ok("E_INVALIDARG for UPLOAD and READBACK".to_owned())
    })
    .validates(),
];

/// The same in tiles.
fn tiled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..desc }
}

/// The same in rows, for several adapters.
fn row_major(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    let desc = D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR, ..desc };
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER)
}

/// A heap for buffers, one tile.
fn across(flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_DESC {
    let heap = crate::desc::buffer_heap(D3D12_HEAP_TYPE_DEFAULT, TILE);
    D3D12_HEAP_DESC { Flags: heap.Flags | flags, ..heap }
}

fn refused(ctx: &Context, desc: &D3D12_RESOURCE_DESC, what: &str) -> Verdict {
    ctx.commit(D3D12_HEAP_TYPE_DEFAULT, desc).refused(what)?;
    Ok("E_INVALIDARG".to_owned())
}

/// Rows of texels from the beginning of a buffer on.
pub(super) fn rows(
    format: DXGI_FORMAT,
    [width, height, depth]: [u32; 3],
    pitch: u32,
) -> D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
    let footprint = D3D12_SUBRESOURCE_FOOTPRINT {
        Format: format,
        Width: width,
        Height: height,
        Depth: depth,
        RowPitch: pitch,
    };
    D3D12_PLACED_SUBRESOURCE_FOOTPRINT { Offset: 0, Footprint: footprint }
}
