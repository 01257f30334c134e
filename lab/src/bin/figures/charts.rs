//! Draws the charts of docs/performance.md from its tables.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A chart of bars: one group for each row of a table, and one bar for each of some columns.
struct Chart {
    /// Name of the table, and of the file.
    table: &'static str,
    title: &'static str,
    columns: &'static [usize],
    /// Which of the numbers in a cell is shown; they are separated by slashes.
    part: usize,
    /// A line to compare with.
    baseline: Option<f64>,
}

const CHARTS: [Chart; 3] = [
    Chart {
        table: "heaps",
        title: "Peak reserved / peak live bytes (less is better)",
        columns: &[1, 2, 3, 4],
        part: 2,
        baseline: Some(1.0),
    },
    Chart {
        table: "residency",
        title: "Bytes paged in / lower bound (less is better)",
        columns: &[1, 2],
        part: 0,
        baseline: Some(1.0),
    },
    Chart {
        table: "suballocators",
        title: "Nanoseconds for one free and one allocation (less is better)",
        columns: &[1, 2, 3],
        part: 0,
        baseline: None,
    },
];

/// Colours that are told apart with any colour vision (Okabe and Ito), for the columns in order.
const COLORS: [&str; 4] = ["#0072b2", "#e69f00", "#009e73", "#999999"];

const LEFT: usize = 230;
const WIDTH: usize = 480;
const BAR: usize = 12;
const GAP: usize = 12;
const TOP: usize = 64;

/// Draws all charts of a page, or compares them with their files.
pub(crate) fn draw_all(page: &str, folder: &Path, is_check: bool) -> Result<(), String> {
    for chart in &CHARTS {
        let drawn =
            draw(chart, page).ok_or_else(|| format!("performance.md has no table {}", chart.table))?;
        let file = folder.join(chart.table).with_extension("svg");
        if !is_check {
            fs::write(&file, drawn).map_err(|error| format!("{}: {error}", file.display()))?;
        } else if fs::read_to_string(&file).ok().as_deref() != Some(drawn.as_str()) {
            return Err(format!("{} is outdated; run `cargo lab figures`", file.display()));
        }
    }
    Ok(())
}

/// Returns the chart as SVG, or `None` if the page lacks its table.
fn draw(chart: &Chart, page: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("<!-- figures: {} -->", chart.table))?;
    let (table, _) = rest.split_once("<!-- end")?;
    let mut rows = table.lines().filter(|line| line.starts_with('|')).map(cells);
    let heading = rows.next()?;
    let groups: Vec<(String, Vec<f64>)> = rows
        .filter_map(|row| {
            let values = chart.columns.iter().map(|&column| number(row.get(column)?, chart.part));
            Some((row[0].clone(), values.collect::<Option<_>>()?))
        })
        .collect();
    let most = groups.iter().flat_map(|(_, values)| values).copied().fold(f64::MIN_POSITIVE, f64::max);
    let length = |value: f64| value / most * WIDTH as f64;
    let step = chart.columns.len() * BAR + GAP;
    let height = TOP + groups.len() * step;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"8\" y=\"20\" font-size=\"14\">{}</text>\n",
        LEFT + WIDTH + 60,
        chart.title,
    );
    for (place, &column) in chart.columns.iter().enumerate() {
        let (x, name) = (LEFT + place * 130, heading.get(column)?.replace('`', ""));
        let color = COLORS[place];
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"34\" width=\"10\" height=\"10\" fill=\"{color}\"/><text x=\"{}\" y=\"43\">{name}</text>",
            x + 14
        );
    }
    for (row, (name, values)) in groups.iter().enumerate() {
        let top = TOP + row * step;
        let middle = top + (step - GAP) / 2 + 4;
        let anchor = format!("x=\"{}\" y=\"{middle}\" text-anchor=\"end\"", LEFT - 8);
        let _ = writeln!(svg, "<text {anchor}>{}</text>", name.replace("**", ""));
        for (place, &value) in values.iter().enumerate() {
            let (y, end) = (top + place * BAR, length(value));
            let (height, color, text_x, text_y) = (BAR - 2, COLORS[place], LEFT as f64 + end + 4.0, y + 9);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{end:.1}\" height=\"{height}\" fill=\"{color}\"/>\
                 <text x=\"{text_x:.1}\" y=\"{text_y}\" font-size=\"9\">{value}</text>"
            );
        }
    }
    if let Some(baseline) = chart.baseline {
        let x = LEFT as f64 + length(baseline);
        let y = TOP - 8;
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{y}\" x2=\"{x:.1}\" y2=\"{height}\" stroke=\"#000\" stroke-dasharray=\"3 3\"/>"
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Returns the cells of a row.
fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Returns one of the numbers in a cell.
fn number(cell: &str, part: usize) -> Option<f64> {
    let text = cell.replace("**", "");
    text.split('/').nth(part)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_bar_for_each_number() {
        let page = "<!-- figures: residency -->\n| workload | a | b |\n|---|---|---|\n| x | 1.5 | 3 |\n\
                    | **mean** | **2** | **1** |\n<!-- end: residency -->\n";
        let svg = draw(&CHARTS[1], page).expect("the page has the table");
        assert_eq!(svg.matches("<rect x=\"230\"").count(), 5, "a legend and four bars");
        assert!(svg.contains("width=\"480.0\"") && svg.contains(">mean</text>"), "{svg}");
        assert_eq!(draw(&CHARTS[0], page), None);
        assert_eq!(
            [0, 1, 2, 3].map(|part| number("1.5 / 2 ns / 3", part)),
            [Some(1.5), Some(2.0), Some(3.0), None]
        );
    }
}
