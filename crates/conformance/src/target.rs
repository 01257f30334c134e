//! Render targets, depth buffers and unordered buffers, which checks clear and read.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict};
use crate::com::commands::List;
use crate::com::{memory, object, views};
use crate::context::Context;
use crate::desc::{COPY_SOURCE, RENDER_TARGET, buffer, with_flags, with_samples};
use crate::queue::{Queue, read};
use crate::transfer::Staged;

/// A rectangle.
pub(crate) const fn rect(left: i32, top: i32, right: i32, bottom: i32) -> RECT {
    RECT { left, top, right, bottom }
}

/// Two rectangles that do not overlap, and an empty one.
pub(crate) const RECTS: [RECT; 3] = [rect(1, 1, 3, 2), rect(8, 2, 12, 8), rect(5, 5, 5, 9)];

/// Returns whether a texel is in [`RECTS`].
pub(crate) fn is_in_rects(x: usize, y: usize) -> bool {
    ((1..3).contains(&x) && y == 1) || ((8..12).contains(&x) && (2..8).contains(&y))
}

/// A texture of 4-byte texels with a view.
pub(crate) struct Target {
    pub(crate) texture: ID3D12Resource,
    pub(crate) state: D3D12_RESOURCE_STATES,
    pub(crate) view: D3D12_CPU_DESCRIPTOR_HANDLE,
    is_depth: bool,
    /// The descriptor heap that holds the view.
    _heap: ID3D12DescriptorHeap,
}

