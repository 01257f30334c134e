//! Records a frame's barriers into command lists: legacy ones, or enhanced ones.
//!
//! With enhanced barriers, memory that passes from one resource to another within a submission is released by a global
//! barrier, which waits for all uses of the resources before and flushes them. It needs no barrier of each of them,
//! which would have to be left out wherever a pass is skipped. Then each texture that takes over memory gets a barrier
//! from an undefined layout, which waits for the same uses, and discards it if it is to be initialised.

use std::mem::ManuallyDrop;

use heapwright::d3d12::*;
use heapwright_aliasing::frame::{BarrierModel, FrameResourceId, PassId, QueueKind};
use windows_core::Interface;

use super::heaps::TransientResources;
use super::resource::Resource;
use super::scopes::{Scope, layout_of};
use super::states::{Barrier, Before, Handover};
use heapwright::Error;

/// States in which commands order their writes themselves.
const ORDERED_WRITES: D3D12_RESOURCE_STATES =
    D3D12_RESOURCE_STATE_RENDER_TARGET | D3D12_RESOURCE_STATE_DEPTH_WRITE;

/// The barriers of one call, by their types.
#[derive(Default)]
struct Groups {
    /// All memory that passes from resources to others.
    memory: Option<Handover>,
    textures: Vec<D3D12_TEXTURE_BARRIER>,
    buffers: Vec<D3D12_BUFFER_BARRIER>,
}

impl TransientResources {
    /// Records what the resources of a pass need in front of it: aliasing barriers, discards, and transitions to the
    /// states of the pass.
    ///
    /// # Errors
    ///
    /// Invalid argument if the pass is not of the frame; unsupported if the barriers are
    /// [enhanced](Self::barrier_model), and the list has no `ID3D12GraphicsCommandList7`.
    ///
    /// # Safety
    ///
    /// * `list` is open for recording, of the type of the pass's queue, and not in a render pass.
    /// * In what the program executes, each pass has this call, its own commands and [`end_pass`](Self::end_pass) in
    ///   this order, or none of them if it may be skipped. Passes are in the order and the submissions of
    ///   [`submissions`](Self::submissions), with the waits that it lists, and frames follow one another.
    /// * Each queue of the frame is one `ID3D12CommandQueue`, the same every time. Frames of one
    ///   [`TransientHeaps`](super::TransientHeaps) that have a single queue of the same kind are executed on the same
    ///   `ID3D12CommandQueue`, as they may use the same memory.
    /// * The first use of a resource by its first pass is the declared one: with [`Use::Clear`](super::Use::Clear) or
    ///   [`Use::CopyAll`](super::Use::CopyAll), the pass clears or overwrites the whole resource before anything else.
    /// * No other code transitions the resources. If a pass has other barriers of them, such as between two dispatches,
    ///   they are of the frame's [model](Self::barrier_model), or name no resource.
    /// * `self` lives until the GPU has finished the frame.
    pub unsafe fn begin_pass(&self, list: &ID3D12GraphicsCommandList, pass: PassId) -> Result<(), Error> {
        let record = self.record(pass)?;
        // SAFETY: the caller's promises.
        unsafe { self.barriers(list, pass, &record.activate)? };
        for &resource in &record.discard {
            // SAFETY: the list is open; the resource is alive, in the state that a discard needs on this queue, and its
            // contents are not needed any more.
            unsafe { list.DiscardResource(self.resource_at(resource), None) };
        }
        // SAFETY: as above.
        unsafe { self.barriers(list, pass, &record.begin) }
    }

    /// Records the transitions behind a pass that later passes rely on.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`begin_pass`](Self::begin_pass).
    ///
    /// # Safety
    ///
    /// The conditions of [`begin_pass`](Self::begin_pass) apply.
    pub unsafe fn end_pass(&self, list: &ID3D12GraphicsCommandList, pass: PassId) -> Result<(), Error> {
        let record = self.record(pass)?;
        // SAFETY: the caller's promises.
        unsafe { self.barriers(list, pass, &record.end) }
    }

