//! The requirements of a resource, and the heaps that it may be placed in. Nothing here is locked, and only
//! `requirements_query` and `format_support` call the device.
//!
//! | file | contents |
//! |---|---|
//! | `placement` | the decision for a placement, and its reason |
//! | `heap_type`, `heap_family` | heap types; D3D12's heap properties |
//! | `granted_heaps` | the heaps that a device grants for a heap type; classes of resources that share heaps; initial states |
//! | `requirements`, `requirements_query` | the description that a resource is created with, and its size; the device's results, and a cache of them |
//! | `description` | the rules of descriptions that hold on every device |
//! | `format_support` | what a device supports of a texture's format and samples |
//! | `alignment`, `standard_tiles` | alignments; the sizes of a texture in tiles and in bytes |

mod alignment;
mod description;
mod format_support;
mod granted_heaps;
mod heap_family;
mod heap_type;
mod placement;
mod requirements;
mod requirements_query;
mod standard_tiles;

pub(crate) use self::alignment::BYTE_OFFSET_VIEW;
pub use self::alignment::BufferUses;
pub(crate) use self::description::check_clear_value;
pub(crate) use self::granted_heaps::{
    GrantedHeaps, HeapFamilies, ResourceClass, check_gpu_writes, check_initial_state, implicit_heap_flags,
    infer_heap_type, is_for_multisampled,
};
pub(crate) use self::heap_family::HeapFamily;
pub use self::heap_family::NodeMasks;
pub use self::heap_type::{HeapType, HeapTypePreference};
pub use self::placement::{Placement, PlacementDecision, PlacementReason};
pub(crate) use self::requirements::{Creation, RequirementsOptions, ResourceRequirements};
pub(crate) use self::requirements_query::{RequirementsQuery, with_mip_region};
pub(crate) use self::standard_tiles::{Block, texel_block, texel_bytes};
