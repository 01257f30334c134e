//! The properties of each `DXGI_FORMAT`: sizes, planes, families, and the support of the simulated GPUs.
//!
//! * [`properties`] looks a format up in `table`, the single list of formats.
//! * `support`: `D3D12_FEATURE_FORMAT_SUPPORT` and `D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS`.
//! * `texel_value`, `resolver`: conversion of values to texels, and resolving of samples.
//! * [`tile`]: the standard tile shapes of tiled textures; [`swizzle`]: the order of blocks within a tile, where it is
//!   defined.
//!
//! A *block* is the unit in which a format is stored: 4 by 4 texels of a BC format, two texels of formats such as YUY2,
//! one texel of most others.

mod resolver;
mod support;
pub(crate) mod swizzle;
mod table;
pub(crate) mod texel_value;
pub(crate) mod tile;

use heapwright_d3d12::*;

pub(crate) use self::resolver::{ResolveMode, Resolver};
pub(crate) use self::texel_value::TexelValue;

/// A format and its properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatProperties {
    /// The format.
    pub(crate) format: DXGI_FORMAT,
    /// The name in the header, including `DXGI_FORMAT_`.
    pub(crate) name: &'static str,
    /// The typeless format of the family, or the format itself if it has none.
    pub(crate) family: DXGI_FORMAT,
    /// The interpretation of a block's bits.
    pub(crate) kind: FormatKind,
    /// Size of a block, in bytes, over all planes that are not subsampled.
    pub(crate) block_bytes: u32,
    /// Width of a block, in texels.
    pub(crate) block_width: u32,
    /// Height of a block, in texels.
    pub(crate) block_height: u32,
    /// The planes; most formats have one.
    pub(crate) planes: &'static [FormatPlane],
}

/// One plane of a format, in terms of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatPlane {
    /// The format of the plane's footprint; `None` if it is the texture's format.
    pub(crate) copy_format: Option<DXGI_FORMAT>,
    /// Size of a block of this plane, in bytes.
    pub(crate) block_bytes: u32,
    /// Log2 of the ratio of the texture's width to the plane's.
    pub(crate) subsample_x: u32,
    /// Log2 of the ratio of the texture's height to the plane's.
    pub(crate) subsample_y: u32,
}

/// The interpretation of a format's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatKind {
    /// Components of a given size, whose meaning views define.
    Typeless,
    /// Floating point.
    Float,
    /// Unsigned integers that represent 0 to 1.
    Unorm,
    /// Like `Unorm`, with sRGB encoding.
    UnormSrgb,
    /// Signed integers that represent -1 to 1.
    Snorm,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// `R9G9B9E5_SHAREDEXP`.
    SharedExponent,
    /// `R10G10B10_XR_BIAS_A2_UNORM`, for display only.
    XrBias,
    /// A format of depth-stencil views.
    DepthStencil,
    /// A format of shader resource views of the depth plane of a planar depth-stencil format.
    DepthView,
    /// A format of shader resource views of the stencil plane.
    StencilView,
    /// Components of video or indices into a palette. Textures are memory with planes, which views show as other
    /// formats; nothing decodes or converts them.
    Video,
    /// Known, but not supported by this runtime: sampler feedback, `R1_UNORM`.
    Unsupported,
}

/// Returns the properties of a format, or `None` for `DXGI_FORMAT_UNKNOWN` and numbers that D3D12 does not define.
///
/// Cost: O(log n) in the number of formats.
pub(crate) fn properties(format: DXGI_FORMAT) -> Option<&'static FormatProperties> {
    let index = table::FORMATS.binary_search_by_key(&format, |row| row.format).ok()?;
    table::FORMATS.get(index)
}

impl FormatProperties {
    /// Returns whether blocks contain several rows of texels, as those of the BC formats do.
    pub(crate) fn is_block_compressed(&self) -> bool {
        self.block_height > 1 && self.kind != FormatKind::Video
    }

    /// Returns the numbers of which a texture's width and height must be multiples, in texels: its size in whole blocks
    /// of each plane.
    pub(crate) fn size_alignment(&self) -> (u32, u32) {
        let subsampling =
            |shift: fn(&FormatPlane) -> u32| 1 << self.planes.iter().map(shift).max().unwrap_or(0);
        (
            self.block_width.max(subsampling(|plane| plane.subsample_x)),
            self.block_height.max(subsampling(|plane| plane.subsample_y)),
        )
    }

    /// Returns whether the format is typeless.
    pub(crate) fn is_typeless(&self) -> bool {
        self.kind == FormatKind::Typeless
    }

    /// Returns whether depth-stencil views can have the format.
    pub(crate) fn is_depth_stencil(&self) -> bool {
        self.kind == FormatKind::DepthStencil
    }

    /// Returns whether textures of the format have several planes.
    pub(crate) fn is_planar(&self) -> bool {
        self.planes.len() > 1
    }

    /// Returns the typeless format of the family whose formats views of a plane may have, besides the texture's own
    /// family; `None` if there is none.
    ///
    /// The reference of `DXGI_FORMAT` lists them for each format of video. Palettes and 420_OPAQUE have none.
    pub(crate) fn view_family(&self, plane: u32) -> Option<DXGI_FORMAT> {
        if self.kind != FormatKind::Video {
            return None;
        }
        self.plane(plane).copy_format.or(match self.format {
            DXGI_FORMAT_AYUV | DXGI_FORMAT_YUY2 => Some(DXGI_FORMAT_R8G8B8A8_TYPELESS),
            DXGI_FORMAT_Y410 => Some(DXGI_FORMAT_R10G10B10A2_TYPELESS),
            DXGI_FORMAT_Y416 | DXGI_FORMAT_Y210 | DXGI_FORMAT_Y216 => Some(DXGI_FORMAT_R16G16B16A16_TYPELESS),
            _ => None,
        })
    }

    /// Returns the number of planes of a texture, at least 1.
    pub(crate) fn plane_count(&self) -> u32 {
        u32::try_from(self.planes.len()).unwrap_or(1)
    }

    /// Returns whether values are sRGB-encoded.
    pub(crate) fn is_srgb(&self) -> bool {
        self.kind == FormatKind::UnormSrgb
    }

    /// Returns the format of copies of `plane`, or of plane 0 if the format has no such plane.
    pub(crate) fn copy_format(&self, plane: u32) -> DXGI_FORMAT {
        self.plane(plane).copy_format.unwrap_or(self.format)
    }

    /// Returns a plane, or the first one if the format has no such plane.
    pub(crate) fn plane(&self, plane: u32) -> FormatPlane {
        let index = usize::try_from(plane).unwrap_or(0);
        self.planes.get(index).or(self.planes.first()).copied().unwrap_or(FormatPlane {
            copy_format: None,
            block_bytes: self.block_bytes,
            subsample_x: 0,
            subsample_y: 0,
        })
    }

    /// Returns the formats of this format's family, including itself and the typeless format.
    pub(crate) fn family_members(&self) -> impl Iterator<Item = &'static FormatProperties> {
        let family = self.family;
        table::FORMATS.iter().filter(move |row| row.family == family)
    }
}

#[cfg(test)]
mod tests;
