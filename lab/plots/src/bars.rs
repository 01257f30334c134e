//! Panels of horizontal bars.

use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::{OURS, PEERS, Result, TEXT, WIDTH};

/// A bar with its label. Ours are emphasized.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    pub(crate) text: String,
}

const LABELS: i32 = 110;
const GAP: i32 = 24;
const ROW: i32 = 24;
const TOP: i32 = 66;

/// Draws panels of horizontal bars beside each other, each on its own scale. Panels with other labels have their own.
pub(crate) fn draw(title: &str, panels: &[(&str, Vec<Bar>)]) -> Result<String> {
    let rows = panels.iter().map(|(_, bars)| bars.len()).max().unwrap_or(0);
    let height = TOP + ROW * i32::try_from(rows)? + 8;
    let labels = |bars: &[Bar]| bars.iter().map(|bar| bar.label.clone()).collect::<Vec<_>>();
    let share_labels = panels.windows(2).all(|pair| labels(&pair[0].1) == labels(&pair[1].1));
    let count = i32::try_from(panels.len())?;
    let label_columns = if share_labels { 1 } else { count };
    let wide = (WIDTH - LABELS * label_columns - GAP * (count - 1)) / count;
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH.try_into()?, height.try_into()?)).into_drawing_area();
        let style = |size: i32, colour: RGBColor, at: HPos| {
            let font = ("sans-serif", size).into_font().transform(FontTransform::None);
            font.color(&colour).pos(Pos::new(at, VPos::Center))
        };
        area.draw(&Text::new(title.to_owned(), (0, 14), style(15, TEXT, HPos::Left)))?;
        let mut left = 0;
        for (number, (name, bars)) in panels.iter().enumerate() {
            let has_labels = number == 0 || !share_labels;
            if has_labels {
                left += LABELS;
            }
            area.draw(&Text::new((*name).to_owned(), (left, 48), style(13, TEXT, HPos::Left)))?;
            let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
            for (row, bar) in (0..).zip(bars) {
                let top = TOP + ROW * row;
                let is_ours = bar.label == "heapwright";
                let colour = if is_ours { OURS } else { PEERS };
                // The text is beside the longest bar.
                #[expect(clippy::cast_possible_truncation, reason = "a number of pixels")]
                let long = (f64::from(wide - 62) * bar.value / most).round().max(1.0) as i32;
                area.draw(&Rectangle::new([(left, top), (left + long, top + ROW - 6)], colour.filled()))?;
                let middle = top + (ROW - 6) / 2 + 1;
                area.draw(&Text::new(
                    bar.text.clone(),
                    (left + long + 6, middle),
                    style(12, TEXT, HPos::Left),
                ))?;
                if has_labels {
                    let colour = if is_ours { OURS } else { TEXT };
                    area.draw(&Text::new(
                        bar.label.clone(),
                        (left - 8, middle),
                        style(12, colour, HPos::Right),
                    ))?;
                }
            }
            left += wide + GAP;
        }
        area.present()?;
    }
    Ok(svg)
}