impl Target {
    /// Creates a committed render target or depth buffer in the state of its clears.
    pub(crate) fn new(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Stop> {
        Self::of(ctx, ctx.created(desc, clear_state(desc))?)
    }

    /// Creates a view of a render target or depth buffer that is in the state of its clears.
    pub(crate) fn of(ctx: &Context, texture: ID3D12Resource) -> Result<Self, Stop> {
        let desc = memory::desc(&texture);
        let is_depth = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
        let heap_type =
            if is_depth { D3D12_DESCRIPTOR_HEAP_TYPE_DSV } else { D3D12_DESCRIPTOR_HEAP_TYPE_RTV };
        let heap = ctx.descriptors(heap_type, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let view = if is_depth {
            views::create_depth_view(ctx.device(), &texture, None, &heap)
        } else {
            views::create_target_view(ctx.device(), &texture, None, &heap)
        };
        Ok(Self { texture, state: clear_state(&desc), view, is_depth, _heap: heap })
    }

    /// Clears rectangles, or all texels if there are none, to one of eight values.
    pub(crate) fn clear(&self, list: &List, value: u8, rects: &[RECT]) {
        if self.is_depth {
            return list.clear_depth(self.view, f32::from(value) / 8.0, rects);
        }
        list.clear_target(self.view, color(value).map(|channel| f32::from(channel / 255)), rects);
    }

    /// Returns the texel that a clear to a value leaves.
    pub(crate) fn texel(&self, value: u8) -> [u8; 4] {
        if self.is_depth { (f32::from(value) / 8.0).to_le_bytes() } else { color(value) }
    }

    /// Clears all texels to one value, and [`RECTS`] to another.
    pub(crate) fn clear_both(&self, list: &List, value: u8, in_rects: u8) {
        self.clear(list, value, &[]);
        self.clear(list, in_rects, &RECTS);
    }

    /// Returns the texel at a place after [`clear_both`](Self::clear_both).
    pub(crate) fn texel_at(&self, value: u8, in_rects: u8) -> impl Fn(usize, usize) -> [u8; 4] {
        move |x, y| self.texel(if is_in_rects(x, y) { in_rects } else { value })
    }

    /// Fails the check unless each texel has its expected value. Multisampled textures are resolved.
    pub(crate) fn returns(
        &self,
        ctx: &Context,
        queue: &Queue,
        expected: impl Fn(usize, usize) -> [u8; 4],
    ) -> Verdict {
        let desc = memory::desc(&self.texture);
        if desc.SampleDesc.Count == 1 {
            return returns(queue, &self.texture, self.state, expected);
        }
        let resolved = resolved(ctx, &desc, desc.Format)?;
        queue.run(|list| self.resolve(list, &resolved, desc.Format))?;
        returns(queue, &resolved, D3D12_RESOURCE_STATE_RESOLVE_DEST, expected)
    }

    /// Resolves all texels to a texture in RESOLVE_DEST, and leaves this one in the state of its clears.
    pub(crate) fn resolve(&self, list: &List, to: &ID3D12Resource, format: DXGI_FORMAT) {
        list.transition(&self.texture, self.state, D3D12_RESOURCE_STATE_RESOLVE_SOURCE);
        list.resolve(to, &self.texture, format);
        list.transition(&self.texture, D3D12_RESOURCE_STATE_RESOLVE_SOURCE, self.state);
    }
}

/// A buffer of 1 KiB with an unordered access view of its first 4-byte elements.
pub(crate) struct UnorderedBuffer {
    buffer: ID3D12Resource,
    /// The heap that shaders see, with the view.
    pub(crate) visible: ID3D12DescriptorHeap,
    view: D3D12_CPU_DESCRIPTOR_HANDLE,
    /// The descriptor heap that holds the view for the CPU.
    _heap: ID3D12DescriptorHeap,
}

impl UnorderedBuffer {
    pub(crate) fn new(ctx: &Context, elements: u32) -> Result<Self, Stop> {
        let desc = with_flags(buffer(1024), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let buffer = ctx.created(&desc, D3D12_RESOURCE_STATE_UNORDERED_ACCESS)?;
        let heap_type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        let heap = ctx.descriptors(heap_type, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let visible = ctx.descriptors(heap_type, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
        views::create_unordered_view(ctx.device(), &buffer, Some(elements), &visible);
        let view = views::create_unordered_view(ctx.device(), &buffer, Some(elements), &heap);
        Ok(Self { buffer, visible, view, _heap: heap })
    }

    /// Clears rectangles of elements, or all of them if there are none.
    pub(crate) fn clear(&self, list: &List, value: u32, rects: &[RECT]) {
        list.clear_unordered(&self.buffer, &self.visible, self.view, [value; 4], rects);
    }

    /// Returns the bytes of the buffer.
    pub(crate) fn bytes(&self, queue: &Queue) -> Result<Vec<u8>, Stop> {
        let (target, state) = (queue.readback(1024)?, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
        queue.run(|list| {
            list.transition(&self.buffer, state, COPY_SOURCE);
            list.copy_resource(&target, &self.buffer);
            list.transition(&self.buffer, COPY_SOURCE, state);
        })?;
        read(&target, 1024)
    }
}

/// Creates the destination of a resolve in RESOLVE_DEST.
pub(crate) fn resolved(
    ctx: &Context,
    desc: &D3D12_RESOURCE_DESC,
    format: DXGI_FORMAT,
) -> Result<ID3D12Resource, Stop> {
    let single = D3D12_RESOURCE_DESC { Format: format, Alignment: 0, ..with_samples(*desc, 1, 0) };
    let flags = desc.Flags & !D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    ctx.created(&D3D12_RESOURCE_DESC { Flags: flags, ..single }, D3D12_RESOURCE_STATE_RESOLVE_DEST)
}

/// Fails the check unless each texel of a texture in `state` has its expected value.
pub(crate) fn returns(
    queue: &Queue,
    texture: &ID3D12Resource,
    state: D3D12_RESOURCE_STATES,
    expected: impl Fn(usize, usize) -> [u8; 4],
) -> Verdict {
    let staged = Staged::of(&object::device_of(texture).ok("a texture")?, &memory::desc(texture))?;
    let target = queue.readback(staged.len)?;
    queue.run(|list| {
        list.to_state(texture, state, COPY_SOURCE);
        staged.read(list, texture, &target);
        list.to_state(texture, COPY_SOURCE, state);
    })?;
    staged.same(&read(&target, staged.len)?, &staged.texels(expected))
}

/// Returns the state in which a texture is cleared.
fn clear_state(desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_STATES {
    let is_depth = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
    if is_depth { D3D12_RESOURCE_STATE_DEPTH_WRITE } else { RENDER_TARGET }
}

/// Returns a color whose channels are 0 or 255.
fn color(value: u8) -> [u8; 4] {
    [value & 1, value >> 1 & 1, value >> 2 & 1, 1].map(|bit| bit * 255)
}
