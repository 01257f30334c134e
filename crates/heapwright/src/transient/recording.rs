//! Records a frame's barriers into command lists.

use std::mem::ManuallyDrop;

use heapwright_core::aliasing::frame::{FrameResourceId, PassId};
use heapwright_d3d12::*;

use super::resources::TransientResources;
use super::states::Barrier;
use crate::Error;

impl TransientResources {
    /// Records what the resources of a pass need in front of it: aliasing barriers, discards, and transitions to the
    /// states of the pass.
    ///
    /// # Errors
    ///
    /// Invalid argument if the pass is not of the frame.
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
    /// * No other code transitions the resources.
    /// * `self` lives until the GPU has finished the frame.
    pub unsafe fn begin_pass(&self, list: &ID3D12GraphicsCommandList, pass: PassId) -> Result<(), Error> {
        let record = self.record(pass)?;
        // SAFETY: the caller's promises.
        unsafe { self.barriers(list, &record.activate) };
        for &resource in &record.discard {
            // SAFETY: the list is open; the resource is alive, in the state that a discard needs on this queue, and its
            // contents are not needed any more.
            unsafe { list.DiscardResource(self.resource_at(resource), None) };
        }
        // SAFETY: as above.
        unsafe { self.barriers(list, &record.begin) };
        Ok(())
    }

    /// Records the transitions behind a pass that later passes rely on.
    ///
    /// # Errors
    ///
    /// Invalid argument if the pass is not of the frame.
    ///
    /// # Safety
    ///
    /// The same as for [`begin_pass`](Self::begin_pass).
    pub unsafe fn end_pass(&self, list: &ID3D12GraphicsCommandList, pass: PassId) -> Result<(), Error> {
        let record = self.record(pass)?;
        // SAFETY: the caller's promises.
        unsafe { self.barriers(list, &record.end) };
        Ok(())
    }

    /// # Safety
    ///
    /// The same as for [`begin_pass`](Self::begin_pass).
    unsafe fn barriers(&self, list: &ID3D12GraphicsCommandList, barriers: &[Barrier]) {
        let recorded: Vec<D3D12_RESOURCE_BARRIER> =
            barriers.iter().map(|&barrier| self.to_d3d12(barrier)).collect();
        if !recorded.is_empty() {
            // SAFETY: the list is open, and the barriers' resources are alive.
            unsafe { list.ResourceBarrier(&recorded) };
        }
    }

    fn to_d3d12(&self, barrier: Barrier) -> D3D12_RESOURCE_BARRIER {
        // `ID3D12Resource` in a barrier is not released with it, so no reference is added either.
        let borrowed = |resource: FrameResourceId| {
            let resource: *const ID3D12Resource = self.resource_at(resource);
            // SAFETY: the pointer is valid, and the copy is never dropped. It is used while the original is alive.
            ManuallyDrop::new(Some(unsafe { resource.read() }))
        };
        let (kind, barrier) = match barrier {
            Barrier::Aliasing { before, after } => (
                D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
                D3D12_RESOURCE_BARRIER_0 {
                    Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                        pResourceBefore: borrowed(before),
                        pResourceAfter: borrowed(after),
                    }),
                },
            ),
            Barrier::Transition { resource, before, after } => (
                D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
                D3D12_RESOURCE_BARRIER_0 {
                    Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                        pResource: borrowed(resource),
                        Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                        StateBefore: before,
                        StateAfter: after,
                    }),
                },
            ),
            Barrier::UnorderedAccess(resource) => (
                D3D12_RESOURCE_BARRIER_TYPE_UAV,
                D3D12_RESOURCE_BARRIER_0 {
                    UAV: ManuallyDrop::new(D3D12_RESOURCE_UAV_BARRIER { pResource: borrowed(resource) }),
                },
            ),
        };
        D3D12_RESOURCE_BARRIER { Type: kind, Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE, Anonymous: barrier }
    }
}
