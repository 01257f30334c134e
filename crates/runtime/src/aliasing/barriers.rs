//! The effects of barriers: activation, ordering, and changes of state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use heapwright_d3d12::*;

use super::call_overlaps::{Extent, Role, conflicting, is_before};
use super::content::{Cause, Content};
use super::coverage::Coverage;
use super::handover::Reason;
use super::ids::ResourceId;
use super::judge::{Judge, Step};
use super::laws::AliasingLaws;
use super::note::{EnhancedBarrier, Note, Subresources};
use super::prohibitions::{
    ALIASING_BARRIER, AliasingBarrier, ENHANCED_BARRIER, IN_ONE_CALL, LateBarrier, SameCall,
};
use super::resource::{TrackedHome, TrackedResource};
use super::state::BarrierState;
use super::submission::Submission;
use super::usage::discard_piece;
use crate::drivers::resource::DriverResource;

/// Accesses that write, which a following barrier flushes.
const WRITES: D3D12_BARRIER_ACCESS = D3D12_BARRIER_ACCESS_RENDER_TARGET
    | D3D12_BARRIER_ACCESS_UNORDERED_ACCESS
    | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE
    | D3D12_BARRIER_ACCESS_STREAM_OUTPUT
    | D3D12_BARRIER_ACCESS_COPY_DEST
    | D3D12_BARRIER_ACCESS_RESOLVE_DEST
    | D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE;

/// Returns whether contents in a layout may be compressed, and so require initialisation.
fn may_be_compressed(layout: D3D12_BARRIER_LAYOUT) -> bool {
    matches!(
        layout,
        D3D12_BARRIER_LAYOUT_RENDER_TARGET
            | D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE
            | D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
            | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS
            | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS
    )
}

/// Converts subresources to ranges.
fn ranges(subresources: &Subresources, resource: &TrackedResource) -> Vec<Range<u32>> {
    match subresources {
        Subresources::All => std::iter::once(0..resource.shape.subresource_count()).collect(),
        Subresources::Some(each) => each.iter().map(|&index| index..index.saturating_add(1)).collect(),
    }
}

impl Judge {
    /// Applies the notes of a call in order.
    pub(super) fn note_all(&mut self, step: &mut Step<'_>, notes: &[Note]) {
        if self.has(AliasingLaws::ARRAY_IN_ORDER) {
            for note in notes {
                self.note(step, note);
            }
            return;
        }
        let is_aliasing = |note: &&Note| matches!(note, Note::Aliasing { .. });
        for note in notes.iter().filter(is_aliasing).chain(notes.iter().filter(|note| !is_aliasing(note))) {
            self.note(step, note);
        }
    }

    fn note(&mut self, step: &mut Step<'_>, note: &Note) {
        step.submission.next_step();
        match note {
            Note::Skipped(skipped) => self.skip(step, skipped),
            Note::Transition { resource, subresources, after } => {
                if let Some(id) = self.id_of(resource) {
                    self.transition(step, id, subresources, *after);
                }
            }
            Note::Aliasing { before, after } => self.aliasing(step, before.as_ref(), after.as_ref()),
            Note::Barriers(barriers) => self.enhanced(step, barriers),
            Note::Load { resource, subresources } => {
                if let Some(id) = self.id_of(resource) {
                    let ranges = self.resource(id).map(|resource| ranges(subresources, resource));
                    self.load(step, id, &ranges.unwrap_or_default());
                }
            }
            Note::Discard { resource, subresources, is_whole, is_compute } => {
                if let Some(id) = self.id_of(resource) {
                    let ranges = self.resource(id).map(|resource| ranges(subresources, resource));
                    self.discard(step, id, &ranges.unwrap_or_default(), (*is_whole, *is_compute));
                }
            }
        }
    }

    fn transition(
        &mut self,
        step: &mut Step<'_>,
        id: ResourceId,
        subresources: &Subresources,
        after: D3D12_RESOURCE_STATES,
    ) {
        let Some(mut resource) = self.take(id) else { return };
        self.use_by_transition(step, &mut resource);
        for range in ranges(subresources, &resource) {
            resource.state.set(range, &BarrierState::legacy(after));
        }
        resource.last_seen = Some(step.submission.epoch);
        self.put(resource);
    }

    /// Treats a transition as a use of the memory, unless the resource has no state.
    fn use_by_transition(&mut self, step: &mut Step<'_>, resource: &mut TrackedResource) {
        if resource.shape.is_stateless() {
            return;
        }
        let all = 0..resource.shape.place_count();
        let undefined = self.take_over(step.submission, resource, all, Reason::Transition);
        self.scramble(step.commands, resource, &undefined);
    }

