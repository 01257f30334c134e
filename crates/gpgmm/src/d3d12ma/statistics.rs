//! The blocks of an allocator with what is in them, and sums over them.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use heapwright::d3d12::*;
use heapwright::{MemoryTotals, SegmentGroup};
use windows_core::Interface;

use super::allocation::Memory;
use super::state::State;
use crate::debug_name;

/// `Statistics`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Statistics {
    pub(super) block_count: u32,
    pub(super) allocation_count: u32,
    pub(super) block_bytes: u64,
    pub(super) allocation_bytes: u64,
}

/// `DetailedStatistics`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct DetailedStatistics {
    pub(super) stats: Statistics,
    pub(super) unused_range_count: u32,
    /// Zero, so that programs can compare all bytes.
    padding: u32,
    pub(super) allocation_size_min: u64,
    pub(super) allocation_size_max: u64,
    pub(super) unused_range_size_min: u64,
    pub(super) unused_range_size_max: u64,
}

/// `TotalStatistics`.
#[repr(C)]
pub(super) struct TotalStatistics {
    pub(super) heap_types: [DetailedStatistics; HEAP_TYPES],
    pub(super) segment_groups: [DetailedStatistics; SegmentGroup::ALL.len()],
    pub(super) total: DetailedStatistics,
}

/// DEFAULT, UPLOAD, READBACK, CUSTOM and GPU_UPLOAD, by `D3D12_HEAP_TYPE` less one.
pub(super) const HEAP_TYPES: usize = 5;

impl Statistics {
    /// Returns those of what the library counts.
    pub(super) fn of(totals: MemoryTotals) -> Self {
        Self {
            block_count: count(totals.heap_count),
            allocation_count: count(totals.allocation_count),
            block_bytes: totals.reserved.get(),
            allocation_bytes: totals.used.get(),
        }
    }
}

pub(super) fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl DetailedStatistics {
    /// Returns those of nothing.
    pub(super) fn none() -> Self {
        Self { allocation_size_min: u64::MAX, unused_range_size_min: u64::MAX, ..Default::default() }
    }
}

/// A heap or a committed resource.
pub(super) struct Block {
    pub(super) size: u64,
    pub(super) heap_type: usize,
    pub(super) group: SegmentGroup,
    /// The number of the pool, unless it is a default one.
    pub(super) pool: Option<u64>,
    pub(super) is_committed: bool,
    /// In the order of their offsets.
    pub(super) allocations: Vec<Used>,
}

/// An allocation in a block, with what the string of statistics has of it.
#[derive(Default)]
pub(super) struct Used {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) name: Option<String>,
    pub(super) private_data: usize,
    pub(super) resource: Option<D3D12_RESOURCE_DESC>,
}

/// A range of a block.
pub(super) enum Range<'a> {
    Used(&'a Used),
    /// Offset and size.
    Unused(u64, u64),
}

impl Block {
    /// Returns the ranges, without gaps.
    pub(super) fn ranges(&self) -> Vec<Range<'_>> {
        let (mut ranges, mut end) = (Vec::new(), 0);
        for used in &self.allocations {
            if used.offset > end {
                ranges.push(Range::Unused(end, used.offset - end));
            }
            ranges.push(Range::Used(used));
            end = used.offset.saturating_add(used.size).max(end);
        }
        if !self.is_committed && end < self.size {
            ranges.push(Range::Unused(end, self.size - end));
        }
        ranges
    }

    pub(super) fn new(
        size: u64,
        heap_type: D3D12_HEAP_TYPE,
        group: SegmentGroup,
        pool: Option<u64>,
        mut allocations: Vec<Used>,
    ) -> Self {
        allocations.sort_unstable_by_key(|used| used.offset);
        let heap_type = usize::try_from(heap_type - 1).unwrap_or(0).min(HEAP_TYPES - 1);
        Self { size, heap_type, group, pool, is_committed: false, allocations }
    }

    fn add_to(&self, sum: &mut DetailedStatistics) {
        sum.stats.block_count += 1;
        sum.stats.block_bytes += self.size;
        for range in self.ranges() {
            match range {
                Range::Used(&Used { size, .. }) => {
                    sum.stats.allocation_count += 1;
                    sum.stats.allocation_bytes += size;
                    sum.allocation_size_min = sum.allocation_size_min.min(size);
                    sum.allocation_size_max = sum.allocation_size_max.max(size);
                }
                Range::Unused(_, size) => {
                    sum.unused_range_count += 1;
                    sum.unused_range_size_min = sum.unused_range_size_min.min(size);
                    sum.unused_range_size_max = sum.unused_range_size_max.max(size);
                }
            }
        }
    }
}

/// All blocks of an allocator.
pub(super) struct Snapshot {
    pub(super) blocks: Vec<Block>,
}

impl Snapshot {
    /// Visits everything. What other threads create or free meanwhile may be missing.
    pub(super) fn of(state: &State, with_details: bool) -> Self {
        // The allocations first: their heaps then exist, unless they are freed meanwhile.
        let (mut in_heaps, mut blocks): (HashMap<usize, Vec<Used>>, _) = (HashMap::new(), Vec::new());
        state.visit(|_, allocation| {
            allocation.with(|contents| {
                let (place, size) = (contents.heap(), contents.size());
                let mut used =
                    Used { offset: place.map_or(0, |(_, offset)| offset), size, ..Default::default() };
                if with_details {
                    used.name = contents.name.as_deref().map(debug_name::decode_terminated);
                    used.private_data = allocation.private_data.load(Ordering::Relaxed);
                    // SAFETY: the resource is a live COM object.
                    used.resource = contents.resource().map(|resource| unsafe { resource.GetDesc() });
                }
                match (place, &contents.memory) {
                    (Some((heap, _)), _) => in_heaps.entry(heap).or_default().push(used),
                    (None, Memory::Resource(committed)) => {
                        let heap_type = committed.heap_type();
                        let usual =
                            (heap_type.to_d3d12(), state.allocator.caps().segment_group(heap_type), None);
                        let (heap_type, group, pool) = contents.pool.as_ref().map_or(usual, |pool| {
                            (pool.desc.properties.Type, pool.pool.segment_group(), Some(pool.pool.number()))
                        });
                        let block = Block::new(size, heap_type, group, pool, vec![used]);
                        blocks.push(Block { is_committed: true, ..block });
                    }
                    // The target of a move that just ended.
                    (None, _) => {}
                }
            })
        });
        let pools = state.pools();
        for heap in state.allocator.heaps() {
            let allocations = in_heaps.remove(&(heap.heap.as_raw() as usize)).unwrap_or_default();
            // The library's hidden pools are default ones.
            let pool = heap.pool.filter(|&number| pools.iter().any(|pool| pool.pool.number() == number));
            let (size, heap_type) = (heap.size.get(), heap.properties.Type);
            blocks.push(Block::new(size, heap_type, heap.segment_group, pool, allocations));
        }
        Self { blocks }
    }

    /// Returns the sum of some blocks.
    pub(super) fn sum(&self, is_included: impl Fn(&Block) -> bool) -> DetailedStatistics {
        let mut sum = DetailedStatistics::none();
        self.blocks.iter().filter(|block| is_included(block)).for_each(|block| block.add_to(&mut sum));
        sum
    }

    pub(super) fn totals(&self) -> TotalStatistics {
        TotalStatistics {
            heap_types: std::array::from_fn(|index| self.sum(|block| block.heap_type == index)),
            segment_groups: SegmentGroup::ALL.map(|group| self.sum(|block| block.group == group)),
            total: self.sum(|_| true),
        }
    }
}
