//! Wrong devices: a tracker that ignores one law, that reports falsely, or that does not see what lists record.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use heapwright_intercept::{Methods, intercept, method};
use windows_core::Interface as _;

/// The lies of one device; each falsifies a call.
#[derive(Clone, Copy, Default)]
pub(super) struct Lies {
    /// A law that the tracker does not enforce.
    pub(super) forgotten_law: Option<&'static str>,
    /// Changes the arguments of `SetTracking`.
    tracking: Option<fn(&mut HEAPWRIGHT_ALIASING_TRACKING)>,
    hides_violations: bool,
    /// Changes a violation.
    violation: Option<fn(&mut HEAPWRIGHT_ALIASING_VIOLATION)>,
    /// The state reported for the contents of every unit.
    contents: Option<HEAPWRIGHT_ALIASING_CONTENTS>,
    /// Changes the arguments of `ResourceBarrier`.
    barriers: Option<fn(&mut Vec<D3D12_RESOURCE_BARRIER>)>,
    /// Changes the texture barriers passed to `Barrier`.
    texture_barrier: Option<fn(&mut D3D12_TEXTURE_BARRIER)>,
    /// Changes the buffer barriers passed to `Barrier`.
    buffer_barrier: Option<fn(&mut D3D12_BUFFER_BARRIER)>,
    /// Calls `Barrier` once for each barrier.
    splits_barriers: bool,
    forgets_barriers: bool,
    forgets_discards: bool,
    /// Makes `DiscardResource` discard the whole resource.
    ignores_discard_region: bool,
}

pub(super) const HONEST: Lies = Lies {
    forgotten_law: None,
    tracking: None,
    hides_violations: false,
    violation: None,
    contents: None,
    barriers: None,
    texture_barrier: None,
    buffer_barrier: None,
    splits_barriers: false,
    forgets_barriers: false,
    forgets_discards: false,
    ignores_discard_region: false,
};

/// A device that is wrong in one respect.
pub(super) struct WrongDevice {
    pub(super) what: &'static str,
    /// The profile that checks of the conformance suite run on.
    pub(super) profile: &'static str,
    pub(super) lies: Lies,
    /// Rows, or checks of area `aliasing` of the conformance suite, that pass on the honest device only.
    pub(super) caught_by: &'static [&'static str],
}

/// Makes a device tell lies, with the lists that it creates.
pub(super) fn intercept_device(device: &ID3D12Device, lies: &'static Lies) {
    let newest: ID3D12Device14 = device.cast().expect("the newest interface");
    let tracker: IHeapwrightAliasing = device.cast().expect("the runtime tracks aliasing");
    unsafe {
        intercept(&newest, lies, |methods| {
            let device = methods.of::<ID3D12Device>();
            device.replace(
                method!(CreateCommandList),
                |call, (node_mask, kind, allocator, state, iid, out)| {
                    let create = call.original.CreateCommandList;
                    let hresult = create(call.this, node_mask, kind, allocator, state, iid, out);
                    let list = windows_core::IUnknown::from_raw_borrowed(&*out).expect("a valid call");
                    let list: ID3D12GraphicsCommandList10 = list.cast().expect("the newest interface");
                    intercept(&list, call.data, |methods| replace_list(methods));
                    hresult
                },
            );
        });
        intercept(&tracker, lies, |methods| {
            let tracker = methods.of::<IHeapwrightAliasing>();
            tracker.replace(method!(SetTracking), |call, (tracking,)| {
                let mut changed = *tracking;
                if let Some(lie) = call.data.tracking {
                    lie(&mut changed);
                }
                (call.original.SetTracking)(call.this, &raw const changed)
            });
            tracker.replace(method!(GetViolationCount), |call, ()| {
                if call.data.hides_violations { 0 } else { (call.original.GetViolationCount)(call.this) }
            });
            tracker.replace(method!(GetViolation), |call, (index, out)| {
                let hresult = (call.original.GetViolation)(call.this, index, out);
                if let Some(lie) = call.data.violation.filter(|_| hresult == S_OK) {
                    lie(&mut *out);
                }
                hresult
            });
            tracker.replace(method!(GetContents), |call, (resource, unit, out)| {
                let hresult = (call.original.GetContents)(call.this, resource, unit, out);
                if let Some(lie) = call.data.contents {
                    *out = lie;
                }
                hresult
            });
        });
    }
}

