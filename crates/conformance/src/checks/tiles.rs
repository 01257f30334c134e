//! Reserved resources: tilings, tile mappings and copies of tiles.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, each, ensure, require, require_address, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::commands::{self, TileUpdate, tile_at, tile_run};
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::context::Context;
use crate::desc::*;
use crate::queue::{Queue, read};

const RESERVED: &str = "Learn, ID3D12Device::CreateReservedResource";
const TILING: &str = "Learn, ID3D12Device::GetResourceTiling";
const MAPPINGS: &str = "Learn, ID3D12CommandQueue::UpdateTileMappings";
const NOT_MAPPED: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps, reserved resources";
const TIER_2: &str = "Learn, D3D12_TILED_RESOURCES_TIER, D3D12_TILED_RESOURCES_TIER_2, null tiles";
const SHAPE: &str = "Learn, Texture2D and Texture2DArray subresource tiling";
const NO_DIRECTION: &str = "observed on Windows, CopyTiles with D3D12_TILE_COPY_FLAG_NONE";
const TEXTURE_LAYOUT: &str = "Learn, ID3D12Device::CreateReservedResource, Layout";
const NULL: &str = "Learn, D3D12_TILE_RANGE_FLAGS, D3D12_TILE_RANGE_FLAG_NULL";
const REUSE: &str = "Learn, D3D12_TILE_RANGE_FLAGS, D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE";
const SKIP: &str = "Learn, D3D12_TILE_RANGE_FLAGS, D3D12_TILE_RANGE_FLAG_SKIP";
const OVERLAP: &str = "Learn, ID3D12CommandQueue::CopyTileMappings, overlap";
const TIER_3: &str = "Learn, D3D12_TILED_RESOURCES_TIER, D3D12_TILED_RESOURCES_TIER_3";
const TIER_4: &str = "Learn, D3D12_TILED_RESOURCES_TIER, D3D12_TILED_RESOURCES_TIER_4";
const COPY: &str = "Learn, ID3D12GraphicsCommandList::CopyTiles";

const YES: &[Need] = &[Need::TiledResources];
const TEXTURES: &[Need] = &[Need::TiledResources, Need::Textures];
const NULL_TILES: &[Need] = &[Need::NullTiles];

/// Size of a tile, in bytes.
const TILE: u64 = 64 * KIB;

/// Size of a tile in mapped memory, in bytes.
const BYTES: usize = 65_536;

