//! How an allocation was placed, and why.

use std::fmt;

/// How an allocation was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// A part of a shared buffer.
    WithinResource,
    /// Placed in a shared heap.
    SharedHeap,
    /// Placed in a heap of its own.
    OwnHeap,
    /// Committed, with an implicit heap.
    Committed,
    /// Imported: the application created the resource.
    Imported,
}

/// The reason for a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlacementReason {
    /// The first placement that the kind of resource allows.
    Usual,
    /// A flag of the allocation requires it.
    AllocationFlag,
    /// A flag of the allocator requires it.
    AllocatorFlag,
    /// The request has heap flags that the allocator's heaps do not have.
    ExtraHeapFlags,
    /// The resource is larger than shared heaps may be.
    TooLargeToShare,
    /// The usual placements found no memory.
    OutOfMemory,
}

/// How an allocation was placed, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlacementDecision {
    /// The placement.
    pub placement: Placement,
    /// The reason.
    pub reason: PlacementReason,
}

impl Placement {
    /// Every placement.
    pub const ALL: [Self; 5] =
        [Self::WithinResource, Self::SharedHeap, Self::OwnHeap, Self::Committed, Self::Imported];
}

impl PlacementReason {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::Usual,
        Self::AllocationFlag,
        Self::AllocatorFlag,
        Self::ExtraHeapFlags,
        Self::TooLargeToShare,
        Self::OutOfMemory,
    ];
}

impl PlacementDecision {
    pub(crate) const fn new(placement: Placement, reason: PlacementReason) -> Self {
        Self { placement, reason }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WithinResource => "within a resource",
            Self::SharedHeap => "in a shared heap",
            Self::OwnHeap => "in its own heap",
            Self::Committed => "committed",
            Self::Imported => "imported",
        })
    }
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Usual => "usual",
            Self::AllocationFlag => "allocation flag",
            Self::AllocatorFlag => "allocator flag",
            Self::ExtraHeapFlags => "extra heap flags",
            Self::TooLargeToShare => "too large to share",
            Self::OutOfMemory => "out of memory",
        })
    }
}

impl fmt::Display for PlacementDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.placement, self.reason)
    }
}

/// The facts that determine the placements of an allocation. Their names are those of the flags.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Facts {
    pub(crate) allocator_always_committed: bool,
    pub(crate) always_committed: bool,
    pub(crate) prefer_committed: bool,
    /// Heap flags that the allocator's heaps do not have.
    pub(crate) foreign_heap_flags: bool,
    /// NEVER_SUBALLOCATE_HEAP or NEVER_RESIDENT.
    pub(crate) own_heap: bool,
    pub(crate) never_allocate_heap: bool,
    pub(crate) never_fallback: bool,
    /// A pool, padding, or a protected session, which exclude a committed resource.
    pub(crate) placed_only: bool,
    /// The allocator's algorithm places every resource in a heap of its own.
    pub(crate) dedicated: bool,
}

/// At most three placements, each with its reason.
pub(crate) type Order = [Option<PlacementDecision>; 3];

/// Returns the placements to try, in order; empty if the flags exclude all of them.
///
/// | case | first | second | third |
/// |---|---|---|---|
/// | as a rule | shared | own heap, if too large to share | committed |
/// | NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | own heap | | committed |
/// | ALWAYS_COMMITTED, foreign heap flags | committed | | |
/// | PREFER_COMMITTED | committed | shared | own heap, if too large to share |
/// | PREFER_COMMITTED with NEVER_SUBALLOCATE_HEAP, NEVER_RESIDENT | committed | own heap | |
///
/// The final committed placement is omitted with NEVER_ALLOCATE_HEAP, NEVER_FALLBACK, a pool or padding.
#[inline]
pub(crate) fn order(facts: &Facts) -> Order {
    let committed = |reason| Some(PlacementDecision::new(Placement::Committed, reason));
    if facts.always_committed {
        return [committed(PlacementReason::AllocationFlag), None, None];
    }
    if facts.foreign_heap_flags {
        return [committed(PlacementReason::ExtraHeapFlags), None, None];
    }
    if facts.allocator_always_committed && !facts.placed_only {
        return [committed(PlacementReason::AllocatorFlag), None, None];
    }
    let shared = Some(PlacementDecision::new(Placement::SharedHeap, PlacementReason::Usual));
    let own = Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::TooLargeToShare));
    let alone = match facts {
        Facts { own_heap: true, .. } => {
            Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::AllocationFlag))
        }
        Facts { dedicated: true, .. } => {
            Some(PlacementDecision::new(Placement::OwnHeap, PlacementReason::Usual))
        }
        _ => None,
    };
    if facts.prefer_committed {
        let first = committed(PlacementReason::AllocationFlag);
        return if alone.is_some() { [first, alone, None] } else { [first, shared, own] };
    }
    let may_fall_back = !facts.never_fallback && !facts.never_allocate_heap && !facts.placed_only;
    let last = if may_fall_back { committed(PlacementReason::OutOfMemory) } else { None };
    if alone.is_some() {
        return [alone, last, None];
    }
    [shared, own, last]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placements(facts: Facts) -> Vec<Placement> {
        order(&facts).into_iter().flatten().map(|decision| decision.placement).collect()
    }

    #[test]
    fn every_fact_changes_the_order() {
        use Placement::{Committed, OwnHeap as Own, SharedHeap as Shared};
        let facts = Facts::default();
        let cases: [(Facts, &[Placement]); 13] = [
            (facts, &[Shared, Own, Committed]),
            (Facts { always_committed: true, ..facts }, &[Committed]),
            (Facts { allocator_always_committed: true, ..facts }, &[Committed]),
            (Facts { allocator_always_committed: true, placed_only: true, ..facts }, &[Shared, Own]),
            (Facts { foreign_heap_flags: true, ..facts }, &[Committed]),
            (Facts { prefer_committed: true, ..facts }, &[Committed, Shared, Own]),
            (Facts { prefer_committed: true, own_heap: true, ..facts }, &[Committed, Own]),
            (Facts { prefer_committed: true, dedicated: true, ..facts }, &[Committed, Own]),
            (Facts { own_heap: true, ..facts }, &[Own, Committed]),
            (Facts { never_allocate_heap: true, ..facts }, &[Shared, Own]),
            (Facts { never_fallback: true, ..facts }, &[Shared, Own]),
            (Facts { placed_only: true, ..facts }, &[Shared, Own]),
            (Facts { dedicated: true, ..facts }, &[Own, Committed]),
        ];
        for (facts, expected) in cases {
            assert_eq!(placements(facts), expected, "{facts:?}");
        }
    }

    #[test]
    fn the_reason_names_the_deciding_fact() {
        let first = |facts: Facts| order(&facts)[0].map(|decision| decision.reason);
        let facts = Facts::default();
        assert_eq!(first(facts), Some(PlacementReason::Usual));
        assert_eq!(first(Facts { always_committed: true, ..facts }), Some(PlacementReason::AllocationFlag));
        assert_eq!(
            first(Facts { allocator_always_committed: true, ..facts }),
            Some(PlacementReason::AllocatorFlag)
        );
        assert_eq!(first(Facts { foreign_heap_flags: true, ..facts }), Some(PlacementReason::ExtraHeapFlags));
        assert_eq!(
            order(&facts)[2],
            Some(PlacementDecision::new(Placement::Committed, PlacementReason::OutOfMemory))
        );
    }
}
