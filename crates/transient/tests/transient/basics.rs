//! Frames that are refused, heaps that are shared, kept and paged.

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyList, ResidencyManager};
use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
use heapwright_intercept::{intercept, method};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_transient::{
    BarrierModel, ClearValue, FrameResourceId, PassId, QueueKind, TransientFrame, TransientHeaps, Use,
};
use windows_core::{IUnknown, Interface};

use super::world::World;

const DEST: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_DEST;
const SOURCE: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_SOURCE;

/// A frame of passes on a direct queue that each fill a buffer from the one before.
fn chain(count: usize, size: ByteSize) -> TransientFrame {
    chain_on(QueueKind::Direct, count, size)
}

fn chain_on(kind: QueueKind, count: usize, size: ByteSize) -> TransientFrame {
    let mut frame = TransientFrame::new();
    let queue = frame.add_queue(kind);
    let mut last = None;
    for _ in 0..count {
        let pass = frame.add_pass(queue).expect("the queue is there");
        let buffer = frame.add_resource(&buffer_desc(size), None);
        frame.add_use(pass, buffer, Use::CopyAll, DEST).expect("a use");
        if let Some(last) = last.replace(buffer) {
            frame.add_use(pass, last, Use::Read, SOURCE).expect("a use");
        }
    }
    frame
}

#[test]
fn wrong_frames_are_refused_with_the_resource_and_the_rule() {
    let world = World::new("discrete");
    let mut heaps = TransientHeaps::new(&world.allocator);
    let mut frame = chain(2, ByteSize::from_kib(64));
    let (pass, buffer) = (PassId(0), FrameResourceId(1));
    let refused = |result: Result<(), heapwright::Error>, expected: &str| {
        let error = result.expect_err("it is refused");
        assert!(error.is_invalid_argument(), "{error}");
        assert_eq!(error.to_string(), expected);
    };
    let far = FrameResourceId(9);
    refused(frame.add_use(pass, far, Use::Read, SOURCE), "resource: resource 9 is not of this frame");
    refused(frame.add_use(PassId(7), buffer, Use::Read, SOURCE), "pass: pass 7 is not of this frame");
    refused(
        frame.add_use(pass, buffer, Use::Read, DEST),
        "state: a resource in state 0x400 does not permit the use Read",
    );
    refused(
        frame.add_use(pass, buffer, Use::CopyAll, SOURCE),
        "state: a resource in state 0x800 does not permit the use CopyAll",
    );
    refused(
        frame.add_use(pass, FrameResourceId(0), Use::Read, SOURCE),
        "state: pass 0 cannot use resource 0 in state 0x800: it uses it in state 0x400 already, and a pass leaves each \
         resource in one state",
    );
    refused(
        frame.add_dependency(pass, pass),
        "before: pass 0 cannot depend on pass 0: a pass depends on passes that were added before it",
    );
    let copies = frame.add_queue(QueueKind::Copy);
    let copy = frame.add_pass(copies).expect("a pass");
    refused(
        frame.add_use(copy, buffer, Use::Read, D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE),
        "state: state 0x80 cannot be used on a Copy queue",
    );

    // Contents that nobody wrote, and resources that nobody uses.
    let mut frame = chain(1, ByteSize::from_kib(64));
    let unwritten = frame.add_resource(&buffer_desc(ByteSize::from_kib(64)), None);
    refused(heaps.prepare(&frame).map(drop), "frame: no pass uses resource 1");
    frame.add_use(PassId(0), unwritten, Use::Read, SOURCE).expect("a use");
    refused(
        heaps.prepare(&frame).map(drop),
        "frame: resource 1 is read by pass 0, and no pass before that writes it: its contents are undefined",
    );
    // A description that the device refuses.
    let mut frame = chain(1, ByteSize::from_kib(64));
    frame.add_resource(&D3D12_RESOURCE_DESC::default(), None);
    assert!(heaps.prepare(&frame).is_err());
    assert_eq!(world.allocator.stats().reserved, ByteSize::ZERO, "nothing is held");
}

#[test]
fn memory_is_the_allocators_and_is_freed_with_the_last_reference() {
    let world = World::new("discrete");
    let mut heaps = TransientHeaps::new(&world.allocator);
    assert_eq!(heaps.prepare(&TransientFrame::new()).expect("an empty frame").size(), ByteSize::ZERO);
    let large = heaps.prepare(&chain(5, ByteSize::from_mib(3))).expect("a plan");
    assert_eq!(large.size(), ByteSize::from_mib(6));
    assert_eq!(world.allocator.stats().used, ByteSize::from_mib(6));
    // Half as much fits into the same heap, less than half does not keep it.
    let same = heaps.prepare(&chain(4, ByteSize::from_mib(2))).expect("a plan");
    assert_eq!(world.allocator.stats().used, ByteSize::from_mib(6));
    let small = heaps.prepare(&chain(4, ByteSize::from_mib(1))).expect("a plan");
    assert_eq!(small.size(), ByteSize::from_mib(2));
    drop((large, same));
    assert_eq!(world.allocator.stats().used, ByteSize::from_mib(2));
    heaps.release();
    drop(small);
    assert_eq!(world.allocator.stats().used, ByteSize::ZERO);
    world.allocator.audit().expect("consistent books");
}

