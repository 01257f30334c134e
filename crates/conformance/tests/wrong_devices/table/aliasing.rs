//! Devices that judge aliasing wrongly, or that change barriers.

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::{HONEST, WrongDevice};
use crate::lies::{Command, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "aliasing-hidden",
        what: "no violation is ever reported",
        profile: "discrete",
        lies: Lies { hides_violations: true, ..HONEST },
        caught_by: &["aliasing/i-2-invalid-is-read", "aliasing/b-1-no-barrier-between"],
    },
    WrongDevice {
        name: "aliasing-unexplained",
        what: "a violation does not say why contents are invalid",
        profile: "discrete",
        lies: Lies { violation: Some(|violation| violation.Because = [0; 8]), ..HONEST },
        caught_by: &["aliasing/i-2-invalid-is-read", "aliasing/h-2-unknown-layout-and-a-buffer"],
    },
    WrongDevice {
        name: "aliasing-one-rule-for-all",
        what: "every violation is of I-2",
        profile: "discrete",
        lies: Lies { violation: Some(|violation| violation.Rule = *b"I-2\0\0\0\0\0"), ..HONEST },
        caught_by: &["aliasing/b-1-no-barrier-between", "aliasing/i-4-read-first"],
    },
    WrongDevice {
        name: "aliasing-warnings-are-errors",
        what: "every violation is an error",
        profile: "discrete",
        lies: Lies {
            violation: Some(|violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_ERROR),
            ..HONEST
        },
        caught_by: &["aliasing/b-6-transition-then-barrier", "aliasing/b-8-barrier-that-does-nothing"],
    },
    WrongDevice {
        name: "aliasing-errors-are-warnings",
        what: "every violation is a warning",
        profile: "discrete",
        lies: Lies {
            violation: Some(|violation| violation.Severity = HEAPWRIGHT_ALIASING_SEVERITY_WARNING),
            ..HONEST
        },
        caught_by: &["aliasing/violation-says-where"],
    },
    WrongDevice {
        name: "aliasing-offset-in-the-resource",
        what: "a violation's HeapOffset is not from the beginning of the heap",
        profile: "discrete",
        lies: Lies { violation: Some(|violation| violation.HeapOffset = 0), ..HONEST },
        caught_by: &["aliasing/violation-says-where"],
    },
    WrongDevice {
        name: "aliasing-all-is-valid",
        what: "GetContents says that everything is valid",
        profile: "discrete",
        lies: Lies { contents: Some(HEAPWRIGHT_ALIASING_CONTENTS_VALID), ..HONEST },
        caught_by: &["aliasing/i-1-writes-invalidate"],
    },
    WrongDevice {
        name: "aliasing-not-scrambled",
        what: "what becomes undefined keeps its bytes",
        profile: "discrete",
        lies: Lies { tracking: Some(|tracking| tracking.Scramble = 0), ..HONEST },
        caught_by: &["aliasing/i-2-invalid-bytes-are-others", "aliasing/i-8-discard-then-read"],
    },
    WrongDevice {
        name: "aliasing-always-advanced",
        what: "the simple model is judged as the advanced one",
        profile: "discrete",
        lies: Lies { tracking: Some(|tracking| tracking.Model = tracking.Model.min(1) * 2), ..HONEST },
        caught_by: &["aliasing/i-12-used-without-activation", "aliasing/b-3-names-none-in-the-simple-model"],
    },
    WrongDevice {
        name: "aliasing-always-simple",
        what: "the advanced model is judged as the simple one",
        profile: "discrete",
        lies: Lies { tracking: Some(|tracking| tracking.Model = tracking.Model.min(1)), ..HONEST },
        caught_by: &["aliasing/b-2-two-calls", "aliasing/h-2-buffers"],
    },
    WrongDevice {
        name: "barriers-dropped",
        what: "aliasing barriers are not recorded",
        profile: "discrete",
        lies: Lies { barriers: Some(|barriers| barriers.retain(|barrier| !is_aliasing(barrier))), ..HONEST },
        caught_by: &["aliasing/b-1-barrier-between", "aliasing/i-12-activated-then-used"],
    },
    WrongDevice {
        name: "barriers-reversed",
        what: "the barriers of a call are recorded from the last to the first",
        profile: "discrete",
        lies: Lies { barriers: Some(|barriers| barriers.reverse()), ..HONEST },
        caught_by: &["aliasing/b-6-barrier-then-transition", "aliasing/b-6-transition-then-barrier"],
    },
    WrongDevice {
        name: "barriers-for-any",
        what: "every aliasing barrier is for any resource",
        profile: "discrete",
        lies: Lies {
            barriers: Some(|barriers| {
                for barrier in barriers.iter_mut().filter(|barrier| is_aliasing(barrier)) {
                    *barrier = any();
                }
            }),
            ..HONEST
        },
        caught_by: &["aliasing/b-4-one-of-two-predecessors"],
    },
    WrongDevice {
        name: "transitions-dropped",
        what: "transitions are not recorded",
        profile: "discrete",
        lies: Lies { barriers: Some(|barriers| barriers.retain(is_aliasing)), ..HONEST },
        caught_by: &["aliasing/h-5-tiles-in-common", "aliasing/h-6-both-render-targets"],
    },
    WrongDevice {
        name: "transitions-of-all-subresources",
        what: "a transition of one subresource is one of all",
        profile: "discrete",
        lies: Lies { barriers: Some(|barriers| barriers.iter_mut().for_each(of_all)), ..HONEST },
        caught_by: &["aliasing/h-6-one-subresource-in-common"],
    },
    WrongDevice {
        name: "discards-dropped",
        what: "DiscardResource is not recorded",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::DiscardResource), ..HONEST },
        caught_by: &["aliasing/i-8-discard-then-write", "aliasing/i-8-discard-then-read"],
    },
    WrongDevice {
        name: "discards-everything",
        what: "DiscardResource discards all subresources, whatever region it is asked for",
        profile: "discrete",
        lies: Lies { ignores_discard_region: true, ..HONEST },
        caught_by: &["aliasing/i-8-discard-of-one-mip"],
    },
    WrongDevice {
        name: "enhanced-barriers-dropped",
        what: "enhanced barriers are not recorded",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::Barrier), ..HONEST },
        caught_by: &["aliasing/e-1-waits-for-the-copy", "aliasing/e-4-access-after-no-access"],
    },
    WrongDevice {
        name: "enhanced-discard-dropped",
        what: "the flag DISCARD of a texture barrier is ignored",
        profile: "discrete",
        lies: Lies {
            texture_barrier: Some(|barrier| barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_NONE),
            ..HONEST
        },
        caught_by: &["aliasing/e-3-discard-initialises", "aliasing/e-3-discard-of-a-defined-layout"],
    },
    WrongDevice {
        name: "enhanced-discards-always",
        what: "every texture barrier from UNDEFINED discards",
        profile: "discrete",
        lies: Lies {
            texture_barrier: Some(|barrier| {
                if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
                    barrier.Flags = D3D12_TEXTURE_BARRIER_FLAG_DISCARD;
                }
            }),
            ..HONEST
        },
        caught_by: &["aliasing/e-3-nothing-initialises"],
    },
    WrongDevice {
        name: "enhanced-barriers-wait-for-all",
        what: "every buffer barrier waits for everything",
        profile: "discrete",
        lies: Lies {
            buffer_barrier: Some(|barrier| {
                if barrier.SyncBefore != D3D12_BARRIER_SYNC_NONE {
                    barrier.SyncBefore = D3D12_BARRIER_SYNC_ALL;
                }
            }),
            ..HONEST
        },
        caught_by: &["aliasing/e-1-waits-for-something-else"],
    },
    WrongDevice {
        name: "enhanced-barriers-of-all-bytes",
        what: "every buffer barrier is of the whole buffer",
        profile: "discrete",
        lies: Lies {
            buffer_barrier: Some(|barrier| (barrier.Offset, barrier.Size) = (0, u64::MAX)),
            ..HONEST
        },
        caught_by: &["aliasing/e-8-part-of-a-buffer"],
    },
    WrongDevice {
        name: "enhanced-barriers-one-by-one",
        what: "the barriers of one call are taken as if each had a call of its own",
        profile: "discrete",
        lies: Lies { splits_barriers: true, ..HONEST },
        caught_by: &["aliasing/e-5-discard-beside-a-flush", "aliasing/e-6-changes-in-one-call"],
    },
    WrongDevice {
        name: "enhanced-undefined-with-an-access",
        what: "a texture barrier from UNDEFINED may have accesses before it",
        profile: "discrete",
        lies: Lies {
            texture_barrier: Some(|barrier| {
                if barrier.LayoutBefore == D3D12_BARRIER_LAYOUT_UNDEFINED {
                    barrier.AccessBefore = D3D12_BARRIER_ACCESS_NO_ACCESS;
                }
            }),
            ..HONEST
        },
        caught_by: &["aliasing/e-2-undefined-with-an-access"],
    },
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
