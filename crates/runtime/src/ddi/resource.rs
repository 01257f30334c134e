//! Descriptions of resources for the driver (the DDI's `D3D12DDIARG_CREATERESOURCE`).

use std::ptr::null;

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};
use heapwright_d3d12::*;

use super::umddi::{
    D3D12DDI_MIP_REGION_0075, D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT, D3D12DDI_RESOURCE_FLAGS_0003,
    D3D12DDIARG_BUFFER_PLACEMENT, D3D12DDIARG_CREATERESOURCE_0109,
};
use crate::format::FormatProperties;
use crate::format::swizzle::StandardSwizzle;
use crate::format::tile::{TileDimension, TileShape, TileSize};

/// A resource and its alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceArgs {
    /// The kind of resource, with its description.
    pub(crate) kind: ResourceKind,
    /// [`D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT`], or no flags. The other flags are in `kind`.
    pub(crate) flags: D3D12DDI_RESOURCE_FLAGS_0003,
    /// The DDI's `AlignmentRestriction`: the smallest alignment that the driver may return.
    pub(crate) alignment_restriction: Alignment,
    /// `CreateAtVirtualAddress`: the GPU virtual address of the first byte of a buffer. `None` (0 in the DDI) lets the
    /// driver choose. Size and alignment do not depend on it.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}

impl ResourceArgs {
    /// Returns whether the driver should align the resource tightly.
    pub(crate) fn is_tight(&self) -> bool {
        self.flags & D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT != 0
    }
}

impl From<&ResourceArgs> for D3D12DDIARG_CREATERESOURCE_0109 {
    /// Describes a resource as a driver in C sees it. The members that this runtime's drivers do not need are 0.
    fn from(args: &ResourceArgs) -> Self {
        let (dimension, width, height, depth, mips) = match &args.kind {
            ResourceKind::Buffer { width } => (D3D12_RESOURCE_DIMENSION_BUFFER, width.get(), 1, 1, 1),
            ResourceKind::Texture(texture) => {
                let dimension = match texture.dimension {
                    TextureDimension::Texture1D => D3D12_RESOURCE_DIMENSION_TEXTURE1D,
                    TextureDimension::Texture2D => D3D12_RESOURCE_DIMENSION_TEXTURE2D,
                    TextureDimension::Texture3D => D3D12_RESOURCE_DIMENSION_TEXTURE3D,
                };
                let depth = texture.extent.depth.max(texture.array_size);
                (dimension, texture.extent.width.into(), texture.extent.height, depth, texture.mip_levels)
            }
        };
        let texture = match &args.kind {
            ResourceKind::Buffer { .. } => None,
            ResourceKind::Texture(texture) => Some(texture),
        };
        Self {
            ReuseBufferGPUVA: D3D12DDIARG_BUFFER_PLACEMENT { hResource: std::ptr::null_mut(), Offset: 0 },
            ResourceType: dimension,
            Width: width,
            Height: height,
            DepthOrArraySize: u16::try_from(depth).unwrap_or(u16::MAX),
            MipLevels: u16::try_from(mips).unwrap_or(u16::MAX),
            Format: texture.map_or(DXGI_FORMAT_UNKNOWN, |texture| texture.format.format),
            SampleDesc: DXGI_SAMPLE_DESC {
                Count: texture.map_or(1, |texture| texture.sample_count),
                Quality: 0,
            },
            Layout: match texture.map(|texture| texture.layout) {
                None | Some(TextureMemoryLayout::RowMajor) => D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
                Some(TextureMemoryLayout::Unknown) => D3D12_TEXTURE_LAYOUT_UNKNOWN,
                Some(TextureMemoryLayout::UndefinedSwizzle64Kib) => {
                    D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE
                }
                Some(TextureMemoryLayout::StandardSwizzle64Kib) => D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
            },
            Flags: args.flags,
            InitialBarrierLayout: 0,
            pRowMajorLayout: null(),
            SamplerFeedbackMipRegion: D3D12DDI_MIP_REGION_0075 { Width: 0, Height: 0, Depth: 0 },
            NumCastableFormats: 0,
            pCastableFormats: null(),
            CreateAtVirtualAddress: args.create_at.map_or(0, |address| address.get()),
        }
    }
}

/// A buffer or a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    /// A buffer.
    Buffer {
        /// Size in bytes; never zero.
        width: ByteSize,
    },
    /// A texture.
    Texture(TextureArgs),
}

