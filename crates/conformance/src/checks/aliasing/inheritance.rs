//! Section H: inheritance of data between resources that share memory.

use heapwright_d3d12::*;

use super::{TILED, WITH_TEXTURES};
use crate::answer::{Stop, Verdict, ensure, require_eq, skipped};
use crate::check::{Check, Need, scene};
use crate::com::barriers::Barrier;
use crate::desc::*;
use crate::scene::{
    ALL, BUFFERS, GRANULE, RED, RED_TEXEL, Rect, SHARED, Scene, TARGETS, TEXTURES, square, target, tiled,
};

const ALIAS: &str = "ALIAS, Data Inheritance";
const STATES: &str = "ALIAS, Data Inheritance, compatible states";
const SWIZZLE: &str = "ALIAS, standard swizzle";
const HIDDEN: &str = "ALIAS, extra memory";

const SWIZZLED: &[Need] = &[Need::Textures, Need::Footprints, Need::HeapTier2, Need::StandardSwizzle];

pub(in crate::checks) const CHECKS: &[Check] = &[
    scene("aliasing/h-1-other-initial-state", ALIAS, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES | SHARED, (&square(), COPY_DEST), (&square(), COPY_SOURCE))?;
        scene.run(|list| list.transition(&other, COPY_SOURCE, COMMON))?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/h-1-same-clear-value", ALIAS, WITH_TEXTURES, |scene| {
        let heap = scene.heap(8, TARGETS | SHARED)?;
        let desc = target_square();
        let clear = D3D12_CLEAR_VALUE { Format: desc.Format, Anonymous: D3D12_CLEAR_VALUE_0 { Color: RED } };
        let one = scene.place_at(&heap, 0, &desc, COPY_DEST, Some(&clear))?;
        let other = scene.place_at(&heap, 0, &desc, COMMON, Some(&clear))?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/h-2-tiles-in-a-heap-that-is-not-shared", ALIAS, TILED, |scene| {
        inherits(scene, &Hand { from: tiled_square, to: tiled_square, ..HAND })
    }),
    scene("aliasing/h-2-buffers", ALIAS, &[], |scene| {
        let heap = scene.heap(2, BUFFERS)?;
        let one = scene.place(&heap, 0, &buffer(2 * GRANULE), COMMON)?;
        let other = scene.place(&heap, 1, &buffer(GRANULE), COMMON)?;
        scene.run(|list| scene.write_bytes(list, &one, GRANULE, GRANULE))?;
        scene.run(|list| list.copy_buffer((scene.back(), GRANULE), (&other, 0), GRANULE))?;
        ensure!(scene.granule_came(1)?, "the copied bytes differ from the source");
        Ok("64 KiB".to_owned())
    }),
    scene("aliasing/h-3-tile-in-both", ALIAS, TILED, |scene| {
        let [one, other] = reserved_pair(scene, &tiled_square())?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/h-3-tile-of-another-index", ALIAS, TILED, |scene| {
        let heap = scene.heap(4, TEXTURES)?;
        let one = scene.reserve(&tiled_square(), COPY_DEST)?;
        let other = scene.reserve(&tiled(rgba(256, 128)), COMMON)?;
        scene.map_tiles(&one, 1, &heap, 1);
        scene.map_tiles(&other, 2, &heap, 0);
        hand_over_tile(scene, &one, &other, [128, 0, 256, 128])?;
        scene.carried(&one, 0)
    }),
    scene("aliasing/h-3-placed-tile-of-another-index", ALIAS, TILED, |scene| {
        // Placed textures inherit no less than reserved ones.
        let heap = scene.heap(4, TEXTURES)?;
        let one = scene.place(&heap, 1, &tiled_square(), COPY_DEST)?;
        let other = scene.place(&heap, 0, &tiled(rgba(256, 128)), COMMON)?;
        hand_over_tile(scene, &one, &other, [128, 0, 256, 128])?;
        scene.carried(&one, 0)
    }),
    scene("aliasing/h-4-simultaneous-access", STATES, WITH_TEXTURES, |scene| {
        inherits(
            scene,
            &Hand {
                flags: TEXTURES | SHARED,
                from: simultaneous,
                to: simultaneous,
                leaves: COPY_SOURCE,
                ..HAND
            },
        )
    }),
    scene("aliasing/h-5-tiles-in-common", STATES, TILED, |scene| {
        // Not the same description: what is in the tile is, and both are in COMMON.
        let [one, other] = reserved_pair(scene, &tiled(rgba(128, 256)))?;
        hand_over_tile(scene, &one, &other, [0, 0, 128, 128])?;
        scene.carried(&one, 0)
    }),
    scene("aliasing/h-6-both-render-targets", STATES, WITH_TEXTURES, |scene| {
        inherits(scene, &Hand { leaves: RENDER_TARGET, begins: RENDER_TARGET, ..TARGET_HAND })
    }),
    scene("aliasing/h-6-one-subresource-in-common", STATES, WITH_TEXTURES, |scene| {
        let other = two_states(scene)?;
        scene.run(|list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/h-7-standard-swizzle-from-a-buffer", SWIZZLE, SWIZZLED, |scene| {
        let desc = standard(square());
        let (texture, bytes) = scene.pair(ALL, (&desc, COMMON), (&buffer(GRANULE), COMMON))?;
        scene.run(|list| scene.write(list, &bytes, 0))?;
        scene.run(|list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read_box(list, &texture, 0, [0, 0, 4, 1]);
        })?;
        // The standard swizzle of 4-byte texels keeps 4 texels of a row side by side.
        require_eq("the first 4 texels", scene.brought(16)?, scene.written(16))
    }),
    scene("aliasing/h-7-standard-swizzle-to-a-buffer", SWIZZLE, SWIZZLED, |scene| {
        let desc = standard(square());
        let (texture, bytes) = scene.pair(ALL, (&desc, COPY_DEST), (&buffer(GRANULE), COMMON))?;
        hand_over_to_buffer(scene, &texture, &bytes)?;
        require_eq("the first 4 texels", scene.brought(16)?, scene.written(16))
    }),
    scene("aliasing/h-7-standard-swizzle-to-another-texture", SWIZZLE, SWIZZLED, |scene| {
        // What a buffer between the two would hand on goes over without it.
        let other = with_format(standard(square()), DXGI_FORMAT_R32_UINT);
        let (one, other) = scene.pair(ALL, (&standard(square()), COPY_DEST), (&other, COMMON))?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&one, 0)
    }),
    scene("aliasing/h-8-hidden-memory-is-left-alone", HIDDEN, TILED, |scene| {
        // Two identical tiled render targets.
        let desc = tiled(target(rgba(512, 512)));
        let size = scene.ctx.valid_allocation("16 tiles", &desc)?.size;
        if size == 16 * GRANULE {
            return skipped("the device has no hidden memory behind render targets");
        }
        let heap = scene.heap(size / GRANULE + 8, TARGETS | SHARED)?;
        let one = scene.place(&heap, 0, &desc, RENDER_TARGET)?;
        let other = scene.place(&heap, 0, &desc, RENDER_TARGET)?;
        let view = scene.target_view(&one, 0, 0)?;
        scene.run(|list| list.clear_target(view, RED, &[]))?;
        scene.returns_texels(&other, 0, RENDER_TARGET, [256, 384, 512, 512], RED_TEXEL)
    }),
    scene("aliasing/h-9-barrier-and-bytes", ALIAS, &[], |scene| {
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)
    }),
];

