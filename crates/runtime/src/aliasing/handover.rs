//! Transfer of memory between resources: loss and inheritance of contents.

use std::collections::HashSet;
use std::ops::Range;

use super::access::Kind;
use super::content::{Cause, Content};
use super::coverage::Coverage;
use super::granularity::{KIB_64, common, expand};
use super::ids::{HeapId, ResourceId};
use super::inheritance::{self, Circumstances, Transfer};
use super::inherited_contents::{Outcome, bytes_as_one, inherit_bytes, is_all_or_nothing, tiles_to_bytes};
use super::judge::Judge;
use super::laws::AliasingLaws;
use super::prohibitions::{FirstUse, INACTIVE, Succession, UNORDERED};
use super::resource::{Touch, TrackedHome, TrackedResource};
use super::rule::Rule;
use super::submission::Submission;
use crate::fence::clock::CPU;

/// The reason why a resource takes over memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Access(Kind),
    /// A transition, or an enhanced barrier that changes a layout.
    Transition,
    /// A barrier that activates the resource.
    Activation,
}

/// Bytes that a resource is about to use and another one has used.
#[derive(Debug, Clone)]
struct Conflict {
    user: ResourceId,
    /// Bytes in the heap: those of the other resource within the granules in question.
    bytes: Range<u64>,
    /// Offset of the bytes in the other resource.
    offset: u64,
    /// Whether the bytes still belong to that part of the other resource, whose tiles may have been mapped elsewhere.
    is_there: bool,
}

/// Bytes of a heap that a resource takes over, and their offset in the resource.
#[derive(Debug, Clone)]
struct Taken {
    heap: HeapId,
    bytes: Range<u64>,
    offset: u64,
}

impl Judge {
    /// Makes a resource the last user of places. Returns the units whose contents become undefined.
    pub(super) fn take_over(
        &mut self,
        submission: &mut Submission,
        resource: &mut TrackedResource,
        places: Range<u32>,
        reason: Reason,
    ) -> Vec<Range<u32>> {
        resource.used_after = self.skipped;
        if resource.owned.all(places.clone(), |owned| *owned) {
            return Vec::new();
        }
        // Memory of the resource as a whole is transferred separately: it has no contents to give or to inherit.
        let [places, hidden] = resource.shape.split_hidden(&places);
        let lost: Vec<Range<u32>> = [places, hidden]
            .into_iter()
            .flat_map(|places| resource.owned.iter(places))
            .filter(|(_, owned)| !**owned)
            .map(|(run, _)| run)
            .collect();
        let mut undefined = Vec::new();
        let mut is_said = false;
        for places in lost {
            for (heap, bytes, offset) in resource.memory_of_places(&places) {
                let taken = Taken { heap, bytes, offset };
                let conflicts = self.conflicts(resource, &taken);
                if self.options.is_simple && !is_said && reason != Reason::Activation {
                    is_said = true;
                    let previous = conflicts.first().map(|conflict| conflict.user);
                    self.check_active(submission, resource, previous);
                }
                undefined.extend(self.settle(submission, resource, &taken, &conflicts, reason));
            }
            if !self.is_harmless(reason) {
                resource.owned.set(places, &true);
            }
        }
        if !self.options.is_simple && matches!(reason, Reason::Access(_)) {
            self.check_active(submission, resource, None);
            resource.was_activated |= self.has(AliasingLaws::ADVANCED_BEGINS_INACTIVE);
        }
        undefined
    }

    /// Returns whether an access leaves other resources unaffected, contrary to law I-1.
    fn is_harmless(&self, reason: Reason) -> bool {
        reason == Reason::Access(Kind::Read) && !self.has(AliasingLaws::READS_INVALIDATE)
    }

    fn check_active(
        &mut self,
        submission: &mut Submission,
        resource: &TrackedResource,
        previous: Option<ResourceId>,
    ) {
        let was_activated = resource.was_activated;
        let used = FirstUse { is_simple: self.options.is_simple, was_activated };
        let other = previous.filter(|_| was_activated);
        self.check(submission, (INACTIVE, &used), Some(resource), other);
    }

