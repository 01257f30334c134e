//! The layout of a texture's blocks on both drivers.
//!
//! Real GPUs swizzle. This layout is deliberately simple where applications cannot observe it: opaque layouts are never
//! mapped.
//!
//! * Textures with layout UNKNOWN or ROW_MAJOR: for each plane, array slice and mip level a linear array of blocks,
//!   row after row, slice after slice. Each subresource begins at a multiple of 512 bytes. The samples of a
//!   texel are contiguous. Rows are packed, except those of ROW_MAJOR, which begin at multiples of 256 bytes. Planes of
//!   row-major textures begin at multiples of 4 KiB.
//! * Textures with layout 64KB_UNDEFINED_SWIZZLE: 64 KiB tiles of the standard shapes ([`TileGrid`]), which are linear,
//!   followed by the packed mips.
//! * Textures with layout 64KB_STANDARD_SWIZZLE: the same tiles with the [standard swizzle](StandardSwizzle). Packed
//!   mips, whose layout D3D12 leaves to the adapter, are linear.
//!
//! All positions are offsets from the beginning of the resource. This holds for reserved resources as well: tile
//! `n` consists of the bytes from `n * 65536`.

use heapwright_core::ByteSize;

use crate::ddi::{
    Extent, MAX_MIP_LEVELS, SubresourceTiles, TILE_BYTES, TextureArgs, TextureMemoryLayout, TileGrid,
};
use crate::format::swizzle::StandardSwizzle;
use crate::format::tile::TileShape;

/// Alignment of a subresource, in bytes.
const SUBRESOURCE_ALIGNMENT: u64 = 512;

/// Alignment of a row of a ROW_MAJOR texture, in bytes; the same as that of a copyable footprint.
const ROW_MAJOR_PITCH_ALIGNMENT: u64 = 256;

/// Alignment of a plane of a row-major texture, in bytes (GUID texture layout specification).
const ROW_MAJOR_PLANE_ALIGNMENT: u64 = 4096;

/// Maximum number of planes of a texture's format.
const MAX_PLANES: usize = 3;

/// The layout of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureLayout {
    /// Linear subresources.
    Linear(LinearLayout),
    /// 64 KiB tiles.
    Tiled {
        /// The texture.
        texture: TextureArgs,
        /// The grid of tiles.
        grid: TileGrid,
    },
}

/// The layout of a texture with linear subresources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinearLayout {
    texture: TextureArgs,
    planes: [LinearPlane; MAX_PLANES],
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LinearPlane {
    /// Offset from the beginning of the resource, in bytes.
    offset: u64,
    /// Distance between array slices, in bytes.
    slice_stride: u64,
    /// Offset of each mip level from the beginning of a slice, in bytes.
    mip_offsets: [u64; MAX_MIP_LEVELS],
}

/// The layout of the blocks of one subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubresourceLayout {
    /// Number of blocks in each dimension.
    pub(crate) blocks: Extent,
    /// Size of a block with all samples of its texels, in bytes.
    pub(crate) block_bytes: u64,
    /// Width and height of a block, in texels.
    pub(crate) block_extent: (u32, u32),
    /// The arrangement of the blocks.
    pub(crate) arrangement: Arrangement,
}

/// The arrangement of a subresource's blocks in the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Row after row, slice after slice.
    Linear {
        /// Offset of the first block from the beginning of the resource, in bytes.
        offset: u64,
        /// Distance between rows of blocks, in bytes.
        row_pitch: u64,
        /// Distance between depth slices, in bytes.
        slice_pitch: u64,
    },
    /// In separate tiles, row after row, slice after slice.
    Tiled {
        /// Index of the first tile, counted from the beginning of the resource.
        first_tile: u32,
        /// Number of tiles in each dimension.
        tiles: Extent,
        /// The shape of a tile, in blocks.
        shape: TileShape,
        /// The order of blocks within a tile; `None` for a linear order.
        swizzle: Option<&'static StandardSwizzle>,
    },
}

