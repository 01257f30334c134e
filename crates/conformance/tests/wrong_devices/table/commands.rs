//! Devices whose commands, fences and residency calls misbehave.

use heapwright_d3d12::*;

use super::{HONEST, WrongDevice};
use crate::lies::{Command, Lies, Refused, Request};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "copies-one-byte-less",
        what: "CopyBufferRegion leaves out the last byte",
        profile: "discrete",
        lies: Lies { copy: Some(|_, _, len| *len -= 1), ..HONEST },
        caught_by: &["copies/buffer-on-a-direct-queue", "copies/buffer-region"],
    },
    WrongDevice {
        name: "copies-to-the-start",
        what: "CopyBufferRegion ignores the destination's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|to, _, _| *to = 0), ..HONEST },
        caught_by: &["copies/buffer-region", "copies/placed-neighbours"],
    },
    WrongDevice {
        name: "copies-from-the-start",
        what: "CopyBufferRegion ignores the source's offset",
        profile: "discrete",
        lies: Lies { copy: Some(|_, from, _| *from = 0), ..HONEST },
        caught_by: &["copies/buffer-region"],
    },
    WrongDevice {
        name: "waits-for-nothing",
        what: "queues do not wait for fences",
        profile: "discrete",
        lies: Lies { ignores_wait: true, ..HONEST },
        caught_by: &["fences/queue-waits-for-the-cpu", "fences/queue-waits-for-a-queue"],
    },
    WrongDevice {
        name: "waits-keep-fences",
        what: "a queue that waits for a fence keeps it alive",
        profile: "discrete",
        lies: Lies { keeps_fences: true, ..HONEST },
        caught_by: &["fences/release-releases-the-queue"],
    },
    WrongDevice {
        name: "signals-too-much",
        what: "queues signal one more than they are asked to",
        profile: "discrete",
        lies: Lies { signal: Some(|value| value + 1), ..HONEST },
        caught_by: &["fences/queue-signals"],
    },
    WrongDevice {
        name: "fences-lag",
        what: "GetCompletedValue is one behind",
        profile: "discrete",
        lies: Lies { completed: Some(|value| value.saturating_sub(1)), ..HONEST },
        caught_by: &["fences/initial-value", "fences/signal-from-the-cpu"],
    },
    WrongDevice {
        name: "null-event-returns",
        what: "SetEventOnCompletion without an event never blocks",
        profile: "discrete",
        lies: Lies { ignores_null_event: true, ..HONEST },
        caught_by: &["fences/null-event-blocks"],
    },
    WrongDevice {
        name: "residency-refused",
        what: "MakeResident and Evict answer E_OUTOFMEMORY",
        profile: "discrete",
        lies: Lies { residency: Some(E_OUTOFMEMORY), ..HONEST },
        caught_by: &["residency/heap-round-trip", "residency/counts-nest"],
    },
    WrongDevice {
        name: "residency-uncounted",
        what: "MakeResident counts nothing",
        profile: "discrete",
        lies: Lies { uncounted: true, ..HONEST },
        caught_by: &["residency/one-of-two-evicts-changes-nothing", "residency/counts-nest"],
    },
    WrongDevice {
        name: "residency-from-the-beginning",
        what: "CREATE_NOT_RESIDENT has no effect",
        profile: "discrete",
        lies: Lies { heap: Some(|desc| desc.Flags &= !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT), ..HONEST },
        caught_by: &["residency/not-resident-takes-no-memory"],
    },
    WrongDevice {
        name: "forgets-copyresource",
        what: "lists do not record CopyResource",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyResource), ..HONEST },
        caught_by: &[
            "copies/buffer-copyresource",
            "copies/texture-copyresource",
            "copies/aliases-share-bytes",
            "tiles/mapped-tiles-hold-bytes",
            "tiles/copied-mappings",
        ],
    },
    WrongDevice {
        name: "forgets-copytextureregion",
        what: "lists do not record CopyTextureRegion",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTextureRegion), ..HONEST },
        caught_by: &["copies/texture-round-trip", "copies/texture-with-mips", "copies/texture-region"],
    },
    WrongDevice {
        name: "forgets-copytiles",
        what: "lists do not record CopyTiles",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::CopyTiles), ..HONEST },
        caught_by: &["tiles/copied-tiles"],
    },
    WrongDevice {
        name: "forgets-clearrendertargetview",
        what: "lists do not record ClearRenderTargetView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearRenderTargetView), ..HONEST },
        caught_by: &["copies/clear-render-target"],
    },
    WrongDevice {
        name: "forgets-cleardepthstencilview",
        what: "lists do not record ClearDepthStencilView",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearDepthStencilView), ..HONEST },
        caught_by: &["copies/clear-depth"],
    },
    WrongDevice {
        name: "forgets-clearunorderedaccessviewuint",
        what: "lists do not record ClearUnorderedAccessViewUint",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ClearUnorderedAccessViewUint), ..HONEST },
        caught_by: &["copies/clear-unordered-access"],
    },
    WrongDevice {
        name: "clears-everything",
        what: "clears take their rectangles for none",
        profile: "discrete",
        lies: Lies { ignores_rects: true, ..HONEST },
        caught_by: &[
            "commands/clear-rectangles",
            "commands/clear-rectangles-of-depth",
            "commands/clear-rectangles-of-a-buffer",
        ],
    },
    WrongDevice {
        name: "forgets-resolvesubresource",
        what: "lists do not record ResolveSubresource",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ResolveSubresource), ..HONEST },
        caught_by: &["commands/resolve"],
    },
    WrongDevice {
        name: "forgets-resolvesubresourceregion",
        what: "lists do not record ResolveSubresourceRegion",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::ResolveSubresourceRegion), ..HONEST },
        caught_by: &["commands/resolve-region"],
    },
    WrongDevice {
        name: "forgets-discardresource",
        what: "lists do not look at DiscardResource",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::DiscardResource), ..HONEST },
        caught_by: &["commands/discard-on-a-copy-list-refused"],
    },
    WrongDevice {
        name: "forgets-barrier",
        what: "lists do not look at enhanced barriers",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::Barrier), ..HONEST },
        caught_by: &[
            "commands/barrier-from-undefined-with-an-access-refused",
            "commands/barrier-without-sync-with-an-access-refused",
            "commands/barrier-of-another-layout-refused",
            "commands/barrier-of-another-sync-refused",
        ],
    },
    WrongDevice {
        name: "forgets-render-passes",
        what: "lists do not know of render passes",
        profile: "discrete",
        lies: Lies { forgets: Some(Command::RenderPass), ..HONEST },
        caught_by: &[
            "commands/render-pass-clears",
            "commands/render-pass-resolves",
            "commands/render-pass-left-open-refused",
            "commands/render-pass-ended-twice-refused",
            "commands/render-pass-refuses-copies",
            "commands/render-pass-refuses-clears",
        ],
    },
    WrongDevice {
        name: "render-passes-resolve-nothing",
        what: "render passes end with PRESERVE where they are to resolve",
        profile: "discrete",
        lies: Lies {
            pass_ending: Some(|ending| *ending = D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE),
            ..HONEST
        },
        caught_by: &["commands/render-pass-resolves"],
    },
    WrongDevice {
        name: "waits-take-turns",
        what: "a queue looks at a fence when all before the wait is done",
        profile: "discrete",
        lies: Lies { waits_take_turns: true, ..HONEST },
        caught_by: &["fences/queue-wait-is-released-for-good"],
    },
    WrongDevice {
        name: "signals-do-not-last",
        what: "a value of a fence that is set back at once is not seen",
        profile: "discrete",
        lies: Lies { coalesces_signals: true, ..HONEST },
        caught_by: &[
            "fences/first-wait-is-released-for-good",
            "fences/queue-wait-is-released-for-good",
            "fences/null-event-is-released-for-good",
        ],
    },
    WrongDevice {
        name: "open-lists-are-closed",
        what: "ExecuteCommandLists closes open lists and executes them",
        profile: "discrete",
        lies: Lies { closes_lists: true, ..HONEST },
        caught_by: &["recording/open-list-removes-the-device"],
    },
    WrongDevice {
        name: "clears-need-descriptor-heaps",
        what: "a clear of a view whose heap is not set makes Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::ClearsWithoutHeaps), ..HONEST },
        caught_by: &["recording/clear-without-descriptor-heaps"],
    },
    WrongDevice {
        name: "upload-buffers-take-no-barriers",
        what: "a barrier of an UPLOAD resource makes Close fail",
        profile: "discrete",
        lies: Lies { barriers: Some(|barriers| refuse_upload(barriers)), ..HONEST },
        caught_by: &["recording/barrier-of-an-upload-buffer"],
    },
    WrongDevice {
        name: "barriers-need-slices",
        what: "a barrier whose NumArraySlices is 0 makes Close fail",
        profile: "discrete",
        lies: Lies { texture_barrier: Some(refuse_no_slices), ..HONEST },
        caught_by: &["recording/barrier-of-no-slices"],
    },
    WrongDevice {
        name: "copies-keep-formats",
        what: "copies between textures of two formats make Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::CopiesBetweenFormats), ..HONEST },
        caught_by: &[
            "recording/copyresource-between-families",
            "formats/texels-become-blocks",
            "formats/a-block-becomes-a-texel",
            "formats/depth-of-24-bits",
        ],
    },
    WrongDevice {
        name: "copies-need-two-subresources",
        what: "copies from a subresource to itself make Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::CopiesWithinSubresources), ..HONEST },
        caught_by: &["copies/texture-region-within-a-subresource"],
    },
    WrongDevice {
        name: "tiles-need-a-direction",
        what: "CopyTiles with D3D12_TILE_COPY_FLAG_NONE makes Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::TilesWithoutDirection), ..HONEST },
        caught_by: &["tiles/copied-without-a-direction"],
    },
    WrongDevice {
        name: "depth-of-32-bits",
        what: "D24_UNORM_S8_UINT keeps the fourth byte",
        profile: "discrete",
        lies: Lies { resource: Some(widen_depth), ..HONEST },
        caught_by: &["formats/depth-of-24-bits"],
    },
    WrongDevice {
        name: "half-floats-overflow",
        what: "a clear to what a half float cannot hold makes it infinity",
        profile: "discrete",
        lies: Lies {
            clear_color: Some(|value| {
                if *value > 65_504.0 {
                    *value = f32::INFINITY
                }
            }),
            ..HONEST
        },
        caught_by: &["formats/clear-saturates-half-floats"],
    },
    WrongDevice {
        name: "resolves-keep-formats",
        what: "resolves between UNORM and sRGB make Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::ResolvesBetweenFormats), ..HONEST },
        caught_by: &["formats/resolve-between-unorm-and-srgb"],
    },
    WrongDevice {
        name: "resolves-need-colors",
        what: "resolves of depth make Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::ResolvesOfDepth), ..HONEST },
        caught_by: &["formats/resolve-of-depth"],
    },
    WrongDevice {
        name: "read-only-depth-means-stencil",
        what: "a view of which one aspect is read-only is read-only",
        profile: "discrete",
        lies: Lies { depth_view: Some(make_read_only), ..HONEST },
        caught_by: &["formats/read-only-aspects"],
    },
    WrongDevice {
        name: "no-draws",
        what: "DrawInstanced and Dispatch make Close fail",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::Draws), ..HONEST },
        caught_by: &["pipelines/list-that-draws"],
    },
];

