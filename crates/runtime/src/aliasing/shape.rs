//! The division of a resource into units, whose contents are tracked, and places, which other resources can take over.

use std::ops::Range;

use super::coverage::{Part, Region};
use super::granularity::{Granularity, KIB_64};
use crate::ddi::{
    Extent, ResourceAllocation, ResourceArgs, ResourceKind, SubresourceTiles, TextureArgs,
    TextureMemoryLayout, TileGrid,
};
use crate::drivers::texels::TexelRegion;

/// Alignment of the row pitch of a ROW_MAJOR texture, in bytes, as in a copyable footprint.
const ROW_PITCH_ALIGNMENT: u64 = 256;

/// The division of a resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    kind: Kind,
    /// Size in a heap, in bytes: the width of a buffer, the allocated size of a texture.
    pub(super) size: u64,
    pub(super) granularity: Granularity,
    /// Whether the resource is a render target or depth-stencil.
    pub(super) is_target: bool,
    /// The texture, if it is one.
    pub(super) texture: Option<TextureArgs>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// A buffer: units and places are 64 KiB, counted from its beginning.
    Buffer { width: u64 },
    /// An undefined layout: units are subresources, and there is one place.
    Opaque,
    /// 64 KiB tiles, which are units and places; plus one place for memory after the tiles, if any.
    Tiles(Box<TileGrid>),
    /// Rows: units and places are 64 KiB of the rows' memory; plus one place for memory after the rows, if any.
    Rows { row_pitch: u64, units: u32 },
}

/// Parts of units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) units: Range<u32>,
    pub(super) part: Part,
    /// Whether it is a whole subresource or tile, and so sufficient to initialise it.
    pub(super) is_whole: bool,
}

impl Piece {
    fn full(units: Range<u32>) -> Self {
        Self { units, part: Part::Full, is_whole: true }
    }
}

impl Shape {
    pub(super) fn new(args: &ResourceArgs, allocation: ResourceAllocation) -> Self {
        // Memory after a buffer's last byte is subject to the neighbours' granules, whatever is allocated for the
        // buffer.
        let size = match args.kind {
            ResourceKind::Buffer { width } => width.get(),
            ResourceKind::Texture(_) => allocation.size.get(),
        };
        let alignment = allocation.alignment.get();
        let (kind, granularity, texture) = match args.kind {
            ResourceKind::Buffer { width } => {
                let granularity = if alignment < KIB_64 {
                    Granularity::TightBuffer(alignment)
                } else {
                    Granularity::Buffer
                };
                (Kind::Buffer { width: width.get() }, granularity, None)
            }
            ResourceKind::Texture(texture) => {
                (Kind::of_texture(&texture), Granularity::Texture(alignment), Some(texture))
            }
        };
        let is_target = texture.is_some_and(|texture| texture.usage.is_render_target_or_depth_stencil());
        Self { kind, size, granularity, is_target, texture }
    }

    pub(super) fn is_buffer(&self) -> bool {
        matches!(self.kind, Kind::Buffer { .. })
    }

    /// Returns whether the layout defines the position of texels, at least by tile.
    pub(super) fn is_defined(&self) -> bool {
        !matches!(self.kind, Kind::Opaque)
    }

    /// Returns whether the resource has 64 KiB tiles that are initialised individually.
    pub(super) fn has_tiles(&self) -> bool {
        matches!(self.kind, Kind::Tiles(_))
    }

    pub(super) fn is_row_major(&self) -> bool {
        matches!(self.kind, Kind::Rows { .. })
    }

    /// Returns whether all states are compatible (buffers, simultaneous access, cross-adapter).
    pub(super) fn is_stateless(&self) -> bool {
        self.texture.is_none_or(|texture| texture.usage.simultaneous_access || texture.usage.cross_adapter)
    }

    pub(super) fn subresource_count(&self) -> u32 {
        self.texture.map_or(1, |texture| texture.subresource_count())
    }

    pub(super) fn unit_count(&self) -> u32 {
        match &self.kind {
            Kind::Buffer { .. } => tiles_in(self.size),
            Kind::Rows { units, .. } => *units,
            Kind::Opaque => self.subresource_count(),
            Kind::Tiles(grid) => grid.tile_count(),
        }
    }

    pub(super) fn place_count(&self) -> u32 {
        match &self.kind {
            Kind::Opaque => 1,
            _ => self.unit_count() + u32::from(self.hidden_place().is_some()),
        }
    }

