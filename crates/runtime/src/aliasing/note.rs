//! Records of a command list for the tracker, in addition to its commands.

use std::sync::{Arc, Weak};

use heapwright_d3d12::*;

use super::access::ResourcePart;
use crate::drivers::resource::DriverResource;

/// A call recorded while the tracker was on.
#[derive(Clone)]
pub(crate) struct RecordedCall {
    /// The name of the call, for messages.
    pub(crate) name: &'static str,
    /// Index of its first command. Its commands end at the next call's.
    pub(crate) first_command: usize,
    /// Its effects other than commands, which precede them.
    pub(crate) notes: Vec<Note>,
}

/// The subresources that a barrier or a discard applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subresources {
    All,
    Some(Vec<u32>),
}

/// An effect of a call other than a command.
#[derive(Clone)]
pub(crate) enum Note {
    /// A transition barrier, or the end of a split one.
    Transition { resource: Arc<DriverResource>, subresources: Subresources, after: D3D12_RESOURCE_STATES },
    /// An aliasing barrier; `None` stands for any resource.
    Aliasing { before: Option<Arc<DriverResource>>, after: Option<Arc<DriverResource>> },
    /// The barriers of one call of `Barrier`.
    Barriers(Vec<EnhancedBarrier>),
    /// A render pass that preserves the contents.
    Load { resource: Arc<DriverResource>, subresources: Subresources },
    /// `DiscardResource`, or a render pass that discards.
    Discard {
        resource: Arc<DriverResource>,
        subresources: Subresources,
        /// Whether each subresource is discarded entirely.
        is_whole: bool,
        /// Whether the list is a compute list.
        is_compute: bool,
    },
    /// One or several draws or dispatches, which are not executed.
    Skipped(Skipped),
}

/// The possible writes of draws and dispatches.
#[derive(Clone)]
pub(crate) struct Skipped {
    /// Whether any is a draw.
    pub(crate) draws: bool,
    /// The views that draws render to.
    pub(crate) rendered: Vec<RenderedView>,
    /// Bytes that shaders access by address.
    pub(crate) addressed: Vec<AddressedBytes>,
    /// The descriptors visible to shaders.
    pub(crate) descriptors: Option<Weak<dyn UnorderedViews>>,
}

/// One plane of a rendered view.
#[derive(Clone)]
pub(crate) struct RenderedView {
    pub(crate) resource: Arc<DriverResource>,
    pub(crate) parts: Vec<ResourcePart<'static>>,
    pub(crate) is_depth_stencil: bool,
}

/// Bytes of buffers, given by GPU virtual addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressedBytes {
    /// An unordered access view without a size: from the address to the end of the buffer.
    Unordered(u64),
    /// A stream output target: address and size.
    StreamOutput(u64, u64),
    /// An address that the GPU reads from a buffer: any unordered access.
    Indirect,
}

/// The part of a resource that a descriptor refers to. It does not keep the resource alive.
pub(crate) type ViewedPart = (Weak<DriverResource>, ResourcePart<'static>);

/// Descriptors visible to shaders.
pub(crate) trait UnorderedViews: Send + Sync {
    /// Returns the descriptors that changed since the last call, or all that were ever written: their indices, and the
    /// parts of resources that they refer to if they are unordered access views. O(returned).
    fn changed_views(&self, all: bool) -> Vec<(u32, Vec<ViewedPart>)>;
}

/// An enhanced barrier. Pairs are the values before and after it.
#[derive(Clone)]
pub(crate) struct EnhancedBarrier {
    /// `None` for a global barrier.
    pub(crate) resource: Option<Arc<DriverResource>>,
    pub(crate) sync: [D3D12_BARRIER_SYNC; 2],
    pub(crate) access: [D3D12_BARRIER_ACCESS; 2],
    pub(crate) subresources: Subresources,
    /// UNDEFINED on both sides, which changes nothing, unless the resource is a texture.
    pub(crate) layout: [D3D12_BARRIER_LAYOUT; 2],
    pub(crate) discards: bool,
}
