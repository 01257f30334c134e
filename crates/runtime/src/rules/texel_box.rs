//! Boxes of texels within a subresource.

use heapwright_d3d12::D3D12_BOX;

use super::Refusal;
use crate::ddi::Extent;
use crate::drivers::texels::TexelRegion;
use crate::format::FormatProperties;

/// Checks that a box lies within a subresource and on block boundaries. Returns `None` for an empty box, which must be
/// within the subresource as well (vkd3d-proton's test_read_write_subresource records that Windows accepts it).
///
/// A box may also end at the end of a mip level that is no block boundary.
pub(crate) fn check(
    wanted: &D3D12_BOX,
    extent: Extent,
    format: &FormatProperties,
) -> Result<Option<TexelRegion>, Refusal> {
    let sides = [
        ("left", wanted.left, "right", wanted.right, extent.width, format.block_width),
        ("top", wanted.top, "bottom", wanted.bottom, extent.height, format.block_height),
        ("front", wanted.front, "back", wanted.back, extent.depth, 1),
    ];
    for (low_name, low, high_name, high, limit, _) in sides {
        for (name, value) in [(low_name, low), (high_name, high)] {
            if value > limit {
                return Err(Refusal::invalid(format!(
                    "D3D12_BOX::{name} {value} exceeds the subresource's size of {limit} texels"
                )));
            }
        }
    }
    if sides.iter().any(|&(_, low, _, high, ..)| low >= high) {
        return Ok(None);
    }
    let (mut start, mut size) = ([0; 3], [0; 3]);
    for (index, (low_name, low, high_name, high, limit, block)) in sides.into_iter().enumerate() {
        if !low.is_multiple_of(block) || !(high.is_multiple_of(block) || high == limit) {
            return Err(Refusal::invalid(format!(
                "D3D12_BOX::{low_name} {low} and {high_name} {high} are not aligned to the format's blocks of {block} \
                 texels"
            )));
        }
        (start[index], size[index]) = (low, high - low);
    }
    Ok(Some(TexelRegion { start, size }))
}
