//! The requirements of a resource, and the heaps that it may be placed in. Nothing here is locked, and only `requirements_query` calls the
//! device.
//!
//! | file | contents |
//! |---|---|
//! | `placement` | the decision for a placement, and its reason |
//! | `heap_type`, `heap_family`, `granted_heaps` | heap types; D3D12's heap properties; the heaps that a device grants for a heap type |
//! | `resource_class` | classes of resources that share heaps; initial states, and the heap types that they fit |
//! | `requirements`, `requirements_query` | the description that a resource is created with, and its size; the device's results, and a cache of them |
//! | `alignment`, `standard_tiles` | alignments; the sizes of a texture in tiles and in bytes |

mod alignment;
mod granted_heaps;
mod heap_family;
mod heap_type;
mod placement;
mod requirements;
mod requirements_query;
mod resource_class;
mod standard_tiles;

pub use self::alignment::BufferUses;
pub(crate) use self::granted_heaps::{GrantedHeaps, HeapFamilies};
pub(crate) use self::heap_family::HeapFamily;
pub use self::heap_family::NodeMasks;
pub use self::heap_type::{HeapType, HeapTypePreference};
pub use self::placement::{Placement, PlacementDecision, PlacementReason};
pub(crate) use self::requirements::{Creation, RequirementsOptions, ResourceRequirements};
pub(crate) use self::requirements_query::{RequirementsQuery, with_mip_region};
pub use self::resource_class::InitialState;
pub(crate) use self::resource_class::{ResourceClass, check_initial_state, infer_heap_type};
pub(crate) use self::standard_tiles::{Block, texel_block, texel_bytes};
