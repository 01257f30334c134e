//! Where the simulated GPU keeps the blocks of a texture.
//!
//! Real GPUs swizzle; this one is simple on purpose where applications cannot tell, since opaque layouts are never mapped.
//!
//! * Textures with layout UNKNOWN or ROW_MAJOR: for each plane, array slice and mip level a linear array of blocks,
//!   row after row, slice after slice. Each subresource begins at a multiple of 512 bytes. The samples of a
//!   texel lie side by side. Rows are packed; those of ROW_MAJOR begin at multiples of 256 bytes.
//! * Textures with layout 64KB_UNDEFINED_SWIZZLE: 64 KiB tiles of the standard shapes ([`TileGrid`]), linear inside,
//!   with packed mips at the end.
//! * Textures with layout 64KB_STANDARD_SWIZZLE: the same tiles, and inside the [standard swizzle](StandardSwizzle). Packed
//!   mips, which D3D12 leaves to the adapter, are linear.
//!
//! Everything is an offset from the beginning of the resource, so reserved resources are found the same way: tile
//! `n` is the bytes from `n * 65536`.

use heapwright_core::ByteSize;

use crate::ddi::{
    Extent, MAX_MIP_LEVELS, SubresourceTiles, TILE_BYTES, TextureArgs, TextureMemoryLayout, TileGrid,
};
use crate::format::swizzle::StandardSwizzle;
use crate::format::tile::TileShape;

/// Where a subresource begins is a multiple of this.
const SUBRESOURCE_ALIGNMENT: u64 = 512;

/// Where a row of a ROW_MAJOR texture begins is a multiple of this: what a copyable footprint has, too.
const ROW_MAJOR_PITCH_ALIGNMENT: u64 = 256;

/// The most planes of a format that textures can have.
const MAX_PLANES: usize = 2;

/// Where the bytes of a texture are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextureLayout {
    /// Linear subresources.
    Linear(LinearLayout),
    /// 64 KiB tiles.
    Tiled {
        /// The texture.
        texture: TextureArgs,
        /// Its tiles.
        grid: TileGrid,
    },
}

/// A texture of linear subresources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinearLayout {
    texture: TextureArgs,
    planes: [LinearPlane; MAX_PLANES],
    size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LinearPlane {
    /// Bytes from the beginning of the resource.
    offset: u64,
    /// Bytes from one array slice to the next.
    slice_stride: u64,
    /// Bytes from the beginning of a slice.
    mip_offsets: [u64; MAX_MIP_LEVELS],
}

/// Where the blocks of one subresource are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubresourceLayout {
    /// How many blocks there are in each dimension.
    pub(crate) blocks: Extent,
    /// Bytes of a block, with all samples of its texels.
    pub(crate) block_bytes: u64,
    /// Texels that a block is wide and high.
    pub(crate) block_extent: (u32, u32),
    /// How they lie.
    pub(crate) arrangement: Arrangement,
}

/// How the blocks of a subresource lie in the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Row after row, slice after slice.
    Linear {
        /// Bytes from the beginning of the resource to the first block.
        offset: u64,
        /// Bytes from one row of blocks to the next.
        row_pitch: u64,
        /// Bytes from one slice to the next.
        slice_pitch: u64,
    },
    /// In tiles of their own, which lie row after row, slice after slice.
    Tiled {
        /// The first tile, counted from the beginning of the resource.
        first_tile: u32,
        /// How many tiles there are in each dimension.
        tiles: Extent,
        /// The shape of a tile, in blocks.
        shape: TileShape,
        /// How the blocks of a tile lie; linear without.
        swizzle: Option<&'static StandardSwizzle>,
    },
}

impl TextureLayout {
    /// Lays a texture out. Cost: O(mip levels).
    ///
    /// A texture whose size would overflow 64 bits or whose tiles would overflow 32 has a layout of the largest size;
    /// the runtime refuses textures long before.
    pub(crate) fn of_texture(texture: TextureArgs) -> Self {
        if texture.layout.is_tiled() {
            // Planar formats have no tiles; what shares the layout's name is linear then.
            if let Some(grid) = TileGrid::new(&texture) {
                return Self::Tiled { texture, grid };
            }
        }
        Self::Linear(LinearLayout::new(texture))
    }

    /// Bytes from the beginning of the resource to the end of its last block, or of its last tile.
    pub(crate) fn total_size(&self) -> ByteSize {
        ByteSize::new(match self {
            Self::Linear(linear) => linear.size,
            Self::Tiled { grid, .. } => u64::from(grid.tile_count()) * TILE_BYTES,
        })
    }

    /// Where a subresource is, by its D3D12 index; `None` where there is none. Cost: O(1).
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
        for (plane, entry) in (0..texture.format.plane_count()).zip(&mut planes) {
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

/// What a linear subresource takes, in bytes.
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

/// All of a subresource but its arrangement.
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
    /// Bytes from the beginning of the resource to a block; `None` outside of the subresource.
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

    /// How many blocks from `x` on lie side by side, of those that are left in the row.
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

    /// Whether applications know where the blocks are, so that the CPU may be given a pointer to them.
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
