//! Bytes on their way to resources of one description, and back.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, ensure, require};
use crate::com::commands::{CopyLocation, List};
use crate::com::device;
use crate::com::memory::Mapping;
use crate::context::{Context, Queue};
use crate::desc::{COMMON, COPY_DEST, COPY_SOURCE, READBACK, UPLOAD, buffer};
use crate::proof::pattern;

/// A queue, an UPLOAD buffer for each of several contents, and a READBACK buffer.
pub(super) struct Stage {
    pub(super) queue: Queue,
    desc: D3D12_RESOURCE_DESC,
    layouts: Vec<D3D12_PLACED_SUBRESOURCE_FOOTPRINT>,
    /// Rows of texels in a staging buffer, as offset and length.
    rows: Vec<(usize, usize)>,
    total: usize,
    contents: Vec<(Vec<u8>, ID3D12Resource)>,
    target: ID3D12Resource,
}

impl Stage {
    pub(super) fn new(
        ctx: &Context,
        desc: &D3D12_RESOURCE_DESC,
        count: u64,
        queue: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Stop> {
        let (layouts, rows, total) = if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            (Vec::new(), vec![(0, usize::try_from(desc.Width).unwrap_or(0))], desc.Width)
        } else {
            texels(ctx, desc)?
        };
        let mut contents = Vec::new();
        for seed in 0..count {
            let bytes = pattern(total, seed);
            let source = ctx.commit(UPLOAD, &buffer(total)).ok("staging bytes")?;
            ctx.map(&source).ok("an UPLOAD buffer")?.write(0, &bytes);
            contents.push((bytes, source));
        }
        let target = ctx.commit(READBACK, &buffer(total)).ok("staging bytes")?;
        let total = usize::try_from(total).unwrap_or(0);
        Ok(Self { queue: ctx.queue(queue)?, desc: *desc, layouts, rows, total, contents, target })
    }

    /// Copies the contents with an index to a resource in COMMON.
    pub(super) fn write(&self, index: usize, resource: &ID3D12Resource) -> Result<(), Stop> {
        let source = &self.contents[index].1;
        self.queue.run(|list| {
            if self.layouts.is_empty() {
                return list.copy_buffer((resource, 0), (source, 0), self.desc.Width);
            }
            self.transition(list, resource, COMMON, COPY_DEST);
            for (subresource, &layout) in (0..).zip(&self.layouts) {
                let from = CopyLocation::Footprint(source, layout);
                list.copy_texture(CopyLocation::Subresource(resource, subresource), from);
            }
            self.transition(list, resource, COPY_DEST, COMMON);
        })
    }

    /// Fails the check unless a resource in COMMON has the contents with an index.
    pub(super) fn expect(&self, index: usize, resource: &ID3D12Resource) -> Verdict {
        Mapping::of(&self.target).ok("a READBACK buffer")?.write(0, &vec![0; self.total]);
        self.queue.run(|list| {
            if self.layouts.is_empty() {
                return list.copy_buffer((&self.target, 0), (resource, 0), self.desc.Width);
            }
            self.transition(list, resource, COMMON, COPY_SOURCE);
            for (subresource, &layout) in (0..).zip(&self.layouts) {
                let to = CopyLocation::Footprint(&self.target, layout);
                list.copy_texture(to, CopyLocation::Subresource(resource, subresource));
            }
            self.transition(list, resource, COPY_SOURCE, COMMON);
        })?;
        let found = Mapping::of(&self.target).ok("a READBACK buffer")?.read(0, self.total);
        let expected = &self.contents[index].0;
        for (row, &(start, len)) in self.rows.iter().enumerate() {
            require(found[start..start + len] == expected[start..start + len], || {
                format!("row {row} of {} does not have the bytes of contents {index}", self.rows.len())
            })?;
        }
        Ok(format!("{} rows", self.rows.len()))
    }

    /// Copy queues take textures in COMMON.
    fn transition(
        &self,
        list: &List,
        resource: &ID3D12Resource,
        before: D3D12_RESOURCE_STATES,
        after: D3D12_RESOURCE_STATES,
    ) {
        if list.list_type() != D3D12_COMMAND_LIST_TYPE_COPY {
            list.transition(resource, before, after);
        }
    }
}

type Texels = (Vec<D3D12_PLACED_SUBRESOURCE_FOOTPRINT>, Vec<(usize, usize)>, u64);

/// Returns the layouts and the rows of all subresources of a texture in a staging buffer, and the buffer's size.
fn texels(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<Texels, Stop> {
    let is_volume = desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let slices = if is_volume { 1 } else { desc.DepthOrArraySize };
    let found = device::footprints(ctx.device(), desc, 0, u32::from(desc.MipLevels) * u32::from(slices), 0);
    ensure!(found.total < 1 << 24, "GetCopyableFootprints: {} bytes in total", found.total);
    let mut rows = Vec::new();
    for (index, layout) in found.layouts.iter().enumerate() {
        let len = usize::try_from(found.row_sizes[index]).unwrap_or(0);
        for row in 0..u64::from(found.row_counts[index]) * u64::from(layout.Footprint.Depth) {
            let start = layout.Offset + row * u64::from(layout.Footprint.RowPitch);
            rows.push((usize::try_from(start).unwrap_or(0), len));
        }
    }
    Ok((found.layouts, rows, found.total))
}