    fn aliasing(
        &mut self,
        step: &mut Step<'_>,
        before: Option<&Arc<DriverResource>>,
        after: Option<&Arc<DriverResource>>,
    ) {
        let before_id = before.and_then(|before| self.id_of(before));
        let after_id = after.and_then(|after| self.id_of(after));
        // A resource that is not tracked is not treated as null.
        if (before.is_some() && before_id.is_none()) || (after.is_some() && after_id.is_none()) {
            return;
        }
        let is_idle = |id: Option<ResourceId>| {
            let resource = id.and_then(|id| self.resource(id));
            resource.is_some_and(|resource| !resource.is_touched_in(step.submission.epoch))
        };
        let barrier = AliasingBarrier {
            is_simple: self.options.is_simple,
            has_before: before.is_some(),
            has_after: after.is_some(),
            are_idle: is_idle(before_id) && is_idle(after_id),
        };
        self.check(step.submission, (ALIASING_BARRIER, &barrier), None, after_id.or(before_id));
        step.submission.aliasing(before_id, after_id, self.options.laws);
        let Some(mut resource) = after_id.and_then(|id| self.take(id)) else { return };
        resource.was_activated = true;
        resource.came_from_undefined = false;
        let all = 0..resource.shape.place_count();
        if self.options.is_simple {
            let undefined = self.take_over(step.submission, &mut resource, all, Reason::Activation);
            self.scramble(step.commands, &resource, &undefined);
        } else if resource.owned.all(all, |owned| *owned) && resource.has_duty() {
            // No other resource has used the memory since. Nevertheless, initialisation before the activation does not
            // count.
            if self.has(AliasingLaws::INITIALISE_AFTER_ACTIVATION) {
                let units = 0..resource.shape.unit_count();
                resource.content.update(units, |content| {
                    if content.initialised != Coverage::None {
                        *content = Content::undefined(Cause::Activated);
                    }
                });
            }
        }
        if !self.has(AliasingLaws::STATE_SURVIVES_BARRIER) {
            resource.state.set(0..u32::MAX, &BarrierState::COMMON);
        }
        self.put(resource);
    }

    /// Applies the barriers of one call.
    fn enhanced(&mut self, step: &mut Step<'_>, barriers: &[EnhancedBarrier]) {
        self.check_call(step.submission, barriers);
        // Apply all waits before the effects on resources, because the barriers of a call have no order.
        for barrier in barriers {
            let id = self.target(barrier);
            if barrier.resource.is_none() || id.is_some() {
                step.submission.enhanced(id, barrier);
            }
        }
        for barrier in barriers {
            let Some(mut resource) = self.target(barrier).and_then(|id| self.take(id)) else { continue };
            self.apply(step, &mut resource, barrier);
            self.put(resource);
        }
    }

    fn target(&self, barrier: &EnhancedBarrier) -> Option<ResourceId> {
        barrier.resource.as_ref().and_then(|resource| self.id_of(resource))
    }

    fn apply(&mut self, step: &mut Step<'_>, resource: &mut TrackedResource, barrier: &EnhancedBarrier) {
        let now = step.submission.epoch;
        let none = D3D12_BARRIER_ACCESS_NO_ACCESS;
        let EnhancedBarrier { sync, access, layout: [layout_before, layout_after], .. } = *barrier;
        let subresources = ranges(&barrier.subresources, resource);
        let is_ended = |range: &Range<u32>| !resource.no_access.all(range.clone(), |ended| !ended);
        let late = LateBarrier {
            ignores_uses: sync[0] == D3D12_BARRIER_SYNC_NONE && resource.last_seen == Some(now),
            has_ended: resource.ended_in == Some(now),
            ignores_no_access: access[0] != none && subresources.iter().any(is_ended),
        };
        self.check(step.submission, (ENHANCED_BARRIER, &late), Some(resource), None);
        for range in &subresources {
            resource.no_access.set(range.clone(), &(access[1] == none));
        }
        resource.last_seen = Some(now);
        if sync[1] == D3D12_BARRIER_SYNC_NONE {
            resource.ended_in = Some(now);
        }
        let undefined = D3D12_BARRIER_LAYOUT_UNDEFINED;
        match (layout_before == undefined, layout_after == undefined) {
            // The barrier affects only the memory.
            (_, true) => return,
            (true, false) => self.activate(step, resource, &subresources, layout_after, barrier.discards),
            (false, false) if layout_before != layout_after => self.use_by_transition(step, resource),
            (false, false) => {}
        }
        for range in subresources {
            resource.state.set(range, &BarrierState::Layout(layout_after));
        }
    }

