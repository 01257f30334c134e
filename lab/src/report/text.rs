//! Rendering of the report as markdown.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::{Format, Report, Section};
use crate::rivals::BASELINE;

/// Renders the entire report.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut parts = vec![heading(report)];
    parts.extend(report.sections.iter().map(render_section));
    parts.join("\n\n") + "\n"
}

fn heading(report: &Report) -> String {
    let machine = &report.machine;
    let mut lines = vec![
        "# Suballocators, side by side\n".to_owned(),
        "Written by `cargo lab bench-table`; do not edit.\n".to_owned(),
    ];
    lines.push(format!(
        "{}, {} threads, {}. {}; {}.\nCommit {}, {}, seed {}.{}",
        machine.processor,
        machine.cores,
        machine.system,
        machine.rustc,
        machine.cxx,
        machine.commit,
        machine.date,
        report.seed,
        if report.is_quick { " Quick run: fewer operations and repetitions." } else { "" },
    ));
    lines.push(format!(
        "\nIn parentheses: over VMA's default. The rivals take turns in several rounds. Of each thousand operations the best round counts. \
         p99.9 is the 99.9th percentile of the single operations of a round, the median of the rounds; worst is the operation that takes \
         longest, by the least time that it took in any round. Times of single operations contain one reading of the clock, {:.0} ns. \
         Nothing is subtracted: the last row of each table is what the harness alone takes. A run fails if a rival refuses what others \
         serve.",
        report.clock_nanoseconds
    ));
    lines.join("\n")
}

fn render_section(section: &Section) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(std::iter::once("rival").chain(section.columns.iter().map(|(heading, _)| *heading)));
    let baseline = section.rows.iter().find(|(rival, _)| *rival == BASELINE).map(|(_, values)| values);
    for (rival, values) in &section.rows {
        let mut cells = vec![(*rival).to_owned()];
        for (place, (&value, (_, format))) in values.iter().zip(&section.columns).enumerate() {
            let ratio = baseline.map_or(f64::NAN, |baseline| value / baseline[place]);
            cells.push(write(value, ratio, *format));
        }
        table.add_row(cells);
    }
    for place in 1..=section.columns.len() {
        if let Some(column) = table.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    format!("## {}\n\n{}\n\n{}", section.title, section.about, table.join("\n"))
}

fn write(value: f64, ratio: f64, format: Format) -> String {
    let with_ratio = |value: String| {
        if ratio.is_finite() { format!("{value} ({ratio:.2})") } else { value }
    };
    match format {
        Format::Nanoseconds if value < 1000.0 => with_ratio(format!("{value:.1}")),
        Format::Nanoseconds => with_ratio(format!("{value:.0}")),
        Format::Share => with_ratio(format!("{value:.3}")),
        Format::Percent if value == 0.0 => String::new(),
        Format::Percent => format!("{:.1} %", value * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_their_ratio_to_the_baseline() {
        let rows = vec![("ours", vec![25.0, 0.5, 0.0]), (BASELINE, vec![100.0, 1.0, 0.25])];
        let columns =
            vec![("pair ns", Format::Nanoseconds), ("share", Format::Share), ("refused", Format::Percent)];
        let section = Section { title: "title".to_owned(), about: "About.".to_owned(), columns, rows };
        let expected = "\
## title

About.

| rival | pair ns | share | refused |
|-------|--------:|------:|--------:|
| ours | 25.0 (0.25) | 0.500 (0.50) | |
| VMA default | 100.0 (1.00) | 1.000 (1.00) | 25.0 % |";
        let squeezed =
            |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['-', ':'], "");
        assert_eq!(squeezed(&render_section(&section)), squeezed(expected));
    }
}
