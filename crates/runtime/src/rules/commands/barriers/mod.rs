//! `ResourceBarrier` and `Barrier`.
//!
//! The simulated GPU executes a list in order and has no caches, so barriers have no effect. Each barrier is checked on
//! its own; the actual state of a resource is not tracked here.
//!
//! * [`legacy`], [`enhanced`]: the two calls.
//! * `compatibility`: tables of valid combinations in enhanced barriers.
//!
//! The rules of initial states and layouts use the same tables.

pub(in crate::rules) mod compatibility;
pub(crate) mod enhanced;
pub(crate) mod legacy;

pub(crate) use compatibility::supports_layout;
