//! The report: measurements, the machine, and each figure relative to the baseline.

pub mod machine;
pub mod text;

use self::machine::Machine;
use crate::rivals::HARNESS;

/// The results of one run.
#[derive(Debug)]
pub struct Report {
    /// The machine, the versions and the date.
    pub machine: Machine,
    /// Seed of all workloads.
    pub seed: u64,
    /// Whether this is a quick run.
    pub is_quick: bool,
    /// Duration of one clock reading in nanoseconds. The time of each single operation includes one reading.
    pub clock_nanoseconds: f64,
    /// The sections, one for each workload.
    pub sections: Vec<Section>,
}

/// The results of one workload.
#[derive(Debug)]
pub struct Section {
    /// Title of the section.
    pub title: String,
    /// Description of the workload, in sentences.
    pub about: String,
    /// The columns of measurements.
    pub columns: Vec<Column>,
    /// The rivals, each with a figure for each column.
    pub rows: Vec<(&'static str, Vec<f64>)>,
}

/// Heading of a column, with the unit, and the format of its figures.
pub type Column = (&'static str, Format);

/// The format of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Nanoseconds, with the ratio to the baseline.
    Nanoseconds,
    /// A number near one, with the ratio to the baseline.
    Share,
    /// A percentage, without a ratio; empty if zero.
    Percent,
}

/// Maximum share of allocations that a rival may refuse beyond the median.
const MOST_REFUSED: f64 = 0.02;

/// Minimum use of a heap at refusals, relative to the median.
const LEAST_FULL: f64 = 0.7;

impl Section {
    /// Returns a line for each rival that did not do the same work as the others: one that refuses what others serve is
    /// fast for the wrong reason. The harness alone is left out.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (place, (heading, format)) in self.columns.iter().enumerate() {
            let is_use = heading.starts_with("used at");
            if !is_use && *format != Format::Percent {
                continue;
            }
            let values = || {
                let rows = self.rows.iter().filter(|(rival, _)| *rival != HARNESS);
                rows.map(|(rival, values)| (rival, values[place]))
            };
            let mut sorted: Vec<f64> = values().map(|(_, value)| value).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            // Of an even number of values, the lower middle one.
            let median = sorted.len().checked_sub(1).map_or(0.0, |last| sorted[last / 2]);
            for (rival, value) in values() {
                // NaN means that nothing was requested, which is a difference as well.
                let is_like =
                    if is_use { value >= median * LEAST_FULL } else { value - median <= MOST_REFUSED };
                if !is_like {
                    let title = &self.title;
                    found.push(format!(
                        "{title}: {rival}: {heading}: {value:.3}, and the median is {median:.3}"
                    ));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_what_others_serve_is_named() {
        let found = |columns: [Column; 1], values: [f64; 3]| {
            let rows = ["a", "b", "c"].into_iter().zip(values.map(|value| vec![value]));
            let rows = rows.chain([(HARNESS, vec![1.0])]).collect();
            let (title, about) = ("w".to_owned(), String::new());
            Section { title, about, columns: columns.into(), rows }.differences()
        };
        let refused = |values| found([("refused", Format::Percent)], values);
        assert_eq!(refused([0.0, 0.0, 0.015]), [""; 0]);
        assert_eq!(refused([1.0, 0.0, 0.001]), ["w: a: refused: 1.000, and the median is 0.001"]);
        assert_eq!(refused([0.0, 0.0, f64::NAN]).len(), 1);
        let used = |values| found([("used at first refusal", Format::Share)], values);
        assert_eq!(used([0.98, 0.97, 0.74]), [""; 0]);
        assert_eq!(used([0.0, 0.97, 0.98]), ["w: a: used at first refusal: 0.000, and the median is 0.970"]);
    }
}
