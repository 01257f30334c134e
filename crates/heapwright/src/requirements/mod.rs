//! The description that a resource is created with, and the memory that it needs.
//!
//! * `requested`: the requested resource.
//! * `resource_requirements`: the decision, with the device behind a closure.
//! * `query`: the queries of the device.
//! * `remembered_buffers`: a cache of the device's results for buffers.
//! * `tight_alignment`: whether a resource gets the tight alignment flag.
//! * `floor`: D3D12's alignments, and the one that a description requests.
//! * `buffer_uses`: the address alignments that the uses of a buffer require.
//! * `standard_tiles`: the size of a texture's most detailed mip level, in D3D12's tiles.
//! * `without_asking`: requirements that are known without a query.
//! * `generations`: descriptions with a mip region.
//! * `resource_class`: classes of resources that share heaps.

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
