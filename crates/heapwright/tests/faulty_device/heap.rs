//! A heap of a faulty device.

use std::ffi::c_void;

use heapwright::d3d12::*;
use windows_core::{GUID, Interface, Ref, Result, implement};

use super::missing;

/// A heap that forwards to another and reports the faulty device as its own. Resources are placed in the
/// heap behind it.
#[implement(ID3D12Heap)]
pub(crate) struct FaultyHeap {
    heap: ID3D12Heap,
    device: ID3D12Device,
}

impl FaultyHeap {
    /// `device` is what `GetDevice` returns.
    pub(crate) fn wrap(heap: &ID3D12Heap, device: &ID3D12Device) -> ID3D12Heap {
        Self { heap: heap.clone(), device: device.clone() }.into()
    }

    /// Returns the objects behind those of a call, since a device knows only its own objects.
    ///
    /// # Safety
    ///
    /// `objects` points to `count` objects.
    pub(super) unsafe fn unwrap(
        count: u32,
        objects: *const Option<ID3D12Pageable>,
    ) -> Vec<Option<ID3D12Pageable>> {
        // SAFETY: the caller upholds the contract of this function.
        let objects = unsafe { std::slice::from_raw_parts(objects, count as usize) };
        objects.iter().map(|object| object.as_ref().map(Self::behind)).collect()
    }

    fn behind(object: &ID3D12Pageable) -> ID3D12Pageable {
        match object.cast_object_ref::<Self>() {
            Ok(shown) => shown.heap.clone().into(),
            Err(_) => object.clone(),
        }
    }
}

impl ID3D12Object_Impl for FaultyHeap_Impl {
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

    fn SetName(&self, name: &PCWSTR) -> Result<()> {
        // SAFETY: the name is passed on unchanged.
        unsafe { self.heap.SetName(*name) }.ok()
    }
}

impl ID3D12DeviceChild_Impl for FaultyHeap_Impl {
    fn GetDevice(&self, riid: *const GUID, device: *mut *mut c_void) -> Result<()> {
        // SAFETY: by the COM contract the pointers are what QueryInterface takes.
        unsafe { self.device.query(riid, device) }.ok()
    }
}

impl ID3D12Pageable_Impl for FaultyHeap_Impl {}

impl ID3D12Heap_Impl for FaultyHeap_Impl {
    fn GetDesc(&self) -> D3D12_HEAP_DESC {
        // SAFETY: a live COM object.
        unsafe { self.heap.GetDesc() }
    }
}
