//! The report: measurements, the machine, and each figure relative to the baseline.

pub mod machine;
pub mod text;

use self::machine::Machine;

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
    /// Names of the traces that were not found.
    pub traces_left_out: Vec<&'static str>,
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
    /// The rows, one for each rival.
    pub rows: Vec<Row>,
}

/// A column of measurements.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading of the column, with the unit.
    pub heading: String,
    /// Format of its figures.
    pub format: Format,
}

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

/// The results of one rival.
#[derive(Debug)]
pub struct Row {
    /// Name of the rival.
    pub rival: &'static str,
    /// The reason why it has no figures, if it has none.
    pub unfit: Option<&'static str>,
    /// The figures, one for each column.
    pub figures: Vec<Figure>,
}

/// The figure of one rival in one column.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figure {
    /// The measured value, if any.
    pub value: Option<f64>,
    /// The ratio to the baseline's value.
    pub ratio: Option<f64>,
}

/// The measured values of one rival for all columns, or the reason why there are none.
pub type Values = Result<Vec<Option<f64>>, &'static str>;

impl Section {
    /// Combines the values of all rivals and divides them by those of `baseline`.
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
