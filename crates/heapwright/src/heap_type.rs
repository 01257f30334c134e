//! D3D12's heap types.

use std::fmt;

use heapwright_d3d12::*;

/// `D3D12_HEAP_TYPE` without CUSTOM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum HeapType {
    /// Memory that only the GPU accesses.
    #[default]
    Default,
    /// System memory that the CPU writes and the GPU reads.
    Upload,
    /// System memory that the GPU writes and the CPU reads.
    Readback,
    /// Video memory that the CPU can write, where the device supports it.
    GpuUpload,
}

impl HeapType {
    /// Every heap type.
    pub const ALL: [Self; 4] = [Self::Default, Self::Upload, Self::Readback, Self::GpuUpload];

    /// Returns D3D12's value.
    #[must_use]
    pub const fn to_d3d12(self) -> D3D12_HEAP_TYPE {
        match self {
            Self::Default => D3D12_HEAP_TYPE_DEFAULT,
            Self::Upload => D3D12_HEAP_TYPE_UPLOAD,
            Self::Readback => D3D12_HEAP_TYPE_READBACK,
            Self::GpuUpload => D3D12_HEAP_TYPE_GPU_UPLOAD,
        }
    }

    /// Returns `true` if the CPU can map heaps of this type.
    #[must_use]
    pub const fn is_cpu_accessible(self) -> bool {
        !matches!(self, Self::Default)
    }

    /// Returns the position in [`ALL`](Self::ALL).
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
