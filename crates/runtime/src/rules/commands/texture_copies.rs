//! `CopyTextureRegion`, and `CopyResource` for textures.

use heapwright_d3d12::*;

use crate::ddi::Extent;
use crate::drivers::command::Command;
use crate::drivers::texels::TexelLocation;
use crate::drivers::texels::TexelRegion;
use crate::format::{self, FormatProperties};
use crate::rules::operand::{Operand, subresource_count};
use crate::rules::{Notices, Refusal};

/// The message ids for one side of a copy. D3D12 has separate ids for target and source.
pub(crate) struct Ids {
    pub(crate) name: &'static str,
    pub(crate) null: D3D12_MESSAGE_ID,
    pub(crate) kind: D3D12_MESSAGE_ID,
    dimension: D3D12_MESSAGE_ID,
    subresource: D3D12_MESSAGE_ID,
    offset: D3D12_MESSAGE_ID,
    format: D3D12_MESSAGE_ID,
    dimensions: D3D12_MESSAGE_ID,
    row_pitch: D3D12_MESSAGE_ID,
    placement: D3D12_MESSAGE_ID,
}

pub(crate) const TARGET: Ids = Ids {
    name: "pDst",
    null: D3D12_MESSAGE_ID_COPYTEXTUREREGION_NULLDST,
    kind: D3D12_MESSAGE_ID_COPYTEXTUREREGION_UNRECOGNIZEDDSTTYPE,
    dimension: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTRESOURCEDIMENSION,
    subresource: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTSUBRESOURCE,
    offset: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTOFFSET,
    format: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTFORMAT,
    dimensions: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTDIMENSIONS,
    row_pitch: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTROWPITCH,
    placement: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTPLACEMENT,
};

pub(crate) const SOURCE: Ids = Ids {
    name: "pSrc",
    null: D3D12_MESSAGE_ID_COPYTEXTUREREGION_NULLSRC,
    kind: D3D12_MESSAGE_ID_COPYTEXTUREREGION_UNRECOGNIZEDSRCTYPE,
    dimension: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCRESOURCEDIMENSION,
    subresource: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCSUBRESOURCE,
    offset: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCOFFSET,
    format: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCFORMAT,
    dimensions: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCDIMENSIONS,
    row_pitch: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCROWPITCH,
    placement: D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCPLACEMENT,
};

impl Ids {
    pub(crate) fn refuse<T>(
        &self,
        message: impl std::fmt::Display,
        id: D3D12_MESSAGE_ID,
    ) -> Result<T, Refusal> {
        Err(Refusal::invalid(format!("{}: {message}", self.name)).with_id(id))
    }
}

/// One checked side of a copy.
pub(crate) struct Side<'a> {
    resource: Operand<'a>,
    location: TexelLocation,
    /// Format of the copied data; for a planar texture, the format of the plane.
    format: &'static FormatProperties,
    /// Size in texels, rounded up to whole blocks.
    extent: [u32; 3],
    sample_count: u32,
}

impl<'a> Side<'a> {
    /// Checks a subresource of a texture.
    pub(crate) fn subresource(resource: Operand<'a>, index: u32, ids: &Ids) -> Result<Self, Refusal> {
        if resource.is_buffer() {
            return ids
                .refuse("Type is SUBRESOURCE_INDEX; a buffer requires PLACED_FOOTPRINT", ids.dimension);
        }
        let texture = resource.texture()?;
        let Some(part) = texture.subresource(index) else {
            let count = texture.subresource_count();
            return ids.refuse(
                format!("SubresourceIndex {index} is out of range; the texture has {count}"),
                ids.subresource,
            );
        };
        let Some(format) = format::properties(texture.format.copy_format(part.plane)) else {
            return ids.refuse(format!("format {} cannot be copied", texture.format.name), ids.format);
        };
        let Extent { width, height, depth } = texture.mip_extent(part.mip, part.plane);
        Ok(Self {
            resource,
            location: TexelLocation::Subresource { resource: resource.hold(), index },
            format,
            extent: whole_blocks([width, height, depth], format),
            sample_count: texture.sample_count,
        })
    }

