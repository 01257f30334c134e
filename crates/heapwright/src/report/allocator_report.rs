//! The report of an allocator, and its totals.

use heapwright_core::ByteSize;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::heap_report::HeapReport;
use super::names::{AllocationKind, HeapTypeName};
use super::{SCHEMA, VERSION};
use crate::SegmentGroup;

/// A report of everything that an allocator holds. The [module page](super) has the rules and an example.
///
/// To build one, call [`new`](Self::new), push `pools`, `heaps`, `committed`, `imported` and `decisions`, set
/// `heaps_created` and the known `segment_groups`, then call [`recount`](Self::recount), which computes all totals.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct AllocatorReport {
    /// The constant [`SCHEMA`].
    pub schema: String,
    /// The constant [`VERSION`].
    pub version: u64,
    /// The allocator's device.
    pub device: DeviceReport,
    /// The totals of everything.
    pub totals: TotalsReport,
    /// Number of heaps that the device created since the allocator was created.
    pub heaps_created: u64,
    /// The totals by heap type.
    pub heap_types: Vec<HeapTypeReport>,
    /// The totals by segment group, with usage and budget.
    pub segment_groups: Vec<SegmentGroupReport>,
    /// The pools, with their totals. Heaps refer to a pool by its index here.
    pub pools: Vec<PoolReport>,
    /// The number of decisions, by reason.
    pub decisions: Vec<DecisionReport>,
    /// The heaps.
    pub heaps: Vec<HeapReport>,
    /// Committed resources. Each has memory of its own, outside the heaps.
    pub committed: Vec<ResourceReport>,
    /// Resources that the application created and imported.
    pub imported: Vec<ResourceReport>,
}

impl AllocatorReport {
    /// Creates the report of an allocator that holds nothing.
    #[must_use]
    pub fn new(device: DeviceReport) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            device,
            totals: TotalsReport::default(),
            heaps_created: 0,
            heap_types: Vec::new(),
            segment_groups: Vec::new(),
            pools: Vec::new(),
            decisions: Vec::new(),
            heaps: Vec::new(),
            committed: Vec::new(),
            imported: Vec::new(),
        }
    }
}

/// Properties of the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct DeviceReport {
    /// The adapter's description; empty if it is not known.
    pub description: String,
    /// `discrete`, `UMA` or `cache-coherent UMA`.
    pub architecture: String,
    /// `D3D12_RESOURCE_HEAP_TIER`: 1 or 2.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub resource_heap_tier: Option<u8>,
    /// `D3D12_TIGHT_ALIGNMENT_TIER`: 0 or 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tight_alignment_tier: Option<u8>,
    /// Whether the device supports GPU upload heaps.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gpu_upload_heaps: Option<bool>,
    /// The newest numbered `ID3D12Device` interface that the device supports; 0 for the first.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interface_version: Option<u32>,
}

/// Totals of everything or of a part. Computed by [`AllocatorReport::recount`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct TotalsReport {
    /// Bytes of heaps.
    pub reserved: ByteSize,
    /// Bytes of heaps that allocations use.
    pub used: ByteSize,
    /// Bytes of heaps that are not used: in free ranges, or lost to alignment.
    pub free: ByteSize,
    /// Number of heaps.
    pub heap_count: u64,
    /// Number of heaps without allocations, or with backing buffers that contain none.
    pub empty_heap_count: u64,
    /// Number of allocations in heaps, including those within backing buffers.
    pub allocation_count: u64,
    /// Committed resources, which the values above exclude.
    pub committed: Tally,
    /// Imported resources, which the values above exclude.
    pub imported: Tally,
    /// The allocations in heaps that are parts of a backing buffer.
    pub within_resource: Tally,
}

/// A count, and a sum of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Tally {
    /// Number of items.
    pub count: u64,
    /// Sum of their sizes, in bytes.
    pub size: ByteSize,
}

/// The totals of one heap type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct HeapTypeReport {
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The totals.
    pub totals: TotalsReport,
}

/// The totals of one segment group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct SegmentGroupReport {
    /// `"local"` or `"non_local"`.
    pub segment_group: SegmentGroup,
    /// Bytes that the operating system wants this process to stay below, if the adapter is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub budget: Option<ByteSize>,
    /// Bytes that this process uses, through any allocator, if the adapter is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub current_usage: Option<ByteSize>,
    /// The totals.
    pub totals: TotalsReport,
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct PoolReport {
    /// The name; several pools may have the same.
    pub name: String,
    /// The heap type, if there is only one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub heap_type: Option<HeapTypeName>,
    /// The algorithm, if there is only one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub algorithm: Option<String>,
    /// The totals.
    pub totals: TotalsReport,
}

/// The number of decisions for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct DecisionReport {
    /// The decision and its reason, such as `committed: flag`.
    pub reason: String,
    /// The number of decisions since the allocator was created.
    pub count: u64,
}

/// A resource with memory of its own: committed, or imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct ResourceReport {
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The segment group that the resource is charged to.
    pub segment_group: SegmentGroup,
    /// The kind of resource.
    pub kind: AllocationKind,
    /// Size in bytes, as the device reports it.
    pub size: ByteSize,
    /// The name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// The application's value, as text.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub user_data: Option<String>,
}
