//! The free tiles of heaps.

use std::collections::{BTreeMap, BTreeSet};

/// The part of the used tiles that may be free, so that resources have heaps of their own.
const MAX_FREE_PART: u64 = 20;

/// The slots of heaps, and a number of tiles in each.
pub(crate) type Heaps = BTreeMap<u32, u32>;

/// A tile: the slot of its heap, and its number in the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tile {
    pub(crate) heap: u32,
    pub(crate) index: u32,
}

impl Tile {
    /// No tile.
    pub(crate) const NULL: Self = Self { heap: u32::MAX, index: u32::MAX };

    pub(crate) fn is_null(self) -> bool {
        self == Self::NULL
    }
}

/// Heaps of equal size, each with its memory `M`, and the tiles of them that are free.
///
/// While at most a 20th of what is used is free, a resource takes tiles from heaps of which it has tiles, or from a new
/// one: the heap is empty when the resource is gone. Otherwise tiles are taken from the fullest heap that has any, so
/// that the others empty and can leave.
#[derive(Debug)]
pub(crate) struct FreeTiles<M> {
    tiles_per_heap: u32,
    /// `None` in the slots of heaps that left.
    heaps: Vec<Option<TileHeap<M>>>,
    /// The number of used tiles and the slot of each heap that is not full.
    not_full: BTreeSet<(u32, u32)>,
    used: u64,
    heap_count: u64,
}

/// Returns the number of tiles in each run of tiles of the same heap.
pub(crate) fn counts_by_heap(tiles: &[Tile]) -> impl Iterator<Item = (u32, u32)> {
    let runs = tiles.chunk_by(|one, next| one.heap == next.heap);
    runs.map(|run| (run[0].heap, u32::try_from(run.len()).expect("tiles of one heap")))
}

#[derive(Debug)]
struct TileHeap<M> {
    memory: M,
    /// A bit for each tile, set if the tile is free.
    free: Vec<u64>,
    used: u32,
}

impl<M> FreeTiles<M> {
    pub(crate) fn new(tiles_per_heap: u32) -> Self {
        Self { tiles_per_heap, heaps: Vec::new(), not_full: BTreeSet::new(), used: 0, heap_count: 0 }
    }

    /// Adds an empty heap, and returns its slot. O(tiles of the heap + slots).
    pub(crate) fn insert(&mut self, memory: M) -> u32 {
        let slot = self.heaps.iter().position(Option::is_none).unwrap_or(self.heaps.len());
        let words = self.tiles_per_heap.div_ceil(64);
        let mut free = vec![u64::MAX; words as usize];
        if let (Some(last), rest @ 1..) = (free.last_mut(), self.tiles_per_heap % 64) {
            *last = (1 << rest) - 1;
        }
        let heap = Some(TileHeap { memory, free, used: 0 });
        match self.heaps.get_mut(slot) {
            Some(place) => *place = heap,
            None => self.heaps.push(heap),
        }
        self.heap_count += 1;
        let slot = u32::try_from(slot).expect("fewer heaps than 2^32");
        self.not_full.insert((0, slot));
        slot
    }

    /// Appends free tiles to `taken` until it has `count`, and returns whether it has. If `may_add`, `false` also says
    /// that a new heap is better. `own` are the heaps of which the resource has tiles. O(taken + words + heaps that
    /// are not full) for each heap.
    pub(crate) fn take(&mut self, count: usize, own: &Heaps, may_add: bool, taken: &mut Vec<Tile>) -> bool {
        while let missing @ 1.. = (count - taken.len()) as u64 {
            let per_heap = u64::from(self.tiles_per_heap);
            let free = self.heap_count * per_heap - self.used;
            let allowed = (self.used + missing) / MAX_FREE_PART;
            let mut fullest = self.not_full.iter().rev().map(|&(_, slot)| slot);
            let first = fullest.clone().next();
            let is_own = |slot: &u32| free <= allowed && own.contains_key(slot);
            match fullest.find(is_own) {
                Some(slot) => self.take_from(slot, count, taken),
                None if may_add && free + per_heap.saturating_sub(missing) <= allowed => return false,
                None => match first {
                    Some(slot) => self.take_from(slot, count, taken),
                    None => return false,
                },
            }
        }
        true
    }

