//! The detailed report of an allocator: every heap and every allocation, as a versioned JSON document and as an HTML page.
//!
//! * [`AllocatorReport`] is the whole; its parts are [`HeapReport`], [`AllocationReport`] and [`ResourceReport`], and the
//!   sums by heap type, segment group and pool.
//! * [`AllocatorReport::to_json_writer`] and [`AllocatorReport::from_json_reader`] write and read it; what is read is checked
//!   ([`AllocatorReport::check`]), so whoever gets a report may rely on the rules below.
//! * [`AllocatorReport::to_html_writer`] makes the page that `heapwright report` writes.
//!
//! ```
//! use heapwright::report::{
//!     AllocationKind, AllocationReport, AllocatorReport, DeviceReport, HeapContents, HeapReport, HeapTypeName, PoolReport,
//! };
//! use heapwright::{ByteSize, HeapOffset, SegmentGroup};
//!
//! let mut report = AllocatorReport::new(DeviceReport::new("Some GPU", "discrete"));
//! report.pools.push(PoolReport::new("default"));
//! let mut heap = HeapReport::new(HeapTypeName::Default, SegmentGroup::Local, HeapContents::Buffers, ByteSize::from_mib(4));
//! heap.allocations.push(
//!     AllocationReport::new(HeapOffset::ZERO, ByteSize::from_mib(1), AllocationKind::Buffer).with_name("vertices"),
//! );
//! report.heaps.push(heap);
//! report.recount()?; // the sums
//!
//! assert_eq!(report.totals.used, ByteSize::from_mib(1));
//! let json = report.to_json();
//! assert_eq!(AllocatorReport::from_json(json.as_bytes())?, report);
//! # Ok::<(), heapwright::report::ReportError>(())
//! ```
//!
//! # The JSON document
//!
//! One object. [`JSON_SCHEMA`] describes it for tools (JSON Schema, draft 2020-12). The fields of the types here are its
//! keys, under the same names; each says what it means. Sizes and offsets are whole numbers of bytes, exact in 64 bits,
//! which is more than the 53 that some readers keep. Keys of fields that are `Option` are left out when there is nothing
//! to say, and may be `null`; all others are required.
//!
//! `schema` is `"heapwright.report"` and `version` is 1. Later versions of this crate may add keys, and may add values of
//! the `kind` of an allocation: readers ignore keys that they do not know, and take kinds that they do not know for
//! `"unknown"`. Where the meaning of a key changes, or one goes, `version` gets larger.
//!
//! # Rules
//!
//! What [`AllocatorReport::check`] checks, and [`ReportError`] names with the place:
//!
//! * `schema` and `version` are those above.
//! * A heap's `index` is its place in `heaps`; `pool` is a place in `pools`.
//! * Heaps, allocations and resources are not empty, and where a GPU virtual address is told, it and the size fit in 64 bits.
//! * The allocations of a heap are in the order of their offsets, inside the heap, and do not overlap. So are those
//!   `within` a slab or a backing buffer, at most 16 levels deep; nothing else has any `within`.
//! * `requested` is not above `size`.
//! * `used` of a heap, and all sums, are what the allocations add up to; each heap type, segment group, and reason of a
//!   decision is listed once, and each heap type and segment group that something lies in is listed.
//! * `heaps_created` is not below the number of heaps.
//!
//! # What counts as used
//!
//! The bytes of allocations that users hold, as the device sizes them. A slab or a backing buffer whose content is told
//! (`within`) counts for what is in it, so the rest of it counts as free; one whose content is not told counts as a whole,
//! as one allocation.

mod allocator_report;
mod check;
mod error;
mod heap_report;
mod json;
mod live;
mod names;
mod number;
mod page;
mod sums;
mod visible;

pub use allocator_report::{
    AllocatorReport, DecisionReport, DeviceReport, HeapTypeReport, PoolReport, ResourceReport,
    SegmentGroupReport, Tally, TotalsReport,
};
pub use error::ReportError;
pub use heap_report::{AllocationReport, FreeRanges, HeapReport};
pub use json::{JSON_SCHEMA, ReadReportError, SCHEMA, VERSION};
pub use live::{LiveAllocation, Place};
pub use names::{AllocationKind, HeapContents, HeapTypeName, heap_flag_names};
pub use visible::Visible;
