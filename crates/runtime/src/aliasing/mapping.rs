//! Changes of the tile mappings of reserved resources (rule I-14).

use std::ops::Range;
use std::sync::Arc;

use super::content::{Cause, Content};
use super::granularity::KIB_64;
use super::ids::{HeapId, ResourceId};
use super::judge::Judge;
use super::laws::AliasingLaws;
use super::resource::{Label, TileHome, TrackedHome, TrackedResource};
use crate::drivers::heap::DriverHeap;
use crate::drivers::tiles::{TileMapping, TileMemory};

impl Judge {
    /// Applies `UpdateTileMappings`. Heaps that are not known yet are added.
    pub(super) fn update_mappings(&mut self, id: ResourceId, mappings: &[TileMapping]) {
        for mapping in mappings {
            let tiles = mapping.first..mapping.first.saturating_add(mapping.count);
            let home = match &mapping.memory {
                TileMemory::Null => None,
                TileMemory::Heap { heap, first } => Some(TileHome {
                    heap: self.heap_of_tiles(heap),
                    shift: i64::from(*first) - i64::from(mapping.first),
                    repeated: false,
                }),
                TileMemory::Repeated { heap, tile } => {
                    Some(TileHome { heap: self.heap_of_tiles(heap), shift: i64::from(*tile), repeated: true })
                }
            };
            self.map(id, tiles, home);
        }
    }

    /// Applies `CopyTileMappings`: each target tile gets the mapping of a source tile.
    pub(super) fn copy_mappings(
        &mut self,
        (target, target_tiles): (ResourceId, &[u32]),
        (source, source_tiles): (ResourceId, &[u32]),
    ) {
        let Some(TrackedHome::Reserved(homes)) = self.resource(source).map(|resource| &resource.home) else {
            return;
        };
        // Read all before writing any: both may be the same resource.
        let read: Vec<Option<TileHome>> =
            source_tiles.iter().map(|&tile| homes.get(tile).copied().flatten()).collect();
        for ((&to, &from), home) in target_tiles.iter().zip(source_tiles).zip(read) {
            let moved = home.map(|home| {
                let by = i64::from(from) - i64::from(to);
                let shift = if home.repeated { home.shift } else { home.shift + by };
                TileHome { shift, ..home }
            });
            self.map(target, to..to.saturating_add(1), moved);
        }
    }

    fn heap_of_tiles(&mut self, heap: &Arc<DriverHeap>) -> HeapId {
        self.heap(heap, &Arc::new(Label::default()), None)
    }

    fn map(&mut self, id: ResourceId, tiles: Range<u32>, home: Option<TileHome>) {
        let uninitialises = self.has(AliasingLaws::MAPPING_UNINITIALISES);
        let heap = home.and_then(|home| self.heap_of(home.heap));
        let zeroed = heap.is_none_or(|heap| heap.is_zeroed);
        let Some(mut resource) = self.take(id) else { return };
        self.leave(&mut resource, tiles.clone());
        if let TrackedHome::Reserved(homes) = &mut resource.home {
            homes.set(tiles.clone(), &home);
            // Unmapped tiles read as zero and overlap no resource.
            let content = match home {
                Some(_) if uninitialises => Content::undefined(Cause::Mapped { zeroed }),
                _ => Content::valid(),
            };
            resource.owned.set(tiles.clone(), &home.is_none());
            let units = resource.shape.units_of_places(&tiles);
            resource.content.set(units, &content);
        }
        if let Some(home) = home {
            self.admit(home.heap, &resource);
        }
        self.put(resource);
    }

    /// Records the accesses through tiles that are about to be mapped elsewhere at the memory that they leave.
    fn leave(&mut self, resource: &mut TrackedResource, tiles: Range<u32>) {
        let mut counts = Vec::new();
        for (run, touches) in resource.touches.iter(tiles.clone()).filter(|(_, touches)| !touches.is_empty())
        {
            for (heap, bytes, _) in resource.memory_of_places(&run) {
                if let Some(heap) = self.heaps.get_mut(&heap) {
                    heap.memory.leave(&bytes, resource.id, touches, |user, by| counts.push((user, by)));
                }
            }
        }
        self.count(resource, counts);
        resource.touches.set(tiles, &Vec::new());
    }
}

impl TrackedResource {
    /// Splits bytes of a heap, which the resource used at `offset`, by whether they are still mapped there. O(tiles).
    pub(super) fn still_at(&self, heap: HeapId, bytes: Range<u64>, offset: u64) -> Vec<(Range<u64>, bool)> {
        let TrackedHome::Reserved(homes) = &self.home else { return vec![(bytes, true)] };
        let first = offset / KIB_64;
        let heap_tile = bytes.start / KIB_64;
        let is_there = |index: u64| {
            let tile = u32::try_from(first + index).unwrap_or(u32::MAX);
            homes.get(tile).copied().flatten().is_some_and(|home| {
                let at = if home.repeated { home.shift } else { i64::from(tile) + home.shift };
                home.heap == heap && u64::try_from(at) == Ok(heap_tile + index)
            })
        };
        let mut parts: Vec<(Range<u64>, bool)> = Vec::new();
        for index in 0..bytes.end.div_ceil(KIB_64) - heap_tile {
            let start = ((heap_tile + index) * KIB_64).max(bytes.start);
            let end = ((heap_tile + index + 1) * KIB_64).min(bytes.end);
            match parts.last_mut() {
                Some((last, was_there)) if *was_there == is_there(index) => last.end = end,
                _ => parts.push((start..end, is_there(index))),
            }
        }
        parts
    }
}
