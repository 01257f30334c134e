//! A figure for each scenario, one below the other, in one SVG: for each policy what it pages in over the bound, and the times of
//! frames.

use std::error::Error;
use std::io::{self, Write as _};

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::report::ResidencyReport;
use crate::output_file::{OutputFile, OutputFileError};

/// Draws the figures into a file.
pub(super) fn write(file: OutputFile, reports: &[Vec<ResidencyReport>]) -> Result<(), OutputFileError> {
    let drawn = draw(reports).map_err(|error| io::Error::other(error.to_string()));
    file.write(|writer| writer.write_all(drawn?.as_bytes()))
}

// What a dark page shows instead is in `DARK`.
const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
const INK: RGBColor = RGBColor(0x1B, 0x1B, 0x1B);
const FAINT: RGBColor = RGBColor(0x8C, 0x8C, 0x8C);
const BAR: RGBColor = RGBColor(0x8F, 0xA9, 0xCF);
const DEFAULT_BAR: RGBColor = RGBColor(0x1F, 0x5F, 0xBF);
const P99_BAR: RGBColor = RGBColor(0xD9, 0x7A, 0x2B);

/// The figures say colours by attributes, which rules outweigh.
const DARK: &str = "<style>@media (prefers-color-scheme: dark) {\
[fill=\"#FFFFFF\"] { fill: #161616 } [fill=\"#1B1B1B\"] { fill: #E6E6E6 } [stroke=\"#1B1B1B\"] { stroke: #E6E6E6 } \
[fill=\"#8FA9CF\"] { fill: #5E7699 } [fill=\"#1F5FBF\"] { fill: #5C9BF5 } [fill=\"#8C8C8C\"] { fill: #A0A0A0 } \
[stroke=\"#8C8C8C\"] { stroke: #A0A0A0 } }</style>";

const WIDTH: i32 = 1080;
const MARGIN: i32 = 24;
const HEADING: i32 = 52;
const ROW: i32 = 22;
const GAP: i32 = 26;
/// Where names of policies end.
const NAMES_END: i32 = 150;
const BAR_LENGTH: i32 = 300;
/// Where the right panel's bars begin.
const RIGHT: i32 = 590;

type Drawn = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(scenarios: &[Vec<ResidencyReport>]) -> Result<String, Box<dyn Error>> {
    let heights = scenarios.iter().map(|scenario| height(scenario));
    let total = heights.sum::<i32>() + 2 * MARGIN;
    let mut svg = String::new();
    {
        let size = (u32::try_from(WIDTH)?, u32::try_from(total)?);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&PAPER)?;
        let mut top = MARGIN;
        for scenario in scenarios {
            draw_scenario(&area, top, scenario)?;
            top += height(scenario);
        }
        area.present()?;
    }
    // Behind the first tag of an element, which is <svg ...>.
    let root = svg.find("<svg").and_then(|start| svg[start..].find('>').map(|end| start + end + 1));
    svg.insert_str(root.unwrap_or(0), DARK);
    Ok(svg)
}

fn height(scenario: &[ResidencyReport]) -> i32 {
    HEADING + ROW * i32::try_from(scenario.len()).unwrap_or(i32::MAX / (2 * ROW)) + GAP
}

fn draw_scenario(area: &Area<'_>, top: i32, reports: &[ResidencyReport]) -> Drawn {
    let name = reports.first().map_or("", |report| report.scenario.as_str());
    let name = name.replace(char::is_control, "\u{fffd}");
    label(area, &name, (MARGIN, top), HPos::Left, 21, &INK)?;
    label(area, "bytes paged in, over the lower bound", (NAMES_END, top + 26), HPos::Left, 15, &FAINT)?;
    label(area, "frame time: p50 above, p99 below", (RIGHT, top + 26), HPos::Left, 15, &FAINT)?;
    let most_ratio = reports.iter().filter_map(|report| report.ratio).fold(1.0, f64::max);
    let most_ms = reports.iter().map(|report| report.frame_ms.p99).fold(f64::MIN_POSITIVE, f64::max);
    let first = top + HEADING;
    for (row, report) in (0..).zip(reports) {
        let y = first + row * ROW;
        let middle = y + ROW / 2;
        let colour = if report.default { DEFAULT_BAR } else { BAR };
        label(area, report.policy, (NAMES_END - 8, middle), HPos::Right, 16, &INK)?;
        let end = match report.ratio {
            Some(ratio) => bar(area, NAMES_END, (y + 4, y + ROW - 4), ratio / most_ratio, &colour)?,
            None => NAMES_END,
        };
        let ratio = report.ratio.map_or_else(|| "bound is 0".to_owned(), |ratio| format!("{ratio:.2}"));
        label(area, &ratio, (end + 6, middle), HPos::Left, 15, &INK)?;
        let end = bar(area, RIGHT, (y + 3, middle - 1), report.frame_ms.p50 / most_ms, &colour)?;
        let end =
            bar(area, RIGHT, (middle + 1, y + ROW - 3), report.frame_ms.p99 / most_ms, &P99_BAR)?.max(end);
        let times = format!("{:.1} ms, {:.1} ms", report.frame_ms.p50, report.frame_ms.p99);
        label(area, &times, (end + 6, middle), HPos::Left, 15, &INK)?;
    }
    // The bound.
    let x = NAMES_END + scaled(1.0 / most_ratio);
    let bottom = first + ROW * i32::try_from(reports.len())?;
    area.draw(&PathElement::new(vec![(x, first - 4), (x, bottom)], INK.stroke_width(2)))?;
    label(area, "bound", (x, bottom + 9), HPos::Center, 14, &FAINT)
}

/// Draws a bar of a share of the whole length, and returns its end.
fn bar(
    area: &Area<'_>,
    x: i32,
    (top, bottom): (i32, i32),
    share: f64,
    colour: &RGBColor,
) -> Result<i32, Box<dyn Error>> {
    let end = x + scaled(share);
    area.draw(&Rectangle::new([(x, top), (end, bottom)], colour.filled()))?;
    Ok(end)
}

/// A share of a bar's length, in whole steps.
fn scaled(share: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "0 to the length of a bar")]
    let length = (share.clamp(0.0, 1.0) * f64::from(BAR_LENGTH)).round() as i32;
    length
}

fn label(area: &Area<'_>, text: &str, at: (i32, i32), to: HPos, size: i32, colour: &RGBColor) -> Drawn {
    let vertical = VPos::Center;
    let style = ("sans-serif", size).into_font().color(colour).pos(Pos::new(to, vertical));
    area.draw(&Text::new(text.to_owned(), at, style))?;
    Ok(())
}
