//! Devices whose tight alignment violates Microsoft's *Tight Placed Resource Alignment*.

use heapwright_d3d12::*;

use super::{HONEST, KIB_64, TIGHT, WrongDevice, field, is_buffer, is_valid, tight_alignment, wants_tight};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "alignment-above-the-maximum",
        what: "tight buffers are aligned to 512 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(512, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-max"],
    },
    WrongDevice {
        name: "alignment-below-the-minimum",
        what: "tight buffers are aligned to 4 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(4, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-min"],
    },
    WrongDevice {
        name: "alignment-no-power-of-two",
        what: "tight buffers are aligned to 96 bytes",
        profile: "discrete",
        lies: Lies { allocation: Some(|descs, info| tight_alignment(96, descs, info)), ..HONEST },
        caught_by: &["tight/placed-buffer-alignment-power-of-two"],
    },
    WrongDevice {
        name: "size-ignores-the-width",
        what: "tight buffers take 64 KiB",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if wants_tight(descs) && is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "flag-makes-it-worse",
        what: "a tight buffer takes twice what it takes without the flag",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if wants_tight(descs) && is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) * 2;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/never-worse-for-buffers", "tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "tier-without-the-behaviour",
        what: "tight alignment tier 1 is reported, and the flag refused",
        profile: "old-ddi",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 1);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-means-the-flag"],
    },
    WrongDevice {
        name: "behaviour-without-the-tier",
        what: "tight alignment tier NOT_SUPPORTED is reported, and the flag taken",
        profile: "uma",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 0);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-means-the-flag"],
    },
    WrongDevice {
        name: "tier-that-does-not-exist",
        what: "the tight alignment tier is 7",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, answer.fields, 0, 7);
            }),
            ..HONEST
        },
        caught_by: &["features/tight-alignment-known-tier"],
    },
    WrongDevice {
        name: "flag-ignored",
        what: "the flag is taken and has no effect",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| desc.Flags &= !TIGHT),
            resource: Some(|request| request.desc.Flags &= !TIGHT),
            ..HONEST
        },
        caught_by: &["tight/placed-buffer-alignment-max", "tight/committed-buffer-alignment"],
    },
    WrongDevice {
        name: "flag-taken-without-the-tier",
        what: "an old driver's device strips the flag where it must refuse it",
        profile: "old-ddi",
        lies: Lies {
            allocation_request: Some(|desc| desc.Flags &= !TIGHT),
            resource: Some(|request| request.desc.Flags &= !TIGHT),
            ..HONEST
        },
        caught_by: &["tight/flag-without-the-tier-refused"],
    },
    WrongDevice {
        name: "cross-adapter-is-tight",
        what: "cross-adapter buffers are aligned tightly",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Flags & TIGHT != 0 {
                    desc.Flags &= !D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/cross-adapter-buffers-stay-at-64-kib", "tight/cross-adapter-msaa-stays-at-4-mib"],
    },
    WrongDevice {
        name: "explicit-alignment-dropped",
        what: "a non-zero Alignment beside the flag is taken and not honoured",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Flags & TIGHT != 0 {
                    desc.Alignment = 0;
                }
            }),
            resource: Some(|request| {
                if request.desc.Flags & TIGHT != 0 {
                    request.desc.Alignment = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "tight/explicit-alignment",
            "tight/explicit-alignment-refused",
            "tight/explicit-alignment-no-power-of-two-refused",
        ],
    },
    WrongDevice {
        name: "placed-in-64-kib",
        what: "a placed tight buffer takes 64 KiB of its heap",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if request.desc.Flags & TIGHT != 0 && request.place.is_some() {
                    request.desc.Width = request.desc.Width.next_multiple_of(KIB_64);
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/placed-up-to-the-end-of-the-heap", "tight/placed-at-each-multiple"],
    },
    WrongDevice {
        name: "reserved-and-tight",
        what: "reserved resources may carry the flag, which changes nothing",
        profile: "discrete",
        lies: Lies { reserved: Some(|desc| desc.Flags &= !TIGHT), ..HONEST },
        caught_by: &["tight/reserved-buffers-refused", "tight/reserved-textures-refused"],
    },
    WrongDevice {
        name: "committed-alignment-of-placed",
        what: "committed tight buffers report 256 bytes",
        profile: "discrete",
        lies: Lies { desc: Some(|desc| desc.Alignment = desc.Alignment.min(256)), ..HONEST },
        caught_by: &["tight/committed-buffer-alignment", "buffer/desc-alignment-is-filled-in"],
    },
    WrongDevice {
        name: "default-is-tight",
        what: "buffers without the flag are aligned tightly",
        profile: "discrete",
        lies: Lies {
            allocation_request: Some(|desc| {
                if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER && desc.Alignment == 0 {
                    desc.Flags |= TIGHT;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/buffers-are-aligned-to-64-kib",
            "allocation-info/buffers-are-sized-to-64-kib",
            "tight/default-buffers-are-unaffected",
        ],
    },
    WrongDevice {
        name: "default-placed-tightly",
        what: "buffers without the flag may be placed at tight offsets",
        profile: "discrete",
        lies: Lies {
            resource: Some(|request| {
                if is_buffer(request) && request.place.is_some() && request.desc.Alignment == 0 {
                    request.desc.Flags |= TIGHT;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/default-buffers-keep-their-offsets", "buffer/placed-unaligned-refused"],
    },
    WrongDevice {
        name: "newer-call-forgets-the-flag",
        what: "GetResourceAllocationInfo2 rounds to 64 KiB",
        profile: "discrete",
        lies: Lies {
            newer_allocation: Some(|info| {
                if is_valid(info) {
                    info.SizeInBytes = info.SizeInBytes.next_multiple_of(KIB_64) + KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["tight/the-newer-info-calls-know-it", "allocation-info/info2-agrees"],
    },
];
