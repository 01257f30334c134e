//! Every state is recorded: the runtime checks the layout, access and scope of each barrier when the list is closed.

use heapwright::d3d12::*;
use heapwright::transient::{BarrierModel, PassId, QueueKind, TransientFrame, Use};
use heapwright::{ByteSize, buffer_desc};
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

/// A resource that its first pass writes in one way and state, and later passes use in others, each on one of some queues.
fn record(
    model: BarrierModel,
    desc: &D3D12_RESOURCE_DESC,
    (first, state): (Use, D3D12_RESOURCE_STATES),
    states: &[D3D12_RESOURCE_STATES],
    kinds: &[QueueKind],
) {
    let world = World::with_barriers("discrete", model);
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
    for _ in 0..2 {
        for submission in resources.submissions() {
            let (_commands, list) = Queue::new(&world, kinds[submission.queue.0]).list(&world);
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
    }
    assert_eq!(world.errors(), [""; 0], "{model:?}, {kinds:?}");
    assert_eq!(world.wrong_layouts(), [""; 0], "{model:?}, {kinds:?}");
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
        record(model, &target, render, OF_TARGETS, &direct);
        record(model, &target, write, OF_TARGETS, &direct);
        // Layout COMMON does not allow shading rates.
        record(model, &simultaneous, render, &OF_TARGETS[..OF_TARGETS.len() - 1], &direct);
        record(model, &depth, (Use::Render, D3D12_RESOURCE_STATE_DEPTH_WRITE), OF_DEPTHS, &direct);
        record(model, &buffer, write, OF_BUFFERS, &direct);
        for desc in [&target, &unordered, &simultaneous, &buffer] {
            record(model, desc, write, ON_COMPUTE, &both);
            record(model, desc, write, ON_COMPUTE, &[QueueKind::Compute]);
        }
    }
}
