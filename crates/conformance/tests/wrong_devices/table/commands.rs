//! Devices whose commands, fences and residency calls misbehave.

use heapwright_d3d12::*;

use super::wrong_devices;
use crate::lies::{Command, Refused, Request};

wrong_devices! {
    "CopyBufferRegion leaves out the last byte": copy = |_, _, len| *len -= 1
        => "copies/buffer-on-a-direct-queue", "copies/buffer-region";
    "CopyBufferRegion ignores the destination's offset": copy = |to, _, _| *to = 0
        => "copies/buffer-region";
    "CopyBufferRegion ignores the source's offset": copy = |_, from, _| *from = 0 => "copies/buffer-region";
    "queues do not wait for fences": ignores_wait
        => "fences/queue-waits-for-the-cpu", "fences/queue-waits-for-a-queue";
    "a shared handle becomes stale when its object is released": forgets_shared
        => "copies/shared-handle-keeps-its-buffer", "fences/shared-handle-keeps-its-fence";
    "a queue that waits for a fence keeps it alive": keeps_fences => "fences/release-releases-the-queue";
    "queues signal one more than they are asked to": signal = |value| value + 1 => "fences/queue-signals";
    "GetCompletedValue is one behind": completed = |value| value.saturating_sub(1)
        => "fences/initial-value", "fences/signal-from-the-cpu";
    "SetEventOnCompletion without an event never blocks": ignores_null_event => "fences/null-event-blocks";
    "MakeResident and Evict answer E_OUTOFMEMORY": residency = E_OUTOFMEMORY
        => "residency/heap-round-trip", "residency/counts-nest";
    "MakeResident and Evict do nothing": residency = S_OK => "residency/usage-follows";
    "Evict does nothing": evict = S_OK => "residency/usage-follows";
    "MakeResident does nothing": make_resident = S_OK => "residency/usage-follows";
    "UpdateTileMappings does nothing": drops_tiles
        => "tiles/mapping-is-where-it-says", "tiles/one-tile-everywhere",
           "tiles/null-arrays-have-defaults", "tiles/skipped-tiles-stay";
    "CopyTileMappings does nothing": drops_copied_tiles
        => "tiles/copied-mappings", "tiles/overlapping-mappings-are-copied";
    "WriteBufferImmediate does nothing": forgets = Command::WriteBufferImmediate
        => "copies/write-buffer-immediate";
    "MakeResident counts nothing": uncounted
        => "residency/one-of-two-evicts-changes-nothing", "residency/counts-nest";
    "CREATE_NOT_RESIDENT has no effect": heap = |desc| desc.Flags &= !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT
        => "residency/not-resident-takes-no-memory";
    "lists do not record CopyResource": forgets = Command::CopyResource
        => "copies/buffer-whole", "copies/texture-whole", "tiles/copied-mappings";
    "lists do not record CopyTextureRegion": forgets = Command::CopyTextureRegion
        => "copies/texture-region", "placement/texture-between-neighbours";
    "lists do not record CopyTiles": forgets = Command::CopyTiles => "tiles/copied-tiles";
    "lists do not record ClearRenderTargetView": forgets = Command::ClearRenderTargetView
        => "commands/clear-rectangles";
    "lists do not record ClearDepthStencilView": forgets = Command::ClearDepthStencilView
        => "commands/clear-rectangles-of-depth";
    "lists do not record ClearUnorderedAccessViewUint": forgets = Command::ClearUnorderedAccessViewUint
        => "copies/clear-unordered-access";
    "clears take their rectangles for none": ignores_rects
        => "commands/clear-rectangles", "commands/clear-rectangles-of-depth",
           "commands/clear-rectangles-of-a-buffer";
    "lists do not record ResolveSubresource": forgets = Command::ResolveSubresource => "commands/resolve";
    "lists do not record ResolveSubresourceRegion": forgets = Command::ResolveSubresourceRegion
        => "commands/resolve-region";
    "lists do not look at DiscardResource": forgets = Command::DiscardResource
        => "commands/discard-on-a-copy-list-refused";
    "lists do not look at enhanced barriers": forgets = Command::Barrier
        => "commands/barrier-from-undefined-with-an-access-refused",
           "commands/barrier-without-sync-with-an-access-refused",
           "commands/barrier-of-another-layout-refused", "commands/barrier-of-another-sync-refused";
    "a queue looks at a fence when all before the wait is done": waits_take_turns
        => "fences/queue-wait-is-released-for-good";
    "a value of a fence that is set back at once is not seen": coalesces_signals
        => "fences/first-wait-is-released-for-good", "fences/queue-wait-is-released-for-good",
           "fences/null-event-is-released-for-good";
    "ExecuteCommandLists closes open lists and executes them": closes_lists
        => "recording/open-list-removes-the-device";
    "a clear of a view whose heap is not set makes Close fail": refuses = Refused::ClearsWithoutHeaps
        => "recording/clear-without-descriptor-heaps";
    "a barrier of an UPLOAD resource makes Close fail": barriers = |barriers| refuse_upload(barriers)
        => "recording/barrier-of-an-upload-buffer";
    "a barrier whose NumArraySlices is 0 makes Close fail": texture_barrier = refuse_no_slices
        => "recording/barrier-of-no-slices";
    "copies between textures of two formats make Close fail": refuses = Refused::CopiesBetweenFormats
        => "recording/copyresource-between-families", "formats/texels-become-blocks",
           "formats/a-block-becomes-a-texel", "formats/depth-of-24-bits";
    "copies from a subresource to itself make Close fail": refuses = Refused::CopiesWithinSubresources
        => "copies/texture-region-within-a-subresource";
    "CopyTiles with D3D12_TILE_COPY_FLAG_NONE makes Close fail": refuses = Refused::TilesWithoutDirection
        => "tiles/copied-without-a-direction";
    "D24_UNORM_S8_UINT keeps the fourth byte": resource = widen_depth => "formats/depth-of-24-bits";
    "a clear to what a half float cannot hold makes it infinity": clear_color = |value| {
        if *value > 65_504.0 {
            *value = f32::INFINITY
        }
    } => "formats/clear-saturates-half-floats";
    "resolves between UNORM and sRGB make Close fail": refuses = Refused::ResolvesBetweenFormats
        => "formats/resolve-between-unorm-and-srgb";
    "resolves of depth make Close fail": refuses = Refused::ResolvesOfDepth => "formats/resolve-of-depth";
    "a view of which one aspect is read-only is read-only": depth_view = make_read_only
        => "formats/read-only-aspects";
}

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
