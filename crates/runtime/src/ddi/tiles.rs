//! How a texture is cut into 64 KiB tiles: what `GetResourceTiling` reports, and what the 64KB_*_SWIZZLE layouts are.
//!
//! Runtime and driver agree on it: the application maps tiles by these numbers, and the driver finds texels by them.
//!
//! The tiles of all standard mips come first, slice by slice, then the packed mips of each slice. That is the order that
//! implementations report: the standard mips of a slice follow those of the one before without a gap.

use super::{Extent, TextureArgs};
use crate::format::tile::{TileShape, TileSize};

/// The most mip levels that a texture has (`D3D12_REQ_MIP_LEVELS`).
pub(crate) const MAX_MIP_LEVELS: usize = 15;

/// Bytes of a tile.
pub(crate) const TILE_BYTES: u64 = TileSize::Kib64.bytes();

/// Where a packed mip begins is a multiple of this.
const PACKED_MIP_ALIGNMENT: u64 = 512;

/// The tiles of a texture of one plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileGrid {
    /// The shape of a tile, in blocks.
    pub(crate) shape: TileShape,
    /// Mip levels that have tiles of their own.
    pub(crate) standard_mips: u32,
    /// Mip levels that share tiles.
    pub(crate) packed_mips: u32,
    /// Tiles of the packed mips of one slice.
    pub(crate) packed_tiles_per_slice: u32,
    array_size: u32,
    standard_tiles_per_slice: u32,
    mips: [MipTiles; MAX_MIP_LEVELS],
}

/// One mip level of the first slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MipTiles {
    Standard {
        tiles: Extent,
        first_tile: u32,
    },
    /// Bytes from the beginning of the slice's packed tiles.
    Packed {
        offset: u64,
    },
}

/// Where the blocks of a subresource are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubresourceTiles {
    /// In tiles of its own, in rows, then slices.
    Standard {
        /// How many tiles in each dimension.
        tiles: Extent,
        /// The first, counted over the whole resource.
        first_tile: u32,
    },
    /// In tiles that it shares: linear, row after row.
    Packed {
        /// Bytes from the beginning of the resource.
        offset: u64,
    },
}

impl TileGrid {
    /// Cuts a texture into tiles; `None` where there are more than 2^32 or where a texture has several planes.
    ///
    /// A mip level is packed when it is smaller than a tile in some dimension, and so are all below it.
    pub(crate) fn new(texture: &TextureArgs) -> Option<Self> {
        if texture.format.is_planar() {
            return None;
        }
        let shape = texture.tile_shape(TileSize::Kib64);
        let mut mips = [MipTiles::Packed { offset: 0 }; MAX_MIP_LEVELS];
        let (mut standard_mips, mut standard_tiles, mut packed_bytes) = (0, 0_u32, 0_u64);
        let element = u64::from(texture.format.block_bytes) * u64::from(texture.sample_count);
        for (mip, entry) in (0..texture.mip_levels).zip(&mut mips) {
            let blocks = texture.mip_blocks(mip, 0);
            let fills_tiles =
                blocks.width >= shape.width && blocks.height >= shape.height && blocks.depth >= shape.depth;
            if standard_mips == mip && fills_tiles {
                let (width, height, depth) = shape.tiles_over(blocks.width, blocks.height, blocks.depth);
                let tiles = Extent { width, height, depth };
                *entry = MipTiles::Standard { tiles, first_tile: standard_tiles };
                standard_tiles = standard_tiles.checked_add(u32::try_from(tiles.volume()).ok()?)?;
                standard_mips += 1;
            } else {
                *entry = MipTiles::Packed { offset: packed_bytes };
                let bytes = blocks.volume().checked_mul(element)?;
                packed_bytes =
                    packed_bytes.checked_add(bytes.checked_next_multiple_of(PACKED_MIP_ALIGNMENT)?)?;
            }
        }
        let grid = Self {
            shape,
            standard_mips,
            packed_mips: texture.mip_levels.saturating_sub(standard_mips),
            packed_tiles_per_slice: u32::try_from(packed_bytes.div_ceil(TILE_BYTES)).ok()?,
            array_size: texture.array_size,
            standard_tiles_per_slice: standard_tiles,
            mips,
        };
        // The product below does not overflow once the total fits.
        let per_slice = standard_tiles.checked_add(grid.packed_tiles_per_slice)?;
        per_slice.checked_mul(texture.array_size)?;
        Some(grid)
    }

    /// Tiles of the whole resource.
    pub(crate) fn tile_count(&self) -> u32 {
        self.first_packed_tile().saturating_add(self.packed_tile_count())
    }

    /// Tiles of the packed mips of all slices.
    pub(crate) fn packed_tile_count(&self) -> u32 {
        self.packed_tiles_per_slice.saturating_mul(self.array_size)
    }

    /// The first tile of packed mips, counted over the whole resource.
    pub(crate) fn first_packed_tile(&self) -> u32 {
        self.standard_tiles_per_slice.saturating_mul(self.array_size)
    }

    /// Where mip level `mip` of `slice` is; `None` where there is no such subresource.
    pub(crate) fn subresource(&self, mip: u32, slice: u32) -> Option<SubresourceTiles> {
        if mip >= self.standard_mips.saturating_add(self.packed_mips) || slice >= self.array_size {
            return None;
        }
        Some(match *self.mips.get(usize::try_from(mip).ok()?)? {
            MipTiles::Standard { tiles, first_tile } => SubresourceTiles::Standard {
                tiles,
                first_tile: self.standard_tiles_per_slice * slice + first_tile,
            },
            MipTiles::Packed { offset } => {
                let first = self.first_packed_tile() + self.packed_tiles_per_slice * slice;
                SubresourceTiles::Packed { offset: u64::from(first) * TILE_BYTES + offset }
            }
        })
    }
}
