//! The policies by name.

use std::fmt;
use std::str::FromStr;

use super::{EvictionPolicy, Lru};

/// A policy, by name.
///
/// ```
/// use heapwright_core::residency::policy::PolicyKind;
///
/// let kind: PolicyKind = "lru".parse().unwrap();
/// assert_eq!(kind, PolicyKind::Lru);
/// assert!("newest".parse::<PolicyKind>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum PolicyKind {
    /// [`Lru`].
    #[default]
    Lru,
}

impl PolicyKind {
    /// Every policy, the default first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &[Self::Lru]
    }

    /// Its name, as [`parse`](str::parse) takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
        }
    }

    /// A policy of this kind, with its defaults, that holds no heap.
    #[must_use]
    pub fn create(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Lru => Box::new(Lru::new()),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::all()
            .iter()
            .copied()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownPolicy { name: name.into() })
    }
}

/// No policy has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no eviction policy is named {name:?}; there are {}", names())]
pub struct UnknownPolicy {
    name: Box<str>,
}

fn names() -> String {
    let names: Vec<_> = PolicyKind::all().iter().map(|kind| kind.name()).collect();
    names.join(", ")
}
