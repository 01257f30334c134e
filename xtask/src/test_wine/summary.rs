//! Results of the steps.

use std::fmt;
use std::time::Duration;

/// The implementation of Direct3D 12 that a step ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// heapwright's runtime, built for Windows.
    Ours,
    /// Wine's Direct3D 12.
    Wine,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ours => "ours",
            Self::Wine => "Wine",
        })
    }
}

/// Results of tests or checks.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) passed: usize,
    /// Number of known failures.
    pub(super) known_gaps: usize,
    /// Number of tests that were not run or do not apply to the device.
    pub(super) skipped: usize,
    /// Descriptions of failures.
    pub(super) failed: Vec<String>,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.known_gaps += other.known_gaps;
        self.skipped += other.skipped;
        self.failed.extend(other.failed);
    }

    /// Returns the result of one test, which passed or failed with a message.
    pub(super) fn one(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self { passed: 1, ..Self::default() },
            Err(message) => Self::failure(message),
        }
    }

    pub(super) fn failure(message: String) -> Self {
        Self { failed: vec![message], ..Self::default() }
    }

    /// Returns the number of tests that ran.
    fn ran(&self) -> usize {
        self.passed + self.known_gaps + self.failed.len()
    }
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) step: &'static str,
    pub(super) device: Device,
    pub(super) counts: Counts,
    pub(super) took: Duration,
}

/// Results of all steps.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) build: Duration,
    pub(super) rows: Vec<Row>,
}

impl Summary {
    pub(super) fn failed(&self) -> usize {
        self.rows.iter().map(|row| row.counts.failed.len()).sum()
    }

    fn sum(&self, count: impl Fn(&Counts) -> usize) -> usize {
        self.rows.iter().map(|row| count(&row.counts)).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["ran", "passed", "known gaps", "failed", "skipped"];
        write!(f, "{:<34} {:<6}", "step", "D3D12")?;
        for column in columns {
            write!(f, " {column:>10}")?;
        }
        writeln!(f, " {:>8}", "time")?;
        writeln!(f, "{:<34} {:<6}{:>62.1} s", "build", "", self.build.as_secs_f64())?;
        for Row { step, device, counts, took } in &self.rows {
            write!(f, "{step:<34} {device:<6}")?;
            let failed = counts.failed.len();
            for count in [counts.ran(), counts.passed, counts.known_gaps, failed, counts.skipped] {
                write!(f, " {count:>10}")?;
            }
            writeln!(f, " {:>6.1} s", took.as_secs_f64())?;
        }
        writeln!(f)?;
        for device in [Device::Wine, Device::Ours] {
            let ran: usize =
                self.rows.iter().filter(|row| row.device == device).map(|row| row.counts.ran()).sum();
            let name = match device {
                Device::Wine => "Wine's D3D12",
                Device::Ours => "our runtime",
            };
            writeln!(f, "{ran} tests and checks ran on {name}")?;
        }
        write!(
            f,
            "{} passed, {} failed, {} known gaps, {} skipped",
            self.sum(|counts| counts.passed),
            self.failed(),
            self.sum(|counts| counts.known_gaps),
            self.sum(|counts| counts.skipped)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_the_sums() {
        let row = |device, counts| Row { step: "a step", device, counts, took: Duration::from_millis(1500) };
        let rows = vec![
            row(Device::Ours, Counts { passed: 5, skipped: 1, ..Counts::default() }),
            row(Device::Wine, Counts { passed: 2, known_gaps: 3, failed: vec!["it".to_owned()], skipped: 4 }),
        ];
        let text = Summary { build: Duration::from_secs(60), rows }.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2].split_whitespace().skip(2).collect::<Vec<_>>(),
            ["ours", "5", "5", "0", "0", "1", "1.5", "s"]
        );
        assert_eq!(
            lines[3].split_whitespace().skip(2).collect::<Vec<_>>(),
            ["Wine", "6", "2", "3", "1", "4", "1.5", "s"]
        );
        assert_eq!(lines[5], "6 tests and checks ran on Wine's D3D12");
        assert_eq!(lines[6], "5 tests and checks ran on our runtime");
        assert_eq!(lines[7], "7 passed, 1 failed, 3 known gaps, 5 skipped");
        let width = lines[0].len();
        assert!(lines[..4].iter().all(|line| line.len() == width), "{text}");
    }
}
