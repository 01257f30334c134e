//! Resources, which are the same on all drivers, and texels in CPU memory.

pub(crate) use crate::drivers::resource::DriverResource;

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
