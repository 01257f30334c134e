//! A D3D12 queue with a list and a fence, and the calls that the measurements need.

use std::ptr::null_mut;

use heapwright::d3d12::windows_core::Interface as _;
use heapwright::d3d12::*;
use heapwright_runtime::Instance;

use super::Result;

/// A queue of a device, which executes one list at a time.
pub struct Queue {
    /// The device.
    pub device: ID3D12Device,
    /// The queue.
    pub queue: ID3D12CommandQueue,
    /// The list, which records.
    pub list: ID3D12GraphicsCommandList,
    allocator: ID3D12CommandAllocator,
    fence: ID3D12Fence,
    value: u64,
}

/// Opens the Vulkan device with an index.
///
/// # Errors
///
/// Returns the runtime's error.
pub fn open(index: usize) -> Result<Instance> {
    Ok(Instance::open_vulkan(index, Default::default(), &[])?)
}

impl Queue {
    /// Creates a queue for copies.
    ///
    /// # Errors
    ///
    /// Returns the errors of the device.
    pub fn new(device: &ID3D12Device) -> Result<Self> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
        // SAFETY: the device is a live COM object, and the description is valid.
        unsafe {
            let queue = device.CreateCommandQueue(&desc)?;
            let allocator: ID3D12CommandAllocator = device.CreateCommandAllocator(kind)?;
            let list = device.CreateCommandList(0, kind, &allocator, None)?;
            let fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?;
            Ok(Self { device: device.clone(), queue, list, allocator, fence, value: 0 })
        }
    }

    /// Records a copy.
    pub fn copy(&self, target: (&ID3D12Resource, u64), source: (&ID3D12Resource, u64), size: u64) {
        // SAFETY: the list records, and both buffers are alive until `run` returns.
        unsafe { self.list.CopyBufferRegion(target.0, target.1, source.0, source.1, size) };
    }

    /// Closes the list.
    ///
    /// # Errors
    ///
    /// Returns the error of a command that was recorded.
    pub fn close(&self) -> Result<ID3D12CommandList> {
        // SAFETY: the list records.
        unsafe { self.list.Close() }.ok()?;
        Ok(self.list.cast()?)
    }

    /// Closes the list and executes it, and waits.
    ///
    /// # Errors
    ///
    /// Returns the error of a command that was recorded, or the reason for the removal of the device.
    pub fn run(&mut self) -> Result<()> {
        let list = self.close()?;
        // SAFETY: the list is closed, and its resources are alive and resident.
        unsafe { self.queue.ExecuteCommandLists(&[Some(list)]) };
        self.wait()
    }

    /// Waits for the queue, and lets the list record again.
    ///
    /// # Errors
    ///
    /// Returns the reason for the removal of the device.
    pub fn wait(&mut self) -> Result<()> {
        self.value += 1;
        // SAFETY: live COM objects; the list is closed, and its commands are done after the wait.
        unsafe {
            self.queue.Signal(&self.fence, self.value).ok()?;
            self.fence.SetEventOnCompletion(self.value, HANDLE::default()).ok()?;
            self.device.GetDeviceRemovedReason().ok()?;
            self.allocator.Reset().ok()?;
            self.list.Reset(&self.allocator, None).ok()?;
        }
        Ok(())
    }
}

/// Creates a heap for buffers.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn heap(device: &ID3D12Device, kind: D3D12_HEAP_TYPE, size: u64) -> Result<ID3D12Heap> {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: D3D12_HEAP_PROPERTIES { Type: kind, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut heap: Option<ID3D12Heap> = None;
    // SAFETY: the device is a live COM object, the description readable and the result writable.
    unsafe { device.CreateHeap(&desc, &mut heap) }?;
    heap.ok_or_else(|| "S_OK without a heap".into())
}

/// Creates a buffer in a heap.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn placed(heap: &ID3D12Heap, kind: D3D12_HEAP_TYPE, offset: u64, size: u64) -> Result<ID3D12Resource> {
    let desc = heapwright::buffer_desc(heapwright::ByteSize::new(size));
    let state = match kind {
        D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    };
    let mut device: Option<ID3D12Device> = None;
    let mut buffer: Option<ID3D12Resource> = None;
    // SAFETY: the heap is a live COM object; description and results outlive the calls.
    unsafe {
        heap.GetDevice(&mut device)?;
        let device = device.ok_or("S_OK without a device")?;
        device.CreatePlacedResource(heap, offset, &desc, state, None, &mut buffer)?;
    }
    buffer.ok_or_else(|| "S_OK without a buffer".into())
}

/// Maps a buffer of a heap that the CPU accesses. The pointer is valid while the heap is alive.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn map(buffer: &ID3D12Resource) -> Result<*mut u8> {
    let mut start = null_mut();
    // SAFETY: the buffer is a live COM object, and the result writable.
    unsafe { buffer.Map(0, None, &mut start) }.ok()?;
    Ok(start.cast())
}
