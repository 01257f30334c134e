//! Section B: aliasing barriers of `ResourceBarrier`.

use heapwright_d3d12::aliasing::{
    HEAPWRIGHT_ALIASING_SEVERITY_INFO, HEAPWRIGHT_ALIASING_SEVERITY_WARNING,
    HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC,
};
use heapwright_d3d12::*;

use super::scene::{
    Scene, TARGETS, TEXTURES, WITH_TEXTURES, accepted, accepted_scene, refused, refused_scene, square, tall,
    target,
};
use crate::answer::Stop;
use crate::check::Check;
use crate::com::barriers::Barrier;
use crate::com::commands;
use crate::com::passes::Pass;
use crate::context::Queue;
use crate::desc::{COMMON, COPY, COPY_DEST, COPY_SOURCE, RENDER_TARGET, rgba};

const ALIAS: &str = "ALIAS, An aliasing barrier must be issued";
const PLACED: &str = "D3D12, CreatePlacedResource, usage models";
const NULL: &str = "D3D12, D3D12_RESOURCE_ALIASING_BARRIER";
const RENDER_PASS: &str = "DirectX-Specs, RenderPasses.md";

pub(in crate::checks) const CHECKS: &[Check] = &[
    accepted_scene("aliasing/b-1-barrier-between", "B-1", ALIAS, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
            list.transition(&other, COPY_DEST, COPY_SOURCE);
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)?;
        scene.accepts()
    }),
    refused_scene("aliasing/b-1-no-barrier-between", "B-1", ALIAS, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.refuses_run(&[("B-1", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })
    }),
    accepted_scene("aliasing/b-2-two-calls", "B-2", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        // Not waited for in between: the order of the queue is enough.
        scene.queue.submit_together(&[&|list| scene.write(list, &one, 0)])?;
        scene.run_together(&[&|list| scene.write(list, &other, 0)])?;
        scene.accepts()
    }),
    refused_scene("aliasing/b-2-two-lists-of-one-call", "B-2", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run_together(&[&|list| scene.write(list, &one, 0), &|list| scene.write(list, &other, 0)])?;
        scene.refuses(&[("B-1", "")])
    }),
    refused("aliasing/b-2-two-calls-in-the-simple-model", "B-2", PLACED, WITH_TEXTURES, |ctx| {
        let scene = Scene::simple(ctx)?;
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            list.barriers(&[Barrier::Aliasing(None, Some(&other)), Barrier::Aliasing(None, Some(&one))])
        })?;
        scene.run(|list| scene.write(list, &one, 0))?;
        scene.refuses_run(&[("I-13", "")], |list| scene.write(list, &other, 0))
    }),
    accepted("aliasing/b-3-names-the-resource-after", "B-3", PLACED, WITH_TEXTURES, |ctx| {
        let scene = Scene::simple(ctx)?;
        let (one, other) = scene.strangers()?;
        scene.accepts_run(|list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(None, Some(&other));
            scene.write(list, &other, 0);
        })
    }),
    accepted_scene("aliasing/b-3-names-none-in-the-advanced-model", "B-3", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), None);
            scene.write(list, &other, 0);
        })
    }),
    refused("aliasing/b-3-names-none-in-the-simple-model", "B-3", PLACED, WITH_TEXTURES, |ctx| {
        let scene = Scene::simple(ctx)?;
        let (one, _) = scene.strangers()?;
        scene.refuses_run(&[("B-3", "")], |list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(Some(&one), None);
        })
    }),
    accepted_scene("aliasing/b-4-null-is-any", "B-4", NULL, WITH_TEXTURES, |scene| {
        let [one, other, both] = overlapping(scene)?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.alias(None, None);
            scene.write(list, &both, 0);
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
        })
    }),
    accepted_scene("aliasing/b-4-one-barrier-for-each", "B-4", NULL, WITH_TEXTURES, |scene| {
        let [one, other, both] = overlapping(scene)?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.barriers(&[
                Barrier::Aliasing(Some(&one), Some(&both)),
                Barrier::Aliasing(Some(&other), Some(&both)),
            ]);
            scene.write(list, &both, 0);
        })
    }),
    refused_scene("aliasing/b-4-one-of-two-predecessors", "B-4", NULL, WITH_TEXTURES, |scene| {
        let [one, other, both] = overlapping(scene)?;
        scene.refuses_run(&[("B-4", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.alias(Some(&one), Some(&both));
            scene.write(list, &both, 0);
        })
    }),
    accepted_scene("aliasing/b-5-after-the-last-access", "B-5", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            scene.write_box(list, &one, 0, [0, 0, 1, 1]);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        })
    }),
    refused_scene("aliasing/b-5-before-the-last-access", "B-5", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.refuses_run(&[("B-5", "")], |list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write_box(list, &one, 0, [0, 0, 1, 1]);
            scene.write(list, &other, 0);
        })
    }),
    accepted_scene("aliasing/b-6-barrier-then-transition", "B-6", NULL, WITH_TEXTURES, |scene| {
        let (one, other) = to_be_transitioned(scene)?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            list.barriers(&[
                Barrier::Aliasing(Some(&one), Some(&other)),
                Barrier::Transition(&other, None, COMMON, COPY_DEST),
            ]);
            scene.write(list, &other, 0);
        })
    }),
    refused_scene("aliasing/b-6-transition-then-barrier", "B-6", NULL, WITH_TEXTURES, |scene| {
        let (one, other) = to_be_transitioned(scene)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.barriers(&[
                Barrier::Transition(&other, None, COMMON, COPY_DEST),
                Barrier::Aliasing(Some(&one), Some(&other)),
            ]);
            scene.write(list, &other, 0);
        })?;
        scene.remarks(&[("B-6", "")], HEAPWRIGHT_ALIASING_SEVERITY_WARNING)
    }),
    accepted_scene("aliasing/b-7-state-of-the-last-use", "B-7", PLACED, WITH_TEXTURES, |scene| {
        after_barrier(scene, RENDER_TARGET)?;
        scene.accepts()
    }),
    refused_scene("aliasing/b-7-barrier-changes-no-state", "B-7", PLACED, WITH_TEXTURES, |scene| {
        after_barrier(scene, COMMON)?;
        scene.refuses(&[("I-8", "")])
    }),
    accepted("aliasing/b-8-barrier-that-is-needed", "B-8", PLACED, WITH_TEXTURES, |ctx| {
        let scene = Scene::of_strictness(ctx, HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC)?;
        let (one, other) = scene.activated_strangers()?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        })
    }),
    refused("aliasing/b-8-barrier-that-does-nothing", "B-8", PLACED, WITH_TEXTURES, |ctx| {
        let scene = Scene::of_strictness(ctx, HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC)?;
        let (one, other) = scene.activated_strangers()?;
        scene.run(|list| {
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        })?;
        scene.remarks(&[("B-8", "")], HEAPWRIGHT_ALIASING_SEVERITY_INFO)
    }),
    refused("aliasing/b-8-barrier-that-stalls-all", "B-8", NULL, WITH_TEXTURES, |ctx| {
        let scene = Scene::of_strictness(ctx, HEAPWRIGHT_ALIASING_STRICTNESS_PEDANTIC)?;
        let (one, other) = scene.activated_strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(None, None);
            scene.write(list, &other, 0);
        })?;
        scene.remarks(&[("B-8", "")], HEAPWRIGHT_ALIASING_SEVERITY_INFO)
    }),
    accepted_scene("aliasing/b-9-fence-between-queues", "B-9", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST))?;
        let copies = scene.ctx.queue(COPY)?;
        let written = copies.submit_together(&[&|list| scene.write(list, &one, 0)])?;
        let wait = commands::queue_wait(&scene.queue.queue, &copies.fence, written);
        wait.ok("the copy queue's fence")?;
        scene.run(|list| scene.write(list, &other, 0))?;
        copies.wait(written)?;
        scene.accepts()
    }),
    accepted_scene("aliasing/b-9-cpu-between-queues", "B-9", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST))?;
        let copies = scene.ctx.queue(COPY)?;
        copies.wait(copies.submit_together(&[&|list| scene.write(list, &one, 0)])?)?;
        scene.accepts_run(|list| scene.write(list, &other, 0))
    }),
    refused_scene("aliasing/b-9-nothing-between-queues", "B-9", PLACED, WITH_TEXTURES, |scene| {
        nothing_between_queues(scene)?;
        scene.refuses(&[("B-9", "")])
    }),
    accepted_scene("aliasing/b-10-barrier-before-the-pass", "B-10", RENDER_PASS, WITH_TEXTURES, |scene| {
        let (one, other) =
            scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), RENDER_TARGET))?;
        let view = scene.target_view(&other, 0, 0)?;
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            list.begin_pass(view, &Pass::Clear).ok("one target")?;
            list.end_pass().ok("one target")?;
            list.transition(&other, RENDER_TARGET, COPY_SOURCE);
            scene.read(list, &other, 0);
            Ok(())
        })
    }),
    refused_scene("aliasing/b-10-barrier-in-the-pass", "B-10", RENDER_PASS, WITH_TEXTURES, |scene| {
        let (one, other) =
            scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), RENDER_TARGET))?;
        let view = scene.target_view(&other, 0, 0)?;
        scene
            .close(|list| {
                list.begin_pass(view, &Pass::Clear).ok("one target")?;
                list.alias(Some(&one), Some(&other));
                list.end_pass().ok("one target")
            })?
            .refused("a barrier in a render pass")
    }),
];

