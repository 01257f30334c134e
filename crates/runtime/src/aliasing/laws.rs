//! The laws that the tracker enforces, and tables of what they have effect on.

use bitflags::bitflags;

#[cfg(feature = "mutation")]
use super::options::AliasingTracking;
use super::options::Strictness;

bitflags! {
    /// Laws that are enforced. Each bit is a part of the rule with the given id; [`D3D12`](Self::D3D12) is the usual
    /// set.
    ///
    /// Tests disable laws one by one: a tracker without a law is a wrong device, which the conformance checks must
    /// detect.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct AliasingLaws: u64 {
        /// I-1: reading a resource invalidates overlapping resources, as writing does.
        const READS_INVALIDATE = 1 << 0;
        /// I-2: reading invalid contents is an error.
        const READS_NEED_VALID = 1 << 1;
        /// I-3: invalid render targets and depth stencils become valid only by clears and copies of whole units.
        const WHOLE_UNITS_INITIALISE = 1 << 2;
        /// I-4: placed and reserved render targets and depth stencils must be initialised before any other use.
        const INITIALISE_FIRST = 1 << 3;
        /// I-5: initialisation before the activating barrier has no effect.
        const INITIALISE_AFTER_ACTIVATION = 1 << 4;
        /// I-6: tiles are units only in layouts with 64 KiB tiles.
        const TILES_OF_DEFINED_LAYOUTS = 1 << 5;
        /// I-7: units (subresources, planes, tiles) are initialised independently.
        const UNITS_ARE_INDEPENDENT = 1 << 6;
        /// I-8: contents are undefined after `DiscardResource`.
        const DISCARD_LEAVES_UNDEFINED = 1 << 7;
        /// I-8: `DiscardResource` requires RENDER_TARGET or DEPTH_WRITE, or UNORDERED_ACCESS on compute lists.
        const DISCARD_NEEDS_STATE = 1 << 8;
        /// I-9: resources with undefined layout are invalidated as a whole, whichever part is overlapped.
        const UNDEFINED_LAYOUT_IS_ONE = 1 << 9;
        /// I-9: invalidation of a part requires a state that allows it. The documentation names none; COMMON is
        /// assumed.
        const SMALL_INVALIDATION_NEEDS_STATE = 1 << 10;
        /// I-11, H-8: memory after the last tile or row belongs to the whole resource.
        const HIDDEN_MEMORY = 1 << 11;
        /// I-12: in the simple model, a placed resource is initially inactive.
        const BEGINS_INACTIVE = 1 << 12;
        /// I-13: in the simple model, activating a resource deactivates overlapping resources.
        const ONE_IS_ACTIVE = 1 << 13;
        /// I-14: a tile is uninitialised after it is mapped.
        const MAPPING_UNINITIALISES = 1 << 14;
        /// I-11: the packed mips of a slice are one unit.
        const PACKED_MIPS_ARE_ONE = 1 << 15;
        /// G-8, G-9: a buffer occupies whole ranges of 64 KiB.
        const BUFFERS_OWN_64_KIB = 1 << 16;
        /// G-8: the larger of two granularities applies.
        const LARGER_GRANULARITY = 1 << 17;
        /// G-8: small textures only occupy whole ranges of 4 KiB.
        const SMALL_TEXTURES_OWN_4_KIB = 1 << 18;
        /// G-10: tightly aligned buffers occupy whole ranges of 64 KiB with respect to textures. An assumption, as it
        /// is not documented.
        const TIGHT_BUFFERS_OWN_64_KIB = 1 << 19;
        /// B-1: an aliasing barrier is required between uses of overlapping resources in one `ExecuteCommandLists`.
        const BARRIER_WITHIN_SUBMISSION = 1 << 20;
        /// B-2: no barrier is required between submissions to a queue.
        const SUBMISSIONS_ARE_ORDERED = 1 << 21;
        /// B-3: in the simple model, a barrier names the resource to be activated.
        const SIMPLE_NAMES_AFTER = 1 << 22;
        /// B-4: null means any resource.
        const NULL_IS_ANY = 1 << 23;
        /// B-4: a barrier with two resources applies only to these two.
        const PAIRS_ARE_EXACT = 1 << 24;
        /// B-5: the barrier follows the last access to the resource before it.
        const BARRIER_AFTER_LAST_ACCESS = 1 << 25;
        /// B-6: the barriers of one call are applied in order.
        const ARRAY_IN_ORDER = 1 << 26;
        /// B-7: an aliasing barrier does not change the state of a resource.
        const STATE_SURVIVES_BARRIER = 1 << 27;
        /// B-9: accesses on different queues are ordered by fences.
        const FENCES_ORDER_QUEUES = 1 << 28;
        /// H-1: textures with undefined layout inherit data only in heaps with the SHARED flag.
        const INHERITANCE_NEEDS_SHARED = 1 << 29;
        /// H-1: inheritance requires identical descriptions.
        const INHERITANCE_NEEDS_SAME_DESCRIPTION = 1 << 30;
        /// H-1: inheritance requires identical optimised clear values.
        const INHERITANCE_NEEDS_SAME_CLEAR_VALUE = 1 << 31;
        /// H-1: inheritance requires that both resources are placed or both are reserved.
        const INHERITANCE_NEEDS_SAME_METHOD = 1 << 32;
        /// H-1: inheritance requires that both resources begin at the same offset.
        const INHERITANCE_NEEDS_SAME_PLACE = 1 << 33;
        /// H-2: defined layouts inherit data without the SHARED flag.
        const DEFINED_LAYOUTS_INHERIT = 1 << 34;
        /// H-4: buffers, simultaneous-access and cross-adapter textures inherit data in every state.
        const STATELESS_INHERIT = 1 << 35;
        /// H-5: tiles of textures inherit data only in state COMMON.
        const TILES_INHERIT_IN_COMMON = 1 << 36;
        /// H-6: inheritance requires that both states are COMMON, or the same writable state.
        const STATES_ARE_COMPATIBLE = 1 << 37;
        /// H-6: equal read-only states do not allow inheritance.
        const READ_STATES_DO_NOT_INHERIT = 1 << 38;
        /// H-6: states are compared per subresource.
        const STATES_BY_SUBRESOURCE = 1 << 39;
        /// H-7: buffers and standard swizzle textures inherit data from each other.
        const SWIZZLE_IS_BYTES = 1 << 40;
        /// H-7: a buffer cannot read data with undefined swizzle.
        const UNDEFINED_SWIZZLE_IS_OPAQUE = 1 << 41;
        /// H-9: a barrier is required even if data is inherited.
        const INHERITANCE_NEEDS_BARRIER = 1 << 42;
        /// H: in the simple model, no data is inherited.
        const SIMPLE_DOES_NOT_INHERIT = 1 << 43;
        /// E-1: enhanced barriers wait for accesses before them and block accesses after them.
        const ENHANCED_BARRIERS_ORDER = 1 << 44;
        /// E-1: `SyncBefore` must cover the accesses to wait for.
        const SYNC_COVERS_ACCESSES = 1 << 45;
        /// E-3: after UNDEFINED, layouts that may be compressed, including UNORDERED_ACCESS, must be initialised.
        const UNDEFINED_NEEDS_INITIALISATION = 1 << 46;
        /// E-3: the flag DISCARD initialises.
        const DISCARD_FLAG_INITIALISES = 1 << 47;
        /// E-4: after NO_ACCESS, no access is allowed until a barrier from NO_ACCESS.
        const NO_ACCESS_FORBIDS = 1 << 48;
        /// E-5: a barrier with DISCARD cannot be combined with a barrier of an overlapping resource that flushes or
        /// changes a layout.
        const DISCARD_STANDS_APART = 1 << 49;
        /// E-6: two barriers of one call cannot affect the same memory.
        const CALL_HAS_NO_ORDER = 1 << 50;
        /// E-7: SYNC_NONE requires that no access precedes, or follows, in the submission.
        const SYNC_NONE_IS_ALONE = 1 << 51;
        /// B-8: barriers without effect and barriers that stall everything are reported. Not included in `D3D12`.
        const REMARKS = 1 << 52;
        /// I-12: in the advanced model, the first use without activation is a warning. Not included in `D3D12`.
        const ADVANCED_BEGINS_INACTIVE = 1 << 53;
        /// I-4: clears of unordered access views initialise like other clears. A less strict interpretation, not
        /// included in `D3D12`.
        const UNORDERED_CLEARS_INITIALISE = 1 << 54;
        /// I-3: invalidated contents of any resource become valid only by a copy or clear of a whole subresource or
        /// tile. A stricter interpretation, not included in `D3D12`: the reference of `CreatePlacedResource` requires
        /// it only of render targets and depth stencils.
        const INVALID_NEEDS_WHOLE_UNITS = 1 << 55;
    }
}

