//! Textures that stream.

use std::ops::Range;

use heapwright::d3d12::*;
use heapwright::residency::OpenResidencyList;
use heapwright::{ByteSize, Error, FenceValue, ResourceKind};

use crate::TilePool;
use crate::reserved::{Reserved, Segment};

/// A texture of which tiles and mip levels get memory and lose it.
///
/// [`map`](Self::map), [`map_mip`](Self::map_mip) and their opposites change what [`update`](Self::update) makes true
/// for a queue. A tile is mapped to memory that no other resource has. It has the contents that its last user left, so
/// initialize it before it is read, with an aliasing barrier before its first use if lists of the same submission used
/// the memory. Tiles that are not mapped are NULL: see [`TilePool::null_tiles_are_defined`].
///
/// The smallest mips may share tiles, and are mapped together: *packed* mips. Devices define which mips these are.
///
/// Dropping it frees its memory; the GPU must be done with it, as with any resource, except for the last update, which
/// is waited for.
#[derive(Debug)]
pub struct StreamingTexture {
    reserved: Reserved,
    tile_shape: D3D12_TILE_SHAPE,
    /// The tiles of each subresource.
    parts: Vec<Segment>,
}

/// A box of tiles in a subresource, counted in tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TileBox {
    /// The first tile in each direction.
    pub start: [u32; 3],
    /// The number of tiles in each direction.
    pub size: [u32; 3],
}

impl TileBox {
    /// Creates the box of one tile of a 2D texture.
    #[must_use]
    pub fn tile(x: u32, y: u32) -> Self {
        Self { start: [x, y, 0], size: [1; 3] }
    }
}

impl StreamingTexture {
    /// Creates a reserved texture, of which nothing is mapped. Layout UNKNOWN becomes 64KB_UNDEFINED_SWIZZLE.
    ///
    /// O(subresources), and `CreateReservedResource`.
    ///
    /// # Errors
    ///
    /// Invalid argument: `desc` is of a buffer or has several samples, or the pool's heaps do not hold such textures;
    /// unsupported: a 3D texture below tiled resources tier 3; the device's error, E_INVALIDARG for what its tier does
    /// not have, such as arrays with packed mips below tier 4.
    pub fn new(
        pool: &TilePool,
        desc: &D3D12_RESOURCE_DESC,
        initial_state: D3D12_RESOURCE_STATES,
        clear_value: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<Self, Error> {
        let shared = &pool.shared;
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            let rule = "must be that of a texture";
            return Err(Error::invalid_argument("D3D12_RESOURCE_DESC::Dimension", rule));
        }
        if desc.SampleDesc.Count > 1 {
            let rule = format!("{} samples; tiles hold textures of one sample", desc.SampleDesc.Count);
            return Err(Error::invalid_argument("D3D12_RESOURCE_DESC::SampleDesc", rule));
        }
        let tier = shared.allocator.caps().tiled_resources_tier;
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D && tier < 3 {
            let what = format!("reserved 3D textures on this device (tiled resources tier {tier}, not 3)");
            return Err(Error::unsupported(what));
        }
        let mut desc = *desc;
        if desc.Layout == D3D12_TEXTURE_LAYOUT_UNKNOWN {
            desc.Layout = D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE;
        }
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        let is_target = desc.Flags & targets != 0;
        shared.check_holds(if is_target { ResourceKind::RenderTargets } else { ResourceKind::Textures })?;
        let resource = shared.allocator.create_reserved(&desc, initial_state, clear_value)?;
        // SAFETY: the resource is a live COM object.
        let desc = unsafe { resource.GetDesc() };
        let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
        let slices = if is_volume { 1 } else { u32::from(desc.DepthOrArraySize) };
        let mip_levels = u32::from(desc.MipLevels);
        let mut count = mip_levels * slices;
        let mut tilings = vec![D3D12_SUBRESOURCE_TILING::default(); count as usize];
        let (mut total, mut packed) = (0, D3D12_PACKED_MIP_INFO::default());
        let mut tile_shape = D3D12_TILE_SHAPE::default();
        let [total_out, count_out] = [&raw mut total, &raw mut count].map(Some);
        let out = (Some(&raw mut packed), Some(&raw mut tile_shape), tilings.as_mut_ptr());
        let device = shared.allocator.device();
        // SAFETY: device and resource are live COM objects, and `tilings` has `count` elements.
        unsafe { device.GetResourceTiling(&resource, total_out, out.0, out.1, count_out, 0, out.2) };
        let standard = u32::from(packed.NumStandardMips);
        let part = |(subresource, tiling): (u32, &D3D12_SUBRESOURCE_TILING)| {
            let (slice, mip) = (subresource / mip_levels, subresource % mip_levels);
            if mip < standard {
                let extent = [tiling.WidthInTiles, tiling.HeightInTiles.into(), tiling.DepthInTiles.into()];
                let first = tiling.StartTileIndexInOverallResource;
                let count = extent.into_iter().fold(1, u32::saturating_mul);
                return Segment { subresource, first, count, extent, is_packed: false };
            }
            // The packed mips of a slice are one part.
            let count = packed.NumTilesForPackedMips / slices;
            let first = packed.StartTileIndexInOverallResource.saturating_add(slice.saturating_mul(count));
            let subresource = slice * mip_levels + standard;
            Segment { subresource, first, count, extent: [count, 1, 1], is_packed: true }
        };
        let parts: Vec<Segment> = (0..).zip(&tilings).map(part).collect();
        let mut segments = parts.clone();
        segments.retain(|segment| segment.count > 0);
        segments.sort_unstable_by_key(|segment| segment.first);
        segments.dedup_by_key(|segment| segment.first);
        // With gaps, it would be mapped wrongly.
        let after = |end: u32, part: &Segment| end.checked_add(part.count).filter(|_| part.first == end);
        if segments.iter().try_fold(0, after) != Some(total) {
            let what = format!("{total} tiles, to which the subresources do not add up,");
            return Err(Error::unsupported(what));
        }
        let reserved = Reserved::new(shared, resource, segments);
        Ok(Self { reserved, tile_shape, parts })
    }

