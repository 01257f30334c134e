//! A generated trace: a shape and a seed, its part and its name.
//!
//! A policy that is tuned on the programs by which it is judged proves nothing. The seeds are therefore divided: seeds
//! below [`FIRST_EVALUATION_SEED`] are for development, and the others are only evaluated. The parts differ in more
//! than the seed: in each shape some parameters have ranges that do not overlap.

use std::fmt;
use std::str::FromStr;

use super::TraceShape;

/// The lowest seed of the evaluation part.
pub const FIRST_EVALUATION_SEED: u32 = 1000;

/// The number of seeds of each shape and part with which figures are measured.
const SEEDS: u32 = 3;

/// The beginning of every name.
const PREFIX: &str = "workload:";

/// The use of what is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Policies may be chosen and tuned by it.
    Development,
    /// Policies are only evaluated with it.
    Evaluation,
}

impl Part {
    /// Returns the name of the part: `development` or `evaluation`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Evaluation => "evaluation",
        }
    }
}

/// A shape and a seed, which are always the same trace on every machine. Its name is `workload:SHAPE:SEED`.
///
/// ```
/// use heapwright_simulation::{GeneratedTrace, Part};
///
/// let generated: GeneratedTrace = "workload:streaming:7".parse()?;
/// let trace = generated.generate();
/// assert_eq!(generated.part(), Part::Development);
/// assert_eq!(trace.name(), "workload:streaming:7");
/// assert_eq!(trace.events(), generated.generate().events());
/// # Ok::<(), heapwright_simulation::UnknownGenerated>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratedTrace {
    /// The kind of program.
    pub shape: TraceShape,
    /// The seed, which also selects the [`Part`].
    pub seed: u32,
}

impl GeneratedTrace {
    /// Returns the part to which the seed belongs.
    #[must_use]
    pub const fn part(self) -> Part {
        if self.seed < FIRST_EVALUATION_SEED { Part::Development } else { Part::Evaluation }
    }

    /// Returns the traces of a part with which figures are measured: some of each shape.
    pub fn of_part(part: Part) -> impl Iterator<Item = Self> {
        let first = match part {
            Part::Development => 1,
            Part::Evaluation => FIRST_EVALUATION_SEED,
        };
        let seeds = first..first + SEEDS;
        TraceShape::ALL.iter().flat_map(move |&shape| seeds.clone().map(move |seed| Self { shape, seed }))
    }

    /// Returns the traces with a name: one for a shape and a seed, those of [`of_part`](Self::of_part) for the name of
    /// a part.
    ///
    /// # Errors
    ///
    /// Returns an error for any other name.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownGenerated> {
        match part_named(name) {
            Some(part) => Ok(Self::of_part(part).collect()),
            None => name.parse().map(|one| vec![one]),
        }
    }

    /// Returns whether a name is meant for a generated trace: it begins with `workload:`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }
}

fn part_named(name: &str) -> Option<Part> {
    let parts = [Part::Development, Part::Evaluation];
    parts.into_iter().find(|part| name.strip_prefix(PREFIX) == Some(part.name()))
}

impl fmt::Display for GeneratedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.shape.name(), self.seed)
    }
}

impl FromStr for GeneratedTrace {
    type Err = UnknownGenerated;

    fn from_str(name: &str) -> Result<Self, UnknownGenerated> {
        let parse = || {
            let (shape, seed) = name.strip_prefix(PREFIX)?.split_once(':')?;
            let shape = TraceShape::ALL.iter().copied().find(|known| known.name() == shape)?;
            // Unlike `u32::from_str`, a sign and leading zeros are not allowed, so that a trace has one name.
            let generated = Self { shape, seed: seed.parse().ok()? };
            (generated.to_string() == name).then_some(generated)
        };
        parse().ok_or_else(|| {
            if let Some(part) = part_named(name) {
                let count = Self::of_part(part).count();
                return UnknownGenerated(format!(
                    "{name:?} names {count} programs; expected one, {PREFIX}SHAPE:SEED"
                ));
            }
            let shapes: Vec<&str> = TraceShape::ALL.iter().map(|shape| shape.name()).collect();
            UnknownGenerated(format!(
                "no generated program is called {name:?}; expected {PREFIX}SHAPE:SEED, where SHAPE is one of {} and SEED is a \
                 number below 2^32, or {PREFIX}development or {PREFIX}evaluation for all programs of a part",
                shapes.join(", ")
            ))
        })
    }
}

/// The error of a name that is not that of a generated trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownGenerated(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for &shape in TraceShape::ALL {
            for seed in [0, 7, u32::MAX] {
                let one = GeneratedTrace { shape, seed };
                let name = one.to_string();
                assert!(GeneratedTrace::is_name(&name));
                assert_eq!(name.parse(), Ok(one));
                assert_eq!(GeneratedTrace::named(&name), Ok(vec![one]));
            }
        }
        for part in [Part::Development, Part::Evaluation] {
            let name = format!("workload:{}", part.name());
            let named = GeneratedTrace::named(&name).unwrap();
            assert_eq!(named.len(), 3 * TraceShape::ALL.len());
            assert!(named.iter().all(|one| one.part() == part));
            let error = name.parse::<GeneratedTrace>().unwrap_err().to_string();
            assert!(error.ends_with("programs; expected one, workload:SHAPE:SEED"), "{error}");
        }
        for name in [
            "workload:",
            "workload:river:7",
            "workload:levels:+1",
            "workload:levels:01",
            "workload:levels",
            "workload:levels:4294967296",
            "workload:all",
            "development",
            "levels",
        ] {
            let error = GeneratedTrace::named(name).unwrap_err().to_string();
            let expected = format!("no generated program is called {name:?}; expected workload:SHAPE:SEED");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
