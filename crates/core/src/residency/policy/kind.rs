//! Eviction policies by name.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

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
///
/// A custom policy has the name that it was given, which cannot be parsed:
///
/// ```
/// use heapwright_core::residency::policy::{Lru, PolicyKind};
///
/// let kind = PolicyKind::custom("as LRU", || Box::new(Lru::new()));
/// assert_eq!(kind.name(), "as LRU");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PolicyKind {
    /// The policy [`Adaptive`].
    #[default]
    Adaptive,
    /// The policy [`NextUse`].
    NextUse,
    /// The policy [`Lru`].
    Lru,
    /// A custom policy; see [`custom`](Self::custom).
    Custom(CustomPolicy),
}

/// Creates the policies of [`PolicyKind::Custom`]. Equal only to its own clones.
#[derive(Clone)]
pub struct CustomPolicy {
    name: &'static str,
    create: Arc<dyn Fn() -> Box<dyn EvictionPolicy> + Send + Sync>,
}

impl fmt::Debug for CustomPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomPolicy({:?})", self.name)
    }
}

impl PartialEq for CustomPolicy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.create, &other.create)
    }
}

impl Eq for CustomPolicy {}

impl PolicyKind {
    /// Creates the kind of a custom policy. `create` is called once for each segment group and priority, and
    /// must return a policy that holds no heap.
    #[must_use]
    pub fn custom(
        name: &'static str,
        create: impl Fn() -> Box<dyn EvictionPolicy> + Send + Sync + 'static,
    ) -> Self {
        Self::Custom(CustomPolicy { name, create: Arc::new(create) })
    }

    /// Returns every policy of this crate, the default first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &[Self::Adaptive, Self::NextUse, Self::Lru]
    }

    /// Returns the name, which [`parse`](str::parse) accepts unless the policy is custom.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::NextUse => "next-use",
            Self::Lru => "lru",
            Self::Custom(custom) => custom.name,
        }
    }

    /// Creates a policy of this kind, with default parameters, that holds no heap.
    #[must_use]
    pub fn create(&self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Adaptive => Box::new(Adaptive::new()),
            Self::NextUse => Box::new(NextUse::new()),
            Self::Lru => Box::new(Lru::new()),
            Self::Custom(custom) => (custom.create)(),
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
            .cloned()
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
        write!(f, "unknown eviction policy {:?}; available: {}", self.name, names.join(", "))
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
        "unknown eviction policy \"LRU\"; available: adaptive, next-use, lru"
    );
}