pub(super) const CHECKS: &[Check] = &[
    check("tiles/reserved-buffer", RESERVED, YES, |ctx| {
        let resource = reserved_buffer(ctx, 16 * TILE)?;
        require_eq("Width", memory::desc(&resource).Width, 16 * TILE)?;
        require_address("a reserved buffer", memory::address(&resource), TILE)?;
        Ok("16 tiles".to_owned())
    }),
    check("tiles/reserved-takes-no-memory", RESERVED, &[Need::TiledResources, Need::Adapter], |ctx| {
        let usage = || super::upload::usage(ctx, DXGI_MEMORY_SEGMENT_GROUP_LOCAL);
        let before = usage()?;
        let resource = reserved_buffer(ctx, 4096 * TILE)?;
        let during = usage()?;
        drop(resource);
        require(during < before + 2048 * TILE, || {
            format!("usage rises by {} with 256 MiB reserved", during.saturating_sub(before))
        })
    }),
    validation("tiles/reserved-is-not-mapped-by-the-cpu", NOT_MAPPED, YES, |ctx| {
        let resource = reserved_buffer(ctx, TILE)?;
        memory::map_raw(&resource, 0, None).refused("a reserved resource")
    }),
    validation("tiles/reserved-has-no-heap", "Learn, ID3D12Resource::GetHeapProperties", YES, |ctx| {
        let resource = reserved_buffer(ctx, TILE)?;
        memory::heap_properties(&resource).fails("a reserved resource")
    }),
    check("tiles/buffer-tiling", TILING, YES, |ctx| {
        each([10 * TILE, 9 * TILE + 1], |width| {
            let found = device::tiling(ctx.device(), &reserved_buffer(ctx, width)?, 1);
            let of_subresource = found.subresources.first().map(|one| one.WidthInTiles);
            let tiles = (found.tile_count, of_subresource);
            require_eq(format!("tiles of {width} bytes, and of its subresource"), tiles, (10, Some(10)))
        })
    }),
    check("tiles/texture-tiling", TILING, TEXTURES, |ctx| {
        let resource = reserved_texture(ctx, &rgba(512, 256))?;
        let found = device::tiling(ctx.device(), &resource, 1);
        let shape = (found.shape.WidthInTexels, found.shape.HeightInTexels, found.shape.DepthInTexels);
        require_eq("texels of a tile", shape, (128, 128, 1))?;
        require_eq("tiles", found.tile_count, 8)
    }),
    check("tiles/texture-tiling-with-mips", TILING, TEXTURES, |ctx| {
        let desc = with_mips(rgba(512, 512), 10);
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
    validation("tiles/layout-of-a-reserved-texture", TEXTURE_LAYOUT, TEXTURES, |ctx| {
        let state = COMMON;
        ctx.create_resource(Home::Reserved, &rgba(256, 256), state, None).refused("layout UNKNOWN")
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
    check("tiles/unmapped-tiles-read-zero", TIER_2, NULL_TILES, |ctx| {
        let (queue, resource) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, TILE)?);
        commands::map_tiles(&queue.queue, &resource, 0, 1, None);
        let (_, target) = staging(ctx, 1)?;
        ctx.map(&target).ok("a READBACK buffer")?.write(0, &[9; 64]);
        queue.run(|list| list.copy_resource(&target, &resource))?;
        require_eq("bytes", ctx.map(&target).ok("a READBACK buffer")?.read(0, 64), vec![0; 64])
    }),
    check("tiles/copied-mappings", "Learn, ID3D12CommandQueue::CopyTileMappings", YES, |ctx| {
        let (queue, heap) = (ctx.queue(DIRECT)?, tiles(ctx, 2)?);
        let (first, second) = (reserved_buffer(ctx, 2 * TILE)?, reserved_buffer(ctx, 2 * TILE)?);
        commands::map_tiles(&queue.queue, &first, 0, 2, Some((&heap, 0)));
        commands::copy_tile_mappings(&queue.queue, (&second, 0), (&first, 0), 2);
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
    check("tiles/null-tiles-drop-writes", TIER_2, NULL_TILES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 2 * TILE)?, tiles(ctx, 1)?);
        commands::map_tiles(&queue.queue, &resource, 0, 1, None);
        commands::map_tiles(&queue.queue, &resource, 1, 1, Some((&heap, 0)));
        let (source, target) = staging(ctx, 2)?;
        queue.run(|list| list.copy_resource(&resource, &source))?;
        queue.run(|list| list.copy_resource(&target, &resource))?;
        let zero = ctx.map(&target).ok("READBACK")?.read(0, BYTES).iter().all(|&byte| byte == 0);
        ensure!(zero, "the write to a null tile was not discarded");
        let expected = ctx.map(&source).ok("UPLOAD")?.read(BYTES, BYTES);
        let found = ctx.map(&target).ok("READBACK")?.read(BYTES, BYTES);
        ensure!(found == expected, "the mapped tile differs from the source");
        Ok("zero, and the other tile's bytes".to_owned())
    }),
    check("tiles/mapped-tiles-become-null", NULL, NULL_TILES, |ctx| {
        let tiles = Marked::new(ctx)?;
        // Neither a heap nor offsets are needed.
        let null = TileUpdate {
            starts: Some(&[tile_at(1)]),
            flags: Some(&[D3D12_TILE_RANGE_FLAG_NULL]),
            ..TileUpdate::default()
        };
        tiles.map(&[tiles.whole(&[1]), null], [1, 0, 3, 4])
    }),
    check("tiles/one-tile-everywhere", REUSE, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        let flags = Some(&[D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE][..]);
        tiles.map(&[TileUpdate { flags, ..tiles.whole(&[1]) }], [1; 4])
    }),
    check("tiles/skipped-tiles-stay", SKIP, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        let (none, skip) = (D3D12_TILE_RANGE_FLAG_NONE, D3D12_TILE_RANGE_FLAG_SKIP);
        let flags = Some(&[none, skip, none][..]);
        let partly = TileUpdate { flags, counts: Some(&[1, 2, 1]), ..tiles.whole(&[7, 0, 5]) };
        tiles.map(&[tiles.whole(&[0]), partly], [7, 1, 2, 5])
    }),
    check("tiles/null-arrays-have-defaults", MAPPINGS, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        // Without regions all tiles; without flags, and with a single range, tiles of the heap in a row.
        tiles.map(&[tiles.whole(&[2])], [2, 3, 4, 5])?;
        // Starts without sizes are single tiles, and so are ranges without counts.
        let single = TileUpdate { starts: Some(&[tile_at(3), tile_at(0)]), ..tiles.whole(&[6, 7]) };
        tiles.map(&[single], [7, 3, 4, 6])?;
        // Sizes without a start begin at the first tile.
        tiles.map(&[TileUpdate { sizes: Some(&[tile_run(2)]), ..tiles.whole(&[0]) }], [0, 1, 4, 6])
    }),
    check("tiles/later-regions-win", MAPPINGS, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        let starts = Some(&[tile_at(0), tile_at(2)][..]);
        let sizes = Some(&[tile_run(4), tile_run(2)][..]);
        tiles.map(&[TileUpdate { starts, sizes, ..tiles.whole(&[0]) }], [0, 1, 4, 5])
    }),
    check("tiles/ranges-cross-regions", MAPPINGS, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        let starts = Some(&[tile_at(3), tile_at(0)][..]);
        let sizes = Some(&[tile_run(1), tile_run(3)][..]);
        let counts = Some(&[2, 2][..]);
        tiles.map(&[TileUpdate { starts, sizes, counts, ..tiles.whole(&[2, 6]) }], [3, 6, 7, 2])
    }),
    check("tiles/overlapping-mappings-are-copied", OVERLAP, YES, |ctx| {
        let tiles = Marked::new(ctx)?;
        tiles.map(&[tiles.whole(&[0])], [0, 1, 2, 3])?;
        for (to, from, expected) in [(1, 0, [0, 0, 1, 2]), (0, 1, [0, 1, 2, 2])] {
            let (to, from) = ((&tiles.resource, to), (&tiles.resource, from));
            commands::copy_tile_mappings(&tiles.queue.queue, to, from, 3);
            tiles.map(&[], expected)?;
        }
        Ok("moved up and down".to_owned())
    }),
    validation("tiles/the-tier-means-volumes", TIER_3, TEXTURES, |ctx| {
        by_tier(ctx, &volume(64, 64, 64), 3, "a TEXTURE3D")
    }),
    validation("tiles/the-tier-means-packed-arrays", TIER_4, TEXTURES, |ctx| {
        by_tier(
            ctx,
            &D3D12_RESOURCE_DESC { MipLevels: 9, DepthOrArraySize: 2, ..rgba(256, 256) },
            4,
            "packed mips",
        )
    }),
    check("tiles/arrays-of-standard-mips", RESERVED, TEXTURES, |ctx| {
        let desc = D3D12_RESOURCE_DESC { MipLevels: 2, DepthOrArraySize: 3, ..rgba(256, 256) };
        let found = device::tiling(ctx.device(), &reserved_texture(ctx, &desc)?, 6);
        require_eq("packed mips", found.packed.NumPackedMips, 0)?;
        require_eq("tiles", found.tile_count, 3 * 5)
    }),
    check("tiles/standard-shapes", SHAPE, TEXTURES, |ctx| {
        each(SHAPES, |(format, width, height)| {
            let found =
                device::tiling(ctx.device(), &reserved_texture(ctx, &texture2d(format, 512, 512))?, 1);
            let shape = (found.shape.WidthInTexels, found.shape.HeightInTexels, found.shape.DepthInTexels);
            require_eq(format!("texels of a tile of DXGI_FORMAT {format}"), shape, (width, height, 1))?;
            require_eq("tiles", found.tile_count, 512 * 512 / (width * height))
        })
    }),
    check("tiles/shapes-with-samples", SHAPE, TEXTURES, |ctx| {
        let mut found = Vec::new();
        for (count, width, height) in [(2, 64, 128), (4, 64, 64), (8, 32, 64)] {
            let levels = D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS {
                Format: DXGI_FORMAT_R8G8B8A8_UNORM,
                SampleCount: count,
                Flags: D3D12_MULTISAMPLE_QUALITY_LEVELS_FLAG_TILED_RESOURCE,
                NumQualityLevels: 0,
            };
            if device::feature_of(ctx.device(), levels).ok("tiled")?.NumQualityLevels == 0 {
                continue;
            }
            let desc = multisampled(256, 256, count);
            let tiling = device::tiling(ctx.device(), &reserved_texture(ctx, &desc)?, 1);
            let shape = (tiling.shape.WidthInTexels, tiling.shape.HeightInTexels);
            require_eq(format!("texels of a tile with {count} samples"), shape, (width, height))?;
            require_eq("tiles", tiling.tile_count, 4 * count)?;
            found.push(count.to_string());
        }
        if found.is_empty() {
            return crate::answer::skipped("the device has no multisampled tiled resources");
        }
        Ok(format!("{} samples", found.join(", ")))
    }),
    check("tiles/copied-tiles", COPY, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 4 * TILE)?, tiles(ctx, 4)?);
        commands::map_tiles(&queue.queue, &resource, 0, 4, Some((&heap, 0)));
        let (source, target) = staging(ctx, 2)?;
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        let from_tiles = D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER;
        queue.run(|list| list.copy_tiles(&resource, 1, 2, &source, to_tiles))?;
        queue.run(|list| list.copy_tiles(&resource, 1, 2, &target, from_tiles))?;
        same(ctx, &source, &target, 2)
    }),
    check("tiles/copied-without-a-direction", NO_DIRECTION, YES, |ctx| {
        let (queue, resource, heap) = (ctx.queue(DIRECT)?, reserved_buffer(ctx, 2 * TILE)?, tiles(ctx, 2)?);
        commands::map_tiles(&queue.queue, &resource, 0, 2, Some((&heap, 0)));
        let (source, target) = staging(ctx, 2)?;
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        queue.run(|list| list.copy_tiles(&resource, 0, 2, &source, to_tiles))?;
        queue.run(|list| list.copy_tiles(&resource, 0, 2, &target, D3D12_TILE_COPY_FLAG_NONE))?;
        same(ctx, &source, &target, 2)
    }),
];

