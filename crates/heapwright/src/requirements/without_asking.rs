//! Requirements that are known without a query of the device.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::{floor, standard_tiles};

/// Returns the requirements of a buffer without tight alignment: D3D12 documents that it is aligned to 64 KiB and has
/// the smallest multiple of 64 KiB that holds its width (Microsoft's tight alignment specification, FAQ, *Can this be
/// the default behavior?*).
///
/// `None` for a description that the device must see: one that is not a buffer, is not well-formed, or has flags for
/// which the documentation says more. With tight alignment nothing is known: the driver chooses between 8 and 256
/// bytes, and may choose by width and flags.
#[inline]
pub(super) fn buffer(desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
    const PLAIN_FLAGS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let D3D12_RESOURCE_DESC { Width, Flags, .. } = *desc;
    let well_formed = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: Flags & PLAIN_FLAGS,
    };
    if *desc != well_formed || Width == 0 {
        return None;
    }
    Some((ByteSize::new(Width).align_up(floor::DEFAULT)?, floor::DEFAULT))
}

/// Checks whether the device could find a texture small if it is queried with the small alignment.
///
/// The device decides by the most detailed mip level, which may take 64 KiB in tiles of 4 KiB, or, if it is
/// multisampled, 4 MiB in tiles of 64 KiB ([`standard_tiles`]). A query in vain causes an error message of the debug
/// layer, so only formats whose blocks are not known here may be queried in vain. Those have texels of at least half a
/// byte; sampler feedback is opaque.
pub(super) fn may_be_small(desc: &D3D12_RESOURCE_DESC, is_opaque: bool) -> bool {
    let target = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
    let is_texture = desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER;
    let is_plain = desc.Flags & target == 0 || desc.SampleDesc.Count > 1;
    let is_free = desc.Layout == D3D12_TEXTURE_LAYOUT_UNKNOWN
        && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0;
    is_texture && is_plain && is_free && (is_opaque || fits_small(desc))
}

fn fits_small(desc: &D3D12_RESOURCE_DESC) -> bool {
    let most = floor::default(desc).get();
    if let Some(tiles) = standard_tiles::over_most_detailed_mip(desc) {
        return tiles.saturating_mul(floor::small(desc).get()) <= most;
    }
    let depth = match desc.Dimension {
        D3D12_RESOURCE_DIMENSION_TEXTURE3D => u64::from(desc.DepthOrArraySize),
        _ => 1,
    };
    let samples = u64::from(desc.SampleDesc.Count.max(1));
    let factors = [desc.Width, u64::from(desc.Height), depth, samples];
    let texels = factors.into_iter().fold(1, u64::saturating_mul);
    texels <= most.saturating_mul(2)
}
