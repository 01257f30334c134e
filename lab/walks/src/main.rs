//! The walks that `cargo xtask walks` counts: each is a function of its own, whose calls callgrind collects.
//!
//! What a walk needs is made outside of it, and that it takes the way that its name says is asserted.

use std::mem::forget;
use std::time::Duration;

use heapwright::d3d12::*;
use heapwright::defragmentation::{
    Defragmentation, DefragmentationBudget, DefragmentationDesc, DefragmentationStep,
};
use heapwright::residency::{GroupBudgets, ResidencyList, ResidencyManager, ResidencyManagerDesc};
use heapwright::{
    ByteSize, HeapType, Placement, ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_transient::{QueueKind, TransientFrame, TransientHeaps, Use};

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

/// A request: the allocation and the resource.
type Request<'a> = (ResourceAllocationDesc<'a>, D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES);

fn create(allocator: &ResourceAllocator, (allocation, resource, state): &Request<'_>) -> ResourceAllocation {
    allocator.create_resource(allocation, resource, *state, None).expect("there is memory")
}

macro_rules! creates {
    ($($name:ident)*) => {$(
        #[inline(never)]
        fn $name(allocator: &ResourceAllocator, request: &Request<'_>) -> ResourceAllocation {
            create(allocator, request)
        }
    )*};
}
creates!(create_slot create_range create_part create_new_heap);

macro_rules! frees {
    ($($name:ident)*) => {$(
        #[inline(never)]
        fn $name(allocation: ResourceAllocation) {
            drop(allocation);
        }
    )*};
}
frees!(free_slot free_range free_part free_last);

#[inline(never)]
fn prepare(heaps: &mut TransientHeaps, frame: &TransientFrame) {
    forget(heaps.prepare(frame).expect("there is memory"));
}

#[inline(never)]
fn defragmentation_step(defragmentation: &mut Defragmentation) -> DefragmentationStep {
    let time = Duration::from_secs(100);
    defragmentation.step(DefragmentationBudget { time, ..DefragmentationBudget::default() })
}

/// A queue with a list of commands, and the manager that submits it.
struct Submission {
    manager: ResidencyManager,
    queue: ID3D12CommandQueue,
    commands: ID3D12GraphicsCommandList,
    _allocator: ID3D12CommandAllocator,
}

impl Submission {
    fn submit(&self, list: &ResidencyList) {
        // SAFETY: the list of commands is closed and empty, and its allocator is never reset.
        let submitted =
            unsafe { self.manager.execute_command_lists(&self.queue, &[list.of(&self.commands)]) };
        submitted.expect("it is in the budget");
    }

    /// Waits until the GPU is idle.
    fn wait(&self) {
        let fence = self.manager.queue_fence(&self.queue).expect("the queue is live");
        // SAFETY: the queue is live, and a null event makes the call wait.
        unsafe {
            let value = self.manager.execute_command_lists(&self.queue, &[]).expect("nothing is needed");
            fence.SetEventOnCompletion(value.get(), HANDLE::default()).ok().expect("the GPU is there");
        }
    }
}

#[inline(never)]
fn submit_resident(submission: &Submission, list: &ResidencyList) {
    submission.submit(list);
}

#[inline(never)]
fn submit_paged(submission: &Submission, list: &ResidencyList) {
    submission.submit(list);
}

#[inline(never)]
fn runtime_create_placed(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    desc: &D3D12_RESOURCE_DESC,
) -> ID3D12Resource {
    let mut resource: Option<ID3D12Resource> = None;
    // SAFETY: the heap is live, the description outlives the call, and the result is written to a variable of its type.
    unsafe { device.CreatePlacedResource(heap, 0, desc, COMMON, None, &mut resource) }.expect("it fits");
    resource.expect("success has a resource")
}