impl AliasingLaws {
    /// The laws of the documentation, interpreted strictly where it is ambiguous: all except remarks, less strict
    /// interpretations, and the stricter one that the reference of `CreatePlacedResource` contradicts.
    pub(crate) const D3D12: Self = Self::all()
        .difference(Self::REMARKS)
        .difference(Self::ADVANCED_BEGINS_INACTIVE)
        .difference(Self::UNORDERED_CLEARS_INITIALISE)
        .difference(Self::INVALID_NEEDS_WHOLE_UNITS);

    /// Returns the laws of a strictness.
    pub(super) fn of(strictness: Strictness) -> Self {
        let more = match strictness {
            Strictness::Documented => Self::empty(),
            Strictness::Mild => Self::UNORDERED_CLEARS_INITIALISE,
            Strictness::Strict => Self::INVALID_NEEDS_WHOLE_UNITS,
            Strictness::Pedantic => {
                Self::INVALID_NEEDS_WHOLE_UNITS | Self::ADVANCED_BEGINS_INACTIVE | Self::REMARKS
            }
        };
        Self::D3D12 | more
    }
}

/// A row of a table of laws: what a law attaches to a condition.
pub(super) struct Row<F, E> {
    law: AliasingLaws,
    condition: fn(&F) -> bool,
    effect: E,
}

pub(super) const fn row<F, E>(law: AliasingLaws, condition: fn(&F) -> bool, effect: E) -> Row<F, E> {
    Row { law, condition, effect }
}

impl AliasingLaws {
    /// Returns the effects of the rows whose laws are in force and whose conditions hold.
    pub(super) fn effects<'a, F, E>(
        self,
        table: &'a [Row<F, E>],
        facts: &'a F,
    ) -> impl Iterator<Item = &'a E> {
        let applies = move |row: &&Row<F, E>| self.contains(row.law) && (row.condition)(facts);
        table.iter().filter(applies).map(|row| &row.effect)
    }
}

#[cfg(feature = "mutation")]
impl AliasingTracking {
    /// Returns the names of all laws that the judge may enforce, for tests of checks.
    #[doc(hidden)]
    pub fn laws() -> impl Iterator<Item = &'static str> {
        AliasingLaws::all().iter_names().map(|(name, _)| name)
    }
}
