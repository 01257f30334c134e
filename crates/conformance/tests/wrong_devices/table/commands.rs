//! Devices whose commands, fences and residency calls misbehave.

use heapwright_d3d12::*;

use super::{WrongDevice, lie, wrong};
use crate::lies::{Command, HONEST, Lies, Refused, Request};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "CopyBufferRegion leaves out the last byte",
        lie!(copy, |_, _, len| *len -= 1),
        &["copies/buffer-on-a-direct-queue", "copies/buffer-region"],
    ),
    wrong(
        "CopyBufferRegion ignores the destination's offset",
        lie!(copy, |to, _, _| *to = 0),
        &["copies/buffer-region", "copies/placed-neighbours"],
    ),
    wrong(
        "CopyBufferRegion ignores the source's offset",
        lie!(copy, |_, from, _| *from = 0),
        &["copies/buffer-region"],
    ),
    wrong(
        "queues do not wait for fences",
        Lies { ignores_wait: true, ..HONEST },
        &["fences/queue-waits-for-the-cpu", "fences/queue-waits-for-a-queue"],
    ),
    wrong(
        "a queue that waits for a fence keeps it alive",
        Lies { keeps_fences: true, ..HONEST },
        &["fences/release-releases-the-queue"],
    ),
    wrong(
        "queues signal one more than they are asked to",
        lie!(signal, |value| value + 1),
        &["fences/queue-signals"],
    ),
    wrong(
        "GetCompletedValue is one behind",
        lie!(completed, |value| value.saturating_sub(1)),
        &["fences/initial-value", "fences/signal-from-the-cpu"],
    ),
    wrong(
        "SetEventOnCompletion without an event never blocks",
        Lies { ignores_null_event: true, ..HONEST },
        &["fences/null-event-blocks"],
    ),
    wrong(
        "MakeResident and Evict answer E_OUTOFMEMORY",
        lie!(residency, E_OUTOFMEMORY),
        &["residency/heap-round-trip", "residency/counts-nest"],
    ),
    wrong(
        "MakeResident counts nothing",
        Lies { uncounted: true, ..HONEST },
        &["residency/one-of-two-evicts-changes-nothing", "residency/counts-nest"],
    ),
    wrong(
        "CREATE_NOT_RESIDENT has no effect",
        lie!(heap, |desc| desc.Flags &= !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT),
        &["residency/not-resident-takes-no-memory"],
    ),
    wrong(
        "lists do not record CopyResource",
        lie!(forgets, Command::CopyResource),
        &[
            "copies/buffer-copyresource",
            "copies/texture-copyresource",
            "copies/aliases-share-bytes",
            "tiles/mapped-tiles-hold-bytes",
            "tiles/copied-mappings",
        ],
    ),
    wrong(
        "lists do not record CopyTextureRegion",
        lie!(forgets, Command::CopyTextureRegion),
        &["copies/texture-round-trip", "copies/texture-with-mips", "copies/texture-region"],
    ),
    wrong("lists do not record CopyTiles", lie!(forgets, Command::CopyTiles), &["tiles/copied-tiles"]),
    wrong(
        "lists do not record ClearRenderTargetView",
        lie!(forgets, Command::ClearRenderTargetView),
        &["copies/clear-render-target"],
    ),
    wrong(
        "lists do not record ClearDepthStencilView",
        lie!(forgets, Command::ClearDepthStencilView),
        &["copies/clear-depth"],
    ),
    wrong(
        "lists do not record ClearUnorderedAccessViewUint",
        lie!(forgets, Command::ClearUnorderedAccessViewUint),
        &["copies/clear-unordered-access"],
    ),
    wrong(
        "clears take their rectangles for none",
        Lies { ignores_rects: true, ..HONEST },
        &[
            "commands/clear-rectangles",
            "commands/clear-rectangles-of-depth",
            "commands/clear-rectangles-of-a-buffer",
        ],
    ),
    wrong(
        "lists do not record ResolveSubresource",
        lie!(forgets, Command::ResolveSubresource),
        &["commands/resolve"],
    ),
    wrong(
        "lists do not record ResolveSubresourceRegion",
        lie!(forgets, Command::ResolveSubresourceRegion),
        &["commands/resolve-region"],
    ),
    wrong(
        "lists do not look at DiscardResource",
        lie!(forgets, Command::DiscardResource),
        &["commands/discard-on-a-copy-list-refused"],
    ),
    wrong(
        "lists do not look at enhanced barriers",
        lie!(forgets, Command::Barrier),
        &[
            "commands/barrier-from-undefined-with-an-access-refused",
            "commands/barrier-without-sync-with-an-access-refused",
            "commands/barrier-of-another-layout-refused",
            "commands/barrier-of-another-sync-refused",
        ],
    ),
    wrong(
        "lists do not know of render passes",
        lie!(forgets, Command::RenderPass),
        &[
            "commands/render-pass-clears",
            "commands/render-pass-resolves",
            "commands/render-pass-left-open-refused",
            "commands/render-pass-ended-twice-refused",
            "commands/render-pass-refuses-copies",
            "commands/render-pass-refuses-clears",
        ],
    ),
    wrong(
        "render passes end with PRESERVE where they are to resolve",
        lie!(pass_ending, |ending| *ending = D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE),
        &["commands/render-pass-resolves"],
    ),
    wrong(
        "a queue looks at a fence when all before the wait is done",
        Lies { waits_take_turns: true, ..HONEST },
        &["fences/queue-wait-is-released-for-good"],
    ),
    wrong(
        "a value of a fence that is set back at once is not seen",
        Lies { coalesces_signals: true, ..HONEST },
        &[
            "fences/first-wait-is-released-for-good",
            "fences/queue-wait-is-released-for-good",
            "fences/null-event-is-released-for-good",
        ],
    ),
    wrong(
        "ExecuteCommandLists closes open lists and executes them",
        Lies { closes_lists: true, ..HONEST },
        &["recording/open-list-removes-the-device"],
    ),
    wrong(
        "a clear of a view whose heap is not set makes Close fail",
        lie!(refuses, Refused::ClearsWithoutHeaps),
        &["recording/clear-without-descriptor-heaps"],
    ),
    wrong(
        "a barrier of an UPLOAD resource makes Close fail",
        lie!(barriers, |barriers| refuse_upload(barriers)),
        &["recording/barrier-of-an-upload-buffer"],
    ),
    wrong(
        "a barrier whose NumArraySlices is 0 makes Close fail",
        lie!(texture_barrier, refuse_no_slices),
        &["recording/barrier-of-no-slices"],
    ),
    wrong(
        "copies between textures of two formats make Close fail",
        lie!(refuses, Refused::CopiesBetweenFormats),
        &[
            "recording/copyresource-between-families",
            "formats/texels-become-blocks",
            "formats/a-block-becomes-a-texel",
            "formats/depth-of-24-bits",
        ],
    ),
    wrong(
        "copies from a subresource to itself make Close fail",
        lie!(refuses, Refused::CopiesWithinSubresources),
        &["copies/texture-region-within-a-subresource"],
    ),
    wrong(
        "CopyTiles with D3D12_TILE_COPY_FLAG_NONE makes Close fail",
        lie!(refuses, Refused::TilesWithoutDirection),
        &["tiles/copied-without-a-direction"],
    ),
    wrong(
        "D24_UNORM_S8_UINT keeps the fourth byte",
        lie!(resource, widen_depth),
        &["formats/depth-of-24-bits"],
    ),
    wrong(
        "a clear to what a half float cannot hold makes it infinity",
        lie!(clear_color, |value| {
            if *value > 65_504.0 {
                *value = f32::INFINITY
            }
        }),
        &["formats/clear-saturates-half-floats"],
    ),
    wrong(
        "resolves between UNORM and sRGB make Close fail",
        lie!(refuses, Refused::ResolvesBetweenFormats),
        &["formats/resolve-between-unorm-and-srgb"],
    ),
    wrong(
        "resolves of depth make Close fail",
        lie!(refuses, Refused::ResolvesOfDepth),
        &["formats/resolve-of-depth"],
    ),
    wrong(
        "a view of which one aspect is read-only is read-only",
        lie!(depth_view, make_read_only),
        &["formats/read-only-aspects"],
    ),
    wrong(
        "DrawInstanced and Dispatch make Close fail",
        lie!(refuses, Refused::Draws),
        &["pipelines/list-that-draws"],
    ),
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
