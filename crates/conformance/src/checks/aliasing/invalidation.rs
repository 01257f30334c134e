//! Section I: invalidation and initialisation of contents.

use heapwright_d3d12::*;

use super::{MIXED_TILED, TILED, WITH_TEXTURES};
use crate::answer::{Stop, Verdict, require_eq, skipped};
use crate::check::{Check, Need, scene};
use crate::com::commands::List;
use crate::desc::*;
use crate::scene::{
    ALL, GRANULE, RED, RED_TEXEL, SHARED, Scene, TARGETS, TEXTURES, square, tall, target, tiled,
};

const INVALID: &str = "ALIAS, After a resource is accessed";
const WRITES: &str = "Learn, Memory Aliasing and Data Inheritance, writes to invalidated resources";
const INITIALISE: &str = "Learn, ID3D12Device::CreatePlacedResource, initialisation";
const TILES: &str = "ALIAS, Tile-initialization";
const SCOPE: &str = "ALIAS, Overlapping invalidations";
const HIDDEN: &str = "ALIAS, extra memory";
const DISCARD: &str = "Learn, ID3D12GraphicsCommandList::DiscardResource";
const MAPPINGS: &str = "Learn, ID3D12CommandQueue::UpdateTileMappings";

/// Needs of checks with row-major textures and buffers in one heap.
const ROWS: &[Need] = &[Need::Textures, Need::Footprints, Need::HeapTier2, Need::CrossAdapterRowMajor];

/// A box of one texel.
const TEXEL: [u32; 4] = [0, 0, 1, 1];