/// Replaces the methods of a list that record barriers and discards.
unsafe fn replace_list(methods: &Methods<Lies>) {
    unsafe {
        let list = methods.of::<ID3D12GraphicsCommandList>();
        let seventh = methods.of::<ID3D12GraphicsCommandList7>();
        list.replace(method!(ResourceBarrier), |call, (barrier_count, barriers)| {
            let Some(lie) = call.data.barriers else {
                return (call.original.ResourceBarrier)(call.this, barrier_count, barriers);
            };
            let mut changed = elements(barrier_count, barriers);
            lie(&mut changed);
            if !changed.is_empty() {
                (call.original.ResourceBarrier)(call.this, count(&changed), changed.as_ptr());
            }
        });
        list.replace(method!(DiscardResource), |call, (resource, region)| {
            let region = if call.data.ignores_discard_region { std::ptr::null() } else { region };
            if !call.data.forgets_discards {
                (call.original.DiscardResource)(call.this, resource, region);
            }
        });
        seventh.replace(method!(Barrier), |call, (group_count, groups)| {
            let lies = call.data;
            if lies.forgets_barriers {
                return;
            }
            let (mut textures, mut buffers) = (Vec::new(), Vec::new());
            let mut changed = elements(group_count, groups);
            for group in &mut changed {
                match group.Type {
                    D3D12_BARRIER_TYPE_TEXTURE => {
                        let mut list = elements(group.NumBarriers, group.Anonymous.pTextureBarriers);
                        if let Some(lie) = lies.texture_barrier {
                            list.iter_mut().for_each(lie);
                        }
                        group.Anonymous.pTextureBarriers = list.as_ptr();
                        textures.push(list);
                    }
                    D3D12_BARRIER_TYPE_BUFFER => {
                        let mut list = elements(group.NumBarriers, group.Anonymous.pBufferBarriers);
                        if let Some(lie) = lies.buffer_barrier {
                            list.iter_mut().for_each(lie);
                        }
                        group.Anonymous.pBufferBarriers = list.as_ptr();
                        buffers.push(list);
                    }
                    _ => {}
                }
            }
            if !lies.splits_barriers {
                return (call.original.Barrier)(call.this, count(&changed), changed.as_ptr());
            }
            for group in &changed {
                for index in 0..group.NumBarriers {
                    let mut one = std::ptr::read(group);
                    let place = usize::try_from(index).unwrap_or(0);
                    one.NumBarriers = 1;
                    match group.Type {
                        D3D12_BARRIER_TYPE_TEXTURE => {
                            one.Anonymous.pTextureBarriers = group.Anonymous.pTextureBarriers.add(place);
                        }
                        D3D12_BARRIER_TYPE_BUFFER => {
                            one.Anonymous.pBufferBarriers = group.Anonymous.pBufferBarriers.add(place);
                        }
                        _ => one.Anonymous.pGlobalBarriers = group.Anonymous.pGlobalBarriers.add(place),
                    }
                    (call.original.Barrier)(call.this, 1, &raw const one);
                }
            }
        });
    }
}

/// Copies an array of the caller. Its elements hold their resources in ManuallyDrop: a copy takes no reference.
unsafe fn elements<T>(count: u32, array: *const T) -> Vec<T> {
    if array.is_null() {
        return Vec::new();
    }
    unsafe { (0..usize::try_from(count).unwrap_or(0)).map(|index| array.add(index).read()).collect() }
}

fn count<T>(elements: &[T]) -> u32 {
    u32::try_from(elements.len()).expect("few")
}

/// The profile of a device; `discrete` if none is given.
macro_rules! profile {
    () => {
        "discrete"
    };
    ($profile:literal) => {
        $profile
    };
}

