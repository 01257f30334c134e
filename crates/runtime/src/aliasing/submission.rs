//! The barriers of one `ExecuteCommandLists`, and the pairs of resources that they order.

use std::collections::{HashMap, HashSet};

use heapwright_d3d12::*;

use super::ids::ResourceId;
use super::laws::AliasingLaws;
use super::note::{EnhancedBarrier, Subresources};
use super::resource::{Touch, TrackedResource};
use super::rule::Rule;
use super::shape::Piece;
use super::violation::Place;
use crate::fence::clock::Epoch;

/// A submission under judgement. Steps are numbered from 1 on; 0 precedes all of them.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) epoch: Epoch,
    pub(super) on_copy_queue: bool,
    pub(super) step: u64,
    /// The command under judgement.
    pub(super) place: Place,
    /// Violations already reported, to report each only once: rule, resource, other resource.
    said: HashSet<(Rule, Option<ResourceId>, Option<ResourceId>)>,
    /// Resources whose state was promoted by an access.
    pub(super) promoted: Vec<ResourceId>,
    legacy: LegacyBarriers,
    enhanced: EnhancedBarriers,
}

/// The last step of each kind of aliasing barrier.
#[derive(Debug, Default)]
struct LegacyBarriers {
    any: u64,
    from: HashMap<ResourceId, u64>,
    to: HashMap<ResourceId, u64>,
    pairs: HashMap<(ResourceId, ResourceId), u64>,
    /// Barriers to a resource, whatever the resource before.
    all_to: HashMap<ResourceId, u64>,
}

/// The enhanced barriers that wait for a resource or block one.
#[derive(Debug, Default)]
struct EnhancedBarriers {
    /// All barriers in order: a later one that waits for less does not cancel an earlier one.
    releases: HashMap<ResourceId, Vec<Wait>>,
    acquires: HashMap<ResourceId, u64>,
    global: Vec<Wait>,
}

/// The scopes of a barrier.
#[derive(Debug, Clone, Copy)]
struct Wait {
    step: u64,
    before: D3D12_BARRIER_SYNC,
    /// NONE if the barrier is of a part of the resource.
    after: D3D12_BARRIER_SYNC,
}

/// Returns the barriers after a step.
fn later(barriers: &[Wait], step: u64) -> &[Wait] {
    barriers.get(barriers.partition_point(|barrier| barrier.step <= step)..).unwrap_or_default()
}

impl Submission {
    pub(super) fn new(epoch: Epoch, on_copy_queue: bool) -> Self {
        Self {
            epoch,
            on_copy_queue,
            step: 0,
            place: Place { list: Some(0), call: 0, name: "" },
            said: HashSet::new(),
            promoted: Vec::new(),
            legacy: LegacyBarriers::default(),
            enhanced: EnhancedBarriers::default(),
        }
    }