pub(in crate::checks) const CHECKS: &[Check] = &[
    scene("aliasing/i-1-elsewhere-stays-valid", INVALID, WITH_TEXTURES, |scene| {
        let heap = scene.heap(2, TEXTURES)?;
        let one = scene.place(&heap, 0, &square(), COPY_DEST)?;
        let other = scene.place(&heap, 1, &tall(), COPY_DEST)?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.run(|list| scene.write(list, &other, 0))?;
        scene.run(|list| read(scene, list, &one))?;
        scene.carried(&one, 0)
    }),
    scene("aliasing/i-2-valid-is-read", INVALID, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.run(|list| scene.write(list, &other, 0))?;
        scene.run(|list| read(scene, list, &other))?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/i-3-partial-write-of-a-texture", WRITES, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| scene.write(list, &other, 0))?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.run(|list| {
            scene.write_box(list, &other, 0, [0, 0, 32, 32]);
        })?;
        scene.returns_box(&other, 0, COPY_DEST, [0, 0, 32, 32])
    }),
    scene("aliasing/i-3-whole-write-of-a-render-target", WRITES, WITH_TEXTURES, |scene| {
        let other = invalid_target(scene)?;
        scene.run(|list| {
            scene.write(list, &other, 0);
            list.transition(&other, COPY_DEST, COPY_SOURCE);
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/i-4-clear-first", INITIALISE, WITH_TEXTURES, |scene| {
        let (texture, view) = cleared_target(scene, &target(square()))?;
        scene.run(|list| {
            list.clear_target(view, RED, &[]);
            list.transition(&texture, RENDER_TARGET, COPY_SOURCE);
            scene.read(list, &texture, 0);
        })?;
        require_eq("texels", scene.brought(4)?, RED_TEXEL.to_vec())
    }),
    scene("aliasing/i-3-a-part-of-an-invalid-texture", INITIALISE, WITH_TEXTURES, |scene| {
        // The reference asks for whole subresources of render targets and depth stencils alone.
        let (one, other) = scene.strangers()?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.run(|list| scene.write(list, &other, 0))?;
        scene.run(|list| scene.write_box(list, &one, 0, TEXEL))?;
        scene.returns_box(&one, 0, COPY_DEST, TEXEL)
    }),
    scene("aliasing/i-5-barrier-then-clear", INITIALISE, WITH_TEXTURES, |scene| {
        let (texture, view) = cleared_target(scene, &target(square()))?;
        scene.run(|list| {
            list.alias(None, Some(&texture));
            list.clear_target(view, RED, &[]);
        })?;
        scene.returns_color(&texture, 0, RENDER_TARGET, RED_TEXEL)
    }),
    scene("aliasing/i-6-a-tile-of-a-tiled-layout", TILES, TILED, |scene| {
        let heap = scene.heap(16, TARGETS)?;
        let texture = scene.place(&heap, 0, &tiled(target(rgba(256, 256))), COPY_DEST)?;
        scene.run(|list| {
            scene.write_box(list, &texture, 0, [128, 0, 256, 128]);
        })?;
        scene.returns_box(&texture, 0, COPY_DEST, [128, 0, 256, 128])
    }),
    scene("aliasing/i-7-each-mip-is-cleared", INITIALISE, WITH_TEXTURES, |scene| {
        let (texture, views) = two_mips(scene)?;
        scene.run(|list| views.into_iter().for_each(|view| list.clear_target(view, RED, &[])))?;
        scene.returns_color(&texture, 0, RENDER_TARGET, RED_TEXEL)?;
        scene.returns_color(&texture, 1, COPY_SOURCE, RED_TEXEL)
    }),
    scene("aliasing/i-8-discard-then-write", DISCARD, WITH_TEXTURES, |scene| {
        let (texture, _) = cleared_target(scene, &target(square()))?;
        scene.run(|list| {
            list.discard(&texture, None);
            list.transition(&texture, RENDER_TARGET, COPY_DEST);
            scene.write_box(list, &texture, 0, [0, 0, 32, 32]);
        })?;
        scene.returns_box(&texture, 0, COPY_DEST, [0, 0, 32, 32])
    }),
    scene("aliasing/i-9-tiles-beside-stay-valid", SCOPE, MIXED_TILED, |scene| {
        // The buffer overlaps the second of two tiles.
        let heap = scene.heap(8, ALL)?;
        let texture = scene.place(&heap, 0, &tiled(rgba(256, 128)), COPY_DEST)?;
        let bytes = scene.place(&heap, 1, &buffer(GRANULE), COMMON)?;
        scene.run(|list| {
            scene.write(list, &texture, 0);
            list.transition(&texture, COPY_DEST, COMMON);
        })?;
        scene.run(|list| scene.write(list, &bytes, 0))?;
        scene.returns_part(&texture, 0, COMMON, [0, 0, 128, 128])
    }),
    scene("aliasing/i-10-slice-1-of-the-example", SCOPE, MIXED_TILED, |scene| {
        let texture = example(scene, (0, 100))?;
        scene.returns_texels(&texture, 1, COMMON, [0, 0, 256, 128], RED_TEXEL)
    }),
    scene("aliasing/i-10-a-tile-of-the-example-is-copied", SCOPE, MIXED_TILED, |scene| {
        let texture = example(scene, (100, 1))?;
        scene.run(|list| {
            list.transition(&texture, COMMON, COPY_DEST);
            scene.write_box(list, &texture, 1, [0, 0, 128, 128]);
        })?;
        scene.returns_box(&texture, 1, COPY_DEST, [0, 0, 128, 128])?;
        scene.returns_texels(&texture, 1, COPY_SOURCE, [128, 0, 256, 128], RED_TEXEL)
    }),
    scene("aliasing/i-11-behind-the-allocation", HIDDEN, MIXED_TILED, |scene| {
        let desc = tiled(target(rgba(512, 512)));
        buffer_behind(scene, ALL, &desc, D3D12_RESOURCE_FLAG_NONE)
    }),
    scene("aliasing/i-11-rows-with-nothing-in-their-hidden-memory", HIDDEN, ROWS, |scene| {
        let across = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
        let rows = with_layout(target(rgba(512, 512)), D3D12_TEXTURE_LAYOUT_ROW_MAJOR);
        let flags = ALL | SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
        buffer_behind(scene, flags, &with_flags(rows, across), across)
    }),
    scene("aliasing/i-11-mips-before-the-packed-ones", HIDDEN, MIXED_TILED, |scene| {
        let texture = packed_mips(scene, &rgba(256, 256), 4)?;
        scene.run(|list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read(list, &texture, 0);
        })?;
        scene.carried(&texture, 0)
    }),
    scene("aliasing/i-14-new-tile-is-copied-whole", MAPPINGS, TILED, |scene| {
        let texture = remapped(scene)?;
        scene.run(|list| {
            scene.write_box(list, &texture, 0, [0, 0, 128, 128]);
        })?;
        scene.returns_box(&texture, 0, COPY_DEST, [0, 0, 128, 128])
    }),
];

/// Transitions a texture from COPY_DEST to COPY_SOURCE and reads it.
fn read(scene: &Scene<'_>, list: &List, texture: &ID3D12Resource) {
    list.transition(texture, COPY_DEST, COPY_SOURCE);
    scene.read(list, texture, 0);
}

/// Creates a render target in COPY_DEST whose contents an overlapping texture has invalidated.
fn invalid_target(scene: &Scene<'_>) -> Result<ID3D12Resource, Stop> {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST))?;
    scene.run(|list| scene.write(list, &other, 0))?;
    scene.run(|list| scene.write(list, &one, 0))?;
    Ok(other)
}

