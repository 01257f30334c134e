//! Memory for the resources of wgpu-hal's Direct3D 12 backend, from heapwright.
//!
//! Stands in for the file of the same name of wgpu-hal 30.0.2, whose names the rest of that crate uses. Memory hints
//! choose how large heaps are; the threshold for the creation of resources is a limit of the allocator.

use alloc::{sync::Arc, vec::Vec};
use std::sync::OnceLock;

use heapwright::d3d12 as hw;
use heapwright::{
    ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, ResourceAllocatorDesc,
};
use windows::Win32::Graphics::Direct3D12;

use self::interop::{ToHeapwright as _, ToWindows as _};
use super::conv;
use crate::DeviceError;

// SAFETY: `windows` is the crate of that name, of which wgpu-hal depends on one version.
heapwright::windows_interop!(mod interop for unsafe windows);

/// The counter to which an allocation belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AllocationType {
    Buffer,
    Texture,
    AccelerationStructure,
}

/// The memory of a resource.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// Kept until the resource is freed, or the size of a resource that somebody else created.
    memory: Result<ResourceAllocation, u64>,
    kind: AllocationType,
}

impl Allocation {
    /// Stands for the memory of a resource that somebody else created.
    pub fn none(kind: AllocationType, size: u64) -> Self {
        Self { memory: Err(size), kind }
    }

    fn size(&self) -> isize {
        let size = self.memory.as_ref().map_or_else(|&size| size, |memory| memory.size().get());
        size as isize
    }
}

/// The allocator of a device. It is created with the first resource, which knows the adapter.
#[derive(Clone)]
pub(crate) struct Allocator {
    allocator: Arc<OnceLock<Result<ResourceAllocator, DeviceError>>>,
    desc: Arc<ResourceAllocatorDesc>,
    pub memory_budget_thresholds: wgt::MemoryBudgetThresholds,
}

impl Allocator {
    pub(crate) fn new(
        _device: &Direct3D12::ID3D12Device,
        hints: &wgt::MemoryHints,
        memory_budget_thresholds: wgt::MemoryBudgetThresholds,
    ) -> Result<Self, DeviceError> {
        let mut desc = ResourceAllocatorDesc::default();
        match hints {
            // Few heaps, which a program that creates and destroys much fills again.
            wgt::MemoryHints::Performance => desc.preferred_heap_size = Some(ByteSize::from_mib(32)),
            // The default of 4 MiB creates more heaps, each of which takes time.
            wgt::MemoryHints::MemoryUsage => desc.preferred_heap_size = Some(ByteSize::from_mib(16)),
            wgt::MemoryHints::Manual { suballocated_device_memory_block_size: range } => {
                desc.preferred_heap_size = Some(ByteSize::new(range.start)).filter(|size| !size.is_zero());
            }
        }
        // 100 % and more is no limit, as the budget may be exceeded. Nothing may be held at 0 %.
        let percent = memory_budget_thresholds.for_resource_creation.filter(|&percent| percent < 100);
        desc.limits.share_of_budget =
            percent.map(|percent| (f64::from(percent) / 100.0).max(f64::MIN_POSITIVE));
        Ok(Self { allocator: Arc::default(), desc: Arc::new(desc), memory_budget_thresholds })
    }

    pub(crate) fn generate_report(&self) -> wgt::AllocatorReport {
        let mut out = wgt::AllocatorReport {
            allocations: Vec::new(),
            blocks: Vec::new(),
            total_allocated_bytes: 0,
            total_reserved_bytes: 0,
        };
        let Some(Ok(allocator)) = self.allocator.get() else { return out };
        let report = allocator.report();
        for heap in report.heaps {
            let start = out.allocations.len();
            out.allocations.extend(heap.allocations.into_iter().map(|made| wgt::AllocationReport {
                name: made.name.unwrap_or_default(),
                offset: made.offset.get(),
                size: made.size.get(),
            }));
            out.blocks.push(wgt::MemoryBlockReport {
                size: heap.size.get(),
                allocations: start..out.allocations.len(),
            });
        }
        for resource in report.committed {
            let start = out.allocations.len();
            let size = resource.size.get();
            out.allocations.push(wgt::AllocationReport {
                name: resource.name.unwrap_or_default(),
                offset: 0,
                size,
            });
            out.blocks.push(wgt::MemoryBlockReport { size, allocations: start..start + 1 });
        }
        out.total_allocated_bytes = report.totals.used.get();
        out.total_reserved_bytes = report.totals.reserved.get();
        out
    }
}

/// What creates and frees resources: the parts of a device or a command encoder.
pub(crate) struct DeviceAllocationContext<'a> {
    raw: &'a Direct3D12::ID3D12Device,
    shared: &'a super::DeviceShared,
    memory: &'a Allocator,
    counters: &'a wgt::HalCounters,
}

