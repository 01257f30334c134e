//! Frames with known plans, and random frames that are replayed byte by byte.

use std::num::NonZero;

use proptest::prelude::*;

use super::*;
use crate::{SolveOptions, Violated};

const TARGET: ResourceKind = ResourceKind::RenderTarget { unordered_access: false };
const DIRECT_STEPS: FramePlanOptions = FramePlanOptions {
    heap_per_category: false,
    barriers: BarrierModel::Legacy,
    solve: SolveOptions {
        capacity: None,
        steps: 5000,
        threads: NonZero::<usize>::MIN,
        hint_slack_permille: 0,
    },
    moves: 100,
};

fn resource(kind: ResourceKind, granules: u64) -> FrameResource {
    let alignment = Alignment::new(64 << 10).unwrap();
    FrameResource::new(kind, ByteSize::from_kib(64 * granules), alignment)
}

fn plan(frame: &Frame) -> FramePlan {
    frame.plan(&DIRECT_STEPS, &mut || false).unwrap()
}

fn height(plan: &FramePlan) -> u64 {
    plan.heaps.iter().map(|heap| heap.height.get() >> 16).sum()
}

/// Research rule P-1: passes 2 to 4 on one queue and 5 to 6 on another do not follow one another without a fence.
#[test]
fn queues_share_memory_only_behind_a_fence() {
    for fence in [false, true] {
        let mut frame = Frame::new();
        let (direct, compute) = (frame.add_queue(QueueKind::Direct), frame.add_queue(QueueKind::Compute));
        let a = frame.add_resource(resource(ResourceKind::UnorderedAccessTexture, 4));
        let b = frame.add_resource(resource(TARGET, 4));
        let early: Vec<PassId> = (0..3).map(|_| frame.add_pass(compute)).collect();
        let late: Vec<PassId> = (0..2).map(|_| frame.add_pass(direct)).collect();
        frame.add_use(early[0], a, Use::WriteUnordered).unwrap();
        frame.add_use(early[2], a, Use::Read).unwrap();
        frame.add_use(late[0], b, Use::Render).unwrap();
        frame.add_use(late[1], b, Use::Read).unwrap();
        if fence {
            frame.add_dependency(early[2], late[0]).unwrap();
        }
        let plan = plan(&frame);
        assert_eq!(height(&plan), if fence { 4 } else { 8 });
        assert!(plan.heaps[0].proved);
        if fence {
            let activation = &plan.activations[1];
            assert_eq!((activation.resource, activation.predecessors.len()), (b, 1));
            // The fence separates the submissions, so there is no barrier; but the target must be initialised.
            assert!(activation.after.is_empty() && !activation.predecessors[0].same_queue);
            assert_eq!(activation.initialisation, Initialisation::Discard);
            assert_eq!(activation.resting_state, RestingState::RenderTarget);
            // The next frame's compute passes must not begin before the direct queue is done with the memory.
            assert_eq!(plan.frame_fences, [(direct, compute)]);
        } else {
            assert_eq!(plan.frame_fences, []);
        }
    }
}

/// Two small targets, then one over both, then a small one again.
#[test]
fn predecessors_are_clipped_and_each_gets_a_barrier() {
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let sizes = [2, 2, 4];
    let resources = sizes.map(|size| frame.add_resource(resource(TARGET, size)));
    let first = frame.add_pass(queue);
    frame.add_use(first, resources[0], Use::Clear).unwrap();
    frame.add_use(first, resources[1], Use::CopyAll).unwrap();
    let second = frame.add_pass(queue);
    frame.add_use(second, resources[2], Use::Render).unwrap();
    let plan = plan(&frame);
    assert_eq!(height(&plan), 4);
    let [a, b, c] = [0, 1, 2].map(|number| &plan.activations[number]);
    assert_eq!((a.initialisation, a.resting_state), (Initialisation::Clear, RestingState::RenderTarget));
    assert_eq!((b.initialisation, b.resting_state), (Initialisation::Copy, RestingState::CopyDest));
    assert!(a.predecessors.len() == 1 && a.predecessors[0].previous_frame && a.after.is_empty());
    assert_eq!((c.resource, c.pass, c.queue), (resources[2], second, queue));
    assert_eq!(c.after, [resources[0], resources[1]]);
    let mut ranges: Vec<_> =
        c.predecessors.iter().map(|predecessor| predecessor.range.start().get() >> 16).collect();
    ranges.sort_unstable();
    assert_eq!(ranges, [0, 2]);

    // The clear and the copy are the last uses and write: the flag DISCARD is not permitted behind their barriers.
    let options = FramePlanOptions { barriers: BarrierModel::Enhanced, ..DIRECT_STEPS };
    let plan = frame.plan(&options, &mut || false).unwrap();
    let c = &plan.activations[2];
    assert_eq!((&c.after[..], c.discards), (&resources[..2], false));
    assert_eq!(c.initialisation, Initialisation::Discard);
    let readers = frame.add_pass(queue);
    frame.add_use(readers, resources[2], Use::Read).unwrap();
    let last = frame.add_pass(queue);
    let depth = frame.add_resource(resource(ResourceKind::DepthStencil, 4));
    frame.add_use(last, depth, Use::Render).unwrap();
    let plan = frame.plan(&options, &mut || false).unwrap();
    let activation = plan.activations.iter().find(|activation| activation.resource == depth).unwrap();
    assert_eq!((&activation.after[..], activation.discards), (&resources[2..], true));
    assert_eq!(activation.resting_state, RestingState::DepthWrite);
}

