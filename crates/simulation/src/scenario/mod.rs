//! Scenarios: files that describe heaps, their uses, and the available memory.
//!
//! - [`format`](mod@format) is the file format, and [`amount`] its sizes.
//! - [`resolve`] validates a file and converts it to a [`Scenario`], which is always valid.
//! - [`built_in`] has the scenarios that are part of the program, in the same format.

mod amount;
pub mod built_in;
mod format;
mod resolve;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::SegmentGroup;
use heapwright_core::residency::PriorityLevel;

use self::format::ScenarioFile;
use super::workload::PagingCost;

/// A valid scenario.
#[derive(Debug)]
pub struct Scenario {
    /// The name, of letters, digits, `-` and `_`.
    pub name: String,
    /// The file, or another name of the scenario, for messages.
    pub(super) path: String,
    /// The description, for people.
    pub description: String,
    pub(super) frames: u32,
    pub(super) frames_in_flight: usize,
    pub(super) cpu: Duration,
    pub(super) paging: PagingCost,
    /// The budgets, each with its first frame, in ascending order. The first is from frame 0.
    pub(super) budgets: Vec<(u32, [ByteSize; 2])>,
    pub(super) groups: Vec<Group>,
    pub(super) cameras: Vec<Camera>,
    pub(super) rotas: Vec<Rota>,
    pub(super) submissions: Vec<SubmissionKind>,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) count: u32,
    /// The minimum and maximum size, both multiples of [`GRANULARITY`].
    pub(super) sizes: [ByteSize; 2],
    pub(super) segment: SegmentGroup,
    pub(super) level: PriorityLevel,
    pub(super) is_resident: bool,
    pub(super) is_locked: bool,
    pub(super) lives: Option<[u32; 2]>,
    pub(super) seed: u64,
}

#[derive(Debug)]
pub(super) struct Camera {
    pub(super) speed: f64,
    pub(super) turn: f64,
    pub(super) back: f64,
    pub(super) seed: u64,
}

#[derive(Debug)]
pub(super) struct Rota {
    pub(super) turns: [u32; 2],
    pub(super) draw: RotaDraw,
    pub(super) seed: u64,
}

#[derive(Debug)]
pub(super) enum RotaDraw {
    Weights(Vec<f64>),
    Order(Vec<u32>),
}

#[derive(Debug)]
pub(super) struct SubmissionKind {
    pub(super) queue: usize,
    pub(super) gpu: Duration,
    pub(super) repeat: u32,
    pub(super) uses: Vec<Use>,
}

#[derive(Debug)]
pub(super) struct Use {
    pub(super) frames: Range<u32>,
    pub(super) pattern: Pattern,
}

/// A pattern of use, with indices into [`Scenario::groups`], [`Scenario::cameras`] and [`Scenario::rotas`].
#[derive(Debug)]
pub(super) enum Pattern {
    All { group: usize, by_parts: bool },
    Cyclic { group: usize, count: u32 },
    Random { group: usize, count: u32, zipf: f64, seed: u64 },
    Drift { group: usize, count: u32, change: f64, seed: u64 },
    Window { group: usize, columns: u32, radius: f64, camera: usize },
    InTurn { rota: usize, groups: Vec<usize>, by_parts: bool },
}

/// The unit of heap sizes: D3D12's default placement alignment.
pub(super) const GRANULARITY: ByteSize = ByteSize::from_kib(64);

/// The error of a scenario file that violates a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or another name of the scenario.
    path: String,
    line: Option<usize>,
    rule: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.rule),
            None => write!(f, "{}: {}", self.path, self.rule),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// A violated rule, and its place in the text.
#[derive(Debug)]
struct Broken {
    span: Option<Range<usize>>,
    rule: String,
}

impl Scenario {
    /// Parses a scenario. `path` is used in messages.
    ///
    /// # Errors
    ///
    /// Returns the first violated rule.
    pub fn parse(path: &str, text: &str) -> Result<Self, ScenarioError> {
        let file: Result<ScenarioFile, Broken> = toml::from_str(text).map_err(|error: toml::de::Error| {
            let rule = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            Broken { span: error.span(), rule }
        });
        file.and_then(|file| resolve::resolve(path, &file)).map_err(|Broken { span, rule }| ScenarioError {
            path: path.to_owned(),
            line: span.map(|span| line_of(text, span.start)),
            rule,
        })
    }
}

/// Returns the line number of a place, counted from 1.
fn line_of(text: &str, place: usize) -> usize {
    let before = text.as_bytes().get(..place).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}
