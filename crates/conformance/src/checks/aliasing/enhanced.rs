//! Section E: aliasing by enhanced barriers.

use heapwright_d3d12::*;

use crate::answer::{Answer, Stop, Verdict, each, require_eq};
use crate::check::{Check, Need, scene, validation_scene};
use crate::com::barriers::{Enhanced, Scope};
use crate::desc::{COMMON, COPY_DEST, COPY_SOURCE, RENDER_TARGET, buffer, rgba};
use crate::scene::{ALL, BUFFERS, GRANULE, RED, RED_TEXEL, Scene, TARGETS, square, tall, target};

const SPEC: &str = "DirectX-Specs, D3D12EnhancedBarriers.md, resource aliasing";
const BARRIER: &str = "DirectX-Specs, D3D12EnhancedBarriers.md, barrier validation";

const BUFFER: &[Need] = &[Need::EnhancedBarriers];
const TEXTURE: &[Need] = &[Need::EnhancedBarriers, Need::Textures, Need::Footprints];
const BOTH: &[Need] = &[Need::EnhancedBarriers, Need::Textures, Need::Footprints, Need::HeapTier2];

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

const WHOLE: (u64, u64) = (0, u64::MAX);
pub(in crate::checks) const CHECKS: &[Check] = &[
    scene("aliasing/e-1-waits-for-the-copy", SPEC, BUFFER, |scene| {
        let (one, other) = buffers(scene)?;
        scene.wipe()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.enhanced(list, &[whole(&one, (TO_COPY, COPIES)), whole(&other, (COPIES, FROM_COPY))])?;
            scene.read(list, &other, 0);
            Ok(())
        })?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/e-1-nothing-between-calls", SPEC, BUFFER, |scene| {
        let (one, other) = buffers(scene)?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.run(|list| scene.read(list, &other, 0))?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/e-2-activation-from-undefined", SPEC, TEXTURE, |scene| {
        let texture = placed_target(scene)?;
        closes(scene, &activation(&texture, NOTHING, false))?.taken("NO_ACCESS and UNDEFINED")
    }),
    validation_scene("aliasing/e-2-undefined-with-an-access", SPEC, TEXTURE, |scene| {
        let texture = placed_target(scene)?;
        let barrier = activation(&texture, TO_COPY, false);
        scene.ctx.reported("UNDEFINED with AccessBefore COPY_DEST", || closes(scene, &barrier))
    }),
    scene("aliasing/e-3-discard-initialises", SPEC, TEXTURE, |scene| {
        let texture = placed_target(scene)?;
        scene.wipe()?;
        scene.run(|list| {
            scene.enhanced(list, &[activation(&texture, NOTHING, true)])?;
            scene.enhanced(
                list,
                &[layout(&texture, (TO_TARGET, TO_COPY), (LAYOUT_TARGET, LAYOUT_COPY_DEST))],
            )?;
            scene.write_box(list, &texture, 0, [0, 0, 1, 1]);
            let scopes = (TO_COPY, FROM_COPY);
            scene.enhanced(list, &[layout(&texture, scopes, (LAYOUT_COPY_DEST, LAYOUT_COPY_SOURCE))])?;
            scene.read_box(list, &texture, 0, [0, 0, 1, 1]);
            Ok(())
        })?;
        require_eq("the texel", scene.brought(4)?, scene.written(4))
    }),
    scene("aliasing/e-3-clear-initialises", SPEC, TEXTURE, |scene| {
        let texture = placed_target(scene)?;
        let view = scene.target_view(&texture, 0, 0)?;
        scene.run(|list| {
            scene.enhanced(list, &[activation(&texture, NOTHING, false)])?;
            list.clear_target(view, RED, &[]);
            scene.enhanced(
                list,
                &[layout(&texture, (TO_TARGET, FROM_COPY), (LAYOUT_TARGET, LAYOUT_COPY_SOURCE))],
            )?;
            scene.read(list, &texture, 0);
            Ok(())
        })?;
        scene.first_texel_came(RED_TEXEL)
    }),
    validation_scene("aliasing/e-3-discard-of-a-defined-layout", BARRIER, TEXTURE, |scene| {
        let texture = placed_target(scene)?;
        let barrier = Enhanced::Texture {
            resource: &texture,
            scopes: (TO_TARGET, TO_TARGET),
            layouts: (LAYOUT_TARGET, LAYOUT_TARGET),
            slice: None,
            discards: true,
        };
        scene.ctx.reported("DISCARD with LayoutBefore RENDER_TARGET", || closes(scene, &barrier))
    }),
    scene("aliasing/e-4-back-from-no-access", SPEC, BUFFER, |scene| {
        let (one, _) = buffers(scene)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.enhanced(list, &[whole(&one, (TO_COPY, COPIES))])?;
            scene.enhanced(list, &[whole(&one, (COPIES, TO_COPY))])?;
            scene.write(list, &one, 0);
            Ok(())
        })?;
        scene.returns(&one, 0, COPY_SOURCE)
    }),
    scene("aliasing/e-5-discard-in-a-call-of-its-own", SPEC, TEXTURE, |scene| {
        succession(scene, LAYOUT_COPY_DEST, true)
    }),
    scene("aliasing/e-6-changes-in-two-calls", SPEC, TEXTURE, |scene| {
        succession(scene, LAYOUT_COPY_SOURCE, false)
    }),
    scene("aliasing/e-7-sync-none-comes-first", BARRIER, BUFFER, |scene| {
        let (one, _) = buffers(scene)?;
        scene.run(|list| {
            scene.enhanced(list, &[whole(&one, (NOTHING, TO_COPY))])?;
            scene.write(list, &one, 0);
            Ok(())
        })?;
        scene.returns(&one, 0, COPY_SOURCE)
    }),
    scene("aliasing/e-8-whole-buffer", BARRIER, BUFFER, |scene| {
        let (one, _) = buffers(scene)?;
        each([WHOLE, (0, GRANULE)], |range| {
            let barrier = Enhanced::Buffer { resource: &one, scopes: (TO_COPY, FROM_COPY), range };
            closes(scene, &barrier)?.ok("the whole buffer")
        })
    }),
    validation_scene("aliasing/e-8-part-of-a-buffer", BARRIER, BUFFER, |scene| {
        let (one, _) = buffers(scene)?;
        each([(256, GRANULE - 256), (0, 256)], |range| {
            let barrier = Enhanced::Buffer { resource: &one, scopes: (TO_COPY, FROM_COPY), range };
            scene.ctx.reported("a part of the buffer", || closes(scene, &barrier))
        })
    }),
    scene("aliasing/e-9-the-example", SPEC, BOTH, |scene| {
        // An index buffer goes, a texture comes, in one call.
        let heap = scene.heap(8, ALL)?;
        let indices = scene.place(&heap, 0, &buffer(GRANULE), COMMON)?;
        let texture = scene.place(&heap, 0, &rgba(128, 128), COMMON)?;
        scene.run(|list| {
            let input = (D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_ACCESS_INDEX_BUFFER);
            let gone = (D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_ACCESS_NO_ACCESS);
            let shader = (D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_ACCESS_SHADER_RESOURCE);
            let came = (D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_ACCESS_NO_ACCESS);
            scene.enhanced(
                list,
                &[
                    whole(&indices, (input, gone)),
                    Enhanced::Texture {
                        resource: &texture,
                        scopes: (came, shader),
                        layouts: (UNDEFINED, D3D12_BARRIER_LAYOUT_SHADER_RESOURCE),
                        slice: None,
                        discards: true,
                    },
                ],
            )
        })?;
        Ok("a buffer and a texture in one call".to_owned())
    }),
];

