//! A device with an aliasing tracker, its queues, and command lists that are watched and from which commands can be
//! left out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use heapwright::d3d12::*;
use heapwright::{ByteSize, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_intercept::{Intercepted, intercept, method};
use heapwright_runtime::aliasing::{AliasingTracking, Violation};
use heapwright_runtime::{DeviceOptions, SdkVersion};
use heapwright_transient::{BarrierModel, QueueKind, TransientHeaps};
use windows_core::Interface;

use super::layouts::{Layout, Layouts};
use crate::gpu::OwnGpu;

/// The numbers of commands that are left out, counted from one.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// An aliasing barrier, or the global barrier that is used instead.
    pub(crate) aliasing_barrier: AtomicUsize,
    /// `DiscardResource`, or the flag of a barrier.
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

/// What lists leave out, and what they do to layouts.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) left_out: LeftOut,
    pub(crate) layouts: Mutex<Layouts>,
}

impl Watch {
    pub(crate) fn layouts(&self) -> std::sync::MutexGuard<'_, Layouts> {
        self.layouts.lock().expect("no test panics while it holds the lock")
    }
}

pub(crate) const MODELS: [BarrierModel; 2] = [BarrierModel::Legacy, BarrierModel::Enhanced];

pub(crate) struct World {
    pub(crate) gpu: OwnGpu,
    pub(crate) device: ID3D12Device,
    pub(crate) allocator: ResourceAllocator,
    pub(crate) watch: &'static Watch,
    pub(crate) barriers: BarrierModel,
}

impl World {
    pub(crate) fn new(profile: &str) -> Self {
        Self::with_barriers(profile, BarrierModel::Enhanced)
    }

    pub(crate) fn with_barriers(profile: &str, barriers: BarrierModel) -> Self {
        Self::of_sdk(DeviceOptions::default().sdk, profile, barriers)
    }

    pub(crate) fn of_sdk(sdk: SdkVersion, profile: &str, barriers: BarrierModel) -> Self {
        let options = DeviceOptions { aliasing: Some(AliasingTracking::ADVANCED), sdk };
        let gpu = OwnGpu::open(profile, options);
        let device = gpu.device.clone();
        let watch: &'static Watch = Box::leak(Box::default());
        watch_placed(&device, watch);
        let allocator = ResourceAllocator::new(&device, Some(&gpu.adapter), ResourceAllocatorDesc::default())
            .expect("a sound device");
        Self { gpu, device, allocator, watch, barriers }
    }

    pub(crate) fn heaps(&self) -> TransientHeaps {
        let heaps = TransientHeaps::new(&self.allocator);
        match self.barriers {
            BarrierModel::Legacy => heaps.with_legacy_barriers(),
            BarrierModel::Enhanced => heaps,
        }
    }

    /// Returns the barriers and uses of placed resources since the last call that do not fit together.
    pub(crate) fn wrong_layouts(&self) -> Vec<String> {
        std::mem::take(&mut self.watch.layouts().mistakes)
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
        // An older SDK is asked about newer features.
        let is_unknown = |message: &String| message.contains("is not a known D3D12_FEATURE");
        errors.map(|(_, message)| message).filter(|message| !is_unknown(message)).collect()
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
        let made: ID3D12Resource = made.expect("S_OK comes with a resource");
        self.watch.layouts().forget(made.as_raw() as usize);
        made
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
        world.watch.layouts().begin_submission(self.kind);
        // SAFETY: the test's thread alone uses the list, by this interface or those that it inherits from; what is
        // left out of a list leaves a valid one.
        unsafe {
            intercept(&list, world.watch, |methods| {
                let methods_7 = methods.of::<ID3D12GraphicsCommandList7>();
                methods_7.replace(method!(Barrier), |call, (count, groups)| enhanced(call, count, groups));
                let methods = methods.of::<ID3D12GraphicsCommandList>();
                methods.replace(method!(ResourceBarrier), |call, (count, barriers)| {
                    legacy(call, count, barriers);
                });
                methods.replace(method!(DiscardResource), |call, (resource, region)| {
                    if !LeftOut::is_next(&call.data.left_out.discard) {
                        (call.original.DiscardResource)(call.this, resource, region);
                    }
                });
            });
        }
        (commands, list.cast().expect("its base"))
    }
}

