//! Section H: inheritance of data between resources that share memory.

use heapwright_d3d12::*;

use super::scene::{
    ALL, BUFFERS, Finding, GRANULE, MIXED, MIXED_TILED, SHARED, Scene, TARGETS, TEXTURES, TILED, TRACKED,
    WITH_TEXTURES, accepted, accepted_scene, refused, refused_scene, square, tall, target, tiled,
};
use crate::answer::{Stop, Verdict, ensure, require_eq, skipped};
use crate::check::{Check, Need};
use crate::com::barriers::Barrier;
use crate::com::commands::List;
use crate::context::Context;
use crate::desc::{
    COMMON, COPY_DEST, COPY_SOURCE, RENDER_TARGET, buffer, rgba, with_flags, with_format, with_layout,
    with_mips,
};

const ALIAS: &str = "ALIAS, Data Inheritance";
const STATES: &str = "ALIAS, Data Inheritance, compatible states";
const SWIZZLE: &str = "ALIAS, standard swizzle";
const SIMPLE: &str = "D3D12, CreatePlacedResource, simple usage model";

const SWIZZLED: &[Need] =
    &[Need::AliasingTracker, Need::Textures, Need::Footprints, Need::HeapTier2, Need::StandardSwizzle];

const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];

pub(in crate::checks) const CHECKS: &[Check] = &[
    accepted("aliasing/h-1-identical-in-a-shared-heap", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        inherits(ctx, &Hand { flags: TEXTURES | SHARED, ..HAND })
    }),
    accepted_scene("aliasing/h-1-other-initial-state", "H-1", ALIAS, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES | SHARED, (&square(), COPY_DEST), (&square(), COPY_SOURCE))?;
        scene.run(|list| list.transition(&other, COPY_SOURCE, COMMON))?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&other, 0)?;
        scene.accepts()
    }),
    accepted("aliasing/h-1-same-clear-value", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        clear_values(ctx, RED, RED, &[])
    }),
    refused("aliasing/h-1-heap-that-is-not-shared", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        loses(ctx, &HAND, ("I-2", "H-1"))
    }),
    refused("aliasing/h-1-other-description", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        loses(ctx, &Hand { flags: TEXTURES | SHARED, to: tall, ..HAND }, ("I-2", "H-1"))
    }),
    refused("aliasing/h-1-other-format", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        let to = || with_format(square(), DXGI_FORMAT_R8G8B8A8_UINT);
        loses(ctx, &Hand { flags: TEXTURES | SHARED, to, ..HAND }, ("I-2", "H-1"))
    }),
    refused("aliasing/h-1-other-clear-value", "H-1", ALIAS, WITH_TEXTURES, |ctx| {
        clear_values(ctx, RED, [0.0; 4], &[("I-2", "H-1")])
    }),
    refused_scene("aliasing/h-1-other-place", "H-1", ALIAS, WITH_TEXTURES, |scene| {
        let heap = scene.heap(4, TEXTURES | SHARED)?;
        let one = scene.place(&heap, 0, &rgba(256, 128), COPY_DEST)?;
        let other = scene.place(&heap, 1, &rgba(256, 128), COMMON)?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.refuses(&[("I-2", "I-1")])
    }),
    refused_scene("aliasing/h-1-placed-and-reserved", "H-1", ALIAS, TILED, |scene| {
        // In a state that only exact matches inherit in.
        let heap = scene.heap(8, TARGETS | SHARED)?;
        let desc = tiled(target(square()));
        let one = scene.place(&heap, 0, &desc, COPY_DEST)?;
        let other = scene.reserve(&desc, RENDER_TARGET)?;
        scene.map_tiles(&other, 1, &heap, 0);
        hand_over(scene, (&one, COPY_DEST, RENDER_TARGET), (&other, RENDER_TARGET))?;
        scene.refuses(&[("I-2", "H-1")])
    }),
    accepted("aliasing/h-2-tiles-in-a-heap-that-is-not-shared", "H-2", ALIAS, TILED, |ctx| {
        inherits(ctx, &Hand { from: tiled_square, to: tiled_square, ..HAND })
    }),
    accepted_scene("aliasing/h-2-buffers", "H-2", ALIAS, TRACKED, |scene| {
        let heap = scene.heap(2, BUFFERS)?;
        let one = scene.place(&heap, 0, &buffer(2 * GRANULE), COMMON)?;
        let other = scene.place(&heap, 1, &buffer(GRANULE), COMMON)?;
        scene.run(|list| scene.write_bytes(list, &one, GRANULE, GRANULE))?;
        scene.run(|list| list.copy_buffer((scene.back(), GRANULE), (&other, 0), GRANULE))?;
        ensure!(scene.granule_came(1)?, "the copied bytes differ from the source");
        scene.accepts()
    }),
    refused_scene("aliasing/h-2-unknown-layout-and-a-buffer", "H-2", ALIAS, MIXED, |scene| {
        let (texture, bytes) =
            scene.pair(ALL | SHARED, (&square(), COPY_DEST), (&buffer(GRANULE), COMMON))?;
        hand_over_to_buffer(scene, &texture, &bytes)?;
        scene.refuses(&[("I-2", "H-2")])
    }),
    accepted_scene("aliasing/h-3-tile-in-both", "H-3", ALIAS, TILED, |scene| {
        let [one, other] = reserved_pair(scene, &tiled_square())?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&other, 0)?;
        scene.accepts()
    }),
    accepted_scene("aliasing/h-3-tile-of-another-index", "H-3", ALIAS, TILED, |scene| {
        let heap = scene.heap(4, TEXTURES)?;
        let one = scene.reserve(&tiled_square(), COPY_DEST)?;
        let other = scene.reserve(&tiled(rgba(256, 128)), COMMON)?;
        scene.map_tiles(&one, 1, &heap, 1);
        scene.map_tiles(&other, 2, &heap, 0);
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.transition(&one, COPY_DEST, COMMON);
            list.alias(Some(&one), Some(&other));
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read_box(list, &other, 0, [128, 0, 256, 128]);
        })?;
        scene.carried(&one, 0)?;
        scene.accepts()
    }),
    accepted_scene("aliasing/h-3-placed-tile-of-another-index", "H-3", ALIAS, TILED, |scene| {
        // Placed textures inherit no less than reserved ones.
        let heap = scene.heap(4, TEXTURES)?;
        let one = scene.place(&heap, 1, &tiled_square(), COPY_DEST)?;
        let other = scene.place(&heap, 0, &tiled(rgba(256, 128)), COMMON)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.transition(&one, COPY_DEST, COMMON);
            list.alias(Some(&one), Some(&other));
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read_box(list, &other, 0, [128, 0, 256, 128]);
        })?;
        scene.carried(&one, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/h-3-placed-tile-in-another-state", "H-3", ALIAS, TILED, |scene| {
        let heap = scene.heap(4, TEXTURES)?;
        let one = scene.place(&heap, 1, &tiled_square(), COPY_DEST)?;
        let other = scene.place(&heap, 0, &tiled(rgba(256, 128)), COMMON)?;
        scene.refuses_run(&[("I-2", "H-5")], |list| {
            scene.write(list, &one, 0);
            list.transition(&one, COPY_DEST, COPY_SOURCE);
            list.alias(Some(&one), Some(&other));
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read_box(list, &other, 0, [128, 0, 256, 128]);
        })
    }),
    refused_scene("aliasing/h-3-tile-of-another-format", "H-3", ALIAS, TILED, |scene| {
        let desc = with_format(tiled_square(), DXGI_FORMAT_R32_FLOAT);
        let [one, other] = reserved_pair(scene, &desc)?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.refuses(&[("I-2", "H-1")])
    }),
    accepted("aliasing/h-4-simultaneous-access", "H-4", STATES, WITH_TEXTURES, |ctx| {
        inherits(
            ctx,
            &Hand {
                flags: TEXTURES | SHARED,
                from: simultaneous,
                to: simultaneous,
                leaves: COPY_SOURCE,
                ..HAND
            },
        )
    }),
    refused("aliasing/h-4-no-simultaneous-access", "H-4", STATES, WITH_TEXTURES, |ctx| {
        loses(ctx, &Hand { flags: TEXTURES | SHARED, leaves: COPY_SOURCE, ..HAND }, ("I-2", "H-6"))
    }),
    accepted_scene("aliasing/h-5-tiles-in-common", "H-5", STATES, TILED, |scene| {
        // Not the same description: what is in the tile is, and both are in COMMON.
        let [one, other] = reserved_pair(scene, &tiled(rgba(128, 256)))?;
        hand_over_tile(scene, &one, &other)?;
        scene.carried(&one, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/h-5-tiles-in-another-state", "H-5", STATES, TILED, |scene| {
        let [one, other] = reserved_pair(scene, &tiled_square())?;
        hand_over(scene, (&one, COPY_DEST, COPY_SOURCE), (&other, COMMON))?;
        scene.refuses(&[("I-2", "H-5")])
    }),
    accepted("aliasing/h-6-both-render-targets", "H-6", STATES, WITH_TEXTURES, |ctx| {
        inherits(ctx, &Hand { leaves: RENDER_TARGET, begins: RENDER_TARGET, ..TARGET_HAND })
    }),
    refused("aliasing/h-6-render-target-and-common", "H-6", STATES, WITH_TEXTURES, |ctx| {
        loses(ctx, &Hand { leaves: RENDER_TARGET, begins: COMMON, ..TARGET_HAND }, ("I-2", "H-6"))
    }),
    refused("aliasing/h-6-equal-states-that-read", "H-6", STATES, WITH_TEXTURES, |ctx| {
        let state = D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE;
        loses(ctx, &Hand { flags: TEXTURES | SHARED, leaves: state, begins: state, ..HAND }, ("I-2", "H-6"))
    }),
    accepted_scene("aliasing/h-6-one-subresource-in-common", "H-6", STATES, WITH_TEXTURES, |scene| {
        let other = two_states(scene)?;
        scene.run(|list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/h-6-the-other-subresource", "H-6", STATES, WITH_TEXTURES, |scene| {
        let other = two_states(scene)?;
        scene.refuses_run(&[("I-2", "H-6")], |list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 1);
        })
    }),
    accepted_scene("aliasing/h-7-standard-swizzle-from-a-buffer", "H-7", SWIZZLE, SWIZZLED, |scene| {
        let desc = standard(square());
        let (texture, bytes) = scene.pair(ALL, (&desc, COMMON), (&buffer(GRANULE), COMMON))?;
        scene.run(|list| scene.write(list, &bytes, 0))?;
        scene.run(|list| {
            list.transition(&texture, COMMON, COPY_SOURCE);
            scene.read_box(list, &texture, 0, [0, 0, 4, 1]);
        })?;
        // The standard swizzle of 4-byte texels keeps 4 texels of a row side by side.
        require_eq("the first 4 texels", scene.brought(16)?, scene.written(16))?;
        scene.accepts()
    }),
    accepted_scene("aliasing/h-7-standard-swizzle-to-a-buffer", "H-7", SWIZZLE, SWIZZLED, |scene| {
        let desc = standard(square());
        let (texture, bytes) = scene.pair(ALL, (&desc, COPY_DEST), (&buffer(GRANULE), COMMON))?;
        hand_over_to_buffer(scene, &texture, &bytes)?;
        require_eq("the first 4 texels", scene.brought(16)?, scene.written(16))?;
        scene.accepts()
    }),
    accepted_scene("aliasing/h-7-standard-swizzle-to-another-texture", "H-7", SWIZZLE, SWIZZLED, |scene| {
        // What a buffer between the two would hand on goes over without it.
        let other = with_format(standard(square()), DXGI_FORMAT_R32_UINT);
        let (one, other) = scene.pair(ALL, (&standard(square()), COPY_DEST), (&other, COMMON))?;
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
        scene.carried(&one, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/h-7-undefined-swizzle-and-a-buffer", "H-7", SWIZZLE, MIXED_TILED, |scene| {
        let (texture, bytes) =
            scene.pair(ALL | SHARED, (&tiled_square(), COPY_DEST), (&buffer(GRANULE), COMMON))?;
        hand_over_to_buffer(scene, &texture, &bytes)?;
        scene.refuses(&[("I-2", "H-7")])
    }),
    accepted_scene(
        "aliasing/h-8-hidden-memory-is-left-alone",
        "H-8",
        "ALIAS, extra memory",
        TILED,
        |scene| {
            hidden_memory(scene, false)?;
            scene.accepts()
        },
    ),
    refused_scene(
        "aliasing/h-8-hidden-memory-is-not-inherited",
        "H-8",
        "ALIAS, extra memory",
        TILED,
        |scene| {
            hidden_memory(scene, true)?;
            scene.refuses(&[("I-2", "I-11")])
        },
    ),
    accepted_scene("aliasing/h-9-barrier-and-bytes", "H-9", ALIAS, TRACKED, |scene| {
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/h-9-bytes-without-a-barrier", "H-9", ALIAS, TRACKED, |scene| {
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))?;
        scene.refuses_run(&[("H-9", "")], |list| {
            scene.write(list, &one, 0);
            scene.read(list, &other, 0);
        })
    }),
    refused("aliasing/h-1-simple-model-inherits-nothing", "H-1", SIMPLE, TRACKED, |ctx| {
        let scene = Scene::simple(ctx)?;
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))?;
        scene.refuses_run(&[("I-2", "I-1")], |list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.read(list, &other, 0);
        })
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
        to_state(list, one, first, leaves);
        list.alias(Some(one), Some(other));
        to_state(list, other, begins, COPY_SOURCE);
        scene.read(list, other, 0);
    })
}

