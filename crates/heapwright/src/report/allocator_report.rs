//! The whole report and its sums.

use heapwright_core::{ByteSize, GpuVirtualAddress};
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use super::heap_report::HeapReport;
use super::names::{AllocationKind, HeapTypeName};
use super::{SCHEMA, VERSION};
use crate::{DeviceCaps, SegmentGroup};

/// Everything that an allocator holds. The [module page](super) has the rules and an example.
///
/// To fill it: [`new`](Self::new), then push `pools`, `heaps`, `committed`, `imported` and `decisions`, set
/// `heaps_created` and what is known of `segment_groups`, then [`recount`](Self::recount), which makes all sums.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct AllocatorReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u64,
    /// The device that the memory is of.
    pub device: DeviceReport,
    /// The sums over everything.
    pub totals: TotalsReport,
    /// Heaps that the device was made to create since the allocator exists.
    pub heaps_created: u64,
    /// The sums by heap type.
    pub heap_types: Vec<HeapTypeReport>,
    /// The sums by segment group, and its usage and budget.
    pub segment_groups: Vec<SegmentGroupReport>,
    /// The pools, and their sums. Heaps and resources name theirs by its place here.
    pub pools: Vec<PoolReport>,
    /// How often the allocator decided something, by reason.
    pub decisions: Vec<DecisionReport>,
    /// The heaps.
    pub heaps: Vec<HeapReport>,
    /// Committed resources: each has memory of its own, outside of the heaps.
    pub committed: Vec<ResourceReport>,
    /// Resources that others made and that the allocator keeps books of.
    pub imported: Vec<ResourceReport>,
}

impl AllocatorReport {
    /// The report of an allocator that holds nothing.
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

/// Who the device is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct DeviceReport {
    /// The adapter's own description; empty where it is not known.
    pub description: String,
    /// `discrete`, `UMA` or `cache-coherent UMA`.
    pub architecture: String,
    /// `D3D12_RESOURCE_HEAP_TIER`: 1 or 2.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub resource_heap_tier: Option<u8>,
    /// `D3D12_TIGHT_ALIGNMENT_TIER`: 0 or 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub tight_alignment_tier: Option<u8>,
    /// Whether there are GPU upload heaps.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gpu_upload_heaps: Option<bool>,
    /// The newest `ID3D12Device` that the device answers to, 0 for the first.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub interface_version: Option<u32>,
}

impl DeviceReport {
    /// A device of which nothing else is known.
    #[must_use]
    pub fn new(description: impl Into<String>, architecture: impl Into<String>) -> Self {
        Self { description: description.into(), architecture: architecture.into(), ..Self::default() }
    }

    /// A device with what it supports; `description` is [`AdapterDesc::description`](crate::AdapterDesc::description).
    #[must_use]
    pub fn from_caps(description: impl Into<String>, caps: &DeviceCaps) -> Self {
        Self {
            description: description.into(),
            architecture: caps.architecture.to_string(),
            resource_heap_tier: Some(caps.resource_heap_tier),
            tight_alignment_tier: Some(caps.tight_alignment_tier),
            gpu_upload_heaps: Some(caps.gpu_upload_heaps),
            interface_version: Some(caps.interface_version),
        }
    }
}

/// How much there is of everything, or of a part. Made by [`AllocatorReport::recount`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct TotalsReport {
    /// Bytes of heaps.
    pub reserved: ByteSize,
    /// Bytes of these that allocations use.
    pub used: ByteSize,
    /// The rest of `reserved`: free in whatever pieces, or lost to alignment.
    pub free: ByteSize,
    /// Heaps.
    pub heap_count: u64,
    /// Heaps that nothing is in.
    pub empty_heap_count: u64,
    /// Allocations in heaps, those within slabs and backing buffers among them.
    pub allocation_count: u64,
    /// Committed resources, which are in none of the numbers above.
    pub committed: Tally,
    /// Imported resources, which are in none of the numbers above.
    pub imported: Tally,
    /// Those of the allocations in heaps that lie within a backing buffer.
    pub within_resource: Tally,
}

/// How many, and their bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Bytes.
    pub size: ByteSize,
}

/// What lies in heaps of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct HeapTypeReport {
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The sums.
    pub totals: TotalsReport,
}

/// What lies in one segment group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct SegmentGroupReport {
    /// `"local"` or `"non_local"`.
    pub segment_group: SegmentGroup,
    /// Bytes that the operating system wants this process to stay under, where the adapter is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub budget: Option<ByteSize>,
    /// Bytes that this process uses, through whatever allocator, where the adapter is known.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub current_usage: Option<ByteSize>,
    /// The sums.
    pub totals: TotalsReport,
}

impl SegmentGroupReport {
    /// A segment group with its usage and budget; the sums come with [`AllocatorReport::recount`].
    #[must_use]
    pub fn new(
        segment_group: SegmentGroup,
        current_usage: Option<ByteSize>,
        budget: Option<ByteSize>,
    ) -> Self {
        Self { segment_group, budget, current_usage, totals: TotalsReport::default() }
    }
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct PoolReport {
    /// Its name; several pools may have the same.
    pub name: String,
    /// Its heap type, where it has only one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub heap_type: Option<HeapTypeName>,
    /// Its algorithm, where it has only one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub algorithm: Option<String>,
    /// The sums.
    pub totals: TotalsReport,
}

impl PoolReport {
    /// A pool; the sums come with [`AllocatorReport::recount`].
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), heap_type: None, algorithm: None, totals: TotalsReport::default() }
    }
}

/// How often the allocator decided something for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct DecisionReport {
    /// What was decided, and why: `committed: flag`.
    pub reason: String,
    /// How often, since the allocator exists.
    pub count: u64,
}

impl DecisionReport {
    /// A reason and its count.
    #[must_use]
    pub fn new(reason: impl Into<String>, count: u64) -> Self {
        Self { reason: reason.into(), count }
    }
}

/// A resource with memory of its own: committed, or imported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[non_exhaustive]
pub struct ResourceReport {
    /// The place of its pool in [`AllocatorReport::pools`], where it has one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pool: Option<usize>,
    /// The heap type.
    pub heap_type: HeapTypeName,
    /// The segment group that it is charged to.
    pub segment_group: SegmentGroup,
    /// What it is.
    pub kind: AllocationKind,
    /// Bytes, as the device sizes it.
    pub size: ByteSize,
    /// Bytes that were asked for, where that is known and less.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub requested: Option<ByteSize>,
    /// Its name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub name: Option<String>,
    /// The user's own, as text.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub user_data: Option<String>,
    /// Where it begins, where it has an address.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub gpu_virtual_address: Option<GpuVirtualAddress>,
}

impl ResourceReport {
    /// A resource of which nothing else is known.
    #[must_use]
    pub fn new(
        heap_type: HeapTypeName,
        segment_group: SegmentGroup,
        kind: AllocationKind,
        size: ByteSize,
    ) -> Self {
        Self {
            pool: None,
            heap_type,
            segment_group,
            kind,
            size,
            requested: None,
            name: None,
            user_data: None,
            gpu_virtual_address: None,
        }
    }

    /// With a name; an empty one is none.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }
}
