//! The calls of a command list that the rows make.

use heapwright_d3d12::*;
use windows_core::Interface as _;

use crate::gpu::Answer as _;
use crate::queues::barriers::{aliasing, texture_barrier, transition};
use crate::queues::textures::borrow;

/// One barrier of `ResourceBarrier`.
#[derive(Clone, Copy)]
pub(crate) enum Barrier<'a> {
    /// From one resource to another; `None` stands for any resource.
    Aliasing(Option<&'a ID3D12Resource>, Option<&'a ID3D12Resource>),
    /// All subresources or one of them, from one state to another.
    Transition(&'a ID3D12Resource, Option<u32>, D3D12_RESOURCE_STATES, D3D12_RESOURCE_STATES),
}

/// One side of an enhanced barrier: synchronization scope and access.
pub(crate) type Scope = (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS);

/// One barrier of `Barrier`, for all of a resource.
#[derive(Clone, Copy)]
pub(crate) enum Enhanced<'a> {
    Texture {
        resource: &'a ID3D12Resource,
        /// Scopes before and after.
        scopes: (Scope, Scope),
        /// Layouts before and after.
        layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
        /// Whether `D3D12_TEXTURE_BARRIER_FLAG_DISCARD` is set.
        discards: bool,
    },
    Buffer {
        resource: &'a ID3D12Resource,
        /// Scopes before and after.
        scopes: (Scope, Scope),
    },
}

impl Enhanced<'_> {
    fn texture(&self) -> Option<D3D12_TEXTURE_BARRIER> {
        let Self::Texture { resource, scopes: (before, after), layouts, discards } = *self else {
            return None;
        };
        let flags =
            if discards { D3D12_TEXTURE_BARRIER_FLAG_DISCARD } else { D3D12_TEXTURE_BARRIER_FLAG_NONE };
        Some(D3D12_TEXTURE_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            LayoutBefore: layouts.0,
            LayoutAfter: layouts.1,
            Flags: flags,
            ..texture_barrier(resource)
        })
    }

    fn buffer(&self) -> Option<D3D12_BUFFER_BARRIER> {
        let Self::Buffer { resource, scopes: (before, after) } = *self else { return None };
        Some(D3D12_BUFFER_BARRIER {
            SyncBefore: before.0,
            SyncAfter: after.0,
            AccessBefore: before.1,
            AccessAfter: after.1,
            pResource: borrow(resource),
            Offset: 0,
            Size: u64::MAX,
        })
    }
}

/// An open command list.
pub(crate) struct List(pub(crate) ID3D12GraphicsCommandList7);

impl List {
    pub(crate) fn copy_buffer(
        &self,
        (to, to_offset): (&ID3D12Resource, u64),
        (from, from_offset): (&ID3D12Resource, u64),
        len: u64,
    ) {
        unsafe { self.0.CopyBufferRegion(to, to_offset, from, from_offset, len) };
    }