#[inline(never)]
fn runtime_aliasing_barrier(commands: &ID3D12GraphicsCommandList, barrier: &D3D12_RESOURCE_BARRIER) {
    // SAFETY: the list is open, and the resources of the barrier are live.
    unsafe { commands.ResourceBarrier(std::slice::from_ref(barrier)) };
}

fn main() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a simulated GPU");
    let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default());
    let allocator = allocator.expect("the default is valid");
    creations(&allocator);
    defragment(&allocator);
    transients(&allocator);
    submissions(&gpu);
    runtime(&gpu);
}

fn creations(allocator: &ResourceAllocator) {
    let within = ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE;
    let upload = ResourceAllocationDesc { flags: within, ..ResourceAllocationDesc::new(HeapType::Upload) };
    let of =
        |bytes| (ResourceAllocationDesc::new(HeapType::Default), buffer_desc(ByteSize::new(bytes)), COMMON);
    let (slot, range, large) = (of(1000), of(100_000), of(3 << 20));
    let part = (upload, buffer_desc(ByteSize::new(1000)), D3D12_RESOURCE_STATE_GENERIC_READ);
    // There is room for each but the large one, and other allocations keep their heaps.
    for request in [&slot, &range, &part].into_iter().cycle().take(30) {
        forget(create(allocator, request));
    }
    let in_slot = create_slot(allocator, &slot);
    let in_range = create_range(allocator, &range);
    let in_part = create_part(allocator, &part);
    assert_eq!(in_part.info().decision.placement, Placement::WithinResource);
    forget(create(allocator, &large));
    let heaps = allocator.stats().heap_count;
    let in_new_heap = create_new_heap(allocator, &large);
    assert_eq!(allocator.stats().heap_count, heaps + 1);
    free_slot(in_slot);
    free_range(in_range);
    free_part(in_part);
    free_last(in_new_heap);
}

fn defragment(allocator: &ResourceAllocator) {
    let request =
        (ResourceAllocationDesc::new(HeapType::Default), buffer_desc(ByteSize::new(100_000)), COMMON);
    let made: Vec<_> = (0..200).map(|_| create(allocator, &request)).collect();
    for (at, allocation) in made.into_iter().enumerate() {
        if at % 8 == 0 {
            forget(allocation);
        }
    }
    let mut defragmentation = allocator.defragment(DefragmentationDesc::default()).expect("the first one");
    let step = defragmentation_step(&mut defragmentation);
    assert!(!step.moves.is_empty());
}

/// Four buffers, of which each is written after the one before it is read.
fn transients(allocator: &ResourceAllocator) {
    let mut frame = TransientFrame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    let resources: Vec<_> =
        (0..4).map(|_| frame.add_resource(&buffer_desc(ByteSize::from_kib(256)), None)).collect();
    for (at, &resource) in resources.iter().enumerate() {
        let pass = frame.add_pass(queue).expect("the queue is the frame's");
        let (write, read) = (D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COPY_SOURCE);
        frame.add_use(pass, resource, Use::CopyAll, write).expect("a copy");
        if let Some(before) = at.checked_sub(1) {
            frame.add_use(pass, resources[before], Use::Read, read).expect("a read");
        }
    }
    // The first one creates the sets of the allocator's heaps of this kind, as the first buffer does.
    forget(TransientHeaps::new(allocator).prepare(&frame).expect("there is memory"));
    prepare(&mut TransientHeaps::new(allocator), &frame);
}

