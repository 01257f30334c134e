//! Clears of rectangles, resolves, and commands that lists refuse.

use heapwright_d3d12::*;

use crate::answer::{Verdict, each, require_eq, skipped};
use crate::check::{Check, Need, check};
use crate::com::barriers::{Enhanced, Scope};
use crate::context::Context;
use crate::desc::*;
use crate::target::{self, Target, UnorderedBuffer, rect};

const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];
const BARRIERS: &[Need] = &[Need::Textures, Need::EnhancedBarriers];
const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;
const CLEAR: &str = "Learn, ID3D12GraphicsCommandList::ClearRenderTargetView";
const CLEAR_DEPTH: &str = "Learn, ID3D12GraphicsCommandList::ClearDepthStencilView";
const CLEAR_BUFFER: &str = "Learn, ID3D12GraphicsCommandList::ClearUnorderedAccessViewUint";
const DISCARD: &str = "Learn, ID3D12GraphicsCommandList::DiscardResource";
const RESOLVE: &str = "Learn, ID3D12GraphicsCommandList::ResolveSubresource";
const REGION: &str = "DirectX-Specs, ProgrammableSamplePositions.md";
const ENHANCED: &str = "DirectX-Specs, D3D12EnhancedBarriers.md";
const DEBUG_LAYER: &str =
    "DirectX-Specs, D3D12EnhancedBarriers.md, Debug Layers, Barrier API Call Validation";

pub(super) const CHECKS: &[Check] = &[
    check("commands/clear-rectangles", CLEAR, TEXTURES, |ctx| clears_rectangles(ctx, &render_target(64, 8))),
    check("commands/clear-rectangles-of-depth", CLEAR_DEPTH, TEXTURES, |ctx| {
        clears_rectangles(ctx, &depth_buffer(64, 8))
    }),
    check("commands/clear-rectangles-of-a-buffer", CLEAR_BUFFER, &[], |ctx| {
        let (queue, buffer) = (ctx.queue(DIRECT)?, UnorderedBuffer::new(ctx, 256)?);
        queue.run(|list| {
            buffer.clear(list, 0, &[]);
            buffer.clear(list, 0x0102_0304, &[rect(3, 0, 7, 1), rect(100, 0, 101, 1)]);
        })?;
        each(buffer.bytes(&queue)?.chunks(4).enumerate(), |(index, element)| {
            let is_cleared = (3..7).contains(&index) || index == 100;
            let expected = if is_cleared { [4, 3, 2, 1] } else { [0; 4] };
            require_eq(format!("element {index}"), element, &expected[..])
        })
    }),
    check("commands/resolve", RESOLVE, TEXTURES, |ctx| resolves(ctx, &multisampled(64, 8, 4), RGBA, RGBA)),
    check("commands/resolve-region", REGION, TEXTURES, |ctx| {
        let options = ctx.feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS2>().result();
        if !options.is_ok_and(|options| options.ProgrammableSamplePositionsTier > 0) {
            return skipped("the device has no programmable sample positions");
        }
        let (source, queue) = (Target::new(ctx, &multisampled(64, 8, 4))?, ctx.queue(DIRECT)?);
        let resolved = target::resolved(ctx, &rgba(64, 8), RGBA)?;
        queue.run(|list| {
            source.clear(list, 7, &[]);
            list.transition(&source.texture, source.state, D3D12_RESOURCE_STATE_RESOLVE_SOURCE);
            let from = (&source.texture, rect(2, 1, 5, 3));
            list.resolve_region((&resolved, 10, 4), from, RGBA).ok("a direct list")
        })?;
        let is_in = |x, y| (10..13).contains(&x) && (4..6).contains(&y);
        target::returns(&queue, &resolved, D3D12_RESOURCE_STATE_RESOLVE_DEST, |x, y| {
            if is_in(x, y) { [255; 4] } else { [0; 4] }
        })
    }),
    check("commands/discard-on-a-copy-list-refused", DISCARD, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(COPY)?);
        queue.closes(|list| list.discard(&target.texture, None))?.fails("DiscardResource on a copy list")
    }),
    check("commands/barrier-activates", ENHANCED, BARRIERS, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        let before = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_NO_ACCESS);
        let barrier = target.to_render_target(before, D3D12_BARRIER_LAYOUT_UNDEFINED);
        queue.run(|list| list.enhanced(&[barrier]).ok("a direct list"))?;
        Ok("UNDEFINED, NO_ACCESS and SYNC_NONE".to_owned())
    }),
    check("commands/barrier-from-undefined-with-an-access-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        refuses_barrier(ctx, before, D3D12_BARRIER_LAYOUT_UNDEFINED)
    }),
    check("commands/barrier-without-sync-with-an-access-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        refuses_barrier(ctx, before, D3D12_BARRIER_LAYOUT_RENDER_TARGET)
    }),
    check("commands/barrier-of-another-layout-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST);
        refuses_barrier(ctx, before, D3D12_BARRIER_LAYOUT_COPY_SOURCE)
    }),
    check("commands/barrier-of-another-sync-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_DRAW, D3D12_BARRIER_ACCESS_COPY_SOURCE);
        refuses_barrier(ctx, before, D3D12_BARRIER_LAYOUT_COPY_SOURCE)
    }),
];

impl Target {
    /// Returns an enhanced barrier of the whole texture to layout RENDER_TARGET.
    fn to_render_target(&self, before: Scope, layout: D3D12_BARRIER_LAYOUT) -> Enhanced<'_> {
        let after = (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        Enhanced::Texture {
            resource: &self.texture,
            scopes: (before, after),
            layouts: (layout, D3D12_BARRIER_LAYOUT_RENDER_TARGET),
            slice: None,
            discards: false,
        }
    }
}

/// Fails the check unless clears of rectangles leave the other texels alone.
fn clears_rectangles(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Verdict {
    let (target, queue) = (Target::new(ctx, desc)?, ctx.queue(DIRECT)?);
    queue.run(|list| target.clear_both(list, 2, 4))?;
    target.returns(ctx, &queue, target.texel_at(2, 4))
}

/// Fails the check unless a resolve as one format, to a texture of another one, leaves the texels that all samples
/// have.
pub(super) fn resolves(
    ctx: &Context,
    desc: &D3D12_RESOURCE_DESC,
    to: DXGI_FORMAT,
    format: DXGI_FORMAT,
) -> Verdict {
    let (source, queue) = (Target::new(ctx, desc)?, ctx.queue(DIRECT)?);
    let resolved = target::resolved(ctx, desc, to)?;
    queue.run(|list| {
        source.clear_both(list, 0, 7);
        source.resolve(list, &resolved, format);
    })?;
    let state = D3D12_RESOURCE_STATE_RESOLVE_DEST;
    target::returns(&queue, &resolved, state, source.texel_at(0, 7))
}

/// Fails the check unless a barrier with contradicting members is refused or reported by the debug layer.
fn refuses_barrier(ctx: &Context, before: Scope, layout: D3D12_BARRIER_LAYOUT) -> Verdict {
    let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
    let barrier = target.to_render_target(before, layout);
    let what = format!("SyncBefore {:#x}, AccessBefore {:#x}, LayoutBefore {layout}", before.0, before.1);
    ctx.reported(&what, || queue.closes(|list| list.enhanced(&[barrier]).ok("a direct list")))
}
