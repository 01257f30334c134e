//! Reserved resources: tiles, their mappings and their bytes.

use heapwright_d3d12::*;

use crate::answer::{Stop, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::commands;
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::context::Context;
use crate::desc::{KIB, buffer, buffer_heap, rgba};

const RESERVED: &str = "D3D12, ID3D12Device::CreateReservedResource";
const TILING: &str = "D3D12, ID3D12Device::GetResourceTiling";
const MAPPINGS: &str = "D3D12, ID3D12CommandQueue::UpdateTileMappings";

const YES: &[Need] = &[Need::TiledResources];
const TEXTURES: &[Need] = &[Need::TiledResources, Need::Textures];
const DIRECT: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_DIRECT;

/// A tile, in bytes.
const TILE: u64 = 64 * KIB;

pub(super) const CHECKS: &[Check] = &[
    check("tiles/reserved-buffer", RESERVED, YES, |ctx| {
        let resource = reserved_buffer(ctx, 16 * TILE)?;
        require_eq("Width", memory::desc(&resource).Width, 16 * TILE)?;
        let address = memory::address(&resource);
        require(address != 0 && address.is_multiple_of(TILE), || {
            format!("a reserved buffer is at {address:#x}")
        })?;
        Ok("16 tiles".to_owned())
    }),
    check("tiles/reserved-takes-no-memory", RESERVED, &[Need::TiledResources, Need::Adapter], |ctx| {
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let before = usage()?;
        let resource = reserved_buffer(ctx, 4096 * TILE)?;
        let during = usage()?;
        drop(resource);
        require(during < before + 2048 * TILE, || {
            format!("usage is {before} before and {during} with 256 MiB reserved")
        })?;
        Ok(format!("{before}, {during} with 256 MiB reserved"))
    }),
    check(
        "tiles/reserved-is-not-mapped-by-the-cpu",
        "UPLOAD, Detect modifications, reserved resources",
        YES,
        |ctx| {
            let resource = reserved_buffer(ctx, TILE)?;
            ctx.answer("Map", memory::map_raw(&resource, 0, None)).refused("a reserved resource")?;
            Ok("E_INVALIDARG".to_owned())
        },
    ),
    check("tiles/reserved-has-no-heap", "D3D12, ID3D12Resource::GetHeapProperties", YES, |ctx| {
        let resource = reserved_buffer(ctx, TILE)?;
        ctx.answer("GetHeapProperties", memory::heap_properties(&resource)).fails("a reserved resource")
    }),
    check("tiles/buffer-tiling", TILING, YES, |ctx| {
        let resource = reserved_buffer(ctx, 10 * TILE)?;
        let found = device::tiling(ctx.device(), &resource, 1);
        require_eq("tiles", found.tile_count, 10)?;
        require_eq(
            "tiles of the subresource",
            found.subresources.first().map(|one| one.WidthInTiles),
            Some(10),
        )?;
        Ok("10 tiles".to_owned())
    }),
    check("tiles/texture-tiling", TILING, TEXTURES, |ctx| {
        let resource = reserved_texture(ctx, &rgba(512, 256))?;
        let found = device::tiling(ctx.device(), &resource, 1);
        let shape = (found.shape.WidthInTexels, found.shape.HeightInTexels, found.shape.DepthInTexels);
        require_eq("texels of a tile", shape, (128, 128, 1))?;
        require_eq("tiles", found.tile_count, 8)?;
        Ok("8 tiles of 128 by 128".to_owned())
    }),
    check("tiles/texture-tiling-with-mips", TILING, TEXTURES, |ctx| {
        let desc = D3D12_RESOURCE_DESC { MipLevels: 10, ..rgba(512, 512) };
        let found = device::tiling(ctx.device(), &reserved_texture(ctx, &desc)?, 10);
        let levels = u32::from(found.packed.NumStandardMips) + u32::from(found.packed.NumPackedMips);
        require_eq("standard and packed levels", levels, 10)?;
        let standard: u32 = found
            .subresources
            .iter()
            .take(usize::from(found.packed.NumStandardMips))
            .map(|one| one.WidthInTiles * u32::from(one.HeightInTiles) * u32::from(one.DepthInTiles))
            .sum();
        require_eq("all tiles", found.tile_count, standard + found.packed.NumTilesForPackedMips)?;
        Ok(format!("{} tiles, {} of them packed", found.tile_count, found.packed.NumTilesForPackedMips))
    }),
    check("tiles/layout-of-a-reserved-texture", "D3D12, CreateReservedResource, Layout", TEXTURES, |ctx| {
        let state = D3D12_RESOURCE_STATE_COMMON;
        ctx.create_resource(Home::Reserved, &rgba(256, 256), state, None).refused("layout UNKNOWN")?;
        Ok("E_INVALIDARG".to_owned())
    }),
    check("tiles/mapped-tiles-hold-bytes", MAPPINGS, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 4 * TILE)?, tiles(ctx, 4)?);
        commands::map_tiles(&queue.queue, &resource, 0, 4, Some((&heap, 0)));
        let (source, target) = staging(ctx, 4)?;
        queue.run(|list| list.copy_resource(&resource, &source))?;
        queue.run(|list| list.copy_resource(&target, &resource))?;
        same(ctx, &source, &target, 4)
    }),
    check("tiles/mapping-is-where-it-says", MAPPINGS, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 2 * TILE)?, tiles(ctx, 4)?);
        commands::map_tiles(&queue.queue, &resource, 0, 1, Some((&heap, 3)));
        commands::map_tiles(&queue.queue, &resource, 1, 1, Some((&heap, 1)));
        let (source, target) = staging(ctx, 2)?;
        queue.run(|list| list.copy_resource(&resource, &source))?;
        let third = ctx.place(&heap, 3 * TILE, &buffer(TILE)).ok("tile 3 of the heap")?;
        let first = ctx.place(&heap, TILE, &buffer(TILE)).ok("tile 1 of the heap")?;
        queue.run(|list| {
            list.copy_buffer((&target, 0), (&third, 0), TILE);
            list.copy_buffer((&target, TILE), (&first, 0), TILE);
        })?;
        same(ctx, &source, &target, 2)
    }),
    check("tiles/tiles-may-share-memory", MAPPINGS, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 2 * TILE)?, tiles(ctx, 1)?);
        commands::map_tiles(&queue.queue, &resource, 0, 1, Some((&heap, 0)));
        commands::map_tiles(&queue.queue, &resource, 1, 1, Some((&heap, 0)));
        let (source, target) = staging(ctx, 1)?;
        queue.run(|list| list.copy_buffer((&resource, 0), (&source, 0), TILE))?;
        queue.run(|list| list.copy_buffer((&target, 0), (&resource, TILE), TILE))?;
        same(ctx, &source, &target, 1)
    }),
    check("tiles/unmapped-tiles-read-zero", "D3D12, D3D12_TILED_RESOURCES_TIER_2, null tiles", YES, |ctx| {
        if ctx.caps().tiled_resources_tier < 2 {
            return crate::answer::skipped("the tiled resources tier is 1: null tiles are undefined");
        }
        let (queue, resource) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, TILE)?);
        commands::map_tiles(&queue.queue, &resource, 0, 1, None);
        let (_, target) = staging(ctx, 1)?;
        ctx.map(&target).ok("a READBACK buffer")?.write(0, &[9; 64]);
        queue.run(|list| list.copy_resource(&target, &resource))?;
        require_eq("bytes", ctx.map(&target).ok("a READBACK buffer")?.read(0, 64), vec![0; 64])?;
        Ok("zero".to_owned())
    }),
    check("tiles/copied-mappings", "D3D12, ID3D12CommandQueue::CopyTileMappings", YES, |ctx| {
        let (queue, heap) = (ctx.queue(DIRECT)?, tiles(ctx, 2)?);
        let (first, second) = (reserved_buffer(ctx, 2 * TILE)?, reserved_buffer(ctx, 2 * TILE)?);
        commands::map_tiles(&queue.queue, &first, 0, 2, Some((&heap, 0)));
        commands::copy_tile_mappings(&queue.queue, &second, &first, 2);
        let (source, target) = staging(ctx, 2)?;
        queue.run(|list| list.copy_resource(&first, &source))?;
        queue.run(|list| list.copy_resource(&target, &second))?;
        same(ctx, &source, &target, 2)
    }),
    check("tiles/mappings-change-in-order", MAPPINGS, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, TILE)?, tiles(ctx, 2)?);
        let (source, target) = staging(ctx, 2)?;
        for tile in 0..2_u32 {
            commands::map_tiles(&queue.queue, &resource, 0, 1, Some((&heap, tile)));
            let offset = u64::from(tile) * TILE;
            queue.run(|list| list.copy_buffer((&resource, 0), (&source, offset), TILE))?;
        }
        let whole = ctx.place(&heap, 0, &buffer(2 * TILE)).ok("all of the heap")?;
        queue.run(|list| list.copy_resource(&target, &whole))?;
        same(ctx, &source, &target, 2)
    }),
    check("tiles/copied-tiles", "D3D12, CopyTiles", YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 4 * TILE)?, tiles(ctx, 4)?);
        commands::map_tiles(&queue.queue, &resource, 0, 4, Some((&heap, 0)));
        let (source, target) = staging(ctx, 2)?;
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        let from_tiles = D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER;
        queue.run(|list| list.copy_tiles(&resource, 1, 2, &source, to_tiles))?;
        queue.run(|list| list.copy_tiles(&resource, 1, 2, &target, from_tiles))?;
        same(ctx, &source, &target, 2)
    }),
];

