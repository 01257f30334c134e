//! The division of a texture into 64 KiB tiles, for `GetResourceTiling` and the 64KB_*_SWIZZLE layouts.
//!
//! Runtime and driver share it: applications map tiles by these numbers, and the driver locates texels by them.
//!
//! The tiles of all standard mips come first, slice by slice, followed by the packed mips of each slice. This is the
//! order that implementations report: the standard mips of consecutive slices follow each other without a gap.

use super::{Extent, TextureArgs};
use crate::format::tile::{TileShape, TileSize};

/// Maximum number of mip levels of a texture (`D3D12_REQ_MIP_LEVELS`).
pub(crate) const MAX_MIP_LEVELS: usize = 15;

/// Size of a tile, in bytes.
pub(crate) const TILE_BYTES: u64 = TileSize::Kib64.bytes();

/// Alignment of the offset of a packed mip, in bytes.
const PACKED_MIP_ALIGNMENT: u64 = 512;

/// The tiles of a single-plane texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileGrid {
    /// The shape of a tile, in blocks.
    pub(crate) shape: TileShape,
    /// Number of mip levels that have their own tiles.
    pub(crate) standard_mips: u32,
    /// Number of mip levels that share tiles.
    pub(crate) packed_mips: u32,
    /// Number of tiles of the packed mips of one slice.
    pub(crate) packed_tiles_per_slice: u32,
    array_size: u32,
    standard_tiles_per_slice: u32,
    mips: [MipTiles; MAX_MIP_LEVELS],
}

/// The tiles of one mip level of the first slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MipTiles {
    Standard {
        tiles: Extent,
        first_tile: u32,
    },
    /// The offset is in bytes from the beginning of the slice's packed tiles.
    Packed {
        offset: u64,
    },
}

/// The tiles that contain the blocks of a subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubresourceTiles {
    /// Tiles of its own, in rows, then depth slices.
    Standard {
        /// Number of tiles in each dimension.
        tiles: Extent,
        /// Index of the first tile, counted over the whole resource.
        first_tile: u32,
    },
    /// Shared tiles; the blocks are linear, row after row.
    Packed {
        /// Offset from the beginning of the resource, in bytes.
        offset: u64,
    },
}

impl TileGrid {
    /// Divides a texture into tiles. Returns `None` if there are more than 2^32 tiles or several planes.
    ///
    /// A mip level is packed if it is smaller than a tile in any dimension, or if a more detailed level is packed.
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
        // Ensures that the products below do not overflow.
        let per_slice = standard_tiles.checked_add(grid.packed_tiles_per_slice)?;
        per_slice.checked_mul(texture.array_size)?;
        Some(grid)
    }

    /// Returns the number of tiles of the whole resource.
    pub(crate) fn tile_count(&self) -> u32 {
        self.first_packed_tile().saturating_add(self.packed_tile_count())
    }

    /// Returns the number of tiles of the packed mips of all slices.
    pub(crate) fn packed_tile_count(&self) -> u32 {
        self.packed_tiles_per_slice.saturating_mul(self.array_size)
    }

    /// Returns the index of the first tile of packed mips, counted over the whole resource.
    pub(crate) fn first_packed_tile(&self) -> u32 {
        self.standard_tiles_per_slice.saturating_mul(self.array_size)
    }

    /// Returns the tiles of mip level `mip` of `slice`, or `None` if the subresource does not exist.
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
