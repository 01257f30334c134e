//! Contents of buffers that the CPU cannot map: the GPU copies them from an upload buffer, and back to a readback buffer.

#![expect(
    unsafe_code,
    reason = "calls of COM, each on live objects and with pointers that are valid during the call"
)]

use heapwright::{ByteSize, buffer_desc};
use heapwright_d3d12::windows_core::{Interface, Result};
use heapwright_d3d12::*;

use super::com::{Creator, is_equal, write};

/// Length of the upload buffer and of the readback buffer.
pub(super) const STAGING_LEN: usize = 4 << 20;

/// Bytes for a buffer, from an offset on that is in the buffer together with all bytes.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) buffer: &'a ID3D12Resource,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
}

/// A copy queue and its buffers.
pub(super) struct CopyQueue {
    device: ID3D12Device,
    queue: ID3D12CommandQueue,
    allocator: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    fence: ID3D12Fence,
    fence_value: u64,
    upload: ID3D12Resource,
    readback: ID3D12Resource,
}

impl CopyQueue {
    pub(super) fn new(device: &ID3D12Device, creator: &Creator) -> Result<Self> {
        let list_type = D3D12_COMMAND_LIST_TYPE_COPY;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
        // SAFETY: a live COM object and a description that is read.
        let queue = unsafe { device.CreateCommandQueue(&desc) }?;
        // SAFETY: a live COM object.
        let allocator: ID3D12CommandAllocator = unsafe { device.CreateCommandAllocator(list_type) }?;
        // SAFETY: live COM objects.
        let list: ID3D12GraphicsCommandList =
            unsafe { device.CreateCommandList(0, list_type, &allocator, None) }?;
        // SAFETY: a live COM object. It is opened by each batch.
        unsafe { list.Close() }.ok()?;
        // SAFETY: a live COM object.
        let fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }?;
        let staging = |heap_type, state| {
            let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
            let desc = buffer_desc(ByteSize::new(STAGING_LEN as u64));
            creator.committed(&properties, &desc, state, None)
        };
        let upload = staging(D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ)?;
        let readback = staging(D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST)?;
        Ok(Self { device: device.clone(), queue, allocator, list, fence, fence_value: 0, upload, readback })
    }

    /// Copies parts to their buffers and back, and returns for each of them whether the bytes are the same. They have at most
    /// [`STAGING_LEN`] bytes together, and their buffers are in state COMMON, as they are after the call.
    pub(super) fn write(&mut self, parts: &[Part<'_>]) -> Result<Vec<bool>> {
        let mut end = 0;
        let starts: Vec<u64> = parts
            .iter()
            .map(|part| {
                let start = end;
                end += part.bytes.len() as u64;
                start
            })
            .collect();
        for (part, &start) in parts.iter().zip(&starts) {
            write(&self.upload, start, part.bytes)?;
            // No byte is right before the GPU has copied it back.
            let wrong: Vec<u8> = part.bytes.iter().map(|byte| !byte).collect();
            write(&self.readback, start, &wrong)?;
        }
        // Buffers return to COMMON after each submission, so that no barriers are needed.
        let upload = self.upload.clone();
        self.execute(parts.iter().zip(&starts).map(|(part, &start)| Copy {
            to: part.buffer,
            to_offset: part.offset,
            from: &upload,
            from_offset: start,
            len: part.bytes.len() as u64,
        }))?;
        let readback = self.readback.clone();
        self.execute(parts.iter().zip(&starts).map(|(part, &start)| Copy {
            to: &readback,
            to_offset: start,
            from: part.buffer,
            from_offset: part.offset,
            len: part.bytes.len() as u64,
        }))?;
        parts.iter().zip(&starts).map(|(part, &start)| is_equal(&self.readback, start, part.bytes)).collect()
    }

    /// Executes copies, and waits until they are done.
    fn execute<'a>(&mut self, copies: impl Iterator<Item = Copy<'a>>) -> Result<()> {
        // SAFETY: live COM objects, which the GPU does not use: each submission is waited for.
        unsafe { self.allocator.Reset() }.ok()?;
        // SAFETY: as above; the list is closed.
        unsafe { self.list.Reset(&self.allocator, None) }.ok()?;
        for Copy { to, to_offset, from, from_offset, len } in copies {
            // SAFETY: live COM objects. Ranges beyond a buffer make `Close` fail.
            unsafe { self.list.CopyBufferRegion(to, to_offset, from, from_offset, len) };
        }
        // SAFETY: a live COM object.
        unsafe { self.list.Close() }.ok()?;
        let lists = [Some(self.list.cast::<ID3D12CommandList>()?)];
        // SAFETY: the list is closed, and what it uses is alive and resident until the wait below has ended.
        unsafe { self.queue.ExecuteCommandLists(&lists) };
        self.fence_value += 1;
        // SAFETY: live COM objects.
        unsafe { self.queue.Signal(&self.fence, self.fence_value) }.ok()?;
        // SAFETY: a live COM object. Without an event, the call waits; a removed device ends the wait.
        unsafe { self.fence.SetEventOnCompletion(self.fence_value, HANDLE::default()) }.ok()?;
        // SAFETY: a live COM object.
        unsafe { self.device.GetDeviceRemovedReason() }.ok()
    }
}

struct Copy<'a> {
    to: &'a ID3D12Resource,
    to_offset: u64,
    from: &'a ID3D12Resource,
    from_offset: u64,
    len: u64,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use heapwright_intercept::{intercept, method};
    use heapwright_runtime::{HostProfile, Instance};

    use super::*;

    /// Copies that the GPU does not execute are noticed, although the readback buffer has the same bytes from before.
    #[test]
    fn bytes_that_are_not_copied_are_not_found() {
        let gpu = Instance::open(HostProfile::default_profile()).expect("a device");
        let creator = Creator::new(gpu.device.clone(), false).expect("a device");
        let mut queue = creator.copy_queue().expect("a queue");
        let are_lost: &'static AtomicBool = Box::leak(Box::default());
        let list: ID3D12GraphicsCommandList10 = queue.list.cast().expect("the newest interface");
        // SAFETY: this is the list's newest interface, and this thread alone uses it. A list without a copy is a valid one.
        unsafe {
            intercept(&list, are_lost, |methods| {
                let methods = methods.of::<ID3D12GraphicsCommandList>();
                methods.replace(
                    method!(CopyBufferRegion),
                    |call, (to, to_offset, from, from_offset, len)| {
                        if !call.data.load(Ordering::Relaxed) {
                            (call.original.CopyBufferRegion)(
                                call.this,
                                to,
                                to_offset,
                                from,
                                from_offset,
                                len,
                            );
                        }
                    },
                );
            });
        }
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let desc = buffer_desc(ByteSize::new(64));
        let buffer =
            creator.committed(&properties, &desc, D3D12_RESOURCE_STATE_COMMON, None).expect("a buffer");
        let parts = [0, 7].map(|byte| vec![byte; 20]);
        let parts = [0, 1].map(|at| Part { buffer: &buffer, offset: 20 * at as u64, bytes: &parts[at] });
        assert_eq!(queue.write(&parts).expect("executed"), [true, true]);
        are_lost.store(true, Ordering::Relaxed);
        assert_eq!(queue.write(&parts).expect("executed"), [false, false]);
        are_lost.store(false, Ordering::Relaxed);
        assert_eq!(queue.write(&parts).expect("executed"), [true, true]);
    }
}
