//! The states of a frame's resources, and the barriers that each pass needs.
//!
//! Every frame begins with each resource in its *entry state*, and leaves it there again, so the barriers are the same in
//! all frames. A render target or depth-stencil texture rests in the state in which it can be initialised at its next
//! activation. A pass that may be skipped puts everything back into the state in which it found it.

use heapwright_core::aliasing::frame::{
    FramePlan, FrameResourceId, Initialisation, PassId, PassOrder, QueueKind, RestingState, Use,
};
use heapwright_d3d12::*;

use super::frame::{PassUse, TransientFrame};
use crate::Error;

/// States in which a resource is written.
pub(super) const WRITE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST;

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

/// Returns whether command lists of a queue may use a state.
pub(super) fn permits(queue: QueueKind, state: D3D12_RESOURCE_STATES) -> bool {
    let copies = D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE;
    let permitted = match queue {
        QueueKind::Direct => return true,
        QueueKind::Compute => {
            copies
                | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
                | D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE
                | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
                | D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
                | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE
        }
        QueueKind::Copy => copies,
    };
    state & !permitted == 0
}

/// A barrier that a pass needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barrier {
    Aliasing { before: FrameResourceId, after: FrameResourceId },
    Transition { resource: FrameResourceId, before: D3D12_RESOURCE_STATES, after: D3D12_RESOURCE_STATES },
    UnorderedAccess(FrameResourceId),
}

/// The barriers and initialisations of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PassRecord {
    /// Aliasing barriers, and transitions to states in which resources can be initialised.
    pub(super) activate: Vec<Barrier>,
    /// Resources that are initialised by `DiscardResource`.
    pub(super) discard: Vec<FrameResourceId>,
    /// Transitions to the states of the pass.
    pub(super) begin: Vec<Barrier>,
    /// Transitions that later passes rely on.
    pub(super) end: Vec<Barrier>,
}

/// The barriers of a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FrameStates {
    /// The state of each resource when a frame begins.
    pub(super) entry: Vec<D3D12_RESOURCE_STATES>,
    pub(super) passes: Vec<PassRecord>,
}

/// One pass's use of a resource.
#[derive(Debug, Clone, Copy)]
struct At {
    pass: usize,
    state: D3D12_RESOURCE_STATES,
    queue: QueueKind,
    submission: usize,
    may_be_skipped: bool,
}

/// Derives the barriers of a frame from its plan.
pub(super) fn derive(
    frame: &TransientFrame,
    plan: &FramePlan,
    order: &PassOrder,
) -> Result<FrameStates, Error> {
    let mut submission_of = vec![0; frame.passes.len()];
    for (number, submission) in plan.submissions.iter().enumerate() {
        submission.passes.iter().for_each(|pass| submission_of[pass.index()] = number);
    }
    let mut uses: Vec<Vec<At>> = vec![Vec::new(); frame.resources.len()];
    for (number, pass) in frame.passes.iter().enumerate() {
        for &PassUse { resource, state, .. } in &pass.uses {
            let uses = &mut uses[resource.index()];
            // A pass has one state for all its uses of a resource.
            if uses.last().is_none_or(|last| last.pass != number) {
                let (queue, submission) = (frame.queue_of(number), submission_of[number]);
                uses.push(At { pass: number, state, queue, submission, may_be_skipped: pass.may_be_skipped });
            }
        }
    }
    let mut states = FrameStates {
        entry: vec![COMMON; frame.resources.len()],
        passes: vec![PassRecord::default(); frame.passes.len()],
    };
    for activation in &plan.activations {
        let (after, pass) = (activation.resource, activation.pass.index());
        let submission = submission_of[pass];
        // Separate submissions are ordered without a barrier.
        let needed = activation.legacy.iter().filter(|barrier| {
            uses[barrier.before.index()].iter().any(|at| at.submission == submission && at.pass < pass)
        });
        let barriers = needed.map(|barrier| Barrier::Aliasing { before: barrier.before, after });
        states.passes[pass].activate.extend(barriers);
    }
    for (number, uses) in uses.iter().enumerate() {
        let walk = Walk { frame, order, resource: FrameResourceId::new(number), uses };
        walk.derive(&mut states, initialisation(frame, plan, number, uses))?;
    }
    Ok(states)
}

