//! Single charts of a session, as SVG or PNG.

use std::error::Error;
use std::io;
use std::sync::Once;

use heapwright_report::session::SessionHistory;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::args::ChartArg;
use crate::format;
use crate::output_file::{OutputFile, OutputFileError};

/// Writes the chart as SVG.
pub(super) fn write_svg(
    file: OutputFile,
    chart: ChartArg,
    name: &str,
    history: &SessionHistory,
) -> Result<(), OutputFileError> {
    let mut svg = String::new();
    let drawn =
        draw(SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area(), chart, name, history);
    file.write(|writer| {
        drawn.map_err(|error| io::Error::other(error.to_string()))?;
        io::Write::write_all(writer, svg.as_bytes())
    })
}

/// Writes the chart as PNG.
pub(super) fn write_png(
    file: OutputFile,
    chart: ChartArg,
    name: &str,
    history: &SessionHistory,
) -> Result<(), OutputFileError> {
    let mut pixels = vec![0; 3 * (WIDTH * HEIGHT) as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, (WIDTH, HEIGHT)).into_drawing_area();
    let drawn = draw(area, chart, name, history);
    file.write(|writer| {
        drawn.map_err(|error| io::Error::other(error.to_string()))?;
        let mut encoder = png::Encoder::new(writer, WIDTH, HEIGHT);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut image = encoder.write_header()?;
        image.write_image_data(&pixels)?;
        Ok(image.finish()?)
    })
}

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 480;
/// Number of pairs of points of a line: the smallest and the largest number of each part of the events.
const PARTS: usize = 900;

const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
const INK: RGBColor = RGBColor(0x1B, 0x1B, 0x1B);
const GRID: RGBColor = RGBColor(0xDD, 0xE1, 0xE7);
const USED: RGBColor = RGBColor(0x5B, 0x8F, 0xD8);
const RESERVED: RGBColor = RGBColor(0x23, 0x40, 0x6E);
const BUDGET: RGBColor = RGBColor(0xB3, 0x26, 0x1E);
const FRAGMENTATION: RGBColor = RGBColor(0xA8, 0x5F, 0x10);

/// A subset of DejaVu Sans; `fonts/README.md` has its origin and licence.
const FONT: &[u8] = include_bytes!("../../fonts/DejaVuSans-Latin.ttf");
const FAMILY: &str = "sans-serif";

/// A line of a chart.
struct Line {
    name: &'static str,
    numbers: Vec<u64>,
    colour: RGBColor,
    is_area: bool,
}

fn draw<B: DrawingBackend>(
    area: DrawingArea<B, Shift>,
    chart: ChartArg,
    name: &str,
    history: &SessionHistory,
) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    register_fonts();
    let line = |name, numbers, colour| Line { name, numbers, colour, is_area: false };
    let (what, lines, label): (_, _, fn(f64) -> String) = match chart {
        ChartArg::Memory => {
            let used = Line { is_area: true, ..line("used by allocations", history.used(), USED) };
            let mut lines = vec![used, line("reserved in heaps", history.reserved(), RESERVED)];
            if !history.budgets.is_empty() {
                lines.push(line("budget", budgets(history), BUDGET));
            }
            ("memory", lines, size_label)
        }
        ChartArg::Fragmentation => {
            let parts = history.fragmentation.iter().map(|&part| part.into()).collect();
            ("fragmentation of the heaps", vec![line("fragmentation", parts, FRAGMENTATION)], percent_label)
        }
    };
    let most = match chart {
        ChartArg::Memory => lines.iter().flat_map(|line| &line.numbers).copied().max().unwrap_or(0).max(1),
        ChartArg::Fragmentation => 10_000,
    };
    let count = history.times_us.len();
    area.fill(&PAPER)?;
    let name: String =
        name.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect();
    let mut context = ChartBuilder::on(&area)
        .caption(format!("{name}: {what}"), (FAMILY, 20).into_font().color(&INK))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(1.0..float(count.max(2) as u64), 0.0..float(most) * 1.04)?;
    context
        .configure_mesh()
        .light_line_style(PAPER)
        .bold_line_style(GRID)
        .axis_style(INK)
        .label_style((FAMILY, 14).into_font().color(&INK))
        .x_desc("event")
        .x_label_formatter(&|event| format::count(whole(*event)))
        .y_label_formatter(&|number| label(*number))
        .draw()?;
    for Line { name, numbers, colour, is_area } in &lines {
        let points = points(numbers);
        let entry = if *is_area {
            context.draw_series(AreaSeries::new(points, 0.0, colour.filled()))?
        } else {
            context.draw_series(LineSeries::new(points, colour.stroke_width(2)))?
        };
        let colour = *colour;
        entry
            .label(*name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 14, y + 4)], colour.filled()));
    }
    context
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(PAPER.mix(0.85))
        .border_style(GRID)
        .label_font((FAMILY, 14).into_font().color(&INK))
        .draw()?;
    area.present()?;
    Ok(())
}

/// Registers the font, without which text has no size.
fn register_fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The chart reports the missing font when it is drawn.
        let _ = register_font(FAMILY, FontStyle::Normal, FONT);
    });
}

/// Returns the budget at each moment.
fn budgets(history: &SessionHistory) -> Vec<u64> {
    let mut changes = history.budgets.iter().peekable();
    let mut budget = 0;
    let moments = (0..).zip(&history.times_us).map(|(moment, _)| {
        while let Some(&(_, bytes)) = changes.next_if(|&&(start, _)| start <= moment) {
            budget = bytes;
        }
        budget
    });
    moments.collect()
}

/// Returns the points of a line: all numbers, or the smallest and the largest of each of [`PARTS`] parts.
fn points(numbers: &[u64]) -> Vec<(f64, f64)> {
    let len = numbers.len().div_ceil(PARTS).max(1);
    if len <= 2 {
        return (1..).zip(numbers).map(|(event, &number)| (float(event), float(number))).collect();
    }
    let part = |(place, part): (usize, &[u64])| {
        let event = float((place * len + 1) as u64);
        let (least, most) = (part.iter().min(), part.iter().max());
        [least, most].map(|number| (event, float(number.copied().unwrap_or_default())))
    };
    numbers.chunks(len).enumerate().flat_map(part).collect()
}

#[expect(clippy::cast_precision_loss, reason = "positions on a drawing")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn size_label(bytes: f64) -> String {
    format::size(whole(bytes))
}

fn percent_label(parts: f64) -> String {
    format!("{:.0} %", parts / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_extremes() {
        let mut numbers = vec![5; 100_000];
        numbers[70_001] = 9;
        numbers[123] = 1;
        let points = points(&numbers);
        assert!(points.len() <= 2 * PARTS);
        let values: Vec<u64> = points.iter().map(|&(_, number)| whole(number)).collect();
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&1), Some(&9)));
        assert!(points.is_sorted_by_key(|&(event, _)| whole(event)));
    }
}
