//! What D3D12 knows of each `DXGI_FORMAT`: sizes, planes, families, and what the simulated GPUs support.
//!
//! * [`properties`] finds a format in `table`, the one list of formats.
//! * `support`: `D3D12_FEATURE_FORMAT_SUPPORT` and `D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS`.
//! * `texel_value`, `resolver`: what the bits of a texel stand for, and one texel made of several samples.
//! * [`tile`]: the standard shapes into which tiled textures are cut; [`swizzle`]: the order that is defined inside of them.
//!
//! A *block* is what a format stores as one: 4 by 4 texels of a BC format, one texel of most others.

mod resolver;
mod support;
pub(crate) mod swizzle;
mod table;
pub(crate) mod texel_value;
pub(crate) mod tile;

use heapwright_d3d12::DXGI_FORMAT;

pub(crate) use self::resolver::{ResolveMode, Resolver};
pub(crate) use self::texel_value::TexelValue;

/// A format and its properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatProperties {
    /// The format.
    pub(crate) format: DXGI_FORMAT,
    /// Its name in the header, `DXGI_FORMAT_` included.
    pub(crate) name: &'static str,
    /// The typeless format of its family; the format itself where there is none.
    pub(crate) family: DXGI_FORMAT,
    /// How the bits of a block are read.
    pub(crate) kind: FormatKind,
    /// Bytes of a block, over all planes that are not subsampled.
    pub(crate) block_bytes: u32,
    /// Texels that a block is wide.
    pub(crate) block_width: u32,
    /// Texels that a block is high.
    pub(crate) block_height: u32,
    /// The planes; one for most formats.
    pub(crate) planes: &'static [FormatPlane],
}

/// One plane of a format, as copies see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatPlane {
    /// The format of the plane's footprint; `None` where it is the texture's own.
    pub(crate) copy_format: Option<DXGI_FORMAT>,
    /// Bytes of a block of this plane.
    pub(crate) block_bytes: u32,
    /// Log2 of how many times narrower than the texture the plane is.
    pub(crate) subsample_x: u32,
    /// Log2 of how many times lower than the texture the plane is.
    pub(crate) subsample_y: u32,
}

/// How the bits of a format are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatKind {
    /// Says how large the components are, and leaves their meaning to views.
    Typeless,
    /// Floating point.
    Float,
    /// Unsigned integers that stand for 0 to 1.
    Unorm,
    /// As `Unorm`, in the sRGB transfer function.
    UnormSrgb,
    /// Signed integers that stand for -1 to 1.
    Snorm,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// `R9G9B9E5_SHAREDEXP`.
    SharedExponent,
    /// `R10G10B10_XR_BIAS_A2_UNORM`: for display only.
    XrBias,
    /// What a depth-stencil view writes.
    DepthStencil,
    /// What a shader reads of the depth plane of a planar depth-stencil format.
    DepthView,
    /// What a shader reads of its stencil plane.
    StencilView,
    /// Known and not supported by this runtime: video, palettes, sampler feedback, `R1_UNORM`.
    Unsupported,
}

/// The properties of a format; `None` for `DXGI_FORMAT_UNKNOWN` and for what D3D12 does not know.
///
/// Cost: O(log n) in the number of formats.
pub(crate) fn properties(format: DXGI_FORMAT) -> Option<&'static FormatProperties> {
    let index = table::FORMATS.binary_search_by_key(&format, |row| row.format).ok()?;
    table::FORMATS.get(index)
}

impl FormatProperties {
    /// Whether blocks hold more than one row of texels: the BC formats.
    pub(crate) fn is_block_compressed(&self) -> bool {
        self.block_height > 1
    }

    /// Whether the format leaves the meaning of its bits to views.
    pub(crate) fn is_typeless(&self) -> bool {
        self.kind == FormatKind::Typeless
    }

    /// Whether a depth-stencil view writes the format.
    pub(crate) fn is_depth_stencil(&self) -> bool {
        self.kind == FormatKind::DepthStencil
    }

    /// Whether the format has a stencil plane of its own, so that a texture has two planes.
    pub(crate) fn is_planar(&self) -> bool {
        self.planes.len() > 1
    }

    /// How many planes a texture has, at least 1.
    pub(crate) fn plane_count(&self) -> u32 {
        u32::try_from(self.planes.len()).unwrap_or(1)
    }

    /// Whether values are stored in the sRGB transfer function.
    pub(crate) fn is_srgb(&self) -> bool {
        self.kind == FormatKind::UnormSrgb
    }

    /// The format that a copy sees in `plane`, which is taken as 0 where the format has no such plane.
    pub(crate) fn copy_format(&self, plane: u32) -> DXGI_FORMAT {
        self.plane(plane).copy_format.unwrap_or(self.format)
    }

    /// One plane; the first where the format has no such plane.
    pub(crate) fn plane(&self, plane: u32) -> FormatPlane {
        let index = usize::try_from(plane).unwrap_or(0);
        self.planes.get(index).or(self.planes.first()).copied().unwrap_or(FormatPlane {
            copy_format: None,
            block_bytes: self.block_bytes,
            subsample_x: 0,
            subsample_y: 0,
        })
    }

    /// The typed formats that a resource of this format can be viewed as by its family, itself included.
    pub(crate) fn family_members(&self) -> impl Iterator<Item = &'static FormatProperties> {
        let family = self.family;
        table::FORMATS.iter().filter(move |row| row.family == family)
    }
}

#[cfg(test)]
mod tests;
