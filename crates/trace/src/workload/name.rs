//! Names of workloads, `workload:SHAPE:SEED`, and of parts, `workload:PART`.

use std::fmt;
use std::str::FromStr;

use super::{Part, Shape, Workload};
use crate::text::Snippet;

/// The beginning of every name.
const PREFIX: &str = "workload:";

/// The error of a name that is not that of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWorkload {
    name: Snippet,
    /// The part that has this name.
    part: Option<Part>,
}

impl fmt::Display for UnknownWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.part {
            let count = Workload::of_part(part).count();
            return write!(f, "{} names {count} workloads; expected one, workload:SHAPE:SEED", self.name);
        }
        let shapes = Shape::ALL.map(Shape::name).join(", ");
        write!(f, "no workload is called {}; expected workload:SHAPE:SEED, ", self.name)?;
        write!(
            f,
            "where SHAPE is one of {shapes} and SEED is a number below 2^32, or workload:development or "
        )?;
        f.write_str("workload:evaluation for all workloads of a part")
    }
}

impl std::error::Error for UnknownWorkload {}

impl Shape {
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

    /// Returns the part with the name `workload:PART`.
    fn named(name: &str) -> Option<Self> {
        let parts = [Self::Development, Self::Evaluation];
        parts.into_iter().find(|part| name.strip_prefix(PREFIX) == Some(part.name()))
    }
}

impl Workload {
    /// Returns the workloads with a name: one for `workload:SHAPE:SEED`, those of [`of_part`](Self::of_part) for
    /// `workload:development` and `workload:evaluation`.
    ///
    /// # Errors
    ///
    /// Returns an error for any other name.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownWorkload> {
        match Part::named(name) {
            Some(part) => Ok(Self::of_part(part).collect()),
            None => name.parse().map(|workload| vec![workload]),
        }
    }

    /// Returns whether a name is meant for workloads: it begins with `workload:`.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}:{}", self.shape.name(), self.seed)
    }
}

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(name: &str) -> Result<Self, UnknownWorkload> {
        let parse = || {
            let (shape, seed) = name.strip_prefix(PREFIX)?.split_once(':')?;
            let shape = Shape::ALL.into_iter().find(|known| known.name() == shape)?;
            // Unlike `u32::from_str`, a sign and leading zeros are not allowed, so that a workload has one name.
            let workload = Self { shape, seed: seed.parse().ok()? };
            (workload.to_string() == name).then_some(workload)
        };
        parse()
            .ok_or_else(|| UnknownWorkload { name: Snippet::new(name.as_bytes()), part: Part::named(name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for shape in Shape::ALL {
            for seed in [0, 7, u32::MAX] {
                let workload = Workload { shape, seed };
                assert!(Workload::is_name(&workload.to_string()));
                assert_eq!(workload.to_string().parse(), Ok(workload));
            }
        }
    }

    #[test]
    fn parts_have_names() {
        for part in [Part::Development, Part::Evaluation] {
            let of_part: Vec<Workload> = Workload::of_part(part).collect();
            assert_eq!(Workload::named(&format!("workload:{}", part.name())), Ok(of_part));
        }
        let one = Workload { shape: Shape::Editor, seed: 7 };
        assert_eq!(Workload::named("workload:editor:7"), Ok(vec![one]));
        assert!(Workload::named("development").is_err());
    }

    #[test]
    fn other_names_are_errors() {
        let names =
            ["streaming:7", "workload:", "workload:streaming", "workload:river:7", "workload:editor:+1"];
        for name in names.into_iter().chain(["workload:editor:01", "workload:editor:4294967296", ""]) {
            assert!(name.parse::<Workload>().is_err(), "{name}");
        }
        assert_eq!(
            "workload:river:7".parse::<Workload>().unwrap_err().to_string(),
            "no workload is called \"workload:river:7\"; expected workload:SHAPE:SEED, where SHAPE is one of streaming, \
             levels, frame-graph, serving, training, editor, sequence and SEED is a number below 2^32, or \
             workload:development or workload:evaluation for all workloads of a part"
        );
    }
}
