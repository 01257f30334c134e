//! What an allocator and an allocation are asked for.

use std::fmt;

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapRetention, HeapSizing};
use heapwright_d3d12::*;

use crate::Error;

/// How an allocator behaves. `Default` is what the documentation of the fields says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAllocatorDesc {
    /// The size of new heaps.
    pub heap_sizing: HeapSizing,
    /// How long empty heaps are kept.
    pub heap_retention: HeapRetention,
}

impl ResourceAllocatorDesc {
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.heap_sizing.batch == 0 {
            return Err(Error::invalid_argument(
                "HeapSizing::batch",
                "is 0; a heap holds at least one request",
            ));
        }
        Ok(())
    }
}

/// `D3D12_HEAP_TYPE` without CUSTOM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeapType {
    /// For the GPU alone.
    #[default]
    Default,
    /// System memory that the CPU writes and the GPU reads.
    Upload,
    /// System memory that the GPU writes and the CPU reads.
    Readback,
    /// Video memory that the CPU can write (document UPLOAD), where the device has it.
    GpuUpload,
}

impl HeapType {
    /// Every heap type.
    pub const ALL: [Self; 4] = [Self::Default, Self::Upload, Self::Readback, Self::GpuUpload];

    /// D3D12's number for it.
    #[must_use]
    pub const fn to_d3d12(self) -> D3D12_HEAP_TYPE {
        match self {
            Self::Default => D3D12_HEAP_TYPE_DEFAULT,
            Self::Upload => D3D12_HEAP_TYPE_UPLOAD,
            Self::Readback => D3D12_HEAP_TYPE_READBACK,
            Self::GpuUpload => D3D12_HEAP_TYPE_GPU_UPLOAD,
        }
    }

    /// Whether the CPU can map it.
    #[must_use]
    pub const fn is_cpu_accessible(self) -> bool {
        !matches!(self, Self::Default)
    }

    /// The position in [`ALL`](Self::ALL).
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Default => 0,
            Self::Upload => 1,
            Self::Readback => 2,
            Self::GpuUpload => 3,
        }
    }
}

impl fmt::Display for HeapType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "DEFAULT",
            Self::Upload => "UPLOAD",
            Self::Readback => "READBACK",
            Self::GpuUpload => "GPU_UPLOAD",
        })
    }
}

/// Where a resource is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceAllocationDesc {
    /// The kind of heap.
    pub heap_type: HeapType,
}

impl ResourceAllocationDesc {
    /// A resource in heaps of `heap_type`, everything else by default.
    #[must_use]
    pub const fn new(heap_type: HeapType) -> Self {
        Self { heap_type }
    }
}

/// The description of a buffer of `size` bytes, without flags.
#[must_use]
pub fn buffer_desc(size: ByteSize) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width: size.get(),
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_NONE,
    }
}
