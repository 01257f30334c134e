//! Clears of rectangles, resolves, render passes, and commands that lists refuse.

use heapwright_d3d12::*;

use super::copies::{created, descriptors, read, readback};
use crate::answer::{Answer, Stop, Verdict, ensure, skipped};
use crate::check::{Check, Need, check, validation};
use crate::com;
use crate::com::barriers::{Enhanced, Scope};
use crate::com::commands::{self, CopyLocation, List};
use crate::com::passes::Pass;
use crate::com::{device, views};
use crate::context::{Context, Queue, Recorded};
use crate::desc::{
    COPY, COPY_SOURCE, DIRECT, READBACK, RENDER_TARGET, UPLOAD, buffer, depth_buffer, multisampled,
    render_target, rgba, with_flags,
};

const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];
const BARRIERS: &[Need] = &[Need::Textures, Need::EnhancedBarriers];
const RGBA: DXGI_FORMAT = DXGI_FORMAT_R8G8B8A8_UNORM;
const PASSES: &str = "DirectX-Specs, RenderPasses.md";
const ENHANCED: &str = "DirectX-Specs, D3D12EnhancedBarriers.md";
const DEBUG_LAYER: &str =
    "DirectX-Specs, D3D12EnhancedBarriers.md, Debug Layers, Barrier API Call Validation";

const fn rect(left: i32, top: i32, right: i32, bottom: i32) -> RECT {
    RECT { left, top, right, bottom }
}

/// Two rectangles that do not overlap, and an empty one.
pub(super) const RECTS: [RECT; 3] = [rect(1, 1, 3, 2), rect(8, 2, 12, 8), rect(5, 5, 5, 9)];

pub(super) fn is_in_rects(x: usize, y: usize) -> bool {
    ((1..3).contains(&x) && y == 1) || ((8..12).contains(&x) && (2..8).contains(&y))
}