fn reserved_buffer(ctx: &Context, width: u64) -> Result<ID3D12Resource, Stop> {
    ctx.create_resource(Home::Reserved, &buffer(width), D3D12_RESOURCE_STATE_COMMON, None)
        .ok(format!("{width} bytes"))
}

fn reserved_texture(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource, Stop> {
    let desc = D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..*desc };
    ctx.create_resource(Home::Reserved, &desc, D3D12_RESOURCE_STATE_COMMON, None).ok("64KB_UNDEFINED_SWIZZLE")
}

/// A heap of as many tiles.
fn tiles(ctx: &Context, count: u64) -> Result<ID3D12Heap, Stop> {
    ctx.create_heap(&buffer_heap(D3D12_HEAP_TYPE_DEFAULT, count * TILE)).ok(format!("{count} tiles"))
}

/// An UPLOAD buffer of tiles that differ, and a READBACK buffer as large.
fn staging(ctx: &Context, count: u64) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
    let source = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(count * TILE)).ok("tiles to copy")?;
    let target = ctx.commit(D3D12_HEAP_TYPE_READBACK, &buffer(count * TILE)).ok("room for tiles")?;
    let len = usize::try_from(count * TILE).unwrap_or(0);
    let bytes: Vec<u8> = (0..=250_u8).cycle().take(len).collect();
    ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &bytes);
    Ok((source, target))
}

fn same(
    ctx: &Context,
    source: &ID3D12Resource,
    target: &ID3D12Resource,
    count: u64,
) -> crate::answer::Verdict {
    let len = usize::try_from(count * TILE).unwrap_or(0);
    let (expected, found) =
        (ctx.map(source).ok("UPLOAD")?.read(0, len), ctx.map(target).ok("READBACK")?.read(0, len));
    let place = (0..len).find(|&place| expected[place] != found[place]);
    require(place.is_none(), || format!("byte {place:?} of {count} tiles differs"))?;
    Ok(format!("{count} tiles"))
}
