//! Copies, clears and barriers, and their effect on the contents of resources.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, each, ensure, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::barriers::Enhanced;
use crate::com::commands::{self, CopyLocation};
use crate::com::memory;
use crate::context::Context;
use crate::desc::*;
use crate::queue::{fill, pattern, read};
use crate::target::UnorderedBuffer;
use crate::transfer::Staged;

const BUFFER: &str = "Learn, ID3D12GraphicsCommandList::CopyBufferRegion";
const TEXTURE: &str = "Learn, ID3D12GraphicsCommandList::CopyTextureRegion";
const IMMEDIATE: &str = "Learn, ID3D12GraphicsCommandList2::WriteBufferImmediate";
const BARRIER: &str = "Learn, ID3D12GraphicsCommandList7::Barrier";
const GPU_UPLOAD_USE: &str = "UPLOAD, How to use this feature";
const ZEROED: &str = "Learn, D3D12_HEAP_FLAGS, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED";
const CLEAR_BUFFER: &str = "Learn, ID3D12GraphicsCommandList::ClearUnorderedAccessViewUint";
const DISCARD: &str = "Learn, ID3D12GraphicsCommandList::DiscardResource";
const SHARED: &str = "Learn, ID3D12Device::CreateSharedHandle";

const TEXTURES: &[Need] = &[Need::Textures, Need::Footprints];