/// Makes a transition of an UPLOAD resource invalid.
fn refuse_upload(barriers: &mut [D3D12_RESOURCE_BARRIER]) {
    for barrier in barriers.iter_mut().filter(|one| one.Type == D3D12_RESOURCE_BARRIER_TYPE_TRANSITION) {
        let mut properties = D3D12_HEAP_PROPERTIES::default();
        // SAFETY: the type says that the barrier is a transition, whose resource is live.
        unsafe {
            let transition = &mut *barrier.Anonymous.Transition;
            let resource = (*transition.pResource).as_ref().expect("the suite's barriers have resources");
            if resource.GetHeapProperties(Some(&raw mut properties), None).is_ok()
                && properties.Type == D3D12_HEAP_TYPE_UPLOAD
            {
                transition.Subresource = 7;
            }
        }
    }
}

/// Makes a barrier without array slices invalid.
fn refuse_no_slices(barrier: &mut D3D12_TEXTURE_BARRIER) {
    let part = &mut barrier.Subresources;
    if part.NumMipLevels > 0 && part.NumArraySlices == 0 {
        part.FirstArraySlice = u32::MAX;
    }
}

/// Changes a 24-bit depth format to a 32-bit one.
fn widen_depth(request: &mut Request) {
    if request.desc.Format == DXGI_FORMAT_D24_UNORM_S8_UINT {
        request.desc.Format = DXGI_FORMAT_D32_FLOAT_S8X24_UINT;
    }
}

/// Makes a view read-only in both aspects if it is read-only in one.
fn make_read_only(desc: &mut D3D12_DEPTH_STENCIL_VIEW_DESC) {
    if desc.Flags != D3D12_DSV_FLAG_NONE {
        desc.Flags = D3D12_DSV_FLAG_READ_ONLY_DEPTH | D3D12_DSV_FLAG_READ_ONLY_STENCIL;
    }
}