pub(super) const CHECKS: &[Check] = &[
    check(
        "commands/clear-rectangles",
        "Learn, ID3D12GraphicsCommandList::ClearRenderTargetView",
        TEXTURES,
        |ctx| {
            let target = Target::new(ctx, &render_target(64, 8))?;
            let queue = ctx.queue(DIRECT)?;
            queue.run(|list| {
                list.clear_target(target.view, [0.0; 4], &[]);
                list.clear_target(target.view, [1.0; 4], &RECTS);
            })?;
            let found = target.texels(ctx, &queue)?;
            expect(&found, |x, y| if is_in_rects(x, y) { [255; 4] } else { [0; 4] })?;
            Ok("only the texels of two rectangles are cleared".to_owned())
        },
    ),
    check(
        "commands/clear-rectangles-of-depth",
        "Learn, ID3D12GraphicsCommandList::ClearDepthStencilView",
        TEXTURES,
        |ctx| {
            let target = Target::new(ctx, &depth_buffer(64, 8))?;
            let queue = ctx.queue(DIRECT)?;
            queue.run(|list| {
                list.clear_depth(target.view, 0.25, &[]);
                list.clear_depth(target.view, 0.5, &RECTS);
            })?;
            let found = target.texels(ctx, &queue)?;
            expect(&found, |x, y| (if is_in_rects(x, y) { 0.5_f32 } else { 0.25 }).to_le_bytes())?;
            Ok("0.5 in two rectangles, 0.25 elsewhere".to_owned())
        },
    ),
    check(
        "commands/clear-rectangles-of-a-buffer",
        "Learn, ID3D12GraphicsCommandList::ClearUnorderedAccessViewUint",
        &[],
        |ctx| {
            let queue = ctx.queue(DIRECT)?;
            let desc = with_flags(buffer(1024), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
            let state = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
            let resource = created(ctx, &desc, state)?;
            let views = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
            let heap = descriptors(ctx, views, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
            let visible = descriptors(ctx, views, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
            views::create_unordered_view(ctx.device(), &resource, Some(256), &visible);
            let view = views::create_unordered_view(ctx.device(), &resource, Some(256), &heap);
            let target = readback(ctx, 1024)?;
            queue.run(|list| {
                let rects = [rect(3, 0, 7, 1), rect(100, 0, 101, 1)];
                list.clear_unordered(&resource, &visible, view, [0; 4], &[]);
                list.clear_unordered(&resource, &visible, view, [0x0102_0304; 4], &rects);
                list.transition(&resource, state, COPY_SOURCE);
                list.copy_resource(&target, &resource);
            })?;
            let found = read(ctx, &target, 1024)?;
            for (index, element) in found.chunks(4).enumerate() {
                let is_cleared = (3..7).contains(&index) || index == 100;
                let expected = if is_cleared { [4, 3, 2, 1] } else { [0; 4] };
                ensure!(element == expected, "element {index}: expected {expected:?}, found {element:?}");
            }
            Ok("only five elements are cleared".to_owned())
        },
    ),
    check("commands/resolve", "Learn, ID3D12GraphicsCommandList::ResolveSubresource", TEXTURES, |ctx| {
        let (source, queue) = (Target::new(ctx, &multisampled(64, 8, 4))?, ctx.queue(DIRECT)?);
        let resolved = Target::resolved(ctx, &rgba(64, 8))?;
        queue.run(|list| {
            list.clear_target(source.view, [0.0; 4], &[]);
            list.clear_target(source.view, [1.0; 4], &RECTS);
            source.becomes(list, D3D12_RESOURCE_STATE_RESOLVE_SOURCE);
            list.resolve(&resolved.texture, &source.texture, RGBA);
        })?;
        let found = resolved.texels(ctx, &queue)?;
        expect(&found, |x, y| if is_in_rects(x, y) { [255; 4] } else { [0; 4] })?;
        Ok("4 samples each".to_owned())
    }),
    check("commands/resolve-region", "DirectX-Specs, ProgrammableSamplePositions.md", TEXTURES, |ctx| {
        let options = ctx.feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS2>().result();
        if !options.is_ok_and(|options| options.ProgrammableSamplePositionsTier > 0) {
            return skipped("the device has no programmable sample positions");
        }
        let (source, queue) = (Target::new(ctx, &multisampled(64, 8, 4))?, ctx.queue(DIRECT)?);
        let resolved = Target::resolved(ctx, &rgba(64, 8))?;
        queue.run(|list| {
            list.clear_target(source.view, [1.0; 4], &[]);
            source.becomes(list, D3D12_RESOURCE_STATE_RESOLVE_SOURCE);
            let from = (&source.texture, rect(2, 1, 5, 3));
            list.resolve_region((&resolved.texture, 10, 4), from, RGBA).ok("a direct list")
        })?;
        let found = resolved.texels(ctx, &queue)?;
        let is_in = |x, y| (10..13).contains(&x) && (4..6).contains(&y);
        expect(&found, |x, y| if is_in(x, y) { [255; 4] } else { [0; 4] })?;
        Ok("3 by 2 texels to another place".to_owned())
    }),
    check("commands/render-pass-clears", PASSES, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        queue.run(|list| in_pass(list, &target, &Pass::Clear, |_| ()))?;
        expect(&target.texels(ctx, &queue)?, |_, _| [255; 4])?;
        queue.run(|list| {
            list.transition(&target.texture, COPY_SOURCE, target.state);
            in_pass(list, &target, &Pass::Preserve, |_| ())
        })?;
        expect(&target.texels(ctx, &queue)?, |_, _| [255; 4])?;
        Ok("the clear value, which the next pass preserves".to_owned())
    }),
    check("commands/render-pass-resolves", PASSES, TEXTURES, |ctx| {
        let (source, queue) = (Target::new(ctx, &multisampled(64, 8, 4))?, ctx.queue(DIRECT)?);
        let resolved = Target::resolved(ctx, &rgba(64, 8))?;
        queue.run(|list| {
            let pass = Pass::ClearAndResolve(&source.texture, &resolved.texture);
            in_pass(list, &source, &pass, |_| ())
        })?;
        expect(&resolved.texels(ctx, &queue)?, |_, _| [255; 4])?;
        Ok("the resolved texture has the clear value".to_owned())
    }),
    check("commands/render-pass-left-open-refused", PASSES, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        close_fails(&queue, "a render pass that has not ended", |list| {
            list.begin_pass(target.view, &Pass::Preserve).ok("a render target")
        })
    }),
    check("commands/render-pass-ended-twice-refused", PASSES, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        close_fails(&queue, "EndRenderPass without a pass", |list| {
            in_pass(list, &target, &Pass::Preserve, |_| ())?;
            list.end_pass().ok("no render pass")
        })
    }),
    validation("commands/render-pass-refuses-copies", PASSES, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        let [from, to] =
            [UPLOAD, READBACK].map(|heap_type| ctx.commit(heap_type, &buffer(256)).ok("256 bytes"));
        let (from, to) = (from?, to?);
        close_fails(&queue, "CopyBufferRegion in a render pass", |list| {
            in_pass(list, &target, &Pass::Preserve, |list| list.copy_buffer((&to, 0), (&from, 0), 256))
        })
    }),
    validation("commands/render-pass-refuses-clears", PASSES, TEXTURES, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        close_fails(&queue, "ClearRenderTargetView in a render pass", |list| {
            in_pass(list, &target, &Pass::Preserve, |list| list.clear_target(target.view, [1.0; 4], &[]))
        })
    }),
    check(
        "commands/discard-on-a-copy-list-refused",
        "Learn, ID3D12GraphicsCommandList::DiscardResource",
        TEXTURES,
        |ctx| {
            let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(COPY)?);
            close_fails(&queue, "DiscardResource on a copy list", |list| {
                list.discard(&target.texture, None);
            })
        },
    ),
    check("commands/barrier-activates", ENHANCED, BARRIERS, |ctx| {
        let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
        let before = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_NO_ACCESS);
        let barrier = target.to_render_target(before, D3D12_BARRIER_LAYOUT_UNDEFINED);
        queue.run(|list| list.enhanced(&[barrier]).ok("a direct list"))?;
        Ok("UNDEFINED, NO_ACCESS and SYNC_NONE".to_owned())
    }),
    check("commands/barrier-from-undefined-with-an-access-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        refuses_barrier(
            ctx,
            "LayoutBefore UNDEFINED with AccessBefore RENDER_TARGET",
            before,
            D3D12_BARRIER_LAYOUT_UNDEFINED,
        )
    }),
    check("commands/barrier-without-sync-with-an-access-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_RENDER_TARGET);
        refuses_barrier(
            ctx,
            "SyncBefore NONE with AccessBefore RENDER_TARGET",
            before,
            D3D12_BARRIER_LAYOUT_RENDER_TARGET,
        )
    }),
    check("commands/barrier-of-another-layout-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST);
        refuses_barrier(
            ctx,
            "AccessBefore COPY_DEST in COPY_SOURCE",
            before,
            D3D12_BARRIER_LAYOUT_COPY_SOURCE,
        )
    }),
    check("commands/barrier-of-another-sync-refused", DEBUG_LAYER, BARRIERS, |ctx| {
        let before = (D3D12_BARRIER_SYNC_DRAW, D3D12_BARRIER_ACCESS_COPY_SOURCE);
        refuses_barrier(
            ctx,
            "SyncBefore DRAW with AccessBefore COPY_SOURCE",
            before,
            D3D12_BARRIER_LAYOUT_COPY_SOURCE,
        )
    }),
];