impl<'a> From<&'a super::Device> for DeviceAllocationContext<'a> {
    fn from(device: &'a super::Device) -> Self {
        let super::Device { raw, shared, mem_allocator, counters, .. } = device;
        Self { raw, shared, memory: mem_allocator, counters }
    }
}

impl<'a> From<&'a super::CommandEncoder> for DeviceAllocationContext<'a> {
    fn from(encoder: &'a super::CommandEncoder) -> Self {
        let super::CommandEncoder { device, shared, mem_allocator, counters, .. } = encoder;
        Self { raw: device, shared, memory: mem_allocator, counters }
    }
}

type Made = Result<(Direct3D12::ID3D12Resource, Allocation), DeviceError>;

impl DeviceAllocationContext<'_> {
    pub(crate) fn create_buffer(&self, desc: &crate::BufferDescriptor) -> Made {
        let raw = conv::map_buffer_descriptor(desc);
        let [reads, writes] =
            [wgt::BufferUses::MAP_READ, wgt::BufferUses::MAP_WRITE].map(|usage| desc.usage.contains(usage));
        // CUSTOM heaps, because the GPU may write these buffers, too, and they change their states.
        let pages = match (reads, writes) {
            (_, true) => Some(hw::D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE),
            (true, false) => Some(hw::D3D12_CPU_PAGE_PROPERTY_WRITE_BACK),
            (false, false) => None,
        };
        self.create(AllocationType::Buffer, pages, &raw, hw::D3D12_RESOURCE_STATE_COMMON, desc.label)
    }

    pub(crate) fn create_texture(
        &self,
        desc: &crate::TextureDescriptor,
        raw: Direct3D12::D3D12_RESOURCE_DESC,
    ) -> Made {
        self.create(AllocationType::Texture, None, &raw, hw::D3D12_RESOURCE_STATE_COMMON, desc.label)
    }

    pub(crate) fn create_acceleration_structure(
        &self,
        desc: &crate::AccelerationStructureDescriptor,
        raw: Direct3D12::D3D12_RESOURCE_DESC,
    ) -> Made {
        let state = hw::D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;
        self.create(AllocationType::AccelerationStructure, None, &raw, state, desc.label)
    }

    pub(crate) fn free_resource(&self, resource: Direct3D12::ID3D12Resource, allocation: Allocation) {
        // The memory is used again as soon as the allocation is dropped.
        drop(resource);
        self.counter(allocation.kind).sub(allocation.size());
    }

    fn create(
        &self,
        kind: AllocationType,
        pages: Option<hw::D3D12_CPU_PAGE_PROPERTY>,
        desc: &Direct3D12::D3D12_RESOURCE_DESC,
        state: hw::D3D12_RESOURCE_STATES,
        label: crate::Label,
    ) -> Made {
        let mut wanted = ResourceAllocationDesc::default();
        match pages {
            Some(pages) => wanted.custom_heap = Some((pages, hw::D3D12_MEMORY_POOL_L0)),
            None => wanted.heap_type = Some(HeapType::Default.into()),
        }
        if !self.shared.private_caps.suballocation_supported {
            wanted.flags = ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP;
        }
        let made = self.allocator()?.create_resource(&wanted, desc.as_heapwright(), state, None);
        let mut memory = made.map_err(device_error)?;
        if let Some(label) = label {
            memory.set_debug_name(label).map_err(device_error)?;
        }
        let resource = memory.resource().as_windows().clone();
        let allocation = Allocation { memory: Ok(memory), kind };
        self.counter(kind).add(allocation.size());
        Ok((resource, allocation))
    }

    fn allocator(&self) -> Result<&ResourceAllocator, DeviceError> {
        let Allocator { allocator, desc, .. } = self.memory;
        let made = allocator.get_or_init(|| {
            let adapter = (*self.shared.adapter).as_heapwright();
            ResourceAllocator::new(self.raw.as_heapwright(), Some(adapter), (**desc).clone())
                .map_err(device_error)
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn counter(&self, kind: AllocationType) -> &wgt::InternalCounter {
        match kind {
            AllocationType::Buffer => &self.counters.buffer_memory,
            AllocationType::Texture => &self.counters.texture_memory,
            AllocationType::AccelerationStructure => &self.counters.acceleration_structure_memory,
        }
    }
}

fn device_error(error: heapwright::Error) -> DeviceError {
    if error.is_out_of_memory() {
        return DeviceError::OutOfMemory;
    }
    log::error!("heapwright: {error}");
    if error.is_device_removed() { DeviceError::Lost } else { DeviceError::Unexpected }
}
