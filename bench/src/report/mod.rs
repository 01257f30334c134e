//! The report: what was measured, where, and each figure beside the baseline's.

pub mod machine;
pub mod text;

use serde::Serialize;

use self::machine::Machine;

/// Everything that one run measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where and when.
    pub machine: Machine,
    /// The seed of all workloads.
    pub seed: u64,
    /// Whether it was the quick run.
    pub is_quick: bool,
    /// Nanoseconds of reading the clock once; each time of a single operation has one reading in it.
    pub clock_nanoseconds: f64,
    /// Traces that were not found.
    pub traces_left_out: Vec<&'static str>,
    /// One for each workload.
    pub sections: Vec<Section>,
}

/// One workload.
#[derive(Debug, Serialize)]
pub struct Section {
    /// Its name.
    pub title: String,
    /// What is done, in sentences.
    pub about: String,
    /// What is measured.
    pub columns: Vec<Column>,
    /// One for each rival.
    pub rows: Vec<Row>,
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its name, with its unit.
    pub heading: String,
    /// How it is written.
    #[serde(skip)]
    pub format: Format,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Nanoseconds, with the ratio to the baseline.
    Nanoseconds,
    /// A number near one, with the ratio to the baseline.
    Share,
    /// A number near one, by itself.
    Factor,
    /// Percent, nothing when zero, by itself.
    Percent,
}

/// One rival.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name.
    pub rival: &'static str,
    /// Why it has no figures, if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfit: Option<&'static str>,
    /// One for each column.
    pub figures: Vec<Figure>,
}

/// One rival's figure in one column.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Figure {
    /// As measured; nothing where it was not.
    pub value: Option<f64>,
    /// Over the baseline's.
    pub ratio: Option<f64>,
}

/// What one rival measured, for each column, or why it did not.
pub type Values = Result<Vec<Option<f64>>, &'static str>;

impl Section {
    /// Puts the values of all rivals together and divides them by those of `baseline`.
    #[must_use]
    pub fn new(
        title: impl Into<String>,
        about: impl Into<String>,
        columns: &[(&str, Format)],
        rows: Vec<(&'static str, Values)>,
        baseline: &str,
    ) -> Self {
        let base = rows.iter().find(|(rival, _)| *rival == baseline);
        let base = base.and_then(|(_, values)| values.clone().ok()).unwrap_or_default();
        let rows = rows.into_iter().map(|(rival, values)| {
            let unfit = values.as_ref().err().copied();
            let mut figures: Vec<Figure> = values
                .unwrap_or_default()
                .into_iter()
                .enumerate()
                .map(|(place, value)| {
                    let base = base.get(place).copied().flatten();
                    let ratio = value.zip(base).map(|(value, base)| value / base);
                    Figure { value, ratio: ratio.filter(|ratio| ratio.is_finite()) }
                })
                .collect();
            figures.resize(columns.len(), Figure::default());
            Row { rival, unfit, figures }
        });
        Self {
            title: title.into(),
            about: about.into(),
            rows: rows.collect(),
            columns: columns
                .iter()
                .map(|&(heading, format)| Column { heading: heading.to_owned(), format })
                .collect(),
        }
    }
}
