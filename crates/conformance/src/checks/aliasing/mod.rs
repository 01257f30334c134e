//! Aliasing: resources that share memory, the validity of their contents, and the barriers between their uses.
//!
//! There is one file for each section of rules: [`granularity`] (G), [`invalidation`] (I), [`barriers`] (B), [`inheritance`]
//! (H) and [`enhanced`] barriers (E). The ids of the checks contain the number of their rule. Each rule has a check that follows
//! it and one that violates it. The effect of most violations cannot be observed from outside the device, so most checks
//! read the violations that the device reports by `IHeapwrightAliasing` and are skipped on devices without it.
//!
//! * [`tracker`]: the interface `IHeapwrightAliasing` itself.
//! * `scene`: the fixture of the checks.

pub(super) mod barriers;
pub(super) mod enhanced;
pub(super) mod granularity;
pub(super) mod inheritance;
pub(super) mod invalidation;
mod scene;
pub(super) mod tracker;

pub(crate) use scene::Scene;
