//! D3D12's rules for heaps and resources as pure functions over plain structs.
//!
//! Nothing here creates or holds anything: a rule takes descriptions and the driver's caps and answers with what
//! the runtime should do, or with a [`Refusal`] that names the field and the rule. What it remarks on without refusing
//! is part of its result, as [`Notices`].
//!
//! * [`heap`]: heap descriptions and heap properties per architecture (document UPLOAD's tables).
//! * [`resource`]: resource descriptions of buffers and textures.
//! * [`castable`]: the formats that views may cast to.
//! * [`allocation_info`]: size and alignment of resources (document TIGHT).
//! * [`placement`]: which heap a resource may be in, and where.
//! * [`initial`]: in which state or layout it may begin; [`clear_value`]: which clear value it may name.
//! * [`footprints`]: `GetCopyableFootprints`; [`tiling`]: `GetResourceTiling`.
//! * [`recreate`]: what may be created at an address of the application's choice (document RECREATE).
//! * [`texel_box`]: boxes of texels within a subresource.
//! * [`Options`]: what a device can be told to do differently.

pub(crate) mod allocation_info;
pub(crate) mod castable;
pub(crate) mod clear_value;
pub(crate) mod footprints;
pub(crate) mod heap;
pub(crate) mod initial;
pub(crate) mod notice;
mod options;
pub(crate) mod placement;
pub(crate) mod recreate;
pub(crate) mod refusal;
pub(crate) mod resource;
pub(crate) mod texel_box;
pub(crate) mod tiling;

pub(crate) use notice::{Notice, Notices};
pub(crate) use options::Options;
pub(crate) use refusal::{Refusal, under};

#[cfg(test)]
mod tests;
