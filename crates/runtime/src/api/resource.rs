//! `ID3D12Resource2`. Buffers so far.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;
use windows_core::{ComObject, GUID, implement};

use super::call;
use super::device::Device;
use super::heap::Heap;
use super::object::{Child, implement_pageable};
use crate::ddi::{DriverHeap, HeapArgs, ResourceAllocation};
use crate::debug::ObjectKind;
use crate::rules::heap::HeapMemory;
use crate::rules::{self, Refusal};

/// A placed or committed buffer.
#[implement(ID3D12Resource2)]
pub(super) struct Resource {
    child: Child,
    /// As the application gave it, with the effective alignment.
    desc: D3D12_RESOURCE_DESC1,
    memory: Memory,
    gpu_virtual_address: GpuVirtualAddress,
    /// `Map` calls without their `Unmap`.
    map_count: AtomicU32,
}

/// Where the bytes are.
enum Memory {
    /// In a heap of the application, which the resource keeps alive.
    Placed { heap: ComObject<Heap>, offset: u64 },
    /// In a heap of its own.
    Committed(Box<ImplicitHeap>),
}

struct ImplicitHeap {
    memory: Box<dyn DriverHeap>,
    properties: D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
}

/// A committed resource that the rules allow.
pub(super) struct CommittedPlan<'a> {
    pub(super) desc: &'a D3D12_RESOURCE_DESC1,
    pub(super) allocation: ResourceAllocation,
    pub(super) heap_memory: HeapMemory,
    pub(super) properties: &'a D3D12_HEAP_PROPERTIES,
    pub(super) flags: D3D12_HEAP_FLAGS,
}

/// A placed resource that the rules allow.
pub(super) struct PlacedPlan<'a> {
    pub(super) desc: &'a D3D12_RESOURCE_DESC1,
    pub(super) allocation: ResourceAllocation,
    pub(super) heap: ComObject<Heap>,
    pub(super) offset: u64,
}

/// The DDI version from which committed resources are told apart from heaps (document TIGHT, addendum).
const DDI_IMPLICIT_HEAP: u32 = 115;

impl Resource {
    pub(super) fn placed(device: ComObject<Device>, plan: PlacedPlan<'_>) -> Result<Self, Refusal> {
        let base = plan.heap.memory().gpu_virtual_address();
        let gpu_virtual_address = base
            .checked_add(heapwright_core::ByteSize::new(plan.offset))
            .ok_or_else(|| Refusal::invalid("HeapOffset leaves the GPU's address space"))?;
        let memory = Memory::Placed { heap: plan.heap, offset: plan.offset };
        Ok(Self::new(device, plan.desc, plan.allocation, memory, gpu_virtual_address))
    }

    pub(super) fn committed(device: ComObject<Device>, plan: &CommittedPlan<'_>) -> Result<Self, Refusal> {
        let driver = device.driver();
        let memory = driver.create_heap(&HeapArgs {
            size: plan.allocation.size,
            alignment: plan.allocation.alignment,
            cpu_page_property: plan.heap_memory.cpu_page_property,
            memory_pool: plan.heap_memory.memory_pool,
            implicit: driver.caps().ddi_version >= DDI_IMPLICIT_HEAP,
        })?;
        let gpu_virtual_address = memory.gpu_virtual_address();
        let heap = ImplicitHeap { memory, properties: *plan.properties, flags: plan.flags };
        let memory = Memory::Committed(Box::new(heap));
        Ok(Self::new(device, plan.desc, plan.allocation, memory, gpu_virtual_address))
    }

    fn new(
        device: ComObject<Device>,
        desc: &D3D12_RESOURCE_DESC1,
        allocation: ResourceAllocation,
        memory: Memory,
        gpu_virtual_address: GpuVirtualAddress,
    ) -> Self {
        Self {
            child: Child::new(device).counted(ObjectKind::Resource),
            desc: D3D12_RESOURCE_DESC1 { Alignment: allocation.alignment.get(), ..*desc },
            memory,
            gpu_virtual_address,
            map_count: AtomicU32::new(0),
        }
    }