/// Returns the state in which a resource is initialised in its first pass, if it must be, and whether by a discard.
fn initialisation(
    frame: &TransientFrame,
    plan: &FramePlan,
    number: usize,
    uses: &[At],
) -> Option<(D3D12_RESOURCE_STATES, bool)> {
    let resource = FrameResourceId::new(number);
    let activation = plan.activations.iter().find(|activation| activation.resource == resource);
    let Some(activation) = activation else {
        // It shares no memory. Its contents are lost all the same, because they are not needed in the next frame.
        let first = uses.first().filter(|_| frame.resources[number].is_target())?;
        let how = frame.passes[first.pass].uses.iter().find(|used| used.resource == resource)?.how;
        let discards = !matches!(how, Use::Clear | Use::CopyAll);
        let rests = match first.state {
            D3D12_RESOURCE_STATE_RESOLVE_DEST => D3D12_RESOURCE_STATE_RENDER_TARGET,
            state => state,
        };
        return Some((rests, discards));
    };
    let state = match activation.resting_state {
        RestingState::RenderTarget => D3D12_RESOURCE_STATE_RENDER_TARGET,
        RestingState::DepthWrite => D3D12_RESOURCE_STATE_DEPTH_WRITE,
        RestingState::UnorderedAccess => D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
        RestingState::CopyDest => D3D12_RESOURCE_STATE_COPY_DEST,
        RestingState::Any => return None,
    };
    Some((state, activation.initialisation == Initialisation::Discard))
}

/// Goes through the uses of one resource.
struct Walk<'a> {
    frame: &'a TransientFrame,
    order: &'a PassOrder,
    resource: FrameResourceId,
    uses: &'a [At],
}

