//! `ID3D12Heap1`.

use std::ffi::c_void;
use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, implement};

use super::call;
use super::device::Device;
use super::object::{Child, implement_pageable, implement_pageable_tools};
use super::shared_handle::SharedObjectRelease;
use crate::aliasing::Label;
use crate::ddi::GpuVirtualAddressRange;
use crate::debug::{LiveObject, ObjectKind};
use crate::drivers::heap::DriverHeap;
use crate::rules::{self, Refusal};

/// The COM object of a heap.
#[implement(ID3D12Heap1, ID3D12PageableTools, ID3DDestructionNotifier)]
pub(super) struct Heap {
    child: Child,
    inner: Arc<HeapInner>,
    _shared: Option<SharedObjectRelease>,
}

/// The part of a heap that resources in it keep alive. They hold no reference to the COM object, because in D3D12 only
/// the application's references count (Windows, by vkd3d-proton's tests/d3d12_resource.c, test_create_placed_resource).
pub(super) struct HeapInner {
    /// The application's description, with the effective alignment.
    desc: D3D12_HEAP_DESC,
    /// Whether the application chose the heap's address (DirectX-Specs, *Recreate At GPUVA*).
    has_address: bool,
    memory: Arc<DriverHeap>,
    /// The name, for the aliasing tracker, if it is on.
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
        let args = heap.memory.heap(heap.size, heap.alignment, desc.Flags, create_at);
        let memory = device.driver().create_heap(device.driver_device(), &args)?;
        let desc = D3D12_HEAP_DESC { Alignment: heap.alignment.get(), ..*desc };
        Ok(Self::opened(device, memory, desc, create_at.is_some()))
    }

    /// Creates a heap object over existing memory. `desc` has the effective alignment; `has_address` says whether the
    /// application chose the address.
    pub(super) fn opened(
        device: ComObject<Device>,
        memory: Arc<DriverHeap>,
        desc: D3D12_HEAP_DESC,
        has_address: bool,
    ) -> Self {
        let label = device.aliasing().is_on().then(Arc::<Label>::default);
        if let Some(label) = &label {
            device.aliasing().heap_created(&memory, label, desc.Flags);
        }
        let live = device.debug().live().created(ObjectKind::Heap);
        let child = Child { memory: Some(Arc::clone(&memory)), label: label.clone(), ..Child::new(device) };
        let desc = D3D12_HEAP_DESC { Properties: with_nodes(&desc.Properties), ..desc };
        let shared = desc.Flags & D3D12_HEAP_FLAG_SHARED != 0;
        Self {
            child,
            inner: Arc::new(HeapInner { desc, has_address, memory, label, _live: live }),
            _shared: SharedObjectRelease::of(shared),
        }
    }

    pub(super) fn desc(&self) -> &D3D12_HEAP_DESC {
        &self.inner.desc
    }

    pub(super) fn memory(&self) -> &Arc<DriverHeap> {
        &self.inner.memory
    }

    /// Returns the part that resources in the heap keep alive.
    pub(super) fn inner(&self) -> &Arc<HeapInner> {
        &self.inner
    }

    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// Returns the address range of the heap's memory.
    fn allocation(&self) -> GpuVirtualAddressRange {
        let memory = self.memory();
        GpuVirtualAddressRange { start: memory.gpu_virtual_address(), size: memory.size() }
    }
}

impl HeapInner {
    pub(super) fn desc(&self) -> &D3D12_HEAP_DESC {
        &self.desc
    }

    /// Returns whether the application chose the heap's address.
    pub(super) fn has_address(&self) -> bool {
        self.has_address
    }

    pub(super) fn memory(&self) -> &Arc<DriverHeap> {
        &self.memory
    }

    /// Returns the name, for the aliasing tracker.
    pub(super) fn label(&self) -> Arc<Label> {
        self.label.clone().unwrap_or_default()
    }
}

/// Returns the properties as they are reported: node masks of 0 mean the first node and become 1 (vkd3d-proton's
/// check_heap_properties).
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
            Err(Refusal::new(DXGI_ERROR_NOT_FOUND, "the heap has no protected resource session"))
        })
    }
}