#[test]
fn frames_on_queues_of_different_kinds_share_no_memory() {
    let world = World::new("discrete");
    let mut heaps = TransientHeaps::new(&world.allocator);
    let kinds = [QueueKind::Direct, QueueKind::Compute, QueueKind::Copy];
    // Nothing orders the queues, so a frame may run while the one before it is still running.
    let frames = kinds.map(|kind| heaps.prepare(&chain_on(kind, 3, ByteSize::from_mib(1))).expect("a plan"));
    assert!(frames.iter().all(|frame| frame.size() == ByteSize::from_mib(2)));
    assert_eq!(world.allocator.stats().used, ByteSize::from_mib(6));
    drop(frames);
    assert_eq!(world.allocator.stats().used, ByteSize::from_mib(2), "that of the last frame");
}

#[test]
fn heaps_are_kept_resident_by_their_lists() {
    let world = World::new("discrete");
    let manager = ResidencyManager::new(&world.device, Some(&world.gpu.adapter), Default::default())
        .expect("a residency manager");
    let allocator = ResourceAllocator::with_residency(
        &world.device,
        Some(&world.gpu.adapter),
        Default::default(),
        &manager,
    )
    .expect("an allocator");
    let resources =
        TransientHeaps::new(&allocator).prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    let list = ResidencyList::new();
    resources.add_to(&list).expect("a list of the same manager");
    resources.add_to(&list).expect("twice is once");
    assert_eq!(list.len().expect("it is closed"), 1);
    // Without a manager, there is nothing to add.
    let list = ResidencyList::new();
    let resources =
        TransientHeaps::new(&world.allocator).prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    resources.add_to(&list).expect("no manager");
    assert!(list.is_empty().expect("it is closed"));
}

#[test]
fn categories_have_their_own_heaps_on_tier_1() {
    let world = World::new("heap-tier-1");
    let mut frame = chain(2, ByteSize::from_kib(64));
    let texture = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Height: 256,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        ..buffer_desc(ByteSize::new(256))
    };
    let target = D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, ..texture };
    let (texture, target) = (frame.add_resource(&texture, None), frame.add_resource(&target, None));
    let pass = PassId(1);
    frame.add_use(pass, texture, Use::CopyAll, DEST).expect("a use");
    frame.add_use(pass, target, Use::Clear, D3D12_RESOURCE_STATE_RENDER_TARGET).expect("a use");
    let resources = TransientHeaps::new(&world.allocator).prepare(&frame).expect("a plan");
    assert_eq!(resources.plan().heaps.len(), 3);
    let heaps = [FrameResourceId(0), texture, target].map(|id| resources.plan().placements[id.0].heap);
    assert_eq!(heaps, [0, 1, 2]);
    assert_eq!(world.errors(), [""; 0]);
}

/// A frame with a render target or a depth-stencil texture that one pass clears.
fn cleared(flags: D3D12_RESOURCE_FLAGS, format: DXGI_FORMAT, value: ClearValue) -> TransientFrame {
    let mut frame = TransientFrame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let pass = frame.add_pass(queue).expect("the queue is there");
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Height: 256,
        Format: format,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        Flags: flags,
        ..buffer_desc(ByteSize::new(256))
    };
    let texture = frame.add_resource(&desc, Some(value));
    let state = match value {
        ClearValue::Color { .. } => D3D12_RESOURCE_STATE_RENDER_TARGET,
        ClearValue::DepthStencil { .. } => D3D12_RESOURCE_STATE_DEPTH_WRITE,
    };
    frame.add_use(pass, texture, Use::Clear, state).expect("a use");
    frame
}

#[test]
fn the_device_gets_the_clear_values() {
    let world = World::new("discrete");
    let mut heaps = TransientHeaps::new(&world.allocator);
    let depth = |depth| {
        let format = DXGI_FORMAT_D32_FLOAT;
        let value = ClearValue::DepthStencil { format, depth, stencil: 0 };
        cleared(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, format, value)
    };
    let target = |format, color| {
        let value = ClearValue::Color { format, color };
        cleared(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, DXGI_FORMAT_R8G8B8A8_UNORM, value)
    };
    let colors = |red| target(DXGI_FORMAT_R8G8B8A8_UNORM, [red, 0.0, 0.0, 1.0]);
    // Frames with the same values are equal, also those with a NaN.
    for frame in [depth(0.5), colors(1.0), colors(f32::NAN)] {
        let first = heaps.prepare(&frame).expect("a plan");
        assert!(std::sync::Arc::ptr_eq(&first, &heaps.prepare(&frame.clone()).expect("a plan")));
    }
    assert_ne!(colors(0.0), colors(-0.0));
    assert_eq!(world.errors(), [""; 0]);
    // The device refuses values that the format does not have.
    let far = heaps.prepare(&depth(2.0)).expect_err("it is refused");
    assert!(far.to_string().contains("CreatePlacedResource"), "{far}");
    heaps.prepare(&target(DXGI_FORMAT_R32_FLOAT, [0.0; 4])).expect_err("it is refused");
    let errors = world.errors().concat();
    assert!(errors.contains("Depth 2 must be between 0 and 1"), "{errors}");
    assert!(errors.contains("must be in the format family"), "{errors}");
}

