//! An index as it would be if some heaps came, went or grew, told without changing it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;

use super::{CANDIDATES, HeapIndex, IndexedHeaps, NONE, Slot, bin_of};
use crate::suballoc::Tlsf;

/// What is different from an index: heaps that are no more where it has them, and heaps in front of its bins.
#[derive(Debug, Default)]
pub(in crate::placement) struct Changes {
    gone: BTreeSet<Slot>,
    /// The last in is the first in its bin.
    added: BTreeSet<(u16, Reverse<u64>, Slot)>,
    /// Where a heap is in `added`.
    places: BTreeMap<Slot, (u16, u64)>,
    serial: u64,
}

impl Changes {
    /// As [`HeapIndex::remove`].
    pub(in crate::placement) fn remove(&mut self, slot: Slot) {
        match self.places.remove(&slot) {
            Some((bin, serial)) => {
                self.added.remove(&(bin, Reverse(serial), slot));
            }
            None => {
                self.gone.insert(slot);
            }
        }
    }

    /// As [`HeapIndex::insert`], of a heap whose key has this size class.
    pub(in crate::placement) fn insert(&mut self, slot: Slot, key_class: u32) {
        let bin = bin_of(key_class);
        self.added.insert((bin, Reverse(self.serial), slot));
        self.places.insert(slot, (bin, self.serial));
        self.serial += 1;
    }

    /// Whether a heap that was added is in the bin of this size class; `None` if it was not added.
    pub(in crate::placement) fn fits(&self, slot: Slot, key_class: u32) -> Option<bool> {
        self.places.get(&slot).map(|&(bin, _)| bin == bin_of(key_class))
    }

    fn lowest_bin_from(&self, from: u16) -> Option<u16> {
        self.added.range((from, Reverse(u64::MAX), 0)..).next().map(|added| added.0)
    }
}

impl HeapIndex {
    /// As [`find`](Self::find) in the index with the changes; `key` is that of heaps with them. O(log n) for n changes, and O(n)
    /// where heaps are gone from the bins that are looked at.
    pub(in crate::placement) fn find_with(
        &self,
        heaps: &impl IndexedHeaps,
        changes: &Changes,
        key: impl Fn(Slot) -> u64,
        size: u64,
    ) -> Option<Slot> {
        let own = bin_of(Tlsf::size_class(size));
        let either = |from| [changes.lowest_bin_from(from), self.bin_from(from)].into_iter().flatten().min();
        // A bin may have only heaps that are gone.
        let bin_from = |from| {
            successors(either(from), |&bin| either(bin + 1))
                .find(|&bin| self.in_bin(heaps, changes, bin).next().is_some())
        };
        let smallest_in = |bin| {
            let candidates = self.in_bin(heaps, changes, bin).take(CANDIDATES);
            // Of equal ones, the first.
            candidates.filter(|&slot| key(slot) >= size).min_by_key(|&slot| key(slot))
        };
        let bin = bin_from(own)?;
        smallest_in(bin).or_else(|| smallest_in(bin_from(own + 1).filter(|_| bin == own)?))
    }

    fn in_bin(&self, heaps: &impl IndexedHeaps, changes: &Changes, bin: u16) -> impl Iterator<Item = Slot> {
        let added = changes.added.range((bin, Reverse(u64::MAX), 0)..(bin + 1, Reverse(u64::MAX), 0));
        let or_end = |slot| (slot != NONE).then_some(slot);
        let first = self.heads.get(usize::from(bin)).copied().and_then(or_end);
        let old = successors(first, move |&slot| or_end(heaps.links(slot).after));
        added.map(|added| added.2).chain(old.filter(|slot| !changes.gone.contains(slot)))
    }
}
