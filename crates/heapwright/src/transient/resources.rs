//! The placed resources of a frame.

use std::sync::Arc;

use heapwright_core::aliasing::frame::{
    BarrierModel, Category, FrameError, FramePlan, FrameResourceId, PassId, Submission,
};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::frame::{TransientFrame, malformed};
use super::states::{FrameStates, PassRecord};
use crate::Error;
use crate::heaps::PlacedRange;
#[cfg(feature = "residency")]
use crate::residency::ResidencyList;

/// The heaps that hold resources of a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeapKind {
    pub(super) category: Option<Category>,
    /// 4 MiB if the heap holds multisampled textures.
    pub(super) alignment: Alignment,
}

/// The memory of one heap of a plan.
#[derive(Debug, Clone)]
pub(super) struct Heap {
    pub(super) kind: HeapKind,
    pub(super) range: Arc<PlacedRange>,
}

/// The resources of a frame, placed in heaps that they share, and the barriers that each pass needs.
///
/// [`TransientHeaps::prepare`](super::TransientHeaps::prepare) creates it. It can be recorded any number of times, also
/// for several frames in flight: each resource is initialised again in every frame.
pub struct TransientResources {
    // Fields are dropped in order: the resources before the ranges in which they are placed.
    pub(super) resources: Vec<ID3D12Resource>,
    pub(super) heaps: Vec<Heap>,
    pub(super) frame: TransientFrame,
    pub(super) plan: FramePlan,
    pub(super) states: FrameStates,
}

impl TransientResources {
    /// Returns a resource.
    ///
    /// # Errors
    ///
    /// Invalid argument if the resource is not of the frame.
    pub fn resource(&self, resource: FrameResourceId) -> Result<&ID3D12Resource, Error> {
        let rule = || malformed(FrameError::UnknownResource(resource));
        self.resources.get(resource.index()).ok_or_else(rule)
    }

    /// Returns the passes that are executed together, in the order in which they are passed to the queues.
    #[must_use]
    pub fn submissions(&self) -> &[Submission] {
        &self.plan.submissions
    }

    /// Returns the plan: heaps, offsets, and which resource takes over memory from which.
    #[must_use]
    pub fn plan(&self) -> &FramePlan {
        &self.plan
    }

    /// Returns which barriers are recorded.
    #[must_use]
    pub fn barrier_model(&self) -> BarrierModel {
        self.states.model
    }

    /// Returns the bytes of the heaps that the resources take.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.heaps.iter().map(|heap| heap.range.range().size()).fold(ByteSize::ZERO, ByteSize::saturating_add)
    }

    /// Adds the heaps to the residency list of a command list that uses resources of the frame. Without a residency
    /// manager, nothing is added.
    ///
    /// # Errors
    ///
    /// The errors of [`ResidencyList::add`].
    #[cfg(feature = "residency")]
    pub fn add_to(&self, list: &ResidencyList) -> Result<(), Error> {
        let mut open = list.open()?;
        self.heaps.iter().filter_map(|heap| heap.range.heap().residency()).try_for_each(|heap| open.add(heap))
    }

    pub(super) fn record(&self, pass: PassId) -> Result<&PassRecord, Error> {
        let rule = || malformed(FrameError::UnknownPass(pass));
        self.states.passes.get(pass.index()).ok_or_else(rule)
    }

    /// Returns a resource of one of the frame's barriers.
    pub(super) fn resource_at(&self, resource: FrameResourceId) -> &ID3D12Resource {
        &self.resources[resource.index()]
    }
}

impl std::fmt::Debug for TransientResources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransientResources")
            .field("frame", &self.frame)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
