//! Subresources of a resource in a staging buffer.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, ensure, failed};
use crate::com::commands::{CopyLocation, List};
use crate::com::device::{self, Footprints};

/// The size of a staging buffer that no check needs, in bytes.
const MOST: u64 = 64 << 20;

/// The places of the rows of consecutive subresources in a staging buffer.
pub(crate) struct Staged {
    /// The first of the subresources.
    first: u32,
    /// The layouts of the subresources of a texture; none for a buffer.
    pub(crate) layouts: Vec<D3D12_PLACED_SUBRESOURCE_FOOTPRINT>,
    /// Rows of texels, as offset and length.
    pub(crate) rows: Vec<(usize, usize)>,
    /// Size of the staging buffer, in bytes.
    pub(crate) len: usize,
}

impl Staged {
    /// Returns the places of all subresources of a resource with this description.
    pub(crate) fn of(device: &ID3D12Device, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Stop> {
        let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
        let slices = if is_volume { 1 } else { desc.DepthOrArraySize };
        let planes = device::plane_count(device, desc.Format);
        Self::part(device, desc, 0, u32::from(desc.MipLevels) * u32::from(slices) * planes)
    }

    /// Returns the places of `count` subresources from `first` on.
    ///
    /// A device may answer anything, so the check fails unless the places are as many and as large as the description
    /// allows.
    pub(crate) fn part(
        device: &ID3D12Device,
        desc: &D3D12_RESOURCE_DESC,
        first: u32,
        count: u32,
    ) -> Result<Self, Stop> {
        if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            let len = staged_size(desc.Width)?;
            return Ok(Self { first, layouts: Vec::new(), rows: vec![(0, len)], len });
        }
        // The alignment that GetDesc returns is the actual one, on which footprints do not depend. vkd3d-proton refuses
        // it in descriptions with tight alignment.
        let found =
            device::footprints(device, &D3D12_RESOURCE_DESC { Alignment: 0, ..*desc }, first, count, 0);
        let Footprints { layouts, row_counts, row_sizes, total } = found;
        let len = staged_size(total)?;
        let most = u64::from(desc.Height.max(1)) * u64::from(desc.DepthOrArraySize.max(1));
        let mut rows = Vec::new();
        for ((layout, row_count), row_size) in layouts.iter().zip(row_counts).zip(row_sizes) {
            let of_footprint = u64::from(row_count) * u64::from(layout.Footprint.Depth);
            ensure!(of_footprint <= most, "a footprint has {of_footprint} rows, the resource {most}");
            for row in 0..of_footprint {
                let start = row.checked_mul(layout.Footprint.RowPitch.into());
                let start = start.and_then(|start| start.checked_add(layout.Offset));
                let is_within = |start: u64| start.checked_add(row_size).is_some_and(|end| end <= total);
                let Some(start) = start.filter(|&start| is_within(start)) else {
                    return failed(format!(
                        "row {row} of a footprint ends beyond the total of {total} bytes"
                    ));
                };
                rows.push((staged_size(start)?, staged_size(row_size)?));
            }
        }
        Ok(Self { first, layouts, rows, len })
    }

    /// Copies a staging buffer to a resource in COPY_DEST.
    pub(crate) fn write(&self, list: &List, resource: &ID3D12Resource, source: &ID3D12Resource) {
        if self.layouts.is_empty() {
            return list.copy_buffer((resource, 0), (source, 0), u64::try_from(self.len).unwrap_or(0));
        }
        for (subresource, &layout) in (self.first..).zip(&self.layouts) {
            let from = CopyLocation::Footprint(source, layout);
            list.copy_texture(CopyLocation::Subresource(resource, subresource), from);
        }
    }

    /// Copies a resource in COPY_SOURCE to a staging buffer.
    pub(crate) fn read(&self, list: &List, resource: &ID3D12Resource, target: &ID3D12Resource) {
        if self.layouts.is_empty() {
            return list.copy_buffer((target, 0), (resource, 0), u64::try_from(self.len).unwrap_or(0));
        }
        for (subresource, &layout) in (self.first..).zip(&self.layouts) {
            let to = CopyLocation::Footprint(target, layout);
            list.copy_texture(to, CopyLocation::Subresource(resource, subresource));
        }
    }

    /// Returns a staging buffer for a texture of 4-byte texels, with a value for each place.
    pub(crate) fn texels(&self, texel: impl Fn(usize, usize) -> [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        for (y, &(start, len)) in self.rows.iter().enumerate() {
            for (x, place) in bytes[start..start + len].as_chunks_mut().0.iter_mut().enumerate() {
                *place = texel(x, y);
            }
        }
        bytes
    }

    /// Fails the check unless all rows of two staging buffers are equal.
    pub(crate) fn same(&self, found: &[u8], expected: &[u8]) -> Verdict {
        for (row, &(start, len)) in self.rows.iter().enumerate() {
            let differs = (start..start + len).find(|&place| found[place] != expected[place]);
            if let Some(place) = differs {
                return failed(format!(
                    "byte {} of row {row} of {} is {:#04x}, {:#04x} was written",
                    place - start,
                    self.rows.len(),
                    found[place],
                    expected[place]
                ));
            }
        }
        Ok(format!("{} rows of texels", self.rows.len()))
    }
}

/// Returns a size that a device said in bytes, and fails the check if nothing that a check creates is as large.
pub(crate) fn staged_size(bytes: u64) -> Result<usize, Stop> {
    ensure!(bytes <= MOST, "the device reports {bytes:#x} bytes for a resource of at most {MOST:#x}");
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}
