//! Plans: what to evict and what to make resident.

use std::fmt;

use super::ManagedHeapId;
use super::in_flight::{Submission, WaitFor};
use crate::{ByteSize, FenceValue, SegmentGroup};

/// Describes the plan that is requested. By default it is empty, and may neither wait nor exceed a budget.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanRequest<'a> {
    /// The submission that uses the heaps, or `None` if the plan is not for a submission.
    pub submission: Option<&'a Submission>,
    /// The heaps of all command lists, one list after the other.
    pub heaps: &'a [ManagedHeapId],
    /// The index in `heaps` at which each list ends.
    pub list_ends: &'a [usize],
    /// The bytes that will be added to each segment group besides the heaps.
    pub incoming: [ByteSize; 2],
    /// The bytes to evict from each segment group even if the budget does not require it, as far as possible.
    pub at_least: [ByteSize; 2],
    /// Whether the result may be to wait.
    pub may_wait: bool,
    /// Whether usage may exceed the budget if nothing else can be evicted.
    pub may_exceed: bool,
}

/// The actions that the caller must carry out: first evict, then make resident.
///
/// Its lists are reused by the next plan, so that planning allocates no host memory in the long run.
#[derive(Default)]
pub struct Plan {
    /// The heaps to evict, all in one call.
    pub evict: Vec<ManagedHeapId>,
    /// The heaps to make resident, all in one call.
    pub make_resident: Vec<ManagedHeapId>,
    /// The bytes to evict in each segment group.
    pub bytes_out: [ByteSize; 2],
    /// The bytes to make resident in each segment group.
    pub bytes_in: [ByteSize; 2],
    /// The value that the paging fence must reach for heaps that an earlier plan made resident; zero if there
    /// is nothing to wait for.
    pub arrives: FenceValue,
    /// The number of lists that this plan covers, at least one if there are any. The remaining lists do not
    /// fit together with
    /// them.
    pub lists: usize,
    /// The bytes by which usage will exceed the budget in each segment group.
    pub over_budget: [ByteSize; 2],
    /// The events to wait for, if the plan is to wait: at most one for each queue, and one for paging. After the first
    /// of them, a heap that is in use now may be evicted.
    pub awaited: Vec<WaitFor>,
    /// The heaps that the plan is for.
    pub(super) set: Vec<ManagedHeapId>,
    /// The heaps to evict from one segment group, while they are chosen, and their sizes.
    pub(super) chosen: Vec<(ManagedHeapId, ByteSize)>,
    /// The first end of a use, for each queue, after which a heap may be evicted that policies named in vain.
    pub(super) ends: Vec<u64>,
    /// The first arrival after which such a heap may be evicted.
    pub(super) first_arrival: Option<u64>,
}

/// The result of planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanOutcome {
    /// The plan must be carried out.
    Ready,
    /// Nothing is changed. After the first of the [awaited](Plan::awaited) events, more can be evicted.
    Wait,
    /// Nothing is changed. The budget does not suffice.
    OverBudget(OverBudget),
}

/// All work that was planned up to a moment: submissions and paging.
///
/// Other threads may submit while one waits, and use the same heaps again, so that the next plan is to wait, too, and
/// so on without an end. There are only so many waits for the work that was planned before the first one; a caller that
/// remembers it ([`ResidencyPlanner::planned_work`](super::ResidencyPlanner::planned_work)) can limit those that
/// follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedWork {
    pub(super) last_submission: u64,
    pub(super) last_paging: FenceValue,
}

impl PlannedWork {
    /// Returns whether the event is the end of this work, and not of work that was planned later.
    #[must_use]
    pub fn includes(&self, event: WaitFor) -> bool {
        match event {
            WaitFor::Submission { number, .. } => number <= self.last_submission,
            WaitFor::Paging(value) => value <= self.last_paging,
        }
    }
}

/// The description of a budget that does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget {
    /// The segment group.
    pub group: SegmentGroup,
    /// The bytes that must be resident at the same time, including what cannot be evicted.
    pub needed: ByteSize,
    /// The budget.
    pub budget: ByteSize,
}

impl Plan {
    pub(super) fn clear(&mut self) {
        for list in [&mut self.evict, &mut self.make_resident, &mut self.set] {
            list.clear();
        }
        self.awaited.clear();
        (self.bytes_out, self.bytes_in, self.over_budget) = Default::default();
        (self.arrives, self.lists) = Default::default();
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, needed, budget } = self;
        write!(
            f,
            "{needed} must be resident in the {group} segment group, which exceeds the budget of {budget}"
        )
    }
}
