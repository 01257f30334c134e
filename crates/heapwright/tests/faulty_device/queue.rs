//! A queue of a faulty device.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright::d3d12::*;
use windows_core::{GUID, Interface, Ref, Result, implement};

use super::{Call, Faults, missing, raw};

/// A queue that forwards to another. `Signal` and `Wait` can be made to fail.
#[implement(ID3D12CommandQueue)]
pub(crate) struct FaultyQueue {
    queue: ID3D12CommandQueue,
    device: ID3D12Device,
    faults: Arc<Faults>,
}

impl FaultyQueue {
    /// `device` is what `GetDevice` returns.
    pub(crate) fn wrap(
        queue: &ID3D12CommandQueue,
        device: &ID3D12Device,
        faults: &Arc<Faults>,
    ) -> ID3D12CommandQueue {
        Self { queue: queue.clone(), device: device.clone(), faults: Arc::clone(faults) }.into()
    }
}

impl ID3D12Object_Impl for FaultyQueue_Impl {
    fn GetPrivateData(&self, _guid: *const GUID, _size: *mut u32, _data: *mut c_void) -> Result<()> {
        missing()
    }

    fn SetPrivateData(&self, _guid: *const GUID, _size: u32, _data: *const c_void) -> Result<()> {
        missing()
    }

    fn SetPrivateDataInterface(
        &self,
        _guid: *const GUID,
        _data: Ref<'_, windows_core::IUnknown>,
    ) -> Result<()> {
        missing()
    }

    fn SetName(&self, _name: &PCWSTR) -> Result<()> {
        missing()
    }
}

impl ID3D12DeviceChild_Impl for FaultyQueue_Impl {
    fn GetDevice(&self, riid: *const GUID, device: *mut *mut c_void) -> Result<()> {
        // SAFETY: by the COM contract the pointers are what QueryInterface takes.
        unsafe { self.device.query(riid, device) }.ok()
    }
}

impl ID3D12Pageable_Impl for FaultyQueue_Impl {}

impl ID3D12CommandQueue_Impl for FaultyQueue_Impl {
    fn UpdateTileMappings(
        &self,
        _resource: Ref<'_, ID3D12Resource>,
        _region_count: u32,
        _starts: *const D3D12_TILED_RESOURCE_COORDINATE,
        _sizes: *const D3D12_TILE_REGION_SIZE,
        _heap: Ref<'_, ID3D12Heap>,
        _range_count: u32,
        _range_flags: *const D3D12_TILE_RANGE_FLAGS,
        _heap_offsets: *const u32,
        _tile_counts: *const u32,
        _flags: D3D12_TILE_MAPPING_FLAGS,
    ) {
    }

    fn CopyTileMappings(
        &self,
        _target: Ref<'_, ID3D12Resource>,
        _target_start: *const D3D12_TILED_RESOURCE_COORDINATE,
        _source: Ref<'_, ID3D12Resource>,
        _source_start: *const D3D12_TILED_RESOURCE_COORDINATE,
        _size: *const D3D12_TILE_REGION_SIZE,
        _flags: D3D12_TILE_MAPPING_FLAGS,
    ) {
    }

    fn ExecuteCommandLists(&self, count: u32, lists: *const Option<ID3D12CommandList>) {
        let execute = self.queue.vtable().ExecuteCommandLists;
        // SAFETY: the arguments are passed on unchanged.
        unsafe { execute(self.queue.as_raw(), count, lists.cast()) };
    }

    fn SetMarker(&self, _metadata: u32, _data: *const c_void, _size: u32) {}

    fn BeginEvent(&self, _metadata: u32, _data: *const c_void, _size: u32) {}

    fn EndEvent(&self) {}

    fn Signal(&self, fence: Ref<'_, ID3D12Fence>, value: u64) -> Result<()> {
        self.faults.count(Call::QueueSignal)?;
        // SAFETY: the arguments are passed on unchanged.
        unsafe { (self.queue.vtable().Signal)(self.queue.as_raw(), raw(fence.as_ref()), value) }.ok()
    }

    fn Wait(&self, fence: Ref<'_, ID3D12Fence>, value: u64) -> Result<()> {
        self.faults.count(Call::QueueWait)?;
        // SAFETY: the arguments are passed on unchanged.
        unsafe { (self.queue.vtable().Wait)(self.queue.as_raw(), raw(fence.as_ref()), value) }.ok()
    }

    fn GetTimestampFrequency(&self) -> Result<u64> {
        missing()
    }

    fn GetClockCalibration(&self, _gpu: *mut u64, _cpu: *mut u64) -> Result<()> {
        missing()
    }

    fn GetDesc(&self) -> D3D12_COMMAND_QUEUE_DESC {
        // SAFETY: a live COM object.
        unsafe { self.queue.GetDesc() }
    }
}