    /// The place of the memory after the last tile or row, which belongs to the whole resource.
    ///
    /// According to *Memory Aliasing and Data Inheritance*, textures of every defined layout may have such memory, and
    /// invalidating any of it invalidates the whole resource.
    pub(super) fn hidden_place(&self) -> Option<u32> {
        let behind = match &self.kind {
            Kind::Tiles(grid) => grid.tile_count(),
            Kind::Rows { units, .. } => *units,
            Kind::Buffer { .. } | Kind::Opaque => return None,
        };
        (u64::from(behind) * KIB_64 < self.size).then_some(behind)
    }

    /// Splits off the place that belongs to the whole resource, if it is included.
    pub(super) fn split_hidden(&self, places: &Range<u32>) -> [Range<u32>; 2] {
        match self.hidden_place() {
            Some(hidden) if places.contains(&hidden) => [places.start..hidden, hidden..places.end],
            _ => [places.clone(), places.end..places.end],
        }
    }

    /// Returns the bytes of places, from the beginning of the resource.
    pub(super) fn bytes_of_places(&self, places: &Range<u32>) -> Range<u64> {
        if matches!(self.kind, Kind::Opaque) {
            return 0..self.size;
        }
        let end = if places.end >= self.place_count() {
            self.size
        } else {
            (u64::from(places.end) * KIB_64).min(self.size)
        };
        u64::from(places.start) * KIB_64..end
    }

