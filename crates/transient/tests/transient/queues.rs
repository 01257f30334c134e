//! A frame on three queues.

use heapwright::d3d12::*;
use heapwright::{ByteSize, buffer_desc};
use heapwright_transient::{BarrierModel, QueueKind, Use};

use super::program::Program;
use super::world::{MODELS, World};

fn target() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 128,
        Height: 128,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..Default::default()
    }
}

/// The direct queue draws, the compute queue reads it, and then memory goes on to the copy queue and back.
#[test]
fn memory_passes_from_queue_to_queue_behind_fences() {
    MODELS.into_iter().for_each(memory_passes_from_queue_to_queue);
}

fn memory_passes_from_queue_to_queue(model: BarrierModel) {
    let world = World::with_barriers("discrete", model);
    let mut program = Program::new(&world);
    let [direct, compute, copy] =
        [QueueKind::Direct, QueueKind::Compute, QueueKind::Copy].map(|kind| program.queue(kind));
    let passes =
        [direct, direct, compute, copy, direct].map(|queue| program.frame.add_pass(queue).expect("a pass"));
    let drawn = program.resource(&target(), Use::Render);
    let buffer = program.resource(&buffer_desc(ByteSize::from_kib(64)), Use::CopyAll);
    let last = program.resource(&target(), Use::Clear);
    for (pass, resource, how) in [
        (0, drawn, Use::Render),
        (1, drawn, Use::Read),
        (2, drawn, Use::Read),
        (3, buffer, Use::CopyAll),
        (4, buffer, Use::Read),
        (4, last, Use::Clear),
    ] {
        program.add_use(passes[pass], resource, how).expect("the queue permits it");
    }
    for (before, after) in [(1, 2), (2, 3), (3, 4)] {
        program.frame.add_dependency(passes[before], passes[after]).expect("an earlier pass");
    }
    let plan = program.prepare().expect("a plan");
    // The buffer and the last target live at the same time, both after the first one.
    assert_eq!(plan.size(), ByteSize::from_kib(128));
    let submissions = plan.submissions();
    let queues: Vec<_> =
        submissions.iter().map(|submission| (submission.queue, submission.passes.len())).collect();
    assert_eq!(queues, [(direct, 2), (compute, 1), (copy, 1), (direct, 1)]);
    let waits: Vec<_> = submissions.iter().map(|submission| submission.after.clone()).collect();
    assert_eq!(waits, [vec![], vec![0], vec![1], vec![2]]);
    // The first target is last read by the compute queue, and the buffer by the direct queue.
    let fences: Vec<_> =
        submissions.iter().map(|submission| submission.after_previous_frame.clone()).collect();
    assert_eq!(fences, [vec![compute, copy], vec![], vec![direct], vec![]]);
    for frame in 0..3 {
        program.run_well(&format!("frame {frame}"));
    }
}

/// Two queues read a target at the same time. Both declare the same state, which the last pass before them sets.
#[test]
fn two_queues_read_at_the_same_time() {
    MODELS.into_iter().for_each(two_queues_read);
}

fn two_queues_read(model: BarrierModel) {
    let world = World::with_barriers("discrete", model);
    let mut program = Program::new(&world);
    let (direct, compute) = (program.queue(QueueKind::Direct), program.queue(QueueKind::Compute));
    let passes = [direct, direct, compute].map(|queue| program.frame.add_pass(queue).expect("a pass"));
    program.frame.add_dependency(passes[0], passes[2]).expect("an earlier pass");
    let drawn = program.resource(&target(), Use::Render);
    program.add_use(passes[0], drawn, Use::Render).expect("a use");
    program.add_use(passes[1], drawn, Use::Read).expect("a use");
    program.add_use(passes[2], drawn, Use::Read).expect("a use");
    // The next frame's first pass finds the target in the state in which both have read it.
    let error = program.prepare().err();
    assert!(error.is_none(), "{error:?}");
    for frame in 0..3 {
        program.run_well(&format!("frame {frame}"));
    }
}

/// A submission whose only uses of a target may be skipped hands its memory over. The target need not be put back
/// behind its last use, and where a pass puts it back for the next one, the new owner waits for that.
#[test]
fn memory_is_handed_over_behind_passes_that_may_be_skipped() {
    for (model, count) in MODELS.into_iter().flat_map(|model| [1, 2].map(|count| (model, count))) {
        let world = World::with_barriers("discrete", model);
        let mut program = Program::new(&world);
        let (direct, compute) = (program.queue(QueueKind::Direct), program.queue(QueueKind::Compute));
        let mut queues = vec![direct, compute];
        queues.resize(count + 3, direct);
        let passes: Vec<_> =
            queues.iter().map(|&queue| program.frame.add_pass(queue).expect("a pass")).collect();
        for pair in passes.windows(2) {
            program.frame.add_dependency(pair[0], pair[1]).expect("an earlier pass");
        }
        let unordered = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..target() };
        let drawn = program.resource(&target(), Use::Render);
        let written = program.resource(&unordered, Use::WriteUnordered);
        program.add_use(passes[0], drawn, Use::Render).expect("a use");
        let skippable = &passes[2..2 + count];
        for &pass in skippable {
            program.frame.set_may_be_skipped(pass).expect("a pass");
            program.add_use(pass, drawn, Use::Read).expect("a use");
        }
        program.add_use(passes[2 + count], written, Use::WriteUnordered).expect("a use");
        let plan = program.prepare().expect("a plan");
        assert_eq!(plan.size(), ByteSize::from_kib(64), "they share memory");
        assert_eq!(plan.submissions()[2].passes, passes[2..], "in one submission");
        for skipped in 0..1 << count {
            let is_skipped = |number: &usize| skipped >> number & 1 != 0;
            program.skip((0..count).filter(is_skipped).map(|number| skippable[number]).collect());
            program.run_well(&format!("{model:?}, {count} passes, skipped {skipped:#b}"));
        }
    }
}
