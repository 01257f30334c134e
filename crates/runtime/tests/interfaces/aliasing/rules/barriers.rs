//! Section B: aliasing barriers of `ResourceBarrier`.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::calls::*;
use super::scene::*;

pub(super) const ROWS: &[Row] = &[
    refused("b-1-no-barrier-between", "B-1", |scene| {
        let (one, other) = scene.strangers();
        scene.refuses_run(&[("B-1", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
        })
    }),
    refused("b-2-two-lists-of-one-call", "B-2", |scene| {
        let (one, other) = scene.strangers();
        scene.run_together(&[&|list| scene.write(list, &one, 0), &|list| scene.write(list, &other, 0)]);
        scene.refuses(&[("B-1", "")])
    }),
    refused("b-2-two-calls-in-the-simple-model", "B-2", |scene| {
        let (one, other) = scene.strangers();
        scene.run(|list| {
            list.barriers(&[Barrier::Aliasing(None, Some(&other)), Barrier::Aliasing(None, Some(&one))])
        });
        scene.run(|list| scene.write(list, &one, 0));
        scene.refuses_run(&[("I-13", "")], |list| scene.write(list, &other, 0))
    })
    .with(SIMPLE),
    accepted("b-3-names-the-resource-after", "B-3", |scene| {
        let (one, other) = scene.strangers();
        scene.accepts_run(|list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(None, Some(&other));
            scene.write(list, &other, 0);
        })
    })
    .with(SIMPLE),
    refused("b-3-names-none-in-the-simple-model", "B-3", |scene| {
        let (one, _) = scene.strangers();
        scene.refuses_run(&[("B-3", "")], |list| {
            list.alias(None, Some(&one));
            scene.write(list, &one, 0);
            list.alias(Some(&one), None);
        })
    })
    .with(SIMPLE),
    refused("b-4-one-of-two-predecessors", "B-4", |scene| {
        let [one, other, both] = overlapping(scene);
        scene.refuses_run(&[("B-4", "")], |list| {
            scene.write(list, &one, 0);
            scene.write(list, &other, 0);
            list.alias(Some(&one), Some(&both));
            scene.write(list, &both, 0);
        })
    }),
    refused("b-5-before-the-last-access", "B-5", |scene| {
        let (one, other) = scene.strangers();
        scene.refuses_run(&[("B-5", "")], |list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write_box(list, &one, 0, [0, 0, 1, 1]);
            scene.write(list, &other, 0);
        })
    }),
    refused("b-6-transition-then-barrier", "B-6", |scene| {
        let (one, other) = to_be_transitioned(scene);
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.barriers(&[
                Barrier::Transition(&other, None, COMMON, COPY_DEST),
                Barrier::Aliasing(Some(&one), Some(&other)),
            ]);
            scene.write(list, &other, 0);
        });
        scene.remarks(&[("B-6", "")], HEAPWRIGHT_ALIASING_SEVERITY_WARNING)
    }),
    refused("b-7-barrier-changes-no-state", "B-7", |scene| {
        after_barrier(scene, COMMON);
        scene.refuses(&[("I-8", "")])
    }),
    accepted("b-8-barrier-that-is-needed", "B-8", |scene| {
        let (one, other) = scene.activated_strangers();
        scene.accepts_run(|list| {
            scene.write(list, &one, 0);
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        })
    })
    .with(PEDANTIC),
    refused("b-8-barrier-that-does-nothing", "B-8", |scene| {
        let (one, other) = scene.activated_strangers();
        scene.run(|list| {
            list.alias(Some(&one), Some(&other));
            scene.write(list, &other, 0);
        });
        scene.remarks(&[("B-8", "")], HEAPWRIGHT_ALIASING_SEVERITY_INFO)
    })
    .with(PEDANTIC),
    refused("b-8-barrier-that-stalls-all", "B-8", |scene| {
        let (one, other) = scene.activated_strangers();
        scene.run(|list| {
            scene.write(list, &one, 0);
            list.alias(None, None);
            scene.write(list, &other, 0);
        });
        scene.remarks(&[("B-8", "")], HEAPWRIGHT_ALIASING_SEVERITY_INFO)
    })
    .with(PEDANTIC),
    refused("b-9-nothing-between-queues", "B-9", |scene| {
        nothing_between_queues(scene);
        scene.refuses(&[("B-9", "")])
    }),
];

/// Creates two textures of one granule each, and one that overlaps both.
fn overlapping(scene: &Scene) -> [ID3D12Resource; 3] {
    let heap = scene.heap(2, TEXTURES);
    [
        scene.place(&heap, 0, &square(), COPY_DEST),
        scene.place(&heap, 1, &square(), COPY_DEST),
        scene.place(&heap, 0, &rgba(256, 128), COPY_DEST),
    ]
}

/// Creates two textures that share a granule, the second in COMMON.
fn to_be_transitioned(scene: &Scene) -> (ID3D12Resource, ID3D12Resource) {
    scene.pair(TEXTURES, (&square(), COPY_DEST), (&tall(), COMMON))
}

/// Activates and discards a render target that its last use left in `state`.
fn after_barrier(scene: &Scene, state: D3D12_RESOURCE_STATES) {
    let (one, other) = scene.pair(TARGETS, (&target(square()), COPY_DEST), (&target(tall()), COPY_DEST));
    scene.run(|list| {
        scene.write(list, &other, 0);
        list.transition(&other, COPY_DEST, state);
    });
    scene.run(|list| {
        scene.write(list, &one, 0);
        list.alias(Some(&one), Some(&other));
        list.discard(&other, None);
    });
}

/// Writes overlapping textures on two queues, neither of which waits for the other.
fn nothing_between_queues(scene: &Scene) {
    let (one, other) = scene.pair(TEXTURES, (&square(), COMMON), (&tall(), COPY_DEST));
    let copies = scene.queue_of(D3D12_COMMAND_LIST_TYPE_COPY);
    let first = copies.submit_together(&[&|list| scene.write(list, &one, 0)]);
    let second = scene.queue.submit_together(&[&|list| scene.write(list, &other, 0)]);
    scene.queue.wait(second);
    copies.wait(first)
}
