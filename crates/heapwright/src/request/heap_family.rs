//! Heaps with the same properties.

use std::fmt;

use heapwright_d3d12::*;

use super::heap_type::HeapType;
use crate::{Architecture, DeviceCaps, Error, SegmentGroup};

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
    /// Unsupported: GPU_UPLOAD or CUSTOM without support. The errors of [`HeapMemory::check`].
    pub(crate) fn check(self, caps: &DeviceCaps) -> Result<(), Error> {
        match self {
            Self::Type(HeapType::GpuUpload) if !caps.gpu_upload_heaps => {
                Err(Error::unsupported("GPU_UPLOAD heaps (require GPUUploadHeapSupported)"))
            }
            Self::Type(_) => Ok(()),
            Self::Custom(_) if !caps.custom_heaps => {
                Err(Error::unsupported("CUSTOM heaps (require ComputeOnlyCustomHeapSupported)"))
            }
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
    #[inline]
    fn try_from(heap_type: D3D12_HEAP_TYPE) -> Result<Self, Error> {
        match heap_type {
            D3D12_HEAP_TYPE_DEFAULT => Ok(Self::Default),
            D3D12_HEAP_TYPE_UPLOAD => Ok(Self::Upload),
            D3D12_HEAP_TYPE_READBACK => Ok(Self::Readback),
            D3D12_HEAP_TYPE_GPU_UPLOAD => Ok(Self::GpuUpload),
            _ => Err(no_heap_type(heap_type)),
        }
    }
}

#[cold]
fn no_heap_type(number: D3D12_HEAP_TYPE) -> Error {
    let rule = match number {
        D3D12_HEAP_TYPE_CUSTOM => {
            format!("CUSTOM ({number}) is not allowed without CPUPageProperty and MemoryPoolPreference")
        }
        _ => format!("unknown heap type {number}"),
    };
    Error::invalid_argument("D3D12_HEAP_TYPE", rule)
}

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

/// The node masks of a heap. The default, 0 and 0, is the only node, or the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeMasks {
    /// `CreationNodeMask`: the single node that owns the memory.
    pub creation: u32,
    /// `VisibleNodeMask`: the nodes that can access it, including the creation node.
    pub visible: u32,
}

impl NodeMasks {
    /// Checks the masks against a device of `node_count` nodes.
    ///
    /// # Errors
    ///
    /// Invalid argument, with the field: a creation mask with several nodes, a visible mask without the creation node,
    /// or a node that the device does not have.
    pub(crate) fn check(self, node_count: u32) -> Result<(), Error> {
        let creation_field = "D3D12_HEAP_PROPERTIES::CreationNodeMask";
        let visible_field = "D3D12_HEAP_PROPERTIES::VisibleNodeMask";
        let nodes = 1_u32.checked_shl(node_count).map_or(u32::MAX, |end| end - 1);
        for (mask, field) in [(self.creation, creation_field), (self.visible, visible_field)] {
            if mask & !nodes != 0 {
                let rule = format!(
                    "{mask:#x} contains a node that does not exist; the number of nodes is {node_count}"
                );
                return Err(Error::invalid_argument(field, rule));
            }
        }
        if self.creation.count_ones() > 1 {
            let rule = format!("{:#x} has more than one bit set; a heap belongs to one node", self.creation);
            return Err(Error::invalid_argument(creation_field, rule));
        }
        // In either mask, 0 is the first node.
        let [creation, visible] = [self.creation, self.visible].map(|mask| mask.max(1));
        if visible & creation == 0 {
            let rule = format!("{visible:#x} does not include CreationNodeMask, {creation:#x}");
            return Err(Error::invalid_argument(visible_field, rule));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_creation_node_is_one_of_the_visible_nodes() {
        let check = |creation, visible, node_count| {
            NodeMasks { creation, visible }.check(node_count).map_err(|error| {
                let text = error.to_string();
                text.split(':').next_back().map(str::to_owned).unwrap_or_default()
            })
        };
        for (creation, visible, node_count) in [
            (0, 0, 1),
            (1, 1, 1),
            (0, 1, 1),
            (1, 0, 1),
            (2, 2, 2),
            (2, 3, 2),
            (0, 3, 2),
            (1 << 31, u32::MAX, 32),
        ] {
            assert_eq!(
                check(creation, visible, node_count),
                Ok(()),
                "{creation:#x} {visible:#x} {node_count}"
            );
        }
        for (creation, visible, node_count, rule) in [
            (2, 2, 1, "number of nodes is 1"),
            (1, 3, 1, "number of nodes is 1"),
            (3, 3, 2, "more than one bit"),
            (2, 1, 2, "does not include"),
            (2, 0, 2, "does not include"),
        ] {
            let text = check(creation, visible, node_count).expect_err("must be rejected");
            assert!(text.contains(rule), "{text}");
        }
    }
}
