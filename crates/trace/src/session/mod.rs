//! Sessions: what an application did with GPU memory, in a compact binary format that is written and read as a stream.
//!
//! [`SessionWriter`] writes records, and [`SessionReader`] yields them. Both hold one block in memory, whatever the
//! length of the file. [`Trace`](crate::Trace) and [`RecordReader`](crate::RecordReader) read sessions, too, and check
//! allocations and frees.
//!
//! # Format
//!
//! A session is a header, blocks of records, and an end. Integers in the header and before blocks are little-endian.
//!
//! | offset | bytes | header |
//! |---|---|---|
//! | 0 | 8 | `89 48 57 53 0D 0A 1A 0A`; a transfer as text damages it |
//! | 8 | 2 | [`VERSION`], 1; a reader refuses every other version |
//! | 10 | 2 | 0 |
//! | 12 | 4 | CRC-32 of the 12 bytes before it |
//!
//! | offset | bytes | block |
//! |---|---|---|
//! | 0 | 4 | length of the records, 1 to [`MAX_BLOCK_LEN`] |
//! | 4 | 4 | number of records, at least 1 |
//! | 8 | 4 | CRC-32 of the 8 bytes before it and of the records |
//! | 12 | | records |
//!
//! The end is a block with length 0 and number 0, after which the file ends. CRC-32 is that of gzip (IEEE 802.3).
//!
//! The length of a file that a crash has truncated is arbitrary. Such a file is valid up to its last complete block,
//! and [`SessionReader::truncated_at`] returns where that ends. Everything else that differs from the format is an
//! error, which names the offset of the block.
//!
//! A record begins with a byte for its action and the time since the previous record in microseconds. Integers are
//! LEB128: 7 bits in each byte, lowest first, the top bit set in all but the last byte, at most 10 bytes. An id is the
//! difference to the previous id of the same kind (allocation, heap, set) as a zigzag integer: 0, -1, 1, -2 are 0, 1,
//! 2, 3. Time and ids start from 0 in every block, so that each block can be read on its own. Time must not decrease,
//! also from one block to the next.
//!
//! | byte | action | fields |
//! |---|---|---|
//! | 1 | [`Allocate`](Action::Allocate) | allocation id, size, resource kind (byte), heap type (byte), resource flags, name |
//! | 2 | [`Free`](Action::Free) | allocation id |
//! | 3 | [`CreateHeap`](Action::CreateHeap) | heap id, size, alignment, heap type (byte), heap flags, name |
//! | 4 | [`DestroyHeap`](Action::DestroyHeap) | heap id |
//! | 5 | [`Place`](Action::Place) | allocation id, heap id, offset in the heap |
//! | 6 | [`Contents`](Action::Contents) | allocation id, offset in the allocation, length, bytes |
//! | 7 | [`DefineSet`](Action::DefineSet) | set id, number of heaps, heap ids |
//! | 8 | [`Submit`](Action::Submit) | queue, fence value, number of sets, set ids |
//! | 9 | [`HeapAddress`](Action::HeapAddress) | heap id, GPU virtual address, size |
//! | 10 | [`AllocationAddress`](Action::AllocationAddress) | allocation id, GPU virtual address, size |
//! | 11 | [`Describe`](Action::Describe) | allocation id, placement (byte), allocation flags, heap flags, padding, strategy (byte), initial state, dimension, alignment, width, height, depth or array size, mip levels, format, sample count, sample quality, layout |
//! | 12 | [`Name`](Action::Name) | allocation id, name |
//! | 13 | [`SelectAllocator`](Action::SelectAllocator) | number of the allocator |
//! | 14 | [`SetOption`](Action::SetOption) | name, value (a name, too) |
//! | 15 | [`Frame`](Action::Frame) | |
//! | 16 | [`IdlePeriod`](Action::IdlePeriod) | |
//! | 17 | [`ReleaseHeaps`](Action::ReleaseHeaps) | bytes |
//! | 18 | [`MakeResident`](Action::MakeResident) | heap id |
//! | 19 | [`Evict`](Action::Evict) | heap id |
//! | 20 | [`Count`](Action::Count) | counter (byte), value |
//! | 21 | [`NestAllocator`](Action::NestAllocator) | number of the other allocator |
//! | 22 | [`DropAllocator`](Action::DropAllocator) | |
//! | 23 | [`CreatePool`](Action::CreatePool) | pool id, number of options, names and values (names, too) |
//! | 24 | [`DropPool`](Action::DropPool) | pool id |
//! | 25 | [`UsePool`](Action::UsePool) | allocation id, pool id |
//! | 26 | [`ReleasePool`](Action::ReleasePool) | pool id |
//! | 27 | [`PrefetchHeap`](Action::PrefetchHeap) | heap id, whether it is shared (byte, 0 or 1), pool or none |
//! | 28 | [`HeapTime`](Action::HeapTime) | heap type (byte), whether the heap was freed (byte, 0 or 1), nanoseconds |
//! | 29 | [`Reason`](Action::Reason) | allocation id, reason (byte) |
//! | 30 | [`Ask`](Action::Ask) | allocation id, what was asked |
//! | 31 | [`Refuse`](Action::Refuse) | the fields of a `Describe` with an id that is counted from 0, resource flags, what was asked, pool or none, whether there was no memory (byte, 0 or 1) |
//! | 32 | [`RefusePool`](Action::RefusePool) | number of options, names and values |
//! | 33 | [`BeginDefragmentation`](Action::BeginDefragmentation) | run id, pool or none |
//! | 34 | [`StepDefragmentation`](Action::StepDefragmentation) | run id, maximum number of moves, their maximum bytes, number of planned moves, number of times that time was left or none |
//! | 35 | [`CompleteMove`](Action::CompleteMove) | run id, number of the move, allocation id |
//! | 36 | [`AbandonMove`](Action::AbandonMove) | run id, number of the move |
//! | 37 | [`EndDefragmentation`](Action::EndDefragmentation) | run id |
//! | 38 | [`Reserve`](Action::Reserve) | resource id, number of tiles, resource kind (byte), name |
//! | 39 | [`MapTiles`](Action::MapTiles) | resource id, first tile, number of tiles, whether they have memory (byte, 0 or 1), and then the allocation id and the first tile in it |
//! | 40 | [`Unreserve`](Action::Unreserve) | resource id |
//!
//! A name is its length, at most [`MAX_NAME_LEN`] bytes, and UTF-8; length 0 stands for no name. A heap type is the
//! value of `D3D12_HEAP_TYPE`, or 0 if it is unknown. A resource kind is 0 if it is unknown, 1 for buffers and 2 for
//! textures. Contents have at most [`MAX_CONTENTS_LEN`] bytes in a record, lists at most [`MAX_LIST_LEN`] ids, and
//! pools at most [`MAX_OPTIONS`] options. Ids of pools, runs and reserved resources are plain integers, as numbers of
//! allocators are.
//! "Or none" stands for a byte, 1 if there is a value and otherwise 0, in front of the value. What was asked is a
//! number of heap types, at most [`MAX_HEAP_TYPES`], a byte for each, the uses of a buffer, a byte that is 1 for memory
//! without a resource and otherwise 0, and of such memory the kind of resources (byte) and the alignment.
//!
//! A session has at most [`MAX_EVENTS`] allocations and frees and [`MAX_OTHER_RECORDS`] other records, and at most
//! [`MAX_LIVE`] allocations, and as many heaps, live at the same time. Names and options have at most
//! [`MAX_TEXT_BYTES`] bytes together, and residency sets [`MAX_SET_IDS`] ids. A writer refuses records beyond that, as
//! [`RecordReader`](crate::RecordReader) does.
//!
//! # Examples
//!
//! ```
//! use heapwright_trace::session::{Action, Allocation, HeapType, Record, ResourceKind, SessionReader, SessionWriter};
//!
//! let allocation = Allocation {
//!     id: 7,
//!     size: 65536,
//!     kind: ResourceKind::Buffer,
//!     heap_type: HeapType::Default,
//!     flags: 0,
//!     name: Some("vertices".into()),
//! };
//! let mut writer = SessionWriter::new(Vec::new())?;
//! writer.write(&Record { time_us: 4, action: Action::Allocate(allocation) })?;
//! writer.write(&Record { time_us: 9, action: Action::Free { allocation: 7 } })?;
//! let bytes = writer.finish()?;
//!
//! let records = SessionReader::new("example.hws", &bytes[..])?.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(records[1], Record { time_us: 9, action: Action::Free { allocation: 7 } });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod counts;
#[cfg(feature = "read")]
mod decode;
mod encode;
mod heap_type;
#[cfg(feature = "read")]
mod reader;
mod record;
#[cfg(feature = "read")]
mod references;
mod request;
mod totals;
mod varint;
mod write_error;
mod writer;