#[test]
fn some_resources_never_alias_and_the_plan_says_why() {
    let mut frame = Frame::new();
    let (direct, compute) = (frame.add_queue(QueueKind::Direct), frame.add_queue(QueueKind::Compute));
    let passes: Vec<PassId> = (0..8).map(|_| frame.add_pass(direct)).collect();
    let retained = FrameResource { retention: Retention::History, ..resource(TARGET, 1) };
    let retained = frame.add_resource(retained);
    frame.add_use(passes[0], retained, Use::Read).unwrap();
    let read_first = frame.add_resource(resource(TARGET, 1));
    frame.add_use(passes[1], read_first, Use::Update).unwrap();
    let skipped = frame.add_resource(resource(TARGET, 1));
    frame.add_use(passes[2], skipped, Use::Render).unwrap();
    frame.add_use(passes[3], skipped, Use::Read).unwrap();
    let skipped_alone = frame.add_resource(resource(TARGET, 1));
    frame.add_use(passes[2], skipped_alone, Use::Render).unwrap();
    frame.set_may_be_skipped(passes[2]).unwrap();
    let twice = frame.add_resource(resource(ResourceKind::UnorderedAccessTexture, 1));
    let elsewhere = frame.add_pass(compute);
    frame.add_use(passes[4], twice, Use::WriteUnordered).unwrap();
    frame.add_use(elsewhere, twice, Use::Read).unwrap();
    let copied = frame.add_resource(resource(TARGET, 1));
    let after = frame.add_pass(compute);
    frame.add_dependency(passes[7], after).unwrap();
    frame.add_use(after, copied, Use::Update).unwrap();
    let target = frame.add_resource(resource(TARGET, 1));
    frame.add_use(after, target, Use::CopyAll).unwrap();
    let plan = plan(&frame);
    assert_eq!(
        plan.not_aliased,
        [
            (retained, NotAliased::Retained),
            (read_first, NotAliased::ReadBeforeWrite { pass: passes[1] }),
            (skipped, NotAliased::FirstUseMayBeSkipped { pass: passes[2] }),
            (twice, NotAliased::UnorderedFirstUses { pass: passes[4], other: elsewhere }),
            (copied, NotAliased::ReadBeforeWrite { pass: after }),
        ]
    );
    assert!(!NotAliased::Retained.is_mistake() && plan.not_aliased[1].1.is_mistake());
    // Only the two that are left share memory.
    assert_eq!(height(&plan), 6);
    let active: Vec<FrameResourceId> =
        plan.activations.iter().map(|activation| activation.resource).collect();
    assert_eq!(active, [skipped_alone, target]);
}

/// The second of three resources may not be used, so the third has to be ordered with the first, too.
#[test]
fn a_pass_that_may_be_skipped_does_not_hide_earlier_users() {
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let [a, b, c] = [(); 3].map(|()| {
        let resource = frame.add_resource(resource(TARGET, 2));
        let pass = frame.add_pass(queue);
        frame.add_use(pass, resource, Use::Render).unwrap();
        resource
    });
    let barriers = |frame: &Frame| {
        let activations = plan(frame).activations.into_iter();
        activations.map(|activation| (activation.after, activation.resource)).collect::<Vec<_>>()
    };
    assert_eq!(barriers(&frame), [(vec![], a), (vec![a], b), (vec![b], c)]);
    frame.set_may_be_skipped(PassId(1)).unwrap();
    assert_eq!(barriers(&frame), [(vec![], a), (vec![a], b), (vec![a, b], c)]);
}

