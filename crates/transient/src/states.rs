//! The states of a frame's resources, and the barriers that each pass needs.
//!
//! With legacy barriers, every frame begins with each resource in its *entry state*, and leaves it there again, so the
//! barriers are the same in all frames. A render target or depth-stencil texture rests in the state in which it can be
//! initialised at its next activation. With enhanced barriers, a texture's first use begins with an undefined layout,
//! so it does not matter in which one the last frame left it; only if its first pass cannot do that, it has an entry
//! state.
//!
//! A pass that may be skipped restores the states that it found. Only behind the last use of a texture
//! whose layout is undefined when a frame begins, it leaves the state as it is.

use heapwright::d3d12::*;
use heapwright_aliasing::frame::{
    BarrierModel, FramePlan, FrameResourceId, Initialisation, PassId, PassOrder, PassUse, QueueKind,
    RestingState,
};

use super::frame::TransientFrame;
use super::resource::{Resource, WRITE_STATES};
use super::scopes::{Scope, Users, is_read_by_both, layout_of, permits};
use heapwright::{Error, InitialState};

const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;

/// A barrier that a pass needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Barrier {
    /// A resource takes over memory from another one that the submission has used.
    Aliasing {
        before: FrameResourceId,
        after: FrameResourceId,
        scopes: Handover,
    },
    Transition {
        resource: FrameResourceId,
        before: Before,
        after: D3D12_RESOURCE_STATES,
    },
    /// Between writes in the same state.
    Writes {
        resource: FrameResourceId,
        state: D3D12_RESOURCE_STATES,
    },
}

/// The state or layout of a resource before a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// A state. `is_used` says whether the submission has used the resource before.
    State { state: D3D12_RESOURCE_STATES, is_used: bool },
    /// Nothing that is needed. Only with enhanced barriers.
    Undefined {
        /// Whether the barrier initialises the resource.
        discards: bool,
        /// The resources whose memory it takes over.
        memory: Handover,
    },
}

/// The uses of memory before and after it passes from some resources to others within a submission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Handover {
    pub(super) released: Scope,
    pub(super) acquired: Scope,
}

impl Handover {
    pub(super) fn and(self, other: Self) -> Self {
        Self { released: self.released.and(other.released), acquired: self.acquired.and(other.acquired) }
    }
}

/// The barriers and initialisations of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PassRecord {
    /// Aliasing barriers, and transitions to states in which resources can be discarded.
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
    /// The state or layout in which each resource is created.
    pub(super) initial: Vec<InitialState>,
    /// The queues that use each resource.
    pub(super) users: Vec<Users>,
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

/// Derives the barriers of a frame from its plan. `has_shared_reads` says that the device has a layout for all reads of
/// direct queues that compute queues may use, too.
pub(super) fn derive(
    frame: &TransientFrame,
    plan: &FramePlan,
    order: &PassOrder,
    has_shared_reads: bool,
) -> Result<FrameStates, Error> {
    let model = plan.barriers;
    let mut submission_of = vec![0; frame.0.passes().len()];
    for (number, submission) in plan.submissions.iter().enumerate() {
        submission.passes.iter().for_each(|pass| submission_of[pass.0] = number);
    }
    let mut uses: Vec<Vec<At>> = vec![Vec::new(); frame.0.resources().len()];
    for (number, pass) in frame.0.passes().iter().enumerate() {
        for &PassUse { resource, state, .. } in &pass.uses {
            let uses = &mut uses[resource.0];
            // A pass has one state for all its uses of a resource.
            if uses.last().is_none_or(|last| last.pass != number) {
                let (queue, submission) = (frame.queue_of(number), submission_of[number]);
                uses.push(At { pass: number, state, queue, submission, may_be_skipped: pass.may_be_skipped });
            }
        }
    }
    let can_share = has_shared_reads && model == BarrierModel::Enhanced;
    let users: Vec<Users> =
        (uses.iter()).map(|uses| Users::of(uses.iter().map(|at| at.queue), can_share)).collect();
    for ((resource, uses), &users) in frame.0.resources().iter().zip(&mut uses).zip(&users) {
        share_reads(resource, uses, users);
    }
    let walks: Vec<Walk<'_>> = (uses.iter().zip(&users).enumerate())
        .map(|(number, (uses, &users))| Walk {
            frame,
            order,
            model,
            resource: FrameResourceId(number),
            uses,
            users,
        })
        .collect();
    let mut states = FrameStates {
        initial: Vec::with_capacity(frame.0.resources().len()),
        users: users.clone(),
        passes: vec![PassRecord::default(); frame.0.passes().len()],
    };
    let mut entries = vec![None; frame.0.resources().len()];
    // They are in the order of first passes: a resource has all its barriers when others take over its memory.
    for activation in &plan.activations {
        let walk = &walks[activation.resource.0];
        let mut first = First::new(activation.initialisation, activation.resting_state, activation.discards);
        for &before in &activation.after {
            let (released, changes_layout) =
                walks[before.0].released(&states, activation.pass.0, &submission_of);
            let scopes = Handover { released, acquired: walk.acquired(&first) };
            let barrier = Barrier::Aliasing { before, after: activation.resource, scopes };
            states.passes[activation.pass.0].activate.push(barrier);
            first.memory = Some(first.memory.map_or(scopes, |others| others.and(scopes)));
            // A layout must not change in front of a barrier that discards.
            first.by_barrier &= !changes_layout;
        }
        entries[activation.resource.0] = Some(walk.derive(&mut states, &first)?);
    }
    for (walk, entry) in walks.iter().zip(entries) {
        let entry = match entry {
            Some(entry) => entry,
            // It shares no memory. Its contents are lost all the same, because they are not needed in the next frame.
            None => {
                let (initialisation, resting_state) = plan.initialisations[walk.resource.0];
                walk.derive(&mut states, &First::new(initialisation, resting_state, true))?
            }
        };
        let resource = &frame.0.resources()[walk.resource.0];
        let initial = match model {
            BarrierModel::Legacy => InitialState::State(entry),
            BarrierModel::Enhanced if resource.is_buffer() => {
                InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED)
            }
            BarrierModel::Enhanced => {
                InitialState::Layout(layout_of(resource, entry, QueueKind::Direct, walk.users))
            }
        };
        states.initial.push(initial);
    }
    Ok(states)
}

