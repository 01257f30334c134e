//! Generated traces of typical programs.
//!
//! A [`Workload`] is a [`Shape`] and a seed. [`Workload::generate`] makes a [`Trace`] from it, which is always the same on
//! every machine: only integers are computed. Workloads have names, such as `workload:streaming:7`, which are accepted by
//! the program wherever it reads a trace to replay.
//!
//! # Two parts
//!
//! A policy that is tuned on the traces by which it is judged proves nothing. The seeds are therefore divided: seeds below
//! [`Workload::FIRST_EVALUATION_SEED`] are for development, and the others are only evaluated. The parts differ in more
//! than the seed: in each shape some parameters have ranges that do not overlap, such as the number of tiles around the
//! camera, the sizes of textures, or the number of documents that are open at once. [`Workload::of_part`] lists the
//! workloads that published figures are measured with.
//!
//! # Shapes
//!
//! | shape | program | what is hard about it |
//! |---|---|---|
//! | `streaming` | an open world: tiles around a camera with textures in two levels of detail and meshes, shared between tiles; teleports | a steady exchange of sizes, and bursts |
//! | `levels` | a game with levels: assets of a level are loaded at once and freed at once, between them cutscenes and effects | the whole memory is exchanged for other sizes |
//! | `frame-graph` | a renderer: render targets that depend on the size of the window, which is dragged, maximized and minimized; shadow maps and quality settings; small buffers in each frame | targets of ever new sizes, twice while frames are in flight |
//! | `serving` | an inference server: models that are loaded and unloaded, requests in bursts, caches that grow with each token | large blocks next to short ones, idle hours |
//! | `training` | training of a network with batches of varying size, evaluations and checkpoints | stacks of activations that repeat nearly |
//! | `editor` | an image editor: documents with layers and an undo history are opened, edited and closed by a user who thinks | peaks followed by minutes of little use |
//! | `sequence` | three to five of the above, one after the other, in one process | a process that peaked once |
//!
//! Sizes are those of such programs: block-compressed textures of powers of two with their mips in units of 64 KiB, meshes
//! and constants of any number of bytes, render targets by pixels, tensors by layers. Times are in microseconds of the
//! simulated program, so that a mean over time differs from a mean over events. About half of the workloads free
//! everything at the end and idle for ten seconds, as a game that returns to its menu; the others end abruptly.

mod editor;
mod frame_graph;
mod levels;
mod name;
mod random;
mod range;
mod recorder;
mod sequence;
mod serving;
mod streaming;
mod training;

use std::ops::RangeInclusive;

pub use self::name::UnknownWorkload;
use self::recorder::{Block, Recorder};
use crate::trace::Trace;

/// A generated trace: a shape and a seed.
///
/// ```
/// use heapwright_trace::{Part, Workload};
///
/// let workload: Workload = "workload:streaming:7".parse()?;
/// let trace = workload.generate();
/// assert_eq!(workload.part(), Part::Development);
/// assert_eq!(trace.name(), "workload:streaming:7");
/// assert_eq!(trace.events(), workload.generate().events());
/// # Ok::<(), heapwright_trace::UnknownWorkload>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// The kind of program.
    pub shape: Shape,
    /// The seed, which also selects the [`Part`].
    pub seed: u32,
}

/// The kind of program that a [`Workload`] imitates. The [module](self) describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// An open world that is streamed around a camera.
    Streaming,
    /// A game with levels.
    Levels,
    /// A renderer whose targets are resized.
    FrameGraph,
    /// An inference server with several models.
    Serving,
    /// Training of a network.
    Training,
    /// An editor that opens and closes documents.
    Editor,
    /// Several of the others, one after the other.
    Sequence,
}

/// The use of a [`Workload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Policies may be chosen and tuned by it.
    Development,
    /// Policies are only evaluated with it.
    Evaluation,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 7] = [
        Self::Streaming,
        Self::Levels,
        Self::FrameGraph,
        Self::Serving,
        Self::Training,
        Self::Editor,
        Self::Sequence,
    ];
}

impl Workload {
    /// The lowest seed of the evaluation part.
    pub const FIRST_EVALUATION_SEED: u32 = 1000;

    /// Number of workloads of each shape in [`of_part`](Self::of_part).
    const SEEDS: u32 = 3;

    /// Returns the part to which the seed belongs.
    #[must_use]
    pub const fn part(self) -> Part {
        if self.seed < Self::FIRST_EVALUATION_SEED { Part::Development } else { Part::Evaluation }
    }

    /// Returns the workloads of a part with which figures are measured: three of each shape.
    pub fn of_part(part: Part) -> impl Iterator<Item = Self> {
        let seeds: RangeInclusive<u32> = match part {
            Part::Development => 1..=Self::SEEDS,
            Part::Evaluation => Self::FIRST_EVALUATION_SEED..=Self::FIRST_EVALUATION_SEED + Self::SEEDS - 1,
        };
        Shape::ALL.into_iter().flat_map(move |shape| seeds.clone().map(move |seed| Self { shape, seed }))
    }

    /// Generates the trace. It has at most 250,000 events and at most 8 GiB of live memory.
    #[must_use]
    pub fn generate(self) -> Trace {
        let mut recorder = Recorder::new(self);
        let left = self.shape.record(&mut recorder, FULL_LENGTH);
        if recorder.chance(500) {
            recorder.free_all(left);
            recorder.idle(600);
        }
        recorder.finish(self.to_string())
    }
}

/// The length of a workload in percent, for those that are not part of a sequence.
const FULL_LENGTH: u64 = 100;

impl Shape {
    /// Records a program of `length` percent and returns the blocks that are live at its end.
    fn record(self, recorder: &mut Recorder, length: u64) -> Vec<Block> {
        match self {
            Self::Streaming => streaming::record(recorder, length),
            Self::Levels => levels::record(recorder, length),
            Self::FrameGraph => frame_graph::record(recorder, length),
            Self::Serving => serving::record(recorder, length),
            Self::Training => training::record(recorder, length),
            Self::Editor => editor::record(recorder, length),
            Self::Sequence => sequence::record(recorder, length),
        }
    }
}