    /// Returns the previous uses of memory that a resource is about to use.
    fn conflicts(&self, resource: &TrackedResource, taken: &Taken) -> Vec<Conflict> {
        let Some(heap) = self.heap_of(taken.heap) else { return Vec::new() };
        let reach = expand(&taken.bytes, heap.memory.largest_granule);
        heap.memory
            .uses(&reach)
            .filter(|(_, user, _)| *user != resource.id)
            .filter_map(|(used, user, offset)| {
                let other = self.resource(user)?;
                let granule = resource.shape.granularity.of_pair(other.shape.granularity, self.options.laws);
                let hit = common(&expand(&taken.bytes, granule), &used);
                let offset = offset + hit.start.saturating_sub(used.start);
                (!hit.is_empty()).then_some((user, other, hit, offset))
            })
            .flat_map(|(user, other, hit, offset)| {
                let start = hit.start;
                let conflict = move |(bytes, is_there): (Range<u64>, bool)| {
                    let offset = offset + (bytes.start - start);
                    Conflict { user, bytes, offset, is_there }
                };
                other.still_at(taken.heap, hit, offset).into_iter().map(conflict)
            })
            .collect()
    }

    /// Returns conflicts in the order of settlement. What a user has already lost to a neighbour is older than the
    /// neighbour's contents, and a unit that loses any part is lost entirely.
    fn ranked<'a>(
        &self,
        resource: &TrackedResource,
        taken: &Taken,
        conflicts: &'a [Conflict],
    ) -> Vec<&'a Conflict> {
        let mut ranked: Vec<&Conflict> = conflicts.iter().collect();
        ranked.sort_by_cached_key(|conflict| self.rank(resource, taken, conflict));
        ranked
    }

    /// Returns the rank of a conflict: first users that already lost their place to a neighbour, then users whose
    /// contents are inherited, then all others.
    fn rank(&self, resource: &TrackedResource, taken: &Taken, conflict: &Conflict) -> u8 {
        let Some(other) = self.resource(conflict.user) else { return 0 };
        let size = conflict.bytes.end - conflict.bytes.start;
        let places = other.shape.places_of_bytes(&(conflict.offset..conflict.offset + size));
        let is_older = conflict.is_there && !other.owned.all(places, |owned| *owned);
        let gives = conflict.is_there
            && !common(&taken.bytes, &conflict.bytes).is_empty()
            && inheritance::between(other, resource, self.circumstances(taken, conflict)).is_ok();
        match (is_older, gives) {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
            (false, false) => 3,
        }
    }

    /// Settles conflicts. Returns the units whose contents become undefined.
    fn settle(
        &mut self,
        submission: &mut Submission,
        resource: &mut TrackedResource,
        taken: &Taken,
        conflicts: &[Conflict],
        reason: Reason,
    ) -> Vec<Range<u32>> {
        let mut undefined = Vec::new();
        let mut checked: HashSet<ResourceId> = HashSet::new();
        for conflict in self.ranked(resource, taken, conflicts) {
            let Some(mut other) = self.take(conflict.user) else { continue };
            let is_there = conflict.is_there;
            let outcome = self.receive(&other, resource, taken, conflict, &mut undefined);
            // A reserved resource is accessed tile by tile.
            if checked.insert(other.id) || matches!(other.home, TrackedHome::Reserved(_)) {
                self.check_order(submission, resource, (&other, taken.heap, conflict), &outcome, reason);
            }
            if is_there && !self.is_harmless(reason) {
                self.lose(&mut other, resource.id, conflict, &taken.bytes, &outcome);
            }
            self.put(other);
        }
        if !self.is_harmless(reason) {
            let mut counts = Vec::new();
            if let Some(heap) = self.heaps.get_mut(&taken.heap) {
                let count = |user, by| counts.push((user, by));
                heap.memory.set(taken.bytes.clone(), resource.id, taken.offset, count);
            }
            self.count(resource, counts);
        }
        undefined
    }

    /// Adds changes of the number of ranges that resources are the last users of. `resource` is taken out.
    pub(super) fn count(&mut self, resource: &mut TrackedResource, counts: Vec<(ResourceId, i64)>) {
        for (user, by) in counts {
            if user == resource.id {
                resource.use_count += by;
            } else if let Some(other) = self.resource_mut(user) {
                other.use_count += by;
            }
        }
    }

    /// Determines the contents that a resource finds in memory that another one used.
    fn receive(
        &self,
        other: &TrackedResource,
        resource: &mut TrackedResource,
        taken: &Taken,
        conflict: &Conflict,
        undefined: &mut Vec<Range<u32>>,
    ) -> Outcome {
        let unknown = if other.used_after < self.skipped {
            self.unknown_since(resource, other.used_after)
        } else {
            Vec::new()
        };
        let outcome = if conflict.is_there {
            self.hand_over(other, resource, taken, conflict)
        } else {
            Outcome::Lost(Rule::I14)
        };
        match &outcome {
            Outcome::Inherited => {}
            Outcome::Lost(rule) => {
                let granule = resource.shape.granularity.of_pair(other.shape.granularity, self.options.laws);
                let all = common(&expand(&conflict.bytes, granule), &taken.bytes);
                let in_resource = |bytes: &Range<u64>| {
                    let start = taken.offset + (bytes.start - taken.bytes.start);
                    start..start + (bytes.end - bytes.start)
                };
                for hit in self.not_its_own(resource.id, taken.heap, all.clone()) {
                    let bytes = in_resource(&hit);
                    let places = resource.shape.places_of_bytes(&bytes);
                    let (units, rule) = if self.hits_hidden(resource, &places) {
                        (0..resource.shape.unit_count(), Rule::I11)
                    } else {
                        (self.units_at(resource, &places), *rule)
                    };
                    let cause = Cause::Invalidated { by: other.id, because: rule };
                    if resource.shape.is_buffer() {
                        resource.invalidate_bytes(&bytes, cause);
                    } else {
                        resource.invalidate(units, cause);
                    }
                }
                undefined.push(self.units_at(resource, &resource.shape.places_of_bytes(&in_resource(&all))));
            }
            Outcome::Partly(units) => {
                // Bytes are handled one by one.
                let is_buffer = resource.shape.is_buffer();
                for &(_, unit, rule) in units.iter().filter(|_| !is_buffer) {
                    let cause = Cause::Invalidated { by: other.id, because: rule };
                    resource.invalidate(unit..unit + 1, cause);
                    undefined.push(unit..unit + 1);
                }
            }
        }
        // Contents that may have been written since the last use of the other resource are not the other resource's.
        for (units, content) in unknown {
            resource.content.set(units, &content);
        }
        outcome
    }

    /// Returns the bytes of a heap of which a resource was not the last user. Its own bytes are excluded: if a
    /// neighbour used their granule since, their contents are already lost, and a neighbour whose use is older has no
    /// effect.
    fn not_its_own(&self, id: ResourceId, heap: HeapId, bytes: Range<u64>) -> Vec<Range<u64>> {
        let Some(heap) = self.heap_of(heap) else { return vec![bytes] };
        let mut rest = Vec::new();
        let mut start = bytes.start;
        for (own, ..) in heap.memory.uses(&bytes).filter(|(_, user, _)| *user == id) {
            rest.push(start..own.start);
            start = own.end;
        }
        rest.push(start..bytes.end);
        rest.retain(|range| !range.is_empty());
        rest
    }

    /// Returns the units that lose their contents together with places.
    fn units_at(&self, resource: &TrackedResource, places: &Range<u32>) -> Range<u32> {
        let units = resource.shape.units_of_places(places);
        let is_packed = resource.shape.packed_tiles(places.start).is_some();
        // The first tile stands for all tiles of the packed mips.
        let is_other_tile = is_packed && units.start != places.start;
        if is_other_tile && !self.has(AliasingLaws::PACKED_MIPS_ARE_ONE) {
            return places.start..places.start;
        }
        units
    }

    /// Returns the contents that an access to a unit would find.
    pub(super) fn foresee(&self, id: ResourceId, unit: u32) -> Option<Content> {
        let known = self.resource(id)?;
        let content = known.content.get(unit)?;
        let places = known.shape.places_of_units(&(unit..unit + 1));
        let hidden = known.shape.hidden_place().map_or(0..0, |hidden| hidden..hidden + 1);
        let needed = [places, hidden];
        if needed.iter().all(|places| known.owned.all(places.clone(), |owned| *owned)) {
            return Some(content.clone());
        }
        let mut resource = known.clone();
        let mut undefined = Vec::new();
        for places in needed {
            let lost = known.owned.iter(places).filter(|(_, owned)| !**owned).map(|(run, _)| run);
            for (heap, bytes, offset) in lost.flat_map(|places| known.memory_of_places(&places)) {
                let taken = Taken { heap, bytes, offset };
                for conflict in self.ranked(&resource, &taken, &self.conflicts(&resource, &taken)) {
                    let Some(other) = self.resource(conflict.user) else { continue };
                    self.receive(other, &mut resource, &taken, conflict, &mut undefined);
                }
            }
        }
        resource.content.get(unit).cloned()
    }

    /// Checks that barriers and fences order the last accesses of the other resource to the memory before this one:
    /// those through tiles that were mapped there, and those through what is still there.
    fn check_order(
        &mut self,
        submission: &mut Submission,
        resource: &TrackedResource,
        (other, heap, conflict): (&TrackedResource, HeapId, &Conflict),
        outcome: &Outcome,
        reason: Reason,
    ) {
        if self.options.is_simple || submission.epoch.agent == CPU || reason == Reason::Activation {
            return;
        }
        let now = submission.epoch;
        let is_transition = reason == Reason::Transition;
        let is_inherited = matches!(outcome, Outcome::Inherited);
        let size = conflict.bytes.end - conflict.bytes.start;
        let here = Some(conflict.offset..conflict.offset + size).filter(|_| conflict.is_there);
        let left = self.heap_of(heap).map_or(&[][..], |heap| heap.memory.left(conflict.bytes.start));
        let touches = here.iter().flat_map(|bytes| other.touches_of(bytes)).chain(left.iter().copied());
        let touches: Vec<Touch> = touches.filter(|touch| touch.epoch.agent != CPU).collect();
        for touch in touches {
            let mut after = Succession { is_concurrent: false, broken: None, is_transition, is_inherited };
            if touch.epoch.agent != now.agent {
                after.is_concurrent = !self.clock(now.agent).has_seen(touch.epoch);
            } else if touch.epoch == now {
                after.broken = submission.check_order(other.id, touch, resource.id, self.options.laws);
            } else if !self.has(AliasingLaws::SUBMISSIONS_ARE_ORDERED) {
                let last = Touch { step: 0, ..touch };
                after.broken = submission.check_order(other.id, last, resource.id, self.options.laws);
            }
            if is_inherited && !self.has(AliasingLaws::INHERITANCE_NEEDS_BARRIER) {
                after.broken = None;
            }
            self.check(submission, (UNORDERED, &after), Some(resource), Some(other.id));
        }
    }

    fn circumstances(&self, taken: &Taken, conflict: &Conflict) -> Circumstances {
        // Offsets of the heap's byte 0 in both resources; equal if the bytes have the same place in both.
        let in_from = i128::from(conflict.offset) - i128::from(conflict.bytes.start);
        let in_to = i128::from(taken.offset) - i128::from(taken.bytes.start);
        Circumstances {
            laws: self.options.laws,
            is_simple: self.options.is_simple,
            is_shared: self.heap_of(taken.heap).is_some_and(|heap| heap.is_shared),
            same_place: in_from == in_to,
            has_standard_swizzle: self.has_standard_swizzle,
        }
    }

    /// Transfers contents from the previous user of memory to a resource.
    fn hand_over(
        &self,
        from: &TrackedResource,
        to: &mut TrackedResource,
        taken: &Taken,
        conflict: &Conflict,
    ) -> Outcome {
        let shared = common(&taken.bytes, &conflict.bytes);
        let is_neighbour = shared.is_empty() && !from.overlaps(to);
        if is_neighbour {
            return Outcome::Lost(Rule::G8);
        }
        let of = self.circumstances(taken, conflict);
        let transfer = match inheritance::between(from, to, of) {
            Ok(transfer) => transfer,
            Err(rule) => return Outcome::Lost(rule),
        };
        if shared.is_empty() {
            // No common bytes remain: they went to other resources, with which they are settled.
            return Outcome::Inherited;
        }
        let theirs = conflict.offset + (shared.start - conflict.bytes.start);
        let ours = taken.offset + (shared.start - taken.bytes.start);
        let size = shared.end - shared.start;
        if transfer != Transfer::Units
            && self.hits_hidden(to, &to.shape.places_of_bytes(&(ours..ours + size)))
        {
            return Outcome::Lost(Rule::I11);
        }
        if transfer == Transfer::Bytes {
            return match inheritance::check_states((from, 0), (to, 0), transfer, of) {
                Ok(()) => {
                    inherit_bytes(from, to, theirs, ours, size);
                    Outcome::Inherited
                }
                Err(rule) => Outcome::Lost(rule),
            };
        }
        if to.shape.is_buffer() {
            return tiles_to_bytes((from, theirs), (to, ours), size, of);
        }
        let units = to.shape.units_of_places(&to.shape.places_of_bytes(&(ours..ours + size)));
        let count = units.len();
        let mut failed: Vec<(u32, u32, Rule)> = Vec::new();
        for unit in units {
            let from_unit = if from.shape.is_defined() {
                let at = to.shape.bytes_of_unit(unit).start.max(ours) - ours;
                let place = from.shape.places_of_bytes(&(theirs + at..theirs + at + 1));
                from.shape.units_of_places(&place).start
            } else {
                unit
            };
            let checked = inheritance::check_states((from, from_unit), (to, unit), transfer, of);
            let content = if from.shape.is_buffer() {
                let tile = to.shape.bytes_of_unit(unit);
                let is_there = ours <= tile.start && tile.end <= ours + size;
                is_there
                    .then(|| bytes_as_one(from, &(tile.start - ours + theirs..tile.end - ours + theirs)))
                    .flatten()
            } else {
                from.content.get(from_unit).cloned()
            };
            let rule = match (checked, content) {
                (Err(rule), _) => rule,
                (Ok(()), Some(content)) if transfer == Transfer::Units => {
                    to.content.set(unit..unit + 1, &content);
                    continue;
                }
                // The positions of the texels of a part differ between the two.
                (Ok(()), Some(content)) if is_all_or_nothing(&content) => {
                    let is_part = matches!(content.initialised, Coverage::Parts(_));
                    let content = if is_part { Content::undefined(content.cause) } else { content };
                    to.content.set(unit..unit + 1, &content);
                    continue;
                }
                (Ok(()), _) => Rule::G9,
            };
            failed.push((from_unit, unit, rule));
        }
        match failed.first() {
            None => Outcome::Inherited,
            Some(&(_, _, rule)) if failed.len() == count => Outcome::Lost(rule),
            Some(_) => Outcome::Partly(failed),
        }
    }

    /// Returns whether places include memory of the resource as a whole.
    fn hits_hidden(&self, resource: &TrackedResource, places: &Range<u32>) -> bool {
        self.has(AliasingLaws::HIDDEN_MEMORY)
            && resource.shape.hidden_place().is_some_and(|hidden| places.contains(&hidden))
    }

    /// Takes bytes from a resource. Inherited contents remain, as they may be inherited back.
    fn lose(
        &self,
        other: &mut TrackedResource,
        by: ResourceId,
        conflict: &Conflict,
        taken: &Range<u64>,
        outcome: &Outcome,
    ) {
        let size = conflict.bytes.end - conflict.bytes.start;
        let lost = conflict.offset..conflict.offset + size;
        let places = other.shape.places_of_bytes(&lost);
        let was_last = !other.owned.all(places.clone(), |owned| !owned);
        other.owned.set(places.clone(), &false);
        let rule = match outcome {
            Outcome::Inherited => return,
            Outcome::Partly(units) => {
                if units.iter().any(|&(unit, ..)| unit >= other.shape.unit_count()) {
                    let cause = Cause::Invalidated { by, because: Rule::I11 };
                    other.invalidate(0..other.shape.unit_count(), cause);
                    return;
                }
                for &(unit, _, because) in units {
                    other.invalidate(unit..unit + 1, Cause::Invalidated { by, because });
                }
                return;
            }
            Outcome::Lost(rule) => *rule,
        };
        let invalidated = |because| Cause::Invalidated { by, because };
        let all = 0..other.shape.unit_count();
        if self.hits_hidden(other, &places) {
            other.invalidate(all, invalidated(Rule::I11));
            return;
        }
        let units = self.units_at(other, &places);
        if !other.shape.is_defined() {
            let is_part = lost.start > 0 || lost.end < other.shape.size;
            let because = if is_part && rule != Rule::G8 { Rule::I9 } else { rule };
            let is_one = self.has(AliasingLaws::UNDEFINED_LAYOUT_IS_ONE) || self.options.is_simple;
            let units = if is_one { all } else { 0..all.end.saturating_sub(1) };
            other.invalidate(units, invalidated(because));
            return;
        }
        let is_in_state = other.shape.is_stateless()
            || other.state.all(0..u32::MAX, |state| state.is_common())
            || !self.has(AliasingLaws::SMALL_INVALIDATION_NEEDS_STATE)
            // The resource has already lost the places to a neighbour, with all of its contents.
            || !was_last;
        if !is_in_state || self.options.is_simple {
            let because = if self.options.is_simple { rule } else { Rule::I9 };
            other.invalidate(all, invalidated(because));
        }
        // A unit that is overlapped partially is lost entirely.
        let hit = common(taken, &conflict.bytes);
        let is_partial = !(hit.end - hit.start).is_multiple_of(KIB_64) && lost.end != other.shape.size;
        let because = if is_partial { Rule::G9 } else { rule };
        if other.shape.is_buffer() {
            other.invalidate_bytes(&lost, invalidated(because));
        } else {
            other.invalidate(units, invalidated(because));
        }
    }
}

impl TrackedResource {
    /// Returns whether two resources share bytes, whatever their last users.
    fn overlaps(&self, other: &Self) -> bool {
        let memory = |resource: &Self| resource.memory_of_places(&(0..resource.shape.place_count()));
        let others = memory(other);
        memory(self).iter().any(|(heap, bytes, _)| {
            others.iter().any(|(at, others, _)| heap == at && !common(bytes, others).is_empty())
        })
    }
}
