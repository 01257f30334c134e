//! A device with an aliasing tracker, its queues, and command lists from which commands can be left out.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use heapwright::d3d12::*;
use heapwright::transient::QueueKind;
use heapwright::{ByteSize, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_intercept::{Intercepted, intercept, method};
use heapwright_runtime::aliasing::{AliasingTracking, Violation};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::Interface;

/// The numbers of commands that are left out, counted from one.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    pub(crate) aliasing_barrier: AtomicUsize,
    pub(crate) discard: AtomicUsize,
    /// A clear or a copy by which a pass initialises a resource.
    pub(crate) initialisation: AtomicUsize,
}

impl LeftOut {
    /// Counts a command, and returns whether it is the one to be left out.
    pub(crate) fn is_next(counter: &AtomicUsize) -> bool {
        let left = counter.load(Ordering::Relaxed);
        counter.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 1
    }
}

pub(crate) struct World {
    pub(crate) gpu: Instance,
    pub(crate) device: ID3D12Device,
    pub(crate) allocator: ResourceAllocator,
    pub(crate) left_out: &'static LeftOut,
}

impl World {
    pub(crate) fn new(profile: &str) -> Self {
        let options =
            DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), ..DeviceOptions::default() };
        let profile = HostProfile::find(profile).expect("a profile of that name");
        let gpu = Instance::open_with(profile, options).expect("a fresh instance");
        let device = gpu.device.clone();
        let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), ResourceAllocatorDesc::default())
            .expect("a sound device");
        Self { gpu, device, allocator, left_out: Box::leak(Box::default()) }
    }

    /// Returns the violations since the last call.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        let found = self.gpu.aliasing_violations();
        self.gpu.clear_aliasing_violations();
        found
    }

    /// Returns the errors and warnings of the debug layer, violations included.
    pub(crate) fn errors(&self) -> Vec<String> {
        let messages = self.gpu.messages().into_iter();
        let errors = messages.filter(|(severity, _)| *severity <= D3D12_MESSAGE_SEVERITY_WARNING);
        errors.map(|(_, message)| message).collect()
    }

    pub(crate) fn commit(
        &self,
        heap_type: D3D12_HEAP_TYPE,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> ID3D12Resource {
        let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
        let mut made = None;
        // SAFETY: the device is alive, and the structures outlive the call.
        unsafe {
            self.device.CreateCommittedResource(
                &properties,
                D3D12_HEAP_FLAG_NONE,
                desc,
                state,
                None,
                &mut made,
            )
        }
        .expect("a resource");
        made.expect("S_OK comes with a resource")
    }

    pub(crate) fn buffer(&self, heap_type: D3D12_HEAP_TYPE, size: u64) -> ID3D12Resource {
        let state = match heap_type {
            D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
            D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
            _ => D3D12_RESOURCE_STATE_COMMON,
        };
        self.commit(heap_type, &heapwright::buffer_desc(ByteSize::new(size.max(1))), state)
    }
}

/// A queue with its fence.
pub(crate) struct Queue {
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) fence: ID3D12Fence,
    kind: D3D12_COMMAND_LIST_TYPE,
    last: AtomicU64,
}

impl Queue {
    /// Signals the fence and returns the value.
    pub(crate) fn signal(&self) -> u64 {
        let value = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: queue and fence are alive.
        unsafe { self.queue.Signal(&self.fence, value) }.ok().expect("a signal");
        value
    }

    pub(crate) fn new(world: &World, kind: QueueKind) -> Self {
        let kind = match kind {
            QueueKind::Direct => D3D12_COMMAND_LIST_TYPE_DIRECT,
            QueueKind::Compute => D3D12_COMMAND_LIST_TYPE_COMPUTE,
            QueueKind::Copy => D3D12_COMMAND_LIST_TYPE_COPY,
        };
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is alive, and the results are of the interfaces asked for.
        let (queue, fence) = unsafe {
            (
                world.device.CreateCommandQueue(&desc).expect("a queue"),
                world.device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("a fence"),
            )
        };
        Self { queue, fence, kind, last: AtomicU64::new(0) }
    }

    /// Returns an open list whose commands can be left out, with its allocator.
    pub(crate) fn list(&self, world: &World) -> (ID3D12CommandAllocator, ID3D12GraphicsCommandList) {
        // SAFETY: the device is alive, and the results are of the interfaces asked for.
        let (commands, list) = unsafe {
            let commands: ID3D12CommandAllocator =
                world.device.CreateCommandAllocator(self.kind).expect("an allocator");
            let list: ID3D12GraphicsCommandList7 =
                world.device.CreateCommandList(0, self.kind, &commands, None).expect("a list");
            (commands, list)
        };
        // SAFETY: the test's thread alone uses the list, by this interface or those that it inherits from; what is
        // left out of a list leaves a valid one.
        unsafe {
            intercept(&list, world.left_out, |methods| {
                let methods = methods.of::<ID3D12GraphicsCommandList>();
                methods.replace(method!(ResourceBarrier), |call, (count, barriers)| {
                    barriers_without(call, count, barriers);
                });
                methods.replace(method!(DiscardResource), |call, (resource, region)| {
                    if !LeftOut::is_next(&call.data.discard) {
                        (call.original.DiscardResource)(call.this, resource, region);
                    }
                });
            });
        }
        (commands, list.cast().expect("its base"))
    }
}

fn barriers_without(
    call: &Intercepted<ID3D12GraphicsCommandList, LeftOut>,
    count: u32,
    barriers: *const D3D12_RESOURCE_BARRIER,
) {
    for number in 0..count as usize {
        // SAFETY: the caller passes that many barriers. One after the other, they mean the same as together.
        unsafe {
            let barrier = barriers.add(number);
            let is_aliasing = (*barrier).Type == D3D12_RESOURCE_BARRIER_TYPE_ALIASING;
            if !(is_aliasing && LeftOut::is_next(&call.data.aliasing_barrier)) {
                (call.original.ResourceBarrier)(call.this, 1, barrier);
            }
        }
    }
}