    /// Applies a barrier from UNDEFINED, after which nothing is inherited.
    fn activate(
        &mut self,
        step: &mut Step<'_>,
        resource: &mut TrackedResource,
        subresources: &[Range<u32>],
        layout: D3D12_BARRIER_LAYOUT,
        discards: bool,
    ) {
        let all = 0..resource.shape.place_count();
        let reason = if self.options.is_simple { Reason::Activation } else { Reason::Transition };
        self.take_over(step.submission, resource, all, reason);
        resource.was_activated = true;
        resource.came_from_undefined = true;
        if resource.home == TrackedHome::Committed && !discards {
            return;
        }
        let initialises = discards && self.has(AliasingLaws::DISCARD_FLAG_INITIALISES);
        resource.needs_initialisation = may_be_compressed(layout)
            && !resource.shape.is_target
            && self.has(AliasingLaws::UNDEFINED_NEEDS_INITIALISATION);
        let mut undefined = Vec::new();
        for subresource in subresources.iter().cloned().flatten() {
            for piece in resource.shape.subresource(subresource) {
                if resource.shape.packed_tiles(piece.units.start).is_none() {
                    undefined.push(piece.units.clone());
                }
                if initialises {
                    discard_piece(resource, &piece, true);
                } else {
                    resource.invalidate(piece.units.clone(), Cause::Activated);
                }
            }
        }
        self.scramble(step.commands, resource, &undefined);
    }

    /// Rules E-5 and E-6: checks barriers of one call for overlapping resources.
    ///
    /// Cost: O(n log n) for n barriers and ranges of memory, plus the violations.
    fn check_call(&mut self, submission: &mut Submission, barriers: &[EnhancedBarrier]) {
        let mut members: Vec<Member> = Vec::new();
        let mut places = BTreeMap::new();
        for barrier in barriers {
            let effects = Effects::of(barrier);
            let Some(id) = self.target(barrier).filter(|_| effects != Effects::default()) else { continue };
            let place = *places.entry(id).or_insert(members.len());
            if place == members.len() {
                members.push(Member { id, effects });
            }
            members[place].effects = members[place].effects.union(effects);
        }
        // Barriers that only flush, as most do, look at no memory.
        if !members.iter().any(|member| member.effects.changes || member.effects.discards) {
            return;
        }
        let extents = members.iter().enumerate().flat_map(|(place, member)| self.extents(place, member));
        let pairs = conflicting(extents.collect(), is_before);
        let both_ways: BTreeSet<_> = pairs.iter().flat_map(|&(one, two)| [(one, two), (two, one)]).collect();
        for (one, two) in both_ways {
            self.say_conflict(submission, members[one], members[two]);
        }
    }

    /// Returns the memory of a resource in a call, each byte once.
    fn extents(&self, place: usize, member: &Member) -> Vec<Extent> {
        let Some(resource) = self.resource(member.id) else { return Vec::new() };
        let mut memory = resource.memory_of_places(&(0..resource.shape.place_count()));
        memory.sort_unstable_by_key(|(heap, bytes, _)| (*heap, bytes.start));
        let mut extents: Vec<Extent> = Vec::new();
        for (heap, bytes, _) in memory {
            match extents.last_mut() {
                Some(last) if last.heap == heap && bytes.start <= last.bytes.end => {
                    last.bytes.end = last.bytes.end.max(bytes.end);
                }
                _ => extents.push(Extent { heap, bytes, resource: place, role: member.effects.role() }),
            }
        }
        extents
    }

    /// Reports what the barriers of a call do to `one` while they affect the overlapping `two`.
    fn say_conflict(&mut self, submission: &mut Submission, one: Member, two: Member) {
        let pair = SameCall {
            is_discarded: one.effects.discards,
            both_change: one.effects.changes && two.effects.changes,
        };
        let Some(resource) = self.take(one.id) else { return };
        self.check(submission, (IN_ONE_CALL, &pair), Some(&resource), Some(two.id));
        self.put(resource);
    }
}

/// A resource that barriers of a call affect.
#[derive(Clone, Copy)]
struct Member {
    id: ResourceId,
    effects: Effects,
}

/// The effects of a call's barriers on a resource.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Effects {
    flushes: bool,
    /// Changes a layout without DISCARD.
    changes: bool,
    /// Changes a layout with DISCARD.
    discards: bool,
}

impl Effects {
    fn of(barrier: &EnhancedBarrier) -> Self {
        let EnhancedBarrier { access: [access, _], layout: [before, after], discards, .. } = *barrier;
        let changes = before != after && after != D3D12_BARRIER_LAYOUT_UNDEFINED;
        Self {
            flushes: access != D3D12_BARRIER_ACCESS_NO_ACCESS && access & WRITES != 0,
            changes: changes && !discards,
            discards: changes && discards,
        }
    }

    fn union(self, other: Self) -> Self {
        Self {
            flushes: self.flushes || other.flushes,
            changes: self.changes || other.changes,
            discards: self.discards || other.discards,
        }
    }

    fn role(self) -> Role {
        match self {
            Self { discards: true, .. } => Role::Discarded,
            Self { changes: true, .. } => Role::Changed,
            _ => Role::Flushed,
        }
    }
}