pub use block::{MAX_BLOCK_LEN, VERSION};
pub use heap_type::HeapType;
#[cfg(feature = "read")]
pub use reader::SessionReader;
pub use record::{Action, Allocation, Counter, Heap, Record, ResourceKind};
pub use request::{Asked, BareMemory, Description, Placement, PlacementReason, Refusal};
pub use write_error::WriteError;
pub use writer::SessionWriter;

#[cfg(feature = "read")]
pub(crate) use {block::MAGIC, references::References};

/// Maximum length of a name, in bytes. A writer cuts off longer names.
pub const MAX_NAME_LEN: usize = 1024;

/// Maximum number of bytes in a record of contents. A writer splits longer contents into several records.
pub const MAX_CONTENTS_LEN: usize = 256 << 10;

/// Maximum number of ids in a list.
pub const MAX_LIST_LEN: usize = 64 << 10;

/// Size of a tile of a reserved resource, in bytes: 64 KiB.
pub const TILE_SIZE: u64 = 64 << 10;

/// Maximum number of options of a pool.
pub const MAX_OPTIONS: usize = 64;

/// Maximum number of heap types that a request names.
pub const MAX_HEAP_TYPES: usize = 8;

/// Maximum number of allocations and frees: 2^22, or 4,194,304.
pub const MAX_EVENTS: u32 = 1 << 22;

/// Maximum number of records other than allocations and frees: 2^23, or 8,388,608.
pub const MAX_OTHER_RECORDS: u32 = 1 << 23;

/// Maximum number of bytes of all names and options: 2^26, or 64 MiB.
pub const MAX_TEXT_BYTES: u32 = 1 << 26;

/// Maximum number of ids in all residency sets together, as they are defined at one time: 2^22, or 4,194,304.
pub const MAX_SET_IDS: u32 = 1 << 22;

/// Maximum number of allocations, of heaps, and of reserved resources that are live at the same time, and of residency
/// sets and allocators: 2^20, or 1,048,576.
pub const MAX_LIVE: u32 = 1 << 20;
