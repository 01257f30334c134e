//! Page property and memory pool: the memory that heap types use on each architecture.

use std::fmt;

use heapwright_d3d12::*;

use crate::{Architecture, DeviceCaps, Error, HeapType, SegmentGroup};

/// `D3D12_CPU_PAGE_PROPERTY` of a custom heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CpuPageProperty {
    /// The CPU cannot access the memory.
    NotAvailable,
    /// The CPU writes fast and reads slowly.
    WriteCombine,
    /// The CPU reads and writes through its caches.
    WriteBack,
}

/// `D3D12_MEMORY_POOL` of a custom heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MemoryPool {
    /// System memory; on UMA the only pool.
    L0,
    /// Video memory of a discrete GPU.
    L1,
}

/// Page property and pool, which describe a custom heap and correspond to each heap type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HeapMemory {
    pub(crate) cpu_page_property: CpuPageProperty,
    pub(crate) memory_pool: MemoryPool,
}

impl HeapMemory {
    /// Returns the memory of a heap type, from the tables of Microsoft's GPU upload heap specification.
    /// `GetCustomHeapProperties` returns the same.
    ///
    /// | | discrete | UMA | cache-coherent UMA |
    /// |---|---|---|---|
    /// | DEFAULT | not available, L1 | not available, L0 | not available, L0 |
    /// | UPLOAD | write-combine, L0 | write-combine, L0 | write-back, L0 |
    /// | READBACK | write-back, L0 | write-back, L0 | write-back, L0 |
    /// | GPU_UPLOAD | write-combine, L1 | write-combine, L0 | write-back, L0 |
    pub(crate) const fn of(heap_type: HeapType, architecture: Architecture) -> Self {
        use Architecture::{CacheCoherentUma, Discrete, Uma};
        use CpuPageProperty::{NotAvailable, WriteBack, WriteCombine};
        use MemoryPool::{L0, L1};
        let (cpu_page_property, memory_pool) = match (heap_type, architecture) {
            (HeapType::Default, Discrete) => (NotAvailable, L1),
            (HeapType::Default, Uma | CacheCoherentUma) => (NotAvailable, L0),
            (HeapType::Upload, Discrete | Uma) => (WriteCombine, L0),
            (HeapType::Upload, CacheCoherentUma) => (WriteBack, L0),
            (HeapType::Readback, _) => (WriteBack, L0),
            (HeapType::GpuUpload, Discrete) => (WriteCombine, L1),
            (HeapType::GpuUpload, Uma) => (WriteCombine, L0),
            (HeapType::GpuUpload, CacheCoherentUma) => (WriteBack, L0),
        };
        Self { cpu_page_property, memory_pool }
    }

    /// Returns the segment group that the memory is charged to. On UMA all memory is local, and the non-local group has
    /// no budget.
    pub(crate) const fn segment_group(self, architecture: Architecture) -> SegmentGroup {
        match (architecture, self.memory_pool) {
            (Architecture::Discrete, MemoryPool::L0) => SegmentGroup::NonLocal,
            (Architecture::Discrete, MemoryPool::L1)
            | (Architecture::Uma | Architecture::CacheCoherentUma, _) => SegmentGroup::Local,
        }
    }

    /// Returns whether the CPU can map the memory.
    pub(crate) const fn is_cpu_accessible(self) -> bool {
        !matches!(self.cpu_page_property, CpuPageProperty::NotAvailable)
    }

    /// Checks that a device supports a custom heap with this memory (Microsoft's GPU upload heap specification,
    /// *Support GPU upload heaps with custom heaps*).
    ///
    /// # Errors
    ///
    /// Invalid argument for memory that never exists: L1 on UMA, or L1 with write-back. Unsupported if the CPU could
    /// access L1 but cannot on this device.
    pub(crate) fn check(self, caps: &DeviceCaps) -> Result<(), Error> {
        let pool = "D3D12_HEAP_PROPERTIES::MemoryPoolPreference";
        if self.memory_pool == MemoryPool::L0 {
            return Ok(());
        }
        if caps.architecture != Architecture::Discrete {
            return Err(Error::invalid_argument(
                pool,
                format!("L1 is not available on {} GPUs", caps.architecture),
            ));
        }
        match self.cpu_page_property {
            CpuPageProperty::NotAvailable => Ok(()),
            CpuPageProperty::WriteCombine if caps.gpu_upload_heaps => Ok(()),
            CpuPageProperty::WriteCombine => Err(Error::unsupported(
                "CUSTOM heaps with WRITE_COMBINE in L1 (require GPUUploadHeapSupported)",
            )),
            CpuPageProperty::WriteBack => Err(Error::invalid_argument(
                "D3D12_HEAP_PROPERTIES::CPUPageProperty",
                "WRITE_BACK cannot be combined with MemoryPoolPreference L1",
            )),
        }
    }

    /// Converts the fields of a custom heap's `D3D12_HEAP_PROPERTIES`.
    ///
    /// # Errors
    ///
    /// Invalid argument: a value that D3D12 does not define, or UNKNOWN, which a custom heap must not have.
    pub(super) fn try_from_d3d12(
        cpu_page_property: D3D12_CPU_PAGE_PROPERTY,
        memory_pool: D3D12_MEMORY_POOL,
    ) -> Result<Self, Error> {
        let cpu_page_property = match cpu_page_property {
            D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE => CpuPageProperty::NotAvailable,
            D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE => CpuPageProperty::WriteCombine,
            D3D12_CPU_PAGE_PROPERTY_WRITE_BACK => CpuPageProperty::WriteBack,
            other => {
                return Err(Error::invalid_argument(
                    "D3D12_HEAP_PROPERTIES::CPUPageProperty",
                    format!("{other} is not NOT_AVAILABLE, WRITE_COMBINE or WRITE_BACK"),
                ));
            }
        };
        let memory_pool = match memory_pool {
            D3D12_MEMORY_POOL_L0 => MemoryPool::L0,
            D3D12_MEMORY_POOL_L1 => MemoryPool::L1,
            other => {
                return Err(Error::invalid_argument(
                    "D3D12_HEAP_PROPERTIES::MemoryPoolPreference",
                    format!("{other} is neither L0 nor L1"),
                ));
            }
        };
        Ok(Self { cpu_page_property, memory_pool })
    }

    pub(super) const fn to_d3d12(self) -> (D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL) {
        let cpu_page_property = match self.cpu_page_property {
            CpuPageProperty::NotAvailable => D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE,
            CpuPageProperty::WriteCombine => D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE,
            CpuPageProperty::WriteBack => D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        };
        let memory_pool = match self.memory_pool {
            MemoryPool::L0 => D3D12_MEMORY_POOL_L0,
            MemoryPool::L1 => D3D12_MEMORY_POOL_L1,
        };
        (cpu_page_property, memory_pool)
    }
}

impl fmt::Display for HeapMemory {
    /// Formats as "WRITE_COMBINE in L0".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages = match self.cpu_page_property {
            CpuPageProperty::NotAvailable => "NOT_AVAILABLE",
            CpuPageProperty::WriteCombine => "WRITE_COMBINE",
            CpuPageProperty::WriteBack => "WRITE_BACK",
        };
        let pool = match self.memory_pool {
            MemoryPool::L0 => "L0",
            MemoryPool::L1 => "L1",
        };
        f.pad(&format!("{pages} in {pool}"))
    }
}
