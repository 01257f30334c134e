//! Names of generated workloads, `generated:SHAPE:SEED`, and of parts, `generated:PART`.

use std::fmt;
use std::str::FromStr;

use heapwright_trace::Part;

use super::{Generated, Shape};

/// The beginning of every name.
const PREFIX: &str = "generated:";

/// The error of a name that is not that of a generated workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownGenerated {
    name: Box<str>,
}

impl fmt::Display for UnknownGenerated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes = Shape::ALL.map(Shape::name).join(", ");
        write!(
            f,
            "no generated workload is called {:?}; expected generated:SHAPE:SEED, where SHAPE is one of {shapes} and SEED is \
             a number below 2^32, or generated:development or generated:evaluation for all workloads of a part",
            self.name
        )
    }
}

impl std::error::Error for UnknownGenerated {}

impl Shape {
    /// Returns the name of the shape, such as `kv-cache`.
    #[must_use]
    pub const fn name(self) -> &'static str {
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

impl Generated {
    /// Returns the workloads with a name: one for `generated:SHAPE:SEED`, those of [`of_part`](Self::of_part) for
    /// `generated:development` and `generated:evaluation`.
    ///
    /// # Errors
    ///
    /// Returns an error for any other name.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownGenerated> {
        let parts = [Part::Development, Part::Evaluation];
        match parts.into_iter().find(|part| name.strip_prefix(PREFIX) == Some(part.name())) {
            Some(part) => Ok(Self::of_part(part).collect()),
            None => name.parse().map(|generated| vec![generated]),
        }
    }

    /// Returns whether a name is meant for generated workloads: it begins with `generated:`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }
}

impl fmt::Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.shape.name(), self.seed)
    }
}

impl FromStr for Generated {
    type Err = UnknownGenerated;

    fn from_str(name: &str) -> Result<Self, UnknownGenerated> {
        let parse = || {
            let (shape, seed) = name.strip_prefix(PREFIX)?.split_once(':')?;
            let shape = Shape::ALL.into_iter().find(|known| known.name() == shape)?;
            // Unlike `u32::from_str`, a sign and leading zeros are not allowed, so that a workload has one name.
            let generated = Self { shape, seed: seed.parse().ok()? };
            (generated.to_string() == name).then_some(generated)
        };
        parse().ok_or_else(|| UnknownGenerated { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for shape in Shape::ALL {
            for seed in [0, 7, u32::MAX] {
                let generated = Generated { shape, seed };
                assert!(Generated::is_name(&generated.to_string()));
                assert_eq!(generated.to_string().parse(), Ok(generated));
            }
        }
    }

    #[test]
    fn a_part_has_twenty_workloads_of_each_shape_and_no_other() {
        for part in [Part::Development, Part::Evaluation] {
            let named = Generated::named(&format!("generated:{}", part.name())).unwrap();
            assert_eq!(named.len(), 20 * Shape::ALL.len());
            assert!(named.iter().all(|generated| generated.part() == part));
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "generated:",
            "generated:world",
            "generated:world:+1",
            "generated:world:01",
            "generated:all",
            "x",
        ] {
            let error = Generated::named(name).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("no generated workload is called {name:?}; expected")),
                "{error}"
            );
        }
    }
}