/// Defines a device for each row: what is wrong, the profile if it is not `discrete`, the lies, and what catches them.
macro_rules! wrong_devices {
    ($($what:literal $(on $profile:literal)?: $($lie:ident $(= $value:expr)?),+ => $($check:literal),+;)*) => {
        pub(super) const WRONG: &[WrongDevice] = &[$(WrongDevice {
            what: $what,
            profile: profile!($($profile)?),
            lies: Lies { $($lie: wrong_devices!(@value $($value)?),)+ ..HONEST },
            caught_by: &[$($check),+],
        }),*];
    };
    (@value) => { true };
    (@value $value:expr) => { Some($value) };
}

/// Defines a device for each law, which it does not enforce. The runtime's `aliasing/laws.rs` describes the laws.
macro_rules! forgets {
    ($($law:ident $(on $profile:literal)? => $($check:literal),+;)*) => {
        pub(super) const LAWLESS: &[WrongDevice] = &[$(WrongDevice {
            what: concat!(stringify!($law), " is not enforced"),
            profile: profile!($($profile)?),
            lies: Lies { forgotten_law: Some(stringify!($law)), ..HONEST },
            caught_by: &[$($check),+],
        }),*];
    };
}

forgets! {
    BUFFERS_OWN_64_KIB => "g-8-buffer-owns-the-granule";
    PACKED_MIPS_ARE_ONE => "i-11-packed-mips-are-one";
    READS_INVALIDATE => "i-1-reads-invalidate";
    READS_NEED_VALID =>
        "i-2-invalid-is-read", "i-2-invalid-bytes-are-others",
        "h-2-unknown-layout-and-a-buffer";
    WHOLE_UNITS_INITIALISE =>
        "i-3-partial-write-of-a-render-target", "i-10-half-a-tile-of-the-example";
    INITIALISE_FIRST =>
        "i-4-read-first", "i-4-partial-copy-first", "i-4-unordered-clear-first";
    INITIALISE_AFTER_ACTIVATION => "i-5-clear-then-barrier";
    TILES_OF_DEFINED_LAYOUTS => "i-6-a-tile-of-an-unknown-layout";
    UNITS_ARE_INDEPENDENT => "i-7-one-mip-is-cleared", "i-7-depth-without-stencil";
    DISCARD_LEAVES_UNDEFINED => "i-8-discard-then-read";
    DISCARD_NEEDS_STATE => "i-8-discard-in-another-state", "b-7-barrier-changes-no-state";
    UNDEFINED_LAYOUT_IS_ONE =>
        "i-9-unknown-layout-is-one", "i-10-the-example-with-an-unknown-layout";
    SMALL_INVALIDATION_NEEDS_STATE => "i-9-tiles-in-another-state";
    HIDDEN_MEMORY on "compressing" =>
        "i-11-hidden-memory", "i-11-memory-behind-rows",
        "h-8-hidden-memory-is-not-inherited";
    BEGINS_INACTIVE => "i-12-used-without-activation";
    ONE_IS_ACTIVE => "i-13-two-at-a-time", "b-2-two-calls-in-the-simple-model";
    MAPPING_UNINITIALISES => "i-14-new-tile-is-written-in-part";
    LARGER_GRANULARITY => "g-10-tight-buffer-beside-a-small-texture";
    SMALL_TEXTURES_OWN_4_KIB => "g-8-small-textures-side-by-side";
    TIGHT_BUFFERS_OWN_64_KIB => "g-10-tight-buffer-beside-a-small-texture";
    BARRIER_WITHIN_SUBMISSION =>
        "g-7-one-granule-in-common", "b-1-no-barrier-between",
        "b-2-two-lists-of-one-call";
    SUBMISSIONS_ARE_ORDERED =>
        "g-9-other-granules-stay", "i-2-valid-is-read", "b-2-two-calls";
    SIMPLE_NAMES_AFTER => "b-3-names-none-in-the-simple-model";
    NULL_IS_ANY =>
        "b-3-names-none-in-the-advanced-model", "b-4-null-is-any",
        "b-8-barrier-that-stalls-all";
    PAIRS_ARE_EXACT => "b-4-one-of-two-predecessors";
    BARRIER_AFTER_LAST_ACCESS => "b-5-before-the-last-access";
    ARRAY_IN_ORDER => "b-6-transition-then-barrier";
    STATE_SURVIVES_BARRIER => "b-7-state-of-the-last-use", "h-6-both-render-targets";
    FENCES_ORDER_QUEUES => "b-9-nothing-between-queues";
    INHERITANCE_NEEDS_SHARED => "h-1-heap-that-is-not-shared";
    INHERITANCE_NEEDS_SAME_DESCRIPTION =>
        "h-1-other-description", "h-1-other-format", "h-3-tile-of-another-format";
    INHERITANCE_NEEDS_SAME_CLEAR_VALUE => "h-1-other-clear-value";
    INHERITANCE_NEEDS_SAME_METHOD => "h-1-placed-and-reserved";
    INHERITANCE_NEEDS_SAME_PLACE => "h-1-other-place";
    DEFINED_LAYOUTS_INHERIT =>
        "h-2-tiles-in-a-heap-that-is-not-shared", "h-2-buffers",
        "h-3-placed-tile-of-another-index", "h-9-barrier-and-bytes";
    STATELESS_INHERIT => "h-4-simultaneous-access";
    TILES_INHERIT_IN_COMMON => "h-5-tiles-in-another-state";
    STATES_ARE_COMPATIBLE =>
        "h-6-render-target-and-common", "h-6-equal-states-that-read",
        "h-6-the-other-subresource";
    READ_STATES_DO_NOT_INHERIT => "h-6-equal-states-that-read";
    STATES_BY_SUBRESOURCE => "h-6-the-other-subresource";
    SWIZZLE_IS_BYTES on "uma" =>
        "h-7-standard-swizzle-from-a-buffer", "h-7-standard-swizzle-to-a-buffer",
        "h-7-standard-swizzle-to-another-texture";
    UNDEFINED_SWIZZLE_IS_OPAQUE =>
        "g-9-one-byte-takes-the-granule", "i-10-slice-0-of-the-example",
        "h-7-undefined-swizzle-and-a-buffer";
    INHERITANCE_NEEDS_BARRIER =>
        "h-9-bytes-without-a-barrier", "e-1-waits-for-something-else";
    SIMPLE_DOES_NOT_INHERIT => "h-1-simple-model-inherits-nothing";
    ENHANCED_BARRIERS_ORDER => "e-1-waits-for-something-else";
    SYNC_COVERS_ACCESSES => "e-1-waits-for-something-else";
    UNDEFINED_NEEDS_INITIALISATION => "e-3-nothing-initialises";
    DISCARD_FLAG_INITIALISES => "e-3-discard-initialises";
    NO_ACCESS_FORBIDS => "e-4-access-after-no-access";
    DISCARD_STANDS_APART => "e-5-discard-beside-a-flush";
    CALL_HAS_NO_ORDER => "e-6-changes-in-one-call";
    SYNC_NONE_IS_ALONE => "e-7-sync-none-after-an-access", "e-7-access-after-sync-none";
    REMARKS => "b-8-barrier-that-does-nothing", "b-8-barrier-that-stalls-all";
    ADVANCED_BEGINS_INACTIVE => "i-12-first-use-in-the-advanced-model";
    UNORDERED_CLEARS_INITIALISE => "i-4-unordered-clear-first-read-mildly";
    INVALID_NEEDS_WHOLE_UNITS => "i-3-a-part-of-an-invalid-texture-read-strictly";
}

