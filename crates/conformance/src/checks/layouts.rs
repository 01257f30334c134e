//! Texture layouts other than UNKNOWN: 64 KiB tiles, and row-major textures shared between adapters.

use heapwright_d3d12::*;

use crate::answer::{each, ensure, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::commands::CopyLocation;
use crate::com::device::{self, Home};
use crate::desc::*;

const LAYOUT: &str = "Learn, D3D12_TEXTURE_LAYOUT";
const CROSS_ADAPTER: &str = "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER";
const REGIONS: &str = "Learn, D3D12_TEXTURE_LAYOUT, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, contiguous 64 KiB regions; ALIAS, extra memory";
const TIER_3: &str = "Learn, D3D12_TILED_RESOURCES_TIER, D3D12_TILED_RESOURCES_TIER_3";

const TILED: &[Need] = &[Need::TiledResources, Need::Textures];
const VOLUMES: &[Need] = &[Need::TiledVolumes, Need::Textures];
const ROW_MAJOR: &[Need] = &[Need::CrossAdapterRowMajor, Need::Textures];

const ACROSS: D3D12_HEAP_FLAGS = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
const TILE: u64 = 64 * KIB;

pub(super) const CHECKS: &[Check] = &[
    check("layouts/tiled-textures-are-taken", LAYOUT, TILED, |ctx| {
        let block = texture2d(DXGI_FORMAT_BC7_UNORM, 256, 256);
        each(
            [("a texture", rgba(256, 256)), ("a render target", render_target(256, 256)), ("blocks", block)],
            |(what, desc)| ctx.commit(DEFAULT, &tiled(desc)).holds_bytes(what),
        )
    }),
    check("layouts/tiled-1d-refused", LAYOUT, TILED, |ctx| {
        let desc = D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..rgba(256, 1) };
        ctx.commit(DEFAULT, &tiled(desc)).refused("a TEXTURE1D")
    }),
    check("layouts/tiled-96-bit-texels-refused", LAYOUT, TILED, |ctx| {
        ctx.commit(DEFAULT, &tiled(texture2d(DXGI_FORMAT_R32G32B32_FLOAT, 256, 256)))
            .refused("R32G32B32_FLOAT")
    }),
    check("layouts/tiled-small-alignment-refused", LAYOUT, TILED, |ctx| {
        ctx.commit(DEFAULT, &aligned(tiled(rgba(16, 16)), 4 * KIB)).refused("4 KiB")
    }),
    check("layouts/tiled-alignment-is-64-kib", LAYOUT, TILED, |ctx| {
        each([(1, 1), (128, 128), (300, 200)], |(width, height)| {
            let found = ctx.valid_allocation("64KB_UNDEFINED_SWIZZLE", &tiled(rgba(width, height)))?;
            require_eq(format!("Alignment of {width} by {height}"), found.alignment, TILE)
        })
    }),
    check("layouts/allocation-covers-the-tiles", REGIONS, TILED, |ctx| {
        // More is allowed: data of the driver's own, beside render targets above all. How mips are packed is the
        // adapter's affair, so there is one.
        let mut found = Vec::new();
        for desc in [rgba(512, 512), render_target(512, 512), render_target(1000, 300)] {
            let desc = with_mips(tiled(desc), 1);
            let state = COMMON;
            let reserved = ctx.create_resource(Home::Reserved, &desc, state, None).ok("its tiles")?;
            let tiles = u64::from(device::tiling(ctx.device(), &reserved, 1).tile_count) * TILE;
            let size = ctx.valid_allocation("64KB_UNDEFINED_SWIZZLE", &desc)?.size;
            ensure!(size >= tiles, "SizeInBytes {size} is less than {tiles} bytes of tiles");
            found.push(format!("{size} of {tiles}"));
        }
        Ok(found.join(", "))
    }),
    validation("layouts/volumes-in-tiles-need-tier-3", TIER_3, TILED, |ctx| {
        let desc = tiled(volume(64, 64, 64));
        let answer = ctx.commit(DEFAULT, &desc);
        if ctx.caps().tiled_resources_tier >= 3 {
            answer.ok("a TEXTURE3D on tier 3")?;
            return Ok("taken".to_owned());
        }
        answer.refused("a TEXTURE3D below tier 3")
    }),
    check("layouts/volume-tiles", "Learn, Volume tiled resources", VOLUMES, |ctx| {
        let desc = tiled(volume(64, 64, 64));
        let state = COMMON;
        let reserved = ctx.create_resource(Home::Reserved, &desc, state, None).ok("a TEXTURE3D")?;
        let found = device::tiling(ctx.device(), &reserved, 1);
        let shape = (found.shape.WidthInTexels, found.shape.HeightInTexels, found.shape.DepthInTexels);
        require_eq("texels of a tile", shape, (32, 32, 16))?;
        require_eq("tiles", found.tile_count, 16)
    }),
    check("layouts/tiled-cross-adapter-refused", LAYOUT, TILED, |ctx| {
        let desc = with_flags(tiled(rgba(256, 256)), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        ctx.commit_with(&properties(DEFAULT), ACROSS, &desc).refused("ALLOW_CROSS_ADAPTER")
    }),
    validation("layouts/row-major-is-one-image", LAYOUT, ROW_MAJOR, |ctx| {
        let heap = properties(DEFAULT);
        ctx.commit_with(&heap, ACROSS, &row_major(rgba(64, 64))).ok("one image")?;
        let broken = [
            ("two mips", with_mips(rgba(64, 64), 2)),
            ("two slices", with_slices(rgba(64, 64), 2)),
            ("a volume", volume(64, 64, 4)),
        ];
        each(broken, |(what, desc)| ctx.commit_with(&heap, ACROSS, &row_major(desc)).refused(what))
    }),
    check("layouts/row-major-keeps-texels", LAYOUT, ROW_MAJOR, |ctx| {
        let heap = properties(DEFAULT);
        let texture = ctx.commit_with(&heap, ACROSS, &row_major(rgba(64, 40))).ok("64 by 40")?;
        let bytes: Vec<u8> = (0..=250_u8).cycle().take(64 * 40 * 4).collect();
        let source = ctx.commit(UPLOAD, &buffer(64 * 40 * 4)).holds_bytes("texels to copy")?;
        let target = ctx.commit(READBACK, &buffer(64 * 40 * 4)).holds_bytes("a READBACK buffer")?;
        ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &bytes);
        let rows =
            |buffer| CopyLocation::Footprint(buffer, rows(DXGI_FORMAT_R8G8B8A8_UNORM, [64, 40, 1], 256));
        let (image, queue) = (CopyLocation::Subresource(&texture, 0), ctx.queue(DIRECT)?);
        queue.run(|list| list.copy_texture(image, rows(&source)))?;
        queue.run(|list| list.copy_texture(rows(&target), image))?;
        let found = ctx.map(&target).ok("a READBACK buffer")?.read(0, bytes.len());
        ensure!(found == bytes, "the copied texels differ from the source");
        Ok("64 by 40".to_owned())
    }),
    check("layouts/cross-adapter-buffer", CROSS_ADAPTER, &[], |ctx| {
        let crossing = with_flags(buffer(TILE), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        let shared = ctx.create_heap(&across(ACROSS)).ok("SHARED_CROSS_ADAPTER")?;
        ctx.place(&shared, 0, &crossing).holds_bytes("both flags")?;
        Ok("a heap and a buffer".to_owned())
    }),
    validation("layouts/cross-adapter-heap-needs-shared", CROSS_ADAPTER, &[], |ctx| {
        let desc = across(D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
        ctx.create_heap(&desc).refused("SHARED_CROSS_ADAPTER without SHARED")?;
        ctx.create_heap(&across(ACROSS)).taken("with SHARED")
    }),
    validation("layouts/cross-adapter-heap-and-buffer-need-each-other", CROSS_ADAPTER, &[], |ctx| {
        let crossing = with_flags(buffer(TILE), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
        let shared = ctx.create_heap(&across(ACROSS)).ok("SHARED_CROSS_ADAPTER")?;
        let plain = ctx.create_heap(&across(D3D12_HEAP_FLAG_NONE)).ok("no sharing")?;
        ctx.place(&shared, 0, &crossing).holds_bytes("both flags")?;
        ctx.place(&plain, 0, &crossing).refused("ALLOW_CROSS_ADAPTER alone")
    }),
    validation("layouts/cross-adapter-memory-is-not-the-cpus", CROSS_ADAPTER, &[], |ctx| {
        each([UPLOAD, READBACK], |heap_type| {
            let desc = D3D12_HEAP_DESC { Properties: properties(heap_type), ..across(ACROSS) };
            ctx.create_heap(&desc).refused("CPU-accessible memory")
        })
    }),
];

/// `desc` with layout 64KB_UNDEFINED_SWIZZLE.
fn tiled(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_layout(desc, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE)
}

/// `desc` as a row-major cross-adapter texture.
fn row_major(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    let desc = with_layout(desc, D3D12_TEXTURE_LAYOUT_ROW_MAJOR);
    with_flags(desc, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER)
}

/// A heap of one tile for buffers.
fn across(flags: D3D12_HEAP_FLAGS) -> D3D12_HEAP_DESC {
    let heap = buffer_heap(DEFAULT, TILE);
    D3D12_HEAP_DESC { Flags: heap.Flags | flags, ..heap }
}

/// Returns a footprint at the beginning of a buffer.
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
