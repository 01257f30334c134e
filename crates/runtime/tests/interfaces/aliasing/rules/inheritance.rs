//! Section H: inheritance of data between resources that share memory.

use heapwright_d3d12::*;

use super::calls::*;
use super::scene::*;

pub(super) const ROWS: &[Row] = &[
    refused("h-1-heap-that-is-not-shared", "H-1", |scene| loses(scene, &HAND, ("I-2", "H-1"))),
    refused("h-1-other-description", "H-1", |scene| {
        loses(scene, &Hand { flags: TEXTURES | SHARED, to: tall, ..HAND }, ("I-2", "H-1"))
    }),
    refused("h-1-other-format", "H-1", |scene| {
        let to = || with_format(square(), DXGI_FORMAT_R8G8B8A8_UINT);
        loses(scene, &Hand { flags: TEXTURES | SHARED, to, ..HAND }, ("I-2", "H-1"))
    }),
    refused("h-1-other-clear-value", "H-1", |scene| clear_values(scene, RED, [0.0; 4], ("I-2", "H-1"))),
    refused("h-1-other-place", "H-1", |scene| {
        let heap = scene.heap(4, TEXTURES | SHARED);
        let one = scene.place(&heap, 0, &rgba(256, 128), COPY_DEST);
        let other = scene.place(&heap, 1, &rgba(256, 128), COMMON);
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON));
        scene.refuses(&[("I-2", "I-1")])
    }),
    refused("h-1-placed-and-reserved", "H-1", |scene| {
        // In a state that only exact matches inherit in.
        let heap = scene.heap(8, TARGETS | SHARED);
        let desc = tiled(target(square()));
        let one = scene.place(&heap, 0, &desc, COPY_DEST);
        let other = scene.reserve(&desc, RENDER_TARGET);
        scene.map_tiles(&other, 1, &heap, 0);
        hand_over(scene, (&one, COPY_DEST, RENDER_TARGET), (&other, RENDER_TARGET));
        scene.refuses(&[("I-2", "H-1")])
    }),
    refused("h-2-unknown-layout-and-a-buffer", "H-2", |scene| {
        let (texture, bytes) = scene.pair(ALL | SHARED, (&square(), COPY_DEST), (&buffer(GRANULE), COMMON));
        hand_over_to_buffer(scene, &texture, &bytes);
        scene.refuses(&[("I-2", "H-2")])
    }),
    refused("h-3-placed-tile-in-another-state", "H-3", |scene| {
        let heap = scene.heap(4, TEXTURES);
        let one = scene.place(&heap, 1, &tiled_square(), COPY_DEST);
        let other = scene.place(&heap, 0, &tiled(rgba(256, 128)), COMMON);
        scene.refuses_run(&[("I-2", "H-5")], |list| {
            scene.write(list, &one, 0);
            list.transition(&one, COPY_DEST, COPY_SOURCE);
            list.alias(Some(&one), Some(&other));
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read_box(list, &other, 0, [128, 0, 256, 128]);
        })
    }),
    refused("h-3-tile-of-another-format", "H-3", |scene| {
        let desc = with_format(tiled_square(), DXGI_FORMAT_R32_FLOAT);
        let [one, other] = reserved_pair(scene, &desc);
        hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON));
        scene.refuses(&[("I-2", "H-1")])
    }),
    refused("h-4-no-simultaneous-access", "H-4", |scene| {
        loses(scene, &Hand { flags: TEXTURES | SHARED, leaves: COPY_SOURCE, ..HAND }, ("I-2", "H-6"))
    }),
    refused("h-5-tiles-in-another-state", "H-5", |scene| {
        let [one, other] = reserved_pair(scene, &tiled_square());
        hand_over(scene, (&one, COPY_DEST, COPY_SOURCE), (&other, COMMON));
        scene.refuses(&[("I-2", "H-5")])
    }),
    refused("h-6-render-target-and-common", "H-6", |scene| {
        loses(scene, &Hand { leaves: RENDER_TARGET, begins: COMMON, ..TARGET_HAND }, ("I-2", "H-6"))
    }),
    refused("h-6-equal-states-that-read", "H-6", |scene| {
        let state = D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE;
        loses(scene, &Hand { flags: TEXTURES | SHARED, leaves: state, begins: state, ..HAND }, ("I-2", "H-6"))
    }),
    refused("h-6-the-other-subresource", "H-6", |scene| {
        let other = two_states(scene);
        scene.refuses_run(&[("I-2", "H-6")], |list| {
            list.transition(&other, COMMON, COPY_SOURCE);
            scene.read(list, &other, 1);
        })
    }),
    refused("h-7-undefined-swizzle-and-a-buffer", "H-7", |scene| {
        let (texture, bytes) =
            scene.pair(ALL | SHARED, (&tiled_square(), COPY_DEST), (&buffer(GRANULE), COMMON));
        hand_over_to_buffer(scene, &texture, &bytes);
        scene.refuses(&[("I-2", "H-7")])
    }),
    refused("h-8-hidden-memory-is-not-inherited", "H-8", |scene| {
        hidden_memory(scene);
        scene.refuses(&[("I-2", "I-11")])
    })
    .on("compressing"),
    refused("h-9-bytes-without-a-barrier", "H-9", |scene| {
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON));
        scene.refuses_run(&[("H-9", "")], |list| {
            scene.write(list, &one, 0);
            scene.read(list, &other, 0);
        })
    }),
    refused("h-1-simple-model-inherits-nothing", "H-1", |scene| {
        let (one, other) = scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON));
        scene.refuses_run(&[("I-2", "I-1")], |list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.read(list, &other, 0);
        })
    })
    .with(SIMPLE),
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

