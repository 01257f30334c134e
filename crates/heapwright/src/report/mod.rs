//! Reports everything that an allocator holds, for people and tools: every heap and every allocation, as plain data.
//!
//! [`ResourceAllocator::report`](crate::ResourceAllocator::report) returns an [`AllocatorReport`]. Its parts are
//! [`HeapReport`], [`AllocationReport`] and [`ResourceReport`], and the totals by heap type, segment group and pool.
//!
//! With the feature `serde`, all of these implement `Serialize` and `Deserialize`. The JSON of an `AllocatorReport` is
//! a versioned document. The crate `heapwright-report` specifies it, reads and checks it, and renders it as an HTML
//! page, as does the program with `heapwright report`.
//!
//! ```
//! use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
//! use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
//! # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
//! let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
//! let desc = buffer_desc(ByteSize::from_mib(1));
//! let buffer = allocator.create_resource(&Default::default(), &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
//! let report = allocator.report();
//! for heap in &report.heaps {
//!     println!("{} heap of {}: {} allocations", heap.heap_type, heap.size, heap.allocations.len());
//! }
//! assert_eq!(report.totals.used, ByteSize::from_mib(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tools can also build a report from data of their own:
//!
//! ```
//! use heapwright::ByteSize;
//! use heapwright::report::{
//!     AllocationKind, AllocationReport, AllocatorReport, DeviceReport, HeapReport, PoolReport,
//! };
//!
//! let device = DeviceReport { description: "Some GPU".to_owned(), ..Default::default() };
//! let mut report = AllocatorReport::new(device);
//! report.pools.push(PoolReport { name: "default".to_owned(), ..Default::default() });
//! let vertices = AllocationReport {
//!     size: ByteSize::from_mib(1),
//!     kind: AllocationKind::Buffer,
//!     name: Some("vertices".to_owned()),
//!     ..Default::default()
//! };
//! report.heaps.push(HeapReport { size: ByteSize::from_mib(4), allocations: vec![vertices], ..Default::default() });
//! report.recount();
//! assert_eq!(report.totals.used, ByteSize::from_mib(1));
//! ```
//!
//! # Used bytes
//!
//! Used bytes are the bytes of allocations that users hold, as the device sizes them. A slab or a backing buffer whose
//! contents are listed (`within`) counts for its contents, and the rest of it counts as free. If the contents are not
//! listed, it counts as a whole, as one allocation.

mod allocator_report;
mod heap_report;
mod names;
mod sums;

pub use allocator_report::{
    AllocatorReport, DecisionReport, DeviceReport, HeapTypeReport, PoolReport, ResourceReport,
    SegmentGroupReport, Tally, TotalsReport,
};
pub use heap_report::{AllocationReport, HeapReport};
#[doc(hidden)]
pub use names::heap_flag_names;
pub use names::{AllocationKind, HeapContents, HeapTypeName};

/// The value of [`AllocatorReport::schema`] in every report.
pub const SCHEMA: &str = "heapwright.report";

/// The value of [`AllocatorReport::version`] in the reports of this version of the crate.
pub const VERSION: u64 = 1;
