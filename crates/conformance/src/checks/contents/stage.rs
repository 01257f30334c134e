//! Several contents for resources of one description.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict};
use crate::com::commands::List;
use crate::com::memory;
use crate::context::Context;
use crate::desc::{COMMON, COPY_DEST, COPY_SOURCE};
use crate::queue::{Queue, fill, pattern, read};
use crate::target::Target;
use crate::transfer::Staged;

/// A queue that gives contents to resources, and finds them again.
pub(super) struct Stage<'a> {
    ctx: &'a Context,
    pub(super) queue: Queue,
    contents: Contents,
}

enum Contents {
    /// Copied: an UPLOAD buffer for each contents, and a READBACK buffer.
    Copied { staged: Staged, sources: Vec<(Vec<u8>, ID3D12Resource)>, target: ID3D12Resource },
    /// Cleared, for depth buffers and textures that cannot be copied to buffers.
    Cleared,
}

impl<'a> Stage<'a> {
    pub(super) fn new(
        ctx: &'a Context,
        desc: &D3D12_RESOURCE_DESC,
        count: u8,
        queue: D3D12_COMMAND_LIST_TYPE,
    ) -> Result<Self, Stop> {
        let queue = ctx.queue(queue)?;
        let is_depth = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
        if is_depth || desc.SampleDesc.Count > 1 {
            return Ok(Self { ctx, queue, contents: Contents::Cleared });
        }
        let staged = Staged::of(ctx.device(), desc)?;
        let mut sources = Vec::new();
        for seed in 0..count {
            let bytes = pattern(staged.len, seed);
            sources.push((bytes.clone(), queue.upload(&bytes)?));
        }
        let target = queue.readback(staged.len)?;
        Ok(Self { ctx, queue, contents: Contents::Copied { staged, sources, target } })
    }

    /// Gives the contents with an index to a resource in COMMON.
    pub(super) fn write(&self, index: usize, resource: &ID3D12Resource) -> Result<(), Stop> {
        match &self.contents {
            Contents::Copied { staged, sources, .. } => self.queue.run(|list| {
                in_state(list, resource, COPY_DEST, || staged.write(list, resource, &sources[index].1));
            }),
            Contents::Cleared => {
                let target = Target::of(self.ctx, resource.clone())?;
                let [value, in_rects] = values(index);
                self.queue.run(|list| {
                    in_state(list, resource, target.state, || target.clear_both(list, value, in_rects));
                })
            }
        }
    }

    /// Fails the check unless a resource in COMMON has the contents with an index.
    pub(super) fn expect(&self, index: usize, resource: &ID3D12Resource) -> Verdict {
        match &self.contents {
            Contents::Copied { staged, sources, target } => {
                fill(target, 0)?;
                self.queue.run(|list| {
                    in_state(list, resource, COPY_SOURCE, || staged.read(list, resource, target));
                })?;
                staged.same(&read(target, staged.len)?, &sources[index].0)
            }
            Contents::Cleared => {
                let target = Target::of(self.ctx, resource.clone())?;
                let [value, in_rects] = values(index);
                self.queue.run(|list| list.transition(resource, COMMON, target.state))?;
                target.returns(self.ctx, &self.queue, target.texel_at(value, in_rects))?;
                self.queue.run(|list| list.transition(resource, target.state, COMMON))?;
                Ok("as cleared".to_owned())
            }
        }
    }
}

/// Returns the values of two clears, which all contents have in another order or not at all.
fn values(index: usize) -> [u8; 2] {
    let index = u8::try_from(index).unwrap_or(0);
    [2 * index + 1, 2 * index + 2]
}

/// Records commands that need a resource in COMMON to be in a state. Copy queues take resources in COMMON.
fn in_state(list: &List, resource: &ID3D12Resource, state: D3D12_RESOURCE_STATES, commands: impl FnOnce()) {
    let is_buffer = memory::desc(resource).Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    let takes_common = is_buffer || list.list_type() == D3D12_COMMAND_LIST_TYPE_COPY;
    let state = if takes_common { COMMON } else { state };
    list.to_state(resource, COMMON, state);
    commands();
    list.to_state(resource, state, COMMON);
}