    /// Returns the places of bytes, from the beginning of the resource.
    pub(super) fn places_of_bytes(&self, bytes: &Range<u64>) -> Range<u32> {
        if matches!(self.kind, Kind::Opaque) {
            return 0..1;
        }
        let last = self.place_count();
        let place = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX).min(last);
        let start = place(bytes.start / KIB_64).min(last.saturating_sub(1));
        start..place(bytes.end.div_ceil(KIB_64)).max(start + 1).min(last)
    }

    /// Returns the bytes of a unit from the beginning of the resource, if they are known.
    pub(super) fn bytes_of_unit(&self, unit: u32) -> Range<u64> {
        self.bytes_of_places(&self.places_of_units(&(unit..unit + 1)))
    }

    /// Returns the places that an access to units uses.
    pub(super) fn places_of_units(&self, units: &Range<u32>) -> Range<u32> {
        match &self.kind {
            Kind::Opaque => 0..1,
            Kind::Buffer { .. } | Kind::Rows { .. } => units.clone(),
            Kind::Tiles(grid) => match self.packed_tiles(units.start) {
                Some(tiles) if units.end <= tiles.end => tiles,
                _ => units.start..units.end.min(grid.tile_count()),
            },
        }
    }

    /// Returns the units that lose their contents with their places: all units if the layout is undefined.
    pub(super) fn units_of_places(&self, places: &Range<u32>) -> Range<u32> {
        match &self.kind {
            Kind::Opaque => 0..self.unit_count(),
            Kind::Buffer { .. } => places.clone(),
            Kind::Tiles(_) | Kind::Rows { .. } => {
                let start = self.packed_tiles(places.start).map_or(places.start, |tiles| tiles.start);
                start..places.end.min(self.unit_count()).max(start)
            }
        }
    }

    /// Returns the tiles of the packed mips that include `tile`.
    pub(super) fn packed_tiles(&self, tile: u32) -> Option<Range<u32>> {
        let Kind::Tiles(grid) = &self.kind else { return None };
        let in_packed = tile.checked_sub(grid.first_packed_tile())?;
        let slice = in_packed.checked_div(grid.packed_tiles_per_slice)?;
        let start = grid.first_packed_tile() + slice * grid.packed_tiles_per_slice;
        (tile < grid.tile_count()).then_some(start..start + grid.packed_tiles_per_slice)
    }

    /// Returns the subresources with texels in a unit.
    pub(super) fn subresources_of_unit(&self, unit: u32) -> Range<u32> {
        let Some(texture) = self.texture else { return 0..1 };
        match &self.kind {
            Kind::Buffer { .. } => 0..1,
            Kind::Opaque => unit..unit + 1,
            Kind::Rows { .. } => 0..texture.subresource_count(),
            Kind::Tiles(grid) => {
                let all = 0..texture.subresource_count();
                if let Some(packed) = self.packed_tiles(unit) {
                    let slice =
                        (packed.start - grid.first_packed_tile()) / grid.packed_tiles_per_slice.max(1);
                    return slice * texture.mip_levels + grid.standard_mips..(slice + 1) * texture.mip_levels;
                }
                let at = all.clone().find(|&index| {
                    self.standard_tiles(index).is_some_and(|(tiles, first)| {
                        (first..first + u32::try_from(tiles.volume()).unwrap_or(u32::MAX)).contains(&unit)
                    })
                });
                at.map_or(all, |index| index..index + 1)
            }
        }
    }

    /// Returns the region of an entire unit, if it is a single box.
    pub(super) fn whole_of_unit(&self, unit: u32) -> Option<Region> {
        match &self.kind {
            Kind::Buffer { width } => {
                let start = u64::from(unit) * KIB_64;
                Some(Region::bytes(start, (start + KIB_64).min(*width)))
            }
            Kind::Opaque => {
                let texture = self.texture?;
                let at = texture.subresource(unit)?;
                Some(whole(unit, texture.mip_extent(at.mip, at.plane)))
            }
            Kind::Tiles(_) | Kind::Rows { .. } => None,
        }
    }

    /// Returns the pieces of the entire resource.
    pub(super) fn whole(&self) -> Vec<Piece> {
        vec![Piece::full(0..self.unit_count())]
    }

    /// Returns the pieces of bytes of a buffer.
    pub(super) fn bytes(&self, start: u64, size: u64) -> Vec<Piece> {
        let Kind::Buffer { width } = self.kind else { return self.whole() };
        let (start, end) = (start.min(width), start.saturating_add(size).min(width));
        if start >= end {
            return Vec::new();
        }
        let mut pieces = Vec::new();
        let first_full = start.div_ceil(KIB_64);
        // The last unit is full if the buffer ends in it.
        let end_full = if end == width { width.div_ceil(KIB_64) } else { end / KIB_64 };
        let unit = |index: u64| u32::try_from(index).unwrap_or(u32::MAX);
        let part = |from: u64, to: u64| {
            let index = unit(from / KIB_64);
            Piece { units: index..index + 1, part: Part::Region(Region::bytes(from, to)), is_whole: false }
        };
        if first_full * KIB_64 != start {
            pieces.push(part(start, end.min(first_full * KIB_64)));
        }
        if first_full < end_full {
            pieces.push(Piece::full(unit(first_full)..unit(end_full)));
        }
        if end_full >= first_full && end_full * KIB_64 < end {
            pieces.push(part(end_full * KIB_64, end));
        }
        pieces
    }

    /// Returns the pieces of whole tiles of a reserved resource.
    pub(super) fn tiles(&self, tiles: &[u32]) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for &tile in tiles {
            match pieces.last_mut() {
                Some(last) if last.units.end == tile => last.units.end += 1,
                _ => pieces.push(Piece::full(tile..tile + 1)),
            }
        }
        pieces
    }

    /// Returns the pieces of an entire subresource.
    pub(super) fn subresource(&self, index: u32) -> Vec<Piece> {
        let Some(texture) = self.texture else { return self.whole() };
        let Some(at) = texture.subresource(index) else { return Vec::new() };
        let extent = texture.mip_extent(at.mip, at.plane);
        self.texels(index, &whole(index, extent))
    }

    /// Returns the pieces of a region of texels, as in commands.
    pub(super) fn texel_region(&self, index: u32, region: TexelRegion) -> Vec<Piece> {
        let start = region.start.map(u64::from);
        let size = region.size.map(u64::from);
        let end = [0, 1, 2].map(|axis: usize| start[axis] + size[axis]);
        self.texels(index, &Region { subresource: index, start, end })
    }

    fn texels(&self, index: u32, region: &Region) -> Vec<Piece> {
        let Some(texture) = self.texture else { return self.whole() };
        let Some(at) = texture.subresource(index) else { return Vec::new() };
        let extent = texture.mip_extent(at.mip, at.plane);
        // Copies of compressed formats include whole blocks, which may extend beyond the last texels.
        let Some(region) = whole(index, extent).intersection(region) else { return Vec::new() };
        let is_whole = region == whole(index, extent);
        match &self.kind {
            Kind::Buffer { .. } => self.whole(),
            Kind::Opaque if is_whole => vec![Piece::full(index..index + 1)],
            Kind::Opaque => {
                vec![Piece { units: index..index + 1, part: Part::Region(region), is_whole: false }]
            }
            Kind::Rows { .. } if is_whole => self.whole(),
            Kind::Rows { row_pitch, .. } => {
                let (first, last) = (region.start[1] * row_pitch, (region.end[1] - 1) * row_pitch + 1);
                let (first, last) = ((first / KIB_64), last.div_ceil(KIB_64));
                let unit = |index: u64| u32::try_from(index).unwrap_or(u32::MAX).min(self.unit_count());
                vec![Piece { units: unit(first)..unit(last), part: Part::Region(region), is_whole: false }]
            }
            Kind::Tiles(grid) => match grid.subresource(at.mip, at.slice) {
                None => Vec::new(),
                Some(SubresourceTiles::Packed { .. }) => {
                    let first = grid.first_packed_tile() + grid.packed_tiles_per_slice * at.slice;
                    vec![Piece { units: first..first + 1, part: Part::Region(region), is_whole }]
                }
                Some(SubresourceTiles::Standard { tiles, first_tile }) => {
                    if is_whole {
                        let count = u32::try_from(tiles.volume()).unwrap_or(u32::MAX);
                        return vec![Piece::full(first_tile..first_tile.saturating_add(count))];
                    }
                    tile_pieces(grid, &texture, tiles, first_tile, extent, &region)
                }
            },
        }
    }

    fn standard_tiles(&self, subresource: u32) -> Option<(Extent, u32)> {
        let (Kind::Tiles(grid), Some(texture)) = (&self.kind, self.texture) else { return None };
        let at = texture.subresource(subresource)?;
        match grid.subresource(at.mip, at.slice)? {
            SubresourceTiles::Standard { tiles, first_tile } => Some((tiles, first_tile)),
            SubresourceTiles::Packed { .. } => None,
        }
    }
}