/// Creates a render target in state RENDER_TARGET with a view.
fn cleared_target(
    scene: &Scene<'_>,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<(ID3D12Resource, D3D12_CPU_DESCRIPTOR_HANDLE), Stop> {
    let heap = scene.heap(8, TARGETS)?;
    let texture = scene.place(&heap, 0, desc, RENDER_TARGET)?;
    let view = scene.target_view(&texture, 0, 0)?;
    Ok((texture, view))
}

/// Creates a render target of two mip levels with a view of each.
fn two_mips(scene: &Scene<'_>) -> Result<(ID3D12Resource, [D3D12_CPU_DESCRIPTOR_HANDLE; 2]), Stop> {
    let desc = with_mips(target(square()), 2);
    let (texture, view) = cleared_target(scene, &desc)?;
    let second = scene.target_view(&texture, 1, 0)?;
    Ok((texture, [view, second]))
}

/// Sets up the example of document ALIAS: clears the second of two slices, of 100 tiles each, of a render target,
/// leaves it in COMMON, and writes a byte in each granule of a buffer over some of its tiles.
fn example(scene: &Scene<'_>, (first_tile, tile_count): (u64, u64)) -> Result<ID3D12Resource, Stop> {
    let desc = tiled(with_slices(target(rgba(1280, 1280)), 2));
    let heap = scene.heap(300, ALL)?;
    let texture = scene.place(&heap, 0, &desc, RENDER_TARGET)?;
    let bytes = scene.place(&heap, first_tile, &buffer(tile_count * GRANULE), COMMON)?;
    let view = scene.target_view(&texture, 0, 1)?;
    scene.run(|list| {
        list.clear_target(view, RED, &[]);
        list.transition(&texture, RENDER_TARGET, COMMON);
    })?;
    scene.run(|list| {
        for tile in 0..tile_count {
            list.copy_buffer((&bytes, tile * GRANULE), (scene.source(), 0), 1);
        }
    })?;
    Ok(texture)
}

/// Clears a render target with hidden memory, writes a buffer behind its allocation, and reads the render target.
fn buffer_behind(
    scene: &Scene<'_>,
    heap_flags: D3D12_HEAP_FLAGS,
    desc: &D3D12_RESOURCE_DESC,
    buffer_flags: D3D12_RESOURCE_FLAGS,
) -> Verdict {
    let size = scene.ctx.valid_allocation("1 MiB of texels", desc)?.size;
    if size == 16 * GRANULE {
        return skipped("the device has no hidden memory behind render targets");
    }
    let heap = scene.heap(size / GRANULE + 1, heap_flags)?;
    let texture = scene.place(&heap, 0, desc, RENDER_TARGET)?;
    let bytes = scene.place_at(&heap, size, &with_flags(buffer(GRANULE), buffer_flags), COMMON, None)?;
    let view = scene.target_view(&texture, 0, 0)?;
    scene.run(|list| {
        list.clear_target(view, RED, &[]);
        list.transition(&texture, RENDER_TARGET, COMMON);
    })?;
    scene.run(|list| scene.write(list, &bytes, 0))?;
    scene.returns_texels(&texture, 0, COMMON, [256, 384, 512, 512], RED_TEXEL)
}

/// Writes a tiled texture of 3 mips, leaves it in COMMON, and writes a byte of a buffer over one of its tiles.
fn packed_mips(scene: &Scene<'_>, desc: &D3D12_RESOURCE_DESC, tile: u64) -> Result<ID3D12Resource, Stop> {
    let desc = with_mips(tiled(*desc), 3);
    let heap = scene.heap(16, ALL)?;
    let texture = scene.place(&heap, 0, &desc, COPY_DEST)?;
    let bytes = scene.place(&heap, tile, &buffer(GRANULE), COMMON)?;
    scene.run(|list| {
        for mip in 0..3 {
            scene.write(list, &texture, mip);
        }
        list.transition(&texture, COPY_DEST, COMMON);
    })?;
    scene.run(|list| scene.write_bytes(list, &bytes, 0, 1))?;
    Ok(texture)
}

/// Creates a valid reserved render target of one tile in COPY_DEST and maps its tile to other memory.
fn remapped(scene: &Scene<'_>) -> Result<ID3D12Resource, Stop> {
    let heap = scene.heap(4, TARGETS)?;
    let texture = scene.reserve(&tiled(target(square())), COPY_DEST)?;
    scene.map_tiles(&texture, 1, &heap, 0);
    scene.run(|list| scene.write(list, &texture, 0))?;
    scene.map_tiles(&texture, 1, &heap, 2);
    Ok(texture)
}
