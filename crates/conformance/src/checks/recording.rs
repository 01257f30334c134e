//! What lists record: D3D12 leaves most mistakes to the debug layer, and `Close` succeeds without it.

use heapwright_d3d12::*;

use super::commands::recorded;
use super::copies::{committed_for_copies, created, descriptors, pattern, read, readback, upload};
use crate::answer::{require, skipped};
use crate::check::{Check, Need, check};
use crate::com::commands::{self, CopyLocation};
use crate::com::device;
use crate::com::object;
use crate::desc::{buffer, rgba, texture2d, with_flags};
use crate::hresult::Named;

const DIRECT: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_DIRECT;
const CLOSE: &str = "Windows: ID3D12GraphicsCommandList::Close without the debug layer";
const REMOVED: &str = "vkd3d-proton, test_device_removed_reason";
const RANGE: &str = "DirectX-Specs, D3D12EnhancedBarriers.md, D3D12_BARRIER_SUBRESOURCE_RANGE";

pub(super) const CHECKS: &[Check] = &[
    check("recording/open-list-removes-the-device", REMOVED, &[Need::DeviceFactory], |ctx| {
        // The device under test must stay.
        let device = ctx.factory_device()?;
        if object::identity(&device) == object::identity(ctx.device()) {
            return skipped("the device factory gives out the device under test");
        }
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: DIRECT, ..Default::default() };
        let what = "on a device of its own";
        let queue = ctx.answer("CreateCommandQueue", commands::create_queue(&device, &desc)).ok(what)?;
        let allocator = commands::create_allocator(&device, DIRECT);
        let allocator = ctx.answer("CreateCommandAllocator", allocator).ok(what)?;
        let list = commands::create_list(&device, DIRECT, &allocator);
        let list = ctx.answer("CreateCommandList", list).ok(what)?;
        ctx.answer("ExecuteCommandLists", commands::execute(&queue, &[&list])).ok("an open list")?;
        let found = device::removed_reason(&device);
        require(found == DXGI_ERROR_INVALID_CALL, || {
            format!("GetDeviceRemovedReason: expected DXGI_ERROR_INVALID_CALL, found {}", Named(found))
        })?;
        Ok("DXGI_ERROR_INVALID_CALL".to_owned())
    })
    .validates(),
    check("recording/clear-without-descriptor-heaps", CLOSE, &[], |ctx| {
        let desc = with_flags(buffer(1024), D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let resource = created(ctx, &desc, D3D12_RESOURCE_STATE_UNORDERED_ACCESS)?;
        let views = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
        let heap = descriptors(ctx, views, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)?;
        let visible = descriptors(ctx, views, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE)?;
        commands::create_raw_view(ctx.device(), &resource, 256, &visible);
        let view = commands::create_raw_view(ctx.device(), &resource, 256, &heap);
        let (queue, what) = (ctx.queue(DIRECT)?, "a clear of a view whose heap is not set");
        let closed = recorded(ctx, &queue, what, |list| {
            list.clear_without_heaps(&resource, &visible, view);
            Ok(())
        });
        closed?.ok(what)?;
        Ok("Close succeeds".to_owned())
    }),
    check("recording/barrier-of-an-upload-buffer", CLOSE, &[], |ctx| {
        let resource = ctx.commit(D3D12_HEAP_TYPE_UPLOAD, &buffer(256)).ok("256 bytes")?;
        let (queue, what) = (ctx.queue(DIRECT)?, "a transition of an UPLOAD buffer");
        let closed = recorded(ctx, &queue, what, |list| {
            let (before, after) = (D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COPY_SOURCE);
            list.transition(&resource, before, after);
            Ok(())
        });
        closed?.ok(what)?;
        Ok("Close succeeds".to_owned())
    }),
    check("recording/copyresource-between-families", CLOSE, &[Need::Textures], |ctx| {
        let from = committed_for_copies(ctx, &rgba(4, 4))?;
        let to = committed_for_copies(ctx, &texture2d(DXGI_FORMAT_R32_FLOAT, 4, 4))?;
        let (queue, what) = (ctx.queue(DIRECT)?, "CopyResource of R8G8B8A8_UNORM to R32_FLOAT");
        let closed = recorded(ctx, &queue, what, |list| {
            list.copy_resource(&to, &from);
            Ok(())
        });
        closed?.ok(what)?;
        Ok("Close succeeds".to_owned())
    }),
    check(
        "recording/barrier-of-no-slices",
        RANGE,
        &[Need::Textures, Need::Footprints, Need::EnhancedBarriers],
        |ctx| {
            let desc = D3D12_RESOURCE_DESC { DepthOrArraySize: 3, ..rgba(64, 1) };
            let (queue, texture) = (ctx.queue(DIRECT)?, created(ctx, &desc, D3D12_RESOURCE_STATE_COMMON)?);
            let (source, target) = (upload(ctx, &pattern(256, 3))?, readback(ctx, 256)?);
            let layout = device::footprints(ctx.device(), &desc, 0, 1, 0).layouts[0];
            let nothing =
                (D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_NO_ACCESS, D3D12_BARRIER_LAYOUT_COMMON);
            let copy = D3D12_BARRIER_SYNC_COPY;
            let written = (copy, D3D12_BARRIER_ACCESS_COPY_DEST, D3D12_BARRIER_LAYOUT_COPY_DEST);
            let is_read = (copy, D3D12_BARRIER_ACCESS_COPY_SOURCE, D3D12_BARRIER_LAYOUT_COPY_SOURCE);
            let last = CopyLocation::Subresource(&texture, 2);
            let mut called = Ok(());
            queue.run(|list| {
                called = list.slice_barrier(&texture, 2, (nothing, written));
                list.copy_texture(last, (0, 0, 0), CopyLocation::Footprint(&source, layout), None);
                called = called.and(list.slice_barrier(&texture, 2, (written, is_read)));
                list.copy_texture(CopyLocation::Footprint(&target, layout), (0, 0, 0), last, None);
            })?;
            ctx.answer("ID3D12GraphicsCommandList7", called).ok("a direct list")?;
            require(read(ctx, &target, 256)? == pattern(256, 3), || "other texels arrived".to_owned())?;
            Ok("NumArraySlices 0 is one slice, the last of three".to_owned())
        },
    ),
];
