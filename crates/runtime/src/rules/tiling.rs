//! `GetResourceTiling`: the division of a reserved resource into tiles.

use heapwright_d3d12::*;

use super::resource::Resource;
use crate::ddi::{ResourceKind, SubresourceTiles, TILE_BYTES, TileGrid};

/// The tiles of a reserved resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a temporary value on the stack of one call")]
pub(crate) enum Tiling {
    /// A buffer, whose tiles form a row.
    Buffer {
        /// Number of tiles of the buffer.
        tile_count: u32,
    },
    /// A texture.
    Texture {
        /// The grid of tiles.
        grid: TileGrid,
        /// Width and height of a block, in texels.
        block_extent: (u32, u32),
        /// Number of mip levels of a slice.
        mip_levels: u32,
        /// Number of subresources.
        subresource_count: u32,
    },
}

impl Tiling {
    /// Computes the tiles of a resource. Returns `None` for a texture that has none (several planes) and for more than
    /// 2^32 tiles.
    ///
    /// For a resource that [`check_reserved`](super::creation::check_reserved) would reject, returns the tiles that it
    /// would have.
    pub(crate) fn new(resource: &Resource) -> Option<Self> {
        match resource.kind() {
            ResourceKind::Buffer { width } => {
                Some(Self::Buffer { tile_count: u32::try_from(width.get().div_ceil(TILE_BYTES)).ok()? })
            }
            ResourceKind::Texture(texture) => Some(Self::Texture {
                grid: TileGrid::new(&texture)?,
                block_extent: (texture.format.block_width, texture.format.block_height),
                mip_levels: texture.mip_levels,
                subresource_count: texture.subresource_count(),
            }),
        }
    }

    /// The value of `pNumTilesForEntireResource`.
    pub(crate) fn tile_count(&self) -> u32 {
        match self {
            Self::Buffer { tile_count } => *tile_count,
            Self::Texture { grid, .. } => grid.tile_count(),
        }
    }

    /// The value of `pPackedMipDesc`. A buffer has neither standard nor packed mips. The tile count covers all slices.
    pub(crate) fn packed_mips(&self) -> D3D12_PACKED_MIP_INFO {
        match self {
            Self::Buffer { .. } => D3D12_PACKED_MIP_INFO::default(),
            Self::Texture { grid, .. } => D3D12_PACKED_MIP_INFO {
                NumStandardMips: u8::try_from(grid.standard_mips).unwrap_or(u8::MAX),
                NumPackedMips: u8::try_from(grid.packed_mips).unwrap_or(u8::MAX),
                NumTilesForPackedMips: grid.packed_tile_count(),
                StartTileIndexInOverallResource: if grid.packed_mips == 0 {
                    0
                } else {
                    grid.first_packed_tile()
                },
            },
        }
    }

    /// Returns the first tile, counted over the whole resource, and the number of tiles that the packed mips of a slice
    /// share.
    ///
    /// `index` is any packed subresource of the slice. Returns `None` if the subresource is not packed.
    pub(crate) fn packed_tiles(&self, index: u32) -> Option<(u32, u32)> {
        let Self::Texture { grid, mip_levels, .. } = self else { return None };
        let slice = index / mip_levels;
        match grid.subresource(index % mip_levels, slice)? {
            SubresourceTiles::Standard { .. } => None,
            SubresourceTiles::Packed { .. } => {
                let first = grid.first_packed_tile() + grid.packed_tiles_per_slice * slice;
                Some((first, grid.packed_tiles_per_slice))
            }
        }
    }

    /// The value of `pStandardTileShapeForNonPackedMips`: in texels, or in bytes for a buffer.
    ///
    /// The shape is returned even if all mips are packed, as other implementations do.
    pub(crate) fn tile_shape(&self) -> D3D12_TILE_SHAPE {
        match self {
            Self::Buffer { .. } => D3D12_TILE_SHAPE {
                WidthInTexels: D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES.cast_unsigned(),
                HeightInTexels: 1,
                DepthInTexels: 1,
            },
            Self::Texture { grid, block_extent: (width, height), .. } => D3D12_TILE_SHAPE {
                WidthInTexels: grid.shape.width * width,
                HeightInTexels: grid.shape.height * height,
                DepthInTexels: grid.shape.depth,
            },
        }
    }

    /// Total number of elements of `pSubresourceTilingsForNonPackedMips`.
    pub(crate) fn subresource_count(&self) -> u32 {
        match self {
            Self::Buffer { .. } => 1,
            Self::Texture { subresource_count, .. } => *subresource_count,
        }
    }

    /// One element of `pSubresourceTilingsForNonPackedMips`; `None` if the subresource does not exist.
    ///
    /// A packed mip has no tiles of its own and starts at `D3D12_PACKED_TILE`.
    pub(crate) fn subresource(&self, index: u32) -> Option<D3D12_SUBRESOURCE_TILING> {
        match self {
            Self::Buffer { tile_count } => (index == 0).then_some(D3D12_SUBRESOURCE_TILING {
                WidthInTiles: *tile_count,
                HeightInTiles: 1,
                DepthInTiles: 1,
                StartTileIndexInOverallResource: 0,
            }),
            Self::Texture { grid, mip_levels, .. } => {
                Some(match grid.subresource(index % mip_levels, index / mip_levels)? {
                    SubresourceTiles::Standard { tiles, first_tile } => D3D12_SUBRESOURCE_TILING {
                        WidthInTiles: tiles.width,
                        HeightInTiles: u16::try_from(tiles.height).ok()?,
                        DepthInTiles: u16::try_from(tiles.depth).ok()?,
                        StartTileIndexInOverallResource: first_tile,
                    },
                    SubresourceTiles::Packed { .. } => D3D12_SUBRESOURCE_TILING {
                        WidthInTiles: 0,
                        HeightInTiles: 0,
                        DepthInTiles: 0,
                        StartTileIndexInOverallResource: D3D12_PACKED_TILE,
                    },
                })
            }
        }
    }
}
