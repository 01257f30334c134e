//! Every state is recorded: the runtime checks the layout, access and scope of each barrier when the list is closed.

use heapwright::d3d12::*;
use heapwright::{ByteSize, buffer_desc};
use heapwright_runtime::SdkVersion;
use heapwright_transient::{BarrierModel, PassId, QueueKind, TransientFrame, Use};
use windows_core::Interface;

use super::world::{MODELS, Queue, World};

const PIXEL: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE;
const NON_PIXEL: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE;
const SOURCE: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_SOURCE;
const UNORDERED: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;

const OF_TARGETS: &[D3D12_RESOURCE_STATES] = &[
    PIXEL,
    NON_PIXEL,
    PIXEL | NON_PIXEL,
    SOURCE,
    PIXEL | SOURCE,
    D3D12_RESOURCE_STATE_RESOLVE_SOURCE,
    PIXEL | D3D12_RESOURCE_STATE_RESOLVE_SOURCE,
    UNORDERED,
    UNORDERED,
    D3D12_RESOURCE_STATE_COPY_DEST,
    D3D12_RESOURCE_STATE_COPY_DEST,
    D3D12_RESOURCE_STATE_RESOLVE_DEST,
    D3D12_RESOURCE_STATE_RENDER_TARGET,
    D3D12_RESOURCE_STATE_GENERIC_READ,
    D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE,
];
const OF_DEPTHS: &[D3D12_RESOURCE_STATES] = &[
    D3D12_RESOURCE_STATE_DEPTH_READ,
    D3D12_RESOURCE_STATE_DEPTH_READ | PIXEL | NON_PIXEL,
    D3D12_RESOURCE_STATE_DEPTH_WRITE,
    PIXEL,
    SOURCE,
];
const OF_BUFFERS: &[D3D12_RESOURCE_STATES] = &[
    D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER,
    D3D12_RESOURCE_STATE_INDEX_BUFFER,
    D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT,
    PIXEL,
    NON_PIXEL,
    D3D12_RESOURCE_STATE_GENERIC_READ,
    UNORDERED,
    UNORDERED,
    D3D12_RESOURCE_STATE_STREAM_OUT,
    D3D12_RESOURCE_STATE_COPY_DEST,
    SOURCE,
];
/// Those that both kinds of queues permit.
const ON_COMPUTE: &[D3D12_RESOURCE_STATES] =
    &[NON_PIXEL, SOURCE, NON_PIXEL | SOURCE, UNORDERED, D3D12_RESOURCE_STATE_COPY_DEST];

fn texture(flags: D3D12_RESOURCE_FLAGS, format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 64,
        Height: 64,
        Format: format,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        Flags: flags,
        ..buffer_desc(ByteSize::new(64))
    }
}

/// A resource that its first pass writes in one way and state, and later passes use in others, each on one of some
/// queues. Returns the number of texture barriers of a frame.
fn record(
    world: &World,
    desc: &D3D12_RESOURCE_DESC,
    (first, state): (Use, D3D12_RESOURCE_STATES),
    states: &[D3D12_RESOURCE_STATES],
    kinds: &[QueueKind],
) -> usize {
    let model = world.barriers;
    let mut frame = TransientFrame::new();
    let queues: Vec<_> = kinds.iter().map(|&kind| frame.add_queue(kind)).collect();
    let resource = frame.add_resource(desc, None);
    let pass = frame.add_pass(queues[0]).expect("a pass");
    frame.add_use(pass, resource, first, state).expect("the state permits the first use");
    let writes = UNORDERED
        | D3D12_RESOURCE_STATE_COPY_DEST
        | D3D12_RESOURCE_STATE_RESOLVE_DEST
        | D3D12_RESOURCE_STATE_RENDER_TARGET
        | D3D12_RESOURCE_STATE_DEPTH_WRITE
        | D3D12_RESOURCE_STATE_STREAM_OUT;
    for (number, &state) in states.iter().enumerate() {
        let pass = frame.add_pass(queues[number % queues.len()]).expect("a pass");
        if kinds.len() > 1 {
            frame.add_dependency(PassId(number), pass).expect("an earlier pass");
        }
        let how = if state & writes == 0 { Use::Read } else { Use::Update };
        frame.add_use(pass, resource, how, state).expect("the state permits the use");
    }
    let resources = world.heaps().prepare(&frame).expect("a plan");
    assert_eq!(resources.barrier_model(), model);
    let mut count = 0;
    for _ in 0..2 {
        world.watch.layouts().textures = 0;
        for submission in resources.submissions() {
            let (_commands, list) = Queue::new(world, kinds[submission.queue.0]).list(world);
            for &pass in &submission.passes {
                // SAFETY: the list is open, and it is never executed.
                unsafe { resources.begin_pass(&list, pass) }.expect("a pass");
                if model == BarrierModel::Legacy {
                    // A use promotes a buffer.
                    let used = resources.resource(resource).expect("a resource of the frame");
                    let state = if pass.0 == 0 { state } else { states[pass.0 - 1] };
                    world.watch.layouts().used(used.as_raw() as usize, state);
                }
                // SAFETY: as above.
                unsafe { resources.end_pass(&list, pass) }.expect("a pass");
            }
            // SAFETY: the list is open.
            let closed = unsafe { list.Close() };
            assert!(closed.is_ok(), "{model:?}, {kinds:?}: {:#?}", world.errors());
        }
        count = world.watch.layouts().textures;
    }
    assert_eq!(world.errors(), [""; 0], "{model:?}, {kinds:?}");
    assert_eq!(world.wrong_layouts(), [""; 0], "{model:?}, {kinds:?}");
    count
}

