//! Section E: aliasing by enhanced barriers.

use heapwright_d3d12::*;

use super::calls::*;
use super::scene::*;
const TO_COPY: Scope = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST);
const FROM_COPY: Scope = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE);
const TO_TARGET: Scope = (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET);
/// Scope COPY without access, for deactivation and activation.
const COPIES: Scope = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_NO_ACCESS);
/// No scope and no access: the resource is not used before or after.
const NOTHING: Scope = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_NO_ACCESS);
const UNDEFINED: D3D12_BARRIER_LAYOUT = D3D12_BARRIER_LAYOUT_UNDEFINED;
const LAYOUT_COPY_DEST: D3D12_BARRIER_LAYOUT = D3D12_BARRIER_LAYOUT_COPY_DEST;
const LAYOUT_COPY_SOURCE: D3D12_BARRIER_LAYOUT = D3D12_BARRIER_LAYOUT_COPY_SOURCE;
const LAYOUT_TARGET: D3D12_BARRIER_LAYOUT = D3D12_BARRIER_LAYOUT_RENDER_TARGET;

pub(super) const ROWS: &[Row] = &[
    refused("e-1-waits-for-something-else", "E-1", |scene| {
        let draws = (D3D12_BARRIER_SYNC_VERTEX_SHADING, D3D12_BARRIER_ACCESS_VERTEX_BUFFER);
        two_buffers(scene, (draws, COPIES));
        scene.refuses(&[("E-1", "")])
    }),
    refused("e-3-nothing-initialises", "E-3", |scene| {
        activated(scene, false);
        scene.refuses(&[("E-3", "")])
    }),
    refused("e-4-access-after-no-access", "E-4", |scene| {
        no_access(scene, false);
        scene.refuses(&[("E-4", "")])
    }),
    refused("e-5-discard-beside-a-flush", "E-5", |scene| {
        discards_beside(scene, false);
        scene.refuses(&[("E-5", "")])
    }),
    refused("e-6-changes-in-one-call", "E-6", |scene| {
        layouts_beside(scene, false);
        scene.refuses(&[("E-6", "")])
    }),
    refused("e-7-sync-none-after-an-access", "E-7", |scene| {
        let (one, _) = buffers(scene);
        scene.refuses_run(&[("E-7", "")], |list| {
            scene.write(list, &one, 0);
            scene.enhanced(list, &[whole(&one, (NOTHING, FROM_COPY))])
        })
    }),
    refused("e-7-access-after-sync-none", "E-7", |scene| {
        let (one, _) = buffers(scene);
        scene.refuses_run(&[("E-7", "")], |list| {
            scene.write(list, &one, 0);
            scene.enhanced(list, &[whole(&one, (TO_COPY, NOTHING))]);
            scene.enhanced(list, &[whole(&one, (COPIES, FROM_COPY))])
        })
    }),
];

/// Creates two buffers of one granule that share it.
fn buffers(scene: &Scene) -> (ID3D12Resource, ID3D12Resource) {
    scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))
}

/// Returns a barrier of a whole buffer.
fn whole(resource: &ID3D12Resource, scopes: (Scope, Scope)) -> Enhanced<'_> {
    Enhanced::Buffer { resource, scopes }
}

/// Returns a barrier of a whole texture.
fn layout(
    resource: &ID3D12Resource,
    scopes: (Scope, Scope),
    layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
) -> Enhanced<'_> {
    Enhanced::Texture { resource, scopes, layouts, discards: false }
}

/// Returns a barrier from UNDEFINED to RENDER_TARGET.
fn activation(resource: &ID3D12Resource, before: Scope, discards: bool) -> Enhanced<'_> {
    Enhanced::Texture { resource, scopes: (before, TO_TARGET), layouts: (UNDEFINED, LAYOUT_TARGET), discards }
}

fn placed_target(scene: &Scene) -> ID3D12Resource {
    let heap = scene.heap(8, TARGETS);
    scene.place(&heap, 0, &target(square()), RENDER_TARGET)
}

/// Writes a buffer and reads an overlapping one in one call, with a barrier of these scopes for the first.
fn two_buffers(scene: &Scene, first: (Scope, Scope)) {
    let (one, other) = buffers(scene);
    scene.run(|list| {
        scene.write(list, &one, 0);
        scene.enhanced(list, &[whole(&one, first), whole(&other, (COPIES, FROM_COPY))]);
        scene.read(list, &other, 0);
    });
}

/// Activates a render target and writes a part of it.
fn activated(scene: &Scene, discards: bool) {
    let texture = placed_target(scene);
    scene.run(|list| {
        scene.enhanced(list, &[activation(&texture, NOTHING, discards)]);
        scene.enhanced(list, &[layout(&texture, (TO_TARGET, TO_COPY), (LAYOUT_TARGET, LAYOUT_COPY_DEST))]);
        scene.write_box(list, &texture, 0, [0, 0, 1, 1]);
    });
}

/// Writes a buffer, deactivates it, activates it again if `comes_back`, and writes it again.
fn no_access(scene: &Scene, comes_back: bool) {
    let (one, _) = buffers(scene);
    scene.run(|list| {
        scene.write(list, &one, 0);
        scene.enhanced(list, &[whole(&one, (TO_COPY, COPIES))]);
        if comes_back {
            scene.enhanced(list, &[whole(&one, (COPIES, TO_COPY))]);
        }
        scene.write(list, &one, 0);
    });
}

/// Writes a render target, deactivates it, and activates an overlapping one with DISCARD.
fn discards_beside(scene: &Scene, in_two_calls: bool) {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST));
    scene.run(|list| {
        scene.write(list, &one, 0);
        let goes = layout(&one, (TO_COPY, COPIES), (LAYOUT_COPY_DEST, LAYOUT_COPY_DEST));
        let comes = Enhanced::Texture {
            resource: &other,
            scopes: (COPIES, TO_COPY),
            layouts: (UNDEFINED, LAYOUT_COPY_DEST),
            discards: true,
        };
        if in_two_calls {
            scene.enhanced(list, &[goes]);
            scene.enhanced(list, &[comes]);
        } else {
            scene.enhanced(list, &[goes, comes]);
        }
        scene.write(list, &other, 0);
    });
}

/// Deactivates a texture with a change of its layout, and activates an overlapping one.
fn layouts_beside(scene: &Scene, in_two_calls: bool) {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST));
    scene.run(|list| scene.write(list, &one, 0));
    scene.run(|list| {
        let goes = layout(&one, (COPIES, COPIES), (LAYOUT_COPY_DEST, LAYOUT_COPY_SOURCE));
        let comes = layout(&other, (COPIES, TO_COPY), (UNDEFINED, LAYOUT_COPY_DEST));
        if in_two_calls {
            scene.enhanced(list, &[goes]);
            scene.enhanced(list, &[comes]);
        } else {
            scene.enhanced(list, &[goes, comes]);
        }
        scene.write(list, &other, 0);
    });
}
