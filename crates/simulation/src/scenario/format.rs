//! What a scenario file says, as it stands there.

use heapwright_core::residency::{PriorityLevel, SegmentGroup};
use serde::Deserialize;
use toml::Spanned;

use super::amount::Amount;

/// A whole file. Its rules and the meaning of each key are in the help of `heapwright residency`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ScenarioFile {
    pub(super) name: Spanned<String>,
    pub(super) description: String,
    pub(super) frames: Spanned<u32>,
    pub(super) frames_in_flight: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) cpu_ms: Option<Spanned<f64>>,
    pub(super) paging: Spanned<Paging>,
    pub(super) budget: Vec<Spanned<Budget>>,
    pub(super) heaps: Vec<Spanned<HeapGroup>>,
    #[serde(default)]
    pub(super) camera: Vec<Spanned<Camera>>,
    #[serde(default)]
    pub(super) rota: Vec<Spanned<Rota>>,
    pub(super) submission: Vec<Spanned<SubmissionKind>>,
}

/// What it costs to move bytes in and out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Paging {
    pub(super) gb_per_s: f64,
    pub(super) latency_us: f64,
}

/// Budgets from a frame on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Budget {
    pub(super) from_frame: u32,
    pub(super) local: Amount,
    pub(super) non_local: Option<Amount>,
}

/// Heaps of one kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HeapGroup {
    pub(super) name: String,
    pub(super) count: u32,
    pub(super) size: Amount,
    /// Sizes are between `size` and this, evenly over their logarithm.
    pub(super) up_to: Option<Amount>,
    #[serde(default)]
    pub(super) segment: Segment,
    #[serde(default)]
    pub(super) priority: Priority,
    #[serde(default)]
    pub(super) resident: bool,
    #[serde(default)]
    pub(super) locked: bool,
    /// How many frames each heap lives, evenly between the two; then a new one takes its place.
    pub(super) lives: Option<[u32; 2]>,
    #[serde(default)]
    pub(super) seed: u64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Segment {
    #[default]
    Local,
    NonLocal,
}

impl From<Segment> for SegmentGroup {
    fn from(segment: Segment) -> Self {
        match segment {
            Segment::Local => Self::Local,
            Segment::NonLocal => Self::NonLocal,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Priority {
    Minimum,
    Low,
    #[default]
    Normal,
    High,
    Maximum,
}

impl From<Priority> for PriorityLevel {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::Minimum => Self::Minimum,
            Priority::Low => Self::Low,
            Priority::Normal => Self::Normal,
            Priority::High => Self::High,
            Priority::Maximum => Self::Maximum,
        }
    }
}

/// Somebody who moves over a world one unit wide and high, whose edges meet.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Camera {
    pub(super) name: String,
    /// Units of the world in a frame.
    pub(super) speed: f64,
    /// The chance in each frame that the heading changes.
    pub(super) turn: f64,
    /// The chance that a new heading is straight back. Otherwise it is any.
    #[serde(default)]
    pub(super) back: f64,
    pub(super) seed: u64,
}

/// Whose turn it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Rota {
    pub(super) name: String,
    /// How many frames a turn takes, evenly between the two.
    pub(super) turns: [u32; 2],
    /// Each turn is drawn with these weights, ...
    pub(super) weights: Option<Vec<f64>>,
    /// ... or they follow each other in this order, again and again.
    pub(super) order: Option<Vec<u32>>,
    #[serde(default)]
    pub(super) seed: u64,
}

/// A submission that every frame makes, once or several times.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SubmissionKind {
    #[serde(default)]
    pub(super) queue: u32,
    pub(super) gpu_ms: f64,
    #[serde(default = "one")]
    pub(super) repeat: u32,
    #[serde(rename = "use")]
    pub(super) uses: Vec<Spanned<Use>>,
}

const fn one() -> u32 {
    1
}

/// Which heaps a submission uses: one pattern, perhaps in some frames alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Use {
    /// From the first to before the second.
    pub(super) frames: Option<[u32; 2]>,
    pub(super) all: Option<All>,
    pub(super) cyclic: Option<Cyclic>,
    pub(super) random: Option<Random>,
    pub(super) drift: Option<Drift>,
    pub(super) window: Option<Window>,
    pub(super) in_turn: Option<InTurn>,
}

/// Every heap of a group; by parts: an equal share, in order, in each repetition of the submission.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct All {
    pub(super) heaps: String,
    #[serde(default)]
    pub(super) by_parts: bool,
}

/// The next heaps of a group in each submission, around and around.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Cyclic {
    pub(super) heaps: String,
    pub(super) count: u32,
}

/// Draws from a group, each by itself; with `zipf` the one of rank n with weight 1 / n^zipf.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Random {
    pub(super) heaps: String,
    pub(super) count: u32,
    #[serde(default)]
    pub(super) zipf: f64,
    pub(super) seed: u64,
}

/// A set of heaps of a group, of which each submission gives up some for others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Drift {
    pub(super) heaps: String,
    pub(super) count: u32,
    /// How many change in a submission; a fraction is how often one more does.
    pub(super) change: f64,
    pub(super) seed: u64,
}

/// The heaps of a group, tiles of a square grid, whose middle is in a circle around a camera.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Window {
    pub(super) heaps: String,
    pub(super) columns: u32,
    /// In units of the world.
    pub(super) radius: f64,
    pub(super) camera: String,
}

/// Every heap of the group whose turn it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct InTurn {
    pub(super) rota: String,
    pub(super) heaps: Vec<String>,
    #[serde(default)]
    pub(super) by_parts: bool,
}
