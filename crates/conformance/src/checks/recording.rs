//! Mistakes in recorded commands: without the debug layer D3D12 detects few of them, and `Close` succeeds.

use heapwright_d3d12::*;

use super::copies::committed_for_copies;
use crate::answer::{ensure, require, skipped};
use crate::check::{Check, Need, check, validation};
use crate::com::barriers::Enhanced;
use crate::com::commands::{self, CopyLocation};
use crate::com::{device, object};
use crate::desc::{COMMON, COPY_SOURCE, DIRECT, UPLOAD, buffer, rgba, texture2d, with_slices};
use crate::hresult::Named;
use crate::queue::{open_list, pattern, read};
use crate::target::UnorderedBuffer;

const CLOSE: &str = "observed on Windows, ID3D12GraphicsCommandList::Close without the debug layer";
const REMOVED: &str = "vkd3d-proton, test_device_removed_reason";
const RANGE: &str = "DirectX-Specs, D3D12EnhancedBarriers.md, D3D12_BARRIER_SUBRESOURCE_RANGE";
const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints, Need::EnhancedBarriers];

pub(super) const CHECKS: &[Check] = &[
    validation("recording/open-list-removes-the-device", REMOVED, &[Need::DeviceFactory], |ctx| {
        // The device under test must stay.
        let device = ctx.factory_device()?;
        if object::identity(&device) == object::identity(ctx.device()) {
            return skipped("the device factory returns the device under test");
        }
        let queue = commands::create_queue(&device, DIRECT).ok("a second device")?;
        let (list, _allocator) = open_list(&device, DIRECT)?;
        commands::execute(&queue, &[&list]).ok("an open list")?;
        let found = device::removed_reason(&device);
        require(found == DXGI_ERROR_INVALID_CALL, || {
            format!("GetDeviceRemovedReason: expected DXGI_ERROR_INVALID_CALL, found {}", Named(found))
        })
    }),
    check("recording/clear-without-descriptor-heaps", CLOSE, &[], |ctx| {
        let (queue, buffer) = (ctx.queue(DIRECT)?, UnorderedBuffer::new(ctx, 256)?);
        queue.closes(|list| buffer.clear(list, 0, &[]))?.taken("a clear of a view whose heap is not set")
    }),
    check("recording/barrier-of-an-upload-buffer", CLOSE, &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        let (queue, what) = (ctx.queue(DIRECT)?, "a transition of an UPLOAD buffer");
        queue
            .closes(|list| {
                let (before, after) = (D3D12_RESOURCE_STATE_GENERIC_READ, COPY_SOURCE);
                list.transition(&resource, before, after);
            })?
            .taken(what)
    }),
    check("recording/copyresource-between-families", CLOSE, &[Need::Textures], |ctx| {
        let from = committed_for_copies(ctx, &rgba(4, 4))?;
        let to = committed_for_copies(ctx, &texture2d(DXGI_FORMAT_R32_FLOAT, 4, 4))?;
        let (queue, what) = (ctx.queue(DIRECT)?, "CopyResource of R8G8B8A8_UNORM to R32_FLOAT");
        queue
            .closes(|list| {
                list.copy_resource(&to, &from);
            })?
            .taken(what)
    }),
    check("recording/barrier-of-no-slices", RANGE, TEXTURES, |ctx| {
        let desc = with_slices(rgba(64, 1), 3);
        let (queue, texture) = (ctx.queue(DIRECT)?, ctx.created(&desc, COMMON)?);
        let (source, target) = (queue.upload(&pattern(256, 3))?, queue.readback(256)?);
        let layout = device::footprints(ctx.device(), &desc, 0, 1, 0).layouts[0];
        let nothing = (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_NO_ACCESS);
        let written = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_DEST);
        let is_read = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE);
        let (common, to, from) =
            (D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_COPY_DEST, D3D12_BARRIER_LAYOUT_COPY_SOURCE);
        let barrier = |scopes, layouts| {
            [Enhanced::Texture { resource: &texture, scopes, layouts, slice: Some(2), discards: false }]
        };
        let last = CopyLocation::Subresource(&texture, 2);
        queue.run(|list| {
            list.enhanced(&barrier((nothing, written), (common, to))).ok("a direct list")?;
            list.copy_texture(last, CopyLocation::Footprint(&source, layout));
            list.enhanced(&barrier((written, is_read), (to, from))).ok("a direct list")?;
            list.copy_texture(CopyLocation::Footprint(&target, layout), last);
            Ok(())
        })?;
        ensure!(read(&target, 256)? == pattern(256, 3), "the copied texels differ from the source");
        Ok("NumArraySlices 0 is one slice, the last of three".to_owned())
    }),
];
