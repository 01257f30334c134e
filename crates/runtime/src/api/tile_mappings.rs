//! `UpdateTileMappings`: the mappings from tiles to heaps.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::command_list::read_array;
use super::heap::Heap;
use crate::drivers::tiles::{TileMapping, TileMemory};
use crate::rules::tile_regions::{TILE_SIZE, TileRun};
use crate::rules::{self, Refusal, placement};

/// The ranges of `UpdateTileMappings`, as passed by the application.
pub(super) struct TileRanges {
    pub(super) count: u32,
    pub(super) flags: *const D3D12_TILE_RANGE_FLAGS,
    pub(super) heap_offsets: *const u32,
    pub(super) tile_counts: *const u32,
}

/// One range: the memory for `count` tiles.
struct Range {
    flags: D3D12_TILE_RANGE_FLAGS,
    first: u32,
    count: u32,
}

impl Range {
    fn is_in_heap(&self) -> bool {
        matches!(self.flags, D3D12_TILE_RANGE_FLAG_NONE | D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE)
    }
}

/// Returns the mappings that assign `ranges` to `regions`, both in order.
///
/// # Errors
///
/// Returns E_INVALIDARG if the total numbers of tiles of regions and ranges differ, if a range exceeds the heap, and if
/// the heap cannot be used for `resource`.
///
/// # Safety
///
/// The arrays of `ranges` are null or have `count` elements.
pub(super) unsafe fn plan(
    resource: &rules::resource::Resource,
    regions: &[TileRun],
    heap: Option<&Heap>,
    ranges: &TileRanges,
) -> Result<Vec<TileMapping>, Refusal> {
    let total: u64 = regions.iter().map(|region| u64::from(region.count)).sum();
    // SAFETY: guaranteed by the caller.
    let ranges = unsafe { read_ranges(ranges, total) }?;
    let covered: u64 = ranges.iter().map(|range| u64::from(range.count)).sum();
    if covered != total {
        return Err(refusal(format!("the ranges have {covered} tiles, but the regions have {total}")));
    }
    for (index, range) in ranges.iter().enumerate() {
        check_range(range, heap).map_err(|why| refusal(format!("range {index}: {why}")))?;
    }
    // A heap that no range refers to is not checked.
    let is_mapped = ranges.iter().any(|range| range.is_in_heap());
    if let Some(heap) = heap.filter(|_| is_mapped) {
        placement::check_heap(resource, heap.desc().Properties.Type, heap.desc().Flags)
            .map_err(|refusal| refusal.or_id(D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER))?;
    }
    let mut mappings = Vec::new();
    let mut ranges = ranges.into_iter();
    let mut rest = Range { flags: D3D12_TILE_RANGE_FLAG_SKIP, first: 0, count: 0 };
    for region in regions {
        let mut region = *region;
        while region.count != 0 {
            while rest.count == 0 {
                // There is a next range, because the totals are equal.
                let Some(next) = ranges.next() else { return Ok(mappings) };
                rest = next;
            }
            let count = region.count.min(rest.count);
            let memory = match (rest.flags, heap) {
                (D3D12_TILE_RANGE_FLAG_SKIP, _) => None,
                (D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE, Some(heap)) => {
                    Some(TileMemory::Repeated { heap: Arc::clone(heap.memory()), tile: rest.first })
                }
                (D3D12_TILE_RANGE_FLAG_NONE, Some(heap)) => {
                    Some(TileMemory::Heap { heap: Arc::clone(heap.memory()), first: rest.first })
                }
                _ => Some(TileMemory::Null),
            };
            mappings.extend(memory.map(|memory| TileMapping { first: region.first, count, memory }));
            region = TileRun { first: region.first + count, count: region.count - count };
            rest.count -= count;
            if rest.flags == D3D12_TILE_RANGE_FLAG_NONE {
                rest.first = rest.first.saturating_add(count);
            }
        }
    }
    Ok(mappings)
}

/// # Safety
///
/// Same as for [`plan`].
unsafe fn read_ranges(ranges: &TileRanges, total: u64) -> Result<Vec<Range>, Refusal> {
    let count = ranges.count;
    if count == 0 {
        return Err(refusal("NumRanges is 0".to_owned()));
    }
    // SAFETY: guaranteed by the caller, for all three.
    let (flags, offsets, counts) = unsafe {
        (
            optional_array(count, ranges.flags)?,
            optional_array(count, ranges.heap_offsets)?,
            optional_array(count, ranges.tile_counts)?,
        )
    };
    // Without counts, a single range covers all tiles, and several ranges have one tile each.
    let whole = if count == 1 { u32::try_from(total).unwrap_or(u32::MAX) } else { 1 };
    let len = usize::try_from(count).map_err(|_| refusal(format!("NumRanges {count} is too large")))?;
    (0..len)
        .map(|index| {
            let at = |array: Option<&[u32]>| array.and_then(|array| array.get(index)).copied();
            let flags =
                flags.and_then(|flags| flags.get(index)).copied().unwrap_or(D3D12_TILE_RANGE_FLAG_NONE);
            let range = Range { flags, first: at(offsets).unwrap_or(0), count: at(counts).unwrap_or(whole) };
            if range.is_in_heap() && offsets.is_none() {
                return Err(refusal(
                    "pHeapRangeStartOffsets is null, but a range maps tiles of the heap".to_owned(),
                ));
            }
            Ok(range)
        })
        .collect()
}

/// # Safety
///
/// `pointer` is null or points to `count` elements that stay readable while the result is in use.
unsafe fn optional_array<'a, T>(count: u32, pointer: *const T) -> Result<Option<&'a [T]>, Refusal> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { read_array(count, pointer, "an array of ranges") }.map(Some)
}

fn check_range(range: &Range, heap: Option<&Heap>) -> Result<(), String> {
    let tiles = match range.flags {
        D3D12_TILE_RANGE_FLAG_NULL | D3D12_TILE_RANGE_FLAG_SKIP => return Ok(()),
        D3D12_TILE_RANGE_FLAG_NONE => range.count,
        D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE => 1,
        other => return Err(format!("{other:#x} is not a valid D3D12_TILE_RANGE_FLAGS")),
    };
    let Some(heap) = heap else {
        return Err("the range maps tiles of the heap, but pHeap is null".to_owned());
    };
    let all = heap.desc().SizeInBytes / TILE_SIZE;
    if u64::from(range.first) + u64::from(tiles) > all {
        return Err(format!("{tiles} tiles starting at {} exceed the heap's {all} tiles", range.first));
    }
    Ok(())
}

fn refusal(message: String) -> Refusal {
    Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_UPDATETILEMAPPINGS_INVALID_PARAMETER)
}
