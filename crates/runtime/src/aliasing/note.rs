//! What a list records for the tracker beside its commands.

use std::sync::Arc;

use heapwright_d3d12::*;

use crate::ddi::driver_resource::DriverResource;

/// A call that was recorded while the tracker was on.
#[derive(Debug, Clone)]
pub(crate) struct RecordedCall {
    /// Which one, as messages name it.
    pub(crate) name: &'static str,
    /// The first of its commands; the next call's is the end.
    pub(crate) first_command: usize,
    /// What it does that is no command, before these.
    pub(crate) notes: Vec<Note>,
}

/// Which subresources a barrier or a discard is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subresources {
    All,
    Some(Vec<u32>),
}

/// What a call does that is no command.
#[derive(Debug, Clone)]
pub(crate) enum Note {
    /// A transition barrier, or the end of a split one.
    Transition { resource: Arc<dyn DriverResource>, subresources: Subresources, after: D3D12_RESOURCE_STATES },
    /// An aliasing barrier; nothing stands for any resource.
    Aliasing { before: Option<Arc<dyn DriverResource>>, after: Option<Arc<dyn DriverResource>> },
    /// The barriers of one call of `Barrier`.
    Barriers(Vec<EnhancedBarrier>),
    /// A render pass goes on with what is there.
    Load { resource: Arc<dyn DriverResource>, subresources: Subresources },
    /// `DiscardResource`, or a render pass that discards.
    Discard {
        resource: Arc<dyn DriverResource>,
        subresources: Subresources,
        /// All of each subresource.
        is_whole: bool,
        /// On a compute list.
        is_compute: bool,
    },
}

/// An enhanced barrier.
#[derive(Debug, Clone)]
pub(crate) struct EnhancedBarrier {
    pub(crate) target: BarrierTarget,
    pub(crate) sync_before: D3D12_BARRIER_SYNC,
    pub(crate) sync_after: D3D12_BARRIER_SYNC,
    pub(crate) access_before: D3D12_BARRIER_ACCESS,
    pub(crate) access_after: D3D12_BARRIER_ACCESS,
}

/// What an enhanced barrier is about.
#[derive(Debug, Clone)]
pub(crate) enum BarrierTarget {
    Global,
    Buffer(Arc<dyn DriverResource>),
    Texture {
        resource: Arc<dyn DriverResource>,
        subresources: Subresources,
        layout_before: D3D12_BARRIER_LAYOUT,
        layout_after: D3D12_BARRIER_LAYOUT,
        discards: bool,
    },
}
