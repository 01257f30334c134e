//! What violates the rules: a table for each occasion, with the law, the condition and what is reported.
//!
//! A law that is not in force leaves its rows out. The conditions of a table exclude each other where only one of its
//! rows may apply.

use super::content::Cause;
use super::laws::{AliasingLaws as Laws, Row, row};
use super::rule::Rule;
use super::violation::Severity;

/// What a violation is reported as.
pub(super) struct Breach {
    pub(super) rule: Rule,
    pub(super) severity: Severity,
    pub(super) what: &'static str,
}

const fn error(rule: Rule, what: &'static str) -> Breach {
    Breach { rule, severity: Severity::Error, what }
}

/// A resource uses memory that another one used last, or is used for the first time.
pub(super) struct FirstUse {
    /// Whether the simple usage model applies.
    pub(super) is_simple: bool,
    pub(super) was_activated: bool,
}

pub(super) const INACTIVE: &[Row<FirstUse, Breach>] = &[
    row(
        Laws::BEGINS_INACTIVE,
        |used| used.is_simple && !used.was_activated,
        error(Rule::I12, "is used before an aliasing barrier activates it"),
    ),
    row(
        Laws::ONE_IS_ACTIVE,
        |used| used.is_simple && used.was_activated,
        error(Rule::I13, "is used after an overlapping resource was activated"),
    ),
    row(
        Laws::ADVANCED_BEGINS_INACTIVE,
        |used| !used.is_simple && !used.was_activated,
        Breach {
            rule: Rule::I12,
            severity: Severity::Warning,
            what: "is used for the first time without a barrier that activates it",
        },
    ),
];

/// A resource uses memory after another one.
pub(super) struct Succession {
    /// Whether the other one was used on another queue, and no fence orders the two.
    pub(super) is_concurrent: bool,
    /// The rule of barriers that is broken between the two, on one queue.
    pub(super) broken: Option<Rule>,
    /// Whether the memory is taken over by a transition.
    pub(super) is_transition: bool,
    pub(super) is_inherited: bool,
}

impl Succession {
    /// Returns whether an access follows, and a rule is broken that is not about enhanced barriers.
    fn breaks(&self, rule: Rule) -> bool {
        !self.is_transition && self.broken == Some(rule)
    }
}

const OVERLAPS: &str =
    "overlaps a resource used in the same ExecuteCommandLists, without an aliasing barrier between the two";

pub(super) const UNORDERED: &[Row<Succession, Breach>] = &[
    row(
        Laws::FENCES_ORDER_QUEUES,
        |after| after.is_concurrent,
        error(Rule::B9, "is used while another queue may still use an overlapping resource"),
    ),
    row(
        Laws::ENHANCED_BARRIERS_ORDER,
        |after| after.broken == Some(Rule::E1),
        error(Rule::E1, "is used without barriers that wait for an overlapping resource"),
    ),
    row(
        Laws::ARRAY_IN_ORDER,
        |after| after.is_transition && after.broken.is_some_and(|rule| rule != Rule::E1),
        Breach {
            rule: Rule::B6,
            severity: Severity::Warning,
            what: "is transitioned before the barrier that activates it",
        },
    ),
    row(
        Laws::BARRIER_WITHIN_SUBMISSION,
        |after| after.breaks(Rule::B1) && !after.is_inherited,
        error(Rule::B1, OVERLAPS),
    ),
    row(
        Laws::INHERITANCE_NEEDS_BARRIER,
        |after| after.breaks(Rule::B1) && after.is_inherited,
        error(
            Rule::H9,
            "inherits data from a resource used in the same ExecuteCommandLists, without an aliasing barrier between the two",
        ),
    ),
    row(Laws::empty(), |after| after.breaks(Rule::B4), error(Rule::B4, OVERLAPS)),
    row(Laws::empty(), |after| after.breaks(Rule::B5), error(Rule::B5, OVERLAPS)),
];

/// An access to subresources of a resource, after enhanced barriers.
pub(super) struct LateAccess {
    /// Whether a barrier with AccessAfter NO_ACCESS ended the accesses to some of them.
    pub(super) has_no_access: bool,
    /// Whether a barrier with SyncAfter NONE announced in this submission that no access follows.
    pub(super) has_ended: bool,
}

pub(super) const AFTER_THE_END: &[Row<LateAccess, Breach>] = &[
    row(
        Laws::NO_ACCESS_FORBIDS,
        |access| access.has_no_access,
        error(Rule::E4, "is accessed after a barrier with AccessAfter NO_ACCESS"),
    ),
    row(
        Laws::SYNC_NONE_IS_ALONE,
        |access| access.has_ended,
        error(Rule::E7, "is used after a barrier with SyncAfter NONE"),
    ),
];

/// An enhanced barrier.
pub(super) struct LateBarrier {
    /// Whether SyncBefore is NONE, although the resource was used in the submission.
    pub(super) ignores_uses: bool,
    /// Whether a barrier with SyncAfter NONE announced in this submission that nothing follows.
    pub(super) has_ended: bool,
    /// Whether AccessBefore is not NO_ACCESS, although an earlier barrier ended the accesses.
    pub(super) ignores_no_access: bool,
}

