//! Reads and checks JSON reports of heapwright's allocators, and converts them to HTML pages. [`from_dump`] converts
//! dumps of other allocators to reports.
//!
//! A report is a [`heapwright::report::AllocatorReport`]. This crate enables heapwright's feature `serde`, with which
//! any serde serializer can write a report. The JSON form is described below.
//!
//! ```
//! use heapwright::report::{AllocatorReport, DeviceReport};
//!
//! let report = AllocatorReport::new(DeviceReport::default());
//! let json = serde_json::to_vec(&report)?;
//! assert_eq!(heapwright_report::from_json(&json)?, report);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The JSON document
//!
//! A report is one object, described by [`JSON_SCHEMA`]. Its keys have the names and meanings of the fields of
//! `AllocatorReport` and the types it contains. Sizes and offsets are integers of up to 64 bits, in bytes; some JSON
//! parsers are only exact up to 53 bits. Keys of `Option` fields may be missing or `null`; all others are required.
//!
//! `schema` is `"heapwright.report"` and `version` is 1. Later versions of this crate may add keys and values of
//! `kind`. Readers ignore unknown keys and treat unknown kinds as `"unknown"`. If a key is removed or its meaning
//! changes, `version` is increased.
//!
//! # Rules
//!
//! [`check()`] checks the following rules. [`ReportError`] names the first violation.
//!
//! * `schema` and `version` have the values above.
//! * A heap's `index` is its position in `heaps`, and its `pool` is a valid index in `pools`.
//! * Sizes of heaps, allocations and resources are at least 1.
//! * The allocations of a heap are in order of offsets, inside the heap, and do not overlap. The same applies to the
//!   allocations `within` a backing buffer, at most 16 levels deep. Other allocations have no `within`.
//! * `used` of each heap and all sums match the listed items and fit in 64 bits.
//! * Each heap type, segment group and decision reason is listed at most once. All heap types and segment groups in use
//!   are listed.
//! * `heaps_created` is at least the number of heaps.

mod check;
mod dump;
mod error;
mod html_text;
mod json;
pub mod session;

pub use check::check;
pub use dump::from_dump;
pub use error::ReportError;
pub use heapwright_trace::Visible;
pub use json::{JSON_SCHEMA, MAX_JSON_LEN, ReadReportError, from_json, read};
pub use session::write_html;