    /// Checks a footprint in a buffer.
    pub(crate) fn footprint(
        resource: Operand<'a>,
        placed: &D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        ids: &Ids,
    ) -> Result<Self, Refusal> {
        if !resource.is_buffer() {
            return ids
                .refuse("Type is PLACED_FOOTPRINT; a texture requires SUBRESOURCE_INDEX", ids.dimension);
        }
        let footprint = &placed.Footprint;
        let format = format::properties(footprint.Format).filter(|format| !format.is_planar());
        let Some(format) = format else {
            return ids
                .refuse(format!("format {} cannot be used for a footprint", footprint.Format), ids.format);
        };
        let alignment = D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT.cast_unsigned();
        if !placed.Offset.is_multiple_of(alignment.into()) {
            return ids
                .refuse(format!("Offset {:#x} is not a multiple of {alignment}", placed.Offset), ids.offset);
        }
        let pitch_alignment = D3D12_TEXTURE_DATA_PITCH_ALIGNMENT.cast_unsigned();
        if !footprint.RowPitch.is_multiple_of(pitch_alignment) {
            let message = format!("RowPitch {} is not a multiple of {pitch_alignment}", footprint.RowPitch);
            return ids.refuse(message, ids.row_pitch);
        }
        let size = [footprint.Width, footprint.Height, footprint.Depth];
        let is_whole = footprint.Width.is_multiple_of(format.block_width)
            && footprint.Height.is_multiple_of(format.block_height);
        if size.contains(&0) || !is_whole {
            let message = format!(
                "the footprint of {size:?} texels is empty or not a multiple of {}x{} blocks",
                format.block_width, format.block_height
            );
            return ids.refuse(message, ids.dimensions);
        }
        let row = u64::from(footprint.Width / format.block_width) * u64::from(format.block_bytes);
        let row_pitch = u64::from(footprint.RowPitch);
        if row_pitch < row {
            let message = format!("RowPitch {row_pitch} is less than the {row} bytes of a row");
            return ids.refuse(message, ids.row_pitch);
        }
        let rows = u64::from(footprint.Height / format.block_height);
        // Cannot overflow: both factors are below 2^32.
        let slice_pitch = row_pitch * rows;
        let end = || {
            let slices = slice_pitch.checked_mul(u64::from(footprint.Depth) - 1)?;
            placed.Offset.checked_add(slices)?.checked_add((rows - 1) * row_pitch)?.checked_add(row)
        };
        let width = resource.desc.Width;
        if end().is_none_or(|end| end > width) {
            let message = format!(
                "the footprint of {size:?} texels at {:#x} exceeds the buffer's {width:#x} bytes",
                placed.Offset
            );
            return ids.refuse(message, ids.placement);
        }
        Ok(Self {
            resource,
            location: TexelLocation::Footprint {
                buffer: resource.hold(),
                offset: placed.Offset,
                row_pitch,
                slice_pitch,
                block_size: format.block_bytes,
                block_texels: [format.block_width, format.block_height],
            },
            format,
            extent: size,
            sample_count: 1,
        })
    }

    /// Checks whether both sides are the same subresource of one texture, or are in the same buffer.
    fn is_same(&self, other: &Self) -> bool {
        if !self.resource.is(&other.resource) {
            return false;
        }
        match (&self.location, &other.location) {
            (
                TexelLocation::Subresource { index: this, .. },
                TexelLocation::Subresource { index: other, .. },
            ) => this == other,
            _ => true,
        }
    }
}

