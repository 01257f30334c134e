//! The description of a frame.

use heapwright_core::aliasing::frame::{
    Frame, FrameResource, FrameResourceId, PassId, QueueId, QueueKind, Use,
};
use heapwright_core::aliasing::frame::{FrameError, ResourceKind};
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::states::{WRITE_STATES, permits};
use crate::{ClearValue, Error};

/// Passes on queues, and the resources that they use.
///
/// Passes of a queue happen in the order in which they are added. A pass on another queue happens before or after them
/// only if a [dependency](Self::add_dependency) says so.
///
/// Two frames are equal if they have the same queues, passes and resources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransientFrame {
    pub(super) queues: Vec<QueueKind>,
    pub(super) passes: Vec<Pass>,
    pub(super) resources: Vec<Resource>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pass {
    pub(super) queue: QueueId,
    pub(super) may_be_skipped: bool,
    /// Passes of other queues that happen before this one.
    pub(super) after: Vec<PassId>,
    pub(super) uses: Vec<PassUse>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PassUse {
    pub(super) resource: FrameResourceId,
    pub(super) how: Use,
    pub(super) state: D3D12_RESOURCE_STATES,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Resource {
    pub(super) desc: D3D12_RESOURCE_DESC,
    pub(super) clear_value: Option<ClearValue>,
}

impl Resource {
    pub(super) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }

    pub(super) fn is_target(&self) -> bool {
        let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        self.desc.Flags & flags != 0
    }

    /// Returns whether the state becomes COMMON at the end of each `ExecuteCommandLists`.
    pub(super) fn decays(&self) -> bool {
        self.is_buffer() || self.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0
    }

    pub(super) fn kind(&self) -> ResourceKind {
        let has = |flag| self.desc.Flags & flag != 0;
        let unordered_access = has(D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        if self.is_buffer() {
            ResourceKind::Buffer
        } else if has(D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL) {
            ResourceKind::DepthStencil
        } else if has(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET) {
            ResourceKind::RenderTarget { unordered_access }
        } else if unordered_access {
            ResourceKind::UnorderedAccessTexture
        } else {
            ResourceKind::Texture
        }
    }
}

impl TransientFrame {
    /// Creates a frame without passes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a queue: one that executes the command lists of passes.
    pub fn add_queue(&mut self, kind: QueueKind) -> QueueId {
        self.queues.push(kind);
        QueueId::new(self.queues.len() - 1)
    }

    /// Adds a pass at the end of a queue.
    ///
    /// # Errors
    ///
    /// Invalid argument if the queue is not of this frame.
    pub fn add_pass(&mut self, queue: QueueId) -> Result<PassId, Error> {
        if queue.index() >= self.queues.len() {
            return Err(Error::invalid_argument("queue", format!("{} is not of this frame", queue.index())));
        }
        self.passes.push(Pass { queue, may_be_skipped: false, after: Vec::new(), uses: Vec::new() });
        Ok(PassId::new(self.passes.len() - 1))
    }

    /// Declares that some frames do not record a pass.
    ///
    /// # Errors
    ///
    /// Invalid argument if the pass is not of this frame.
    pub fn set_may_be_skipped(&mut self, pass: PassId) -> Result<(), Error> {
        self.pass_mut(pass)?.may_be_skipped = true;
        Ok(())
    }

    /// Declares that one pass happens before another on a different queue. The queue of `after` waits for a fence that
    /// the queue of `before` signals, see [`Submission`](super::Submission).
    ///
    /// # Errors
    ///
    /// Invalid argument if a pass is not of this frame, or unless `before` was added before `after`.
    pub fn add_dependency(&mut self, before: PassId, after: PassId) -> Result<(), Error> {
        if before >= after {
            let rule = format!("{} was not added before pass {}", before.index(), after.index());
            return Err(Error::invalid_argument("before", rule));
        }
        self.pass_mut(after)?.after.push(before);
        Ok(())
    }

    /// Adds a resource. `clear_value` is the optimized clear value of a render target or depth-stencil texture.
    ///
    /// Buffers are not aligned tightly: no document defines what that means for memory that is shared.
    pub fn add_resource(
        &mut self,
        desc: &D3D12_RESOURCE_DESC,
        clear_value: Option<ClearValue>,
    ) -> FrameResourceId {
        let flags = desc.Flags & !D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        let desc = D3D12_RESOURCE_DESC { Flags: flags, ..*desc };
        self.resources.push(Resource { desc, clear_value });
        FrameResourceId::new(self.resources.len() - 1)
    }

    /// Declares that a pass uses a resource, and in which state. A pass may use a resource in several ways, in the order
    /// of these calls, but in one state: the resource is in it from `begin_pass` to `end_pass`.
    ///
    /// # Errors
    ///
    /// Invalid argument if pass or resource are not of this frame, if the pass uses the resource in another state
    /// already, or if the state does not permit the use or the pass's queue the state.
    pub fn add_use(
        &mut self,
        pass: PassId,
        resource: FrameResourceId,
        how: Use,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<(), Error> {
        let invalid = |rule: String| Err(Error::invalid_argument("state", rule));
        if resource.index() >= self.resources.len() {
            let rule = format!("{} is not of this frame", resource.index());
            return Err(Error::invalid_argument("resource", rule));
        }
        let is_target = self.resources[resource.index()].is_target();
        let used = self.pass_mut(pass)?;
        let queue = used.queue;
        let other = used.uses.iter().find(|other| other.resource == resource && other.state != state);
        if let Some(other) = other {
            return invalid(format!(
                "{state:#x} is not {:#x}, in which pass {} uses resource {} already",
                other.state,
                pass.index(),
                resource.index()
            ));
        }
        let drawn = D3D12_RESOURCE_STATE_RENDER_TARGET | D3D12_RESOURCE_STATE_DEPTH_WRITE;
        let kind = self.queues[queue.index()];
        let permitted = match how {
            Use::Read => state & WRITE_STATES & !D3D12_RESOURCE_STATE_UNORDERED_ACCESS == 0,
            Use::Render => state & (drawn | D3D12_RESOURCE_STATE_RESOLVE_DEST) == state,
            // Clears of unordered access views do not initialise targets.
            Use::Clear if is_target && kind == QueueKind::Direct => state & drawn == state,
            Use::Clear => state == D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
            Use::CopyAll => state == D3D12_RESOURCE_STATE_COPY_DEST,
            Use::WriteUnordered => state == D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
            Use::Update => state & WRITE_STATES == state,
        };
        // A state with writes is a single one.
        if !permitted || state == 0 || (state & WRITE_STATES != 0 && !state.is_power_of_two()) {
            return invalid(format!("{state:#x} does not permit the use {how:?}"));
        }
        if !permits(kind, state) {
            return invalid(format!("{state:#x} cannot be used on a {kind:?} queue"));
        }
        self.pass_mut(pass)?.uses.push(PassUse { resource, how, state });
        Ok(())
    }

    fn pass_mut(&mut self, pass: PassId) -> Result<&mut Pass, Error> {
        let rule = || Error::invalid_argument("pass", format!("{} is not of this frame", pass.index()));
        self.passes.get_mut(pass.index()).ok_or_else(rule)
    }

    /// Returns the frame for the planner, with the sizes and alignments that a device needs.
    pub(super) fn for_planner(&self, resources: &[FrameResource]) -> Result<Frame, FrameError> {
        let mut frame = Frame::new();
        for &kind in &self.queues {
            frame.add_queue(kind);
        }
        for &resource in resources {
            frame.add_resource(resource);
        }
        for pass in &self.passes {
            let id = frame.add_pass(pass.queue);
            if pass.may_be_skipped {
                frame.set_may_be_skipped(id)?;
            }
            for &before in &pass.after {
                frame.add_dependency(before, id)?;
            }
            for used in &pass.uses {
                frame.add_use(id, used.resource, used.how)?;
            }
        }
        Ok(frame)
    }

    /// Returns the queue of a pass.
    pub(super) fn queue_of(&self, pass: usize) -> QueueKind {
        self.queues[self.passes[pass].queue.index()]
    }
}

/// Returns the planner's description of a resource.
pub(super) fn frame_resource(resource: &Resource, size: ByteSize, alignment: Alignment) -> FrameResource {
    FrameResource::new(resource.kind(), size, alignment)
}
