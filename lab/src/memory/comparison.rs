//! All traces and workloads through all allocators.

use std::path::Path;

use heapwright_simulation::GeneratedTrace;
use heapwright_trace::{Trace, TraceError};

use super::allocators::{Failed, replay};
use super::meter::Figures;
use super::ours::{Default, Heapwright, LikeGpgmm};
use super::peers::{GpuAllocator, Vma};
use crate::workload::traces::NAMES;
use crate::workload::{Part, programs};

/// An allocator that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// Name in the tables.
    pub name: &'static str,
    /// Replays a trace with it.
    pub replay: fn(&Trace) -> Result<Figures, Failed>,
    /// Whether two replays may differ.
    pub is_random: bool,
}

/// All allocators, ours first.
pub const CONTENDERS: [Contender; 4] = [
    Contender { name: "heapwright", replay: replay::<Heapwright<Default>>, is_random: false },
    Contender { name: "VMA", replay: replay::<Vma>, is_random: false },
    Contender { name: "gpu-allocator", replay: replay::<GpuAllocator>, is_random: true },
    Contender { name: "like GPGMM", replay: replay::<Heapwright<LikeGpgmm>>, is_random: false },
];

/// The places of the peers that ours is compared with.
pub const PEERS: std::ops::Range<usize> = 1..3;

/// A set of traces for which means are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The five traces that were recorded.
    Recorded,
    /// Generated workloads.
    Generated(Part),
    /// Programs whose memory comes and goes.
    Programs(Part),
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 5] = [
        Self::Recorded,
        Self::Generated(Part::Development),
        Self::Generated(Part::Evaluation),
        Self::Programs(Part::Development),
        Self::Programs(Part::Evaluation),
    ];

    /// Returns whether constants are chosen with the group, so that its figures say less.
    #[must_use]
    pub const fn is_for_tuning(self) -> bool {
        matches!(self, Self::Generated(Part::Development) | Self::Programs(Part::Development))
    }

    /// Returns the title of the group.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Recorded => "Recorded traces",
            Self::Generated(Part::Development) => "Generated workloads, development part",
            Self::Generated(Part::Evaluation) => "Generated workloads, evaluation part",
            Self::Programs(Part::Development) => "Programs whose memory comes and goes, development half",
            Self::Programs(Part::Evaluation) => "Programs whose memory comes and goes, evaluation half",
        }
    }

    /// Returns the traces of the group. Recorded ones are searched for in the folders; those that are missing are left
    /// out.
    ///
    /// # Errors
    ///
    /// Returns an error if a recorded trace is missing or cannot be read.
    pub fn traces(self, folder: &Path) -> Result<Vec<Trace>, TraceError> {
        match self {
            Self::Recorded => {
                NAMES.iter().map(|name| Trace::read(folder.join(format!("{name}.csv.gz")))).collect()
            }
            Self::Generated(part) => Ok(part.traces().map(GeneratedTrace::generate).collect()),
            Self::Programs(half) => programs::of_half(half),
        }
    }
}

/// The figures of all contenders on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the trace.
    pub trace: String,
    /// One entry for each of [`CONTENDERS`].
    pub figures: Vec<Figures>,
}

/// Replays a trace through [`CONTENDERS`].
///
/// # Errors
///
/// Returns the first error of an allocator.
pub fn compare(trace: &Trace) -> Result<Row, Failed> {
    const RUNS: usize = 3;
    let figures = CONTENDERS.iter().map(|contender| {
        let runs = if contender.is_random { RUNS } else { 1 };
        let mut figures = (0..runs)
            .map(|_| (contender.replay)(trace))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Failed::new(format_args!("{}, {}: {error}", contender.name, trace.name())))?;
        figures.sort_by_key(|figures| figures.time);
        Ok(figures[runs / 2])
    });
    Ok(Row { trace: trace.name().to_owned(), figures: figures.collect::<Result<_, _>>()? })
}

/// Returns the geometric mean of a figure.
#[must_use]
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value.ln();
        count += 1.0;
    }
    (sum / count).exp()
}

impl Row {
    /// Returns the peers that are better than ours in time, mean held and peak held at once.
    pub fn beaten_by(&self) -> impl Iterator<Item = &'static str> {
        let key = |of: &Figures| [of.microseconds(), of.mean, of.peak];
        let ours = key(&self.figures[0]);
        PEERS
            .filter(move |&peer| key(&self.figures[peer]).iter().zip(ours).all(|(peer, ours)| *peer < ours))
            .map(|peer| CONTENDERS[peer].name)
    }
}
