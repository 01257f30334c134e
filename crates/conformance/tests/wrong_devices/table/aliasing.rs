//! Devices that judge aliasing wrongly, or that change barriers.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::wrong_devices;
use crate::lies::Command;

wrong_devices! {
    "no violation is ever reported": hides_violations
        => "aliasing/i-2-invalid-is-read", "aliasing/b-1-no-barrier-between";
    "a violation does not say why contents are invalid": violation = |violation| violation.Because = [0; 8]
        => "aliasing/i-2-invalid-is-read", "aliasing/h-2-unknown-layout-and-a-buffer";
    "every violation is of I-2": violation = |violation| violation.Rule = *b"I-2\0\0\0\0\0"
        => "aliasing/b-1-no-barrier-between", "aliasing/i-4-read-first";
    "every violation is an error":
        violation = |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_ERROR
        => "aliasing/b-6-transition-then-barrier", "aliasing/b-8-barrier-that-does-nothing";
    "every violation is a warning":
        violation = |violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_WARNING
        => "aliasing/violation-says-where";
    "a violation's HeapOffset is not from the beginning of the heap":
        violation = |violation| violation.HeapOffset = 0 => "aliasing/violation-says-where";
    "GetContents says that everything is valid": contents = HEAPWRIGHT_ALIASING_CONTENTS_VALID
        => "aliasing/i-1-writes-invalidate";
    "what becomes undefined keeps its bytes": tracking = |tracking| tracking.Scramble = 0
        => "aliasing/i-2-invalid-bytes-are-others", "aliasing/i-8-discard-then-read";
    "the simple model is judged as the advanced one":
        tracking = |tracking| tracking.Model = tracking.Model.min(1) * 2
        => "aliasing/i-12-used-without-activation", "aliasing/b-3-names-none-in-the-simple-model";
    "the advanced model is judged as the simple one":
        tracking = |tracking| tracking.Model = tracking.Model.min(1)
        => "aliasing/b-2-two-calls", "aliasing/h-2-buffers";
    "aliasing barriers are not recorded":
        barriers = |barriers| barriers.retain(|barrier| !is_aliasing(barrier))
        => "aliasing/b-1-barrier-between", "aliasing/i-12-activated-then-used";
    "the barriers of a call are recorded from the last to the first": barriers = |barriers| barriers.reverse()
        => "aliasing/b-6-barrier-then-transition", "aliasing/b-6-transition-then-barrier";
    "every aliasing barrier is for any resource": barriers = |barriers| {
        for barrier in barriers.iter_mut().filter(|barrier| is_aliasing(barrier)) {
            *barrier = any();
        }
    } => "aliasing/b-4-one-of-two-predecessors";
    "transitions are not recorded": barriers = |barriers| barriers.retain(is_aliasing)
        => "aliasing/h-5-tiles-in-common", "aliasing/h-6-both-render-targets";
    "a transition of one subresource is one of all":
        barriers = |barriers| barriers.iter_mut().for_each(of_all)
        => "aliasing/h-6-one-subresource-in-common";
    "DiscardResource is not recorded": forgets = Command::DiscardResource
        => "aliasing/i-8-discard-then-write", "aliasing/i-8-discard-then-read";
    "DiscardResource discards all subresources, whatever region it is asked for": ignores_discard_region
        => "aliasing/i-8-discard-of-one-mip";
    "enhanced barriers are not recorded": forgets = Command::Barrier
        => "aliasing/e-1-waits-for-the-copy", "aliasing/e-4-access-after-no-access";
    "the flag DISCARD of a texture barrier is ignored":
        texture_barrier = |barrier| barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_NONE
        => "aliasing/e-3-discard-initialises", "aliasing/e-3-discard-of-a-defined-layout";
    "every texture barrier from UNDEFINED discards": texture_barrier = |barrier| {
        if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
            barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_DISCARD;
        }
    } => "aliasing/e-3-nothing-initialises";
    "every buffer barrier waits for everything": buffer_barrier = |barrier| {
        if barrier.SyncBefore != D3D12_BARRIER_SYNC_NONE {
            barrier.SyncBefore = D3D12_BARRIER_SYNC_ALL;
        }
    } => "aliasing/e-1-waits-for-something-else";
    "every buffer barrier is of the whole buffer":
        buffer_barrier = |barrier| (barrier.Offset, barrier.Size) = (0, u64::MAX)
        => "aliasing/e-8-part-of-a-buffer";
    "the barriers of one call are taken as if each had a call of its own": splits_barriers
        => "aliasing/e-5-discard-beside-a-flush", "aliasing/e-6-changes-in-one-call";
    "a texture barrier from UNDEFINED may have accesses before it": texture_barrier = |barrier| {
        if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
            barrier.AccessBefore = D3D12_BARRIER_ACCESS_NO_ACCESS;
        }
    } => "aliasing/e-2-undefined-with-an-access";
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