    /// Appends free tiles of a heap to `taken` until it has `count`, or none is left.
    pub(crate) fn take_from(&mut self, slot: u32, count: usize, taken: &mut Vec<Tile>) {
        let Some(heap) = self.heaps.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        self.not_full.remove(&(heap.used, slot));
        let before = taken.len();
        'heap: for (word, bits) in (0..).zip(&mut heap.free) {
            while *bits != 0 {
                if taken.len() == count {
                    break 'heap;
                }
                taken.push(Tile { heap: slot, index: word * 64 + bits.trailing_zeros() });
                *bits &= *bits - 1;
            }
        }
        let more = u32::try_from(taken.len() - before).expect("tiles of one heap");
        heap.used += more;
        self.used += u64::from(more);
        if heap.used < self.tiles_per_heap {
            self.not_full.insert((heap.used, slot));
        }
    }

    /// Makes tiles free that were taken. O(n + runs log heaps), for the runs of tiles of the same heap.
    pub(crate) fn give(&mut self, tiles: &[Tile]) {
        for run in tiles.chunk_by(|one, next| one.heap == next.heap) {
            let slot = run[0].heap;
            let heap = self.heaps.get_mut(slot as usize).and_then(Option::as_mut);
            let heap = heap.expect("a heap stays while a tile of it is taken");
            self.not_full.remove(&(heap.used, slot));
            for tile in run {
                let (word, bit) = ((tile.index / 64) as usize, 1 << (tile.index % 64));
                debug_assert!(heap.free[word] & bit == 0, "{tile:?} is free already");
                heap.free[word] |= bit;
            }
            heap.used -= u32::try_from(run.len()).expect("tiles of one heap");
            self.used -= run.len() as u64;
            self.not_full.insert((heap.used, slot));
        }
    }

    /// Removes the heaps of which no tile is taken. O(removed log heaps).
    pub(crate) fn remove_empty(&mut self) -> Vec<M> {
        let mut removed = Vec::new();
        while let Some(&(0, slot)) = self.not_full.first() {
            self.not_full.pop_first();
            self.heap_count -= 1;
            let heap = self.heaps.get_mut(slot as usize).and_then(Option::take);
            removed.extend(heap.map(|heap| heap.memory));
        }
        removed
    }

    /// Returns the memory of a heap.
    pub(crate) fn memory(&self, slot: u32) -> Option<&M> {
        self.heaps.get(slot as usize)?.as_ref().map(|heap| &heap.memory)
    }

    /// Returns the number of heaps.
    pub(crate) fn heap_count(&self) -> u64 {
        self.heap_count
    }

    /// Returns the number of taken tiles.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_heap_gives_first_and_an_empty_one_leaves() {
        let mut free = FreeTiles::new(65);
        for memory in 0..3 {
            free.insert(memory);
        }
        let mut taken = Vec::new();
        free.take(65 + 65 + 3, &Heaps::new(), false, &mut taken);
        assert_eq!(taken.len(), 133);
        let (full, few): (Vec<Tile>, Vec<Tile>) = (taken[..65].to_vec(), taken[130..].to_vec());
        // One tile of a full heap becomes free: it is taken before the heap with three.
        free.give(&full[64..]);
        let mut next = Vec::new();
        free.take(1, &Heaps::new(), false, &mut next);
        assert_eq!(next, full[64..]);
        assert!(free.remove_empty().is_empty());
        let memory = *free.memory(few[0].heap).expect("it is there");
        free.give(&few);
        assert_eq!(free.remove_empty(), [memory]);
        assert_eq!((free.heap_count(), free.used()), (2, 130));
        let mut none = Vec::new();
        free.take(1, &Heaps::new(), false, &mut none);
        assert!(none.is_empty(), "both heaps are full");
    }

    /// Resources that grow by turns and end one after the other: their heaps leave with them.
    #[test]
    fn heaps_of_one_resource_are_empty_when_it_is_gone() {
        const PER_HEAP: u32 = 16;
        let mut free = FreeTiles::new(PER_HEAP);
        let mut resources = vec![Vec::<Tile>::new(); 10];
        for _ in 0..500 {
            for tiles in &mut resources {
                let own = counts_by_heap(tiles).collect();
                let count = tiles.len() + 2;
                while !free.take(count, &own, true, tiles) {
                    let slot = free.insert(());
                    free.take_from(slot, count, tiles);
                }
            }
            let all = free.heap_count() * u64::from(PER_HEAP);
            assert!((all - free.used()) * 20 <= free.used() + u64::from(PER_HEAP) * 20, "{all}");
        }
        for tiles in resources {
            free.give(&tiles);
            free.remove_empty();
            let all = free.heap_count() * u64::from(PER_HEAP);
            // Those that were begun together, when little was in use, share heaps.
            assert!(all <= free.used() + free.used() / 20 + 900, "{all} for {}", free.used());
        }
    }

    /// Random operations beside a map of the taken tiles.
    #[test]
    fn no_tile_is_taken_twice() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let per_heap = random.u32(1..200);
            let mut free = FreeTiles::new(per_heap);
            let (mut taken, mut memory_of, mut next) = (Vec::<Tile>::new(), BTreeMap::new(), 0);
            for _ in 0..500 {
                match random.u8(..4) {
                    0 => {
                        free.insert(next);
                        next += 1;
                    }
                    1 => {
                        let count = taken.len() + random.usize(..150);
                        let before = taken.len();
                        let may_add = random.bool();
                        let has_all =
                            free.take(count, &Heaps::from([(random.u32(..4), 1)]), may_add, &mut taken);
                        assert_eq!(has_all, taken.len() == count);
                        let all = usize::try_from(free.heap_count()).expect("few") * per_heap as usize;
                        if !may_add {
                            assert_eq!(taken.len(), count.min(all), "only what is missing is not taken");
                        }
                        for tile in &taken[before..] {
                            assert!(tile.index < per_heap);
                            let memory = *free.memory(tile.heap).expect("the heap is there");
                            assert_eq!(memory_of.insert(*tile, memory), None, "{tile:?} was taken already");
                        }
                    }
                    2 => {
                        random.shuffle(&mut taken);
                        let some = taken.split_off(random.usize(..=taken.len()));
                        free.give(&some);
                        some.iter().for_each(|tile| _ = memory_of.remove(tile));
                    }
                    _ => {
                        for memory in free.remove_empty() {
                            assert!(
                                memory_of.values().all(|other| *other != memory),
                                "a tile of it is taken"
                            );
                        }
                    }
                }
                assert_eq!(free.used(), taken.len() as u64);
                let kept = |(tile, memory): (&Tile, &i32)| free.memory(tile.heap) == Some(memory);
                assert!(memory_of.iter().all(kept));
            }
        }
    }
}
