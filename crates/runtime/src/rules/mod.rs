//! D3D12's rules for heaps, resources, views and commands as pure functions over plain structs.
//!
//! Rules neither create nor hold anything. A rule takes descriptions and the driver's caps and returns either what the
//! runtime should do or a [`Refusal`] that names the field and the rule. Remarks that do not refuse the call are part
//! of the result, as [`Notices`].
//!
//! * [`heap`]: heap descriptions and heap properties per architecture (GPU upload heaps specification).
//! * [`resource`]: resource descriptions of buffers and textures, and castable formats.
//! * [`allocation_info`]: size and alignment of resources (tight alignment specification).
//! * [`creation`]: creation of a resource of any kind, which applies the rules above and below in their order.
//! * [`placement`]: the heaps and offsets that a resource may have.
//! * [`initial`]: initial states and layouts; [`clear_value`]: optimized clear values.
//! * [`feature_level`]: the feature level of a device.
//! * [`footprints`]: `GetCopyableFootprints`; [`tiling`]: `GetResourceTiling`.
//! * [`recreate`]: objects at GPU virtual addresses that the application chooses (Recreate-at-GPUVA specification).
//! * [`texel_box`]: boxes of texels within a subresource; [`tile_regions`]: regions of tiles within a reserved
//!   resource.
//! * [`operand`]: resources as commands and views see them; [`views`]: the contents of descriptors;
//!   [`byte_offset_views`]: those of buffers by byte offsets.
//! * [`commands`]: the commands of lists.
//! * [`Options`]: device options that change rules; [`sdk_version`]: the Agility SDK among them.

pub(crate) mod allocation_info;
pub(crate) mod byte_offset_views;
pub(crate) mod clear_value;
pub(crate) mod commands;
pub(crate) mod creation;
pub(crate) mod feature_level;
pub(crate) mod footprints;
pub(crate) mod heap;
pub(crate) mod initial;
pub(crate) mod operand;
pub(crate) mod placement;
pub(crate) mod recreate;
pub(crate) mod refusal;
pub(crate) mod resource;
pub(crate) mod sdk_version;
pub(crate) mod texel_box;
pub(crate) mod tile_regions;
pub(crate) mod tiling;
pub(crate) mod views;

pub(crate) use refusal::{Notice, Notices, Refusal, under};
pub(crate) use sdk_version::SdkVersion;

/// Options of a device that change rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    /// The Agility SDK whose rules apply.
    pub(crate) sdk: SdkVersion,
    /// Whether a tool tracks writes: `ManualWriteTrackingResourceSupported` of OPTIONS17 (GPU upload heaps
    /// specification).
    pub(crate) manual_write_tracking: bool,
}

#[cfg(test)]
pub(crate) mod tests;