    /// Records barriers in the frame's model.
    ///
    /// # Safety
    ///
    /// The conditions of [`begin_pass`](Self::begin_pass) apply.
    unsafe fn barriers(
        &self,
        list: &ID3D12GraphicsCommandList,
        pass: PassId,
        barriers: &[Barrier],
    ) -> Result<(), Error> {
        match self.plan.barriers {
            BarrierModel::Legacy => {
                // SAFETY: the caller's promises.
                unsafe { self.record_legacy(list, barriers) };
                Ok(())
            }
            // SAFETY: the caller's promises.
            BarrierModel::Enhanced => unsafe {
                self.record_enhanced(list, self.frame.queue_of(pass.0), barriers)
            },
        }
    }

    /// Returns a resource for a barrier, which does not release it.
    pub(super) fn borrowed(&self, resource: FrameResourceId) -> ManuallyDrop<Option<ID3D12Resource>> {
        let resource: *const ID3D12Resource = self.resource_at(resource);
        // SAFETY: the pointer is valid, and the copy is never dropped. It is used while the original is alive.
        ManuallyDrop::new(Some(unsafe { resource.read() }))
    }

    /// Records legacy barriers.
    ///
    /// # Safety
    ///
    /// The conditions of [`begin_pass`](Self::begin_pass) apply.
    pub(super) unsafe fn record_legacy(&self, list: &ID3D12GraphicsCommandList, barriers: &[Barrier]) {
        let recorded: Vec<D3D12_RESOURCE_BARRIER> =
            barriers.iter().filter_map(|&barrier| self.to_legacy(barrier)).collect();
        if !recorded.is_empty() {
            // SAFETY: the list is open, and the barriers' resources are alive.
            unsafe { list.ResourceBarrier(&recorded) };
        }
    }