    pub(crate) fn barriers(&self, barriers: &[Barrier<'_>]) {
        let barriers: Vec<_> = barriers
            .iter()
            .map(|&one| match one {
                Barrier::Aliasing(before, after) => aliasing(before, after),
                Barrier::Transition(resource, subresource, before, after) => {
                    let mut barrier = transition(Some(resource), before, after);
                    if let Some(subresource) = subresource {
                        unsafe { (*barrier.Anonymous.Transition).Subresource = subresource };
                    }
                    barrier
                }
            })
            .collect();
        unsafe { self.0.ResourceBarrier(&barriers) };
    }

    pub(crate) fn alias(&self, before: Option<&ID3D12Resource>, after: Option<&ID3D12Resource>) {
        self.barriers(&[Barrier::Aliasing(before, after)]);
    }

    pub(crate) fn transition(
        &self,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        self.barriers(&[Barrier::Transition(resource, None, before, after)]);
    }

    /// Calls `Barrier` with a group of the buffer barriers and one of the texture barriers.
    pub(crate) fn enhanced(&self, barriers: &[Enhanced<'_>]) {
        let buffers: Vec<_> = barriers.iter().filter_map(Enhanced::buffer).collect();
        let textures: Vec<_> = barriers.iter().filter_map(Enhanced::texture).collect();
        let group = |kind, len, pointers| D3D12_BARRIER_GROUP {
            Type: kind,
            NumBarriers: u32::try_from(len).expect("few"),
            Anonymous: pointers,
        };
        let buffer_array = D3D12_BARRIER_GROUP_0 { pBufferBarriers: buffers.as_ptr() };
        let texture_array = D3D12_BARRIER_GROUP_0 { pTextureBarriers: textures.as_ptr() };
        let mut groups = vec![
            group(D3D12_BARRIER_TYPE_BUFFER, buffers.len(), buffer_array),
            group(D3D12_BARRIER_TYPE_TEXTURE, textures.len(), texture_array),
        ];
        groups.retain(|group| group.NumBarriers > 0);
        unsafe { self.0.Barrier(&groups) };
    }

    pub(crate) fn clear_target(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, color: [f32; 4]) {
        unsafe { self.0.ClearRenderTargetView(view, &color, &[]) };
    }

    pub(crate) fn clear_depth(&self, view: D3D12_CPU_DESCRIPTOR_HANDLE, depth: f32) {
        unsafe { self.0.ClearDepthStencilView(view, D3D12_CLEAR_FLAG_DEPTH, depth, 0, &[]) };
    }

    /// Discards the whole resource or one subresource.
    pub(crate) fn discard(&self, resource: &ID3D12Resource, subresource: Option<u32>) {
        let region = subresource.map(|subresource| D3D12_DISCARD_REGION {
            NumRects: 0,
            pRects: std::ptr::null(),
            FirstSubresource: subresource,
            NumSubresources: 1,
        });
        unsafe { self.0.DiscardResource(resource, region.as_ref().map(std::ptr::from_ref)) };
    }
}

/// A queue of a type, whose lists are executed several at a time.
pub(crate) struct Lists {
    device: ID3D12Device14,
    kind: D3D12_COMMAND_LIST_TYPE,
    pub(crate) queue: ID3D12CommandQueue,
    pub(crate) fence: ID3D12Fence,
}

impl Lists {
    pub(crate) fn new(device: &ID3D12Device14, kind: D3D12_COMMAND_LIST_TYPE) -> Self {
        let (queue, fence) = (crate::gpu::create_queue(device, kind), crate::gpu::create_fence(device, 0));
        Self { device: device.clone(), kind, queue, fence }
    }

    /// Executes a list of each recording with one call, and returns the fence value that follows it.
    pub(crate) fn submit_together(&self, recordings: &[&dyn Fn(&List)]) -> u64 {
        let mut lists = Vec::new();
        let mut allocators = Vec::new();
        for record in recordings {
            unsafe {
                let allocator: ID3D12CommandAllocator =
                    self.device.CreateCommandAllocator(self.kind).expect("an allocator");
                let list =
                    List(self.device.CreateCommandList(0, self.kind, &allocator, None).expect("a list"));
                record(&list);
                list.0.Close().succeeds();
                lists.push(Some(list.0.cast().expect("a command list")));
                allocators.push(allocator);
            }
        }
        // The values of a fence count its signals; no other thread uses it.
        static SIGNALS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let value = SIGNALS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        unsafe {
            self.queue.ExecuteCommandLists(&lists);
            self.queue.Signal(&self.fence, value).succeeds();
        }
        // Lists and allocators are kept by the queue of the simulated GPU until they have run.
        value
    }

    pub(crate) fn wait(&self, value: u64) {
        unsafe { self.fence.SetEventOnCompletion(value, HANDLE::default()) }.succeeds();
    }

    pub(crate) fn run_together(&self, recordings: &[&dyn Fn(&List)]) {
        self.wait(self.submit_together(recordings));
    }
}