pub(super) const CHECKS: &[Check] = &[
    check("copies/buffer-on-a-direct-queue", BUFFER, &[], |ctx| through_default(ctx, 4096)),
    check("copies/buffer-of-one-byte", BUFFER, &[], |ctx| through_default(ctx, 1)),
    check("copies/buffer-of-an-odd-size", BUFFER, &[], |ctx| through_default(ctx, 65_537)),
    check("copies/buffer-of-4-mib", BUFFER, &[], |ctx| through_default(ctx, 4 * 1024 * 1024)),
    check("copies/buffer-region", BUFFER, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let (from, to) = (queue.upload(&pattern(1000, 1))?, queue.readback(1000)?);
        fill(&to, 0xee)?;
        queue.run(|list| list.copy_buffer((&to, 333), (&from, 77), 101))?;
        let found = read(&to, 1000)?;
        let source = pattern(1000, 1);
        require(found[..333].iter().chain(&found[434..]).all(|&byte| byte == 0xee), || {
            "bytes outside the region changed".to_owned()
        })?;
        ensure!(found[333..434] == source[77..178], "the bytes of the region differ from the source");
        Ok("101 bytes from 77 to 333, no others".to_owned())
    }),
    check("copies/default-heap-is-zero", ZEROED, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let dirt = queue.upload(&vec![0xa5; 64 * 1024])?;
        let target = queue.readback(64 * 1024)?;
        each(0..4, |round| {
            let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
            let resource = ctx.place(&heap, 0, &buffer(64 * KIB)).ok("the whole heap")?;
            queue.run(|list| list.copy_resource(&target, &resource))?;
            let found = read(&target, 64 * 1024)?;
            ensure!(found.iter().all(|&byte| byte == 0), "new memory is not zero in round {round}");
            queue.run(|list| list.copy_resource(&resource, &dirt))
        })
    }),
    check("copies/lists-run-in-order", "Learn, ID3D12CommandQueue::ExecuteCommandLists", &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let middle = ctx.commit(DEFAULT, &buffer(256)).ok("256 bytes")?;
        let target = queue.readback(256)?;
        each(0..20, |seed| {
            let source = queue.upload(&pattern(256, seed))?;
            queue.run(|list| {
                list.copy_buffer((&middle, 0), (&source, 0), 256);
                list.transition(&middle, COPY_DEST, COPY_SOURCE);
                list.copy_buffer((&target, 0), (&middle, 0), 256);
            })?;
            require(read(&target, 256)? == pattern(256, seed), || {
                format!("the bytes after list {seed} differ from its source")
            })
        })
    }),
    check("copies/queues-hand-over", "Learn, ID3D12CommandQueue::Wait", &[], |ctx| {
        let (first, second) = (ctx.queue(COPY)?, ctx.queue(DIRECT)?);
        let middle = ctx.commit(DEFAULT, &buffer(256 * KIB)).ok("256 KiB")?;
        let (source, target) = (first.upload(&pattern(256 * 1024, 6))?, second.readback(256 * 1024)?);
        first.record(|list| {
            list.copy_resource(&middle, &source);
            Ok(())
        })?;
        second.record(|list| {
            list.copy_resource(&target, &middle);
            Ok(())
        })?;
        let written = first.submit()?;
        let wait = commands::queue_wait(&second.queue, &first.fence, written);
        wait.ok("the copy queue's fence")?;
        second.wait(second.submit()?)?;
        require(read(&target, 256 * 1024)? == pattern(256 * 1024, 6), || {
            "the buffer was read before it was written".to_owned()
        })
    }),
    check("copies/gpu-upload-is-a-source", GPU_UPLOAD_USE, &[Need::GpuUploadHeaps], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let source = ctx.commit(GPU_UPLOAD, &buffer(1000)).ok("1000 bytes")?;
        ctx.map(&source).ok("a GPU_UPLOAD buffer")?.write(0, &pattern(1000, 7));
        let target = queue.readback(1000)?;
        queue.run(|list| list.copy_resource(&target, &source))?;
        ensure!(read(&target, 1000)? == pattern(1000, 7), "the copied bytes differ from the source");
        Ok("the GPU reads what the CPU wrote".to_owned())
    }),
    check("copies/write-buffer-immediate", IMMEDIATE, &[], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let target = queue.readback(64)?;
        let address = memory::address(&target);
        queue.record(|list| list.write_immediate(address + 8, 0x1234_5678).ok("4 bytes"))?;
        queue.wait(queue.submit()?)?;
        let found = read(&target, 64)?;
        require_eq("4 bytes at 8", found[8..12].to_vec(), 0x1234_5678_u32.to_le_bytes().to_vec())?;
        require(found[..8].iter().chain(&found[12..]).all(|&byte| byte == 0), || {
            "bytes outside the write changed".to_owned()
        })
    }),
    check("copies/enhanced-global-barrier", BARRIER, &[Need::EnhancedBarriers], |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let middle = ctx.commit(DEFAULT, &buffer(256)).ok("256 bytes")?;
        let (source, target) = (queue.upload(&pattern(256, 8))?, queue.readback(256)?);
        queue.record(|list| {
            list.copy_resource(&middle, &source);
            list.enhanced(&[Enhanced::Global]).ok("a global barrier")?;
            list.copy_resource(&target, &middle);
            Ok(())
        })?;
        queue.wait(queue.submit()?)?;
        ensure!(read(&target, 256)? == pattern(256, 8), "the copied bytes differ from the source");
        Ok("the write precedes the read".to_owned())
    }),
    check("copies/texture-region", TEXTURE, TEXTURES, |ctx| {
        let desc = rgba(64, 64);
        let (queue, staged) = (ctx.queue(DIRECT)?, Staged::of(ctx.device(), &desc)?);
        let bytes = pattern(staged.len, 10);
        let (source, target) = (queue.upload(&bytes)?, queue.readback(staged.len)?);
        let texture = committed_for_copies(ctx, &desc)?;
        let part = D3D12_BOX { left: 8, top: 16, front: 0, right: 24, bottom: 20, back: 1 };
        queue.run(|list| {
            let from = CopyLocation::Footprint(&source, staged.layouts[0]);
            list.copy_texture_to(CopyLocation::Subresource(&texture, 0), (40, 50, 0), from, Some(part));
            to_source(list, &texture);
            staged.read(list, &texture, &target);
        })?;
        let found = read(&target, bytes.len())?;
        for row in 0..4 {
            let (to, from) = ((50 + row) * 256 + 40 * 4, (16 + row) * 256 + 8 * 4);
            ensure!(found[to..to + 64] == bytes[from..from + 64], "row {row} of the region differs");
        }
        ensure!(found[..256].iter().all(|&byte| byte == 0), "texels outside the region changed");
        Ok("16 by 4 texels".to_owned())
    }),
    check("copies/texture-region-within-a-subresource", TEXTURE, TEXTURES, |ctx| {
        let desc = rgba(64, 64);
        // On a copy queue textures are in COMMON before each list and behind it, and need no barriers.
        let (queue, texture) = (ctx.queue(COPY)?, ctx.created(&desc, COMMON)?);
        let (staged, whole) = (Staged::of(ctx.device(), &desc)?, CopyLocation::Subresource(&texture, 0));
        let bytes = pattern(staged.len, 10);
        let (source, target) = (queue.upload(&bytes)?, queue.readback(staged.len)?);
        let left = D3D12_BOX { left: 0, top: 0, front: 0, right: 32, bottom: 64, back: 1 };
        queue.run(|list| staged.write(list, &texture, &source))?;
        queue.run(|list| list.copy_texture_to(whole, (32, 0, 0), whole, Some(left)))?;
        queue.run(|list| staged.read(list, &texture, &target))?;
        let found = read(&target, bytes.len())?;
        for (row, (found, written)) in found.chunks(256).zip(bytes.chunks(256)).enumerate() {
            let is_copied = found[..128] == written[..128] && found[128..] == written[..128];
            ensure!(is_copied, "row {row} does not contain its left half twice");
        }
        Ok("the left half to the right half".to_owned())
    }),
    check("copies/clear-unordered-access", CLEAR_BUFFER, &[], |ctx| {
        let (queue, buffer) = (ctx.queue(DIRECT)?, UnorderedBuffer::new(ctx, 128)?);
        // Memory need not be zero everywhere: what is behind the view is to stay what it is.
        let before = buffer.bytes(&queue)?;
        queue.run(|list| {
            list.set_descriptor_heap(&buffer.visible);
            buffer.clear(list, 0x0102_0304, &[]);
        })?;
        let found = buffer.bytes(&queue)?;
        ensure!(found[..512] == [4, 3, 2, 1].repeat(128), "the first element is {:?}", &found[..4]);
        ensure!(found[512..] == before[512..], "bytes after the view changed");
        Ok("128 elements, no others".to_owned())
    }),
    check("copies/discard-is-harmless", DISCARD, TEXTURES, |ctx| {
        let queue = ctx.queue(DIRECT)?;
        let state = RENDER_TARGET;
        let texture = ctx.created(&render_target(64, 64), state)?;
        queue.run(|list| list.discard(&texture, None))?;
        Ok("the device is not removed".to_owned())
    }),
    check("copies/shared-handle-keeps-its-buffer", SHARED, &[], |ctx| {
        let resource = shared_buffer(ctx)?;
        let handle = commands::create_shared_handle(ctx.device(), &resource).ok("a shared buffer")?;
        drop(resource);
        let opened = commands::open_shared_handle(ctx.device(), &handle);
        let opened: ID3D12Resource = opened.ok("a handle whose buffer was released")?;
        require_eq("Width", memory::desc(&opened).Width, 64 * KIB)
    }),
    check("copies/unshared-handle-refused", SHARED, &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(64 * KIB)).ok("a buffer")?;
        commands::create_shared_handle(ctx.device(), &resource)
            .refused("a buffer without D3D12_HEAP_FLAG_SHARED")
    }),
];