#[test]
fn a_compute_queue_discards_what_it_may_write_and_nothing_else() {
    let mut frame = Frame::new();
    let compute = frame.add_queue(QueueKind::Compute);
    let pass = frame.add_pass(compute);
    let both = frame.add_resource(resource(ResourceKind::RenderTarget { unordered_access: true }, 1));
    frame.add_use(pass, both, Use::WriteUnordered).unwrap();
    let plan = plan(&frame);
    let activation = &plan.activations[0];
    assert_eq!(activation.initialisation, Initialisation::Discard);
    assert_eq!(activation.resting_state, RestingState::UnorderedAccess);
    let target = frame.add_resource(resource(TARGET, 1));
    for how in [Use::Render, Use::Clear, Use::WriteUnordered] {
        let error = frame.add_use(pass, target, how).unwrap_err();
        assert_eq!(error, FrameError::NotPermitted { pass, resource: target, how });
    }
}

#[test]
fn tier_1_has_a_heap_for_each_category() {
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    for (kind, how) in [
        (ResourceKind::Buffer, Use::WriteUnordered),
        (TARGET, Use::Render),
        (ResourceKind::Texture, Use::CopyAll),
        (ResourceKind::DepthStencil, Use::Clear),
    ] {
        let pass = frame.add_pass(queue);
        let used = frame.add_resource(resource(kind, 3));
        frame.add_use(pass, used, how).unwrap();
    }
    assert_eq!(height(&plan(&frame)), 3);
    let options = FramePlanOptions { heap_per_category: true, ..DIRECT_STEPS };
    let plan = frame.plan(&options, &mut || false).unwrap();
    assert_eq!((plan.heaps.len(), height(&plan)), (3, 9));
    assert_eq!(plan.placements[1].heap, plan.placements[3].heap);
    assert_eq!(plan.heaps[2].category, Some(Category::RenderTargetOrDepthStencil));
}

/// A large texture, and then two small ones, one after the other, in a part of its memory.
#[test]
fn resources_in_the_same_granule_are_predecessors() {
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let small = |offset| FrameResource {
        fixed_offset: Some(HeapOffset::new(offset)),
        ..FrameResource::new(ResourceKind::Texture, ByteSize::new(4096), Alignment::new(4096).unwrap())
    };
    for desc in [resource(TARGET, 1), small(4096), small(4096)] {
        let pass = frame.add_pass(queue);
        let used = frame.add_resource(desc);
        let how = if desc.kind == TARGET { Use::Render } else { Use::CopyAll };
        frame.add_use(pass, used, how).unwrap();
    }
    let plan = plan(&frame);
    assert_eq!(height(&plan), 1);
    // The last one is the third user of its bytes, and the second of the rest of the granule.
    let before: Vec<usize> = plan.activations[2].after.iter().map(|before| before.0).collect();
    assert_eq!(before, [0, 1]);
    // Small textures alone share nothing but bytes.
    let [first, second] = [1, 2].map(|number: usize| &plan.activations[number].predecessors);
    assert!(first.iter().any(|one| one.resource.0 == 0) && second.len() > 1, "{first:?}, {second:?}");
}

#[test]
fn malformed_frames_are_errors() {
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let (first, second) = (frame.add_pass(queue), frame.add_pass(queue));
    let error = frame.add_dependency(second, first).unwrap_err();
    assert_eq!(
        error.to_string(),
        "pass 0 cannot depend on pass 1: a pass depends on passes that were added before it"
    );
    let error = frame.add_dependency(first, first).unwrap_err();
    assert_eq!(error, FrameError::DependencyOrder { before: first, after: first });
    assert_eq!(frame.add_dependency(first, PassId(9)).unwrap_err(), FrameError::UnknownPass(PassId(9)));
    let used = frame.add_resource(resource(TARGET, 1));
    assert_eq!(frame.plan(&DIRECT_STEPS, &mut || false).unwrap_err(), FrameError::Unused(used));
    frame.add_use(first, used, Use::Render).unwrap();
    let huge = frame.add_resource(FrameResource { size: ByteSize::MAX, ..resource(TARGET, 1) });
    frame.add_use(first, huge, Use::Render).unwrap();
    let without = frame.described_by(vec![resource(TARGET, 1)]);
    assert_eq!(without.plan(&DIRECT_STEPS, &mut || false).unwrap_err(), FrameError::UnknownResource(huge));
    let expected = FrameError::Resource { resource: Some(huge), rule: Violated::TooLarge };
    assert_eq!(frame.plan(&DIRECT_STEPS, &mut || false).unwrap_err(), expected);
    let nowhere = frame.add_pass(QueueId(5));
    assert_eq!(frame.add_use(nowhere, used, Use::Read).unwrap_err(), FrameError::UnknownQueue(QueueId(5)));
    let mut frame = Frame::new();
    frame.add_pass(QueueId(5));
    assert_eq!(frame.plan(&DIRECT_STEPS, &mut || false).unwrap_err(), FrameError::UnknownQueue(QueueId(5)));
}

