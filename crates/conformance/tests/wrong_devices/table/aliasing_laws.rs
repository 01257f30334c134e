//! Devices that each ignore one law of aliasing.

use super::{WrongDevice, wrong};
use crate::lies::{HONEST, Lies};

/// Returns a device that ignores a law. The caller says which rules of the specification this concerns.
const fn without(law: &'static str, what: &'static str, caught_by: &'static [&'static str]) -> WrongDevice {
    wrong(what, Lies { forgotten_law: Some(law), ..HONEST }, caught_by)
}

pub(super) const WRONG: &[WrongDevice] = &[
    without(
        "BUFFERS_OWN_64_KIB",
        "forgets G-8, G-9: a buffer owns the whole 64 KiB that it is in",
        &["aliasing/g-8-buffer-owns-the-granule"],
    ),
    without(
        "PACKED_MIPS_ARE_ONE",
        "forgets I-11: the packed mips of a slice are one unit",
        &["aliasing/i-11-packed-mips-are-one"],
    ),
    without(
        "READS_INVALIDATE",
        "forgets I-1: reading a resource invalidates what overlaps it, as writing does",
        &["aliasing/i-1-reads-invalidate"],
    ),
    without(
        "READS_NEED_VALID",
        "forgets I-2: reading what is invalid is an error",
        &[
            "aliasing/i-2-invalid-is-read",
            "aliasing/i-2-invalid-bytes-are-others",
            "aliasing/h-2-unknown-layout-and-a-buffer",
        ],
    ),
    without(
        "WHOLE_UNITS_INITIALISE",
        "forgets I-3: invalid render targets and depth stencils become valid by clears and copies of whole units alone",
        &["aliasing/i-3-partial-write-of-a-render-target", "aliasing/i-10-half-a-tile-of-the-example"],
    ),
    without(
        "INITIALISE_FIRST",
        "forgets I-4: placed and reserved render targets and depth stencils are initialised before anything else",
        &["aliasing/i-4-read-first", "aliasing/i-4-partial-copy-first", "aliasing/i-4-unordered-clear-first"],
    ),
    without(
        "INITIALISE_AFTER_ACTIVATION",
        "forgets I-5: what was initialised before the activating barrier is not initialised",
        &["aliasing/i-5-clear-then-barrier"],
    ),
    without(
        "TILES_OF_DEFINED_LAYOUTS",
        "forgets I-6: tiles are units in the layouts that have 64 KiB tiles alone",
        &["aliasing/i-6-a-tile-of-an-unknown-layout"],
    ),
    without(
        "UNITS_ARE_INDEPENDENT",
        "forgets I-7: units (subresources, planes, tiles) are initialised one by one",
        &["aliasing/i-7-one-mip-is-cleared", "aliasing/i-7-depth-without-stencil"],
    ),
    without(
        "DISCARD_LEAVES_UNDEFINED",
        "forgets I-8: contents are undefined after DiscardResource",
        &["aliasing/i-8-discard-then-read"],
    ),
    without(
        "DISCARD_NEEDS_STATE",
        "forgets I-8: DiscardResource wants RENDER_TARGET or DEPTH_WRITE, on compute lists UNORDERED_ACCESS",
        &["aliasing/i-8-discard-in-another-state", "aliasing/b-7-barrier-changes-no-state"],
    ),
    without(
        "UNDEFINED_LAYOUT_IS_ONE",
        "forgets I-9: of an undefined layout all is invalidated, whatever part is overlapped",
        &["aliasing/i-9-unknown-layout-is-one", "aliasing/i-10-the-example-with-an-unknown-layout"],
    ),
    without(
        "SMALL_INVALIDATION_NEEDS_STATE",
        "forgets I-9: smaller invalidations need a state that allows them (COMMON)",
        &["aliasing/i-9-tiles-in-another-state"],
    ),
    without(
        "HIDDEN_MEMORY",
        "forgets I-11, H-8: memory behind the last tile belongs to all of the resource",
        &[
            "aliasing/i-11-hidden-memory",
            "aliasing/i-11-memory-behind-rows",
            "aliasing/h-8-hidden-memory-is-not-inherited",
        ],
    )
    .on("compressing"),
    without(
        "BEGINS_INACTIVE",
        "forgets I-12: in the simple model a placed resource begins inactive",
        &["aliasing/i-12-used-without-activation"],
    ),
    without(
        "ONE_IS_ACTIVE",
        "forgets I-13: in the simple model activating one deactivates what overlaps it",
        &["aliasing/i-13-two-at-a-time", "aliasing/b-2-two-calls-in-the-simple-model"],
    ),
    without(
        "MAPPING_UNINITIALISES",
        "forgets I-14: a tile that is mapped anew is not initialised",
        &["aliasing/i-14-new-tile-is-written-in-part"],
    ),
    without(
        "LARGER_GRANULARITY",
        "forgets G-8: of two granularities the larger decides",
        &["aliasing/g-10-tight-buffer-beside-a-small-texture"],
    ),
    without(
        "SMALL_TEXTURES_OWN_4_KIB",
        "forgets G-8: small textures own 4 KiB, not more",
        &["aliasing/g-8-small-textures-side-by-side"],
    ),
    without(
        "TIGHT_BUFFERS_OWN_64_KIB",
        "forgets G-10: tightly aligned buffers own 64 KiB against textures",
        &["aliasing/g-10-tight-buffer-beside-a-small-texture"],
    ),
    without(
        "BARRIER_WITHIN_SUBMISSION",
        "forgets B-1: within one ExecuteCommandLists an aliasing barrier stands between overlapping resources",
        &[
            "aliasing/g-7-one-granule-in-common",
            "aliasing/b-1-no-barrier-between",
            "aliasing/b-2-two-lists-of-one-call",
        ],
    ),
    without(
        "SUBMISSIONS_ARE_ORDERED",
        "forgets B-2: between submissions of a queue no barrier is needed",
        &["aliasing/g-9-other-granules-stay", "aliasing/i-2-valid-is-read", "aliasing/b-2-two-calls"],
    ),
    without(
        "SIMPLE_NAMES_AFTER",
        "forgets B-3: in the simple model a barrier names the resource that becomes active",
        &["aliasing/b-3-names-none-in-the-simple-model"],
    ),
    without(
        "NULL_IS_ANY",
        "forgets B-4: null stands for any resource",
        &[
            "aliasing/b-3-names-none-in-the-advanced-model",
            "aliasing/b-4-null-is-any",
            "aliasing/b-8-barrier-that-stalls-all",
        ],
    ),
    without(
        "PAIRS_ARE_EXACT",
        "forgets B-4: a barrier with two resources is for these two alone",
        &["aliasing/b-4-one-of-two-predecessors"],
    ),
    without(
        "BARRIER_AFTER_LAST_ACCESS",
        "forgets B-5: the barrier comes after the last access of the one",
        &["aliasing/b-5-before-the-last-access"],
    ),
    without(
        "ARRAY_IN_ORDER",
        "forgets B-6: barriers of one call are applied in their order",
        &["aliasing/b-6-transition-then-barrier"],
    ),
    without(
        "STATE_SURVIVES_BARRIER",
        "forgets B-7: an aliasing barrier leaves the state of a resource alone",
        &["aliasing/b-7-state-of-the-last-use", "aliasing/h-6-both-render-targets"],
    ),
    without(
        "FENCES_ORDER_QUEUES",
        "forgets B-9: accesses on two queues are ordered by fences",
        &["aliasing/b-9-nothing-between-queues"],
    ),
    without(
        "INHERITANCE_NEEDS_SHARED",
        "forgets H-1: textures of undefined layout inherit in heaps with the SHARED flag alone",
        &["aliasing/h-1-heap-that-is-not-shared"],
    ),
    without(
        "INHERITANCE_NEEDS_SAME_DESCRIPTION",
        "forgets H-1: the descriptions are identical",
        &[
            "aliasing/h-1-other-description",
            "aliasing/h-1-other-format",
            "aliasing/h-3-tile-of-another-format",
        ],
    ),
    without(
        "INHERITANCE_NEEDS_SAME_CLEAR_VALUE",
        "forgets H-1: so are the optimised clear values",
        &["aliasing/h-1-other-clear-value"],
    ),
    without(
        "INHERITANCE_NEEDS_SAME_METHOD",
        "forgets H-1: both are placed, or both reserved",
        &["aliasing/h-1-placed-and-reserved"],
    ),
    without(
        "INHERITANCE_NEEDS_SAME_PLACE",
        "forgets H-1: both begin at the same place",
        &["aliasing/h-1-other-place"],
    ),
    without(
        "DEFINED_LAYOUTS_INHERIT",
        "forgets H-2: defined layouts inherit without the SHARED flag",
        &[
            "aliasing/h-2-tiles-in-a-heap-that-is-not-shared",
            "aliasing/h-2-buffers",
            "aliasing/h-3-placed-tile-of-another-index",
            "aliasing/h-9-barrier-and-bytes",
        ],
    ),
    without(
        "STATELESS_INHERIT",
        "forgets H-4: buffers, simultaneous-access and cross-adapter textures inherit in every state",
        &["aliasing/h-4-simultaneous-access"],
    ),
    without(
        "TILES_INHERIT_IN_COMMON",
        "forgets H-5: per tile, textures inherit in state COMMON alone",
        &["aliasing/h-5-tiles-in-another-state"],
    ),
    without(
        "STATES_ARE_COMPATIBLE",
        "forgets H-6: states of subresources are both COMMON, or the same one that the GPU writes in",
        &[
            "aliasing/h-6-render-target-and-common",
            "aliasing/h-6-equal-states-that-read",
            "aliasing/h-6-the-other-subresource",
        ],
    ),
    without(
        "READ_STATES_DO_NOT_INHERIT",
        "forgets H-6: equal states that only read do not do",
        &["aliasing/h-6-equal-states-that-read"],
    ),
    without(
        "STATES_BY_SUBRESOURCE",
        "forgets H-6: states are compared subresource by subresource",
        &["aliasing/h-6-the-other-subresource"],
    ),
    without(
        "SWIZZLE_IS_BYTES",
        "forgets H-7: buffers and standard swizzle textures inherit from one another",
        &[
            "aliasing/h-7-standard-swizzle-from-a-buffer",
            "aliasing/h-7-standard-swizzle-to-a-buffer",
            "aliasing/h-7-standard-swizzle-to-another-texture",
        ],
    )
    .on("uma"),
    without(
        "UNDEFINED_SWIZZLE_IS_OPAQUE",
        "forgets H-7: a buffer cannot read what lies in an undefined swizzle",
        &[
            "aliasing/g-9-one-byte-takes-the-granule",
            "aliasing/i-10-slice-0-of-the-example",
            "aliasing/h-7-undefined-swizzle-and-a-buffer",
        ],
    ),
    without(
        "INHERITANCE_NEEDS_BARRIER",
        "forgets H-9: the barrier is needed though data is inherited",
        &["aliasing/h-9-bytes-without-a-barrier", "aliasing/e-1-waits-for-something-else"],
    ),
    without(
        "SIMPLE_DOES_NOT_INHERIT",
        "forgets H: in the simple model nothing is inherited",
        &["aliasing/h-1-simple-model-inherits-nothing"],
    ),
    without(
        "ENHANCED_BARRIERS_ORDER",
        "forgets E-1: enhanced barriers wait for the one and hold the other back",
        &["aliasing/e-1-waits-for-something-else"],
    ),
    without(
        "SYNC_COVERS_ACCESSES",
        "forgets E-1: SyncBefore covers the accesses that are waited for",
        &["aliasing/e-1-waits-for-something-else"],
    ),
    without(
        "UNDEFINED_NEEDS_INITIALISATION",
        "forgets E-3: a layout that may be compressed, UNORDERED_ACCESS among them, is initialised after UNDEFINED",
        &["aliasing/e-3-nothing-initialises"],
    ),
    without(
        "DISCARD_FLAG_INITIALISES",
        "forgets E-3: the flag DISCARD initialises",
        &["aliasing/e-3-discard-initialises"],
    ),
    without(
        "NO_ACCESS_FORBIDS",
        "forgets E-4: after NO_ACCESS nothing accesses until a barrier from NO_ACCESS",
        &["aliasing/e-4-access-after-no-access"],
    ),
    without(
        "DISCARD_STANDS_APART",
        "forgets E-5: DISCARD does not stand beside a barrier of what it overlaps that flushes or changes a layout",
        &["aliasing/e-5-discard-beside-a-flush"],
    ),
    without(
        "CALL_HAS_NO_ORDER",
        "forgets E-6: two barriers of one call do not change the same memory",
        &["aliasing/e-6-changes-in-one-call"],
    ),
    without(
        "SYNC_NONE_IS_ALONE",
        "forgets E-7: SYNC_NONE means that nothing came before, or comes after, in the submission",
        &["aliasing/e-7-sync-none-after-an-access", "aliasing/e-7-access-after-sync-none"],
    ),
    without(
        "REMARKS",
        "forgets B-8: barriers that do nothing, or stall all, are remarked on. Not among D3D12's own",
        &["aliasing/b-8-barrier-that-does-nothing", "aliasing/b-8-barrier-that-stalls-all"],
    ),
    without(
        "ADVANCED_BEGINS_INACTIVE",
        "forgets I-12: in the advanced model the first use without an activation is warned of. Not among D3D12's own",
        &["aliasing/i-12-first-use-in-the-advanced-model"],
    ),
    without(
        "UNORDERED_CLEARS_INITIALISE",
        "forgets I-4: clears of unordered access views initialise as other clears do. A milder reading, not among D3D12's own",
        &["aliasing/i-4-unordered-clear-first-read-mildly"],
    ),
    without(
        "INVALID_NEEDS_WHOLE_UNITS",
        "forgets I-3: only whole units make invalid contents valid. A stricter reading, not among D3D12's own",
        &["aliasing/i-3-a-part-of-an-invalid-texture-read-strictly"],
    ),
];
