//! D3D12's rules for heaps and resources as pure functions over plain structs.
//!
//! Nothing here creates or holds anything: a rule takes descriptions and the driver's caps and answers with what
//! the runtime should do, or with a [`Refusal`] that names the field and the rule. What it remarks on without refusing
//! is part of its result, as [`Notices`].
//!
//! * [`heap`]: heap descriptions and heap properties per architecture (document UPLOAD's tables).
//! * [`resource`]: resource descriptions. Buffers so far.
//! * [`allocation_info`]: size and alignment of resources (document TIGHT).
//! * [`placement`]: where a resource may be placed, and in which state it may begin.

pub(crate) mod allocation_info;
pub(crate) mod heap;
pub(crate) mod notice;
pub(crate) mod placement;
pub(crate) mod refusal;
pub(crate) mod resource;

pub(crate) use notice::{Notice, Notices};
pub(crate) use refusal::Refusal;

#[cfg(test)]
mod tests;
