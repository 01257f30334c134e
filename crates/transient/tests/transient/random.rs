//! Random frames: whatever is planned runs without a violation and with the right contents.

use heapwright::d3d12::*;
use heapwright::{ByteSize, buffer_desc};
use heapwright_transient::{FrameResourceId, PassId, QueueKind, Use};

use super::program::Program;
use super::world::{MODELS, World};

fn desc(random: &mut fastrand::Rng) -> D3D12_RESOURCE_DESC {
    let flags = match random.u8(..8) {
        0 => {
            let size = ByteSize::new(random.u64(1..200_000));
            let desc = buffer_desc(size);
            return D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..desc };
        }
        1 => D3D12_RESOURCE_FLAG_NONE,
        2 => D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        3 => D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        4 => D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS | D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        5 => D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS | D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        _ => D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
    };
    let is_depth = flags == D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let is_unordered = flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0;
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 1 << random.u32(2..9),
        Height: 1 << random.u32(2..8),
        DepthOrArraySize: random.u16(1..3),
        MipLevels: if is_depth || is_unordered { 1 } else { random.u16(1..3) },
        Format: if is_depth { DXGI_FORMAT_D32_FLOAT } else { DXGI_FORMAT_R8G8B8A8_UNORM },
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Flags: flags,
        ..Default::default()
    }
}

/// Makes a frame. Each resource is written in one pass and read in later ones, on up to three queues.
fn random_frame(random: &mut fastrand::Rng, program: &mut Program<'_>) -> Vec<PassId> {
    let kinds = [QueueKind::Direct, QueueKind::Compute, QueueKind::Copy];
    let queues: Vec<_> = kinds[..random.usize(1..=3)].iter().map(|&kind| program.queue(kind)).collect();
    let count = random.usize(2..10);
    let mut passes: Vec<(PassId, usize)> = Vec::new();
    for _ in 0..count {
        let queue = if random.bool() { 0 } else { random.usize(..queues.len()) };
        let pass = program.frame.add_pass(queues[queue]).expect("a pass");
        for &(other, _) in passes.iter().filter(|&&(_, other)| other != queue) {
            if random.u8(..3) > 0 {
                program.frame.add_dependency(other, pass).expect("an earlier pass");
            }
        }
        passes.push((pass, queue));
    }
    let may_skip = random.u8(..3) == 0;
    let skippable: Vec<PassId> =
        passes.iter().map(|&(pass, _)| pass).filter(|_| may_skip && random.u8(..3) == 0).collect();
    for &pass in &skippable {
        program.frame.set_may_be_skipped(pass).expect("a pass");
    }
    for _ in 0..random.usize(1..9) {
        let (pass, queue) = passes[random.usize(..count)];
        let is_target = |desc: &D3D12_RESOURCE_DESC| {
            let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
            desc.Flags & targets != 0
        };
        let desc = desc(random);
        let is_unordered = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0
            && desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER;
        let first_use = match random.u8(..3) {
            0 | 1 if is_unordered && kinds[queue] != QueueKind::Copy => Use::WriteUnordered,
            // Only the direct queue draws.
            _ if !is_target(&desc) || queue != 0 => Use::CopyAll,
            0 => Use::Clear,
            1 => Use::CopyAll,
            _ => Use::Render,
        };
        let id = program.resource(&desc, first_use);
        program.add_use(pass, id, first_use).expect("the queue permits it");
        for &(later, later_queue) in &passes[pass.0 + 1..] {
            // What a skipped pass would have written is what it wrote in an earlier frame, as such memory is not
            // shared.
            let how =
                if first_use == Use::WriteUnordered && random.u8(..4) == 0 { first_use } else { Use::Read };
            if random.u8(..3) == 0 && (how == Use::Read || kinds[later_queue] != QueueKind::Copy) {
                program.add_use(later, id, how).expect("the queue permits it");
            }
        }
    }
    skippable
}

#[test]
fn random_frames_run_without_a_violation_and_with_the_right_contents() {
    let (mut planned, mut refused, mut shared) = (0, 0, 0);
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let profile = if random.bool() { "discrete" } else { "heap-tier-1" };
        let world = World::with_barriers(profile, MODELS[usize::from(random.bool())]);
        let mut program = Program::new(&world);
        let skippable = random_frame(&mut random, &mut program);
        let plan = match program.prepare() {
            Ok(plan) => plan,
            Err(error) => {
                // Uses on several queues without an order.
                assert!(error.is_invalid_argument(), "seed {seed}: {error}");
                refused += 1;
                continue;
            }
        };
        planned += 1;
        shared += plan.plan().activations.iter().filter(|one| !one.predecessors.is_empty()).count();
        for frame in 0..4 {
            program.skip(skippable.iter().copied().filter(|_| frame > 0 && random.bool()).collect());
            program.run_well(&format!("seed {seed}, {:?}, frame {frame}", world.barriers));
        }
    }
    assert!(
        planned > 180 && shared > 180,
        "{planned} were planned, {refused} refused, {shared} activations share"
    );
}

/// Frames that differ from one to the next: what they have in common stays where it is.
#[test]
fn a_frame_that_changes_keeps_its_memory_and_places() {
    let world = World::new("discrete");
    let mut program = Program::new(&world);
    let queue = program.queue(QueueKind::Direct);
    let desc = buffer_desc(ByteSize::from_kib(64));
    let mut last: Option<FrameResourceId> = None;
    for number in 0..6 {
        let pass = program.frame.add_pass(queue).expect("a pass");
        let id = program.resource(&desc, Use::CopyAll);
        program.add_use(pass, id, Use::CopyAll).expect("a use");
        if let Some(last) = last {
            program.add_use(pass, last, Use::Read).expect("a use");
        }
        last = Some(id);
        let before = program.prepare().expect("a plan");
        program.run_well("a frame that changes");
        let plan = program.prepare().expect("a plan");
        assert!(std::sync::Arc::ptr_eq(&before, &plan), "the same frame");
        assert_eq!(plan.size(), ByteSize::from_kib(if number == 0 { 64 } else { 128 }));
        for (number, placement) in plan.plan().placements.iter().enumerate() {
            assert_eq!(placement.offset.get(), (number as u64 % 2) << 16, "resource {number} does not move");
        }
    }
}