/// A random pass: its queue, the pass that it waits for, and the resources that it uses.
type RandomPass = (usize, Option<usize>, Vec<usize>);

fn random_frame(passes: &[RandomPass], sizes: &[u64]) -> Frame {
    let mut frame = Frame::new();
    let queues = [QueueKind::Direct, QueueKind::Compute].map(|kind| frame.add_queue(kind));
    let mut used = vec![false; sizes.len()];
    let resources: Vec<FrameResourceId> = sizes
        .iter()
        .map(|&size| frame.add_resource(resource(ResourceKind::UnorderedAccessTexture, size)))
        .collect();
    for (queue, waits_for, uses) in passes {
        let pass = frame.add_pass(queues[*queue]);
        if let Some(number) = waits_for.filter(|_| pass.0 > 0) {
            frame.add_dependency(PassId(number % pass.0), pass).unwrap();
        }
        for &number in uses {
            let number = number % sizes.len();
            let how =
                if std::mem::replace(&mut used[number], true) { Use::Read } else { Use::WriteUnordered };
            frame.add_use(pass, resources[number], how).unwrap();
        }
    }
    let last = frame.add_pass(queues[0]);
    for (number, &resource) in resources.iter().enumerate() {
        if !used[number] {
            frame.add_use(last, resource, Use::WriteUnordered).unwrap();
        }
    }
    frame
}

/// Whether one pass happens before another, by walking back.
fn reaches(frame: &Frame, first: PassId, second: PassId) -> bool {
    frame.passes[second.0].after.iter().any(|&pass| pass == first || reaches(frame, first, pass))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 }))]

    /// The plan is replayed granule by granule: whoever shares a granule is ordered, and the predecessors of an
    /// activation are the last users of its granules.
    #[test]
    fn plans_of_random_frames_hold(
        passes in proptest::collection::vec(
            (0_usize..2, proptest::option::of(0_usize..16), proptest::collection::vec(0_usize..8, 0..4)),
            1..9,
        ),
        sizes in proptest::collection::vec(1_u64..6, 1..8),
    ) {
        let frame = random_frame(&passes, &sizes);
        let plan = plan(&frame);
        let uses = |resource: usize| -> Vec<PassId> {
            (0..frame.passes.len()).map(PassId)
                .filter(|pass| frame.passes[pass.0].uses.iter().any(|used| used.resource.0 == resource))
                .collect()
        };
        let before = |a: usize, b: usize| {
            uses(a).iter().all(|&first| uses(b).iter().all(|&second| reaches(&frame, first, second)))
        };
        let aliases = |number: usize| plan.activations.iter().any(|activation| activation.resource.0 == number);
        for granule in 0..height(&plan) {
            let mut users: Vec<usize> = (0..sizes.len())
                .filter(|&number| {
                    let start = plan.placements[number].offset.get() >> 16;
                    (start..start + sizes[number]).contains(&granule)
                })
                .collect();
            users.sort_by_key(|&number| users_before(number, &sizes, &before));
            for pair in users.windows(2) {
                prop_assert!(before(pair[0], pair[1]), "{pair:?}");
                prop_assert!(aliases(pair[0]) && aliases(pair[1]));
            }
            for (turn, &user) in users.iter().enumerate() {
                let expected = users[(turn + users.len() - 1) % users.len()];
                let Some(activation) = plan.activations.iter().find(|activation| activation.resource.0 == user) else {
                    continue;
                };
                let offset = HeapOffset::new(granule << 16);
                let found: Vec<(usize, bool)> = (activation.predecessors.iter())
                    .filter(|predecessor| predecessor.range.contains(offset))
                    .map(|predecessor| (predecessor.resource.0, predecessor.previous_frame))
                    .collect();
                let expected = if expected == user { vec![] } else { vec![(expected, turn == 0)] };
                prop_assert_eq!(&found, &expected);
                for (resource, previous_frame) in found {
                    let resource = FrameResourceId(resource);
                    let submission = plan.submissions.iter().find(|one| one.passes.contains(&activation.pass)).unwrap();
                    let same = uses(resource.0).iter().any(|pass| submission.passes.contains(pass));
                    // Separate submissions are ordered without a barrier.
                    prop_assert_eq!(activation.after.contains(&resource), same && !previous_frame);
                }
            }
        }
    }
}

fn users_before(number: usize, sizes: &[u64], before: &impl Fn(usize, usize) -> bool) -> usize {
    (0..sizes.len()).filter(|&other| before(other, number)).count()
}