/// Rounds a size up to whole blocks.
fn whole_blocks([width, height, depth]: [u32; 3], format: &FormatProperties) -> [u32; 3] {
    [
        width.checked_next_multiple_of(format.block_width).unwrap_or(u32::MAX),
        height.checked_next_multiple_of(format.block_height).unwrap_or(u32::MAX),
        depth,
    ]
}

/// Returns the source region, or `None` for an empty box.
fn source_region(source: &Side<'_>, source_box: Option<&D3D12_BOX>) -> Result<Option<TexelRegion>, Refusal> {
    let Some(region) = source_box else {
        return Ok(Some(TexelRegion { start: [0; 3], size: source.extent }));
    };
    let start = [region.left, region.top, region.front];
    let end = [region.right, region.bottom, region.back];
    let block = [source.format.block_width, source.format.block_height, 1];
    if (0..3).any(|axis| start[axis] >= end[axis]) {
        return Ok(None);
    }
    let invalid = |why: &str, id| {
        let message = format!("pSrcBox from {start:?} to {end:?} {why} {:?} texels", source.extent);
        Err(Refusal::invalid(message).with_id(id))
    };
    if (0..3).any(|axis| end[axis] > source.extent[axis]) {
        return invalid("exceeds the source of", D3D12_MESSAGE_ID_COPYTEXTUREREGION_SRCREGIONOUTOFBOUNDS);
    }
    let off = |values: [u32; 3]| (0..3).any(|axis| !values[axis].is_multiple_of(block[axis]));
    if off(start) || off(end) {
        return invalid(
            "is not aligned to the blocks of the source of",
            D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCBOX,
        );
    }
    Ok(Some(TexelRegion { start, size: [0, 1, 2].map(|axis: usize| end[axis] - start[axis]) }))
}

/// Checks that blocks of one format can be copied to blocks of another. The formats must belong to one family or, for a
/// compressed and an uncompressed format, have blocks of equal size (reference of `CopyResource`, "Format Conversion").
///
/// Windows also copies between two uncompressed or two compressed formats of equal block size and leaves that rule to
/// the debug layer.
fn check_formats(
    target: &FormatProperties,
    source: &FormatProperties,
    id: D3D12_MESSAGE_ID,
    notices: &mut Notices,
) -> Result<(), Refusal> {
    if target.family == source.family {
        return Ok(());
    }
    let refusal = |what| {
        Refusal::invalid(format!("formats {} and {} have different {what}", target.name, source.name))
            .with_id(id)
    };
    let is_planar = target.is_planar() || source.is_planar();
    if target.block_bytes != source.block_bytes || is_planar {
        return Err(refusal("block sizes"));
    }
    if target.is_block_compressed() == source.is_block_compressed() {
        notices.tolerate(Err(refusal("format families")));
    }
    Ok(())
}

/// Converts a size from texels of `source` to texels of `target`, with equal numbers of blocks.
fn as_texels(size: [u32; 3], source: &FormatProperties, target: &FormatProperties) -> [u32; 3] {
    let along = |texels: u32, from: u32, to: u32| texels.div_ceil(from.max(1)).saturating_mul(to);
    [
        along(size[0], source.block_width, target.block_width),
        along(size[1], source.block_height, target.block_height),
        size[2],
    ]
}

