//! A resource as the driver sees it (the DDI's `D3D12DDIARG_CREATERESOURCE`).

use heapwright_core::{Alignment, ByteSize, GpuVirtualAddress};

use crate::format::FormatProperties;
use crate::format::swizzle::StandardSwizzle;
use crate::format::tile::{TileDimension, TileShape, TileSize};

/// A resource and how it is to be aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceArgs {
    /// What it is.
    pub(crate) kind: ResourceKind,
    /// `D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT`; only ever set for a driver that reports the cap.
    pub(crate) tight_alignment: bool,
    /// The DDI's `AlignmentRestriction`: the smallest alignment that the driver may answer.
    pub(crate) alignment_restriction: Alignment,
    /// `CreateAtVirtualAddress`: where the GPU is to see the first byte of a buffer; `None`, the DDI's 0, where the driver
    /// chooses. Size and alignment do not depend on it.
    pub(crate) create_at: Option<GpuVirtualAddress>,
}

/// A buffer or a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    /// Bytes in a row.
    Buffer {
        /// Size of the buffer, not zero.
        width: ByteSize,
    },
    /// Subresources of blocks.
    Texture(TextureArgs),
}

/// A valid texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextureArgs {
    /// How many dimensions it has.
    pub(crate) dimension: TextureDimension,
    /// Texels of the most detailed mip level.
    pub(crate) extent: Extent,
    /// Slices of a 1D or 2D array; 1 for a volume.
    pub(crate) array_size: u32,
    /// Mip levels, 1 to 15; a description's 0 is resolved.
    pub(crate) mip_levels: u32,
    /// The format.
    pub(crate) format: &'static FormatProperties,
    /// Samples of a texel: 1, 2, 4 or 8.
    pub(crate) sample_count: u32,
    /// `D3D12_TEXTURE_LAYOUT`.
    pub(crate) layout: TextureMemoryLayout,
    /// What the texture is used for.
    pub(crate) usage: TextureUsage,
}

/// How many dimensions a texture has.
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
    /// Along a row.
    pub(crate) width: u32,
    /// Rows.
    pub(crate) height: u32,
    /// Slices of a volume.
    pub(crate) depth: u32,
}

impl Extent {
    /// The number of elements.
    pub(crate) fn volume(self) -> u64 {
        u64::from(self.width).saturating_mul(u64::from(self.height)).saturating_mul(u64::from(self.depth))
    }

    /// The extent of mip level `mip` below this one: halved so often, and at least 1.
    pub(crate) fn mip(self, mip: u32) -> Self {
        let halved = |size: u32| size.checked_shr(mip).unwrap_or(0).max(1);
        Self { width: halved(self.width), height: halved(self.height), depth: halved(self.depth) }
    }
}

/// `D3D12_TEXTURE_LAYOUT` without what this runtime does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureMemoryLayout {
    /// The driver's choice.
    Unknown,
    /// Rows one after the other, for sharing between adapters.
    RowMajor,
    /// 64 KiB tiles of the standard shapes, whose inside is the driver's choice.
    UndefinedSwizzle64Kib,
    /// 64 KiB tiles of the standard shapes, whose inside is the [standard swizzle](StandardSwizzle). Packed mips are the driver's
    /// choice. Never of one dimension, several samples or several planes.
    StandardSwizzle64Kib,
}

impl TextureMemoryLayout {
    /// Whether the texture is cut into 64 KiB tiles.
    pub(crate) fn is_tiled(self) -> bool {
        matches!(self, Self::UndefinedSwizzle64Kib | Self::StandardSwizzle64Kib)
    }
}

/// What a texture is used for, of `D3D12_RESOURCE_FLAGS`.
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
    /// Whether the texture is one of heap tier 1's RT/DS textures.
    pub(crate) fn is_render_target_or_depth_stencil(self) -> bool {
        self.render_target || self.depth_stencil
    }
}

/// Where a subresource is in a texture.
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
    /// How many subresources there are: mip levels in slices in planes.
    pub(crate) fn subresource_count(&self) -> u32 {
        // At most 15 * 2,048 * 3: the runtime checked the description.
        self.mip_levels.saturating_mul(self.array_size).saturating_mul(self.format.plane_count())
    }

    /// Takes a D3D12 subresource index apart; `None` at and above [`Self::subresource_count`].
    pub(crate) fn subresource(&self, index: u32) -> Option<SubresourceIndex> {
        if index >= self.subresource_count() {
            return None;
        }
        let (mip, rest) = (index % self.mip_levels, index / self.mip_levels);
        Some(SubresourceIndex { mip, slice: rest % self.array_size, plane: rest / self.array_size })
    }

    /// Texels of a mip level of a plane.
    pub(crate) fn mip_extent(&self, mip: u32, plane: u32) -> Extent {
        let plane = self.format.plane(plane);
        let whole = self.extent.mip(mip);
        Extent {
            width: (whole.width >> plane.subsample_x).max(1),
            height: (whole.height >> plane.subsample_y).max(1),
            depth: whole.depth,
        }
    }

    /// Blocks of a mip level of a plane; parts of a block count as one.
    pub(crate) fn mip_blocks(&self, mip: u32, plane: u32) -> Extent {
        let texels = self.mip_extent(mip, plane);
        Extent {
            width: texels.width.div_ceil(self.format.block_width.max(1)),
            height: texels.height.div_ceil(self.format.block_height.max(1)),
            depth: texels.depth,
        }
    }

    /// The standard tile shape for this texture, in blocks.
    pub(crate) fn tile_shape(&self, size: TileSize) -> TileShape {
        TileShape::standard(size, self.format.block_bytes, self.sample_count, self.tile_dimension())
    }

    /// How blocks lie inside a tile, where that is defined: in layout [`StandardSwizzle64Kib`](TextureMemoryLayout).
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

    /// Whether the texture has several samples.
    pub(crate) fn is_multisampled(&self) -> bool {
        self.sample_count > 1
    }

    /// Whether the texture meets D3D12's definition of a small resource (document TIGHT, *Background*).
    ///
    /// The layout is UNKNOWN, and the most detailed mip level, cut into tiles of the smaller alignment, takes no more
    /// than the larger alignment: 64 KiB in tiles of 4 KiB, or 4 MiB in tiles of 64 KiB with several samples.
    ///
    /// The document excludes render targets and depth-stencils from both kinds, but D3D12 makes multisampled textures
    /// only with one of those flags, so the exclusion is read as one of single-sampled textures, as the reference
    /// of `D3D12_RESOURCE_DESC` has it. One array slice counts, whatever the array size (native behaviour).
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

    /// The alignment without tight alignment where the description asks for none: 64 KiB, or 4 MiB for MSAA.
    pub(crate) fn default_alignment(&self) -> Alignment {
        if self.is_multisampled() { MSAA_ALIGNMENT } else { DEFAULT_ALIGNMENT }
    }

    /// The alignment that a small resource may have: 4 KiB, or 64 KiB for MSAA.
    pub(crate) fn small_alignment(&self) -> Alignment {
        if self.is_multisampled() { DEFAULT_ALIGNMENT } else { SMALL_ALIGNMENT }
    }

    /// The largest alignment with the tight flag (document TIGHT's tables): the small one where it applies.
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
