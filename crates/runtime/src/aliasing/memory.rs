//! The last users of the bytes of a heap.

use std::collections::BTreeMap;
use std::ops::Range;

use super::granularity::KIB_64;
use super::ids::ResourceId;
use super::resource::Touch;

/// The last users of a heap's bytes, in ranges that do not overlap. Bytes without a user are in no range.
#[derive(Debug, Default)]
pub(super) struct HeapMemory {
    /// Uses by their first byte.
    used: BTreeMap<u64, Use>,
    /// The largest granularity of the heap's resources, which limits the reach of a conflict.
    pub(super) largest_granule: u64,
}

/// A range and the resource that used it last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Use {
    end: u64,
    user: ResourceId,
    /// The offset of the range's first byte in the resource. Tiles of a resource may be anywhere in the heap.
    offset: u64,
    /// The last accesses through tiles of the resource that were mapped here and no longer are.
    left: Vec<Touch>,
}

impl Use {
    /// Returns the same use from byte `at` of the heap on, for a use that begins at `start`.
    fn from(&self, start: u64, at: u64) -> Self {
        Self { offset: self.offset + (at - start), ..self.clone() }
    }
}

impl HeapMemory {
    /// Returns the uses that intersect a range, clipped to it, with their offsets in the resources. O(log uses +
    /// found).
    pub(super) fn uses(&self, range: &Range<u64>) -> impl Iterator<Item = (Range<u64>, ResourceId, u64)> {
        let first = self.used.range(..=range.start).next_back().map_or(range.start, |(&start, _)| start);
        let range = range.clone();
        self.used.range(first..range.end).filter_map(move |(&start, used)| {
            let cut = start.max(range.start)..used.end.min(range.end);
            (cut.start < cut.end).then(|| {
                let offset = used.offset + (cut.start - start);
                (cut, used.user, offset)
            })
        })
    }

    /// Records that `user` used `range` at `offset` of the resource. Calls `count` with the change of each user's
    /// number of ranges. O(log uses + replaced), amortised O(log uses).
    pub(super) fn set(
        &mut self,
        range: Range<u64>,
        user: ResourceId,
        offset: u64,
        mut count: impl FnMut(ResourceId, i64),
    ) {
        if range.is_empty() {
            return;
        }
        // A resource is not ordered against itself, so its accesses through other tiles still count.
        let left = self.clear(&range, user, &mut count);
        let (mut range, mut offset) = (range, offset);
        // Merge with neighbours that are adjacent in the resource as well.
        if let Some((&start, before)) = self.used.range(..range.start).next_back() {
            if before.end == range.start
                && before.user == user
                && before.left == left
                && before.offset + (before.end - start) == offset
            {
                (range.start, offset) = (start, before.offset);
                count(user, -1);
            }
        }
        if let Some(after) = self.used.get(&range.end) {
            let is_next = after.user == user && after.offset == offset + (range.end - range.start);
            if is_next && after.left == left {
                let end = after.end;
                self.used.remove(&range.end);
                range.end = end;
                count(user, -1);
            }
        }
        self.used.insert(range.start, Use { end: range.end, user, offset, left });
        count(user, 1);
    }

    /// Records the last accesses of `user` through tiles that were mapped to `range`, where it is the last user. Calls
    /// `count` as [`set`](Self::set).
    pub(super) fn leave(
        &mut self,
        range: &Range<u64>,
        user: ResourceId,
        touches: &[Touch],
        mut count: impl FnMut(ResourceId, i64),
    ) {
        for at in [range.start, range.end] {
            self.split(at, &mut count);
        }
        for (_, used) in self.used.range_mut(range.clone()).filter(|(_, used)| used.user == user) {
            touches.iter().for_each(|touch| touch.replace_in(&mut used.left));
        }
    }

    /// Returns the last accesses to a byte through tiles that are no longer mapped to it. O(log uses).
    pub(super) fn left(&self, at: u64) -> &[Touch] {
        let used = self.used.range(..=at).next_back().filter(|(_, used)| at < used.end);
        used.map_or(&[], |(_, used)| &used.left)
    }

    /// Splits the use of a byte in two, of which the second begins with it.
    fn split(&mut self, at: u64, count: &mut impl FnMut(ResourceId, i64)) {
        if let Some((&start, used)) = self.used.range_mut(..at).next_back() {
            if used.end > at {
                let rest = used.from(start, at);
                used.end = at;
                count(used.user, 1);
                self.used.insert(at, rest);
            }
        }
    }

    /// Removes the users of a range. Returns the accesses of `user` that [`leave`](Self::leave) recorded.
    fn clear(
        &mut self,
        range: &Range<u64>,
        user: ResourceId,
        count: &mut impl FnMut(ResourceId, i64),
    ) -> Vec<Touch> {
        for at in [range.start, range.end] {
            self.split(at, count);
        }
        let mut left = Vec::new();
        while let Some((&start, used)) = self.used.range(range.clone()).next() {
            count(used.user, -1);
            let own = used.left.iter().filter(|_| used.user == user);
            own.for_each(|touch| touch.replace_in(&mut left));
            self.used.remove(&start);
        }
        left
    }

    /// Prepares for a resource with the given granularity.
    pub(super) fn admit(&mut self, granule: u64) {
        self.largest_granule = self.largest_granule.max(granule).max(KIB_64);
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "heaps of a few bytes")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_last_user_of_each_byte_is_recorded(
            steps in proptest::collection::vec((0_u64..40, 1_u64..20, 1_u64..4, 0_u64..3), 1..40),
            asked in (0_u64..40, 1_u64..20),
        ) {
            let mut memory = HeapMemory::default();
            let mut bytes = vec![None; 64];
            let mut counts = BTreeMap::<ResourceId, i64>::new();
            for (start, size, user, offset) in steps {
                let user = ResourceId(user);
                memory.set(start..start + size, user, offset, |user, by| *counts.entry(user).or_default() += by);
                for byte in start..start + size {
                    bytes[byte as usize] = Some((user, offset + (byte - start)));
                }
            }
            let mut found = vec![None; 64];
            for (range, user, offset) in memory.uses(&(0..64)) {
                for byte in range.clone() {
                    found[byte as usize] = Some((user, offset + (byte - range.start)));
                }
            }
            prop_assert_eq!(&found, &bytes);
            let mut part = vec![None; 64];
            for (range, user, offset) in memory.uses(&(asked.0..asked.0 + asked.1)) {
                for byte in range.clone() {
                    part[byte as usize] = Some((user, offset + (byte - range.start)));
                }
            }
            for byte in 0..64_u64 {
                let expected =
                    if (asked.0..asked.0 + asked.1).contains(&byte) { bytes[byte as usize] } else { None };
                prop_assert_eq!(part[byte as usize], expected);
            }
            let mut ranges = BTreeMap::<ResourceId, i64>::new();
            for used in memory.used.values() {
                *ranges.entry(used.user).or_default() += 1;
            }
            counts.retain(|_, count| *count != 0);
            prop_assert_eq!(counts, ranges);
        }
    }
}
