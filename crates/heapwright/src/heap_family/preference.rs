//! Heap types in order of preference.

use std::fmt;

use crate::HeapType;

/// Heap types in order of preference; the first that the device grants is taken.
///
/// It is never empty. Cost: O(1), as there are four heap types.
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
    /// Only the first of them count; the others are DEFAULT, so that equal preferences are equal values.
    len: usize,
}

impl HeapTypePreference {
    /// Video memory that the CPU writes where the device has it, and system memory that the GPU reads elsewhere.
    pub const GPU_UPLOAD_OR_UPLOAD: Self = Self::first(HeapType::GpuUpload).or(HeapType::Upload);

    /// This heap type, and no other unless [`or`](Self::or) adds one.
    #[must_use]
    pub const fn first(heap_type: HeapType) -> Self {
        let mut heap_types = [HeapType::Default; HeapType::ALL.len()];
        heap_types[0] = heap_type;
        Self { heap_types, len: 1 }
    }

    /// The same, and `heap_type` where none so far is granted. One that is there already changes nothing.
    #[must_use]
    pub const fn or(mut self, heap_type: HeapType) -> Self {
        let mut index = 0;
        while index < self.len {
            if self.heap_types[index].to_d3d12() == heap_type.to_d3d12() {
                return self;
            }
            index += 1;
        }
        // There is room: the array has a place for each heap type, and none is in it twice.
        self.heap_types[self.len] = heap_type;
        self.len += 1;
        self
    }

    /// The heap types, the most wanted first.
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
    fn it_holds_each_heap_type_once_in_the_order_of_preference() {
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
