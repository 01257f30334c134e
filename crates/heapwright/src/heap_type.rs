//! D3D12's heap types.

use std::fmt;

use heapwright_d3d12::*;

/// `D3D12_HEAP_TYPE` without CUSTOM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
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
    #[inline]
    pub(crate) const fn index(self) -> usize {
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
