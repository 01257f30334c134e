//! Statistics of how long heaps stay away after they were expected.

use super::habit::SUBMISSION;

/// How much longer heaps stayed away, by their interval (rows) and the time for which they had been away
/// (columns), both in octaves.
///
/// The data of a single heap say little while its gaps are few or irregular. But most programs use heaps in
/// phases, and heaps that are away return together with others.
#[derive(Debug)]
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