    /// Starts the next step. The barriers of one call of `Barrier` share a step.
    pub(super) fn next_step(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    /// Returns whether this violation is reported for the first time.
    pub(super) fn say(
        &mut self,
        rule: Rule,
        resource: Option<ResourceId>,
        other: Option<ResourceId>,
    ) -> bool {
        self.said.insert((rule, resource, other))
    }

    /// Records an aliasing barrier.
    pub(super) fn aliasing(
        &mut self,
        before: Option<ResourceId>,
        after: Option<ResourceId>,
        laws: AliasingLaws,
    ) {
        let step = self.step;
        if let Some(after) = after {
            self.legacy.all_to.insert(after, step);
        }
        match (before, after) {
            _ if !laws.contains(AliasingLaws::PAIRS_ARE_EXACT) => self.legacy.any = step,
            (None, None) if laws.contains(AliasingLaws::NULL_IS_ANY) => self.legacy.any = step,
            (Some(before), None) if laws.contains(AliasingLaws::NULL_IS_ANY) => {
                self.legacy.from.insert(before, step);
            }
            (None, Some(after)) if laws.contains(AliasingLaws::NULL_IS_ANY) => {
                self.legacy.to.insert(after, step);
            }
            (Some(before), Some(after)) => {
                self.legacy.pairs.insert((before, after), step);
            }
            _ => {}
        }
    }

    /// Records an enhanced barrier on a resource, or a global one.
    pub(super) fn enhanced(&mut self, resource: Option<ResourceId>, barrier: &EnhancedBarrier) {
        let is_part = matches!(barrier.subresources, Subresources::Some(_));
        let [before, after] = barrier.sync;
        let wait =
            Wait { step: self.step, before, after: if is_part { D3D12_BARRIER_SYNC_NONE } else { after } };
        match resource {
            None => self.enhanced.global.push(wait),
            Some(resource) => {
                self.enhanced.releases.entry(resource).or_default().push(wait);
                self.enhanced.acquires.insert(resource, self.step);
            }
        }
    }

    /// Records an access to pieces of a resource. A barrier has to wait for it, and for earlier accesses of the
    /// submission, unless this one had to wait for them.
    pub(super) fn touch(&self, resource: &mut TrackedResource, pieces: &[Piece], sync: D3D12_BARRIER_SYNC) {
        let id = resource.id;
        let has_waited = |last: &Touch| {
            let covers =
                |barrier: &Wait| includes(barrier.before, last.sync) && includes(barrier.after, sync);
            let own = self.enhanced.releases.get(&id).map_or(&[][..], Vec::as_slice);
            let mut since = later(own, last.step).iter().chain(later(&self.enhanced.global, last.step));
            sync != D3D12_BARRIER_SYNC_NONE && since.any(covers)
        };
        resource.touch((self.epoch, self.step), pieces, |last| {
            sync | last.filter(|last| !has_waited(last)).map_or(0, |last| last.sync)
        });
    }

    /// Returns the rule that is broken unless barriers order an access to `before` in this submission before one to
    /// `after` now.
    pub(super) fn check_order(
        &self,
        before: ResourceId,
        last: Touch,
        after: ResourceId,
        laws: AliasingLaws,
    ) -> Option<Rule> {
        let steps = |map: &HashMap<ResourceId, u64>, id| map.get(&id).copied().unwrap_or(0);
        let pair = self.legacy.pairs.get(&(before, after)).copied().unwrap_or(0);
        let matching =
            [self.legacy.any, steps(&self.legacy.from, before), steps(&self.legacy.to, after), pair];
        let latest = matching.into_iter().max().unwrap_or(0);
        let is_in_time = latest > last.step || !laws.contains(AliasingLaws::BARRIER_AFTER_LAST_ACCESS);
        if (latest != 0 && is_in_time) || self.orders(before, last, after, laws) {
            return None;
        }
        if steps(&self.legacy.all_to, after) > last.step {
            return Some(Rule::B4);
        }
        if latest != 0 {
            return Some(Rule::B5);
        }
        let is_enhanced = self.enhanced.releases.contains_key(&before)
            || self.enhanced.acquires.contains_key(&after)
            || !self.enhanced.global.is_empty();
        Some(if is_enhanced { Rule::E1 } else { Rule::B1 })
    }

    /// Returns whether enhanced barriers wait for `before` and then block `after`.
    fn orders(&self, before: ResourceId, last: Touch, after: ResourceId, laws: AliasingLaws) -> bool {
        let covers = |sync| includes(sync, last.sync) || !laws.contains(AliasingLaws::SYNC_COVERS_ACCESSES);
        let first_that_waits = |barriers| {
            later(barriers, last.step)
                .iter()
                .find(|barrier| covers(barrier.before))
                .map(|barrier| barrier.step)
        };
        // A global barrier both waits for the one and blocks the other.
        if first_that_waits(&self.enhanced.global).is_some() {
            return true;
        }
        let releases = self.enhanced.releases.get(&before).map_or(&[][..], Vec::as_slice);
        let Some(released) = first_that_waits(releases) else { return false };
        let acquired = self.enhanced.acquires.get(&after).copied().unwrap_or(0);
        let last_of_all = self.enhanced.global.last().map_or(0, |barrier| barrier.step);
        acquired.max(last_of_all) >= released
    }
}

/// Returns whether a scope includes all stages of another one.
fn includes(scope: D3D12_BARRIER_SYNC, other: D3D12_BARRIER_SYNC) -> bool {
    scope & D3D12_BARRIER_SYNC_ALL != 0 || other & !with_parts(scope) == 0
}

/// Expands a synchronization scope to the stages that it includes (DirectX-Specs, *Enhanced Barriers*).
fn with_parts(sync: D3D12_BARRIER_SYNC) -> D3D12_BARRIER_SYNC {
    let draw = D3D12_BARRIER_SYNC_INDEX_INPUT
        | D3D12_BARRIER_SYNC_VERTEX_SHADING
        | D3D12_BARRIER_SYNC_PIXEL_SHADING
        | D3D12_BARRIER_SYNC_DEPTH_STENCIL
        | D3D12_BARRIER_SYNC_RENDER_TARGET;
    if sync & D3D12_BARRIER_SYNC_DRAW != 0 { sync | draw } else { sync }
}
