//! All traces and workloads through all allocators.

use std::path::PathBuf;

use heapwright_simulation::{GeneratedTrace, Part};
use heapwright_trace::{Trace, TraceError};

use super::allocators::{Failed, replay};
use super::measured::WITHOUT;
use super::meter::{DeviceCall, Figures};
use super::ours::{Default, Heapwright, LikeGpgmm};
use super::peers::{GpuAllocator, Indifferent, Nvidia, Vma};
use crate::workload::traces::NAMES;

/// A replay of a trace, which tells of the calls of each operation that made any.
pub type Replay = fn(&Trace, &mut dyn FnMut(&[DeviceCall])) -> Result<Figures, Failed>;

/// An allocator that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// Name in the tables.
    pub name: &'static str,
    /// Replays a trace with it.
    pub replay: Replay,
    /// Whether two replays may differ.
    pub is_random: bool,
}

/// All allocators, ours first.
pub const CONTENDERS: [Contender; 4] = [
    Contender { name: "heapwright", replay: replay::<Heapwright<Default>>, is_random: false },
    Contender { name: "VMA", replay: replay::<Vma<Nvidia>>, is_random: false },
    Contender { name: "gpu-allocator", replay: replay::<GpuAllocator>, is_random: true },
    Contender { name: "like GPGMM", replay: replay::<Heapwright<LikeGpgmm>>, is_random: false },
];

/// VMA on a driver without a preference for dedicated memory, as it was when VMA was measured on an H100.
const VMA_WITHOUT_PREFERENCE: Contender =
    Contender { name: WITHOUT, replay: replay::<Vma<Indifferent>>, is_random: false };

/// All allocators whose modelled figures are compared with measured ones: [`CONTENDERS`] first.
pub const MODELLED: [Contender; 5] =
    [CONTENDERS[0], CONTENDERS[1], CONTENDERS[2], CONTENDERS[3], VMA_WITHOUT_PREFERENCE];

/// The places of the peers that ours is compared with.
pub const PEERS: std::ops::Range<usize> = 1..3;

/// A set of traces for which means are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The five traces that were recorded.
    Recorded,
    /// Generated workloads.
    Generated(Part),
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 3] =
        [Self::Recorded, Self::Generated(Part::Development), Self::Generated(Part::Evaluation)];

    /// Returns the title of the group.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Recorded => "Recorded traces",
            Self::Generated(Part::Development) => "Generated workloads, development part",
            Self::Generated(Part::Evaluation) => "Generated workloads, evaluation part",
        }
    }

    /// Returns the traces of the group. Recorded ones are searched for in the folders; those that are missing are left
    /// out.
    ///
    /// # Errors
    ///
    /// A file exists, but cannot be read.
    pub fn traces(self, folders: &[PathBuf]) -> Result<Vec<Trace>, TraceError> {
        match self {
            Self::Recorded => NAMES
                .iter()
                .filter_map(|name| {
                    let mut paths = folders.iter().map(|folder| folder.join(format!("{name}.csv.gz")));
                    paths.find(|path| path.exists())
                })
                .map(Trace::read)
                .collect(),
            Self::Generated(part) => {
                Ok(GeneratedTrace::of_part(part).map(GeneratedTrace::generate).collect())
            }
        }
    }
}

/// The figures of all contenders on one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the trace.
    pub trace: String,
    /// One entry for each of [`CONTENDERS`], or of [`MODELLED`].
    pub figures: Vec<Figures>,
}

/// Replays a trace through contenders: [`CONTENDERS`] or [`MODELLED`].
///
/// # Errors
///
/// Returns the first error of an allocator.
pub fn compare(trace: &Trace, contenders: &[Contender]) -> Result<Row, Failed> {
    const RUNS: usize = 3;
    let figures = contenders.iter().map(|contender| {
        let runs = if contender.is_random { RUNS } else { 1 };
        let mut figures = (0..runs)
            .map(|_| (contender.replay)(trace, &mut |_| {}))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::memory::measured::{HONEST, MEASURED, Measured, calls_on_gpu, own_microseconds};

    /// The peers' blocks are those that they had on a real GPU, and the modelled times are close to measured ones.
    #[test]
    fn the_model_is_honest() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        // The repository has two of the traces, and the folder beside it has all, where it exists.
        let folders = [package.join("../traces"), package.join("../../shared/traces")];
        let traces = Group::Recorded.traces(&folders).unwrap();
        assert!(traces.len() >= 2);
        for trace in &traces {
            let row = compare(trace, &MODELLED).unwrap();
            for (contender, figures) in MODELLED.iter().zip(&row.figures) {
                let within = |modelled: f64, measured: f64, factor: f64| {
                    let ratio = modelled / measured;
                    let what = format!("{} on {}: {figures:?}", contender.name, trace.name());
                    assert!((1.0 / factor..factor).contains(&ratio), "{ratio}: {what}");
                };
                let on_gpu = calls_on_gpu(trace.name(), contender.name).unwrap();
                within(figures.heap_microseconds(), on_gpu, HONEST);
                let is_it = |of: &&Measured| (of.trace, of.allocator) == (trace.name(), contender.name);
                let Some(measured) = MEASURED.iter().find(is_it) else { continue };
                within(figures.peak, measured.peak, 1.01);
                within(figures.mean, measured.mean, 1.1);
                let own = own_microseconds(contender.name);
                within(figures.microseconds() + own, measured.microseconds, HONEST);
            }
        }
    }
}
