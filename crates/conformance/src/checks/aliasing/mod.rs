//! Aliasing: which resources may share memory, what becomes of their contents, and what has to be said to the GPU.
//!
//! One file for each section of rules, whose ids the checks carry: [`granularity`] (G), [`invalidation`] (I), [`barriers`]
//! (B), [`inheritance`] (H) and [`enhanced`] barriers (E). Of each rule there is a check of something that keeps it, and one of
//! something that breaks it. What a GPU does with bytes nobody promised is not to be seen from outside, so most of them ask the
//! device itself, by `IHeapwrightAliasing`; devices without it are not asked.
//!
//! * [`tracker`]: that interface itself.
//! * `scene`: a device that tracks, and resources that share memory.

pub(super) mod barriers;
pub(super) mod enhanced;
pub(super) mod granularity;
pub(super) mod inheritance;
pub(super) mod invalidation;
mod scene;
pub(super) mod tracker;
