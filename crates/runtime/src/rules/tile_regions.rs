//! Regions of tiles in a reserved resource.

use heapwright_d3d12::*;

use super::Refusal;
use super::operand::Operand;
use super::tiling::Tiling;

/// Size of a tile, in bytes.
pub(crate) const TILE_SIZE: u64 = 65536;

/// A run of consecutive tiles, numbered over the whole resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileRun {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The tiling of a reserved resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResourceTiles {
    tiling: Tiling,
}

/// The tiles of one subresource.
enum Part {
    /// Ordered by row, then by slice.
    Standard { first: u32, extent: [u32; 3] },
    /// The tiles that the packed mips of an array slice share.
    Packed { first: u32, count: u32 },
}

impl ResourceTiles {
    /// Returns the tiling of `resource`.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG if the resource is not reserved or has no tiles, or more than 2^32.
    pub(crate) fn of(resource: Operand<'_>, name: &str) -> Result<Self, Refusal> {
        if !resource.is_reserved() {
            return Err(Refusal::invalid(format!("{name} is not a reserved resource")));
        }
        let tiling = Tiling::new(resource.resource)
            .ok_or_else(|| Refusal::invalid(format!("{name} has no tiles or more than 2^32")))?;
        Ok(Self { tiling })
    }

    /// Returns all tiles.
    pub(crate) fn whole(&self) -> TileRun {
        TileRun { first: 0, count: self.tiling.tile_count() }
    }

    fn part(&self, subresource: u32) -> Result<Part, Refusal> {
        let tiling = (subresource < self.tiling.subresource_count())
            .then(|| self.tiling.subresource(subresource))
            .flatten()
            .ok_or_else(|| {
                Refusal::invalid(format!(
                    "Subresource {subresource} is out of range; the resource has {}",
                    self.tiling.subresource_count()
                ))
            })?;
        if let Some((first, count)) = self.tiling.packed_tiles(subresource) {
            return Ok(Part::Packed { first, count });
        }
        let extent = [tiling.WidthInTiles, tiling.HeightInTiles.into(), tiling.DepthInTiles.into()];
        Ok(Part::Standard { first: tiling.StartTileIndexInOverallResource, extent })
    }

    /// Returns the tiles of a region in order. A box lies in one subresource; a number of tiles continues into the
    /// following subresources.
    ///
    /// The order of tiles over the whole resource is the one that `GetResourceTiling` reports.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a region that exceeds the resource.
    pub(crate) fn region(
        &self,
        start: &D3D12_TILED_RESOURCE_COORDINATE,
        size: &D3D12_TILE_REGION_SIZE,
    ) -> Result<Vec<TileRun>, Refusal> {
        let at = [start.X, start.Y, start.Z];
        let outside = |extent: &dyn std::fmt::Debug| {
            Refusal::invalid(format!(
                "the region at {at:?} of Subresource {} exceeds its {extent:?} tiles",
                start.Subresource
            ))
        };
        let (first, extent) = match self.part(start.Subresource)? {
            Part::Standard { first, extent } => (first, extent),
            Part::Packed { first, count } => {
                if size.UseBox.as_bool() {
                    return Err(Refusal::invalid("UseBox must be FALSE for packed mips"));
                }
                (first, [count, 1, 1])
            }
        };
        if (0..3).any(|axis| at[axis] >= extent[axis]) {
            return Err(outside(&extent));
        }
        // Cannot overflow within a subresource, whose tile numbers fit in 32 bits.
        let index = |[x, y, z]: [u32; 3]| first + (z * extent[1] + y) * extent[0] + x;
        if !size.UseBox.as_bool() {
            let first = index(at);
            let all = self.tiling.tile_count();
            if first.checked_add(size.NumTiles).is_none_or(|end| end > all) {
                return Err(Refusal::invalid(format!(
                    "{} tiles starting at tile {first} exceed the resource's {all} tiles",
                    size.NumTiles
                )));
            }
            return Ok(vec![TileRun { first, count: size.NumTiles }]);
        }
        let [width, height, depth] = [size.Width, size.Height.into(), size.Depth.into()];
        let volume = u64::from(width) * u64::from(height) * u64::from(depth);
        if volume != u64::from(size.NumTiles) {
            return Err(Refusal::invalid(format!(
                "NumTiles {} does not match the box of {width}x{height}x{depth} tiles",
                size.NumTiles
            )));
        }
        let leaves =
            |axis: usize, count: u32| at[axis].checked_add(count).is_none_or(|end| end > extent[axis]);
        if leaves(0, width) || leaves(1, height) || leaves(2, depth) {
            return Err(outside(&extent));
        }
        if volume == 0 {
            return Ok(Vec::new());
        }
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
        Ok(rows.map(|(y, z)| TileRun { first: index([at[0], at[1] + y, at[2] + z]), count: width }).collect())
    }

    /// Checks whether `runs` include tiles of packed mips.
    pub(crate) fn has_packed(&self, runs: &[TileRun]) -> bool {
        let packed = self.tiling.packed_mips();
        packed.NumTilesForPackedMips != 0
            && runs.iter().any(|run| run.first + run.count > packed.StartTileIndexInOverallResource)
    }
}

/// Returns the tile numbers of runs.
pub(crate) fn indices(runs: &[TileRun]) -> impl Iterator<Item = u32> {
    runs.iter().flat_map(|run| run.first..run.first + run.count)
}

/// Returns a size of one tile, the default for a region without a size.
pub(crate) fn one_tile() -> D3D12_TILE_REGION_SIZE {
    D3D12_TILE_REGION_SIZE { NumTiles: 1, ..Default::default() }
}
