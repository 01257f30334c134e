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
use crate::debug::{LiveObject, ObjectKind};
use crate::residency::PageableKind;
use crate::rules::{self, Refusal};

/// A heap that the application places resources in.
#[implement(ID3D12Heap1, ID3D12PageableTools)]
pub(super) struct Heap {
    child: Child,
    inner: Arc<HeapInner>,
}

/// What a heap is to the resources in it, which keep it alive but hold no reference that the application would see:
/// of D3D12's objects only the application's references count (Windows, by vkd3d-proton's tests/d3d12_resource.c,
/// test_create_placed_resource).
pub(super) struct HeapInner {
    /// As the application gave it, with the effective alignment.
    desc: D3D12_HEAP_DESC,
    /// The application chose its address (document RECREATE).
    has_address: bool,
    memory: Arc<dyn DriverHeap>,
    /// The name, for the tracker of aliasing, if it is on.
    label: Option<Arc<Label>>,
    /// Counts the heap for `ID3D12DebugDevice::ReportLiveDeviceObjects`.
    _live: LiveObject,
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
        Ok(Self::opened(device, memory, desc, create_at.is_some()))
    }

    /// A heap over memory that is there, at an address that the application chose or did not; `desc` has the effective alignment.
    pub(super) fn opened(
        device: ComObject<Device>,
        memory: Arc<dyn DriverHeap>,
        desc: D3D12_HEAP_DESC,
        has_address: bool,
    ) -> Self {
        let label = device.aliasing().is_on().then(Arc::<Label>::default);
        if let Some(label) = &label {
            device.aliasing().heap_created(&memory, label, desc.Flags);
        }
        let live = device.debug().live().created(ObjectKind::Heap);
        let child = Child::with_memory(device, Arc::clone(&memory)).labelled(label.clone());
        let desc = D3D12_HEAP_DESC { Properties: with_nodes(&desc.Properties), ..desc };
        Self { child, inner: Arc::new(HeapInner { desc, has_address, memory, label, _live: live }) }
    }

    pub(super) fn desc(&self) -> &D3D12_HEAP_DESC {
        &self.inner.desc
    }

    pub(super) fn memory(&self) -> &Arc<dyn DriverHeap> {
        &self.inner.memory
    }

    /// What resources in the heap hold of it.
    pub(super) fn inner(&self) -> &Arc<HeapInner> {
        &self.inner
    }

    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// The addresses of all its memory.
    fn allocation(&self) -> GpuVirtualAddressRange {
        let memory = self.memory();
        GpuVirtualAddressRange { start: memory.gpu_virtual_address(), size: memory.size() }
    }
}

impl HeapInner {
    pub(super) fn desc(&self) -> &D3D12_HEAP_DESC {
        &self.desc
    }

    /// Whether the application chose its address.
    pub(super) fn has_address(&self) -> bool {
        self.has_address
    }

    pub(super) fn memory(&self) -> &Arc<dyn DriverHeap> {
        &self.memory
    }

    /// The name, for the tracker of aliasing.
    pub(super) fn label(&self) -> Arc<Label> {
        self.label.clone().unwrap_or_default()
    }
}

/// The properties as they are read back: node masks of 0 stand for the first node, and are 1 (vkd3d-proton's check_heap_properties).
pub(super) fn with_nodes(properties: &D3D12_HEAP_PROPERTIES) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES {
        CreationNodeMask: properties.CreationNodeMask.max(1),
        VisibleNodeMask: properties.VisibleNodeMask.max(1),
        ..*properties
    }
}

implement_pageable!(Heap_Impl);
implement_pageable_tools!(Heap_Impl);

impl ID3D12Heap_Impl for Heap_Impl {
    fn GetDesc(&self) -> D3D12_HEAP_DESC {
        self.inner.desc
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
