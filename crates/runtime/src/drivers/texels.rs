//! Copies, fills and resolves of texels, one row of blocks at a time.

use super::driver::GpuMemory;
use super::layout::SubresourceLayout;
use super::page_fault::{FaultCause, PageFault};
use crate::ddi::DriverError;
use crate::ddi::command::TexelLocation;
use crate::drivers::resource::{DriverResource, TexelRegion};
use crate::format::Resolver;

/// Blocks of texels in the address space.
struct Blocks {
    /// The GPU address to which offsets of the arrangement are relative.
    base: u64,
    arrangement: Arrangement,
    block_bytes: u64,
    /// Size of a block in x and y, in texels.
    block_texels: [u32; 2],
    /// Whether the fourth of four bytes is not stored.
    keeps_24_bits: bool,
}

enum Arrangement {
    Subresource(SubresourceLayout),
    Rows { row_pitch: u64, slice_pitch: u64 },
}

impl Blocks {
    fn of(location: &TexelLocation) -> Option<Self> {
        match location {
            TexelLocation::Subresource { resource, index } => Self::of_subresource(resource, *index),
            TexelLocation::Footprint { buffer, offset, row_pitch, slice_pitch, block_size, block_texels } => {
                Some(Self {
                    base: buffer.gpu_virtual_address().get() + offset,
                    arrangement: Arrangement::Rows { row_pitch: *row_pitch, slice_pitch: *slice_pitch },
                    block_bytes: u64::from(*block_size),
                    block_texels: *block_texels,
                    keeps_24_bits: false,
                })
            }
        }
    }

    fn of_subresource(resource: &DriverResource, index: u32) -> Option<Self> {
        let layout = resource.layout()?.subresource(index)?;
        Some(Self {
            base: resource.gpu_virtual_address().get(),
            block_bytes: layout.block_bytes,
            block_texels: [layout.block_extent.0, layout.block_extent.1],
            keeps_24_bits: resource.keeps_24_bits(index),
            arrangement: Arrangement::Subresource(layout),
        })
    }

    /// Returns the GPU address of a block.
    fn address(&self, [x, y, z]: [u32; 3]) -> Option<u64> {
        let offset = match &self.arrangement {
            Arrangement::Subresource(layout) => layout.block_offset(x, y, z)?,
            Arrangement::Rows { row_pitch, slice_pitch } => {
                u64::from(z) * slice_pitch + u64::from(y) * row_pitch + u64::from(x) * self.block_bytes
            }
        };
        Some(self.base + offset)
    }

    /// Returns the number of contiguous blocks from `x` on.
    fn run(&self, x: u32) -> u32 {
        match &self.arrangement {
            Arrangement::Subresource(layout) => layout.contiguous_blocks(x),
            Arrangement::Rows { .. } => u32::MAX,
        }
    }

    /// Converts texels to blocks; regions begin on block boundaries.
    fn to_blocks(&self, [x, y, z]: [u32; 3]) -> [u32; 3] {
        [x.div_ceil(self.block_texels[0].max(1)), y.div_ceil(self.block_texels[1].max(1)), z]
    }
}

/// Reports a block outside of its subresource as unmapped. The runtime has checked the region, so this is a defect.
fn outside(blocks: &Blocks) -> PageFault {
    PageFault::new(blocks.base, FaultCause::Unmapped)
}

fn unknown() -> PageFault {
    PageFault::new(0, FaultCause::Unmapped)
}

/// Copies a region of texels.
pub(super) fn copy(
    memory: &mut dyn GpuMemory,
    target: &TexelLocation,
    target_start: [u32; 3],
    source: &TexelLocation,
    region: TexelRegion,
) -> Result<(), PageFault> {
    let (target, source) = (Blocks::of(target).ok_or_else(unknown)?, Blocks::of(source).ok_or_else(unknown)?);
    let [to_x, to_y, to_z] = target.to_blocks(target_start);
    let [from_x, from_y, from_z] = source.to_blocks(region.start);
    let [width, height, depth] = source.to_blocks(region.size);
    for z in 0..depth {
        for y in 0..height {
            let mut x = 0;
            while x < width {
                let run = source.run(from_x + x).min(target.run(to_x + x)).min(width - x).max(1);
                let from =
                    source.address([from_x + x, from_y + y, from_z + z]).ok_or_else(|| outside(&source))?;
                let to = target.address([to_x + x, to_y + y, to_z + z]).ok_or_else(|| outside(&target))?;
                let size = u64::from(run) * source.block_bytes;
                if target.keeps_24_bits && !source.keeps_24_bits {
                    copy_24_bits(memory, to, from, size)?;
                } else {
                    memory.copy(to, from, size)?;
                }
                x += run;
            }
        }
    }
    Ok(())
}