#[test]
fn every_state_has_barriers_that_the_runtime_accepts() {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let target = texture(target, DXGI_FORMAT_R8G8B8A8_UNORM);
    let unordered = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..target };
    let simultaneous =
        D3D12_RESOURCE_DESC { Flags: target.Flags | D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS, ..target };
    let depth = texture(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, DXGI_FORMAT_D32_FLOAT);
    let buffer = buffer_desc(ByteSize::from_kib(64));
    let buffer = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..buffer };
    let (render, write) =
        ((Use::Render, D3D12_RESOURCE_STATE_RENDER_TARGET), (Use::WriteUnordered, UNORDERED));
    let (direct, both) = ([QueueKind::Direct], [QueueKind::Direct, QueueKind::Compute]);
    for model in MODELS {
        let record =
            |desc: &D3D12_RESOURCE_DESC, first, states: &[D3D12_RESOURCE_STATES], kinds: &[QueueKind]| {
                record(&World::with_barriers("discrete", model), desc, first, states, kinds);
            };
        record(&target, render, OF_TARGETS, &direct);
        record(&target, write, OF_TARGETS, &direct);
        // Layout COMMON does not allow shading rates.
        record(&simultaneous, render, &OF_TARGETS[..OF_TARGETS.len() - 1], &direct);
        record(&depth, (Use::Render, D3D12_RESOURCE_STATE_DEPTH_WRITE), OF_DEPTHS, &direct);
        record(&buffer, write, OF_BUFFERS, &direct);
        for desc in [&target, &unordered, &simultaneous, &buffer] {
            record(desc, write, ON_COMPUTE, &both);
            record(desc, write, ON_COMPUTE, &[QueueKind::Compute]);
        }
    }
}

/// A direct queue reads depth as depth and in shaders, a compute queue in shaders, in turns. One layout serves both,
/// from the SDK on that has it.
#[test]
fn reads_on_two_queues_share_a_layout_where_the_device_has_it() {
    let depth = texture(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, DXGI_FORMAT_D32_FLOAT);
    let (read, write) = (D3D12_RESOURCE_STATE_DEPTH_READ, D3D12_RESOURCE_STATE_DEPTH_WRITE);
    let states = [read | PIXEL | NON_PIXEL, NON_PIXEL, read | PIXEL, NON_PIXEL, write];
    let both = [QueueKind::Direct, QueueKind::Compute];
    for (sdk, expected) in [(SdkVersion::new(617, 0), 6), (SdkVersion::new(619, 0), 3)] {
        let world = World::of_sdk(sdk, "discrete", BarrierModel::Enhanced);
        assert_eq!(record(&world, &depth, (Use::Render, write), &states, &both), expected, "{sdk:?}");
    }
    // The compute queue writes, and prepares the layout of the reads.
    let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let target = texture(flags, DXGI_FORMAT_R8G8B8A8_UNORM);
    let states = [NON_PIXEL, PIXEL | D3D12_RESOURCE_STATE_RESOLVE_SOURCE, UNORDERED];
    let both = [QueueKind::Compute, QueueKind::Direct];
    for (sdk, expected) in [(SdkVersion::new(617, 0), 4), (SdkVersion::new(619, 0), 3)] {
        let world = World::of_sdk(sdk, "discrete", BarrierModel::Enhanced);
        let found = record(&world, &target, (Use::WriteUnordered, UNORDERED), &states, &both);
        assert_eq!(found, expected, "{sdk:?}");
    }
}

/// Without the layout, the queues would have to agree on one that the compute queue does not permit.
#[test]
fn queues_that_share_a_layout_read_at_the_same_time() {
    for (version, is_planned) in [(617, false), (619, true)] {
        let world = World::of_sdk(SdkVersion::new(version, 0), "discrete", BarrierModel::Enhanced);
        let mut frame = TransientFrame::new();
        let (direct, compute) = (frame.add_queue(QueueKind::Direct), frame.add_queue(QueueKind::Compute));
        let desc = texture(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, DXGI_FORMAT_D32_FLOAT);
        let depth = frame.add_resource(&desc, None);
        let passes = [direct, direct, compute].map(|queue| frame.add_pass(queue).expect("a pass"));
        frame.add_dependency(passes[0], passes[2]).expect("an earlier pass");
        let states = [D3D12_RESOURCE_STATE_DEPTH_WRITE, D3D12_RESOURCE_STATE_DEPTH_READ | PIXEL, NON_PIXEL];
        for ((pass, state), how) in passes.into_iter().zip(states).zip([Use::Render, Use::Read, Use::Read]) {
            frame.add_use(pass, depth, how, state).expect("the state permits the use");
        }
        let planned = world.heaps().prepare(&frame);
        assert_eq!(planned.is_ok(), is_planned, "SDK {version}: {:?}", planned.err());
    }
}