/// A valid texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextureArgs {
    /// The number of dimensions.
    pub(crate) dimension: TextureDimension,
    /// Extent of the most detailed mip level, in texels.
    pub(crate) extent: Extent,
    /// Number of slices of a 1D or 2D array; 1 for a volume.
    pub(crate) array_size: u32,
    /// Number of mip levels, 1 to 15. The 0 of a description is already resolved.
    pub(crate) mip_levels: u32,
    /// The format.
    pub(crate) format: &'static FormatProperties,
    /// Number of samples of a texel: 1, 2, 4 or 8.
    pub(crate) sample_count: u32,
    /// `D3D12_TEXTURE_LAYOUT`.
    pub(crate) layout: TextureMemoryLayout,
    /// The uses that the resource flags allow.
    pub(crate) usage: TextureUsage,
}

/// The number of dimensions of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureDimension {
    /// `D3D12_RESOURCE_DIMENSION_TEXTURE1D`.
    Texture1D,
    /// `D3D12_RESOURCE_DIMENSION_TEXTURE2D`.
    Texture2D,
    /// `D3D12_RESOURCE_DIMENSION_TEXTURE3D`.
    Texture3D,
}

/// Width, height and depth; each at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Size along a row.
    pub(crate) width: u32,
    /// Number of rows.
    pub(crate) height: u32,
    /// Number of depth slices.
    pub(crate) depth: u32,
}

impl Extent {
    /// Returns the number of elements.
    pub(crate) fn volume(self) -> u64 {
        u64::from(self.width).saturating_mul(u64::from(self.height)).saturating_mul(u64::from(self.depth))
    }

    /// Returns the extent `mip` mip levels below this one: each size is halved `mip` times, but is at least 1.
    pub(crate) fn mip(self, mip: u32) -> Self {
        let halved = |size: u32| size.checked_shr(mip).unwrap_or(0).max(1);
        Self { width: halved(self.width), height: halved(self.height), depth: halved(self.depth) }
    }
}

/// `D3D12_TEXTURE_LAYOUT`, as far as this runtime implements it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureMemoryLayout {
    /// A layout of the driver's choice.
    Unknown,
    /// Consecutive rows, for sharing between adapters: ROW_MAJOR, and the row-major layouts that a GUID names, which
    /// may have planes.
    RowMajor,
    /// 64 KiB tiles of the standard shapes; the layout within a tile is the driver's choice.
    UndefinedSwizzle64Kib,
    /// 64 KiB tiles of the standard shapes; the layout within a tile is the [standard swizzle](StandardSwizzle), that
    /// of packed mips is the driver's choice. Never used for 1D, multisampled or planar textures.
    StandardSwizzle64Kib,
}

impl TextureMemoryLayout {
    /// Returns whether the texture consists of 64 KiB tiles.
    pub(crate) fn is_tiled(self) -> bool {
        matches!(self, Self::UndefinedSwizzle64Kib | Self::StandardSwizzle64Kib)
    }
}

/// The uses of a texture, from `D3D12_RESOURCE_FLAGS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextureUsage {
    /// `ALLOW_RENDER_TARGET`.
    pub(crate) render_target: bool,
    /// `ALLOW_DEPTH_STENCIL`.
    pub(crate) depth_stencil: bool,
    /// `ALLOW_UNORDERED_ACCESS`.
    pub(crate) unordered_access: bool,
    /// `DENY_SHADER_RESOURCE`.
    pub(crate) deny_shader_resource: bool,
    /// `ALLOW_SIMULTANEOUS_ACCESS`.
    pub(crate) simultaneous_access: bool,
    /// `ALLOW_CROSS_ADAPTER`.
    pub(crate) cross_adapter: bool,
}

impl TextureUsage {
    /// Returns whether the texture is an RT/DS texture in the sense of heap tier 1.
    pub(crate) fn is_render_target_or_depth_stencil(self) -> bool {
        self.render_target || self.depth_stencil
    }
}

/// The position of a subresource in a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubresourceIndex {
    /// Mip level.
    pub(crate) mip: u32,
    /// Array slice.
    pub(crate) slice: u32,
    /// Plane.
    pub(crate) plane: u32,
}

impl TextureArgs {
    /// Returns the number of subresources: mip levels times slices times planes.
    pub(crate) fn subresource_count(&self) -> u32 {
        // At most 15 * 2,048 * 3, as the runtime has checked the description.
        self.mip_levels.saturating_mul(self.array_size).saturating_mul(self.format.plane_count())
    }

    /// Decomposes a D3D12 subresource index. Returns `None` if it is not below [`Self::subresource_count`].
    pub(crate) fn subresource(&self, index: u32) -> Option<SubresourceIndex> {
        if index >= self.subresource_count() {
            return None;
        }
        let (mip, rest) = (index % self.mip_levels, index / self.mip_levels);
        Some(SubresourceIndex { mip, slice: rest % self.array_size, plane: rest / self.array_size })
    }

