//! Budgets that replace the operating system's.

use heapwright_core::ByteSize;

use crate::{Error, SegmentGroup};

/// A budget for each segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBudgets {
    /// Budget of the local group, in bytes; on UMA, of all memory.
    pub local: ByteSize,
    /// Budget of the non-local group, in bytes.
    pub non_local: ByteSize,
}

impl GroupBudgets {
    /// Returns the budget of a group.
    #[must_use]
    pub const fn of(&self, group: SegmentGroup) -> ByteSize {
        match group {
            SegmentGroup::Local => self.local,
            SegmentGroup::NonLocal => self.non_local,
        }
    }
}

/// Budgets that apply from a submission on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetStep {
    /// Number of submissions, on all queues, before the budgets apply.
    pub from_submission: u64,
    /// Budgets from then on.
    pub budgets: GroupBudgets,
}

/// Budgets that replace the operating system's.
///
/// If there is an adapter, usage is still the operating system's.
///
/// ```
/// use heapwright::ByteSize;
/// use heapwright::residency::{BudgetOverride, BudgetStep, GroupBudgets};
///
/// // For a test: another program takes half of the memory after 100 submissions.
/// let (all, half) = (ByteSize::from_gib(4), ByteSize::from_gib(2));
/// let budgets = |local| GroupBudgets { local, non_local: ByteSize::from_gib(8) };
/// let schedule = BudgetOverride::Schedule(vec![
///     BudgetStep { from_submission: 0, budgets: budgets(all) },
///     BudgetStep { from_submission: 100, budgets: budgets(half) },
/// ]);
/// # let _ = schedule;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetOverride {
    /// These bytes, less the reservation.
    Fixed(GroupBudgets),
    /// The bytes of the last step that has begun, less the reservation. Before the first step, the budget without an
    /// override. Steps ascend, and each takes effect before the submission that it names.
    Schedule(Vec<BudgetStep>),
}

impl BudgetOverride {
    pub(super) fn check(&self) -> Result<(), Error> {
        let error =
            |rule: String| Err(Error::invalid_argument("ResidencyManagerDesc::budget_override", rule));
        match self {
            Self::Fixed(_) => Ok(()),
            Self::Schedule(steps) if steps.is_empty() => {
                error("the schedule has no steps; at least one is required".to_owned())
            }
            Self::Schedule(steps) => {
                let descent =
                    steps.windows(2).find(|pair| pair[0].from_submission >= pair[1].from_submission);
                match descent {
                    None => Ok(()),
                    Some(pair) => error(format!(
                        "the step from submission {} follows the step from submission {}; steps must be in ascending order",
                        pair[1].from_submission, pair[0].from_submission
                    )),
                }
            }
        }
    }
}
