//! Records a frame's barriers into command lists.

use std::mem::ManuallyDrop;

use heapwright_core::aliasing::frame::{BarrierModel, FrameResourceId, PassId};
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
    /// * No other code transitions the resources. If a pass has other barriers of them, such as between two dispatches, they
    ///   are of the frame's [model](Self::barrier_model), or name no resource.
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
        match self.states.model {
            BarrierModel::Legacy => {
                // SAFETY: the caller's promises.
                unsafe { self.record_legacy(list, barriers) };
                Ok(())
            }
            // SAFETY: the caller's promises.
            BarrierModel::Enhanced => unsafe {
                self.record_enhanced(list, self.frame.queue_of(pass.index()), barriers)
            },
        }
    }

    /// Returns a resource for a barrier, which does not release it.
    pub(super) fn borrowed(&self, resource: FrameResourceId) -> ManuallyDrop<Option<ID3D12Resource>> {
        let resource: *const ID3D12Resource = self.resource_at(resource);
        // SAFETY: the pointer is valid, and the copy is never dropped. It is used while the original is alive.
        ManuallyDrop::new(Some(unsafe { resource.read() }))
    }
}
