//! What is generated from seeds: its two parts, and its names.
//!
//! A policy that is tuned on the programs by which it is judged proves nothing. The seeds are therefore divided: seeds below
//! [`FIRST_EVALUATION_SEED`] are for development, and the others are only evaluated. The parts differ in more than the seed: in
//! each shape some parameters have ranges that do not overlap.

use std::fmt::{self, Debug};
use std::str::FromStr;

/// The lowest seed of the evaluation part.
pub const FIRST_EVALUATION_SEED: u32 = 1000;

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

/// A kind of program that is imitated.
pub trait Shape: Copy + Debug + PartialEq + 'static {
    /// The beginning of every name, such as `workload:`.
    const PREFIX: &'static str;

    /// Every shape.
    const ALL: &'static [Self];

    /// The lowest seed with which figures are measured during development.
    const FIRST_SEED: u32;

    /// The number of seeds of each part with which figures are measured.
    const SEEDS: u32;

    /// Returns the name of the shape, such as `frame-graph`.
    fn name(self) -> &'static str;
}

/// A shape and a seed, which are always the same program on every machine. Its name is the prefix, the shape, a colon and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeded<S> {
    /// The kind of program.
    pub shape: S,
    /// The seed, which also selects the [`Part`].
    pub seed: u32,
}

impl<S: Shape> Seeded<S> {
    /// Returns the part to which the seed belongs.
    #[must_use]
    pub const fn part(&self) -> Part {
        if self.seed < FIRST_EVALUATION_SEED { Part::Development } else { Part::Evaluation }
    }

    /// Returns the programs of a part with which figures are measured: some of each shape.
    pub fn of_part(part: Part) -> impl Iterator<Item = Self> {
        let first = match part {
            Part::Development => S::FIRST_SEED,
            Part::Evaluation => FIRST_EVALUATION_SEED,
        };
        let seeds = first..first + S::SEEDS;
        S::ALL.iter().flat_map(move |&shape| seeds.clone().map(move |seed| Self { shape, seed }))
    }

    /// Returns the programs with a name: one for a shape and a seed, those of [`of_part`](Self::of_part) for the name of a part.
    ///
    /// # Errors
    ///
    /// Returns an error for any other name.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownGenerated> {
        match part_named::<S>(name) {
            Some(part) => Ok(Self::of_part(part).collect()),
            None => name.parse().map(|one| vec![one]),
        }
    }

    /// Returns whether a name is meant for these programs: it begins with their prefix.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(S::PREFIX)
    }
}

fn part_named<S: Shape>(name: &str) -> Option<Part> {
    let parts = [Part::Development, Part::Evaluation];
    parts.into_iter().find(|part| name.strip_prefix(S::PREFIX) == Some(part.name()))
}

impl<S: Shape> fmt::Display for Seeded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:{}", S::PREFIX, self.shape.name(), self.seed)
    }
}

impl<S: Shape> FromStr for Seeded<S> {
    type Err = UnknownGenerated;

    fn from_str(name: &str) -> Result<Self, UnknownGenerated> {
        let parse = || {
            let (shape, seed) = name.strip_prefix(S::PREFIX)?.split_once(':')?;
            let shape = S::ALL.iter().copied().find(|known| known.name() == shape)?;
            // Unlike `u32::from_str`, a sign and leading zeros are not allowed, so that a program has one name.
            let seeded = Self { shape, seed: seed.parse().ok()? };
            (seeded.to_string() == name).then_some(seeded)
        };
        parse().ok_or_else(|| {
            let prefix = S::PREFIX;
            if let Some(part) = part_named::<S>(name) {
                let count = Self::of_part(part).count();
                return UnknownGenerated(format!(
                    "{name:?} names {count} programs; expected one, {prefix}SHAPE:SEED"
                ));
            }
            let shapes: Vec<&str> = S::ALL.iter().map(|shape| shape.name()).collect();
            UnknownGenerated(format!(
                "no generated program is called {name:?}; expected {prefix}SHAPE:SEED, where SHAPE is one of {} and SEED is a \
                 number below 2^32, or {prefix}development or {prefix}evaluation for all programs of a part",
                shapes.join(", ")
            ))
        })
    }
}

/// The error of a name that is not that of a generated program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownGenerated(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TraceShape, WorkloadShape};

    fn check<S: Shape + Eq>() {
        for &shape in S::ALL {
            for seed in [0, 7, u32::MAX] {
                let one = Seeded { shape, seed };
                let name = one.to_string();
                assert!(Seeded::<S>::is_name(&name));
                assert_eq!(name.parse(), Ok(one));
                assert_eq!(Seeded::named(&name), Ok(vec![one]));
            }
        }
        let prefix = S::PREFIX;
        for part in [Part::Development, Part::Evaluation] {
            let name = format!("{prefix}{}", part.name());
            let named = Seeded::<S>::named(&name).unwrap();
            assert_eq!(named.len(), S::SEEDS as usize * S::ALL.len());
            assert!(named.iter().all(|one| one.part() == part));
            let error = name.parse::<Seeded<S>>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("programs; expected one, {prefix}SHAPE:SEED")), "{error}");
        }
        let shape = S::ALL[0].name();
        let names = ["", "river:7", &format!("{shape}:+1"), &format!("{shape}:01"), shape, "all"];
        let too_large = format!("{prefix}{shape}:4294967296");
        let with_prefix = names.map(|name| format!("{prefix}{name}"));
        for name in with_prefix.into_iter().chain([too_large, "development".to_owned(), shape.to_owned()]) {
            let error = Seeded::<S>::named(&name).unwrap_err().to_string();
            let expected = format!("no generated program is called {name:?}; expected {prefix}SHAPE:SEED");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn names_are_read_back_and_others_refused() {
        check::<TraceShape>();
        check::<WorkloadShape>();
    }
}
