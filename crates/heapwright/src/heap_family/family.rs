//! Heaps with the same properties.

use std::fmt;

use heapwright_d3d12::*;

use super::{CpuPageProperty, HeapMemory, MemoryPool, NodeMasks};
use crate::{Architecture, DeviceCaps, Error, HeapType, SegmentGroup};

/// Heaps with the same properties: of a heap type, or CUSTOM with given memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HeapFamily {
    /// `D3D12_HEAP_TYPE` without CUSTOM.
    Type(HeapType),
    /// `D3D12_HEAP_TYPE_CUSTOM`.
    Custom(HeapMemory),
}

impl HeapFamily {
    /// Returns the memory of the heaps on an architecture.
    pub(crate) const fn memory(self, architecture: Architecture) -> HeapMemory {
        match self {
            Self::Type(heap_type) => HeapMemory::of(heap_type, architecture),
            Self::Custom(memory) => memory,
        }
    }

    /// Returns the segment group that the heaps are charged to.
    pub(crate) const fn segment_group(self, architecture: Architecture) -> SegmentGroup {
        self.memory(architecture).segment_group(architecture)
    }

    /// Returns the heap type; for a CUSTOM family, the one with the most similar memory.
    pub(crate) const fn nearest_heap_type(self) -> HeapType {
        match self {
            Self::Type(heap_type) => heap_type,
            Self::Custom(memory) => match (memory.cpu_page_property, memory.memory_pool) {
                (CpuPageProperty::NotAvailable, _) => HeapType::Default,
                (CpuPageProperty::WriteCombine, MemoryPool::L1) => HeapType::GpuUpload,
                (CpuPageProperty::WriteCombine, MemoryPool::L0) => HeapType::Upload,
                (CpuPageProperty::WriteBack, _) => HeapType::Readback,
            },
        }
    }

    /// Returns the properties to create the heaps with. Page property and pool are UNKNOWN unless the type is CUSTOM,
    /// as D3D12 requires.
    pub(crate) const fn properties(self, nodes: NodeMasks) -> D3D12_HEAP_PROPERTIES {
        let (heap_type, (cpu_page_property, memory_pool)) = match self {
            Self::Type(heap_type) => {
                (heap_type.to_d3d12(), (D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_MEMORY_POOL_UNKNOWN))
            }
            Self::Custom(memory) => (D3D12_HEAP_TYPE_CUSTOM, memory.to_d3d12()),
        };
        D3D12_HEAP_PROPERTIES {
            Type: heap_type,
            CPUPageProperty: cpu_page_property,
            MemoryPoolPreference: memory_pool,
            CreationNodeMask: nodes.creation,
            VisibleNodeMask: nodes.visible,
        }
    }

    /// Returns the family and the node masks of heap properties.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field: a value that D3D12 does not define, or page property or pool where they must
    /// be UNKNOWN.
    pub(crate) fn try_from_d3d12(properties: &D3D12_HEAP_PROPERTIES) -> Result<(Self, NodeMasks), Error> {
        let D3D12_HEAP_PROPERTIES {
            Type: heap_type,
            CPUPageProperty: cpu_page_property,
            MemoryPoolPreference: memory_pool,
            CreationNodeMask: creation,
            VisibleNodeMask: visible,
        } = *properties;
        let nodes = NodeMasks { creation, visible };
        if heap_type == D3D12_HEAP_TYPE_CUSTOM {
            return Ok((Self::Custom(HeapMemory::try_from_d3d12(cpu_page_property, memory_pool)?), nodes));
        }
        let family = Self::Type(HeapType::try_from(heap_type)?);
        for (is_unknown, field) in [
            (cpu_page_property == D3D12_CPU_PAGE_PROPERTY_UNKNOWN, "D3D12_HEAP_PROPERTIES::CPUPageProperty"),
            (memory_pool == D3D12_MEMORY_POOL_UNKNOWN, "D3D12_HEAP_PROPERTIES::MemoryPoolPreference"),
        ] {
            if !is_unknown {
                return Err(Error::invalid_argument(field, "must be UNKNOWN unless Type is CUSTOM"));
            }
        }
        Ok((family, nodes))
    }

    /// Checks that a device supports these heaps.
    ///
    /// # Errors
    ///
    /// Unsupported: GPU_UPLOAD without support. The errors of [`HeapMemory::check`].
    pub(crate) fn check(self, caps: &DeviceCaps) -> Result<(), Error> {
        match self {
            Self::Type(HeapType::GpuUpload) if !caps.gpu_upload_heaps => {
                Err(Error::unsupported("GPU_UPLOAD heaps (require GPUUploadHeapSupported)"))
            }
            Self::Type(_) => Ok(()),
            Self::Custom(memory) => memory.check(caps),
        }
    }
}

impl From<HeapType> for HeapFamily {
    fn from(heap_type: HeapType) -> Self {
        Self::Type(heap_type)
    }
}

impl fmt::Display for HeapFamily {
    /// Formats as "UPLOAD" or "CUSTOM (WRITE_BACK in L0)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(heap_type) => heap_type.fmt(f),
            Self::Custom(memory) => f.pad(&format!("CUSTOM ({memory})")),
        }
    }
}

impl TryFrom<D3D12_HEAP_TYPE> for HeapType {
    type Error = Error;

    /// Converts D3D12's value.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the value: CUSTOM, which does not determine the memory by itself, or an unknown heap
    /// type.
    fn try_from(heap_type: D3D12_HEAP_TYPE) -> Result<Self, Error> {
        let field = "D3D12_HEAP_TYPE";
        match Self::ALL.into_iter().find(|known| known.to_d3d12() == heap_type) {
            Some(known) => Ok(known),
            None if heap_type == D3D12_HEAP_TYPE_CUSTOM => Err(Error::invalid_argument(
                field,
                format!(
                    "CUSTOM ({heap_type}) is not allowed without CPUPageProperty and MemoryPoolPreference"
                ),
            )),
            None => Err(Error::invalid_argument(field, format!("unknown heap type {heap_type}"))),
        }
    }
}
