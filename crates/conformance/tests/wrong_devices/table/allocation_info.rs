//! Devices that report wrong sizes and layouts.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{KIB_64, TIGHT, is_valid, wrong_devices};

wrong_devices! {
    "invalid descriptions take 0 bytes": allocation = |_, info| {
        if !is_valid(info) {
            info.SizeInBytes = 0;
        }
    } => "buffer/width-0-refused", "buffer/format-refused", "allocation-info/one-invalid-spoils-all";
    "several descriptions are summed up in whichever order they come": allocation = |descs, info| {
        if descs.len() > 1 && is_valid(info) {
            let sum: u64 = descs.iter().map(|desc| desc.Width.next_multiple_of(256)).sum();
            info.SizeInBytes = sum.next_multiple_of(info.Alignment);
        }
    } => "allocation-info/order-changes-the-size", "allocation-info/tight-and-default-are-a-structure";
    "the alignment of several is that of the first": allocation = |descs, info| {
        if descs.first().is_some_and(|desc| desc.Flags & TIGHT != 0) && is_valid(info) {
            info.Alignment = 256;
        }
    } => "allocation-info/alignment-is-the-largest", "allocation-info/order-changes-the-size";
    "sizes are rounded down": allocation = |descs, info| {
        if let ([desc], true) = (descs, is_valid(info)) {
            info.SizeInBytes = desc.Width / info.Alignment * info.Alignment;
        }
    } => "allocation-info/buffers-are-sized-to-64-kib", "tight/buffer-size-is-its-width";
    "every other answer is 64 KiB larger": allocation = |_, info| {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        if is_valid(info) && ASKED.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            info.SizeInBytes += KIB_64;
        }
    } => "allocation-info/asking-changes-nothing";
    "GetResourceAllocationInfo1 puts everything at offset 0":
        parts = |parts| parts.iter_mut().for_each(|part| part.Offset = 0)
        => "allocation-info/info1-offsets", "allocation-info/info1-parts-do-not-overlap";
    "GetResourceAllocationInfo1 begins each part 8 bytes after the previous one begins":
        parts = |parts| {
            for index in 1..parts.len() {
                let before = parts[index - 1].Offset;
                parts[index].Offset = (before + 8).next_multiple_of(parts[index].Alignment.min(8));
            }
        } => "allocation-info/info1-parts-do-not-overlap";
    "GetResourceAllocationInfo1 packs without alignment": parts = |parts| {
        if let Some(last) = parts.last_mut() {
            last.Offset += 8;
        }
    } => "allocation-info/info1-offsets-are-places", "allocation-info/info1-parts-do-not-overlap";
}
