//! Devices that report wrong sizes and layouts.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{HONEST, KIB_64, TIGHT, WrongDevice, is_valid};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "invalid-is-not-uint64-max",
        what: "invalid descriptions take 0 bytes",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|_, info| {
                if !is_valid(info) {
                    info.SizeInBytes = 0;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "buffer/width-0-refused",
            "buffer/format-refused",
            "allocation-info/one-invalid-spoils-all",
        ],
    },
    WrongDevice {
        name: "order-does-not-matter",
        what: "several descriptions are summed up in whichever order they come",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.len() > 1 && is_valid(info) {
                    let sum: u64 = descs.iter().map(|desc| desc.Width.next_multiple_of(256)).sum();
                    info.SizeInBytes = sum.next_multiple_of(info.Alignment);
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/order-changes-the-size",
            "allocation-info/tight-and-default-are-a-structure",
        ],
    },
    WrongDevice {
        name: "alignment-of-the-first",
        what: "the alignment of several is that of the first",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if descs.first().is_some_and(|desc| desc.Flags & TIGHT != 0) && is_valid(info) {
                    info.Alignment = 256;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/alignment-is-the-largest", "allocation-info/order-changes-the-size"],
    },
    WrongDevice {
        name: "size-below-the-width",
        what: "sizes are rounded down",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|descs, info| {
                if let ([desc], true) = (descs, is_valid(info)) {
                    info.SizeInBytes = desc.Width / info.Alignment * info.Alignment;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/buffers-are-sized-to-64-kib", "tight/buffer-size-is-its-width"],
    },
    WrongDevice {
        name: "asking-changes-the-answer",
        what: "every other answer is 64 KiB larger",
        profile: "discrete",
        lies: Lies {
            allocation: Some(|_, info| {
                static ASKED: AtomicU64 = AtomicU64::new(0);
                if is_valid(info) && ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                    info.SizeInBytes += KIB_64;
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/asking-changes-nothing", "tight/asking-changes-nothing"],
    },
    WrongDevice {
        name: "parts-all-at-zero",
        what: "GetResourceAllocationInfo1 puts everything at offset 0",
        profile: "discrete",
        lies: Lies { parts: Some(|parts| parts.iter_mut().for_each(|part| part.Offset = 0)), ..HONEST },
        caught_by: &["allocation-info/info1-offsets", "allocation-info/info1-parts-do-not-overlap"],
    },
    WrongDevice {
        name: "parts-overlap",
        what: "GetResourceAllocationInfo1 begins a part 8 bytes behind the beginning of the one before it, if it is aligned so",
        profile: "discrete",
        lies: Lies {
            parts: Some(|parts| {
                for index in 1..parts.len() {
                    let before = parts[index - 1].Offset;
                    parts[index].Offset = (before + 8).next_multiple_of(parts[index].Alignment.min(8));
                }
            }),
            ..HONEST
        },
        caught_by: &["allocation-info/info1-parts-do-not-overlap"],
    },
    WrongDevice {
        name: "parts-unaligned",
        what: "GetResourceAllocationInfo1 packs without alignment",
        profile: "discrete",
        lies: Lies {
            parts: Some(|parts| {
                if let Some(last) = parts.last_mut() {
                    last.Offset += 8;
                }
            }),
            ..HONEST
        },
        caught_by: &[
            "allocation-info/info1-offsets-are-places",
            "allocation-info/info1-parts-do-not-overlap",
        ],
    },
];