wrong_devices! {
    "no violation is ever reported": hides_violations
        => "i-2-invalid-is-read", "b-1-no-barrier-between";
    "a violation does not say why contents are invalid": violation = |violation| violation.Because = [0; 8]
        => "i-2-invalid-is-read", "h-2-unknown-layout-and-a-buffer";
    "every violation is of I-2": violation = |violation| violation.Rule = *b"I-2\0\0\0\0\0"
        => "b-1-no-barrier-between", "i-4-read-first";
    "every violation is an error":
        violation = |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_ERROR
        => "b-6-transition-then-barrier", "b-8-barrier-that-does-nothing";
    "every violation is a warning":
        violation = |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_WARNING
        => "violation-says-where";
    "a violation's HeapOffset is not from the beginning of the heap":
        violation = |violation| violation.HeapOffset = 0 => "violation-says-where";
    "GetContents says that everything is valid": contents = HEAPWRIGHT_ALIASING_CONTENTS_VALID
        => "i-1-writes-invalidate";
    "what becomes undefined keeps its bytes": tracking = |tracking| tracking.Scramble = 0
        => "i-2-invalid-bytes-are-others", "i-8-discard-then-read";
    "the simple model is judged as the advanced one":
        tracking = |tracking| tracking.Model = tracking.Model.min(1) * 2
        => "i-12-used-without-activation", "b-3-names-none-in-the-simple-model";
    "the advanced model is judged as the simple one":
        tracking = |tracking| tracking.Model = tracking.Model.min(1)
        => "b-2-two-calls", "h-2-buffers";
    "aliasing barriers are not recorded":
        barriers = |barriers| barriers.retain(|barrier| !is_aliasing(barrier))
        => "b-1-barrier-between", "i-12-activated-then-used";
    "the barriers of a call are recorded from the last to the first": barriers = |barriers| barriers.reverse()
        => "b-6-barrier-then-transition", "b-6-transition-then-barrier";
    "every aliasing barrier is for any resource": barriers = |barriers| {
        for barrier in barriers.iter_mut().filter(|barrier| is_aliasing(barrier)) {
            *barrier = any();
        }
    } => "b-4-one-of-two-predecessors";
    "transitions are not recorded": barriers = |barriers| barriers.retain(is_aliasing)
        => "h-5-tiles-in-common", "h-6-both-render-targets";
    "a transition of one subresource is one of all":
        barriers = |barriers| barriers.iter_mut().for_each(of_all)
        => "h-6-one-subresource-in-common";
    "DiscardResource is not recorded": forgets_discards
        => "i-8-discard-then-write", "i-8-discard-then-read";
    "DiscardResource discards all subresources, whatever region it is asked for": ignores_discard_region
        => "i-8-discard-of-one-mip";
    "enhanced barriers are not recorded": forgets_barriers
        => "e-1-waits-for-the-copy", "e-4-access-after-no-access";
    "the flag DISCARD of a texture barrier is ignored":
        texture_barrier = |barrier| barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_NONE
        => "e-3-discard-initialises", "e-3-discard-of-a-defined-layout";
    "every texture barrier from UNDEFINED discards": texture_barrier = |barrier| {
        if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
            barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_DISCARD;
        }
    } => "e-3-nothing-initialises";
    "every buffer barrier waits for everything": buffer_barrier = |barrier| {
        if barrier.SyncBefore != D3D12_BARRIER_SYNC_NONE {
            barrier.SyncBefore = D3D12_BARRIER_SYNC_ALL;
        }
    } => "e-1-waits-for-something-else";
    "every buffer barrier is of the whole buffer":
        buffer_barrier = |barrier| (barrier.Offset, barrier.Size) = (0, u64::MAX)
        => "e-8-part-of-a-buffer";
    "the barriers of one call are taken as if each had a call of its own": splits_barriers
        => "e-5-discard-beside-a-flush", "e-6-changes-in-one-call";
    "a texture barrier from UNDEFINED may have accesses before it": texture_barrier = |barrier| {
        if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
            barrier.AccessBefore = D3D12_BARRIER_ACCESS_NO_ACCESS;
        }
    } => "e-2-undefined-with-an-access";
}

fn is_aliasing(barrier: &D3D12_RESOURCE_BARRIER) -> bool {
    barrier.Type == D3D12_RESOURCE_BARRIER_TYPE_ALIASING
}

/// Returns an aliasing barrier between any resources.
fn any() -> D3D12_RESOURCE_BARRIER {
    D3D12_RESOURCE_BARRIER { Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING, ..Default::default() }
}

/// Extends a transition to all subresources.
fn of_all(barrier: &mut D3D12_RESOURCE_BARRIER) {
    if barrier.Type == D3D12_RESOURCE_BARRIER_TYPE_TRANSITION {
        // SAFETY: Type says that the union holds a transition.
        let transition = unsafe { &mut barrier.Anonymous.Transition };
        transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
    }
}
