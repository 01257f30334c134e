//! Heap types, as sessions record them.

/// A heap type, with the values of `D3D12_HEAP_TYPE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HeapType {
    /// Not recorded, as in CSV files.
    Unknown = 0,
    /// Video memory that only the GPU can access.
    Default = 1,
    /// Memory that the CPU writes and the GPU reads.
    Upload = 2,
    /// Memory that the GPU writes and the CPU reads.
    Readback = 3,
    /// Memory with other heap properties.
    Custom = 4,
    /// Video memory that the CPU can write to.
    GpuUpload = 5,
}

impl HeapType {
    /// Returns the heap type with this value of `D3D12_HEAP_TYPE`; 0 is unknown.
    #[must_use]
    pub fn from_d3d12(value: u8) -> Option<Self> {
        [Self::Unknown, Self::Default, Self::Upload, Self::Readback, Self::Custom, Self::GpuUpload]
            .into_iter()
            .find(|&heap_type| heap_type as u8 == value)
    }
}
