//! What is to be evicted and paged in.

use std::fmt;

use super::in_flight::{QueueSlot, Submission};
use super::policy::{HeapSlot, Moment};
use super::{ManagedHeapId, SegmentGroup};
use crate::{ByteSize, FenceValue};

/// What a plan is asked for.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The submission that uses the heaps; `None` when it is not for a submission.
    pub submission: Option<&'a Submission>,
    /// The heaps of all command lists, one list after the other.
    pub heaps: &'a [ManagedHeapId],
    /// Where in `heaps` each list ends.
    pub list_ends: &'a [usize],
    /// Bytes that will come into a segment group beside the heaps.
    pub incoming: [ByteSize; 2],
    /// Bytes to evict from a segment group even where the budget does not ask for it, as far as there are any.
    pub at_least: [ByteSize; 2],
    /// Whether the answer may be to wait.
    pub may_wait: bool,
    /// Whether what is expected to be used soon is evicted, where the answer would be to wait for something better
    /// ([`Plan::may_go_on`]).
    pub hurries: bool,
    /// Whether usage may exceed the budget when nothing else can be evicted.
    pub may_exceed: bool,
    /// When.
    pub now: Moment,
}

impl PlanRequest<'_> {
    /// For nothing yet: it may neither wait nor exceed a budget.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self {
            submission: None,
            heaps: &[],
            list_ends: &[],
            incoming: [ByteSize::ZERO; 2],
            at_least: [ByteSize::ZERO; 2],
            may_wait: false,
            hurries: false,
            may_exceed: false,
            now,
        }
    }
}

/// What somebody else has to do: first evict, then make resident.
///
/// Its lists are used again by the next plan, so that planning takes no memory in the long run.
#[derive(Debug, Default)]
pub struct Plan {
    /// What to evict, all in one call.
    pub evict: Vec<ManagedHeapId>,
    /// What to make resident, all in one call.
    pub make_resident: Vec<ManagedHeapId>,
    /// Bytes to evict in each segment group.
    pub bytes_out: [ByteSize; 2],
    /// Bytes to make resident in each segment group.
    pub bytes_in: [ByteSize; 2],
    /// What the paging fence must have come to for heaps that an earlier plan made resident; zero: nothing to wait for.
    pub arrives: FenceValue,
    /// How many of the lists this plan is for, one at least: the rest is too much beside them.
    pub lists: usize,
    /// By how much usage will be over the budget in each segment group.
    pub over_budget: [ByteSize; 2],
    /// Beside [`PlanOutcome::Wait`]: there is enough to evict without waiting, but some of it is expected to be used before the GPU has
    /// finished what it was given.
    pub may_go_on: bool,
    /// The heaps that the plan is for.
    pub(super) set: Vec<HeapSlot>,
    pub(super) victims: Vec<HeapSlot>,
    /// Those of one segment group, while they are chosen.
    pub(super) chosen: Vec<HeapSlot>,
}

/// What came of planning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanOutcome {
    /// The plan is to be carried out.
    Ready,
    /// Nothing is changed: when this has happened, more can be evicted.
    Wait(WaitFor),
    /// Nothing is changed: the budget does not suffice.
    OverBudget(OverBudget),
}

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// A queue's fence.
    Submission(QueueSlot, FenceValue),
    /// The paging fence.
    Paging(FenceValue),
}

/// What does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget {
    /// Where.
    pub group: SegmentGroup,
    /// What must be resident at the same time, beside what cannot be evicted.
    pub needed: ByteSize,
    /// The budget.
    pub budget: ByteSize,
}

impl Plan {
    pub(super) fn clear(&mut self) {
        let Self {
            evict,
            make_resident,
            bytes_out,
            bytes_in,
            arrives,
            lists,
            over_budget,
            may_go_on,
            set,
            victims,
            chosen,
        } = self;
        for list in [evict, make_resident] {
            list.clear();
        }
        for list in [set, victims, chosen] {
            list.clear();
        }
        for bytes in [bytes_out, bytes_in, over_budget] {
            *bytes = [ByteSize::ZERO; 2];
        }
        *arrives = FenceValue::ZERO;
        *lists = 0;
        *may_go_on = false;
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.evict.is_empty() && self.make_resident.is_empty()
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, needed, budget } = self;
        write!(f, "{needed} must be resident in the {group} segment group, whose budget is {budget}")
    }
}
