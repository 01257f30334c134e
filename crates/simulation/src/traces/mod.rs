//! Generated traces of typical programs.
//!
//! [`GeneratedTrace::generate`] makes a [`Trace`] from a [`TraceShape`] and a seed: only integers are computed. Its
//! names, such as `workload:streaming:7`, are accepted by the program wherever it reads a trace to replay.
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
//! Sizes are those of such programs: block-compressed textures of powers of two with their mips in units of 64 KiB,
//! meshes and constants of any number of bytes, render targets by pixels, tensors by layers. Times are in microseconds
//! of the simulated program, so that a mean over time differs from a mean over events. About half of the workloads free
//! everything at the end and idle for ten seconds, as a game that returns to its menu; the others end abruptly.

mod editor;
mod frame_graph;
mod levels;
mod random;
mod recorder;
mod seeded;
mod serving;
mod streaming;
mod training;

use heapwright_trace::Trace;

pub use self::random::Random;
use self::recorder::{Block, Range, Recorder};
pub use self::seeded::{GeneratedTrace, UnknownGenerated};

/// The kind of program that a [`GeneratedTrace`] imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceShape {
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

impl TraceShape {
    /// Every shape.
    pub const ALL: &'static [Self] = &[
        Self::Streaming,
        Self::Levels,
        Self::FrameGraph,
        Self::Serving,
        Self::Training,
        Self::Editor,
        Self::Sequence,
    ];

    /// Returns the name of the shape, such as `frame-graph`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Levels => "levels",
            Self::FrameGraph => "frame-graph",
            Self::Serving => "serving",
            Self::Training => "training",
            Self::Editor => "editor",
            Self::Sequence => "sequence",
        }
    }

    /// Records a program of `length` percent and returns the blocks that are live at its end.
    fn record(self, recorder: &mut Recorder, length: u64) -> Vec<Block> {
        match self {
            Self::Streaming => streaming::record(recorder, length),
            Self::Levels => levels::record(recorder, length),
            Self::FrameGraph => frame_graph::record(recorder, length),
            Self::Serving => serving::record(recorder, length),
            Self::Training => training::record(recorder, length),
            Self::Editor => editor::record(recorder, length),
            Self::Sequence => sequence(recorder, length),
        }
    }
}

impl GeneratedTrace {
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

/// Number of programs.
const PROGRAMS: Range = Range::apart((3, 3), (4, 5));
/// Length of each, in percent.
const LENGTH: Range = Range::common(15, 40);
/// Seconds between two of them.
const PAUSE: Range = Range::common(1, 30);

fn sequence(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    // The order differs by the ranges, not only by seed.
    let all = TraceShape::ALL.iter().copied();
    let mut shapes: Vec<TraceShape> = all.filter(|&shape| shape != TraceShape::Sequence).collect();
    if recorder.has_second_ranges() {
        shapes.reverse();
    }
    let mut left = Vec::new();
    for _ in 0..recorder.draw(PROGRAMS) {
        let place = recorder.popular(shapes.len());
        let shape = shapes.remove(place);
        let percent = recorder.draw(LENGTH) * length / 100;
        let blocks = shape.record(recorder, percent);
        // One allocation in fifty is forgotten, or used by the whole process.
        for block in blocks {
            if recorder.chance(20) && block.bytes() < 4 << 20 {
                left.push(block);
            } else {
                recorder.free(block);
            }
        }
        recorder.idle(120);
        let seconds = recorder.draw(PAUSE);
        recorder.wait(seconds * 1_000_000);
    }
    left
}