/// Creates two buffers of one granule that share it.
fn buffers(scene: &Scene<'_>) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
    scene.pair(BUFFERS, (&buffer(GRANULE), COMMON), (&buffer(GRANULE), COMMON))
}

/// Returns a barrier of a whole buffer.
fn whole(resource: &ID3D12Resource, scopes: (Scope, Scope)) -> Enhanced<'_> {
    Enhanced::Buffer { resource, scopes, range: WHOLE }
}

/// Returns a barrier of a whole texture.
fn layout(
    resource: &ID3D12Resource,
    scopes: (Scope, Scope),
    layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
) -> Enhanced<'_> {
    Enhanced::Texture { resource, scopes, layouts, slice: None, discards: false }
}

/// Returns a barrier from UNDEFINED to RENDER_TARGET.
fn activation(resource: &ID3D12Resource, before: Scope, discards: bool) -> Enhanced<'_> {
    Enhanced::Texture {
        resource,
        scopes: (before, TO_TARGET),
        layouts: (UNDEFINED, LAYOUT_TARGET),
        slice: None,
        discards,
    }
}

fn placed_target(scene: &Scene<'_>) -> Result<ID3D12Resource, Stop> {
    let heap = scene.heap(8, TARGETS)?;
    scene.place(&heap, 0, &target(square()), RENDER_TARGET)
}

/// Returns the result of `Close` of a list with one barrier.
fn closes(scene: &Scene<'_>, barrier: &Enhanced<'_>) -> Result<Answer<()>, Stop> {
    scene.close(|list| scene.enhanced(list, &[*barrier]))
}

/// Writes a render target, deactivates it in the layout `leaves`, activates an overlapping one by another call, writes
/// it and reads it.
fn succession(scene: &Scene<'_>, leaves: D3D12_BARRIER_LAYOUT, discards: bool) -> Verdict {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST))?;
    scene.wipe()?;
    scene.run(|list| {
        scene.write(list, &one, 0);
        scene.enhanced(list, &[layout(&one, (TO_COPY, COPIES), (LAYOUT_COPY_DEST, leaves))])?;
        let comes = Enhanced::Texture {
            resource: &other,
            scopes: (COPIES, TO_COPY),
            layouts: (UNDEFINED, LAYOUT_COPY_DEST),
            slice: None,
            discards,
        };
        scene.enhanced(list, &[comes])?;
        scene.write(list, &other, 0);
        scene.enhanced(
            list,
            &[layout(&other, (TO_COPY, FROM_COPY), (LAYOUT_COPY_DEST, LAYOUT_COPY_SOURCE))],
        )?;
        scene.read(list, &other, 0);
        Ok(())
    })?;
    scene.carried(&other, 0)
}
