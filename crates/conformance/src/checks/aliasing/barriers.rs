//! Section B: aliasing barriers of `ResourceBarrier`.

use heapwright_d3d12::*;

use super::WITH_TEXTURES;
use crate::answer::Stop;
use crate::check::{Check, scene};
use crate::com::barriers::Barrier;
use crate::com::commands;
use crate::desc::{COMMON, COPY, COPY_DEST, COPY_SOURCE, RENDER_TARGET, rgba};
use crate::scene::{Scene, TARGETS, TEXTURES, square, tall, target};

const ALIAS: &str = "ALIAS, An aliasing barrier must be issued";
const PLACED: &str = "Learn, ID3D12Device::CreatePlacedResource, usage models";
const NULL: &str = "Learn, D3D12_RESOURCE_ALIASING_BARRIER";
pub(in crate::checks) const CHECKS: &[Check] = &[
    scene("aliasing/b-1-barrier-between", ALIAS, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
            list.transition(&other, COPY_DEST, COPY_SOURCE);
            scene.read(list, &other, 0);
        })?;
        scene.carried(&other, 0)
    }),
    scene("aliasing/b-2-two-calls", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        // Not waited for in between: the order of the queue is enough.
        scene.queue.submit_together(&[&|list| scene.write(list, &one, 0)])?;
        scene.run_together(&[&|list| scene.write(list, &other, 0)])?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-3-names-none-in-the-advanced-model", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), None);
            scene.write(list, &other, 0);
        })?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-4-null-is-any", NULL, WITH_TEXTURES, |scene| {
        let [one, other, both] = overlapping(scene)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.alias(None, None);
            scene.write(list, &both, 0);
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
        })?;
        scene.returns(&one, 0, COPY_DEST)
    }),
    scene("aliasing/b-4-one-barrier-for-each", NULL, WITH_TEXTURES, |scene| {
        let [one, other, both] = overlapping(scene)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.barriers(&[
                Barrier::Aliasing(Some(&one), Some(&both)),
                Barrier::Aliasing(Some(&other), Some(&both)),
            ]);
            scene.write(list, &both, 0);
        })?;
        scene.returns(&both, 0, COPY_DEST)
    }),
    scene("aliasing/b-5-after-the-last-access", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.strangers()?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            scene.write_box(list, &one, 0, [0, 0, 1, 1]);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        })?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-6-barrier-then-transition", NULL, WITH_TEXTURES, |scene| {
        let (one, other) = to_be_transitioned(scene)?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.barriers(&[
                Barrier::Aliasing(Some(&one), Some(&other)),
                Barrier::Transition(&other, None, COMMON, COPY_DEST),
            ]);
            scene.write(list, &other, 0);
        })?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-7-state-of-the-last-use", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) =
            scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST))?;
        scene.run(|list| {
            scene.write(list, &other, 0);
            list.transition(&other, COPY_DEST, RENDER_TARGET);
        })?;
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            list.discard(&other, None);
            list.transition(&other, RENDER_TARGET, COPY_DEST);
            scene.write(list, &other, 0);
        })?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-9-fence-between-queues", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST))?;
        let copies = scene.ctx.queue(COPY)?;
        let written = copies.submit_together(&[&|list| scene.write(list, &one, 0)])?;
        let wait = commands::queue_wait(&scene.queue.queue, &copies.fence, written);
        wait.ok("the copy queue's fence")?;
        scene.run(|list| scene.write(list, &other, 0))?;
        copies.wait(written)?;
        scene.returns(&other, 0, COPY_DEST)
    }),
    scene("aliasing/b-9-cpu-between-queues", PLACED, WITH_TEXTURES, |scene| {
        let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST))?;
        let copies = scene.ctx.queue(COPY)?;
        copies.wait(copies.submit_together(&[&|list| scene.write(list, &one, 0)])?)?;
        scene.run(|list| scene.write(list, &other, 0))?;
        scene.returns(&other, 0, COPY_DEST)
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
