//! Panels of lines.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::{OURS, PEERS, Result, TEXT, WIDTH};

/// An axis. A linear y axis begins at zero, others at their least value.
#[derive(Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    pub(crate) is_logarithmic: bool,
}

/// A line. Ours is emphasized.
pub(crate) struct Line<'a> {
    pub(crate) label: &'a str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Lines over the same axes.
pub(crate) struct Panel<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) lines: Vec<Line<'a>>,
}

const HEIGHT: i32 = 300;
/// The lines of peers, which can be told apart without colours by their order in the legend and their level.
const OTHERS: [RGBColor; 3] = [RGBColor(0xd0, 0x6b, 0x4f), RGBColor(0x9b, 0x6f, 0xc9), PEERS];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws panels beside each other.
pub(crate) fn draw(title: &str, panels: &[Panel<'_>]) -> Result<String> {
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH.try_into()?, HEIGHT.try_into()?)).into_drawing_area();
        let area = area.titled(title, ("sans-serif", 15).into_font().color(&TEXT))?;
        for (area, panel) in area.split_evenly((1, panels.len())).iter().zip(panels) {
            match (panel.x.is_logarithmic, panel.y.is_logarithmic) {
                (true, _) => {
                    draw_panel(area, panel, range(panel, 0).log_scale(), range(panel, 1).log_scale())?
                }
                (false, _) => draw_panel(area, panel, range(panel, 0), range(panel, 1))?,
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// Returns the range of the values of an axis: 0 is x, 1 is y.
fn range(panel: &Panel<'_>, axis: usize) -> std::ops::Range<f64> {
    let values = || panel.lines.iter().flat_map(|line| &line.points).map(move |&(x, y)| [x, y][axis]);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let least = if axis == 0 || panel.y.is_logarithmic { least } else { 0.0 };
    least..most * if axis == 0 { 1.0 } else { 1.08 }
}

fn draw_panel<X, Y>(area: &Area<'_>, panel: &Panel<'_>, x: X, y: Y) -> Result<()>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let font = |size: i32| ("sans-serif", size).into_font().color(&TEXT);
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, font(13))
        .margin(6)
        .margin_right(24)
        .x_label_area_size(34)
        .y_label_area_size(54)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(TEXT.mix(0.25))
        .light_line_style(TRANSPARENT)
        .axis_style(TEXT)
        .label_style(font(11))
        .x_desc(panel.x.name)
        .y_desc(panel.y.name)
        .x_label_formatter(&f64::to_string)
        .y_label_formatter(&f64::to_string)
        .x_labels(6)
        .y_labels(6)
        .draw()?;
    let mut others = OTHERS.iter().cycle();
    for line in &panel.lines {
        let colour = match line.label {
            "heapwright" | "next-use" => OURS,
            "live" => TEXT,
            _ => *others.next().unwrap_or(&PEERS),
        };
        let style = colour.stroke_width(if colour == OURS { 2 } else { 1 });
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(line.label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], style));
    }
    chart.configure_series_labels().position(emptier_corner(panel)).label_font(font(11)).draw()?;
    Ok(())
}

/// Returns the upper corner at which the lines are lower.
fn emptier_corner(panel: &Panel<'_>) -> SeriesLabelPosition {
    let points = || panel.lines.iter().flat_map(|line| line.points.iter().copied());
    let x = range(panel, 0);
    // On a logarithmic axis, the middle is the geometric mean.
    let middle =
        if panel.x.is_logarithmic { (x.start * x.end).sqrt() } else { f64::midpoint(x.start, x.end) };
    let highest = |is_left: bool| {
        points().filter(|(x, _)| (*x < middle) == is_left).map(|(_, y)| y).fold(0.0, f64::max)
    };
    let is_left = highest(true) < highest(false);
    if is_left { SeriesLabelPosition::UpperLeft } else { SeriesLabelPosition::UpperRight }
}
