//! What the judge goes by.

use bitflags::bitflags;

use super::options::Strictness;

bitflags! {
    /// What the judge goes by: each bit is one law, named with the rule that it is of. All together are D3D12's.
    ///
    /// Tests leave laws out one by one: what judges by fewer is a wrong device, which conformance's checks must notice.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct AliasingLaws: u64 {
        /// I-1: reading a resource invalidates what overlaps it, as writing does.
        const READS_INVALIDATE = 1 << 0;
        /// I-2: reading what is invalid is an error.
        const READS_NEED_VALID = 1 << 1;
        /// I-3: invalid render targets and depth stencils become valid by clears and copies of whole units alone.
        const WHOLE_UNITS_INITIALISE = 1 << 2;
        /// I-4: placed and reserved render targets and depth stencils are initialised before anything else.
        const INITIALISE_FIRST = 1 << 3;
        /// I-5: what was initialised before the activating barrier is not initialised.
        const INITIALISE_AFTER_ACTIVATION = 1 << 4;
        /// I-6: tiles are units in the layouts that have 64 KiB tiles alone.
        const TILES_OF_DEFINED_LAYOUTS = 1 << 5;
        /// I-7: units (subresources, planes, tiles) are initialised one by one.
        const UNITS_ARE_INDEPENDENT = 1 << 6;
        /// I-8: contents are undefined after `DiscardResource`.
        const DISCARD_LEAVES_UNDEFINED = 1 << 7;
        /// I-8: `DiscardResource` wants RENDER_TARGET or DEPTH_WRITE, on compute lists UNORDERED_ACCESS.
        const DISCARD_NEEDS_STATE = 1 << 8;
        /// I-9: of an undefined layout all is invalidated, whatever part is overlapped.
        const UNDEFINED_LAYOUT_IS_ONE = 1 << 9;
        /// I-9: smaller invalidations need a state that allows them. Document ALIAS names none; COMMON is our choice.
        const SMALL_INVALIDATION_NEEDS_STATE = 1 << 10;
        /// I-11, H-8: memory behind the last tile or row belongs to all of the resource.
        const HIDDEN_MEMORY = 1 << 11;
        /// I-12: in the simple model a placed resource begins inactive.
        const BEGINS_INACTIVE = 1 << 12;
        /// I-13: in the simple model activating one deactivates what overlaps it.
        const ONE_IS_ACTIVE = 1 << 13;
        /// I-14: a tile that is mapped anew is not initialised.
        const MAPPING_UNINITIALISES = 1 << 14;
        /// I-11: the packed mips of a slice are one unit.
        const PACKED_MIPS_ARE_ONE = 1 << 15;
        /// G-8, G-9: a buffer owns the whole 64 KiB that it is in.
        const BUFFERS_OWN_64_KIB = 1 << 16;
        /// G-8: of two granularities the larger decides.
        const LARGER_GRANULARITY = 1 << 17;
        /// G-8: small textures own 4 KiB, not more.
        const SMALL_TEXTURES_OWN_4_KIB = 1 << 18;
        /// G-10: tightly aligned buffers own 64 KiB against textures. Our choice, as no document says so.
        const TIGHT_BUFFERS_OWN_64_KIB = 1 << 19;
        /// B-1: within one `ExecuteCommandLists` an aliasing barrier stands between overlapping resources.
        const BARRIER_WITHIN_SUBMISSION = 1 << 20;
        /// B-2: between submissions of a queue no barrier is needed.
        const SUBMISSIONS_ARE_ORDERED = 1 << 21;
        /// B-3: in the simple model a barrier names the resource that becomes active.
        const SIMPLE_NAMES_AFTER = 1 << 22;
        /// B-4: null stands for any resource.
        const NULL_IS_ANY = 1 << 23;
        /// B-4: a barrier with two resources is for these two alone.
        const PAIRS_ARE_EXACT = 1 << 24;
        /// B-5: the barrier comes after the last access of the one.
        const BARRIER_AFTER_LAST_ACCESS = 1 << 25;
        /// B-6: barriers of one call are applied in their order.
        const ARRAY_IN_ORDER = 1 << 26;
        /// B-7: an aliasing barrier leaves the state of a resource alone.
        const STATE_SURVIVES_BARRIER = 1 << 27;
        /// B-9: accesses on two queues are ordered by fences.
        const FENCES_ORDER_QUEUES = 1 << 28;
        /// H-1: textures of undefined layout inherit in heaps with the SHARED flag alone.
        const INHERITANCE_NEEDS_SHARED = 1 << 29;
        /// H-1: the descriptions are identical.
        const INHERITANCE_NEEDS_SAME_DESCRIPTION = 1 << 30;
        /// H-1: so are the optimised clear values.
        const INHERITANCE_NEEDS_SAME_CLEAR_VALUE = 1 << 31;
        /// H-1: both are placed, or both reserved.
        const INHERITANCE_NEEDS_SAME_METHOD = 1 << 32;
        /// H-1: both begin at the same place.
        const INHERITANCE_NEEDS_SAME_PLACE = 1 << 33;
        /// H-2: defined layouts inherit without the SHARED flag.
        const DEFINED_LAYOUTS_INHERIT = 1 << 34;
        /// H-4: buffers, simultaneous-access and cross-adapter textures inherit in every state.
        const STATELESS_INHERIT = 1 << 35;
        /// H-5: per tile, textures inherit in state COMMON alone.
        const TILES_INHERIT_IN_COMMON = 1 << 36;
        /// H-6: states of subresources are both COMMON, or the same one that the GPU writes in.
        const STATES_ARE_COMPATIBLE = 1 << 37;
        /// H-6: equal states that only read do not do.
        const READ_STATES_DO_NOT_INHERIT = 1 << 38;
        /// H-6: states are compared subresource by subresource.
        const STATES_BY_SUBRESOURCE = 1 << 39;
        /// H-7: buffers and standard swizzle textures inherit from one another.
        const SWIZZLE_IS_BYTES = 1 << 40;
        /// H-7: a buffer cannot read what lies in an undefined swizzle.
        const UNDEFINED_SWIZZLE_IS_OPAQUE = 1 << 41;
        /// H-9: the barrier is needed though data is inherited.
        const INHERITANCE_NEEDS_BARRIER = 1 << 42;
        /// H: in the simple model nothing is inherited.
        const SIMPLE_DOES_NOT_INHERIT = 1 << 43;
        /// E-1: enhanced barriers wait for the one and hold the other back.
        const ENHANCED_BARRIERS_ORDER = 1 << 44;
        /// E-1: `SyncBefore` covers the accesses that are waited for.
        const SYNC_COVERS_ACCESSES = 1 << 45;
        /// E-3: a layout that may be compressed, UNORDERED_ACCESS among them, is initialised after UNDEFINED.
        const UNDEFINED_NEEDS_INITIALISATION = 1 << 46;
        /// E-3: the flag DISCARD initialises.
        const DISCARD_FLAG_INITIALISES = 1 << 47;
        /// E-4: after NO_ACCESS nothing accesses until a barrier from NO_ACCESS.
        const NO_ACCESS_FORBIDS = 1 << 48;
        /// E-5: DISCARD does not stand beside a barrier of what it overlaps that flushes or changes a layout.
        const DISCARD_STANDS_APART = 1 << 49;
        /// E-6: two barriers of one call do not change the same memory.
        const CALL_HAS_NO_ORDER = 1 << 50;
        /// E-7: SYNC_NONE means that nothing came before, or comes after, in the submission.
        const SYNC_NONE_IS_ALONE = 1 << 51;
        /// B-8: barriers that do nothing, or stall all, are remarked on. Not among D3D12's own.
        const REMARKS = 1 << 52;
        /// I-12: in the advanced model the first use without an activation is warned of. Not among D3D12's own.
        const ADVANCED_BEGINS_INACTIVE = 1 << 53;
        /// I-4: clears of unordered access views initialise as other clears do. A milder reading, not among D3D12's own.
        const UNORDERED_CLEARS_INITIALISE = 1 << 54;
        /// I-3: contents that another resource has invalidated become valid by a copy or a clear of a whole subresource or tile
        /// alone, whatever the resource is. A stricter reading of ALIAS, not among D3D12's own: the reference of
        /// `CreatePlacedResource` asks it of render targets and depth stencils.
        const INVALID_NEEDS_WHOLE_UNITS = 1 << 55;
    }
}

impl AliasingLaws {
    /// What the documents say, read strictly where they are not clear: all laws but remarks, milder readings, and the stricter
    /// one that a reference beside document ALIAS contradicts.
    pub(crate) const D3D12: Self = Self::all()
        .difference(Self::REMARKS)
        .difference(Self::ADVANCED_BEGINS_INACTIVE)
        .difference(Self::UNORDERED_CLEARS_INITIALISE)
        .difference(Self::INVALID_NEEDS_WHOLE_UNITS);

    /// The laws of a reading of the documents.
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
