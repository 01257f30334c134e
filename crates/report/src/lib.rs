//! Reads and checks the JSON reports of heapwright's allocators, and draws them as HTML pages.
//!
//! A report is a [`heapwright::report::AllocatorReport`]. With the feature `serde` of heapwright, which this crate enables,
//! any serde writer serializes it; its JSON is the document below.
//!
//! ```
//! use heapwright::report::{AllocatorReport, DeviceReport};
//!
//! let report = AllocatorReport::new(DeviceReport::new("Some GPU", "discrete"));
//! let json = serde_json::to_vec(&report)?;
//! assert_eq!(heapwright_report::from_json(&json)?, report);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The JSON document
//!
//! One object. [`JSON_SCHEMA`] describes it for tools (JSON Schema, draft 2020-12). The fields of `AllocatorReport` and its
//! parts are its keys, under the same names; each field's documentation says what it means. Sizes and offsets are whole
//! numbers of bytes, exact in 64 bits, which is more than the 53 that some readers keep. Keys of fields that are `Option`
//! are left out when there is nothing to say, and may be `null`; all others are required.
//!
//! `schema` is `"heapwright.report"` and `version` is 1. Later versions of this crate may add keys, and may add values of
//! the `kind` of an allocation: readers ignore keys that they do not know, and take kinds that they do not know for
//! `"unknown"`. Where the meaning of a key changes, or one goes, `version` gets larger.
//!
//! # Rules
//!
//! What [`check()`] checks, and [`ReportError`] names with the place:
//!
//! * `schema` and `version` are those above.
//! * A heap's `index` is its place in `heaps`; `pool` is a place in `pools`.
//! * Heaps, allocations and resources are not empty, and where a GPU virtual address is told, it and the size fit in 64 bits.
//! * The allocations of a heap are in the order of their offsets, inside the heap, and do not overlap. So are those
//!   `within` a slab or a backing buffer, at most 16 levels deep; nothing else has any `within`.
//! * `requested` is not above `size`.
//! * `used` of a heap, and all sums, are what the allocations add up to, in 64 bits; each heap type, segment group, and reason
//!   of a decision is listed once, and each heap type and segment group that something lies in is listed.
//! * `heaps_created` is not below the number of heaps.

mod check;
mod error;
mod free_ranges;
mod json;
mod live;
mod page;
mod visible;

pub use check::check;
pub use error::ReportError;
pub use free_ranges::{
    FreeRanges, external_fragmentation, free_ranges, heap_external_fragmentation, largest_free_range,
};
pub use json::{JSON_SCHEMA, MAX_JSON_LEN, ReadReportError, from_json, read};
pub use live::{LiveAllocation, Place, largest_allocations, live_allocations};
pub use page::write_html;
pub use visible::Visible;