    /// Returns the resource, which is the same for the texture's lifetime.
    #[must_use]
    pub fn resource(&self) -> &ID3D12Resource {
        &self.reserved.resource
    }

    /// Returns the size of a tile, in texels.
    #[must_use]
    pub fn tile_shape(&self) -> D3D12_TILE_SHAPE {
        self.tile_shape
    }

    /// Returns the number of tiles of a subresource in each direction; `None` if it is packed, or does not exist.
    #[must_use]
    pub fn size_in_tiles(&self, subresource: u32) -> Option<[u32; 3]> {
        self.parts.get(subresource as usize).filter(|part| !part.is_packed).map(|part| part.extent)
    }

    /// Returns the number of tiles that the packed mips of a slice share; zero if there are none.
    #[must_use]
    pub fn packed_tile_count(&self) -> u32 {
        self.parts.iter().find(|part| part.is_packed).map_or(0, |part| part.count)
    }

    /// Returns the number of bytes that are mapped, in whole tiles.
    #[must_use]
    pub fn committed(&self) -> ByteSize {
        self.reserved.committed()
    }

    /// Maps the tiles of a box that are NULL: from the next [`update`](Self::update) on they have memory, which is
    /// taken from the pool at once.
    ///
    /// O(tiles of the box), and `CreateHeap` if the pool has no free tiles.
    ///
    /// # Errors
    ///
    /// Invalid argument: the box exceeds the subresource, or this is packed; out of memory; the device's error.
    pub fn map(&mut self, subresource: u32, tiles: TileBox) -> Result<(), Error> {
        self.reserved.commit(&self.rows(subresource, tiles)?)
    }