    fn map(&self, subresource: u32, read_range: *const D3D12_RANGE) -> Result<*mut c_void, Refusal> {
        if subresource != 0 {
            return Err(Refusal::invalid(format!(
                "Map of subresource {subresource} of a buffer, which has one"
            )));
        }
        // SAFETY: by the COM contract pReadRange is null or points to a range.
        if let Some(range) = unsafe { read_range.as_ref() } {
            self.check_range(range, "pReadRange")?;
        }
        let (heap, offset) = match &self.memory {
            Memory::Placed { heap, offset } => (heap.memory(), *offset),
            Memory::Committed(heap) => (&*heap.memory, 0),
        };
        let start = heap.map(offset, self.desc.Width)?;
        let counted = self.map_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_add(1));
        if counted.is_err() {
            return Err(Refusal::invalid("Map has been called 2^32 - 1 times without Unmap"));
        }
        Ok(start.as_ptr().cast())
    }

    /// A range may be empty (End at or before Begin); one that reads anything lies within the resource.
    fn check_range(&self, range: &D3D12_RANGE, name: &str) -> Result<(), Refusal> {
        let end = u64::try_from(range.End).unwrap_or(u64::MAX);
        if range.End > range.Begin && end > self.desc.Width {
            return Err(Refusal::invalid(format!(
                "{name} ends at {end:#x}, after the resource's {:#x} bytes",
                self.desc.Width
            )));
        }
        Ok(())
    }

    fn unmap(&self, subresource: u32, written_range: *const D3D12_RANGE) -> Result<(), Refusal> {
        if subresource != 0 {
            return Err(Refusal::invalid(format!("Unmap of subresource {subresource} of a buffer")));
        }
        // SAFETY: by the COM contract pWrittenRange is null or points to a range.
        if let Some(range) = unsafe { written_range.as_ref() } {
            self.check_range(range, "pWrittenRange")?;
        }
        self.map_count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
            .map(|_| ())
            .map_err(|_| Refusal::invalid("Unmap of a resource that is not mapped"))
    }
}

implement_pageable!(Resource_Impl);

impl ID3D12Resource_Impl for Resource_Impl {
    fn Map(
        &self,
        subresource: u32,
        preadrange: *const D3D12_RANGE,
        ppdata: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::Map", || {
            // SAFETY: by the COM contract ppData is null or points to space for one pointer. Null asks for a mapping
            // without the pointer.
            let out = unsafe { ppdata.as_mut() };
            match (self.map(subresource, preadrange), out) {
                (Ok(start), Some(out)) => *out = start,
                (Ok(_), None) => {}
                (Err(refusal), out) => {
                    if let Some(out) = out {
                        *out = std::ptr::null_mut();
                    }
                    return Err(refusal);
                }
            }
            Ok(())
        })
    }

    fn Unmap(&self, subresource: u32, pwrittenrange: *const D3D12_RANGE) {
        // The call has no result; `run` has logged a refusal.
        let _ = call::run(self.log(), "ID3D12Resource::Unmap", || self.unmap(subresource, pwrittenrange));
    }

    fn GetDesc(&self) -> D3D12_RESOURCE_DESC {
        rules::resource::downgrade(&self.desc)
    }

    fn GetGPUVirtualAddress(&self) -> D3D12_GPU_VIRTUAL_ADDRESS {
        D3D12_GPU_VIRTUAL_ADDRESS(self.gpu_virtual_address.get())
    }

    fn WriteToSubresource(
        &self,
        _dstsubresource: u32,
        _pdstbox: *const D3D12_BOX,
        _psrcdata: *const c_void,
        _srcrowpitch: u32,
        _srcdepthpitch: u32,
    ) -> windows_core::Result<()> {
        call::not_implemented(self.log(), "ID3D12Resource::WriteToSubresource")
    }

    fn ReadFromSubresource(
        &self,
        _pdstdata: *mut c_void,
        _dstrowpitch: u32,
        _dstdepthpitch: u32,
        _srcsubresource: u32,
        _psrcbox: *const D3D12_BOX,
    ) -> windows_core::Result<()> {
        call::not_implemented(self.log(), "ID3D12Resource::ReadFromSubresource")
    }

    fn GetHeapProperties(
        &self,
        pheapproperties: *mut D3D12_HEAP_PROPERTIES,
        pheapflags: *mut D3D12_HEAP_FLAGS,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource::GetHeapProperties", || {
            let (properties, flags) = match &self.memory {
                Memory::Placed { heap, .. } => (heap.desc().Properties, heap.desc().Flags),
                Memory::Committed(heap) => (heap.properties, heap.flags),
            };
            // SAFETY: by the COM contract both pointers are null or point to writable space of their type.
            unsafe {
                if let Some(out) = pheapproperties.as_mut() {
                    *out = properties;
                }
                if let Some(out) = pheapflags.as_mut() {
                    *out = flags;
                }
            }
            Ok(())
        })
    }
}

impl ID3D12Resource1_Impl for Resource_Impl {
    fn GetProtectedResourceSession(
        &self,
        _riid: *const GUID,
        _ppprotectedsession: *mut *mut c_void,
    ) -> windows_core::Result<()> {
        call::run(self.log(), "ID3D12Resource1::GetProtectedResourceSession", || {
            Err(Refusal::new(DXGI_ERROR_NOT_FOUND, "the resource has no protected session"))
        })
    }
}

impl ID3D12Resource2_Impl for Resource_Impl {
    fn GetDesc1(&self) -> D3D12_RESOURCE_DESC1 {
        self.desc
    }
}