/// Returns the barriers of frames on a device, with the heaps.
fn barriers_on(device: &ID3D12Device) -> (BarrierModel, TransientHeaps) {
    let allocator = ResourceAllocator::new(device, None, Default::default()).expect("an allocator");
    let mut heaps = TransientHeaps::new(&allocator);
    let resources = heaps.prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    (resources.barrier_model(), heaps)
}

#[test]
fn barriers_are_those_that_device_and_lists_have() {
    let open = |name| Instance::open(HostProfile::find(name).expect("a profile")).expect("a fresh instance");
    let gpu = open("discrete");
    assert_eq!(barriers_on(&gpu.device).0, BarrierModel::Enhanced);
    assert_eq!(barriers_on(&open("first-generation").device).0, BarrierModel::Legacy);
    let allocator = ResourceAllocator::new(&gpu.device, None, Default::default()).expect("an allocator");
    let mut legacy = TransientHeaps::new(&allocator).with_legacy_barriers();
    let resources = legacy.prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    assert_eq!(resources.barrier_model(), BarrierModel::Legacy);
    assert!(resources.plan().activations.iter().any(|activation| !activation.after.is_empty()));
    // The frame that was prepared with enhanced barriers has none of them any more.
    let mut legacy = barriers_on(&gpu.device).1.with_legacy_barriers();
    let resources = legacy.prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    assert_eq!(resources.barrier_model(), BarrierModel::Legacy);

    // A layer that makes lists without the interface.
    let layered = open("discrete");
    let newest: ID3D12Device14 = layered.device.cast().expect("the runtime has it");
    // SAFETY: nobody else uses a fresh device. A call that fails is permitted.
    unsafe {
        intercept(&newest, &(), |methods| {
            methods.of::<ID3D12Device4>().replace(
                method!(CreateCommandList1),
                |call, (node, kind, flags, iid, out)| {
                    if *iid == ID3D12GraphicsCommandList7::IID {
                        return E_NOINTERFACE;
                    }
                    (call.original.CreateCommandList1)(call.this, node, kind, flags, iid, out)
                },
            );
        });
    }
    assert_eq!(barriers_on(&layered.device).0, BarrierModel::Legacy);

    // A driver without them, below a D3D12 that has all interfaces.
    let old = open("discrete");
    let newest: ID3D12Device14 = old.device.cast().expect("the runtime has it");
    // SAFETY: as above.
    unsafe {
        intercept(&newest, &D3D12_FEATURE_D3D12_OPTIONS12, |methods| {
            methods.of::<ID3D12Device>().replace(
                method!(CheckFeatureSupport),
                |call, (feature, data, size)| {
                    if feature == *call.data {
                        return E_INVALIDARG;
                    }
                    (call.original.CheckFeatureSupport)(call.this, feature, data, size)
                },
            );
        });
    }
    assert_eq!(barriers_on(&old.device).0, BarrierModel::Legacy);
}

#[test]
fn a_list_without_the_frames_barriers_is_an_error() {
    let world = World::new("discrete");
    let (model, mut heaps) = barriers_on(&world.device);
    assert_eq!(model, BarrierModel::Enhanced);
    let resources = heaps.prepare(&chain(3, ByteSize::from_mib(1))).expect("a plan");
    // SAFETY: the device is alive, and the results are of the interfaces asked for.
    let list: ID3D12GraphicsCommandList7 = unsafe {
        let commands: ID3D12CommandAllocator =
            world.device.CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_DIRECT).expect("an allocator");
        world.device.CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_DIRECT, &commands, None).expect("a list")
    };
    // SAFETY: nobody else uses the list, which refuses one interface that it has.
    unsafe {
        intercept(&list, &(), |methods| {
            methods.of::<IUnknown>().replace(method!(QueryInterface), |call, (iid, out)| {
                if *iid == ID3D12GraphicsCommandList7::IID {
                    *out = std::ptr::null_mut();
                    return E_NOINTERFACE;
                }
                (call.original.QueryInterface)(call.this, iid, out)
            });
        });
    }
    // SAFETY: the list is open and never executed.
    let results = unsafe { [0, 1].map(|pass| resources.begin_pass(&list, PassId(pass))) };
    // The first pass needs no barrier.
    assert!(results[0].is_ok());
    let error = results[1].as_ref().expect_err("the buffer of the first pass is read");
    assert!(error.is_unsupported() && error.to_string().contains("ID3D12GraphicsCommandList7"), "{error}");
}