impl Kind {
    fn of_texture(texture: &TextureArgs) -> Self {
        match texture.layout {
            TextureMemoryLayout::Unknown => Self::Opaque,
            // The planes of a row-major layout have rows of different pitches.
            TextureMemoryLayout::RowMajor if texture.format.is_planar() => Self::Opaque,
            TextureMemoryLayout::RowMajor => {
                let blocks = texture.mip_blocks(0, 0);
                let row = u64::from(blocks.width) * u64::from(texture.format.block_bytes);
                let row_pitch = row.checked_next_multiple_of(ROW_PITCH_ALIGNMENT).unwrap_or(u64::MAX);
                Self::Rows { row_pitch, units: tiles_in(row_pitch.saturating_mul(u64::from(blocks.height))) }
            }
            TextureMemoryLayout::UndefinedSwizzle64Kib | TextureMemoryLayout::StandardSwizzle64Kib => {
                // Planar formats have no tiles; their textures of tiled layouts are opaque.
                TileGrid::new(texture).map_or(Self::Opaque, |grid| Self::Tiles(Box::new(grid)))
            }
        }
    }
}

fn tiles_in(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(KIB_64)).unwrap_or(u32::MAX - 1)
}

/// Returns the region of an entire subresource.
fn whole(subresource: u32, extent: Extent) -> Region {
    let end = [extent.width, extent.height, extent.depth].map(u64::from);
    Region { subresource, start: [0; 3], end }
}

/// Returns the pieces of a region in tiles; adjacent tiles of a row that are entirely covered form one piece.
fn tile_pieces(
    grid: &TileGrid,
    texture: &TextureArgs,
    tiles: Extent,
    first_tile: u32,
    extent: Extent,
    region: &Region,
) -> Vec<Piece> {
    let format = texture.format;
    let shape = [
        u64::from(grid.shape.width) * u64::from(format.block_width.max(1)),
        u64::from(grid.shape.height) * u64::from(format.block_height.max(1)),
        u64::from(grid.shape.depth),
    ]
    .map(|size| size.max(1));
    let extent = [extent.width, extent.height, extent.depth].map(u64::from);
    let [columns, rows, layers] =
        [0, 1, 2].map(|axis: usize| region.start[axis] / shape[axis]..region.end[axis].div_ceil(shape[axis]));
    let mut pieces: Vec<Piece> = Vec::new();
    for z in layers {
        for y in rows.clone() {
            for x in columns.clone() {
                let at = [x, y, z];
                let tile = Region {
                    subresource: region.subresource,
                    start: [0, 1, 2].map(|axis: usize| at[axis] * shape[axis]),
                    end: [0, 1, 2].map(|axis: usize| ((at[axis] + 1) * shape[axis]).min(extent[axis])),
                };
                let Some(common) = tile.intersection(region) else { continue };
                let offset = (z * u64::from(tiles.height) + y) * u64::from(tiles.width) + x;
                let unit = first_tile.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
                if common != tile {
                    let units = unit..unit + 1;
                    pieces.push(Piece { units, part: Part::Region(common), is_whole: false });
                    continue;
                }
                match pieces.last_mut() {
                    Some(last) if last.is_whole && last.units.end == unit => last.units.end += 1,
                    _ => pieces.push(Piece::full(unit..unit + 1)),
                }
            }
        }
    }
    pieces
}
