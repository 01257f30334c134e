//! `MEMORY.md`: written, and verified.

use std::fmt::Write as _;

use super::comparison::{CONTENDERS, Contender, Group, Row, geometric_mean};
use super::devices::{Means, Outcome};
use super::meter::Figures;

/// Figures of a group, and of each of its traces.
#[derive(Clone, Debug)]
pub struct Results {
    /// The group.
    pub group: Group,
    /// One row for each trace.
    pub rows: Vec<Row>,
}

const MEANS_HEADING: &str = "\
| allocator | time, us/op | hitches | peak | mean | mean by time | held when empty, MiB |
|---|---:|---:|---:|---:|---:|---:|
";

const TRACES_HEADING: &str = "\
| trace | allocator | time, us/op | hitches | longest, ms | between, ms | created | peak | mean | mean by time | held when empty, MiB |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
";

/// The beginning of a section with lines for each trace.
pub const EACH_TRACE: &str = "\n## Each trace: ";

/// Renders the file.
#[must_use]
pub fn render(results: &[Results], devices: &[(Group, Vec<Outcome>)]) -> String {
    let mut text = String::from(include_str!("introduction.md"));
    for Results { group, rows } in results {
        let _ = write!(
            text,
            "\n## {}\n\nGeometric means of {} traces.\n\n{MEANS_HEADING}",
            group.title(),
            rows.len()
        );
        for (place, contender) in CONTENDERS.iter().enumerate() {
            text.push_str(&means(contender, rows.iter().map(|row| &row.figures[place])));
        }
        let beaten: Vec<String> = rows
            .iter()
            .flat_map(|row| row.beaten_by().map(|peer| format!("{peer} on {}", row.trace)))
            .collect();
        let beaten = if beaten.is_empty() { "nowhere".to_owned() } else { beaten.join(", ") };
        let _ = writeln!(text, "\nBetter than heapwright in time, mean and peak at once: {beaten}.");
    }
    let _ = write!(text, "\n## Other prices\n\n{}", include_str!("devices.md"));
    for (group, outcomes) in devices {
        for outcome in outcomes {
            text.push_str(&of_device(*group, outcome));
        }
    }
    let _ = write!(text, "\n## Dedicated memory\n\n{}", include_str!("dedicated.md"));
    let _ = write!(text, "\n## Is the model honest?\n\n{}", include_str!("honesty.md"));
    for Results { group, rows } in results {
        let _ = write!(text, "{EACH_TRACE}{}\n\n{TRACES_HEADING}", group.title().to_lowercase());
        for row in rows {
            text.push_str(&lines(row));
        }
    }
    text
}

/// Compares the lines of a trace with those of a rendered file.
///
/// # Errors
///
/// Returns the differences, one a line. The figures of a contender that is random may differ by a third.
pub fn verify(file: &str, row: &Row) -> Result<(), String> {
    // Other tables of the file have lines that begin with the same cells.
    let found_lines: Vec<&str> = file.split(EACH_TRACE).skip(1).flat_map(str::lines).collect();
    let mut differences = String::new();
    for (contender, line) in CONTENDERS.iter().zip(lines(row).lines()) {
        let key = format!("| {} | {} |", row.trace, contender.name);
        match found_lines.iter().find(|found| found.starts_with(&key)) {
            Some(&found) if found == line || contender.is_random && is_similar(found, line) => {}
            Some(found) => {
                let _ = write!(differences, "\n  expected {found}\n  found    {line}");
            }
            None => {
                let _ = write!(differences, "\n  there is no line for {key}");
            }
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// Returns whether all numbers of two lines are within a third, or within two.
fn is_similar(one: &str, other: &str) -> bool {
    let numbers =
        |line: &str| -> Vec<f64> { line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect() };
    let (one, other) = (numbers(one), numbers(other));
    let pairs = one.iter().zip(&other);
    one.len() == other.len()
        && pairs.into_iter().all(|(one, other)| (one - other).abs() <= 2.0_f64.max(one.max(*other) / 3.0))
}

fn means<'a>(contender: &Contender, figures: impl Iterator<Item = &'a Figures> + Clone) -> String {
    let mean = |of: fn(&Figures) -> f64| geometric_mean(figures.clone().map(of));
    let count = figures.clone().count().max(1) as u64;
    format!(
        "| {} | {:.2} | {} | {:.3} | {:.2} | {:.2} | {} |\n",
        contender.name,
        mean(Figures::microseconds),
        figures.clone().map(|figures| figures.hitches).sum::<u64>(),
        mean(|figures| figures.peak),
        mean(|figures| figures.mean),
        mean(|figures| figures.mean_by_time),
        (figures.map(|figures| figures.held_when_empty).sum::<u64>() / count) >> 20,
    )
}

/// Returns the table of a device.
fn of_device(group: Group, outcome: &Outcome) -> String {
    let mut text = format!(
        "\n### {}: {}\n\n| allocator | time, us/op | hitches | peak | mean |\n|---|---:|---:|---:|---:|\n",
        group.title(),
        outcome.device
    );
    let mut line = |name: &str, means: &Means| {
        let Means { time, hitches, mean, peak } = means;
        let _ = writeln!(text, "| {name} | {time:.2} | {hitches} | {peak:.3} | {mean:.3} |");
    };
    outcome.rows.iter().for_each(|(name, means)| line(name, means));
    let ours = outcome.rows[0].1;
    let better = |means: &Means| means.time < ours.time && means.mean < ours.mean && means.peak < ours.peak;
    let beaten: Vec<&str> = outcome
        .rows
        .iter()
        .skip(1)
        .filter(|(name, means)| !name.starts_with("heapwright") && better(means))
        .map(|(name, _)| *name)
        .collect();
    let beaten = if beaten.is_empty() { "none".to_owned() } else { beaten.join(", ") };
    let _ = writeln!(text, "\nBetter in time, mean and peak at once: {beaten}.");
    text
}

/// Returns a line for each contender.
fn lines(row: &Row) -> String {
    let of = |(contender, figures): (&Contender, &Figures)| {
        format!(
            "| {} | {} | {:.2} | {} | {:.1} | {:.1} | {} | {:.3} | {:.2} | {:.2} | {} |\n",
            row.trace,
            contender.name,
            figures.microseconds(),
            figures.hitches,
            figures.longest.as_secs_f64() * 1e3,
            figures.longest_between.as_secs_f64() * 1e3,
            figures.created,
            figures.peak,
            figures.mean,
            figures.mean_by_time,
            figures.held_when_empty >> 20,
        )
    };
    CONTENDERS.iter().zip(&row.figures).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_agrees_with_itself_only() {
        let figures =
            Figures { operations: 1000, peak: 1.25, mean: 2.0, mean_by_time: 2.0, ..Figures::default() };
        let row = Row { trace: "unet_diffusion".to_owned(), figures: vec![figures; CONTENDERS.len()] };
        let results = Results { group: Group::Recorded, rows: vec![row.clone()] };
        let file = render(&[results], &[]);
        assert_eq!(verify(&file, &row), Ok(()));
        let mut other = row.clone();
        other.figures[0].peak = 1.26;
        let differences = verify(&file, &other).unwrap_err();
        assert_eq!(differences.lines().count(), 3, "{differences}");
        // The third contender is random.
        let mut similar = row.clone();
        similar.figures[2].peak = 1.3;
        assert_eq!(verify(&file, &similar), Ok(()));
        similar.figures[2].created = 9;
        assert!(verify(&file, &similar).is_err());
        let unknown = Row { trace: "u".to_owned(), ..row };
        assert!(verify(&file, &unknown).is_err());
    }
}
