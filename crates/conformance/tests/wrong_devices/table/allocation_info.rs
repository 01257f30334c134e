//! Devices that report wrong sizes and layouts.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{KIB_64, TIGHT, WrongDevice, is_valid, lie, wrong};
use crate::lies::{HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "invalid descriptions take 0 bytes",
        lie!(allocation, |_, info| {
            if !is_valid(info) {
                info.SizeInBytes = 0;
            }
        }),
        &["buffer/width-0-refused", "buffer/format-refused", "allocation-info/one-invalid-spoils-all"],
    ),
    wrong(
        "several descriptions are summed up in whichever order they come",
        lie!(allocation, |descs, info| {
            if descs.len() > 1 && is_valid(info) {
                let sum: u64 = descs.iter().map(|desc| desc.Width.next_multiple_of(256)).sum();
                info.SizeInBytes = sum.next_multiple_of(info.Alignment);
            }
        }),
        &["allocation-info/order-changes-the-size", "allocation-info/tight-and-default-are-a-structure"],
    ),
    wrong(
        "the alignment of several is that of the first",
        lie!(allocation, |descs, info| {
            if descs.first().is_some_and(|desc| desc.Flags & TIGHT != 0) && is_valid(info) {
                info.Alignment = 256;
            }
        }),
        &["allocation-info/alignment-is-the-largest", "allocation-info/order-changes-the-size"],
    ),
    wrong(
        "sizes are rounded down",
        lie!(allocation, |descs, info| {
            if let ([desc], true) = (descs, is_valid(info)) {
                info.SizeInBytes = desc.Width / info.Alignment * info.Alignment;
            }
        }),
        &["allocation-info/buffers-are-sized-to-64-kib", "tight/buffer-size-is-its-width"],
    ),
    wrong(
        "every other answer is 64 KiB larger",
        lie!(allocation, |_, info| {
            static ASKED: AtomicU64 = AtomicU64::new(0);
            if is_valid(info) && ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                info.SizeInBytes += KIB_64;
            }
        }),
        &["allocation-info/asking-changes-nothing", "tight/asking-changes-nothing"],
    ),
    wrong(
        "GetResourceAllocationInfo1 puts everything at offset 0",
        lie!(parts, |parts| parts.iter_mut().for_each(|part| part.Offset = 0)),
        &["allocation-info/info1-offsets", "allocation-info/info1-parts-do-not-overlap"],
    ),
    wrong(
        "GetResourceAllocationInfo1 begins a part 8 bytes behind the beginning of the one before it, if it is aligned so",
        lie!(parts, |parts| {
            for index in 1..parts.len() {
                let before = parts[index - 1].Offset;
                parts[index].Offset = (before + 8).next_multiple_of(parts[index].Alignment.min(8));
            }
        }),
        &["allocation-info/info1-parts-do-not-overlap"],
    ),
    wrong(
        "GetResourceAllocationInfo1 packs without alignment",
        lie!(parts, |parts| {
            if let Some(last) = parts.last_mut() {
                last.Offset += 8;
            }
        }),
        &["allocation-info/info1-offsets-are-places", "allocation-info/info1-parts-do-not-overlap"],
    ),
];