/// Writes the first resource, leaves it in state `leaves`, records an aliasing barrier, and reads the second resource.
fn hand_over(
    scene: &Scene,
    (one, first, leaves): (&ID3D12Resource, D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
    (other, begins): (&ID3D12Resource, D3D12_RESOURCE_STATES),
) {
    scene.wipe();
    scene.run(|list| {
        scene.write(list, one, 0);
        to_state(list, one, first, leaves);
        list.alias(Some(one), Some(other));
        to_state(list, other, begins, COPY_SOURCE);
        scene.read(list, other, 0);
    });
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

fn play(scene: &Scene, hand: &Hand) {
    let (one, other) = scene.pair(hand.flags, (&(hand.from)(), COPY_DEST), (&(hand.to)(), hand.begins));
    hand_over(scene, (&one, COPY_DEST, hand.leaves), (&other, hand.begins));
}

/// Fails the row unless the read of the second resource is reported as invalid.
fn loses(scene: &Scene, hand: &Hand, finding: Finding) -> Verdict {
    play(scene, hand);
    scene.refuses(&[finding])
}

/// Transfers data between two render targets with optimized clear values.
fn clear_values(scene: &Scene, one: [f32; 4], other: [f32; 4], finding: Finding) -> Verdict {
    let heap = scene.heap(8, TARGETS | SHARED);
    let desc = target_square();
    let place = |color: [f32; 4], state| {
        let value =
            D3D12_CLEAR_VALUE { Format: desc.Format, Anonymous: D3D12_CLEAR_VALUE_0 { Color: color } };
        scene.place_at(&heap, 0, &desc, state, Some(&value))
    };
    let (one, other) = (place(one, COPY_DEST), place(other, COMMON));
    hand_over(scene, (&one, COPY_DEST, COMMON), (&other, COMMON));
    scene.refuses(&[finding])
}

/// Creates a reserved texture of one tile in COPY_DEST, and one in COMMON whose first tile maps to the same memory.
fn reserved_pair(scene: &Scene, desc: &D3D12_RESOURCE_DESC) -> [ID3D12Resource; 2] {
    let heap = scene.heap(4, TEXTURES);
    let one = scene.reserve(&tiled_square(), COPY_DEST);
    let other = scene.reserve(desc, COMMON);
    scene.map_tiles(&one, 1, &heap, 0);
    scene.map_tiles(&other, 1, &heap, 0);
    [one, other]
}

/// Writes a texture, leaves it in COMMON, and reads an overlapping buffer.
fn hand_over_to_buffer(scene: &Scene, texture: &ID3D12Resource, bytes: &ID3D12Resource) {
    scene.wipe();
    scene.run(|list| {
        scene.write(list, texture, 0);
        list.transition(texture, COPY_DEST, COMMON);
        list.alias(Some(texture), Some(bytes));
        scene.read(list, bytes, 0);
    });
}

/// Creates two identical textures of two mips. Writes both mips of the first, leaves mip 0 in COMMON and mip 1 in
/// COPY_SOURCE, and activates the second, which is in COMMON.
fn two_states(scene: &Scene) -> ID3D12Resource {
    let desc = with_mips(square(), 2);
    let (one, other) = scene.pair(TEXTURES | SHARED, (&desc, COPY_DEST), (&desc, COMMON));
    scene.wipe();
    scene.run(|list| {
        scene.write(list, &one, 0);
        scene.write(list, &one, 1);
        list.barriers(&[
            Barrier::Transition(&one, Some(0), COPY_DEST, COMMON),
            Barrier::Transition(&one, Some(1), COPY_DEST, COPY_SOURCE),
            Barrier::Aliasing(Some(&one), Some(&other)),
        ]);
    });
    other
}

/// Creates two identical tiled render targets with hidden memory in a shared heap. Writes the first, then a third
/// render target over the hidden memory, and reads the second.
fn hidden_memory(scene: &Scene) {
    let desc = tiled(target(rgba(512, 512)));
    let size = scene.size_of(&desc);
    assert!(size > 16 * GRANULE, "no hidden memory behind render targets");
    let heap = scene.heap(size / GRANULE + 8, TARGETS | SHARED);
    let one = scene.place(&heap, 0, &desc, RENDER_TARGET);
    let other = scene.place(&heap, 0, &desc, RENDER_TARGET);
    let third = scene.place(&heap, 16, &target_square(), COPY_DEST);
    let view = scene.target_view(&one, 0, 0);
    scene.run(|list| list.clear_target(view, RED));
    scene.run(|list| scene.write(list, &third, 0));
    scene.run(|list| {
        list.transition(&other, RENDER_TARGET, COPY_SOURCE);
        scene.read_box(list, &other, 0, TEXEL);
    });
}