fn to_state(
    list: &List,
    resource: &ID3D12Resource,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) {
    if before != after {
        list.transition(resource, before, after);
    }
}

fn play<'a>(ctx: &'a Context, hand: &Hand) -> Result<(Scene<'a>, ID3D12Resource), Stop> {
    let scene = Scene::advanced(ctx)?;
    let (one, other) = scene.pair(hand.flags, (&(hand.from)(), COPY_DEST), (&(hand.to)(), hand.begins))?;
    hand_over(&scene, (&one, COPY_DEST, hand.leaves), (&other, hand.begins))?;
    Ok((scene, other))
}

/// Fails the check unless the second resource inherits the bytes of the first and nothing is reported.
fn inherits(ctx: &Context, hand: &Hand) -> Verdict {
    let (scene, other) = play(ctx, hand)?;
    scene.carried(&other, 0)?;
    scene.accepts()
}

/// Fails the check unless the read of the second resource is reported as invalid.
fn loses(ctx: &Context, hand: &Hand, finding: Finding) -> Verdict {
    let (scene, _) = play(ctx, hand)?;
    scene.refuses(&[finding])
}

/// Transfers data between two render targets with optimized clear values.
fn clear_values(ctx: &Context, one: [f32; 4], other: [f32; 4], findings: &[Finding]) -> Verdict {
    let scene = Scene::advanced(ctx)?;
    let heap = scene.heap(8, TARGETS | SHARED)?;
    let desc = target_square();
    let place = |color: [f32; 4], state| {
        let value =
            D3D12_CLEAR_VALUE { Format: desc.Format, Anonymous: D3D12_CLEAR_VALUE_0 { Color: color } };
        scene.place_at(&heap, 0, &desc, state, Some(&value))
    };
    let (one, other) = (place(one, COPY_DEST)?, place(other, COMMON)?);
    hand_over(&scene, (&one, COPY_DEST, COMMON), (&other, COMMON))?;
    if findings.is_empty() {
        scene.carried(&other, 0)?;
    }
    scene.refuses(findings)
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

/// As [`hand_over`], with both resources in COMMON at the barrier; reads the first tile of the second.
fn hand_over_tile(scene: &Scene<'_>, one: &ID3D12Resource, other: &ID3D12Resource) -> Result<(), Stop> {
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, one, 0);
        list.transition(one, COPY_DEST, COMMON);
        list.alias(Some(one), Some(other));
        list.transition(other, COMMON, COPY_SOURCE);
        scene.read_box(list, other, 0, [0, 0, 128, 128]);
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

/// Creates two identical tiled render targets with hidden memory in a shared heap. Writes the first, then a third render
/// target over the hidden memory if `is_touched`, and reads the second.
fn hidden_memory(scene: &Scene<'_>, is_touched: bool) -> Result<(), Stop> {
    let desc = tiled(target(rgba(512, 512)));
    let tiles = 16 * GRANULE;
    let size = scene.ctx.valid_allocation("16 tiles", &desc)?.size;
    if size == tiles {
        return skipped("the device has no hidden memory behind render targets");
    }
    let heap = scene.heap(size / GRANULE + 8, TARGETS | SHARED)?;
    let one = scene.place(&heap, 0, &desc, RENDER_TARGET)?;
    let other = scene.place(&heap, 0, &desc, RENDER_TARGET)?;
    let third = scene.place(&heap, 16, &target_square(), COPY_DEST)?;
    let view = scene.target_view(&one, 0, 0)?;
    scene.run(|list| list.clear_target(view, RED, &[]))?;
    if is_touched {
        scene.run(|list| scene.write(list, &third, 0))?;
    }
    scene.run(|list| {
        list.transition(&other, RENDER_TARGET, COPY_SOURCE);
        scene.read_box(list, &other, 0, [0, 0, 1, 1]);
    })?;
    if !is_touched {
        require_eq("the texel", scene.brought(4)?, vec![255, 0, 0, 255])?;
    }
    Ok(())
}
