//! The description of a frame.

use heapwright::d3d12::*;
use heapwright_aliasing::frame::{Frame, FrameError, FrameResourceId, PassId, QueueId, QueueKind, Use};

use super::resource::{Resource, WRITE_STATES};
use super::scopes::permits;
use heapwright::{ClearValue, Error};

/// Passes on queues, and the resources that they use.
///
/// Passes of a queue happen in the order in which they are added. A pass on another queue happens before or after them
/// only if a [dependency](Self::add_dependency) says so.
///
/// Two frames are equal if they have the same queues, passes and resources.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransientFrame(pub(super) Frame<Resource, D3D12_RESOURCE_STATES>);

impl TransientFrame {
    /// Creates a frame without passes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a queue: one that executes the command lists of passes.
    pub fn add_queue(&mut self, kind: QueueKind) -> QueueId {
        self.0.add_queue(kind)
    }

    /// Adds a pass at the end of a queue.
    ///
    /// # Errors
    ///
    /// Invalid argument if the queue is not of this frame.
    pub fn add_pass(&mut self, queue: QueueId) -> Result<PassId, Error> {
        if queue.0 >= self.0.queues().len() {
            return Err(malformed(FrameError::UnknownQueue(queue)));
        }
        Ok(self.0.add_pass(queue))
    }

    /// Declares that some frames do not record a pass.
    ///
    /// # Errors
    ///
    /// Invalid argument if the pass is not of this frame.
    pub fn set_may_be_skipped(&mut self, pass: PassId) -> Result<(), Error> {
        self.0.set_may_be_skipped(pass).map_err(malformed)
    }

    /// Declares that one pass happens before another on a different queue. The queue of `after` waits for a fence that
    /// the queue of `before` signals, see [`Submission`](super::Submission).
    ///
    /// # Errors
    ///
    /// Invalid argument if a pass is not of this frame, or unless `before` was added before `after`.
    pub fn add_dependency(&mut self, before: PassId, after: PassId) -> Result<(), Error> {
        self.0.add_dependency(before, after).map_err(malformed)
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
        self.0.add_resource(Resource { desc, clear_value })
    }

    /// Declares that a pass uses a resource, and in which state. A pass may use a resource in several ways, in the
    /// order of these calls, but in one state: the resource is in it from `begin_pass` to `end_pass`.
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
        let unknown = FrameError::UnknownResource(resource);
        let is_target = self.0.resources().get(resource.0).ok_or(malformed(unknown))?.is_target();
        let used = self.0.passes().get(pass.0).ok_or(malformed(FrameError::UnknownPass(pass)))?;
        let kind = self.queue_of(pass.0);
        let other = used.uses.iter().find(|other| other.resource == resource && other.state != state);
        if let Some(other) = other {
            return invalid(format!(
                "pass {} cannot use resource {} in state {state:#x}: it uses it in state {:#x} already, and a pass leaves \
                 each resource in one state",
                pass.0, resource.0, other.state,
            ));
        }
        let drawn = D3D12_RESOURCE_STATE_RENDER_TARGET | D3D12_RESOURCE_STATE_DEPTH_WRITE;
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
            return invalid(format!("a resource in state {state:#x} does not permit the use {how:?}"));
        }
        if !permits(kind, state) {
            return invalid(format!("state {state:#x} cannot be used on a {kind:?} queue"));
        }
        self.0.add_use_in(pass, resource, how, state).map_err(malformed)
    }

    /// Returns the queue of a pass.
    pub(super) fn queue_of(&self, pass: usize) -> QueueKind {
        self.0.queues()[self.0.passes()[pass].queue.0]
    }
}

pub(super) fn malformed(error: FrameError) -> Error {
    let field = match error {
        FrameError::UnknownQueue(_) => "queue",
        FrameError::UnknownPass(_) => "pass",
        FrameError::DependencyOrder { .. } => "before",
        FrameError::NotPermitted { .. } => "how",
        FrameError::UnknownResource(_) => "resource",
        _ => "frame",
    };
    Error::invalid_argument(field, error.to_string())
}
