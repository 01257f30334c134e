//! Devices that forget one law of aliasing each.

use heapwright_d3d12::aliasing::{AliasingLaws, HEAPWRIGHT_ALIASING_TRACKING};

use super::{HONEST, WrongDevice};
use crate::lies::Lies;

macro_rules! without {
    ($name:literal, $law:ident, $profile:literal, $what:literal, $caught_by:expr $(,)?) => {
        WrongDevice {
            name: $name,
            what: $what,
            profile: $profile,
            lies: Lies {
                tracking: Some(|tracking: &mut HEAPWRIGHT_ALIASING_TRACKING| {
                    tracking.Laws.remove(AliasingLaws::$law);
                }),
                ..HONEST
            },
            caught_by: &$caught_by,
        }
    };
}

pub(super) const WRONG: &[WrongDevice] = &[
    without!(
        "forgets-reads-invalidate",
        READS_INVALIDATE,
        "discrete",
        "it is forgotten that: I-1: reading a resource invalidates what overlaps it, as writing does.",
        ["TODO"]
    ),
    without!(
        "forgets-reads-need-valid",
        READS_NEED_VALID,
        "discrete",
        "it is forgotten that: I-2: reading what is invalid is an error.",
        ["TODO"]
    ),
    without!(
        "forgets-whole-units-initialise",
        WHOLE_UNITS_INITIALISE,
        "discrete",
        "it is forgotten that: I-3: invalid render targets and depth stencils become valid by clears and copies of whole units alone.",
        ["TODO"]
    ),
    without!(
        "forgets-initialise-first",
        INITIALISE_FIRST,
        "discrete",
        "it is forgotten that: I-4: placed and reserved render targets and depth stencils are initialised before anything else.",
        ["TODO"]
    ),
    without!(
        "forgets-initialise-after-activation",
        INITIALISE_AFTER_ACTIVATION,
        "discrete",
        "it is forgotten that: I-5: what was initialised before the activating barrier is not initialised.",
        ["TODO"]
    ),
    without!(
        "forgets-tiles-of-defined-layouts",
        TILES_OF_DEFINED_LAYOUTS,
        "discrete",
        "it is forgotten that: I-6: tiles are units in the layouts that have 64 KiB tiles alone.",
        ["TODO"]
    ),
    without!(
        "forgets-units-are-independent",
        UNITS_ARE_INDEPENDENT,
        "discrete",
        "it is forgotten that: I-7: units (subresources, planes, tiles) are initialised one by one.",
        ["TODO"]
    ),
    without!(
        "forgets-discard-leaves-undefined",
        DISCARD_LEAVES_UNDEFINED,
        "discrete",
        "it is forgotten that: I-8: contents are undefined after `DiscardResource`.",
        ["TODO"]
    ),
    without!(
        "forgets-discard-needs-state",
        DISCARD_NEEDS_STATE,
        "discrete",
        "it is forgotten that: I-8: `DiscardResource` wants RENDER_TARGET or DEPTH_WRITE, on compute lists UNORDERED_ACCESS.",
        ["TODO"]
    ),
    without!(
        "forgets-undefined-layout-is-one",
        UNDEFINED_LAYOUT_IS_ONE,
        "discrete",
        "it is forgotten that: I-9: of an undefined layout all is invalidated, whatever part is overlapped.",
        ["TODO"]
    ),
    without!(
        "forgets-small-invalidation-needs-state",
        SMALL_INVALIDATION_NEEDS_STATE,
        "discrete",
        "it is forgotten that: I-9: smaller invalidations need a state that allows them (COMMON).",
        ["TODO"]
    ),
    without!(
        "forgets-hidden-memory",
        HIDDEN_MEMORY,
        "discrete",
        "it is forgotten that: I-11, H-8: memory behind the last tile belongs to all of the resource.",
        ["TODO"]
    ),
    without!(
        "forgets-begins-inactive",
        BEGINS_INACTIVE,
        "discrete",
        "it is forgotten that: I-12: in the simple model a placed resource begins inactive.",
        ["TODO"]
    ),
    without!(
        "forgets-one-is-active",
        ONE_IS_ACTIVE,
        "discrete",
        "it is forgotten that: I-13: in the simple model activating one deactivates what overlaps it.",
        ["TODO"]
    ),
    without!(
        "forgets-mapping-uninitialises",
        MAPPING_UNINITIALISES,
        "discrete",
        "it is forgotten that: I-14: a tile that is mapped anew is not initialised.",
        ["TODO"]
    ),
    without!(
        "forgets-packed-mips-are-one",
        PACKED_MIPS_ARE_ONE,
        "discrete",
        "it is forgotten that: I-11: the packed mips of a slice are one unit.",
        ["TODO"]
    ),
    without!(
        "forgets-buffers-own-64-kib",
        BUFFERS_OWN_64_KIB,
        "discrete",
        "it is forgotten that: G-8, G-9: a buffer owns the whole 64 KiB that it is in.",
        ["TODO"]
    ),
    without!(
        "forgets-larger-granularity",
        LARGER_GRANULARITY,
        "discrete",
        "it is forgotten that: G-8: of two granularities the larger decides.",
        ["TODO"]
    ),
    without!(
        "forgets-small-textures-own-4-kib",
        SMALL_TEXTURES_OWN_4_KIB,
        "discrete",
        "it is forgotten that: G-8: small textures own 4 KiB, not more.",
        ["TODO"]
    ),
    without!(
        "forgets-tight-buffers-own-64-kib",
        TIGHT_BUFFERS_OWN_64_KIB,
        "discrete",
        "it is forgotten that: G-10: tightly aligned buffers own 64 KiB against textures.",
        ["TODO"]
    ),
    without!(
        "forgets-barrier-within-submission",
        BARRIER_WITHIN_SUBMISSION,
        "discrete",
        "it is forgotten that: B-1: within one `ExecuteCommandLists` an aliasing barrier stands between overlapping resources.",
        ["TODO"]
    ),
    without!(
        "forgets-submissions-are-ordered",
        SUBMISSIONS_ARE_ORDERED,
        "discrete",
        "it is forgotten that: B-2: between submissions of a queue no barrier is needed.",
        ["TODO"]
    ),
    without!(
        "forgets-simple-names-after",
        SIMPLE_NAMES_AFTER,
        "discrete",
        "it is forgotten that: B-3: in the simple model a barrier names the resource that becomes active.",
        ["TODO"]
    ),
    without!(
        "forgets-null-is-any",
        NULL_IS_ANY,
        "discrete",
        "it is forgotten that: B-4: null stands for any resource.",
        ["TODO"]
    ),
    without!(
        "forgets-pairs-are-exact",
        PAIRS_ARE_EXACT,
        "discrete",
        "it is forgotten that: B-4: a barrier with two resources is for these two alone.",
        ["TODO"]
    ),
    without!(
        "forgets-barrier-after-last-access",
        BARRIER_AFTER_LAST_ACCESS,
        "discrete",
        "it is forgotten that: B-5: the barrier comes after the last access of the one.",
        ["TODO"]
    ),
    without!(
        "forgets-array-in-order",
        ARRAY_IN_ORDER,
        "discrete",
        "it is forgotten that: B-6: barriers of one call are applied in their order.",
        ["TODO"]
    ),
    without!(
        "forgets-state-survives-barrier",
        STATE_SURVIVES_BARRIER,
        "discrete",
        "it is forgotten that: B-7: an aliasing barrier leaves the state of a resource alone.",
        ["TODO"]
    ),
    without!(
        "forgets-fences-order-queues",
        FENCES_ORDER_QUEUES,
        "discrete",
        "it is forgotten that: B-9: accesses on two queues are ordered by fences.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-shared",
        INHERITANCE_NEEDS_SHARED,
        "discrete",
        "it is forgotten that: H-1: textures of undefined layout inherit in heaps with the SHARED flag alone.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-same-description",
        INHERITANCE_NEEDS_SAME_DESCRIPTION,
        "discrete",
        "it is forgotten that: H-1: the descriptions are identical.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-same-clear-value",
        INHERITANCE_NEEDS_SAME_CLEAR_VALUE,
        "discrete",
        "it is forgotten that: H-1: so are the optimised clear values.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-same-method",
        INHERITANCE_NEEDS_SAME_METHOD,
        "discrete",
        "it is forgotten that: H-1: both are placed, or both reserved.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-same-place",
        INHERITANCE_NEEDS_SAME_PLACE,
        "discrete",
        "it is forgotten that: H-1: both begin at the same place.",
        ["TODO"]
    ),
    without!(
        "forgets-defined-layouts-inherit",
        DEFINED_LAYOUTS_INHERIT,
        "discrete",
        "it is forgotten that: H-2: defined layouts inherit without the SHARED flag.",
        ["TODO"]
    ),
    without!(
        "forgets-stateless-inherit",
        STATELESS_INHERIT,
        "discrete",
        "it is forgotten that: H-4: buffers, simultaneous-access and cross-adapter textures inherit in every state.",
        ["TODO"]
    ),
    without!(
        "forgets-tiles-inherit-in-common",
        TILES_INHERIT_IN_COMMON,
        "discrete",
        "it is forgotten that: H-5: per tile, textures inherit in state COMMON alone.",
        ["TODO"]
    ),
    without!(
        "forgets-states-are-compatible",
        STATES_ARE_COMPATIBLE,
        "discrete",
        "it is forgotten that: H-6: states of subresources are both COMMON, or the same one that the GPU writes in.",
        ["TODO"]
    ),
    without!(
        "forgets-read-states-do-not-inherit",
        READ_STATES_DO_NOT_INHERIT,
        "discrete",
        "it is forgotten that: H-6: equal states that only read do not do.",
        ["TODO"]
    ),
    without!(
        "forgets-states-by-subresource",
        STATES_BY_SUBRESOURCE,
        "discrete",
        "it is forgotten that: H-6: states are compared subresource by subresource.",
        ["TODO"]
    ),
    without!(
        "forgets-swizzle-is-bytes",
        SWIZZLE_IS_BYTES,
        "discrete",
        "it is forgotten that: H-7: buffers and standard swizzle textures inherit from one another.",
        ["TODO"]
    ),
    without!(
        "forgets-undefined-swizzle-is-opaque",
        UNDEFINED_SWIZZLE_IS_OPAQUE,
        "discrete",
        "it is forgotten that: H-7: a buffer cannot read what lies in an undefined swizzle.",
        ["TODO"]
    ),
    without!(
        "forgets-inheritance-needs-barrier",
        INHERITANCE_NEEDS_BARRIER,
        "discrete",
        "it is forgotten that: H-9: the barrier is needed though data is inherited.",
        ["TODO"]
    ),
    without!(
        "forgets-simple-does-not-inherit",
        SIMPLE_DOES_NOT_INHERIT,
        "discrete",
        "it is forgotten that: H: in the simple model nothing is inherited.",
        ["TODO"]
    ),
    without!(
        "forgets-enhanced-barriers-order",
        ENHANCED_BARRIERS_ORDER,
        "discrete",
        "it is forgotten that: E-1: enhanced barriers wait for the one and hold the other back.",
        ["TODO"]
    ),
    without!(
        "forgets-sync-covers-accesses",
        SYNC_COVERS_ACCESSES,
        "discrete",
        "it is forgotten that: E-1: `SyncBefore` covers the accesses that are waited for.",
        ["TODO"]
    ),
    without!(
        "forgets-undefined-needs-initialisation",
        UNDEFINED_NEEDS_INITIALISATION,
        "discrete",
        "it is forgotten that: E-3: a layout that may be compressed, UNORDERED_ACCESS among them, is initialised after UNDEFINED.",
        ["TODO"]
    ),
    without!(
        "forgets-discard-flag-initialises",
        DISCARD_FLAG_INITIALISES,
        "discrete",
        "it is forgotten that: E-3: the flag DISCARD initialises.",
        ["TODO"]
    ),
    without!(
        "forgets-no-access-forbids",
        NO_ACCESS_FORBIDS,
        "discrete",
        "it is forgotten that: E-4: after NO_ACCESS nothing accesses until a barrier from NO_ACCESS.",
        ["TODO"]
    ),
    without!(
        "forgets-discard-stands-apart",
        DISCARD_STANDS_APART,
        "discrete",
        "it is forgotten that: E-5: DISCARD does not stand beside a barrier of what it overlaps that flushes or changes a layout.",
        ["TODO"]
    ),
    without!(
        "forgets-call-has-no-order",
        CALL_HAS_NO_ORDER,
        "discrete",
        "it is forgotten that: E-6: two barriers of one call do not change the same memory.",
        ["TODO"]
    ),
    without!(
        "forgets-sync-none-is-alone",
        SYNC_NONE_IS_ALONE,
        "discrete",
        "it is forgotten that: E-7: SYNC_NONE means that nothing came before, or comes after, in the submission.",
        ["TODO"]
    ),
    without!(
        "forgets-remarks",
        REMARKS,
        "discrete",
        "it is forgotten that: B-8: barriers that do nothing, or stall all, are remarked on. Not among D3D12's own.",
        ["TODO"]
    ),
    without!(
        "forgets-advanced-begins-inactive",
        ADVANCED_BEGINS_INACTIVE,
        "discrete",
        "it is forgotten that: I-12: in the advanced model the first use without an activation is warned of. Not among D3D12's own.",
        ["TODO"]
    ),
    without!(
        "forgets-unordered-clears-initialise",
        UNORDERED_CLEARS_INITIALISE,
        "discrete",
        "it is forgotten that: I-4: clears of unordered access views initialise as other clears do. A milder reading, not among D3D12's own.",
        ["TODO"]
    ),
];