pub(super) const ENHANCED_BARRIER: &[Row<LateBarrier, Breach>] = &[
    row(
        Laws::SYNC_NONE_IS_ALONE,
        |barrier| barrier.ignores_uses,
        error(Rule::E7, "was used before a barrier with SyncBefore NONE"),
    ),
    row(
        Laws::SYNC_NONE_IS_ALONE,
        |barrier| barrier.has_ended,
        error(Rule::E7, "is used in a barrier after a barrier with SyncAfter NONE"),
    ),
    row(
        Laws::NO_ACCESS_FORBIDS,
        |barrier| barrier.ignores_no_access,
        error(
            Rule::E4,
            "is used in a barrier whose AccessBefore is not NO_ACCESS after a barrier with AccessAfter NO_ACCESS",
        ),
    ),
];

/// The effects of the barriers of one call of `Barrier` on a resource, compared with those on an overlapping one.
pub(super) struct SameCall {
    pub(super) is_discarded: bool,
    /// Whether both change their layouts.
    pub(super) both_change: bool,
}

pub(super) const IN_ONE_CALL: &[Row<SameCall, Breach>] = &[
    row(
        Laws::DISCARD_STANDS_APART,
        |pair| pair.is_discarded,
        error(
            Rule::E5,
            "is discarded by a barrier in the same call as a barrier that flushes or changes the layout of an overlapping \
             resource",
        ),
    ),
    row(
        Laws::CALL_HAS_NO_ORDER,
        |pair| pair.both_change,
        error(Rule::E6, "changes its layout in the same call as an overlapping resource"),
    ),
];

/// An aliasing barrier.
pub(super) struct AliasingBarrier {
    pub(super) is_simple: bool,
    pub(super) has_before: bool,
    pub(super) has_after: bool,
    /// Whether neither resource was used in the submission.
    pub(super) are_idle: bool,
}

pub(super) const ALIASING_BARRIER: &[Row<AliasingBarrier, Breach>] = &[
    row(
        Laws::SIMPLE_NAMES_AFTER,
        |barrier| barrier.is_simple && !barrier.has_after,
        error(Rule::B3, "an aliasing barrier does not name the resource that becomes active"),
    ),
    row(
        Laws::REMARKS,
        |barrier| !barrier.has_before && !barrier.has_after,
        remark("an aliasing barrier with two null resources waits for all previous work"),
    ),
    row(
        Laws::REMARKS,
        |barrier| barrier.has_before && barrier.has_after && barrier.are_idle,
        remark("an aliasing barrier between resources not used in this ExecuteCommandLists has no effect"),
    ),
];

const fn remark(what: &'static str) -> Breach {
    Breach { rule: Rule::B8, severity: Severity::Info, what }
}

/// A discard, by whether all subresources are in a state that allows it.
pub(super) const DISCARD: &[Row<bool, Breach>] = &[row(
    Laws::DISCARD_NEEDS_STATE,
    |is_in_state| !is_in_state,
    error(Rule::I8, "is discarded in a state other than RENDER_TARGET, DEPTH_WRITE or UNORDERED_ACCESS"),
)];

/// Contents that are not defined where they are used.
pub(super) struct Undefined {
    pub(super) cause: Cause,
    /// Whether they are initialised: a discard made them undefined.
    pub(super) is_discarded: bool,
    /// Whether a barrier from LayoutBefore UNDEFINED activated the resource.
    pub(super) came_from_undefined: bool,
}

/// The rules that forbid the use of contents that must be initialised and are not.
pub(super) const UNINITIALISED: &[Row<Undefined, Rule>] = &[
    row(Laws::INITIALISE_FIRST, |of| matches!(of.cause, Cause::Created { .. }), Rule::I4),
    row(Laws::MAPPING_UNINITIALISES, |of| matches!(of.cause, Cause::Mapped { .. }), Rule::I14),
    row(
        Laws::UNDEFINED_NEEDS_INITIALISATION,
        |of| of.cause == Cause::Activated && of.came_from_undefined,
        Rule::E3,
    ),
    row(
        Laws::INITIALISE_AFTER_ACTIVATION,
        |of| {
            (of.cause == Cause::Activated && !of.came_from_undefined)
                || matches!(of.cause, Cause::Skipped { .. })
        },
        Rule::I5,
    ),
    row(Laws::WHOLE_UNITS_INITIALISE, |of| matches!(of.cause, Cause::Invalidated { .. }), Rule::I3),
];

/// The rules that forbid reading contents without a value. Memory that was zeroed reads as zero.
pub(super) const INVALID: &[Row<Undefined, Rule>] = &[
    row(Laws::DISCARD_LEAVES_UNDEFINED, |of| of.is_discarded, Rule::I8),
    row(
        Laws::READS_NEED_VALID,
        |of| {
            !of.is_discarded
                && match of.cause {
                    Cause::Created { zeroed } | Cause::Mapped { zeroed } => !zeroed,
                    Cause::Activated | Cause::Invalidated { .. } => true,
                    Cause::Skipped { .. } => false,
                }
        },
        Rule::I2,
    ),
];
