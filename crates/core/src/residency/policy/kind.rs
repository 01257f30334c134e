//! The policies by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{AgedLru, AgedLruDesc, EvictionPolicy, Lirs, Lru, NextUse, S3Fifo, Sieve};

/// A policy, by name.
///
/// ```
/// use heapwright_core::residency::policy::PolicyKind;
///
/// let kind: PolicyKind = "lru".parse().unwrap();
/// assert_eq!(kind, PolicyKind::Lru);
/// assert!("newest".parse::<PolicyKind>().is_err());
/// ```
///
/// A policy of the user's own goes by the name that it is given, which cannot be parsed:
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
    /// [`NextUse`].
    #[default]
    NextUse,
    /// [`Lru`].
    Lru,
    /// [`AgedLru`], with the defaults of its desc.
    AgedLru,
    /// [`Sieve`].
    Sieve,
    /// [`S3Fifo`].
    S3Fifo,
    /// [`Lirs`].
    Lirs,
    /// The user's own; see [`custom`](Self::custom).
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
    /// A policy of the user's own. `create` is called once for each segment group and priority, and returns a policy that holds no heap.
    #[must_use]
    pub fn custom(
        name: &'static str,
        create: impl Fn() -> Box<dyn EvictionPolicy> + Send + Sync + 'static,
    ) -> Self {
        Self::Custom(CustomPolicy { name, create: Arc::new(create) })
    }

    /// Every policy that comes with this crate, the default first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &[Self::NextUse, Self::Lru, Self::AgedLru, Self::Sieve, Self::S3Fifo, Self::Lirs]
    }

    /// Its name, as [`parse`](str::parse) takes it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NextUse => "next-use",
            Self::Lru => "lru",
            Self::AgedLru => "aged-lru",
            Self::Sieve => "sieve",
            Self::S3Fifo => "s3-fifo",
            Self::Lirs => "lirs",
            Self::Custom(custom) => custom.name,
        }
    }

    /// A policy of this kind, with its defaults, that holds no heap.
    #[must_use]
    pub fn create(&self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::NextUse => Box::new(NextUse::new()),
            Self::Lru => Box::new(Lru::new()),
            Self::AgedLru => Box::new(AgedLru::new(AgedLruDesc::default())),
            Self::Sieve => Box::new(Sieve::new()),
            Self::S3Fifo => Box::new(S3Fifo::new()),
            Self::Lirs => Box::new(Lirs::new()),
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