/// A texture of 64 by 8 texels of 4 bytes, with its state and its view.
pub(super) struct Target {
    pub(super) texture: ID3D12Resource,
    state: D3D12_RESOURCE_STATES,
    pub(super) view: D3D12_CPU_DESCRIPTOR_HANDLE,
    /// The descriptor heap that holds the view.
    _heap: Option<ID3D12DescriptorHeap>,
}

impl Target {
    /// Creates a render target or a depth buffer.
    pub(super) fn new(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Stop> {
        let is_depth = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL != 0;
        let (heap_type, state) = if is_depth {
            (D3D12_DESCRIPTOR_HEAP_TYPE_DSV, D3D12_RESOURCE_STATE_DEPTH_WRITE)
        } else {
            (D3D12_DESCRIPTOR_HEAP_TYPE_RTV, RENDER_TARGET)
        };
        let texture = created(ctx, desc, state)?;
        let heap = descriptors(ctx, heap_type, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let view = if is_depth {
            views::create_depth_view(ctx.device(), &texture, None, &heap)
        } else {
            views::create_target_view(ctx.device(), &texture, None, &heap)
        };
        Ok(Self { texture, state, view, _heap: Some(heap) })
    }

    /// Creates the destination of a resolve.
    pub(super) fn resolved(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<Self, Stop> {
        let state = D3D12_RESOURCE_STATE_RESOLVE_DEST;
        let texture = created(ctx, desc, state)?;
        Ok(Self { texture, state, view: D3D12_CPU_DESCRIPTOR_HANDLE::default(), _heap: None })
    }

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

    pub(super) fn becomes(&self, list: &List, state: D3D12_RESOURCE_STATES) {
        list.transition(&self.texture, self.state, state);
    }

    /// Reads the texels in rows of 256 bytes. The texture is in COPY_SOURCE afterwards.
    pub(super) fn texels(&self, ctx: &Context, queue: &Queue) -> Result<Vec<u8>, Stop> {
        let desc = com::memory::desc(&self.texture);
        let footprints = device::footprints(ctx.device(), &desc, 0, 1, 0);
        let target = readback(ctx, footprints.total)?;
        queue.run(|list| {
            self.becomes(list, COPY_SOURCE);
            let to = CopyLocation::Footprint(&target, footprints.layouts[0]);
            list.copy_texture(to, CopyLocation::Subresource(&self.texture, 0));
        })?;
        read(ctx, &target, 8 * 256)
    }
}

/// Fails the check unless each of the 64 by 8 texels has its expected value.
pub(super) fn expect(found: &[u8], expected: impl Fn(usize, usize) -> [u8; 4]) -> Result<(), Stop> {
    for (index, texel) in found.chunks(4).enumerate() {
        let (x, y) = (index % 64, index / 64);
        let expected = expected(x, y);
        ensure!(texel == expected, "texel ({x}, {y}): expected {expected:?}, found {texel:?}");
    }
    Ok(())
}

/// Records a render pass with commands in it.
fn in_pass(list: &List, target: &Target, pass: &Pass<'_>, commands: impl FnOnce(&List)) -> Result<(), Stop> {
    list.begin_pass(target.view, pass).ok("a render target")?;
    commands(list);
    list.end_pass().ok("a render pass")
}

/// Fails the check unless `Close` refuses the recorded commands.
fn close_fails<R: Recorded>(queue: &Queue, what: &str, record: impl FnOnce(&List) -> R) -> Verdict {
    recorded(queue, record)?.fails(what)
}

/// Records commands and returns the result of `Close`.
pub(super) fn recorded<R: Recorded>(
    queue: &Queue,
    record: impl FnOnce(&List) -> R,
) -> Result<Answer<()>, Stop> {
    commands::reset_allocator(&queue.allocator).ok("an allocator that is not in use")?;
    queue.list.reset(&queue.allocator).ok("a closed list")?;
    let recorded = record(&queue.list).into_result();
    let closed = queue.list.close();
    recorded.map(|()| closed)
}

/// Fails the check unless a barrier with contradicting members is refused or reported by the debug layer.
fn refuses_barrier(ctx: &Context, what: &str, before: Scope, layout: D3D12_BARRIER_LAYOUT) -> Verdict {
    let (target, queue) = (Target::new(ctx, &render_target(64, 8))?, ctx.queue(DIRECT)?);
    let barrier = target.to_render_target(before, layout);
    ctx.reported(what, || recorded(&queue, |list| list.enhanced(&[barrier]).ok("a direct list")))
}