/// The parameters of a transfer: one resource is written, and another one at the same place is read.
struct Hand {
    flags: D3D12_HEAP_FLAGS,
    from: fn() -> D3D12_RESOURCE_DESC,
    to: fn() -> D3D12_RESOURCE_DESC,
    /// The last state of the first resource.
    leaves: D3D12_RESOURCE_STATES,
    /// The first state of the second resource.
    begins: D3D12_RESOURCE_STATES,
}

const HAND: Hand = Hand { flags: TEXTURES, from: square, to: square, leaves: COMMON, begins: COMMON };
const TARGET_HAND: Hand = Hand { flags: TARGETS | SHARED, from: target_square, to: target_square, ..HAND };

fn target_square() -> D3D12_RESOURCE_DESC {
    target(square())
}

fn tiled_square() -> D3D12_RESOURCE_DESC {
    tiled(square())
}

fn simultaneous() -> D3D12_RESOURCE_DESC {
    with_flags(square(), D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS)
}

fn standard(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_layout(desc, D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE)
}

/// Writes the first resource, leaves it in state `leaves`, records an aliasing barrier, and reads the second resource.
fn hand_over(
    scene: &Scene<'_>,
    (one, first, leaves): (&ID3D12Resource, D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
    (other, begins): (&ID3D12Resource, D3D12_RESOURCE_STATES),
) -> Result<(), Stop> {
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, one, 0);
        list.to_state(one, first, leaves);
        list.alias(Some(one), Some(other));
        list.to_state(other, begins, COPY_SOURCE);
        scene.read(list, other, 0);
    })
}