    fn to_legacy(&self, barrier: Barrier) -> Option<D3D12_RESOURCE_BARRIER> {
        let borrowed = |resource: FrameResourceId| self.borrowed(resource);
        let (kind, barrier) = match barrier {
            Barrier::Aliasing { before, after, .. } => (
                D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
                D3D12_RESOURCE_BARRIER_0 {
                    Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                        pResourceBefore: borrowed(before),
                        pResourceAfter: borrowed(after),
                    }),
                },
            ),
            Barrier::Transition { resource, before: Before::State { state, .. }, after } => (
                D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
                D3D12_RESOURCE_BARRIER_0 {
                    Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                        pResource: borrowed(resource),
                        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                        StateBefore: state,
                        StateAfter: after,
                    }),
                },
            ),
            Barrier::Writes { resource, state: D3D12_RESOURCE_STATE_UNORDERED_ACCESS } => (
                D3D12_RESOURCE_BARRIER_TYPE_UAV,
                D3D12_RESOURCE_BARRIER_0 {
                    UAV: ManuallyDrop::new(D3D12_RESOURCE_UAV_BARRIER { pResource: borrowed(resource) }),
                },
            ),
            // All other commands wait for earlier writes in the same state, and layouts are never undefined.
            Barrier::Writes { .. } | Barrier::Transition { before: Before::Undefined { .. }, .. } => {
                return None;
            }
        };
        Some(D3D12_RESOURCE_BARRIER {
            Type: kind,
            Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
            Anonymous: barrier,
        })
    }

    /// # Errors
    ///
    /// Unsupported if the list has no enhanced barriers.
    ///
    /// # Safety
    ///
    /// The conditions of [`begin_pass`](Self::begin_pass) apply, and the list is for a queue of the kind `queue`.
    pub(super) unsafe fn record_enhanced(
        &self,
        list: &ID3D12GraphicsCommandList,
        queue: QueueKind,
        barriers: &[Barrier],
    ) -> Result<(), Error> {
        let mut groups = Groups::default();
        barriers.iter().for_each(|&barrier| self.add(&mut groups, queue, barrier));
        let global: Vec<D3D12_GLOBAL_BARRIER> = (groups.memory.iter())
            .map(|memory| D3D12_GLOBAL_BARRIER {
                SyncBefore: memory.released.sync,
                SyncAfter: memory.acquired.sync,
                AccessBefore: memory.released.access,
                AccessAfter: memory.acquired.access,
            })
            .collect();
        let group = |kind, count: usize, barriers| D3D12_BARRIER_GROUP {
            Type: kind,
            NumBarriers: u32::try_from(count).unwrap_or(u32::MAX),
            Anonymous: barriers,
        };
        let recorded: Vec<D3D12_BARRIER_GROUP> = [
            group(
                D3D12_BARRIER_TYPE_GLOBAL,
                global.len(),
                D3D12_BARRIER_GROUP_0 { pGlobalBarriers: global.as_ptr() },
            ),
            group(
                D3D12_BARRIER_TYPE_TEXTURE,
                groups.textures.len(),
                D3D12_BARRIER_GROUP_0 { pTextureBarriers: groups.textures.as_ptr() },
            ),
            group(
                D3D12_BARRIER_TYPE_BUFFER,
                groups.buffers.len(),
                D3D12_BARRIER_GROUP_0 { pBufferBarriers: groups.buffers.as_ptr() },
            ),
        ]
        .into_iter()
        .filter(|group| group.NumBarriers > 0)
        .collect();
        if recorded.is_empty() {
            return Ok(());
        }
        let list: ID3D12GraphicsCommandList7 = list
            .cast()
            .map_err(|_| Error::unsupported("a command list without ID3D12GraphicsCommandList7"))?;
        // SAFETY: the list is open; the groups point to as many barriers as they count, whose resources are alive.
        unsafe { list.Barrier(&recorded) };
        Ok(())
    }

    fn add(&self, groups: &mut Groups, queue: QueueKind, barrier: Barrier) {
        match barrier {
            Barrier::Aliasing { scopes, .. } => {
                groups.memory = Some(groups.memory.map_or(scopes, |others| others.and(scopes)));
            }
            Barrier::Transition { resource: id, before, after } => {
                let resource = self.described(id);
                let layout = |state| layout_of(resource, state, queue, self.states.users[id.0]);
                let after_scope = Scope::of(resource, after, queue);
                let (before_scope, layout_before, discards) = match before {
                    // Behind the end of a submission, memory is visible to all accesses that the layout allows.
                    Before::State { state, is_used: false } if layout(state) == layout(after) => return,
                    Before::State { state, is_used: false } => (Scope::NONE, layout(state), false),
                    Before::State { state, is_used: true } => {
                        (Scope::of(resource, state, queue), layout(state), false)
                    }
                    Before::Undefined { discards, memory } => {
                        let scope = Scope { sync: memory.released.and(memory.acquired).sync, ..Scope::NONE };
                        (scope, D3D12_BARRIER_LAYOUT_UNDEFINED, discards)
                    }
                };
                self.push(groups, id, [before_scope, after_scope], [layout_before, layout(after)], discards);
            }
            Barrier::Writes { state, .. } if state & ORDERED_WRITES != 0 => {}
            Barrier::Writes { resource: id, state } => {
                let resource = self.described(id);
                let layout = layout_of(resource, state, queue, self.states.users[id.0]);
                self.push(groups, id, [Scope::of(resource, state, queue); 2], [layout; 2], false);
            }
        }
    }

    fn push(
        &self,
        groups: &mut Groups,
        resource: FrameResourceId,
        [before, after]: [Scope; 2],
        [layout_before, layout_after]: [D3D12_BARRIER_LAYOUT; 2],
        discards: bool,
    ) {
        if self.described(resource).is_buffer() {
            groups.buffers.push(D3D12_BUFFER_BARRIER {
                SyncBefore: before.sync,
                SyncAfter: after.sync,
                AccessBefore: before.access,
                AccessAfter: after.access,
                pResource: self.borrowed(resource),
                Offset: 0,
                Size: u64::MAX,
            });
            return;
        }
        groups.textures.push(D3D12_TEXTURE_BARRIER {
            SyncBefore: before.sync,
            SyncAfter: after.sync,
            AccessBefore: before.access,
            AccessAfter: after.access,
            LayoutBefore: layout_before,
            LayoutAfter: layout_after,
            pResource: self.borrowed(resource),
            Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
                IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                ..Default::default()
            },
            Flags: if discards {
                D3D12_TEXTURE_BARRIER_FLAG_DISCARD
            } else {
                D3D12_TEXTURE_BARRIER_FLAG_NONE
            },
        });
    }

    fn described(&self, resource: FrameResourceId) -> &Resource {
        &self.frame.0.resources()[resource.0]
    }
}
