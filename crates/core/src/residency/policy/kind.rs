//! Eviction policies by name.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::{Adaptive, EvictionPolicy, Lru, NextUse};

/// An eviction policy, by name.
///
/// ```
/// use heapwright_core::residency::policy::PolicyKind;
///
/// let kind: PolicyKind = "lru".parse().unwrap();
/// assert_eq!(kind, PolicyKind::Lru);
/// assert!("newest".parse::<PolicyKind>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PolicyKind {
    /// The policy [`Adaptive`].
    #[default]
    Adaptive,
    /// The policy [`NextUse`].
    NextUse,
    /// The policy [`Lru`].
    Lru,
}

impl PolicyKind {
    /// Returns every policy of this crate, the default first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &[Self::Adaptive, Self::NextUse, Self::Lru]
    }

    /// Returns the name, which [`parse`](str::parse) accepts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::NextUse => "next-use",
            Self::Lru => "lru",
        }
    }

    /// Creates a policy of this kind, with default parameters, that holds no heap.
    #[must_use]
    pub fn create(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Adaptive => Box::new(Adaptive::new()),
            Self::NextUse => Box::new(NextUse::new()),
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
            .find(|kind| kind.name() == name)
            .copied()
            .ok_or_else(|| UnknownPolicy { name: name.into() })
    }
}

/// The error of parsing an unknown policy name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPolicy {
    name: Box<str>,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = PolicyKind::all().iter().map(|kind| kind.name()).collect();
        write!(f, "the eviction policy {:?} is unknown; available: {}", self.name, names.join(", "))
    }
}

impl Error for UnknownPolicy {}

#[test]
fn every_kind_is_named_and_found_by_its_name() {
    for kind in PolicyKind::all() {
        assert_eq!(kind.name().parse().as_ref(), Ok(kind));
        assert_eq!(kind.to_string(), kind.name());
    }
    assert_eq!(PolicyKind::default(), PolicyKind::all()[0]);
    assert_eq!(
        "LRU".parse::<PolicyKind>().unwrap_err().to_string(),
        "the eviction policy \"LRU\" is unknown; available: adaptive, next-use, lru"
    );
}
