//! What a list records for the tracker beside its commands.

use std::sync::{Arc, Weak};

use heapwright_d3d12::*;

use super::access::ResourcePart;
use crate::ddi::driver_resource::DriverResource;

/// A call that was recorded while the tracker was on.
#[derive(Clone)]
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
#[derive(Clone)]
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
    /// A draw, a dispatch or several, which are not executed.
    Skipped(Skipped),
}

/// What draws and dispatches may have written.
#[derive(Clone)]
pub(crate) struct Skipped {
    /// Whether there is a draw among them.
    pub(crate) draws: bool,
    /// What a draw renders to.
    pub(crate) rendered: Vec<RenderedView>,
    /// What shaders reach by addresses.
    pub(crate) addressed: Vec<AddressedBytes>,
    /// The descriptors that shaders see.
    pub(crate) descriptors: Option<Weak<dyn UnorderedViews>>,
}

/// One plane of a view that is rendered to.
#[derive(Clone)]
pub(crate) struct RenderedView {
    pub(crate) resource: Arc<dyn DriverResource>,
    pub(crate) parts: Vec<ResourcePart>,
    pub(crate) is_depth_stencil: bool,
}

/// Bytes of buffers that GPU virtual addresses name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressedBytes {
    /// Of an unordered access view without a size: from the address to the end of the buffer.
    Unordered(u64),
    /// An address and a size.
    StreamOutput(u64, u64),
    /// The GPU reads the address from a buffer: any unordered access.
    Indirect,
}

/// The part of a resource that a descriptor shows. It does not keep the resource alive.
pub(crate) type ViewedPart = (Weak<dyn DriverResource>, ResourcePart);

/// Descriptors that shaders see.
pub(crate) trait UnorderedViews: Send + Sync {
    /// What the unordered access views among them show. O(descriptors).
    fn unordered_views(&self) -> Vec<ViewedPart>;
}

/// An enhanced barrier.
#[derive(Clone)]
pub(crate) struct EnhancedBarrier {
    pub(crate) target: BarrierTarget,
    pub(crate) sync_before: D3D12_BARRIER_SYNC,
    pub(crate) sync_after: D3D12_BARRIER_SYNC,
    pub(crate) access_before: D3D12_BARRIER_ACCESS,
    pub(crate) access_after: D3D12_BARRIER_ACCESS,
}

/// What an enhanced barrier is about.
#[derive(Clone)]
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