/// The standard tile shapes: format, width and height in texels.
const SHAPES: [(DXGI_FORMAT, u32, u32); 8] = [
    (DXGI_FORMAT_R8_UNORM, 256, 256),
    (DXGI_FORMAT_R8G8_UNORM, 256, 128),
    (DXGI_FORMAT_R8G8B8A8_UNORM, 128, 128),
    (DXGI_FORMAT_R16G16B16A16_FLOAT, 128, 64),
    (DXGI_FORMAT_R32G32B32A32_FLOAT, 64, 64),
    (DXGI_FORMAT_BC1_UNORM, 512, 256),
    (DXGI_FORMAT_BC3_UNORM, 256, 256),
    (DXGI_FORMAT_BC7_UNORM, 256, 256),
];

/// A reserved buffer of 4 tiles, and a heap of 8 tiles that begin with their indices.
struct Marked {
    queue: Queue,
    resource: ID3D12Resource,
    heap: ID3D12Heap,
}

impl Marked {
    fn new(ctx: &Context) -> Result<Self, Stop> {
        let (queue, heap) = (ctx.queue(DIRECT)?, tiles(ctx, 8)?);
        let whole = ctx.place(&heap, 0, &buffer(8 * TILE)).ok("all of the heap")?;
        let marks: Vec<u8> = (0..8).flat_map(|tile| [tile; BYTES]).collect();
        let source = queue.upload(&marks)?;
        queue.run(|list| list.copy_resource(&whole, &source))?;
        Ok(Self { queue, resource: reserved_buffer(ctx, 4 * TILE)?, heap })
    }

