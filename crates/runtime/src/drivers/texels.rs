//! Copies, fills and resolves of texels, one row of blocks at a time, also from and to CPU memory.

use std::ptr::NonNull;
use std::sync::Arc;

use super::driver::GpuMemory;
use super::layout::SubresourceLayout;
use super::page_fault::{FaultCause, PageFault};
use crate::ddi::DriverError;
use crate::drivers::resource::DriverResource;
use crate::format::Resolver;

/// The location of texels: in a texture, or laid out in a buffer.
#[derive(Clone)]
pub(crate) enum TexelLocation {
    /// A subresource of a texture.
    Subresource {
        /// The texture.
        resource: Arc<DriverResource>,
        /// The index of the subresource.
        index: u32,
    },
    /// A placed footprint in a buffer.
    Footprint {
        /// The buffer.
        buffer: Arc<DriverResource>,
        /// The offset of the first byte.
        offset: u64,
        /// Distance between rows of blocks, in bytes.
        row_pitch: u64,
        /// Distance between depth slices, in bytes.
        slice_pitch: u64,
        /// Size of a block, in bytes.
        block_size: u32,
        /// Size of a block in x and y, in texels.
        block_texels: [u32; 2],
    },
}

/// A box of texels: half-open, not empty, within the subresource, and on block boundaries of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TexelRegion {
    /// The first texel in x, y and z.
    pub(crate) start: [u32; 3],
    /// The number of texels in x, y and z.
    pub(crate) size: [u32; 3],
}

/// Rows of texel blocks in linear memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TexelRows<P> {
    /// The first block.
    pub(crate) start: P,
    /// Distance between rows of blocks, in bytes.
    pub(crate) row_pitch: usize,
    /// Distance between depth slices, in bytes.
    pub(crate) slice_pitch: usize,
}

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

    /// Returns the address of the block that is as far from `start` as `at` says.
    fn address(&self, start: [u32; 3], at: [u32; 3]) -> Result<u64, PageFault> {
        let [x, y, z] = [0, 1, 2].map(|axis: usize| start[axis] + at[axis]);
        let offset = match &self.arrangement {
            Arrangement::Subresource(layout) => layout.block_offset(x, y, z),
            Arrangement::Rows { row_pitch, slice_pitch } => {
                Some(u64::from(z) * slice_pitch + u64::from(y) * row_pitch + u64::from(x) * self.block_bytes)
            }
        };
        let offset = offset.ok_or_else(|| PageFault::new(self.base, FaultCause::Unmapped))?;
        Ok(self.base + offset)
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

fn unknown() -> PageFault {
    PageFault::new(0, FaultCause::Unmapped)
}

/// Calls `each` with the place and the length of every run of blocks in a box. `run` returns the length of a run that
/// begins at an x.
fn each_run<E>(
    [width, height, depth]: [u32; 3],
    run: impl Fn(u32) -> u32,
    mut each: impl FnMut([u32; 3], u32) -> Result<(), E>,
) -> Result<(), E> {
    for z in 0..depth {
        for y in 0..height {
            let mut x = 0;
            while x < width {
                let len = run(x).min(width - x).max(1);
                each([x, y, z], len)?;
                x += len;
            }
        }
    }
    Ok(())
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
    let (to_start, from_start) = (target.to_blocks(target_start), source.to_blocks(region.start));
    let run = |x| source.run(from_start[0] + x).min(target.run(to_start[0] + x));
    each_run(source.to_blocks(region.size), run, |at, run| {
        let (from, to) = (source.address(from_start, at)?, target.address(to_start, at)?);
        let size = u64::from(run) * source.block_bytes;
        if target.keeps_24_bits && !source.keeps_24_bits {
            copy_24_bits(memory, to, from, size)
        } else {
            memory.copy(to, from, size)
        }
    })
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
    let start = target.to_blocks(region.start);
    each_run(
        target.to_blocks(region.size),
        |x| target.run(start[0] + x),
        |at, run| memory.fill(target.address(start, at)?, u64::from(run) * target.block_bytes, value),
    )
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
    let (mut read, mut resolved) = (Vec::new(), Vec::new());
    let run = |x| source.run(region.start[0] + x).min(target.run(target_start[0] + x));
    each_run(region.size, run, |at, run| {
        let (from, to) = (source.address(region.start, at)?, target.address(target_start, at)?);
        read.resize(size(u64::from(run) * source.block_bytes)?, 0);
        resolved.resize(size(u64::from(run) * target.block_bytes)?, 0);
        memory.read(from, &mut read)?;
        for (samples, texel) in read.chunks_exact(samples).zip(resolved.chunks_exact_mut(texel)) {
            resolver.resolve(samples, texel);
        }
        memory.write(to, &resolved)
    })
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
    let start = blocks.to_blocks(region.start);
    let size = |value: u64| usize::try_from(value).map_err(|_| none);
    each_run(
        blocks.to_blocks(region.size),
        |x| blocks.run(start[0] + x),
        |at, run| {
            let address = blocks.address(start, at).map_err(|_| none)?;
            let along = size(u64::from(at[0]) * blocks.block_bytes)?;
            let len = size(u64::from(run) * blocks.block_bytes)?;
            each(address - blocks.base, [along, size(at[1].into())?, size(at[2].into())?], len)
        },
    )
}

impl DriverResource {
    /// Calls `each` for every contiguous run of blocks of a region, with its address in this process, its offset in the
    /// caller's rows, and its size in bytes.
    fn for_each_run(
        &self,
        subresource: u32,
        region: TexelRegion,
        pitches: [usize; 2],
        mut each: impl FnMut(NonNull<u8>, usize, usize),
    ) -> Result<(), DriverError> {
        let [row_pitch, slice_pitch] = pitches;
        for_each_run(self, subresource, region, |offset, [along, row, slice], len| {
            let bytes = self.bytes(offset, len as u64)?;
            each(bytes, slice * slice_pitch + row * row_pitch + along, len);
            Ok(())
        })
    }

    /// Copies texels from CPU memory to a region of a subresource.
    ///
    /// # Safety
    ///
    /// `rows` describes readable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    pub(crate) unsafe fn write_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*const u8>,
    ) -> Result<(), DriverError> {
        let pitches = [rows.row_pitch, rows.slice_pitch];
        self.for_each_run(subresource, region, pitches, |bytes, offset, len| {
            // SAFETY: the caller's rows are readable for the whole region, of which this is a run; the target is a run
            // of the resource in its heap, which `bytes` checked. The two do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(rows.start.add(offset), bytes.as_ptr(), len) };
        })
    }

    /// Copies texels from a region of a subresource to CPU memory.
    ///
    /// # Safety
    ///
    /// `rows` describes writable memory for the whole region, whose bounds lie within the subresource.
    ///
    /// # Errors
    ///
    /// The errors of [`map`](Self::map).
    pub(crate) unsafe fn read_subresource(
        &self,
        subresource: u32,
        region: TexelRegion,
        rows: TexelRows<*mut u8>,
    ) -> Result<(), DriverError> {
        let pitches = [rows.row_pitch, rows.slice_pitch];
        self.for_each_run(subresource, region, pitches, |bytes, offset, len| {
            // SAFETY: as for writing, with source and target exchanged.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), rows.start.add(offset), len) };
        })
    }
}

#[cfg(test)]
mod tests;
