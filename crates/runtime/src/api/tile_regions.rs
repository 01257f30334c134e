//! Which tiles of a reserved resource a call is about.

use heapwright_d3d12::*;

use super::resource::Resource;
use crate::rules::Refusal;

/// D3D12's tile.
pub(super) const TILE_SIZE: u64 = 65536;

/// Tiles one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TileRun {
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The tiles of a reserved resource, in the order of their indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TileGrid {
    count: u32,
}

impl TileGrid {
    /// The tiles of `resource`.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG where the resource is not reserved.
    pub(super) fn of(resource: &Resource, name: &str) -> Result<Self, Refusal> {
        if !resource.is_reserved() {
            return Err(Refusal::invalid(format!("{name} is no reserved resource")));
        }
        if resource.desc().Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
            return Err(Refusal::not_implemented("tiles of reserved textures"));
        }
        let count = u32::try_from(resource.desc().Width.div_ceil(TILE_SIZE))
            .map_err(|_| Refusal::invalid(format!("{name} has more than 2^32 tiles")))?;
        Ok(Self { count })
    }

    /// All tiles.
    pub(super) fn whole(&self) -> TileRun {
        TileRun { first: 0, count: self.count }
    }

    /// The tiles of a region.
    ///
    /// # Errors
    ///
    /// E_INVALIDARG for a region that does not lie within the resource.
    pub(super) fn region(
        &self,
        start: &D3D12_TILED_RESOURCE_COORDINATE,
        size: &D3D12_TILE_REGION_SIZE,
    ) -> Result<TileRun, Refusal> {
        if start.Subresource != 0 || start.Y != 0 || start.Z != 0 {
            return Err(Refusal::invalid(format!(
                "a region of a buffer starts at Y {}, Z {} of Subresource {}, which must all be 0",
                start.Y, start.Z, start.Subresource
            )));
        }
        let count = size.NumTiles;
        if size.UseBox.as_bool() {
            let volume = u64::from(size.Width) * u64::from(size.Height) * u64::from(size.Depth);
            if size.Height != 1 || size.Depth != 1 || volume != u64::from(count) {
                return Err(Refusal::invalid(format!(
                    "a box of {}x{}x{} tiles of a buffer, with NumTiles {count}",
                    size.Width, size.Height, size.Depth
                )));
            }
        }
        if start.X.checked_add(count).is_none_or(|end| end > self.count) {
            return Err(Refusal::invalid(format!(
                "{count} tiles from {} of a buffer of {}",
                start.X, self.count
            )));
        }
        Ok(TileRun { first: start.X, count })
    }
}

/// One tile, what a region without a size means.
pub(super) fn one_tile() -> D3D12_TILE_REGION_SIZE {
    D3D12_TILE_REGION_SIZE { NumTiles: 1, ..Default::default() }
}