fn submissions(gpu: &Instance) {
    let budgets = GroupBudgets { local: ByteSize::from_mib(8), non_local: ByteSize::from_mib(64) };
    let desc = ResidencyManagerDesc { budget_override: Some(budgets), ..Default::default() };
    let manager = ResidencyManager::new(&gpu.device, None, desc).expect("the budgets are valid");
    let allocator =
        ResourceAllocator::with_residency(&gpu.device, Some(&gpu.adapter), Default::default(), &manager);
    let allocator = allocator.expect("the same device");
    let flags = ResourceAllocationFlags::ALWAYS_COMMITTED;
    let own = ResourceAllocationDesc { flags, ..ResourceAllocationDesc::new(HeapType::Default) };
    let request = (own, buffer_desc(ByteSize::from_mib(1)), COMMON);
    let meshes: Vec<_> = (0..12).map(|_| create(&allocator, &request)).collect();
    let list_of = |meshes: &[ResourceAllocation]| {
        let list = ResidencyList::new();
        meshes.iter().for_each(|mesh| list.add_allocation(mesh).expect("it is managed"));
        list
    };
    let (queue, commands, command_allocator) = open_list(gpu);
    // SAFETY: the list is open.
    unsafe { commands.Close() }.ok().expect("it is empty");
    let submission = Submission { manager, queue, commands, _allocator: command_allocator };
    let resident = list_of(&meshes[..4]);
    for _ in 0..4 {
        submission.submit(&resident);
        submission.wait();
    }
    submit_resident(&submission, &resident);
    submission.wait();
    submission.submit(&list_of(&meshes[8..]));
    submission.wait();
    let paged_in = || submission.manager.stats().local.bytes_paged_in;
    let (before, evicted) = (paged_in(), list_of(&meshes[4..7]));
    submit_paged(&submission, &evicted);
    assert_eq!(paged_in().saturating_sub(before), ByteSize::from_mib(3));
    submission.wait();
}

fn open_list(gpu: &Instance) -> (ID3D12CommandQueue, ID3D12GraphicsCommandList, ID3D12CommandAllocator) {
    let direct = D3D12_COMMAND_LIST_TYPE_DIRECT;
    // SAFETY: the device is live, and the descriptions outlive the calls.
    unsafe {
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: direct, ..Default::default() };
        let queue = gpu.device.CreateCommandQueue(&desc).expect("a queue");
        let allocator: ID3D12CommandAllocator =
            gpu.device.CreateCommandAllocator(direct).expect("an allocator");
        let list = gpu.device.CreateCommandList(0, direct, &allocator, None).expect("a list");
        (queue, list, allocator)
    }
}

/// What the runtime does for a placed buffer, and for the barrier between two in the same bytes.
fn runtime(gpu: &Instance) {
    let size = ByteSize::from_kib(64);
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size.get(),
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut heap: Option<ID3D12Heap> = None;
    // SAFETY: the device is live, the description outlives the call, and the result is written to a variable of its
    // type.
    unsafe { gpu.device.CreateHeap(&desc, &mut heap) }.expect("there is memory");
    let heap = heap.expect("success has a heap");
    let buffer = buffer_desc(size);
    // The first of a device does what the others need not.
    let first = runtime_create_other(&gpu.device, &heap, &buffer);
    let second = runtime_create_placed(&gpu.device, &heap, &buffer);
    let (_queue, commands, _allocator) = open_list(gpu);
    let aliasing = D3D12_RESOURCE_ALIASING_BARRIER {
        pResourceBefore: std::mem::ManuallyDrop::new(Some(first.clone())),
        pResourceAfter: std::mem::ManuallyDrop::new(Some(second.clone())),
    };
    let barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
        Anonymous: D3D12_RESOURCE_BARRIER_0 { Aliasing: std::mem::ManuallyDrop::new(aliasing) },
        ..Default::default()
    };
    runtime_aliasing_barrier(&commands, &barrier);
    // The barrier owns a reference to each; the program ends.
    forget((first, second));
}

#[inline(never)]
fn runtime_create_other(
    device: &ID3D12Device,
    heap: &ID3D12Heap,
    desc: &D3D12_RESOURCE_DESC,
) -> ID3D12Resource {
    let mut resource: Option<ID3D12Resource> = None;
    // SAFETY: as for `runtime_create_placed`.
    unsafe { device.CreatePlacedResource(heap, 0, desc, COMMON, None, &mut resource) }.expect("it fits");
    resource.expect("success has a resource")
}
