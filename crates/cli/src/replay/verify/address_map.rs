//! Address ranges of live buffers.

use std::collections::BTreeMap;

use heapwright::{ByteSize, GpuVirtualAddress};
use heapwright_trace::AllocationIndex;

/// A set of ranges that do not overlap. Insertion and removal take O(log n) time.
#[derive(Debug, Default)]
pub(super) struct AddressMap {
    /// Ranges by first address; no two overlap.
    ranges: BTreeMap<u64, Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    allocation: AllocationIndex,
    /// Size in bytes, at least 1.
    size_bytes: u64,
}

/// A range in the map that overlaps the range to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occupied {
    pub(super) allocation: AllocationIndex,
    pub(super) address: GpuVirtualAddress,
    pub(super) size: ByteSize,
}

impl AddressMap {
    /// Inserts the range of `size` bytes at `address`, or returns a range in the map that overlaps it.
    pub(super) fn insert(
        &mut self,
        allocation: AllocationIndex,
        address: GpuVirtualAddress,
        size: ByteSize,
    ) -> Result<(), Occupied> {
        let start = address.get();
        // The last byte is used because the end of a range at the end of the address space overflows.
        let last = start.saturating_add(size.get() - 1);
        // The ranges in the map do not overlap, so the last one that starts at or before `last` has the highest end.
        if let Some((&other_start, &other)) = self.ranges.range(..=last).next_back()
            && other_start.saturating_add(other.size_bytes - 1) >= start
            && let Some(other_address) = GpuVirtualAddress::new(other_start)
        {
            let size = ByteSize::new(other.size_bytes);
            return Err(Occupied { allocation: other.allocation, address: other_address, size });
        }
        self.ranges.insert(start, Range { allocation, size_bytes: size.get() });
        Ok(())
    }

    /// Removes the range at `address` if it belongs to `allocation`.
    pub(super) fn remove(&mut self, allocation: AllocationIndex, address: GpuVirtualAddress) {
        if self.ranges.get(&address.get()).is_some_and(|range| range.allocation == allocation) {
            self.ranges.remove(&address.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(map: &mut AddressMap, allocation: u32, start: u64, size: u64) -> Option<u32> {
        let address = GpuVirtualAddress::new(start).unwrap();
        let result = map.insert(AllocationIndex::new(allocation), address, ByteSize::new(size));
        result.err().map(|occupied| occupied.allocation.get())
    }

    fn remove(map: &mut AddressMap, allocation: u32, start: u64) {
        map.remove(AllocationIndex::new(allocation), GpuVirtualAddress::new(start).unwrap());
    }

    #[test]
    fn adjacent_ranges_do_not_overlap() {
        let mut map = AddressMap::default();
        assert_eq!(insert(&mut map, 0, 100, 10), None);
        assert_eq!(insert(&mut map, 1, 110, 10), None);
        assert_eq!(insert(&mut map, 2, 90, 10), None);
        assert_eq!(insert(&mut map, 3, u64::MAX, 1), None);
    }

    #[test]
    fn every_kind_of_overlap_is_found() {
        // Overlapping the end, enclosing, enclosed, identical, overlapping the start.
        for (start, size) in
            [(109, 5), (90, 40), (104, 2), (100, 10), (95, 6), (100, 1), (100, 11), (1, u64::MAX)]
        {
            let mut map = AddressMap::default();
            assert_eq!(insert(&mut map, 7, 100, 10), None);
            assert_eq!(insert(&mut map, 8, 200, 10), None);
            let found = insert(&mut map, 9, start, size);
            assert!(found == Some(7) || size == u64::MAX && found == Some(8), "{start}+{size}: {found:?}");
        }
    }

    #[test]
    fn a_range_is_free_again_once_removed() {
        let mut map = AddressMap::default();
        assert_eq!(insert(&mut map, 0, 100, 10), None);
        remove(&mut map, 1, 100);
        remove(&mut map, 0, 101);
        assert_eq!(insert(&mut map, 2, 105, 1), Some(0));
        remove(&mut map, 0, 100);
        assert_eq!(insert(&mut map, 2, 105, 1), None);
    }

    #[test]
    fn the_map_agrees_with_a_map_of_bytes() {
        let mut random = 1_u64;
        let mut next = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % limit
        };
        let mut map = AddressMap::default();
        let mut bytes = [None; 300];
        let mut entered = Vec::new();
        for allocation in 0..5000_u32 {
            if !entered.is_empty() && next(2) == 0 {
                let (old, start, size): (u32, usize, usize) = entered.swap_remove(next(entered.len()));
                remove(&mut map, old, start as u64);
                bytes[start..start + size].fill(None);
                continue;
            }
            let (start, size) = (1 + next(250), 1 + next(40));
            let found = insert(&mut map, allocation, start as u64, size as u64);
            let owners = &mut bytes[start..start + size];
            if found.is_none() {
                assert!(owners.iter().all(Option::is_none));
                owners.fill(Some(allocation));
                entered.push((allocation, start, size));
            } else {
                assert!(owners.contains(&found));
            }
        }
    }
}