    /// Unmaps the tiles of a box: they are NULL after the next [`update`](Self::update), which says when their memory
    /// is free.
    ///
    /// # Errors
    ///
    /// Invalid argument: the box exceeds the subresource, or this is packed.
    pub fn unmap(&mut self, subresource: u32, tiles: TileBox) -> Result<(), Error> {
        self.rows(subresource, tiles).map(|rows| self.reserved.decommit(&rows))
    }

    /// Maps all tiles of a subresource, as [`map`](Self::map). If it is packed, these are the tiles of all packed mips
    /// of its slice.
    ///
    /// # Errors
    ///
    /// Invalid argument: there is no such subresource; out of memory; the device's error.
    pub fn map_mip(&mut self, subresource: u32) -> Result<(), Error> {
        self.reserved.commit(&[self.all(subresource)?])
    }

    /// Unmaps all tiles of a subresource, as [`unmap`](Self::unmap). If it is packed, these are the tiles of all packed
    /// mips of its slice.
    ///
    /// # Errors
    ///
    /// Invalid argument: there is no such subresource.
    pub fn unmap_mip(&mut self, subresource: u32) -> Result<(), Error> {
        self.all(subresource).map(|all| self.reserved.decommit(&[all]))
    }

    /// Makes the changes since the last update true for the work that `queue` executes after this call, as
    /// [`GrowingBuffer::update`](crate::GrowingBuffer::update).
    ///
    /// # Errors
    ///
    /// As [`GrowingBuffer::update`](crate::GrowingBuffer::update).
    ///
    /// # Safety
    ///
    /// As [`GrowingBuffer::update`](crate::GrowingBuffer::update).
    pub unsafe fn update(
        &mut self,
        queue: &ID3D12CommandQueue,
        fence: &ID3D12Fence,
        value: FenceValue,
    ) -> Result<(), Error> {
        // SAFETY: the caller's promises.
        unsafe { self.reserved.update(queue, fence, value) }
    }

    /// Adds the heaps behind the mapped tiles to a residency list, as
    /// [`GrowingBuffer::add_to`](crate::GrowingBuffer::add_to).
    ///
    /// # Errors
    ///
    /// As [`OpenResidencyList::add`].
    pub fn add_to(&self, list: &mut OpenResidencyList<'_>) -> Result<(), Error> {
        self.reserved.add_to(list)
    }

    /// Frees the texture once `fence` has reached `value`, which the GPU signals after its last use.
    pub fn free_after(self, fence: &ID3D12Fence, value: FenceValue) {
        self.reserved.free_after(fence, value);
    }

    fn part(&self, subresource: u32) -> Result<&Segment, Error> {
        self.parts.get(subresource as usize).ok_or_else(|| {
            let rule = format!("{subresource} is out of range; the texture has {}", self.parts.len());
            Error::invalid_argument("subresource", rule)
        })
    }

    fn all(&self, subresource: u32) -> Result<Range<u32>, Error> {
        self.part(subresource).map(|part| part.first..part.first + part.count)
    }

    /// Returns the tiles of a box, by rows.
    fn rows(&self, subresource: u32, tiles: TileBox) -> Result<Vec<Range<u32>>, Error> {
        let &Segment { first, extent: all, is_packed, .. } = self.part(subresource)?;
        if is_packed {
            let rule = format!("{subresource} is packed; map_mip and unmap_mip concern all packed mips");
            return Err(Error::invalid_argument("subresource", rule));
        }
        let TileBox { start: [x, y, z], size: [width, height, depth] } = tiles;
        let exceeds =
            |axis: usize| tiles.start[axis].checked_add(tiles.size[axis]).is_none_or(|end| end > all[axis]);
        if (0..3).any(exceeds) {
            let rule = format!("{tiles:?} exceeds the {all:?} tiles of subresource {subresource}");
            return Err(Error::invalid_argument("tiles", rule));
        }
        // Within the texture, whose tiles have 32 bits.
        let row = |y, z| {
            let start = first + (z * all[1] + y) * all[0] + x;
            start..start + width
        };
        Ok((z..z + depth).flat_map(|z| (y..y + height).map(move |y| row(y, z))).collect())
    }
}