impl TextureLayout {
    /// Computes the layout of a texture. Cost: O(mip levels).
    ///
    /// If the size of a texture would exceed 64 bits or its tiles 32 bits, the layout has the maximum size. The runtime
    /// refuses such textures beforehand.
    pub(crate) fn of_texture(texture: TextureArgs) -> Self {
        if texture.layout.is_tiled() {
            // Planar formats have no tiles; their textures of tiled layouts are linear.
            if let Some(grid) = TileGrid::new(&texture) {
                return Self::Tiled { texture, grid };
            }
        }
        Self::Linear(LinearLayout::new(texture))
    }

    /// The texture.
    pub(crate) fn texture(&self) -> &TextureArgs {
        match self {
            Self::Linear(linear) => &linear.texture,
            Self::Tiled { texture, .. } => texture,
        }
    }

    /// Size from the beginning of the resource to the end of its last block or tile.
    pub(crate) fn total_size(&self) -> ByteSize {
        ByteSize::new(match self {
            Self::Linear(linear) => linear.size,
            Self::Tiled { grid, .. } => u64::from(grid.tile_count()) * TILE_BYTES,
        })
    }

    /// Returns the layout of a subresource by its D3D12 index, or `None` if it does not exist. Cost: O(1).
    pub(crate) fn subresource(&self, index: u32) -> Option<SubresourceLayout> {
        match self {
            Self::Linear(linear) => linear.subresource(index),
            Self::Tiled { texture, grid } => tiled_subresource(texture, grid, index),
        }
    }
}

impl LinearLayout {
    fn new(texture: TextureArgs) -> Self {
        let mut planes = [LinearPlane::default(); MAX_PLANES];
        let mut size = 0_u64;
        let plane_alignment = match texture.layout {
            TextureMemoryLayout::RowMajor => ROW_MAJOR_PLANE_ALIGNMENT,
            TextureMemoryLayout::Unknown
            | TextureMemoryLayout::UndefinedSwizzle64Kib
            | TextureMemoryLayout::StandardSwizzle64Kib => SUBRESOURCE_ALIGNMENT,
        };
        for (plane, entry) in (0..texture.format.plane_count()).zip(&mut planes) {
            size = size.checked_next_multiple_of(plane_alignment).unwrap_or(u64::MAX);
            entry.offset = size;
            for (mip, offset) in (0..texture.mip_levels).zip(&mut entry.mip_offsets) {
                *offset = entry.slice_stride;
                let bytes = linear_pitches(&texture, mip, plane).size;
                entry.slice_stride = align(entry.slice_stride.saturating_add(bytes));
            }
            size = size.saturating_add(entry.slice_stride.saturating_mul(u64::from(texture.array_size)));
        }
        Self { texture, planes, size }
    }

    fn subresource(&self, index: u32) -> Option<SubresourceLayout> {
        let at = self.texture.subresource(index)?;
        let plane = self.planes.get(usize::try_from(at.plane).ok()?)?;
        let mip_offset = plane.mip_offsets.get(usize::try_from(at.mip).ok()?)?;
        let pitches = linear_pitches(&self.texture, at.mip, at.plane);
        let slice = plane.slice_stride.saturating_mul(u64::from(at.slice));
        Some(SubresourceLayout {
            arrangement: Arrangement::Linear {
                offset: plane.offset.saturating_add(slice).saturating_add(*mip_offset),
                row_pitch: pitches.row_pitch,
                slice_pitch: pitches.slice_pitch,
            },
            ..undecided(&self.texture, at.mip, at.plane)
        })
    }
}

/// The pitches and size of a linear subresource, in bytes.
struct LinearPitches {
    row_pitch: u64,
    slice_pitch: u64,
    size: u64,
}

fn linear_pitches(texture: &TextureArgs, mip: u32, plane: u32) -> LinearPitches {
    let blocks = texture.mip_blocks(mip, plane);
    let row = u64::from(blocks.width).saturating_mul(block_bytes(texture, plane));
    let row_pitch = match texture.layout {
        TextureMemoryLayout::RowMajor => {
            row.checked_next_multiple_of(ROW_MAJOR_PITCH_ALIGNMENT).unwrap_or(u64::MAX)
        }
        TextureMemoryLayout::Unknown
        | TextureMemoryLayout::UndefinedSwizzle64Kib
        | TextureMemoryLayout::StandardSwizzle64Kib => row,
    };
    let slice_pitch = row_pitch.saturating_mul(u64::from(blocks.height));
    LinearPitches { row_pitch, slice_pitch, size: slice_pitch.saturating_mul(u64::from(blocks.depth)) }
}

