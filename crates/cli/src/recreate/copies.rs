//! Contents of buffers that the CPU cannot map: the GPU copies them from an upload buffer, and back to a readback
//! buffer.

#![expect(
    unsafe_code,
    reason = "calls of COM, each on live objects and with pointers that are valid during the call"
)]

use heapwright::{ByteSize, buffer_desc};
use heapwright_d3d12::windows_core::{Interface, Result};
use heapwright_d3d12::*;
use heapwright_trace::session::MAX_CONTENTS_LEN;

use super::com::{Creator, is_equal, write};

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
    pub(super) fn new(creator: &Creator) -> Result<Self> {
        let device = creator.device();
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
            let desc = buffer_desc(ByteSize::new(MAX_CONTENTS_LEN as u64));
            creator.committed(&properties, &desc, state, None)
        };
        let upload = staging(D3D12_HEAP_TYPE_UPLOAD, D3D12_RESOURCE_STATE_GENERIC_READ)?;
        let readback = staging(D3D12_HEAP_TYPE_READBACK, D3D12_RESOURCE_STATE_COPY_DEST)?;
        Ok(Self { device: device.clone(), queue, allocator, list, fence, fence_value: 0, upload, readback })
    }

    /// Copies the bytes of a record to a buffer and back, and returns whether they are the same. The buffer is in state
    /// COMMON, as it is after the call.
    pub(super) fn write(&mut self, buffer: &ID3D12Resource, offset: u64, bytes: &[u8]) -> Result<bool> {
        write(&self.upload, 0, bytes)?;
        // No byte is right before the GPU has copied it back.
        let wrong: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        write(&self.readback, 0, &wrong)?;
        let len = bytes.len() as u64;
        // Buffers return to COMMON after each submission, so that no barriers are needed.
        self.execute(|list, upload, _| {
            // SAFETY: live COM objects. Ranges beyond a buffer make `Close` fail.
            unsafe { list.CopyBufferRegion(buffer, offset, upload, 0, len) };
        })?;
        self.execute(|list, _, readback| {
            // SAFETY: as above.
            unsafe { list.CopyBufferRegion(readback, 0, buffer, offset, len) };
        })?;
        is_equal(&self.readback, 0, bytes)
    }

    /// Executes a copy from or to the staging buffers, and waits until it is done.
    fn execute(
        &mut self,
        copy: impl FnOnce(&ID3D12GraphicsCommandList, &ID3D12Resource, &ID3D12Resource),
    ) -> Result<()> {
        // SAFETY: live COM objects, which the GPU does not use: each submission is waited for.
        unsafe { self.allocator.Reset() }.ok()?;
        // SAFETY: as above; the list is closed.
        unsafe { self.list.Reset(&self.allocator, None) }.ok()?;
        copy(&self.list, &self.upload, &self.readback);
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
        let mut queue = CopyQueue::new(&creator).expect("a queue");
        let are_lost: &'static AtomicBool = Box::leak(Box::default());
        let list: ID3D12GraphicsCommandList10 = queue.list.cast().expect("the newest interface");
        // SAFETY: this is the list's newest interface, and this thread alone uses it. A list without a copy is a valid
        // one.
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
        for (is_lost, byte) in [(false, 0), (true, 7), (false, 7)] {
            are_lost.store(is_lost, Ordering::Relaxed);
            assert_eq!(queue.write(&buffer, 20, &[byte; 20]), Ok(!is_lost));
        }
    }
}
