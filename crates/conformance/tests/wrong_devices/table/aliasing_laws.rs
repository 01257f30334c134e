//! Devices that each ignore one law of aliasing. The runtime's `aliasing/laws.rs` describes the laws.

use super::{WrongDevice, profile};
use crate::lies::{HONEST, Lies};

/// Defines a wrong device for each law.
macro_rules! forgets {
    ($($law:ident $(on $profile:literal)? => $($check:literal),+;)*) => {
        pub(super) const WRONG: &[WrongDevice] = &[$(WrongDevice {
            what: concat!(stringify!($law), " is not enforced"),
            profile: profile!($($profile)?),
            lies: Lies { forgotten_law: Some(stringify!($law)), ..HONEST },
            caught_by: &[$($check),+],
        }),*];
    };
}

forgets! {
    BUFFERS_OWN_64_KIB => "aliasing/g-8-buffer-owns-the-granule";
    PACKED_MIPS_ARE_ONE => "aliasing/i-11-packed-mips-are-one";
    READS_INVALIDATE => "aliasing/i-1-reads-invalidate";
    READS_NEED_VALID =>
        "aliasing/i-2-invalid-is-read", "aliasing/i-2-invalid-bytes-are-others",
        "aliasing/h-2-unknown-layout-and-a-buffer";
    WHOLE_UNITS_INITIALISE =>
        "aliasing/i-3-partial-write-of-a-render-target", "aliasing/i-10-half-a-tile-of-the-example";
    INITIALISE_FIRST =>
        "aliasing/i-4-read-first", "aliasing/i-4-partial-copy-first", "aliasing/i-4-unordered-clear-first";
    INITIALISE_AFTER_ACTIVATION => "aliasing/i-5-clear-then-barrier";
    TILES_OF_DEFINED_LAYOUTS => "aliasing/i-6-a-tile-of-an-unknown-layout";
    UNITS_ARE_INDEPENDENT => "aliasing/i-7-one-mip-is-cleared", "aliasing/i-7-depth-without-stencil";
    DISCARD_LEAVES_UNDEFINED => "aliasing/i-8-discard-then-read";
    DISCARD_NEEDS_STATE => "aliasing/i-8-discard-in-another-state", "aliasing/b-7-barrier-changes-no-state";
    UNDEFINED_LAYOUT_IS_ONE =>
        "aliasing/i-9-unknown-layout-is-one", "aliasing/i-10-the-example-with-an-unknown-layout";
    SMALL_INVALIDATION_NEEDS_STATE => "aliasing/i-9-tiles-in-another-state";
    HIDDEN_MEMORY on "compressing" =>
        "aliasing/i-11-hidden-memory", "aliasing/i-11-memory-behind-rows",
        "aliasing/h-8-hidden-memory-is-not-inherited";
    BEGINS_INACTIVE => "aliasing/i-12-used-without-activation";
    ONE_IS_ACTIVE => "aliasing/i-13-two-at-a-time", "aliasing/b-2-two-calls-in-the-simple-model";
    MAPPING_UNINITIALISES => "aliasing/i-14-new-tile-is-written-in-part";
    LARGER_GRANULARITY => "aliasing/g-10-tight-buffer-beside-a-small-texture";
    SMALL_TEXTURES_OWN_4_KIB => "aliasing/g-8-small-textures-side-by-side";
    TIGHT_BUFFERS_OWN_64_KIB => "aliasing/g-10-tight-buffer-beside-a-small-texture";
    BARRIER_WITHIN_SUBMISSION =>
        "aliasing/g-7-one-granule-in-common", "aliasing/b-1-no-barrier-between",
        "aliasing/b-2-two-lists-of-one-call";
    SUBMISSIONS_ARE_ORDERED =>
        "aliasing/g-9-other-granules-stay", "aliasing/i-2-valid-is-read", "aliasing/b-2-two-calls";
    SIMPLE_NAMES_AFTER => "aliasing/b-3-names-none-in-the-simple-model";
    NULL_IS_ANY =>
        "aliasing/b-3-names-none-in-the-advanced-model", "aliasing/b-4-null-is-any",
        "aliasing/b-8-barrier-that-stalls-all";
    PAIRS_ARE_EXACT => "aliasing/b-4-one-of-two-predecessors";
    BARRIER_AFTER_LAST_ACCESS => "aliasing/b-5-before-the-last-access";
    ARRAY_IN_ORDER => "aliasing/b-6-transition-then-barrier";
    STATE_SURVIVES_BARRIER => "aliasing/b-7-state-of-the-last-use", "aliasing/h-6-both-render-targets";
    FENCES_ORDER_QUEUES => "aliasing/b-9-nothing-between-queues";
    INHERITANCE_NEEDS_SHARED => "aliasing/h-1-heap-that-is-not-shared";
    INHERITANCE_NEEDS_SAME_DESCRIPTION =>
        "aliasing/h-1-other-description", "aliasing/h-1-other-format", "aliasing/h-3-tile-of-another-format";
    INHERITANCE_NEEDS_SAME_CLEAR_VALUE => "aliasing/h-1-other-clear-value";
    INHERITANCE_NEEDS_SAME_METHOD => "aliasing/h-1-placed-and-reserved";
    INHERITANCE_NEEDS_SAME_PLACE => "aliasing/h-1-other-place";
    DEFINED_LAYOUTS_INHERIT =>
        "aliasing/h-2-tiles-in-a-heap-that-is-not-shared", "aliasing/h-2-buffers",
        "aliasing/h-3-placed-tile-of-another-index", "aliasing/h-9-barrier-and-bytes";
    STATELESS_INHERIT => "aliasing/h-4-simultaneous-access";
    TILES_INHERIT_IN_COMMON => "aliasing/h-5-tiles-in-another-state";
    STATES_ARE_COMPATIBLE =>
        "aliasing/h-6-render-target-and-common", "aliasing/h-6-equal-states-that-read",
        "aliasing/h-6-the-other-subresource";
    READ_STATES_DO_NOT_INHERIT => "aliasing/h-6-equal-states-that-read";
    STATES_BY_SUBRESOURCE => "aliasing/h-6-the-other-subresource";
    SWIZZLE_IS_BYTES on "uma" =>
        "aliasing/h-7-standard-swizzle-from-a-buffer", "aliasing/h-7-standard-swizzle-to-a-buffer",
        "aliasing/h-7-standard-swizzle-to-another-texture";
    UNDEFINED_SWIZZLE_IS_OPAQUE =>
        "aliasing/g-9-one-byte-takes-the-granule", "aliasing/i-10-slice-0-of-the-example",
        "aliasing/h-7-undefined-swizzle-and-a-buffer";
    INHERITANCE_NEEDS_BARRIER =>
        "aliasing/h-9-bytes-without-a-barrier", "aliasing/e-1-waits-for-something-else";
    SIMPLE_DOES_NOT_INHERIT => "aliasing/h-1-simple-model-inherits-nothing";
    ENHANCED_BARRIERS_ORDER => "aliasing/e-1-waits-for-something-else";
    SYNC_COVERS_ACCESSES => "aliasing/e-1-waits-for-something-else";
    UNDEFINED_NEEDS_INITIALISATION => "aliasing/e-3-nothing-initialises";
    DISCARD_FLAG_INITIALISES => "aliasing/e-3-discard-initialises";
    NO_ACCESS_FORBIDS => "aliasing/e-4-access-after-no-access";
    DISCARD_STANDS_APART => "aliasing/e-5-discard-beside-a-flush";
    CALL_HAS_NO_ORDER => "aliasing/e-6-changes-in-one-call";
    SYNC_NONE_IS_ALONE => "aliasing/e-7-sync-none-after-an-access", "aliasing/e-7-access-after-sync-none";
    REMARKS => "aliasing/b-8-barrier-that-does-nothing", "aliasing/b-8-barrier-that-stalls-all";
    ADVANCED_BEGINS_INACTIVE => "aliasing/i-12-first-use-in-the-advanced-model";
    UNORDERED_CLEARS_INITIALISE => "aliasing/i-4-unordered-clear-first-read-mildly";
    INVALID_NEEDS_WHOLE_UNITS => "aliasing/i-3-a-part-of-an-invalid-texture-read-strictly";
}
