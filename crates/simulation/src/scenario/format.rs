//! The format of scenario files.

use heapwright_core::SegmentGroup;
use heapwright_core::residency::PriorityLevel;
use serde::Deserialize;
use toml::Spanned;

use super::amount::Amount;

/// A whole file. The help of `heapwright residency` documents the rules and the meaning of each key.
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

/// The cost of moving bytes in and out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Paging {
    pub(super) gb_per_s: f64,
    pub(super) latency_us: f64,
}

/// The budgets from a frame on.
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
    /// The maximum size. Sizes are between `size` and this, uniformly distributed over their logarithm.
    pub(super) up_to: Option<Amount>,
    #[serde(default)]
    pub(super) segment: Segment,
    #[serde(default)]
    pub(super) priority: Priority,
    #[serde(default)]
    pub(super) resident: bool,
    #[serde(default)]
    pub(super) locked: bool,
    /// The minimum and maximum lifetime of each heap in frames, uniformly distributed. A new heap then
    /// replaces it.
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

/// A camera that moves in a world one unit wide and high, whose edges wrap around.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Camera {
    pub(super) name: String,
    /// The distance per frame, in units of the world.
    pub(super) speed: f64,
    /// The probability in each frame that the heading changes.
    pub(super) turn: f64,
    /// The probability that a new heading is opposite to the old one. Otherwise it is random.
    #[serde(default)]
    pub(super) back: f64,
    pub(super) seed: u64,
}

/// A selector of groups that are used in turn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Rota {
    pub(super) name: String,
    /// The minimum and maximum number of frames of a turn, uniformly distributed.
    pub(super) turns: [u32; 2],
    /// The weights with which each turn is drawn. Exclusive with `order`.
    pub(super) weights: Option<Vec<f64>>,
    /// The order in which turns follow each other, repeatedly. Exclusive with `weights`.
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

/// The heaps that a submission uses: one pattern, optionally limited to some frames.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Use {
    /// The first frame, and the frame after the last.
    pub(super) frames: Option<[u32; 2]>,
    pub(super) all: Option<All>,
    pub(super) cyclic: Option<Cyclic>,
    pub(super) random: Option<Random>,
    pub(super) drift: Option<Drift>,
    pub(super) window: Option<Window>,
    pub(super) in_turn: Option<InTurn>,
}

/// Every heap of a group. With `by_parts`, each repetition of the submission uses an equal share, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct All {
    pub(super) heaps: String,
    #[serde(default)]
    pub(super) by_parts: bool,
}

/// The next heaps of a group in each submission, cyclically.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Cyclic {
    pub(super) heaps: String,
    pub(super) count: u32,
}

/// Independent draws from a group. With `zipf`, the heap of rank n has the weight 1 / n^zipf.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Random {
    pub(super) heaps: String,
    pub(super) count: u32,
    #[serde(default)]
    pub(super) zipf: f64,
    pub(super) seed: u64,
}

/// A set of heaps of a group, some of which each submission replaces by others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Drift {
    pub(super) heaps: String,
    pub(super) count: u32,
    /// The number of heaps replaced per submission; the fraction is the probability of one more.
    pub(super) change: f64,
    pub(super) seed: u64,
}

/// The heaps of a group, as tiles of a square grid, whose center is in a circle around a camera.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Window {
    pub(super) heaps: String,
    pub(super) columns: u32,
    /// The radius, in units of the world.
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
