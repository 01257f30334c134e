//! Records of a session.

use super::heap_type::HeapType;
use super::request::{Asked, Description, PlacementReason, Refusal};

/// A record: an action and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time since the start of the recording, in microseconds.
    pub time_us: u64,
    /// Action at that time.
    pub action: Action,
}

/// A call of an application, or an action of its allocator. Ids are unique for their kind of object and not reused.
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
    /// An allocation is placed in a heap, or has been moved there.
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
    /// An allocation was requested with this description. Replays need it; it follows [`Allocate`](Self::Allocate).
    Describe(Box<Description>),
    /// Why an allocation was placed as its [`Description`] says, which it follows.
    Reason {
        /// Id of the allocation.
        allocation: u64,
        /// The reason.
        reason: PlacementReason,
    },
    /// An allocation is named.
    Name {
        /// Id of the allocation.
        allocation: u64,
        /// Name, not empty.
        name: Box<str>,
    },
    /// The options, allocations, frames and periods that follow belong to this allocator. Without it, there is one
    /// allocator.
    SelectAllocator {
        /// Number of the allocator.
        allocator: u64,
    },
    /// An option of the selected allocator; all of them precede its allocations.
    SetOption {
        /// Name of the option.
        name: Box<str>,
        /// Value of the option.
        value: Box<str>,
    },
    /// The selected allocator, which has done nothing yet, is nested in another one.
    NestAllocator {
        /// Number of the other allocator, which was selected before.
        parent: u64,
    },
    /// The application has dropped its last handle of the selected allocator, which is not selected again.
    DropAllocator,
    /// The selected allocator has created a custom pool.
    CreatePool {
        /// Id of the pool.
        pool: u64,
        /// Names and values of its options.
        options: Vec<(Box<str>, Box<str>)>,
    },
    /// The application has dropped its last handle of a pool. Its allocations may be live.
    DropPool {
        /// Id of the pool.
        pool: u64,
    },
    /// An allocation was requested from a pool. It follows [`Describe`](Self::Describe).
    UsePool {
        /// Id of the allocation.
        allocation: u64,
        /// Id of the pool.
        pool: u64,
    },
    /// The application has asked a pool to release its empty heaps.
    ReleasePool {
        /// Id of the pool.
        pool: u64,
    },
    /// A call of the device for a heap of the selected allocator took so long. Its decisions depend on it.
    HeapTime {
        /// Type of the heap.
        heap_type: HeapType,
        /// Whether the heap was freed, instead of created.
        is_free: bool,
        /// Time of the call.
        nanoseconds: u64,
    },
    /// The selected allocator has added an empty heap to its heaps before it was needed. In files of earlier versions;
    /// now the call that has a heap prefetched creates it, as a replay of the call does.
    PrefetchHeap {
        /// Id of the heap.
        heap: u64,
        /// Id of the pool to which it belongs, if it belongs to one.
        pool: Option<u64>,
        /// Whether it is for resources that share heaps.
        is_shared: bool,
    },
    /// An allocation was requested in another way than its [`Description`] and the type of its heap say. It follows the
    /// description.
    Ask {
        /// Id of the allocation.
        allocation: u64,
        /// What was asked.
        request: Asked,
    },
    /// A request of the selected allocator failed. It may have released empty heaps. One without a dimension stands for
    /// a request with arguments that are not valid.
    Refuse(Box<Refusal>),
    /// The selected allocator failed to create a custom pool.
    RefusePool {
        /// Names and values of its options.
        options: Vec<(Box<str>, Box<str>)>,
    },
    /// The selected allocator begins a defragmentation.
    BeginDefragmentation {
        /// Id of the run.
        run: u64,
        /// Id of the pool, if only its heaps are defragmented.
        pool: Option<u64>,
    },
    /// A defragmentation has planned moves. They are numbered from 0 in each run, in the order in which they were
    /// planned.
    StepDefragmentation {
        /// Id of the run.
        run: u64,
        /// Maximum number of moves.
        moves: u32,
        /// Maximum size of the moves together, in bytes.
        bytes: u64,
        /// Number of times that the planner found time left, if it ran out of time.
        time_checks: Option<u64>,
        /// Number of moves that it has planned.
        planned: u32,
    },
    /// An allocation is moved. Its new place follows.
    CompleteMove {
        /// Id of the run.
        run: u64,
        /// Number of the move.
        number: u64,
        /// Id of the allocation.
        allocation: u64,
    },
    /// A planned move is not carried out.
    AbandonMove {
        /// Id of the run.
        run: u64,
        /// Number of the move.
        number: u64,
    },
    /// A defragmentation ends. Moves that it has planned may be completed later.
    EndDefragmentation {
        /// Id of the run.
        run: u64,
    },
    /// The application has told the selected allocator of a frame.
    Frame,
    /// Without frames, a period has passed after which the selected allocator releases idle memory.
    IdlePeriod,
    /// The application has asked the selected allocator to release empty heaps.
    ReleaseHeaps {
        /// Number of bytes.
        bytes: u64,
    },
    /// A heap is made resident.
    MakeResident {
        /// Id of the heap.
        heap: u64,
    },
    /// A heap is evicted.
    Evict {
        /// Id of the heap.
        heap: u64,
    },
    /// A reserved resource exists. It has no memory but that of allocations to which its tiles are mapped.
    Reserve {
        /// Id of the resource.
        resource: u64,
        /// Number of its tiles of 64 KiB.
        tiles: u32,
        /// Kind of the resource.
        kind: ResourceKind,
        /// Debug name. Empty names are read back as `None`.
        name: Option<Box<str>>,
    },
    /// Consecutive tiles of a reserved resource are mapped, or unmapped.
    MapTiles {
        /// Id of the resource.
        resource: u64,
        /// First of its tiles.
        first: u32,
        /// Number of tiles.
        count: u32,
        /// Id of the allocation that has their memory from now on, and the first tile in it; `None` without memory.
        memory: Option<(u64, u32)>,
    },
    /// A reserved resource is destroyed.
    Unreserve {
        /// Id of the resource.
        resource: u64,
    },
    /// A counter has this value.
    Count {
        /// The counter.
        counter: Counter,
        /// Its value.
        value: u64,
    },
}

/// A counter of a recording. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Counter {
    /// Budget of the local segment group.
    LocalBudget = 0,
    /// Usage of the local segment group.
    LocalUsage = 1,
    /// Resident bytes of the residency manager in the local segment group.
    LocalResident = 2,
    /// Budget of the non-local segment group.
    NonLocalBudget = 3,
    /// Usage of the non-local segment group.
    NonLocalUsage = 4,
    /// Resident bytes of the residency manager in the non-local segment group.
    NonLocalResident = 5,
    /// Bytes of the selected allocator's heaps and committed resources.
    Reserved = 6,
    /// Bytes of the selected allocator's allocations.
    Used = 7,
    /// Millionths of the bytes in the selected allocator's heaps, without empty ones, that no allocation uses.
    Fragmentation = 8,
}

impl Counter {
    /// All counters.
    pub const ALL: [Self; 9] = [
        Self::LocalBudget,
        Self::LocalUsage,
        Self::LocalResident,
        Self::NonLocalBudget,
        Self::NonLocalUsage,
        Self::NonLocalResident,
        Self::Reserved,
        Self::Used,
        Self::Fragmentation,
    ];
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
    #[cfg(feature = "read")]
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Unknown, Self::Buffer, Self::Texture].into_iter().find(|&kind| kind as u8 == byte)
    }
}
