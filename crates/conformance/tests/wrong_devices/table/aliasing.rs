//! Devices that judge aliasing wrongly, or that change barriers.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::{WrongDevice, lie, wrong};
use crate::lies::{Command, HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "no violation is ever reported",
        Lies { hides_violations: true, ..HONEST },
        &["aliasing/i-2-invalid-is-read", "aliasing/b-1-no-barrier-between"],
    ),
    wrong(
        "a violation does not say why contents are invalid",
        lie!(violation, |violation| violation.Because = [0; 8]),
        &["aliasing/i-2-invalid-is-read", "aliasing/h-2-unknown-layout-and-a-buffer"],
    ),
    wrong(
        "every violation is of I-2",
        lie!(violation, |violation| violation.Rule = *b"I-2\0\0\0\0\0"),
        &["aliasing/b-1-no-barrier-between", "aliasing/i-4-read-first"],
    ),
    wrong(
        "every violation is an error",
        lie!(violation, |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_ERROR),
        &["aliasing/b-6-transition-then-barrier", "aliasing/b-8-barrier-that-does-nothing"],
    ),
    wrong(
        "every violation is a warning",
        lie!(violation, |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_WARNING),
        &["aliasing/violation-says-where"],
    ),
    wrong(
        "a violation's HeapOffset is not from the beginning of the heap",
        lie!(violation, |violation| violation.HeapOffset = 0),
        &["aliasing/violation-says-where"],
    ),
    wrong(
        "GetContents says that everything is valid",
        lie!(contents, HEAPWRIGHT_ALIASING_CONTENTS_VALID),
        &["aliasing/i-1-writes-invalidate"],
    ),
    wrong(
        "what becomes undefined keeps its bytes",
        lie!(tracking, |tracking| tracking.Scramble = 0),
        &["aliasing/i-2-invalid-bytes-are-others", "aliasing/i-8-discard-then-read"],
    ),
    wrong(
        "the simple model is judged as the advanced one",
        lie!(tracking, |tracking| tracking.Model = tracking.Model.min(1) * 2),
        &["aliasing/i-12-used-without-activation", "aliasing/b-3-names-none-in-the-simple-model"],
    ),
    wrong(
        "the advanced model is judged as the simple one",
        lie!(tracking, |tracking| tracking.Model = tracking.Model.min(1)),
        &["aliasing/b-2-two-calls", "aliasing/h-2-buffers"],
    ),
    wrong(
        "aliasing barriers are not recorded",
        lie!(barriers, |barriers| barriers.retain(|barrier| !is_aliasing(barrier))),
        &["aliasing/b-1-barrier-between", "aliasing/i-12-activated-then-used"],
    ),
    wrong(
        "the barriers of a call are recorded from the last to the first",
        lie!(barriers, |barriers| barriers.reverse()),
        &["aliasing/b-6-barrier-then-transition", "aliasing/b-6-transition-then-barrier"],
    ),
    wrong(
        "every aliasing barrier is for any resource",
        lie!(barriers, |barriers| {
            for barrier in barriers.iter_mut().filter(|barrier| is_aliasing(barrier)) {
                *barrier = any();
            }
        }),
        &["aliasing/b-4-one-of-two-predecessors"],
    ),
    wrong(
        "transitions are not recorded",
        lie!(barriers, |barriers| barriers.retain(is_aliasing)),
        &["aliasing/h-5-tiles-in-common", "aliasing/h-6-both-render-targets"],
    ),
    wrong(
        "a transition of one subresource is one of all",
        lie!(barriers, |barriers| barriers.iter_mut().for_each(of_all)),
        &["aliasing/h-6-one-subresource-in-common"],
    ),
    wrong(
        "DiscardResource is not recorded",
        lie!(forgets, Command::DiscardResource),
        &["aliasing/i-8-discard-then-write", "aliasing/i-8-discard-then-read"],
    ),
    wrong(
        "DiscardResource discards all subresources, whatever region it is asked for",
        Lies { ignores_discard_region: true, ..HONEST },
        &["aliasing/i-8-discard-of-one-mip"],
    ),
    wrong(
        "enhanced barriers are not recorded",
        lie!(forgets, Command::Barrier),
        &["aliasing/e-1-waits-for-the-copy", "aliasing/e-4-access-after-no-access"],
    ),
    wrong(
        "the flag DISCARD of a texture barrier is ignored",
        lie!(texture_barrier, |barrier| barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_NONE),
        &["aliasing/e-3-discard-initialises", "aliasing/e-3-discard-of-a-defined-layout"],
    ),
    wrong(
        "every texture barrier from UNDEFINED discards",
        lie!(texture_barrier, |barrier| {
            if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
                barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_DISCARD;
            }
        }),
        &["aliasing/e-3-nothing-initialises"],
    ),
    wrong(
        "every buffer barrier waits for everything",
        lie!(buffer_barrier, |barrier| {
            if barrier.SyncBefore != D3D12_BARRIER_SYNC_NONE {
                barrier.SyncBefore = D3D12_BARRIER_SYNC_ALL;
            }
        }),
        &["aliasing/e-1-waits-for-something-else"],
    ),
    wrong(
        "every buffer barrier is of the whole buffer",
        lie!(buffer_barrier, |barrier| (barrier.Offset, barrier.Size) = (0, u64::MAX)),
        &["aliasing/e-8-part-of-a-buffer"],
    ),
    wrong(
        "the barriers of one call are taken as if each had a call of its own",
        Lies { splits_barriers: true, ..HONEST },
        &["aliasing/e-5-discard-beside-a-flush", "aliasing/e-6-changes-in-one-call"],
    ),
    wrong(
        "a texture barrier from UNDEFINED may have accesses before it",
        lie!(texture_barrier, |barrier| {
            if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
                barrier.AccessBefore = D3D12_BARRIER_ACCESS_NO_ACCESS;
            }
        }),
        &["aliasing/e-2-undefined-with-an-access"],
    ),
];

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
