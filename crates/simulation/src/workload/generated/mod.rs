//! Workloads of typical programs that use more than fits in memory, generated from seeds.
//!
//! - `shapes` has the programs; `program` is the list of submissions that they make, and `name` has their names.
//!
//! A policy that is tuned on the workloads by which it is judged proves nothing. As with the generated traces of
//! [`heapwright_trace`], seeds below [`Generated::FIRST_EVALUATION_SEED`] are for development, and the others are only
//! evaluated. The parts differ in more than the seed: some parameters of each shape have ranges that do not overlap.

mod name;
mod program;
mod shapes;

use heapwright_trace::Part;

pub use self::name::UnknownGenerated;
use super::Workload;

/// A generated workload: a shape and a seed.
///
/// ```
/// use heapwright_simulation::Generated;
///
/// let generated: Generated = "generated:world:7".parse()?;
/// assert_eq!(generated.workload().name, "generated:world:7");
/// # Ok::<(), heapwright_simulation::UnknownGenerated>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    /// The kind of program.
    pub shape: Shape,
    /// The seed, which also selects the [`Part`].
    pub seed: u32,
}

/// The kind of program that a [`Generated`] workload imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A camera moves over a world of tiles, and sometimes jumps to another place.
    World,
    /// Levels are loaded one after the other, with a hub between them.
    Levels,
    /// Passes of a frame, each with its own targets; some run in some frames only.
    RenderGraph,
    /// A language model generates text for several users, whose caches grow with each token.
    KvCache,
    /// Several models are served, in turn or by popularity.
    Serving,
    /// A scene, and data that is streamed in and used once.
    Streams,
    /// Documents are opened, edited in turn, and closed.
    Documents,
    /// A network is trained, with weights and states that do not fit beside the activations.
    Training,
    /// A scene, while other programs take and return memory.
    Budgets,
    /// A queue that draws, and a second one that computes at another rate.
    TwoQueues,
    /// Two or three of the others, one after the other.
    Sequence,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 11] = [
        Self::World,
        Self::Levels,
        Self::RenderGraph,
        Self::KvCache,
        Self::Serving,
        Self::Streams,
        Self::Documents,
        Self::Training,
        Self::Budgets,
        Self::TwoQueues,
        Self::Sequence,
    ];

    /// Returns what the programs of this shape do.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::World => "a camera moves over a world of tiles, and sometimes jumps to another place",
            Self::Levels => "levels are loaded one after the other, with a hub between them",
            Self::RenderGraph => "passes of a frame, each with its own targets; some run in some frames only",
            Self::KvCache => {
                "a language model generates text for several users, whose caches grow with each token"
            }
            Self::Serving => "several models are served, in turn or by popularity",
            Self::Streams => "a scene, and data that is streamed in and used once",
            Self::Documents => "documents are opened, edited in turn, and closed",
            Self::Training => {
                "a network is trained, with weights and states that do not fit beside the activations"
            }
            Self::Budgets => "a scene, while other programs take and return memory",
            Self::TwoQueues => "a queue that draws, and a second one that computes at another rate",
            Self::Sequence => "two or three of the others, one after the other",
        }
    }
}

impl Generated {
    /// The lowest seed of the evaluation part.
    pub const FIRST_EVALUATION_SEED: u32 = 1000;

    /// The number of workloads of each shape in [`of_part`](Self::of_part).
    const SEEDS: u32 = 20;

    /// Returns the part to which the seed belongs.
    #[must_use]
    pub const fn part(self) -> Part {
        if self.seed < Self::FIRST_EVALUATION_SEED { Part::Development } else { Part::Evaluation }
    }

    /// Returns the workloads of a part with which figures are measured: 20 of each shape.
    pub fn of_part(part: Part) -> impl Iterator<Item = Self> {
        let first = match part {
            Part::Development => 0,
            Part::Evaluation => Self::FIRST_EVALUATION_SEED,
        };
        let seeds = first..first + Self::SEEDS;
        Shape::ALL.into_iter().flat_map(move |shape| seeds.clone().map(move |seed| Self { shape, seed }))
    }

    /// Generates the workload, which is the same on every machine.
    #[must_use]
    pub fn workload(self) -> Workload {
        shapes::generate(self)
    }
}