/// Copies 32-bit numbers and sets their upper 8 bits to zero.
fn copy_24_bits(memory: &mut dyn GpuMemory, target: u64, source: u64, size: u64) -> Result<(), PageFault> {
    let mut bytes =
        vec![0; usize::try_from(size).map_err(|_| PageFault::new(source, FaultCause::HostOutOfMemory))?];
    memory.read(source, &mut bytes)?;
    bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0);
    memory.write(target, &bytes)
}

/// Fills a region of a subresource with one texel, which is written to each sample.
pub(super) fn fill(
    memory: &mut dyn GpuMemory,
    target: &DriverResource,
    subresource: u32,
    region: TexelRegion,
    value: &[u8],
) -> Result<(), PageFault> {
    let target = Blocks::of_subresource(target, subresource).ok_or_else(unknown)?;
    let [start_x, start_y, start_z] = target.to_blocks(region.start);
    let [width, height, depth] = target.to_blocks(region.size);
    for z in start_z..start_z + depth {
        for y in start_y..start_y + height {
            let mut x = start_x;
            while x < start_x + width {
                let run = target.run(x).min(start_x + width - x).max(1);
                let to = target.address([x, y, z]).ok_or_else(|| outside(&target))?;
                memory.fill(to, u64::from(run) * target.block_bytes, value)?;
                x += run;
            }
        }
    }
    Ok(())
}

/// Resolves the samples of texels, which are contiguous, to texels of the target.
pub(super) fn resolve(
    memory: &mut dyn GpuMemory,
    (target, target_index): (&DriverResource, u32),
    target_start: [u32; 3],
    (source, source_index): (&DriverResource, u32),
    region: TexelRegion,
    resolver: &Resolver,
) -> Result<(), PageFault> {
    let target = Blocks::of_subresource(target, target_index).ok_or_else(unknown)?;
    let source = Blocks::of_subresource(source, source_index).ok_or_else(unknown)?;
    let too_large = || PageFault::new(source.base, FaultCause::HostOutOfMemory);
    let size = |bytes: u64| usize::try_from(bytes).map_err(|_| too_large());
    let (texel, samples) = (size(target.block_bytes)?.max(1), size(source.block_bytes)?.max(1));
    let [to_x, to_y, to_z] = target_start;
    let [from_x, from_y, from_z] = region.start;
    let [width, height, depth] = region.size;
    let (mut read, mut resolved) = (Vec::new(), Vec::new());
    for z in 0..depth {
        for y in 0..height {
            let mut x = 0;
            while x < width {
                let run = source.run(from_x + x).min(target.run(to_x + x)).min(width - x).max(1);
                let from =
                    source.address([from_x + x, from_y + y, from_z + z]).ok_or_else(|| outside(&source))?;
                let to = target.address([to_x + x, to_y + y, to_z + z]).ok_or_else(|| outside(&target))?;
                read.resize(size(u64::from(run) * source.block_bytes)?, 0);
                resolved.resize(size(u64::from(run) * target.block_bytes)?, 0);
                memory.read(from, &mut read)?;
                for (samples, texel) in read.chunks_exact(samples).zip(resolved.chunks_exact_mut(texel)) {
                    resolver.resolve(samples, texel);
                }
                memory.write(to, &resolved)?;
                x += run;
            }
        }
    }
    Ok(())
}

/// Calls `each` for every contiguous run of blocks of a region.
///
/// The arguments are the run's offset in the resource, its position in rows of the region alone (bytes along its row,
/// row, slice), and its size in bytes.
pub(super) fn for_each_run(
    resource: &DriverResource,
    subresource: u32,
    region: TexelRegion,
    mut each: impl FnMut(u64, [usize; 3], usize) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let none = DriverError::NotCpuAccessible;
    let blocks = Blocks::of_subresource(resource, subresource).ok_or(none)?;
    let [start_x, start_y, start_z] = blocks.to_blocks(region.start);
    let [width, height, depth] = blocks.to_blocks(region.size);
    let size = |value: u64| usize::try_from(value).map_err(|_| none);
    for z in 0..depth {
        for y in 0..height {
            let mut x = 0;
            while x < width {
                let run = blocks.run(start_x + x).min(width - x).max(1);
                let address = blocks.address([start_x + x, start_y + y, start_z + z]).ok_or(none)?;
                let along = size(u64::from(x) * blocks.block_bytes)?;
                let len = size(u64::from(run) * blocks.block_bytes)?;
                each(address - blocks.base, [along, size(y.into())?, size(z.into())?], len)?;
                x += run;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
