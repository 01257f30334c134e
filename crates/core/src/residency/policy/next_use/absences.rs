//! Statistics of how long heaps stay away after they were expected, and of the returns of those without a prediction.

use super::habit::{SUBMISSION, Smoothed, left};

/// How much longer heaps stayed away, by their interval (rows) and the time for which they had been away
/// (columns), both in octaves.
///
/// The data of a single heap say little while its gaps are few or irregular. But most programs use heaps in
/// phases, and heaps that are away return together with others.
pub(super) struct Absences {
    cells: Box<[[Cell; OCTAVES]; OCTAVES]>,
}

/// The statistics of heaps with similar intervals and absences.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// The smoothed additional absence of the heaps that returned; 0 until one has returned.
    longer: u32,
    waited_for: u32,
    came: u32,
}

/// The number of octaves. The longest intervals and ages are of 2^25 submissions.
const OCTAVES: usize = 26;
const LAST: u8 = 25;

/// The inverse weight of a new value.
const WEIGHT: u32 = 16;

/// The number of heaps that may be away at any time without being considered lost.
const STILL_AWAY: u32 = 3;

/// The value at which both counts are halved, so that old events count less.
const MOST_COUNTED: u32 = 512;

impl Default for Absences {
    #[inline]
    fn default() -> Self {
        Self { cells: Box::new([[Cell::default(); OCTAVES]; OCTAVES]) }
    }
}

/// Returns the octave of a time; the first is that of one submission and less.
#[inline]
fn octave(time: u32) -> u8 {
    let octave = (time / SUBMISSION).max(1).ilog2();
    u8::try_from(octave).map_or(LAST, |octave| octave.min(LAST))
}

impl Absences {
    /// Records that a heap of the interval returned after the gap, and the column in which it was expected,
    /// if any. O(log(gap / interval)).
    #[inline]
    pub(super) fn come(&mut self, interval: u32, gap: u32, column: Option<u8>) {
        let row = octave(interval);
        let cells = &mut self.cells[usize::from(row)];
        let mut away = SUBMISSION << row;
        for cell in &mut cells[usize::from(row)..] {
            let Some(longer) = gap.checked_sub(away).filter(|&longer| longer > 0) else { break };
            cell.longer = match cell.longer {
                0 => longer,
                known => known - known / WEIGHT + longer / WEIGHT,
            };
            away = away.saturating_mul(2);
        }
        if let Some(cell) = column.and_then(|column| cells.get_mut(usize::from(column))) {
            cell.came = (cell.came + 1).min(cell.waited_for);
        }
    }

    /// Records that a heap of the interval has been away for the time `away`. Returns the column, and how
    /// much longer it is expected to stay away, if all but a few of the other heaps returned; somewhat longer
    /// if some have not returned yet. O(1).
    #[inline]
    pub(super) fn wait(&mut self, interval: u32, away: u32) -> (u8, Option<u64>) {
        let row = octave(interval);
        let column = octave(away).max(row);
        let cell = &mut self.cells[usize::from(row)][usize::from(column)];
        if cell.waited_for >= MOST_COUNTED {
            cell.waited_for /= 2;
            cell.came /= 2;
        }
        cell.waited_for += 1;
        // If some heaps never return, a heap that is away for long is more likely to be one of them, and a
        // mean says nothing.
        let all_came = cell.came + STILL_AWAY >= cell.waited_for;
        let (waited_for, came) = (u64::from(cell.waited_for + STILL_AWAY), u64::from(cell.came + STILL_AWAY));
        let longer = u64::from(cell.longer) * waited_for / came;
        (column, (all_came && longer != 0).then_some(longer))
    }
}

/// The number of heaps of one kind that were expected, the number that returned, and the time of their
/// return.
#[derive(Default)]
pub(super) struct Returns {
    after: Smoothed,
    waited_for: u32,
    came: u32,
    /// The fraction that returned lately, in 1024ths.
    lately: u32,
}

/// The value at which both counts are halved, so that old events count less.
const MOST_RETURNS_COUNTED: u32 = 1 << 12;

/// The maximum factor by which an unused heap is assumed to stay away longer than it was unused. Over the
/// scenarios of the simulation 4, 8, 16 and 32 cost 1.188, 1.171, 1.166 and 1.162 times the bound in
/// geometric mean.
const DOUBT: u64 = 32;

impl Returns {
    /// Records that a heap was not used when expected.
    #[inline]
    pub(super) fn wait(&mut self) {
        if self.waited_for >= MOST_RETURNS_COUNTED {
            self.waited_for /= 2;
            self.came /= 2;
        }
        self.waited_for += 1;
        self.lately -= self.lately / 32;
    }

    /// Records that an expected heap returned, this long after its last use.
    #[inline]
    pub(super) fn come(&mut self, after: u32) {
        self.came = self.came.saturating_add(1).min(self.waited_for);
        self.lately += (1024 - self.lately) / 32;
        self.after.learn::<4>(after);
    }

    /// Returns the distance of the next use of a heap of that age, taking into account that many never
    /// return.
    ///
    /// It increases with the age, which is right for most programs if nothing else is known.
    #[inline]
    pub(super) fn left(&self, age: u32) -> u64 {
        let after = u64::from(self.after.mean.max(64 * SUBMISSION));
        let of_all = after * u64::from(self.waited_for + 1) / u64::from(self.came + 1);
        let age = u64::from(age);
        (age * DOUBT).min(age + of_all)
    }

    /// Returns the distance if heaps return regularly, all after the same time, as when heaps are used in
    /// turn.
    #[inline]
    pub(super) fn left_if_regular(&self, age: u32) -> Option<u64> {
        let regular =
            self.after.mean != 0 && self.after.deviation < self.after.mean / 16 && self.lately > 256;
        (regular && age < self.after.latest()).then(|| left(self.after, age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_heaps_are_expected_by_the_intervals_of_others() {
        let mut absences = Absences::default();
        let interval = 4 * SUBMISSION;
        assert_eq!(absences.wait(interval, 32 * SUBMISSION).1, None, "no interval recorded");
        absences.come(interval, 96 * SUBMISSION, Some(5));
        // One heap was expected, and returned; this is the second.
        let expected = u64::from(64 * SUBMISSION) * 5 / 4;
        assert_eq!(absences.wait(interval, 40 * SUBMISSION), (5, Some(expected)));
        assert_eq!(absences.wait(interval, 128 * SUBMISSION).1, None, "no return after that long");
        assert_eq!(absences.wait(2 * interval, 40 * SUBMISSION).1, None, "no return for that interval");
        for _ in 0..2 {
            assert!(absences.wait(interval, 40 * SUBMISSION).1.is_some());
        }
        assert_eq!(absences.wait(interval, 40 * SUBMISSION).1, None, "four are absent");
    }

    #[test]
    fn no_length_is_too_long() {
        let mut absences = Absences::default();
        for _ in 0..1000 {
            let (column, _) = absences.wait(0, u32::MAX);
            absences.come(0, u32::MAX, Some(column));
            absences.wait(u32::MAX, 0);
            absences.come(u32::MAX, u32::MAX, Some(u8::MAX));
        }
        assert_eq!(absences.wait(0, u32::MAX).0, LAST);
    }
}
