//! What a heap would be if some of its ranges were freed, told without freeing them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;

use super::Tlsf;
use super::bins::Bin;
use super::nodes::NodeIndex;
use super::search::{Request, fits_by};
use crate::suballoc::SuballocationId;
use crate::{Alignment, ByteSize};

/// A free range that is not there: in front of its bin are those that came about last.
type NewRange = (Bin, Reverse<u64>, u64, u64);

/// A heap with some ranges freed that are not.
///
/// It answers what the heap itself would after the same calls of [`Tlsf::free`]. Memory and time are of the order of what is
/// freed in it, O(log n) for each of n.
#[derive(Debug)]
pub(crate) struct WithFreed<'a> {
    tlsf: &'a Tlsf,
    /// The free ranges that come about, by their start: their end, and when they came about.
    by_start: BTreeMap<u64, (u64, u64)>,
    /// The same by bin.
    by_bin: BTreeSet<NewRange>,
    /// The free ranges of the heap that are part of new ones, by the number of their node.
    absorbed: BTreeSet<u32>,
    freed_count: u64,
    /// Of the range that is first in the highest bin.
    largest: (Bin, u64),
}

impl Tlsf {
    /// Whether [`allocate`](Self::allocate) would serve the request, short of running out of numbers for ranges. O(1).
    pub(crate) fn would_fit(&self, size: ByteSize, alignment: Alignment) -> bool {
        Request::new(size, alignment, self.capacity).is_some_and(|request| self.search(request).is_some())
    }

    /// Whether an allocation at the lowest offset would be served. It looks at all free ranges when it finds none by their
    /// size: O(n) for n ranges, and O(log n) once something was allocated at the lowest offset.
    pub(crate) fn would_fit_lowest(&self, size: ByteSize, alignment: Alignment) -> bool {
        let Some(request) = Request::new(size, alignment, self.capacity) else { return false };
        if self.search(request).is_some() {
            return true;
        }
        let slots = self.nodes.slots();
        match &self.by_offset {
            Some(tree) => tree.lowest(slots, request).is_some(),
            None => {
                let above = |&index: &NodeIndex| Some(slots[index].above);
                let ranges = successors(Some(slots[NodeIndex::EDGE].above), above)
                    .take_while(|&index| index != NodeIndex::EDGE)
                    .filter(|&index| !slots[index].is_used());
                super::offset_index::lowest_fits(
                    ranges.map(|index| (slots[index].start(), slots[index].size())),
                    request,
                )
            }
        }
    }

    /// The heap with nothing freed yet. O(1).
    pub(crate) fn with_freed(&self) -> WithFreed<'_> {
        let largest = self
            .bins
            .highest()
            .map_or((Bin::of(0), 0), |bin| (bin, self.nodes.slots()[self.first_in(bin)].size()));
        WithFreed {
            tlsf: self,
            by_start: BTreeMap::new(),
            by_bin: BTreeSet::new(),
            absorbed: BTreeSet::new(),
            freed_count: 0,
            largest,
        }
    }
}

