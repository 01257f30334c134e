//! `ID3D12Heap1`.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, implement};

use super::call;
use super::device::Device;
use super::object::{Child, implement_pageable, implement_pageable_tools};
use crate::aliasing::Label;
use crate::ddi::{DriverHeap, GpuVirtualAddressRange, HeapArgs};
use crate::debug::ObjectKind;
use crate::residency::PageableKind;
use crate::rules::{self, Refusal};

/// A heap that the application places resources in.
#[implement(ID3D12Heap1, ID3D12PageableTools)]
pub(super) struct Heap {
    child: Child,
    /// As the application gave it, with the effective alignment.
    desc: D3D12_HEAP_DESC,
    memory: Arc<dyn DriverHeap>,
    /// The name, for the tracker of aliasing, if it is on.
    label: Option<Arc<Label>>,
}

impl Heap {
    pub(super) fn new(
        device: ComObject<Device>,
        desc: &D3D12_HEAP_DESC,
        heap: &rules::heap::Heap,
        create_at: Option<GpuVirtualAddress>,
    ) -> Result<Self, Refusal> {
        let args = HeapArgs {
            size: heap.size,
            alignment: heap.alignment,
            cpu_page_property: heap.memory.cpu_page_property,
            memory_pool: heap.memory.memory_pool,
            implicit: false,
            not_resident: desc.Flags & D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT != 0,
            pageable: PageableKind::Heap,
            create_at,
        };
        let memory = device.driver().create_heap(device.driver_device(), &args)?;
        let desc = D3D12_HEAP_DESC { Alignment: heap.alignment.get(), ..*desc };
        Ok(Self::opened(device, memory, desc))
    }

    /// A heap over memory that is there; `desc` has the effective alignment.
    pub(super) fn opened(
        device: ComObject<Device>,
        memory: Arc<dyn DriverHeap>,
        desc: D3D12_HEAP_DESC,
    ) -> Self {
        let label = device.aliasing().is_on().then(Arc::<Label>::default);
        if let Some(label) = &label {
            device.aliasing().heap_created(&memory, label, desc.Flags);
        }
        let child = Child::with_memory(device, Arc::clone(&memory)).counted(ObjectKind::Heap);
        Self { child: child.labelled(label.clone()), desc, memory, label }
    }

    pub(super) fn desc(&self) -> &D3D12_HEAP_DESC {
        &self.desc
    }

    pub(super) fn memory(&self) -> &Arc<dyn DriverHeap> {
        &self.memory
    }

    /// The name, for the tracker of aliasing.
    pub(super) fn label(&self) -> Arc<Label> {
        self.label.clone().unwrap_or_default()
    }

    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// The addresses of all its memory.
    fn allocation(&self) -> GpuVirtualAddressRange {
        GpuVirtualAddressRange { start: self.memory.gpu_virtual_address(), size: self.memory.size() }
    }
}

implement_pageable!(Heap_Impl);
implement_pageable_tools!(Heap_Impl);

impl ID3D12Heap_Impl for Heap_Impl {
    fn GetDesc(&self) -> D3D12_HEAP_DESC {
        self.desc
    }
}

impl ID3D12Heap1_Impl for Heap_Impl {
    fn GetProtectedResourceSession(
        &self,
        _riid: *const GUID,
        _ppprotectedsession: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Heap1::GetProtectedResourceSession", || {
            Err(Refusal::new(DXGI_ERROR_NOT_FOUND, "the heap has no protected session"))
        })
    }
}