/// Gives consecutive reads on direct and compute queues one state where that state has the layout of both: nothing has
/// to change the layout between them.
fn share_reads(resource: &Resource, uses: &mut [At], users: Users) {
    let is_read = |at: &At| at.queue != QueueKind::Copy && at.state & WRITE_STATES == 0;
    for run in uses.chunk_by_mut(|one, other| is_read(one) && is_read(other)) {
        let all = run.iter().fold(COMMON, |all, at| all | at.state);
        let on_both = run.iter().any(|at| at.queue != run[0].queue);
        if on_both && is_read_by_both(resource, all, users) {
            run.iter_mut().for_each(|at| at.state = all);
        }
    }
}

/// The initialisation and handover of memory in a resource's first pass.
#[derive(Debug, Clone, Copy)]
struct First {
    /// The state in which it is initialised, if it must be, and whether by a discard.
    initialised: Option<(D3D12_RESOURCE_STATES, bool)>,
    /// Whether an enhanced barrier may discard it.
    by_barrier: bool,
    /// What the submission used in the same memory before.
    memory: Option<Handover>,
}

impl First {
    fn new(initialisation: Initialisation, resting_state: RestingState, by_barrier: bool) -> Self {
        let discards = initialisation == Initialisation::Discard;
        let state = match resting_state {
            RestingState::RenderTarget => Some(D3D12_RESOURCE_STATE_RENDER_TARGET),
            RestingState::DepthWrite => Some(D3D12_RESOURCE_STATE_DEPTH_WRITE),
            RestingState::UnorderedAccess => Some(D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
            RestingState::CopyDest => Some(D3D12_RESOURCE_STATE_COPY_DEST),
            RestingState::Any => discards.then_some(D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
        };
        Self { initialised: state.map(|state| (state, discards)), by_barrier, memory: None }
    }
}

/// Goes through the uses of one resource.
struct Walk<'a> {
    frame: &'a TransientFrame,
    order: &'a PassOrder,
    model: BarrierModel,
    resource: FrameResourceId,
    uses: &'a [At],
    users: Users,
}

impl Walk<'_> {
    /// Returns whether the resource's layout is undefined when a frame begins.
    fn begins_undefined(&self) -> bool {
        let is_texture = !self.is_buffer();
        let can = |first: &At| {
            // Copy queues do not change layouts.
            first.queue != QueueKind::Copy && (!first.may_be_skipped || self.uses.len() == 1)
        };
        self.model == BarrierModel::Enhanced && is_texture && self.uses.first().is_some_and(can)
    }

    /// Returns the scope of the resource's last use before a pass in its submission and of the transitions behind it,
    /// and whether one of those may change the layout.
    fn released(&self, states: &FrameStates, pass: usize, submission_of: &[usize]) -> (Scope, bool) {
        let here = |at: &&At| at.pass < pass && at.submission == submission_of[pass];
        let (mut scope, mut is_changed) = (Scope::default(), false);
        for at in self.uses.iter().rev().filter(here) {
            scope = scope.and(self.scope(at.state, at.queue));
            for barrier in &states.passes[at.pass].end {
                match *barrier {
                    Barrier::Transition { resource, after, .. } if resource == self.resource => {
                        scope = scope.and(self.scope(after, at.queue));
                        is_changed |= !self.is_buffer();
                    }
                    _ => {}
                }
            }
            if !at.may_be_skipped {
                break;
            }
        }
        (scope, is_changed)
    }