impl Walk<'_> {
    fn derive(
        &self,
        states: &mut FrameStates,
        initialised: Option<(D3D12_RESOURCE_STATES, bool)>,
    ) -> Result<(), Error> {
        let (Some(first), Some(last)) = (self.uses.first(), self.uses.last()) else { return Ok(()) };
        // A resource that is used in passes that may be skipped alone is treated like one whose passes are not.
        let all_skipped = self.uses.iter().all(|at| at.may_be_skipped);
        let is_lasting = |at: &&At| all_skipped || !at.may_be_skipped;
        let last_lasting = self.uses.iter().rfind(is_lasting).unwrap_or(last);
        let mut entry = COMMON;
        if !self.decays() {
            // The last pass prepares the next frame: what another resource left in the memory is not to be transitioned.
            let left = self.behind(last_lasting);
            let wanted = match initialised {
                _ if first.queue == QueueKind::Copy => COMMON,
                Some((state, _)) => state,
                None => first.state,
            };
            // Behind a copy queue, a resource is in state COMMON whatever the last pass does.
            let can_end = |state| {
                last_lasting.queue != QueueKind::Copy
                    && self.is_alone(last_lasting)
                    && permits(last_lasting.queue, state)
            };
            entry = if wanted == left || can_end(wanted) {
                wanted
            } else if permits(first.queue, left) {
                left
            } else if can_end(COMMON) {
                COMMON
            } else {
                return Err(self.not_ordered(last_lasting, first));
            };
            if entry != left {
                self.transition(&mut states.passes[last_lasting.pass].end, last_lasting.state, entry);
            }
        }
        states.entry[self.resource.index()] = entry;
        let mut now = entry;
        if let Some((state, discards)) = initialised {
            let record = &mut states.passes[first.pass];
            self.transition(&mut record.activate, now, state);
            now = state;
            if discards {
                record.discard.push(self.resource);
            }
        }
        // The last pass that left the resource in a state.
        let mut owner: Option<&At> = None;
        for (number, at) in self.uses.iter().enumerate() {
            let is_new = owner.is_none_or(|owner| owner.submission != at.submission);
            if is_new && owner.is_some_and(|owner| self.decays() || owner.queue == QueueKind::Copy) {
                now = COMMON;
            }
            // In the submission of the pass before it, no queue has to hand the resource over.
            let can_begin = match is_new {
                true if number == 0 && initialised.is_some() => true,
                true => self.can_begin(at, now),
                false => now == at.state || self.is_alone(at),
            };
            if !can_begin && !self.decays() {
                return Err(self.not_ordered(at, owner.unwrap_or(last)));
            }
            // A buffer is promoted by its use.
            if !(self.is_buffer() && now == COMMON) {
                self.transition(&mut states.passes[at.pass].begin, now, at.state);
            }
            if now == at.state && now == D3D12_RESOURCE_STATE_UNORDERED_ACCESS && owner.is_some() && !is_new {
                states.passes[at.pass].begin.push(Barrier::UnorderedAccess(self.resource));
            }
            if !is_lasting(&at) {
                // The first pass may have initialised it, in another state.
                now = if number == 0 { entry } else { now };
                self.transition(&mut states.passes[at.pass].end, at.state, now);
                continue;
            }
            (now, owner) = (at.state, Some(at));
            if self.decays() || at.queue == QueueKind::Copy {
                continue;
            }
            if at.pass == last_lasting.pass {
                now = entry;
                continue;
            }
            // The passes that find the resource as this one leaves it.
            let rest = &self.uses[number + 1..];
            let next =
                &rest[..rest.iter().position(|at| is_lasting(&at)).map_or(rest.len(), |next| next + 1)];
            if !next.iter().all(|next| self.can_begin(next, now)) {
                // A queue does not permit the state, or passes use the resource at the same time.
                let passed_on = match next {
                    [next] if next.queue != QueueKind::Copy && permits(at.queue, next.state) => next.state,
                    _ => COMMON,
                };
                let others = next.iter().find(|next| !self.can_begin(next, passed_on));
                if let Some(other) = others.or(next.first().filter(|_| !self.is_alone(at))) {
                    return Err(self.not_ordered(at, other));
                }
                self.transition(&mut states.passes[at.pass].end, now, passed_on);
                now = passed_on;
            }
        }
        Ok(())
    }

    /// Returns whether a pass can change the resource from this state to its own.
    fn can_begin(&self, at: &At, now: D3D12_RESOURCE_STATES) -> bool {
        if self.decays() {
            return true;
        }
        // Queues of copies have states of their own.
        let is_permitted = if at.queue == QueueKind::Copy { now == COMMON } else { permits(at.queue, now) };
        is_permitted && (now == at.state || self.is_alone(at))
    }

    fn is_buffer(&self) -> bool {
        self.frame.resources[self.resource.index()].is_buffer()
    }

    fn decays(&self) -> bool {
        self.frame.resources[self.resource.index()].decays()
    }

    /// Returns the state behind the submission of a use.
    fn behind(&self, at: &At) -> D3D12_RESOURCE_STATES {
        if at.queue == QueueKind::Copy { COMMON } else { at.state }
    }

    /// Returns whether no other pass uses the resource at the same time, so that a transition in the pass is ordered with
    /// all other uses.
    fn is_alone(&self, at: &At) -> bool {
        self.uses.iter().all(|other| other.pass == at.pass || self.is_ordered(other, at))
    }

    fn is_ordered(&self, one: &At, other: &At) -> bool {
        let (one, other) = (PassId::new(one.pass), PassId::new(other.pass));
        self.order.is_before(one, other) || self.order.is_before(other, one)
    }

    fn transition(
        &self,
        barriers: &mut Vec<Barrier>,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        if before != after {
            barriers.push(Barrier::Transition { resource: self.resource, before, after });
        }
    }

    fn not_ordered(&self, one: &At, other: &At) -> Error {
        let rule = format!(
            "of resource {} in pass {} and in pass {} differ, and no dependency orders the passes so that a queue that \
             permits both states can change it",
            self.resource.index(),
            one.pass.min(other.pass),
            one.pass.max(other.pass)
        );
        Error::invalid_argument("states", rule)
    }
}