    /// Returns an update of all tiles from tiles of the heap on.
    fn whole<'a>(&'a self, heap_tiles: &'a [u32]) -> TileUpdate<'a> {
        TileUpdate { heap: Some(&self.heap), heap_tiles: Some(heap_tiles), ..TileUpdate::default() }
    }

    /// Fails the check unless each tile of the buffer maps to the expected tile of the heap after the updates; null
    /// tiles have 0.
    fn map(&self, updates: &[TileUpdate<'_>], expected: [u8; 4]) -> Verdict {
        for update in updates {
            commands::update_tiles(&self.queue.queue, &self.resource, update);
        }
        let target = self.queue.readback(4 * BYTES)?;
        self.queue.run(|list| list.copy_resource(&target, &self.resource))?;
        let found = read(&target, 4 * BYTES)?;
        require_eq("tiles of the heap", [0, 1, 2, 3].map(|tile: usize| found[tile * BYTES]), expected)
    }
}

/// Fails the check unless a reserved texture is accepted exactly from this tiled resources tier on.
fn by_tier(ctx: &Context, desc: &D3D12_RESOURCE_DESC, tier: i32, what: &str) -> Verdict {
    let desc = with_layout(*desc, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE);
    let answer = ctx.create_resource(Home::Reserved, &desc, COMMON, None);
    let found = ctx.caps().tiled_resources_tier;
    if found >= tier {
        answer.ok(format!("{what} on tier {found}"))?;
        return Ok("taken".to_owned());
    }
    answer.refused(format!("{what} on tier {found}"))
}

fn reserved_buffer(ctx: &Context, width: u64) -> Result<ID3D12Resource, Stop> {
    ctx.create_resource(Home::Reserved, &buffer(width), COMMON, None).ok(format!("{width} bytes"))
}

fn reserved_texture(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource, Stop> {
    let desc = with_layout(*desc, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE);
    ctx.create_resource(Home::Reserved, &desc, COMMON, None).ok("64KB_UNDEFINED_SWIZZLE")
}

/// Creates a heap of `count` tiles.
fn tiles(ctx: &Context, count: u64) -> Result<ID3D12Heap, Stop> {
    ctx.create_heap(&buffer_heap(DEFAULT, count * TILE)).ok(format!("{count} tiles"))
}

/// Creates an UPLOAD buffer of different tiles and a READBACK buffer of the same size.
fn staging(ctx: &Context, count: u64) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
    let source = ctx.commit(UPLOAD, &buffer(count * TILE)).ok("tiles to copy")?;
    let target = ctx.commit(READBACK, &buffer(count * TILE)).ok("a READBACK buffer")?;
    let len = usize::try_from(count * TILE).unwrap_or(0);
    let bytes: Vec<u8> = (0..=250_u8).cycle().take(len).collect();
    ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &bytes);
    Ok((source, target))
}

fn same(ctx: &Context, source: &ID3D12Resource, target: &ID3D12Resource, count: u64) -> Verdict {
    let len = usize::try_from(count * TILE).unwrap_or(0);
    let (expected, found) =
        (ctx.map(source).ok("UPLOAD")?.read(0, len), ctx.map(target).ok("READBACK")?.read(0, len));
    let place = (0..len).find(|&place| expected[place] != found[place]);
    ensure!(place.is_none(), "byte {place:?} of {count} tiles differs from the source");
    Ok(format!("{count} tiles"))
}