    /// Returns the scope of the initialisation and the first use.
    fn acquired(&self, first: &First) -> Scope {
        let Some(at) = self.uses.first() else { return Scope::default() };
        let states = [Some(at.state), first.initialised.map(|(state, _)| state)].into_iter().flatten();
        states.fold(Scope::default(), |scope, state| scope.and(self.scope(state, at.queue)))
    }

    fn scope(&self, state: D3D12_RESOURCE_STATES, queue: QueueKind) -> Scope {
        Scope::of(self.described(), state, queue)
    }

    /// Returns whether a queue may find and leave the resource in a state.
    fn permits(&self, queue: QueueKind, state: D3D12_RESOURCE_STATES) -> bool {
        let is_shared =
            || queue == QueueKind::Compute && is_read_by_both(self.described(), state, self.users);
        permits(queue, state) || is_shared()
    }

    fn described(&self) -> &Resource {
        &self.frame.0.resources()[self.resource.0]
    }

    /// Adds the resource's barriers, and returns the state in which frames begin.
    fn derive(&self, states: &mut FrameStates, prepared: &First) -> Result<D3D12_RESOURCE_STATES, Error> {
        let Some(first) = self.uses.first() else { return Ok(COMMON) };
        let is_lasting = |at: &&At| !at.may_be_skipped;
        let last_lasting = self.uses.iter().rfind(is_lasting);
        let begins_undefined = self.begins_undefined();
        let entry = if begins_undefined || self.decays() {
            COMMON
        } else {
            self.entry(states, prepared, first, last_lasting)?
        };
        // The state, or `None` while the layout is undefined.
        let mut now = Some(entry).filter(|_| !begins_undefined);
        let discards = prepared.initialised.is_some_and(|(_, discards)| discards);
        let found = |now: Option<D3D12_RESOURCE_STATES>, is_used| match now {
            Some(state) => Before::State { state, is_used },
            None => Before::Undefined {
                discards: discards && prepared.by_barrier,
                memory: prepared.memory.unwrap_or_default(),
            },
        };
        let mut is_prepared = false;
        if let Some((state, _)) = prepared.initialised {
            // Otherwise the transition to the state of the pass prepares it.
            is_prepared = !begins_undefined || (discards && !prepared.by_barrier);
            if is_prepared {
                let record = &mut states.passes[first.pass];
                self.transition(&mut record.activate, found(now, false), state);
                now = Some(state);
                if discards {
                    record.discard.push(self.resource);
                }
            }
        }
        // The last pass that left the resource in a state.
        let mut owner: Option<&At> = None;
        for (number, at) in self.uses.iter().enumerate() {
            let is_here = |other: &At| other.submission == at.submission;
            let is_used = self.uses[..number].iter().any(is_here);
            let is_new = owner.is_none_or(|owner| !is_here(owner));
            if is_new && owner.is_some_and(|owner| self.decays() || owner.queue == QueueKind::Copy) {
                now = Some(COMMON);
            }
            // In the submission of the pass before it, no queue has to hand the resource over.
            let can_begin = match now {
                None => true,
                Some(_) if number == 0 && prepared.initialised.is_some() => true,
                Some(now) if is_new => self.can_begin(at, now),
                Some(now) => now == at.state || self.is_alone(at),
            };
            if !can_begin && !self.decays() {
                return Err(self.not_ordered(at, owner.or(self.uses.last()).unwrap_or(first)));
            }
            let record = &mut states.passes[at.pass];
            // With legacy barriers, a buffer is promoted by its use.
            if !(self.model == BarrierModel::Legacy && self.is_buffer() && now == Some(COMMON)) {
                let before = found(now, is_used || (number == 0 && is_prepared));
                self.transition(&mut record.begin, before, at.state);
            }
            if now == Some(at.state) && is_used && at.state & WRITE_STATES != 0 {
                record.begin.push(Barrier::Writes { resource: self.resource, state: at.state });
            }
            if at.may_be_skipped {
                // The first pass may have initialised it, in another state.
                if number == 0 {
                    now = Some(entry).filter(|_| !begins_undefined);
                }
                let rest = &self.uses[number + 1..];
                let decays = self.decays() && !rest.iter().any(is_here);
                let is_over = begins_undefined && rest.is_empty();
                if let Some(now) = now.filter(|_| !decays && !is_over) {
                    self.transition(&mut record.end, Before::State { state: at.state, is_used: true }, now);
                }
                continue;
            }
            (now, owner) = (Some(at.state), Some(at));
            if self.decays() || at.queue == QueueKind::Copy {
                continue;
            }
            if !begins_undefined && last_lasting.is_some_and(|last| last.pass == at.pass) {
                now = Some(entry);
                continue;
            }
            // The passes that find the resource as this one leaves it.
            let rest = &self.uses[number + 1..];
            let next =
                &rest[..rest.iter().position(|at| is_lasting(&at)).map_or(rest.len(), |next| next + 1)];
            if !next.iter().all(|next| self.can_begin(next, at.state)) {
                // A queue does not permit the state, or passes use the resource at the same time.
                let passed_on = match next {
                    [next] if next.queue != QueueKind::Copy && self.permits(at.queue, next.state) => {
                        next.state
                    }
                    _ => COMMON,
                };
                let others = next.iter().find(|next| !self.can_begin(next, passed_on));
                if let Some(other) = others.or(next.first().filter(|_| !self.is_alone(at))) {
                    return Err(self.not_ordered(at, other));
                }
                let before = Before::State { state: at.state, is_used: true };
                self.transition(&mut record.end, before, passed_on);
                now = Some(passed_on);
            }
        }
        Ok(entry)
    }

