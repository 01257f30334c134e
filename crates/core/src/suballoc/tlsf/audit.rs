//! Full check of the invariants that the module page lists.

use super::Tlsf;
use super::bins::Bin;
use super::nodes::{Node, NodeIndex};
use crate::suballoc::AuditError;

impl<T> Tlsf<T> {
    /// Checks every invariant of the [module page](super). O(n log n) for n ranges; for tests.
    ///
    /// # Errors
    ///
    /// Returns an [`AuditError`] with the first violated invariant. It is a defect in this crate; no sequence
    /// of calls should cause one.
    pub fn audit(&self) -> Result<(), AuditError> {
        audit_ranges(self)
            .and_then(|()| audit_bins(self))
            .and_then(|()| self.nodes.audit_vacant())
            .map_err(AuditError::new)
    }
}

fn check(holds: bool, finding: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(finding()) }
}

fn node<T>(tlsf: &Tlsf<T>, index: NodeIndex) -> Result<&Node, String> {
    tlsf.nodes.find(index).ok_or_else(|| format!("{index:?} is not in the table"))
}

/// Checks that the ranges in address order cover the heap, that free ranges have used neighbours, and that the
/// counters are right.
fn audit_ranges<T>(tlsf: &Tlsf<T>) -> Result<(), String> {
    let edge = node(tlsf, NodeIndex::EDGE)?;
    check(edge.is_used(), || "the edge of the heap is marked as free".to_owned())?;
    let (mut below_index, mut below, mut index) = (NodeIndex::EDGE, edge, edge.above);
    let (mut end, mut used, mut used_count, mut count) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut stamps = Vec::new();
    while index != NodeIndex::EDGE {
        let range = node(tlsf, index)?;
        check(range.below == below_index, || {
            format!("{range:?} follows {below_index:?} but does not link back to it")
        })?;
        check(range.start() == end, || {
            format!("{range:?} does not start at {end:#x}, where the previous range ends")
        })?;
        check(range.size() > 0, || format!("{range:?} is empty"))?;
        check(range.is_used() || below.is_used(), || {
            format!("{range:?} and the previous range are both free")
        })?;
        check(count < tlsf.nodes.range_count(), || {
            "the list of ranges is longer than the recorded number".to_owned()
        })?;
        if range.is_used() {
            let stamp = range.stamp().ok_or_else(|| format!("{range:?} is used but has no stamp"))?;
            check(stamp < tlsf.next_stamp, || format!("{range:?} has a stamp that was not issued yet"))?;
            stamps.push(stamp);
            used += range.size();
            used_count += 1;
        }
        count += 1;
        end = range.end();
        (below_index, below, index) = (index, range, range.above);
    }
    check(edge.below == below_index, || {
        format!("the highest range is {below_index:?}, recorded {:?}", edge.below)
    })?;
    check(end == tlsf.capacity, || {
        format!("the ranges end at {end:#x}, but the heap ends at {:#x}", tlsf.capacity)
    })?;
    check(used == tlsf.used, || format!("found {used} used bytes, recorded {}", tlsf.used))?;
    check(used_count == tlsf.allocation_count, || {
        format!("found {used_count} used ranges, recorded {}", tlsf.allocation_count)
    })?;
    check(count == tlsf.nodes.range_count(), || {
        format!("found {count} linked ranges, recorded {}", tlsf.nodes.range_count())
    })?;
    stamps.sort_unstable();
    check(stamps.is_sorted_by(|a, b| a < b), || "two used ranges have the same stamp".to_owned())
}

/// Checks that each free range is in the bin of its size, and that the bitmaps mark exactly the bins that are
/// not empty.
fn audit_bins<T>(tlsf: &Tlsf<T>) -> Result<(), String> {
    let rings = tlsf.nodes.rings();
    let mut found = 0_u64;
    let mut next_bin = Some(tlsf.highest_bin);
    while let Some(bin) = next_bin {
        let (mut previous, mut link) = (bin.head(), rings.next(bin.head()));
        while link != bin.head() {
            let free = node(tlsf, rings.node_at(link))?;
            check(!free.is_used(), || format!("{free:?} is used but in {bin:?}"))?;
            check(Bin::of(free.size()) == bin, || {
                format!("{free:?} is in {bin:?}, not in the bin of its size")
            })?;
            check(rings.previous(link) == previous, || {
                format!("{free:?} follows {previous:?} in its bin but does not link back to it")
            })?;
            found += 1;
            check(found <= tlsf.free_range_count(), || {
                "the bins contain more than the recorded number of free ranges".to_owned()
            })?;
            (previous, link) = (link, rings.next(link));
        }
        check(rings.previous(bin.head()) == previous, || {
            format!("the last free range of {bin:?} is {previous:?}, not the recorded one")
        })?;
        next_bin = bin.previous();
    }
    // No range is in two bins, as its size has one bin, nor twice in one bin, as it has one predecessor.
    check(found == tlsf.free_range_count(), || {
        format!("found {found} of {} free ranges in the bins", tlsf.free_range_count())
    })?;
    tlsf.bins.audit_bitmaps(tlsf.highest_bin, |bin| rings.next(bin.head()) == bin.head())
}
