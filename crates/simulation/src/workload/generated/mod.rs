//! Workloads of typical programs that use more than fits in memory, generated from seeds.
//!
//! `shapes` has the programs, and `program` is the list of submissions that they make.

mod program;
mod shapes;

use super::Workload;
use crate::seeded::{Seeded, Shape};

/// A generated workload: a shape and a seed.
///
/// ```
/// use heapwright_simulation::GeneratedWorkload;
///
/// let generated: GeneratedWorkload = "generated:world:7".parse()?;
/// assert_eq!(generated.workload().name, "generated:world:7");
/// # Ok::<(), heapwright_simulation::UnknownGenerated>(())
/// ```
pub type GeneratedWorkload = Seeded<WorkloadShape>;

/// The kind of program that a [`GeneratedWorkload`] imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadShape {
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

impl Shape for WorkloadShape {
    const PREFIX: &'static str = "generated:";

    const ALL: &'static [Self] = &[
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

    const FIRST_SEED: u32 = 0;

    const SEEDS: u32 = 20;

    fn name(self) -> &'static str {
        match self {
            Self::World => "world",
            Self::Levels => "levels",
            Self::RenderGraph => "render-graph",
            Self::KvCache => "kv-cache",
            Self::Serving => "serving",
            Self::Streams => "streams",
            Self::Documents => "documents",
            Self::Training => "training",
            Self::Budgets => "budgets",
            Self::TwoQueues => "two-queues",
            Self::Sequence => "sequence",
        }
    }
}

impl GeneratedWorkload {
    /// Generates the workload, which is the same on every machine.
    #[must_use]
    pub fn workload(self) -> Workload {
        shapes::generate(self)
    }
}