fn shared_buffer(ctx: &Context) -> Result<ID3D12Resource, Stop> {
    let home = properties(DEFAULT);
    ctx.commit_with(&home, D3D12_HEAP_FLAG_SHARED, &buffer(64 * KIB)).ok("a shared buffer")
}

/// Copies bytes from an UPLOAD buffer through a DEFAULT buffer to a READBACK buffer and compares them.
fn through_default(ctx: &Context, len: usize) -> Verdict {
    let (queue, bytes) = (ctx.queue(DIRECT)?, pattern(len, 9));
    let (source, target) = (queue.upload(&bytes)?, queue.readback(len)?);
    let desc = buffer(u64::try_from(len).unwrap_or(u64::MAX));
    let (staged, middle) = (Staged::of(ctx.device(), &desc)?, ctx.commit(DEFAULT, &desc).ok("a buffer")?);
    queue.run(|list| staged.write(list, &middle, &source))?;
    queue.run(|list| staged.read(list, &middle, &target))?;
    staged.same(&read(&target, len)?, &bytes)
}

/// Creates a committed texture in COPY_DEST.
pub(super) fn committed_for_copies(
    ctx: &Context,
    desc: &D3D12_RESOURCE_DESC,
) -> Result<ID3D12Resource, Stop> {
    ctx.created(desc, COPY_DEST)
}

/// Transitions a texture from COPY_DEST to COPY_SOURCE.
pub(super) fn to_source(list: &commands::List, texture: &ID3D12Resource) {
    list.transition(texture, COPY_DEST, COPY_SOURCE);
}
