//! Records of a session.

/// A record: an action and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time since the start of the recording, in microseconds.
    pub time_us: u64,
    /// Action at that time.
    pub action: Action,
}

/// What an application or its allocator did. Ids are unique for their kind of object and not reused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// An allocation is created.
    Allocate(Allocation),
    /// An allocation is freed.
    Free {
        /// Id of the allocation.
        allocation: u64,
    },
    /// A heap is created.
    CreateHeap(Heap),
    /// A heap is destroyed.
    DestroyHeap {
        /// Id of the heap.
        heap: u64,
    },
    /// An allocation is placed in a heap.
    Place {
        /// Id of the allocation.
        allocation: u64,
        /// Id of the heap.
        heap: u64,
        /// Offset in the heap, in bytes.
        offset: u64,
    },
    /// A part of an allocation has these contents.
    Contents {
        /// Id of the allocation.
        allocation: u64,
        /// Offset in the allocation, in bytes.
        offset: u64,
        /// Contents from that offset on.
        bytes: Vec<u8>,
    },
    /// A residency set gets new heaps instead of those that it had.
    DefineSet {
        /// Id of the set.
        set: u64,
        /// Ids of the heaps.
        heaps: Vec<u64>,
    },
    /// Command lists are submitted to a queue.
    Submit {
        /// Number of the queue.
        queue: u64,
        /// Value that the queue's fence reaches after the submission.
        fence_value: u64,
        /// Ids of the residency sets that must be resident.
        sets: Vec<u64>,
    },
    /// A heap has this range of GPU virtual addresses.
    HeapAddress {
        /// Id of the heap.
        heap: u64,
        /// Start of the range.
        address: u64,
        /// Size of the range, in bytes.
        size: u64,
    },
    /// An allocation has this range of GPU virtual addresses.
    AllocationAddress {
        /// Id of the allocation.
        allocation: u64,
        /// Start of the range.
        address: u64,
        /// Size of the range, in bytes.
        size: u64,
    },
}

/// Description of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Id of the allocation.
    pub id: u64,
    /// Requested size in bytes, at least 1.
    pub size: u64,
    /// Kind of the resource.
    pub kind: ResourceKind,
    /// Heap type that was requested.
    pub heap_type: HeapType,
    /// `D3D12_RESOURCE_FLAGS`.
    pub flags: u32,
    /// Debug name. Empty names are read back as `None`.
    pub name: Option<Box<str>>,
}

/// Description of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heap {
    /// Id of the heap.
    pub id: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// Heap type.
    pub heap_type: HeapType,
    /// `D3D12_HEAP_FLAGS`.
    pub flags: u32,
    /// Debug name. Empty names are read back as `None`.
    pub name: Option<Box<str>>,
}

/// The kind of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ResourceKind {
    /// Not recorded, as in CSV files.
    Unknown = 0,
    /// A buffer.
    Buffer = 1,
    /// A texture.
    Texture = 2,
}

impl ResourceKind {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Unknown, Self::Buffer, Self::Texture].into_iter().find(|&kind| kind as u8 == byte)
    }
}

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