    /// Returns the entry state, to which the last pass prepares the next frame: what another resource left in the
    /// memory is not to be transitioned.
    fn entry(
        &self,
        states: &mut FrameStates,
        prepared: &First,
        first: &At,
        last_lasting: Option<&At>,
    ) -> Result<D3D12_RESOURCE_STATES, Error> {
        let wanted = match prepared.initialised {
            _ if first.queue == QueueKind::Copy => COMMON,
            Some((state, _)) => state,
            None => first.state,
        };
        let Some(last) = last_lasting else {
            // Each pass finds it.
            let is_permitted =
                |at: &At| wanted == COMMON || (at.queue != QueueKind::Copy && self.permits(at.queue, wanted));
            return Ok(if self.uses.iter().all(is_permitted) { wanted } else { COMMON });
        };
        let left = self.behind(last);
        // Behind a copy queue, a resource is in state COMMON whatever the last pass does.
        let can_end =
            |state| last.queue != QueueKind::Copy && self.is_alone(last) && self.permits(last.queue, state);
        let entry = if wanted == left || can_end(wanted) {
            wanted
        } else if first.queue != QueueKind::Copy && self.permits(first.queue, left) {
            left
        } else if can_end(COMMON) {
            COMMON
        } else {
            return Err(self.not_ordered(last, first));
        };
        if entry != left {
            let before = Before::State { state: last.state, is_used: true };
            self.transition(&mut states.passes[last.pass].end, before, entry);
        }
        Ok(entry)
    }

    /// Returns whether a pass can change the resource from this state to its own.
    fn can_begin(&self, at: &At, now: D3D12_RESOURCE_STATES) -> bool {
        if self.decays() {
            return true;
        }
        // Queues of copies have states of their own.
        let is_permitted =
            if at.queue == QueueKind::Copy { now == COMMON } else { self.permits(at.queue, now) };
        is_permitted && (now == at.state || self.is_alone(at))
    }

    fn is_buffer(&self) -> bool {
        self.described().is_buffer()
    }

    fn decays(&self) -> bool {
        self.described().decays()
    }

    /// Returns the state behind the submission of a use.
    fn behind(&self, at: &At) -> D3D12_RESOURCE_STATES {
        if at.queue == QueueKind::Copy { COMMON } else { at.state }
    }

    /// Returns whether no other pass uses the resource at the same time, so that a transition in the pass is ordered
    /// with all other uses.
    fn is_alone(&self, at: &At) -> bool {
        self.uses.iter().all(|other| other.pass == at.pass || self.is_ordered(other, at))
    }

    fn is_ordered(&self, one: &At, other: &At) -> bool {
        let (one, other) = (PassId(one.pass), PassId(other.pass));
        self.order.is_before(one, other) || self.order.is_before(other, one)
    }

    fn transition(&self, barriers: &mut Vec<Barrier>, before: Before, after: D3D12_RESOURCE_STATES) {
        if !matches!(before, Before::State { state, .. } if state == after) {
            barriers.push(Barrier::Transition { resource: self.resource, before, after });
        }
    }

    fn not_ordered(&self, one: &At, other: &At) -> Error {
        let rule = format!(
            "resource {} has different states in passes {} and {}, and no dependency orders these passes so that a queue that \
             permits both states can change the state",
            self.resource.0,
            one.pass.min(other.pass),
            one.pass.max(other.pass)
        );
        Error::invalid_argument("frame", rule)
    }
}
