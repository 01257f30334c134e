//! A simulated GPU with a queue, whose device tracks aliasing.

use std::error::Error;
use std::mem::ManuallyDrop;

use heapwright_d3d12::*;
use heapwright_runtime::aliasing::AliasingTracking;
use heapwright_runtime::{DeviceOptions, HostProfile, Instance};
use windows_core::Interface as _;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(crate) struct Gpu {
    pub(crate) instance: Instance,
    pub(crate) device: ID3D12Device3,
    pub(crate) queue: ID3D12CommandQueue,
    fence: ID3D12Fence,
}

impl Gpu {
    pub(crate) fn open(profile: &HostProfile, tracking: AliasingTracking) -> Result<Self> {
        let options = DeviceOptions { aliasing: Some(tracking), ..Default::default() };
        let instance = Instance::open_with(profile, options)?;
        let device: ID3D12Device3 = instance.device.cast()?;
        // SAFETY: the device is a live COM object, and the description is a valid one.
        let (queue, fence) = unsafe {
            let desc =
                D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_DIRECT, ..Default::default() };
            (device.CreateCommandQueue(&desc)?, device.CreateFence(0, D3D12_FENCE_FLAG_NONE)?)
        };
        Ok(Self { instance, device, queue, fence })
    }

    pub(crate) fn committed(
        &self,
        heap_type: D3D12_HEAP_TYPE,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
    ) -> Result<ID3D12Resource> {
        let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
        let mut made = None;
        // SAFETY: the device is a live COM object, and the descriptions are readable.
        unsafe {
            let flags = D3D12_HEAP_FLAG_NONE;
            self.device.CreateCommittedResource(&properties, flags, desc, state, None, &mut made)?;
        }
        Ok(made.ok_or("no resource")?)
    }

    /// Creates a heap of type DEFAULT.
    pub(crate) fn heap(&self, size: u64, flags: D3D12_HEAP_FLAGS) -> Result<ID3D12Heap> {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let desc =
            D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, Flags: flags, ..Default::default() };
        let mut made = None;
        // SAFETY: the device is a live COM object, and the description is readable.
        unsafe { self.device.CreateHeap(&desc, &mut made) }?;
        Ok(made.ok_or("no heap")?)
    }

    /// Places a resource at the start of a heap.
    pub(crate) fn placed(
        &self,
        heap: &ID3D12Heap,
        desc: &D3D12_RESOURCE_DESC,
        state: D3D12_RESOURCE_STATES,
        name: &str,
    ) -> Result<ID3D12Resource> {
        let mut made: Option<ID3D12Resource> = None;
        // SAFETY: the device and the heap are live COM objects, and the description is readable.
        unsafe { self.device.CreatePlacedResource(heap, 0, desc, state, None, &mut made) }?;
        let made = made.ok_or("no resource")?;
        let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
        // SAFETY: the name ends with a zero.
        unsafe { made.SetName(PCWSTR(name.as_ptr())) }.ok()?;
        Ok(made)
    }

    /// Executes a list.
    pub(crate) fn execute(&self, record: impl FnOnce(&ID3D12GraphicsCommandList)) -> Result<()> {
        let kind = D3D12_COMMAND_LIST_TYPE_DIRECT;
        // SAFETY: all of them are live COM objects. The queue keeps what it executes alive in this runtime.
        unsafe {
            let allocator: ID3D12CommandAllocator = self.device.CreateCommandAllocator(kind)?;
            let list: ID3D12GraphicsCommandList = self.device.CreateCommandList(0, kind, &allocator, None)?;
            record(&list);
            list.Close().ok()?;
            self.queue.ExecuteCommandLists(&[Some(list.cast()?)]);
        }
        Ok(())
    }

    /// Waits for the queue, and returns the reason why the device was removed, if it was.
    pub(crate) fn wait(&self) -> Result<Option<windows_core::HRESULT>> {
        // SAFETY: both are live COM objects. Without an event, the call waits itself. A removed device sets all fences.
        unsafe {
            let value = self.fence.GetCompletedValue().wrapping_add(1);
            if self.queue.Signal(&self.fence, value).is_ok() {
                self.fence.SetEventOnCompletion(value, HANDLE::default()).ok()?;
            }
            let reason = self.device.GetDeviceRemovedReason();
            Ok(Some(reason).filter(|reason| reason.is_err()))
        }
    }

    /// Returns the violations of aliasing rules as text, a line each.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.instance.aliasing_violations().iter().map(ToString::to_string).collect()
    }

    /// Returns the last message of the debug layer that contains a word.
    pub(crate) fn message_with(&self, word: &str) -> Option<String> {
        let messages = self.instance.messages();
        messages.into_iter().rev().map(|(_, text)| text).find(|text| text.contains(word))
    }
}

pub(crate) fn buffer(size: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: size,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

pub(crate) fn render_target(samples: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 64,
        Height: 64,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..Default::default()
    }
}

/// Calls a function with the bytes of a buffer that the CPU can map.
pub(crate) fn with_bytes<T>(resource: &ID3D12Resource, call: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
    let mut start = std::ptr::null_mut();
    // SAFETY: the resource is a buffer in a heap of the CPU, and the GPU does not use it meanwhile.
    unsafe {
        let size = usize::try_from(resource.GetDesc().Width)?;
        resource.Map(0, None, &mut start).ok()?;
        let result = call(std::slice::from_raw_parts_mut(start.cast(), size));
        resource.Unmap(0, None);
        Ok(result)
    }
}

/// Records a transition of all subresources.
pub(crate) fn transition(
    list: &ID3D12GraphicsCommandList,
    resource: &ID3D12Resource,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) {
    // SAFETY: lends the resource to the barrier: nothing releases it.
    let lent = unsafe { ID3D12Resource::from_raw(resource.as_raw()) };
    let barrier = D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                pResource: ManuallyDrop::new(Some(lent)),
                Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                StateBefore: before,
                StateAfter: after,
            }),
        },
    };
    // SAFETY: the list is open, and the resource lives.
    unsafe { list.ResourceBarrier(&[barrier]) };
}