/// Fails the check unless the second resource inherits the bytes of the first.
fn inherits(scene: &Scene<'_>, hand: &Hand) -> Verdict {
    let (one, other) = scene.pair(hand.flags, (&(hand.from)(), COPY_DEST), (&(hand.to)(), hand.begins))?;
    hand_over(scene, (&one, COPY_DEST, hand.leaves), (&other, hand.begins))?;
    scene.carried(&other, 0)
}

/// Creates a reserved texture of one tile in COPY_DEST, and one in COMMON whose first tile maps to the same memory.
fn reserved_pair(scene: &Scene<'_>, desc: &D3D12_RESOURCE_DESC) -> Result<[ID3D12Resource; 2], Stop> {
    let heap = scene.heap(4, TEXTURES)?;
    let one = scene.reserve(&tiled_square(), COPY_DEST)?;
    let other = scene.reserve(desc, COMMON)?;
    scene.map_tiles(&one, 1, &heap, 0);
    scene.map_tiles(&other, 1, &heap, 0);
    Ok([one, other])
}

/// As [`hand_over`], with both resources in COMMON at the barrier; reads a tile of the second.
fn hand_over_tile(
    scene: &Scene<'_>,
    one: &ID3D12Resource,
    other: &ID3D12Resource,
    tile: Rect,
) -> Result<(), Stop> {
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, one, 0);
        list.transition(one, COPY_DEST, COMMON);
        list.alias(Some(one), Some(other));
        list.transition(other, COMMON, COPY_SOURCE);
        scene.read_box(list, other, 0, tile);
    })
}

/// Writes a texture, leaves it in COMMON, and reads an overlapping buffer.
fn hand_over_to_buffer(
    scene: &Scene<'_>,
    texture: &ID3D12Resource,
    bytes: &ID3D12Resource,
) -> Result<(), Stop> {
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, texture, 0);
        list.transition(texture, COPY_DEST, COMMON);
        list.alias(Some(texture), Some(bytes));
        scene.read(list, bytes, 0);
    })
}

/// Creates two identical textures of two mips. Writes both mips of the first, leaves mip 0 in COMMON and mip 1 in
/// COPY_SOURCE, and activates the second, which is in COMMON.
fn two_states(scene: &Scene<'_>) -> Result<ID3D12Resource, Stop> {
    let desc = with_mips(square(), 2);
    let (one, other) = scene.pair(TEXTURES | SHARED, (&desc, COPY_DEST), (&desc, COMMON))?;
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, &one, 0);
        scene.write(list, &one, 1);
        list.barriers(&[
            Barrier::Transition(&one, Some(0), COPY_DEST, COMMON),
            Barrier::Transition(&one, Some(1), COPY_DEST, COPY_SOURCE),
            Barrier::Aliasing(Some(&one), Some(&other)),
        ]);
    })?;
    Ok(other)
}
