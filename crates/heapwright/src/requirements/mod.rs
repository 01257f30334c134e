//! What description a resource is created with, and what it takes.
//!
//! * `requested`: what is asked for.
//! * `resource_requirements`: the decision, with the device behind a closure.
//! * `query`: the device, and the calls that answer for it.
//! * `remembered_buffers`: what the device answered before.
//! * `tight_alignment`: whether a resource gets the tight alignment flag (document TIGHT).
//! * `floor`: D3D12's alignments, and the one that a description asks for.
//! * `buffer_uses`: how the address of a buffer must be aligned for what it is used for.
//! * `standard_tiles`: how large a texture's most detailed mip level is, in D3D12's tiles.
//! * `without_asking`: what is known of a resource without asking the device.
//! * `generations`: descriptions with a mip region.
//! * `resource_class`: resources that share heaps.

mod buffer_uses;
mod floor;
mod generations;
mod query;
mod remembered_buffers;
mod requested;
mod resource_class;
mod resource_requirements;
mod standard_tiles;
#[cfg(test)]
mod tests;
mod tight_alignment;
mod without_asking;

pub use self::buffer_uses::BufferUses;
pub(crate) use self::generations::with_mip_region;
pub(crate) use self::query::RequirementsQuery;
pub(crate) use self::requested::{Creation, RequestedResource, RequirementsOptions};
pub(crate) use self::resource_class::ResourceClass;
pub(crate) use self::resource_requirements::{ResourceRequirements, requirements};
pub(crate) use self::standard_tiles::{Block, texel_block, texel_bytes};