    /// Returns the extent of a mip level of a plane, in texels.
    pub(crate) fn mip_extent(&self, mip: u32, plane: u32) -> Extent {
        let plane = self.format.plane(plane);
        let whole = self.extent.mip(mip);
        Extent {
            width: (whole.width >> plane.subsample_x).max(1),
            height: (whole.height >> plane.subsample_y).max(1),
            depth: whole.depth,
        }
    }

    /// Returns the extent of a mip level of a plane, in blocks; partial blocks count as whole ones.
    pub(crate) fn mip_blocks(&self, mip: u32, plane: u32) -> Extent {
        let texels = self.mip_extent(mip, plane);
        Extent {
            width: texels.width.div_ceil(self.format.block_width.max(1)),
            height: texels.height.div_ceil(self.format.block_height.max(1)),
            depth: texels.depth,
        }
    }

    /// Returns the standard tile shape for this texture, in blocks.
    pub(crate) fn tile_shape(&self, size: TileSize) -> TileShape {
        TileShape::standard(size, self.format.block_bytes, self.sample_count, self.tile_dimension())
    }

    /// Returns the order of blocks within a tile if it is defined: for layout
    /// [`StandardSwizzle64Kib`](TextureMemoryLayout).
    pub(crate) fn swizzle(&self) -> Option<&'static StandardSwizzle> {
        if self.layout != TextureMemoryLayout::StandardSwizzle64Kib {
            return None;
        }
        StandardSwizzle::of(self.format.block_bytes, self.tile_dimension())
    }

    fn tile_dimension(&self) -> TileDimension {
        match self.dimension {
            TextureDimension::Texture1D => TileDimension::One,
            TextureDimension::Texture2D => TileDimension::Two,
            TextureDimension::Texture3D => TileDimension::Three,
        }
    }

    /// Returns whether the texture has several samples.
    pub(crate) fn is_multisampled(&self) -> bool {
        self.sample_count > 1
    }

    /// Returns whether the texture meets D3D12's definition of a small resource (tight alignment specification,
    /// *Background*).
    ///
    /// The layout is UNKNOWN, and the most detailed mip level, divided into tiles of the smaller alignment, occupies no
    /// more than the larger alignment: 64 KiB in tiles of 4 KiB, or 4 MiB in tiles of 64 KiB if multisampled.
    ///
    /// The specification excludes render targets and depth-stencils from both kinds. But D3D12 allows multisampled
    /// textures only with one of those flags, so the exclusion is taken to apply to single-sampled textures, as in the
    /// reference of `D3D12_RESOURCE_DESC`. Only one array slice counts, whatever the array size (native behaviour).
    pub(crate) fn is_small(&self) -> bool {
        if self.layout != TextureMemoryLayout::Unknown {
            return false;
        }
        let (tile, limit) = if self.is_multisampled() {
            (TileSize::Kib64, MSAA_ALIGNMENT)
        } else if self.usage.is_render_target_or_depth_stencil() {
            return false;
        } else {
            (TileSize::Kib4, DEFAULT_ALIGNMENT)
        };
        let blocks = self.mip_blocks(0, 0);
        let (width, height, depth) =
            self.tile_shape(tile).tiles_over(blocks.width, blocks.height, blocks.depth);
        Extent { width, height, depth }.volume().saturating_mul(tile.bytes()) <= limit.get()
    }

    /// Returns the default alignment without tight alignment: 64 KiB, or 4 MiB for MSAA.
    pub(crate) fn default_alignment(&self) -> Alignment {
        if self.is_multisampled() { MSAA_ALIGNMENT } else { DEFAULT_ALIGNMENT }
    }

    /// Returns the alignment that a small resource may have: 4 KiB, or 64 KiB for MSAA.
    pub(crate) fn small_alignment(&self) -> Alignment {
        if self.is_multisampled() { DEFAULT_ALIGNMENT } else { SMALL_ALIGNMENT }
    }

    /// Returns the largest alignment with the tight alignment flag (tables of the tight alignment specification): the
    /// small alignment if the texture is small.
    pub(crate) fn largest_tight_alignment(&self) -> Alignment {
        if self.is_small() { self.small_alignment() } else { self.default_alignment() }
    }
}

const SMALL_ALIGNMENT: Alignment = alignment(4 * 1024);
const DEFAULT_ALIGNMENT: Alignment = alignment(64 * 1024);
const MSAA_ALIGNMENT: Alignment = alignment(4 * 1024 * 1024);

const fn alignment(bytes: u64) -> Alignment {
    match Alignment::new(bytes) {
        Some(alignment) => alignment,
        None => panic!("not a power of two"),
    }
}
