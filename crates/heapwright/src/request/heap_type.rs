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

/// Heap types in order of preference. The first that the device grants is used.
///
/// A preference is never empty. Cost: O(1), because there are four heap types.
///
/// ```
/// use heapwright::{HeapType, HeapTypePreference};
///
/// let preference = HeapTypePreference::first(HeapType::GpuUpload).or(HeapType::Upload);
/// assert_eq!(preference.to_string(), "GPU_UPLOAD, else UPLOAD");
/// assert_eq!(preference, HeapTypePreference::GPU_UPLOAD_OR_UPLOAD);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeapTypePreference {
    heap_types: [HeapType; HeapType::ALL.len()],
    /// Number of used elements. The others are DEFAULT, so that equal preferences are equal values.
    len: usize,
}

impl HeapTypePreference {
    /// Video memory that the CPU can write where the device supports it, otherwise system memory that the GPU reads.
    pub const GPU_UPLOAD_OR_UPLOAD: Self = Self::first(HeapType::GpuUpload).or(HeapType::Upload);

    /// Creates a preference for one heap type. [`or`](Self::or) adds others.
    #[must_use]
    pub const fn first(heap_type: HeapType) -> Self {
        let mut heap_types = [HeapType::Default; HeapType::ALL.len()];
        heap_types[0] = heap_type;
        Self { heap_types, len: 1 }
    }

    /// Adds `heap_type`, to be used if no earlier type is granted. A type that is already present is not added again.
    #[must_use]
    pub const fn or(mut self, heap_type: HeapType) -> Self {
        let mut index = 0;
        while index < self.len {
            if self.heap_types[index].to_d3d12() == heap_type.to_d3d12() {
                return self;
            }
            index += 1;
        }
        // The array has an element for each heap type, and no type is in it twice.
        self.heap_types[self.len] = heap_type;
        self.len += 1;
        self
    }

    /// Returns the heap types, most preferred first.
    #[must_use]
    #[inline]
    pub fn heap_types(&self) -> &[HeapType] {
        self.heap_types.get(..self.len).unwrap_or(&self.heap_types)
    }
}

impl From<HeapType> for HeapTypePreference {
    fn from(heap_type: HeapType) -> Self {
        Self::first(heap_type)
    }
}

impl fmt::Display for HeapTypePreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.heap_types().iter().map(HeapType::to_string).collect();
        f.pad(&names.join(", else "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_types_are_unique_and_in_order() {
        let all = HeapType::ALL.into_iter().rev();
        let mut preference = HeapTypePreference::first(HeapType::GpuUpload);
        for heap_type in all.clone().chain(all.clone()) {
            preference = preference.or(heap_type);
        }
        assert_eq!(preference.heap_types(), all.collect::<Vec<_>>());
        let one = HeapTypePreference::from(HeapType::Upload);
        assert_eq!((one.heap_types(), one), (&[HeapType::Upload][..], one.or(HeapType::Upload)));
    }
}