/// Creates two textures of one granule each, and one that overlaps both.
fn overlapping(scene: &Scene<'_>) -> Result<[ID3D12Resource; 3], Stop> {
    let heap = scene.heap(2, TEXTURES)?;
    Ok([
        scene.place(&heap, 0, &square(), COPY_DEST)?,
        scene.place(&heap, 1, &square(), COPY_DEST)?,
        scene.place(&heap, 0, &rgba(256, 128), COPY_DEST)?,
    ])
}

/// Creates two textures that share a granule, the second in COMMON.
fn to_be_transitioned(scene: &Scene<'_>) -> Result<(ID3D12Resource, ID3D12Resource), Stop> {
    scene.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COMMON))
}

/// Activates and discards a render target that its last use left in `state`.
fn after_barrier(scene: &Scene<'_>, state: D3D12_RESOURCE_STATES) -> Result<(), Stop> {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST))?;
    scene.run(|list| {
        scene.write(list, &other, 0);
        list.transition(&other, COPY_DEST, state);
    })?;
    scene.run(|list| {
        scene.write(list, &one, 0);
        list.alias(Some(&one), Some(&other));
        list.discard(&other, None);
    })
}

/// Writes overlapping textures on two queues, neither of which waits for the other.
fn nothing_between_queues(scene: &Scene<'_>) -> Result<(), Stop> {
    let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST))?;
    let copies: Queue<'_> = scene.ctx.queue(COPY)?;
    let first = copies.submit_together(&[&|list| scene.write(list, &one, 0)])?;
    let second = scene.queue.submit_together(&[&|list| scene.write(list, &other, 0)])?;
    scene.queue.wait(second)?;
    copies.wait(first)
}