fn tiled_subresource(texture: &TextureArgs, grid: &TileGrid, index: u32) -> Option<SubresourceLayout> {
    let at = texture.subresource(index)?;
    let arrangement = match grid.subresource(at.mip, at.slice)? {
        SubresourceTiles::Standard { tiles, first_tile } => {
            Arrangement::Tiled { first_tile, tiles, shape: grid.shape, swizzle: texture.swizzle() }
        }
        SubresourceTiles::Packed { offset } => {
            let blocks = texture.mip_blocks(at.mip, at.plane);
            let row_pitch = u64::from(blocks.width).saturating_mul(block_bytes(texture, at.plane));
            let slice_pitch = row_pitch.saturating_mul(u64::from(blocks.height));
            Arrangement::Linear { offset, row_pitch, slice_pitch }
        }
    };
    Some(SubresourceLayout { arrangement, ..undecided(texture, at.mip, at.plane) })
}

/// Returns the layout of a subresource with a placeholder arrangement.
fn undecided(texture: &TextureArgs, mip: u32, plane: u32) -> SubresourceLayout {
    SubresourceLayout {
        blocks: texture.mip_blocks(mip, plane),
        block_bytes: block_bytes(texture, plane),
        block_extent: (texture.format.block_width, texture.format.block_height),
        arrangement: Arrangement::Linear { offset: 0, row_pitch: 0, slice_pitch: 0 },
    }
}

fn block_bytes(texture: &TextureArgs, plane: u32) -> u64 {
    u64::from(texture.format.plane(plane).block_bytes) * u64::from(texture.sample_count)
}

fn align(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(SUBRESOURCE_ALIGNMENT).unwrap_or(u64::MAX)
}

impl SubresourceLayout {
    /// Returns the offset of a block from the beginning of the resource, in bytes, or `None` outside of the
    /// subresource.
    pub(crate) fn block_offset(&self, x: u32, y: u32, z: u32) -> Option<u64> {
        if x >= self.blocks.width || y >= self.blocks.height || z >= self.blocks.depth {
            return None;
        }
        let [x64, y64, z64] = [x, y, z].map(u64::from);
        Some(match self.arrangement {
            Arrangement::Linear { offset, row_pitch, slice_pitch } => {
                offset + z64 * slice_pitch + y64 * row_pitch + x64 * self.block_bytes
            }
            Arrangement::Tiled { first_tile, tiles, shape, swizzle } => {
                let [width, height, depth] = [shape.width, shape.height, shape.depth].map(u64::from);
                let (across, down) = (u64::from(tiles.width), u64::from(tiles.height));
                let tile = u64::from(first_tile) + (z64 / depth * down + y64 / height) * across + x64 / width;
                let inside = match swizzle {
                    Some(swizzle) => swizzle.offset([x, y, z]),
                    None => {
                        (((z64 % depth) * height + y64 % height) * width + x64 % width) * self.block_bytes
                    }
                };
                tile * TILE_BYTES + inside
            }
        })
    }

    /// Returns the number of contiguous blocks from `x` to the end of the row at most.
    pub(crate) fn contiguous_blocks(&self, x: u32) -> u32 {
        let left = self.blocks.width.saturating_sub(x);
        match self.arrangement {
            Arrangement::Linear { .. } => left,
            Arrangement::Tiled { shape, swizzle, .. } => {
                let run = swizzle.map_or(shape.width, StandardSwizzle::run);
                left.min(run - x % run)
            }
        }
    }

    /// Returns whether applications know the layout, so that the CPU may get a pointer to the blocks.
    pub(crate) fn is_defined(&self, layout: TextureMemoryLayout) -> bool {
        match layout {
            TextureMemoryLayout::RowMajor => true,
            TextureMemoryLayout::StandardSwizzle64Kib => {
                matches!(self.arrangement, Arrangement::Tiled { swizzle: Some(_), .. })
            }
            TextureMemoryLayout::Unknown | TextureMemoryLayout::UndefinedSwizzle64Kib => false,
        }
    }
}

#[cfg(test)]
mod tests;
