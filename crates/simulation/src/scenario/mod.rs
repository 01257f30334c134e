//! Scenarios: files that say what heaps there are, how they are used, and what memory there is.
//!
//! - [`format`](mod@format) is the file as it stands there, [`amount`] its sizes.
//! - [`resolve`] checks it and makes a [`Scenario`] of it, in which nothing can be wrong.
//! - [`built_in`]: those that come with the program, in the same format.

mod amount;
pub mod built_in;
mod format;
mod resolve;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use heapwright::ByteSize;
use heapwright_core::residency::{PriorityLevel, SegmentGroup};

use self::format::ScenarioFile;
use super::workload::PagingCost;

/// A scenario whose rules all hold.
#[derive(Debug)]
pub struct Scenario {
    /// Its name, of letters, digits, `-` and `_`.
    pub name: String,
    /// The file, or what else names it, for messages.
    pub(super) path: String,
    /// What it is like, for people.
    pub description: String,
    pub(super) frames: u32,
    pub(super) frames_in_flight: usize,
    pub(super) cpu: Duration,
    pub(super) paging: PagingCost,
    /// From which frame on; the first is from frame 0, and they are in order.
    pub(super) budgets: Vec<(u32, [ByteSize; 2])>,
    pub(super) groups: Vec<Group>,
    pub(super) cameras: Vec<Camera>,
    pub(super) rotas: Vec<Rota>,
    pub(super) submissions: Vec<SubmissionKind>,
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) count: u32,
    /// Both ends; multiples of [`GRANULARITY`].
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

/// Places of [`Scenario::groups`], [`Scenario::cameras`] and [`Scenario::rotas`] are indices.
#[derive(Debug)]
pub(super) enum Pattern {
    All { group: usize, by_parts: bool },
    Cyclic { group: usize, count: u32 },
    Random { group: usize, count: u32, zipf: f64, seed: u64 },
    Drift { group: usize, count: u32, change: f64, seed: u64 },
    Window { group: usize, columns: u32, radius: f64, camera: usize },
    InTurn { rota: usize, groups: Vec<usize>, by_parts: bool },
}

/// Heaps are multiples of this: D3D12's default placement alignment.
pub(super) const GRANULARITY: ByteSize = ByteSize::from_kib(64);

/// A scenario file breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or what else names the scenario.
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

/// What breaks a rule, and where in the text.
#[derive(Debug)]
struct Broken {
    span: Option<Range<usize>>,
    rule: String,
}

impl Scenario {
    /// Reads a scenario. `path` is for messages.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
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

/// Counted from 1.
fn line_of(text: &str, place: usize) -> usize {
    let before = text.as_bytes().get(..place).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}
