//! A generated trace: a shape and a seed, and its name.
//!
//! A policy that is tuned on the programs by which it is judged proves nothing. Therefore the traces of seeds from 1000
//! on differ from those of lower seeds in more than the seed: in each shape some parameters have other ranges.

use std::fmt;
use std::str::FromStr;

use super::TraceShape;

/// The lowest seed with the second ranges of parameters.
const FIRST_SEED_OF_SECOND_RANGES: u32 = 1000;

/// The beginning of every name.
const PREFIX: &str = "workload:";

/// A shape and a seed, which are always the same trace on every machine. Its name is `workload:SHAPE:SEED`.
///
/// ```
/// use heapwright_simulation::GeneratedTrace;
///
/// let generated: GeneratedTrace = "workload:streaming:7".parse()?;
/// let trace = generated.generate();
/// assert_eq!(trace.name(), "workload:streaming:7");
/// assert_eq!(trace.events(), generated.generate().events());
/// # Ok::<(), heapwright_simulation::UnknownGenerated>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratedTrace {
    /// The kind of program.
    pub shape: TraceShape,
    /// The seed. From 1000 on, parameters have other ranges.
    pub seed: u32,
}

impl GeneratedTrace {
    pub(super) fn has_second_ranges(self) -> bool {
        self.seed >= FIRST_SEED_OF_SECOND_RANGES
    }

    /// Returns whether a name is meant for a generated trace: it begins with `workload:`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }
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
            let shapes: Vec<&str> = TraceShape::ALL.iter().map(|shape| shape.name()).collect();
            UnknownGenerated(format!(
                "no generated program is called {name:?}; expected {PREFIX}SHAPE:SEED, where SHAPE is one of {} and SEED is a \
                 number below 2^32",
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
            }
        }
        for name in [
            "workload:",
            "workload:river:7",
            "workload:levels:+1",
            "workload:levels:01",
            "workload:levels",
            "workload:levels:4294967296",
            "workload:development",
            "levels",
        ] {
            let error = name.parse::<GeneratedTrace>().unwrap_err().to_string();
            let expected = format!("no generated program is called {name:?}; expected workload:SHAPE:SEED");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