impl WithFreed<'_> {
    /// As [`Tlsf::free`]; answers the bytes that are freed, `None` if the id is not live. The same id must not be freed twice.
    pub(crate) fn free(&mut self, id: SuballocationId) -> Option<ByteSize> {
        let slots = self.tlsf.nodes.slots();
        let node = self.tlsf.nodes.find(NodeIndex::from_slot(id.slot()))?;
        node.stamp().filter(|&stamp| stamp == id.stamp())?;
        let (mut start, mut end) = (node.start(), node.end());
        match self.by_start.range(..start).next_back().map(|(&start, &(end, _))| (start, end)) {
            Some((below, below_end)) if below_end == start => {
                self.take(below);
                start = below;
            }
            _ if !slots[node.below].is_used() => {
                self.absorbed.insert(node.below.number());
                start = slots[node.below].start();
            }
            _ => {}
        }
        if let Some(above_end) = self.take(end) {
            end = above_end;
        } else if !slots[node.above].is_used() {
            self.absorbed.insert(node.above.number());
            end = slots[node.above].end();
        }
        let bin = Bin::of(end - start);
        self.by_start.insert(start, (end, self.freed_count));
        self.by_bin.insert((bin, Reverse(self.freed_count), start, end));
        self.freed_count += 1;
        if bin >= self.largest.0 {
            self.largest = (bin, end - start);
        }
        Some(ByteSize::new(node.size()))
    }

    /// Takes the new range at this start out, and answers its end.
    fn take(&mut self, start: u64) -> Option<u64> {
        let (end, serial) = self.by_start.remove(&start)?;
        self.by_bin.remove(&(Bin::of(end - start), Reverse(serial), start, end));
        Some(end)
    }

    /// As [`Tlsf::is_empty`]. O(1).
    pub(crate) fn is_empty(&self) -> bool {
        self.freed_count == self.tlsf.allocation_count
    }

    /// As [`Tlsf::largest_free_range`]. O(1).
    pub(crate) fn largest_free_range(&self) -> ByteSize {
        ByteSize::new(self.largest.1)
    }

    /// As [`Tlsf::largest_size_class`]. O(1).
    pub(crate) fn largest_size_class(&self) -> u32 {
        self.largest.0.number()
    }

    /// As [`Tlsf::would_fit`]. O(n) for n ranges that were freed.
    pub(crate) fn would_fit(&self, size: ByteSize, alignment: Alignment) -> bool {
        Request::new(size, alignment, self.tlsf.capacity).is_some_and(|request| {
            let highest = self.tlsf.highest_bin;
            fits_by(request, highest, |bin| self.up_from(bin), || self.down())
        })
    }

    /// The free ranges of a bin from the first on.
    fn in_bin(&self, bin: Bin) -> impl Iterator<Item = (Bin, u64, u64)> {
        let new = self.by_bin.range(first_of(bin)..first_of(bin.next()));
        let slots = self.tlsf.nodes.slots();
        // There is no head of a bin above the highest.
        let old = (bin <= self.tlsf.highest_bin).then(|| self.tlsf.in_bin(bin)).into_iter().flatten();
        let old = old.filter(|index| !self.absorbed.contains(&index.number()));
        new.map(move |&(_, _, start, end)| (bin, start, end - start))
            .chain(old.map(move |index| (bin, slots[index].start(), slots[index].size())))
    }

    fn up_from(&self, bin: Bin) -> impl Iterator<Item = (Bin, u64, u64)> {
        let next = |from| {
            let new = self.by_bin.range(first_of(from)..).next().map(|range| range.0);
            [new, self.tlsf.bins.lowest_from(from)].into_iter().flatten().min()
        };
        successors(next(bin), move |bin| next(bin.next())).flat_map(|bin| self.in_bin(bin))
    }

    fn down(&self) -> impl Iterator<Item = (Bin, u64, u64)> {
        let next = |from: Bin| {
            let new = self.by_bin.range(..first_of(from.next())).next_back().map(|range| range.0);
            new.max(self.tlsf.bins.highest_from(from))
        };
        let highest = next(self.tlsf.highest_bin);
        successors(highest, move |bin| next(bin.previous()?)).flat_map(|bin| self.in_bin(bin))
    }
}

/// What no new range of the bin, or a higher one, comes before.
const fn first_of(bin: Bin) -> NewRange {
    (bin, Reverse(u64::MAX), 0, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn says_what_the_heap_answers_once_the_ranges_are_freed(
            sizes in prop::collection::vec((1_u64..600, 0_u32..9, any::<bool>()), 1..200),
            keeps in prop::collection::vec(0_u8..8, 200),
            requests in prop::collection::vec((1_u64..3000, 0_u32..12), 1..60),
        ) {
            let mut heap = Tlsf::new(ByteSize::new(16_384)).unwrap();
            let (mut live, mut early) = (Vec::new(), Vec::new());
            for (size, log2, freed_early) in sizes {
                let alignment = Alignment::from_log2(log2).unwrap();
                if let Ok(one) = heap.allocate(ByteSize::new(size), alignment) {
                    if freed_early { early.push(one) } else { live.push(one) }
                }
            }
            for one in early {
                heap.free(one.id).unwrap();
            }
            // Mostly some, sometimes all.
            let limit = keeps[0];
            let freed: Vec<_> =
                live.iter().zip(&keeps).filter(|&(_, &keep)| keep <= limit).map(|(one, _)| one.id).collect();
            let answers = |with: &WithFreed<'_>| {
                let fits: Vec<_> = requests
                    .iter()
                    .map(|&(size, log2)| {
                        with.would_fit(ByteSize::new(size), Alignment::from_log2(log2).unwrap())
                    })
                    .collect();
                (fits, with.largest_free_range(), with.largest_size_class(), with.is_empty())
            };
            let mut with = heap.with_freed();
            for &id in &freed {
                with.free(id).unwrap();
            }
            let told = answers(&with);
            for &id in &freed {
                heap.free(id).unwrap();
            }
            prop_assert_eq!(
                (told.1, told.2, told.3),
                (heap.largest_free_range(), heap.largest_size_class(), heap.is_empty())
            );
            prop_assert_eq!(&told, &answers(&heap.with_freed()));
            for ((size, log2), told) in requests.into_iter().zip(told.0) {
                let (size, alignment) = (ByteSize::new(size), Alignment::from_log2(log2).unwrap());
                prop_assert_eq!(heap.would_fit(size, alignment), told);
                let lowest = heap.would_fit_lowest(size, alignment);
                if let Ok(one) = heap.allocate(size, alignment) {
                    prop_assert!(told && lowest);
                    // A tree has no part in where things are placed, but the order within bins has.
                    heap.free(one.id).unwrap();
                } else {
                    prop_assert!(!told);
                    prop_assert_eq!(
                        heap.allocate_with(size, alignment, crate::suballoc::Strategy::MinOffset).is_ok(),
                        lowest
                    );
                    prop_assert_eq!(heap.would_fit_lowest(size, alignment), lowest);
                    break;
                }
            }
        }
    }
}
