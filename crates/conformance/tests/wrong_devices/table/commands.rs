//! Commands, fences and residency that do not do what they say.

use heapwright_d3d12::*;

use super::{HONEST, WrongDevice};
use crate::lies::{Command, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "copies-one-byte-less",
        what: "CopyBufferRegion leaves out the last byte",
        profile: "discrete",
        lies: Lies { copy: Some(|_, _, len| *len -= 1), ..HONEST },
        caught_by: &["copies/buffer-on-a-direct-queue", "copies/buffer-region"],
    },
    WrongDevice {
        name: "copies-to-the-start",
        what: "CopyBufferRegion ignores the destination's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|to, _, _| *to = 0), ..HONEST },
        caught_by: &["copies/buffer-region", "copies/placed-neighbours"],
    },
    WrongDevice {
        name: "copies-from-the-start",
        what: "CopyBufferRegion ignores the source's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|_, from, _| *from = 0), ..HONEST },
        caught_by: &["copies/buffer-region"],
    },
    WrongDevice {
        name: "waits-for-nothing",
        what: "queues do not wait for fences",
        profile: "discrete",
        lies: Lies { ignores_wait: true, ..HONEST },
        caught_by: &["fences/queue-waits-for-the-cpu", "fences/queue-waits-for-a-queue"],
    },
    WrongDevice {
        name: "signals-too-much",
        what: "queues signal one more than they are asked to",
        profile: "discrete",
        lies: Lies { signal: Some(|value| value + 1), ..HONEST },
        caught_by: &["fences/queue-signals"],
    },
    WrongDevice {
        name: "fences-lag",
        what: "GetCompletedValue is one behind",
        profile: "discrete",
        lies: Lies { completed: Some(|value| value.saturating_sub(1)), ..HONEST },
        caught_by: &["fences/initial-value", "fences/signal-from-the-cpu"],
    },
    WrongDevice {
        name: "null-event-returns",
        what: "SetEventOnCompletion without an event never blocks",
        profile: "discrete",
        lies: Lies { ignores_null_event: true, ..HONEST },
        caught_by: &["fences/null-event-blocks"],
    },
    WrongDevice {
        name: "residency-refused",
        what: "MakeResident and Evict answer E_OUTOFMEMORY",
        profile: "discrete",
        lies: Lies { residency: Some(E_OUTOFMEMORY), ..HONEST },
        caught_by: &["residency/heap-round-trip", "residency/counts-nest"],
    },
    WrongDevice {
        name: "residency-uncounted",
        what: "MakeResident counts nothing",
        profile: "discrete",
        lies: Lies { uncounted: true, ..HONEST },
        caught_by: &["residency/one-of-two-evicts-changes-nothing", "residency/counts-nest"],
    },
    WrongDevice {
        name: "residency-from-the-beginning",
        what: "CREATE_NOT_RESIDENT has no effect",
        profile: "discrete",
        lies: Lies { heap: Some(|desc| desc.Flags &= !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT), ..HONEST },
        caught_by: &["residency/not-resident-takes-no-memory"],
    },
    WrongDevice {
        name: "forgets-copyresource",
        what: "lists do not record CopyResource",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyResource), ..HONEST },
        caught_by: &[
            "copies/buffer-copyresource",
            "copies/texture-copyresource",
            "copies/aliases-share-bytes",
            "tiles/mapped-tiles-hold-bytes",
            "tiles/copied-mappings",
        ],
    },
    WrongDevice {
        name: "forgets-copytextureregion",
        what: "lists do not record CopyTextureRegion",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTextureRegion), ..HONEST },
        caught_by: &["copies/texture-round-trip", "copies/texture-with-mips", "copies/texture-region"],
    },
    WrongDevice {
        name: "forgets-copytiles",
        what: "lists do not record CopyTiles",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTiles), ..HONEST },
        caught_by: &["tiles/copied-tiles"],
    },
    WrongDevice {
        name: "forgets-clearrendertargetview",
        what: "lists do not record ClearRenderTargetView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearRenderTargetView), ..HONEST },
        caught_by: &["copies/clear-render-target"],
    },
    WrongDevice {
        name: "forgets-cleardepthstencilview",
        what: "lists do not record ClearDepthStencilView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearDepthStencilView), ..HONEST },
        caught_by: &["copies/clear-depth"],
    },
    WrongDevice {
        name: "forgets-clearunorderedaccessviewuint",
        what: "lists do not record ClearUnorderedAccessViewUint",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearUnorderedAccessViewUint), ..HONEST },
        caught_by: &["copies/clear-unordered-access"],
    },
];