/// Tells the watch of each placed resource.
fn watch_placed(device: &ID3D12Device, watch: &'static Watch) {
    let newest: ID3D12Device14 = device.cast().expect("the runtime has it");
    // SAFETY: nobody else uses a fresh device, and the replacements pass on what their callers promise.
    unsafe {
        intercept(&newest, watch, |methods| {
            methods.of::<ID3D12Device>().replace(
                method!(CreatePlacedResource),
                |call, (heap, offset, desc, state, clear, iid, made)| {
                    let result = (call.original.CreatePlacedResource)(
                        call.this, heap, offset, desc, state, clear, iid, made,
                    );
                    if result.is_ok() && !made.is_null() {
                        let decays = (*desc).Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
                            || (*desc).Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0;
                        call.data.layouts().created(*made as usize, Layout::State(state), decays);
                    }
                    result
                },
            );
            methods.of::<ID3D12Device10>().replace(
                method!(CreatePlacedResource2),
                |call, (heap, offset, desc, layout, clear, count, formats, iid, made)| {
                    let result = (call.original.CreatePlacedResource2)(
                        call.this, heap, offset, desc, layout, clear, count, formats, iid, made,
                    );
                    if result.is_ok() && !made.is_null() {
                        let is_buffer = (*desc).Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
                        let layout = if is_buffer { Layout::Buffer } else { Layout::Texture(layout) };
                        let decays =
                            is_buffer || (*desc).Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0;
                        call.data.layouts().created(*made as usize, layout, decays);
                    }
                    result
                },
            );
        });
    }
}

fn address(resource: &Option<ID3D12Resource>) -> usize {
    resource.as_ref().map_or(0, |resource| resource.as_raw() as usize)
}

fn legacy(
    call: &Intercepted<ID3D12GraphicsCommandList, Watch>,
    count: u32,
    barriers: *const D3D12_RESOURCE_BARRIER,
) {
    for number in 0..count as usize {
        // SAFETY: the caller passes that many barriers. One after the other, they mean the same as together.
        unsafe {
            let barrier = barriers.add(number);
            let is_aliasing = (*barrier).Type == D3D12_RESOURCE_BARRIER_TYPE_ALIASING;
            if is_aliasing && LeftOut::is_next(&call.data.left_out.aliasing_barrier) {
                continue;
            }
            if (*barrier).Type == D3D12_RESOURCE_BARRIER_TYPE_TRANSITION {
                let transition = &(*barrier).Anonymous.Transition;
                call.data.layouts().transition(
                    address(&transition.pResource),
                    transition.StateBefore,
                    transition.StateAfter,
                );
            }
            (call.original.ResourceBarrier)(call.this, 1, barrier);
        }
    }
}

fn enhanced(
    call: &Intercepted<ID3D12GraphicsCommandList7, Watch>,
    count: u32,
    groups: *const D3D12_BARRIER_GROUP,
) {
    let (left_out, mut layouts) = (&call.data.left_out, call.data.layouts());
    let mut kept = Vec::new();
    let mut flagged: Vec<Vec<D3D12_TEXTURE_BARRIER>> = Vec::new();
    // SAFETY: the caller passes that many groups, with as many barriers as they count. The copies of barriers live
    // until the call, and are made of memory that owns nothing.
    unsafe {
        for group in std::slice::from_raw_parts(groups, count as usize) {
            let (mut group, length) = (std::ptr::read(group), group.NumBarriers as usize);
            match group.Type {
                D3D12_BARRIER_TYPE_GLOBAL => {
                    for barrier in std::slice::from_raw_parts(group.Anonymous.pGlobalBarriers, length) {
                        layouts.global(barrier.SyncBefore);
                    }
                    if LeftOut::is_next(&left_out.aliasing_barrier) {
                        continue;
                    }
                }
                D3D12_BARRIER_TYPE_TEXTURE => {
                    let mut barriers = Vec::new();
                    for barrier in std::slice::from_raw_parts(group.Anonymous.pTextureBarriers, length) {
                        let before = (barrier.SyncBefore, barrier.AccessBefore);
                        layouts.barrier(
                            address(&barrier.pResource),
                            [before, (barrier.SyncAfter, barrier.AccessAfter)],
                            Some([barrier.LayoutBefore, barrier.LayoutAfter]),
                        );
                        let mut barrier = std::ptr::read(barrier);
                        if barrier.Flags & D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0 {
                            layouts.discarded(address(&barrier.pResource));
                            if LeftOut::is_next(&left_out.discard) {
                                barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_NONE;
                            }
                        }
                        barriers.push(barrier);
                    }
                    group.Anonymous.pTextureBarriers = barriers.as_ptr();
                    flagged.push(barriers);
                }
                _ => {
                    for barrier in std::slice::from_raw_parts(group.Anonymous.pBufferBarriers, length) {
                        let before = (barrier.SyncBefore, barrier.AccessBefore);
                        let sides = [before, (barrier.SyncAfter, barrier.AccessAfter)];
                        layouts.barrier(address(&barrier.pResource), sides, None);
                    }
                }
            }
            kept.push(group);
        }
        (call.original.Barrier)(call.this, u32::try_from(kept.len()).expect("small"), kept.as_ptr());
    }
}