/// Checks `CopyTextureRegion`. Returns no command for an empty box.
pub(crate) fn copy_texture_region(
    target: Side<'_>,
    target_start: [u32; 3],
    source: Side<'_>,
    source_box: Option<&D3D12_BOX>,
    notices: &mut Notices,
) -> Result<Option<Command>, Refusal> {
    notices.tolerate(target.resource.check_copy_target("pDst"));
    notices.tolerate(source.resource.check_copy_source("pSrc"));
    let mismatch = D3D12_MESSAGE_ID_COPYTEXTUREREGION_FORMATMISMATCH;
    check_formats(target.format, source.format, mismatch, notices)?;
    if target.resource.is_buffer() && source.resource.is_buffer() {
        return Err(Refusal::invalid("pDst and pSrc are both buffers")
            .with_id(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTRESOURCEDIMENSION));
    }
    let Some(region) = source_region(&source, source_box)? else { return Ok(None) };
    let block = [target.format.block_width, target.format.block_height, 1];
    if (0..3).any(|axis| !target_start[axis].is_multiple_of(block[axis])) {
        return Err(Refusal::invalid(format!(
            "the destination {target_start:?} is not aligned to blocks of {block:?} texels"
        ))
        .with_id(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDDSTCOORDINATES));
    }
    let target_size = as_texels(region.size, source.format, target.format);
    let leaves = |axis: usize| {
        target_start[axis].checked_add(target_size[axis]).is_none_or(|end| end > target.extent[axis])
    };
    if (0..3).any(leaves) {
        return Err(Refusal::invalid(format!(
            "{target_size:?} texels at {target_start:?} exceed the destination of {:?} texels",
            target.extent
        ))
        .with_id(D3D12_MESSAGE_ID_COPYTEXTUREREGION_DSTREGIONOUTOFBOUNDS));
    }
    let is_apart = |axis: usize| {
        let (to, from) = (target_start[axis], region.start[axis]);
        to.max(from) >= to.min(from).saturating_add(region.size[axis])
    };
    if target.is_same(&source) && !(0..3).any(is_apart) {
        return Err(Refusal::invalid("pDst and pSrc are the same subresource, and the regions overlap")
            .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    if target.sample_count != source.sample_count {
        return Err(Refusal::invalid(format!(
            "pDst has {} samples, but pSrc has {}",
            target.sample_count, source.sample_count
        ))
        .with_id(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCRESOURCE));
    }
    if source.sample_count > 1 && (region.size != source.extent || region.size != target.extent) {
        // This is Direct3D 11's rule for CopySubresourceRegion; the reference of CopyTextureRegion does not state it.
        notices.tolerate(Err(Refusal::invalid("multisampled subresources must be copied as a whole")
            .with_id(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCBOX)));
    }
    Ok(Some(Command::CopyTexels {
        target: target.location,
        target_start,
        target_size,
        source: source.location,
        region,
    }))
}

/// Checks `CopyResource` for textures of equal dimension, mip levels and samples, and of equal size in blocks.
pub(crate) fn copy_texture(
    target: Operand<'_>,
    source: Operand<'_>,
    notices: &mut Notices,
) -> Result<Vec<Command>, Refusal> {
    let (to, from) = (target.desc, source.desc);
    let properties = |format| {
        format::properties(format)
            .ok_or_else(|| Refusal::invalid(format!("format {format} cannot be copied")))
    };
    let (target_format, source_format) = (properties(to.Format)?, properties(from.Format)?);
    let mismatch = D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDSRCRESOURCE;
    check_formats(target_format, source_format, mismatch, notices)?;
    let is_alike = to.Layout == from.Layout
        && to.Flags == from.Flags
        && target_format.family == source_format.family
        && target.driver.existing_allocation_info() == source.driver.existing_allocation_info();
    if is_alike {
        return Ok(vec![Command::CopyTexture { target: target.hold(), source: source.hold() }]);
    }
    let mut commands = Vec::new();
    for index in 0..subresource_count(to) {
        let target = Side::subresource(target, index, &TARGET)?;
        let source = Side::subresource(source, index, &SOURCE)?;
        let target_size = as_texels(source.extent, source.format, target.format);
        if target_size != target.extent {
            return Err(Refusal::invalid(format!(
                "subresource {index} has {target_size:?} texels in pSrcResource and {:?} in pDstResource",
                target.extent
            ))
            .with_id(mismatch));
        }
        commands.push(Command::CopyTexels {
            target: target.location,
            target_start: [0; 3],
            target_size,
            region: TexelRegion { start: [0; 3], size: source.extent },
            source: source.location,
        });
    }
    Ok(commands)
}
