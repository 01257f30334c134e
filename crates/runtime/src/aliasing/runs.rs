//! An array stored as runs of equal values.

use std::ops::Range;

/// Values of the indices from 0 to a length. Adjacent equal values share one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runs<T> {
    len: u32,
    /// The beginning and value of each run, ascending from 0. Empty if and only if the length is 0.
    runs: Vec<(u32, T)>,
}

impl<T: Clone + PartialEq> Runs<T> {
    /// Creates `len` equal values.
    pub(super) fn new(len: u32, value: T) -> Self {
        Self { len, runs: if len == 0 { Vec::new() } else { vec![(0, value)] } }
    }

    /// Returns the value at an index, or `None` if it is out of range. O(log runs).
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        if index >= self.len {
            return None;
        }
        self.runs.get(self.position(index)).map(|(_, value)| value)
    }

    /// Returns the runs that intersect `range`, clipped to it. O(log runs) plus the number of runs.
    pub(super) fn iter(&self, range: Range<u32>) -> impl Iterator<Item = (Range<u32>, &T)> {
        let range = range.start..range.end.min(self.len);
        let first = if range.is_empty() { self.runs.len() } else { self.position(range.start) };
        let rest = self.runs.get(first..).unwrap_or_default();
        let ends = rest.iter().skip(1).map(|(start, _)| *start).chain([self.len]);
        rest.iter()
            .zip(ends)
            .take_while(move |((start, _), _)| *start < range.end)
            .map(move |((start, value), end)| ((*start).max(range.start)..end.min(range.end), value))
    }

    /// Changes the values of `range`. O(runs).
    pub(super) fn update(&mut self, range: Range<u32>, mut change: impl FnMut(&mut T)) {
        let range = range.start..range.end.min(self.len);
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let (first, end) = (self.position(range.start), self.position(range.end - 1) + 1);
        for (_, value) in &mut self.runs[first..end] {
            change(value);
        }
        // Neighbours on both sides may be equal now.
        let (from, to) = (first.saturating_sub(1), (end + 1).min(self.runs.len()));
        let mut kept = from;
        for next in from + 1..to {
            if self.runs[next].1 != self.runs[kept].1 {
                kept += 1;
                self.runs.swap(kept, next);
            }
        }
        self.runs.drain(kept + 1..to);
    }

    /// Sets the values of `range`. O(runs).
    pub(super) fn set(&mut self, range: Range<u32>, value: &T) {
        self.update(range, |old| old.clone_from(value));
    }

    /// Returns whether all values of `range` satisfy a condition.
    pub(super) fn all(&self, range: Range<u32>, mut condition: impl FnMut(&T) -> bool) -> bool {
        self.iter(range).all(|(_, value)| condition(value))
    }

    /// Returns whether no two adjacent runs are equal.
    #[cfg(debug_assertions)]
    pub(super) fn is_minimal(&self) -> bool {
        self.runs.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1)
    }

    /// Returns the position of the run that contains an index.
    fn position(&self, index: u32) -> usize {
        self.runs.partition_point(|(start, _)| *start <= index).saturating_sub(1)
    }

    /// Splits the run at an index.
    fn split(&mut self, index: u32) {
        if index == 0 || index >= self.len {
            return;
        }
        let at = self.position(index);
        if let Some((start, value)) = self.runs.get(at) {
            if *start != index {
                let value = value.clone();
                self.runs.insert(at + 1, (index, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_behave_like_an_array(
            len in 0_u32..40,
            changes in proptest::collection::vec((0_u32..45, 0_u32..45, 0_u8..4), 0..30),
        ) {
            let mut runs = Runs::new(len, 0_u8);
            let mut array = vec![0_u8; len as usize];
            for (a, b, value) in changes {
                let (start, end) = (a.min(b), a.max(b));
                runs.update(start..end, |old| *old = old.wrapping_add(value));
                for slot in array.iter_mut().take(end as usize).skip(start as usize) {
                    *slot = slot.wrapping_add(value);
                }
                prop_assert!(runs.is_minimal());
                let flat: Vec<u8> = runs
                    .iter(0..u32::MAX)
                    .flat_map(|(range, value)| range.map(move |_| *value))
                    .collect();
                prop_assert_eq!(&flat, &array);
                let part: Vec<u8> = runs
                    .iter(start..end)
                    .flat_map(|(range, value)| range.map(move |_| *value))
                    .collect();
                let expected: Vec<u8> =
                    array.iter().copied().take(end as usize).skip(start as usize).collect();
                prop_assert_eq!(part, expected);
            }
            for index in 0..len + 2 {
                prop_assert_eq!(runs.get(index), array.get(index as usize));
            }
        }
    }
}
