//! Standard tile shapes: near-equilateral boxes of blocks with a size of 4 KiB or 64 KiB.
//!
//! Tiled resources consist of 64 KiB tiles of these shapes. The 4 KiB shapes only estimate the size of a texture, to
//! identify small resources (tight alignment specification).

/// The number of dimensions of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TileDimension {
    /// A row of blocks.
    One,
    /// A rectangle of blocks.
    Two,
    /// A box of blocks.
    Three,
}

/// The size of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TileSize {
    /// 4 KiB; only for estimates.
    Kib4,
    /// 64 KiB, `D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES`.
    Kib64,
}

impl TileSize {
    /// Returns the size in bytes.
    pub(crate) const fn bytes(self) -> u64 {
        1 << self.log2()
    }

    const fn log2(self) -> u32 {
        match self {
            Self::Kib4 => 12,
            Self::Kib64 => 16,
        }
    }
}

/// The shape of a tile, in blocks; each side is a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileShape {
    /// Number of blocks per row.
    pub(crate) width: u32,
    /// Number of rows.
    pub(crate) height: u32,
    /// Number of slices.
    pub(crate) depth: u32,
}

impl TileShape {
    /// Returns the standard shape for blocks of `block_bytes` with `sample_count` samples each.
    ///
    /// Block sizes that are no power of two (96-bit formats) are rounded up to the next one. Samples reduce width and
    /// height in turn, width first, as for D3D11's tiled resources.
    pub(crate) fn standard(
        size: TileSize,
        block_bytes: u32,
        sample_count: u32,
        dimension: TileDimension,
    ) -> Self {
        let log2 = |n: u32| n.max(1).next_power_of_two().trailing_zeros();
        let blocks = size.log2().saturating_sub(log2(block_bytes));
        let (width, height, depth) = match dimension {
            TileDimension::One => (blocks, 0, 0),
            TileDimension::Two => {
                let samples = log2(sample_count);
                let width = blocks.div_ceil(2).saturating_sub(samples.div_ceil(2));
                (width, (blocks / 2).saturating_sub(samples / 2), 0)
            }
            TileDimension::Three => (blocks.div_ceil(3), (blocks + 1) / 3, blocks / 3),
        };
        Self { width: 1 << width, height: 1 << height, depth: 1 << depth }
    }

    /// Returns the number of tiles that a box of blocks covers in each dimension.
    pub(crate) fn tiles_over(&self, width: u32, height: u32, depth: u32) -> (u32, u32, u32) {
        (width.div_ceil(self.width), height.div_ceil(self.height), depth.div_ceil(self.depth))
    }
}
