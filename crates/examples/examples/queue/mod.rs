//! A queue that executes one list at a time.
#![allow(dead_code, reason = "each example uses a part")]

use std::error::Error;

use heapwright::FenceValue;
use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;

pub(crate) struct Queue {
    pub(crate) queue: ID3D12CommandQueue,
    /// Counts the executed lists.
    pub(crate) fence: ID3D12Fence,
    commands: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList,
    last: u64,
}

impl Queue {
    pub(crate) fn new(device: &ID3D12Device) -> Result<Self, Box<dyn Error>> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is alive, and each result is of the interface asked for.
        unsafe {
            let commands: ID3D12CommandAllocator = device.CreateCommandAllocator(kind)?;
            let list: ID3D12GraphicsCommandList = device.CreateCommandList(0, kind, &commands, None)?;
            list.Close().ok()?;
            let queue = device.CreateCommandQueue(&desc)?;
            let fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?;
            Ok(Self { queue, fence, commands, list, last: 0 })
        }
    }

    /// Returns the fence value that the next list reaches.
    pub(crate) fn next(&self) -> FenceValue {
        FenceValue::new(self.last + 1)
    }

    /// Returns the fence value of the last list.
    pub(crate) fn last(&self) -> FenceValue {
        FenceValue::new(self.last)
    }

    /// Executes a list that `record` records, after the previous one has finished.
    pub(crate) fn execute(
        &mut self,
        record: impl FnOnce(&ID3D12GraphicsCommandList),
    ) -> Result<(), Box<dyn Error>> {
        self.wait()?;
        // SAFETY: all objects are alive and belong to one device, and the GPU has finished the commands of the
        // allocator.
        unsafe {
            self.commands.Reset().ok()?;
            self.list.Reset(&self.commands, None).ok()?;
            record(&self.list);
            self.list.Close().ok()?;
            self.queue.ExecuteCommandLists(&[Some(self.list.cast()?)]);
            self.last += 1;
            self.queue.Signal(&self.fence, self.last).ok()?;
        }
        Ok(())
    }

    /// Waits until the last list has finished.
    pub(crate) fn wait(&self) -> Result<(), Box<dyn Error>> {
        // SAFETY: the fence is alive. Without an event, the call returns when the fence reaches the value.
        unsafe { self.fence.SetEventOnCompletion(self.last, HANDLE::default()).ok()? };
        Ok(())
    }
}
