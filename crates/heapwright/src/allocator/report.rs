//! Creation of the detailed report: every heap and everything in it.

use std::collections::HashMap;

use heapwright_core::placement::SurveyedRange;
use heapwright_core::{ByteSize, HeapOffset, HeapRange};

use super::resource_allocator::ResourceAllocator;
use crate::buffers::{BackingBuffers, SurveyedBuffer};
use crate::heaps::{Striped, TypedHeaps, TypedHeapsDesc};
use crate::report::{
    AllocationKind, AllocationReport, AllocatorReport, DecisionReport, DeviceReport, HeapContents,
    HeapReport, HeapTypeName, PoolReport, ResourceReport, SegmentGroupReport, heap_flag_names,
};
use crate::request::{HeapFamily, Placement, ResourceClass};
use crate::source::{AllocationId, BackingAddress, Label, Labels, Listed};
use crate::{AdapterDesc, SegmentGroup};

impl ResourceAllocator {
    /// Returns a report that lists everything the allocator holds, for people and tools; see [`report`](crate::report).
    ///
    /// O(heaps + allocations), with the locks of one heap at a time; not for use in every frame. If other threads
    /// allocate meanwhile, heaps may be shown as they were at different moments.
    ///
    /// ```
    /// use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
    /// use heapwright::{ByteSize, ResourceAllocator, buffer_desc};
    /// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
    /// let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
    /// let desc = buffer_desc(ByteSize::from_kib(4));
    /// let mut buffer = allocator.create_resource(&Default::default(), &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
    /// buffer.set_debug_name("vertices")?;
    /// let report = allocator.report();
    /// assert_eq!(report.heaps[0].allocations[0].name.as_deref(), Some("vertices"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> AllocatorReport {
        self.inner().traced("ResourceAllocator.GetReport", String::new, || self.report_untraced())
    }

    fn report_untraced(&self) -> AllocatorReport {
        let inner = self.inner();
        let source = &inner.heaps.source;
        let adapter = source.adapter.as_ref().and_then(|adapter| AdapterDesc::query(adapter).ok());
        let description = adapter.map_or_else(|| "unknown adapter".to_owned(), |desc| desc.description);
        let caps = &inner.caps;
        let mut report = AllocatorReport::new(DeviceReport {
            description,
            architecture: caps.architecture.to_string(),
            resource_heap_tier: Some(caps.resource_heap_tier),
            tight_alignment_tier: Some(caps.tight_alignment_tier),
            gpu_upload_heaps: Some(caps.gpu_upload_heaps),
            interface_version: Some(caps.interface_version),
        });
        report.heaps_created = source.ledger.heaps_created();
        for (decision, count) in inner.decisions.all() {
            report.decisions.push(DecisionReport { reason: decision.to_string(), count });
        }
        for group in SegmentGroup::ALL {
            let row = source.ledger.budget_row(group);
            report.segment_groups.push(SegmentGroupReport {
                segment_group: group,
                budget: row.map(|row| row.most),
                current_usage: row.map(|row| row.held),
                ..Default::default()
            });
        }
        let name = self.debug_name();
        let name = name.as_deref().unwrap_or("default").to_owned();
        report.pools.push(PoolReport { name, ..Default::default() });
        let parts = parts(inner.buffers.all(), &source.labels);
        for heaps in inner.heaps.own() {
            add_heaps(&mut report, heaps, 0, &parts);
        }
        for buffers in inner.buffers.all().filter(|buffers| buffers.are_committed()) {
            add_committed_buffers(&mut report, buffers, buffers.kind().heaps(&inner.heaps), &source.labels);
        }
        for heaps in inner.heaps.pools() {
            let place = report.pools.len();
            report.pools.push(PoolReport {
                name: heaps.desc.pool.as_deref().unwrap_or_default().to_owned(),
                heap_type: Some(heaps.desc.heap_type.into()),
                algorithm: Some(heaps.set.algorithm().to_string()),
                ..Default::default()
            });
            add_heaps(&mut report, &heaps, place, &parts);
        }
        for (listed, label) in source.labels.listed() {
            let Listed { size, heap_type, placement, is_buffer, .. } = listed;
            let list = match placement {
                Placement::Committed => &mut report.committed,
                Placement::Imported => &mut report.imported,
                _ => continue,
            };
            let kind = if is_buffer { AllocationKind::Buffer } else { AllocationKind::Texture };
            list.push(ResourceReport {
                heap_type: heap_type.into(),
                segment_group: inner.heaps.families.segment_group(heap_type.into(), heap_type),
                kind,
                size,
                name: label.name.as_deref().map(str::to_owned),
                user_data: (label.user_data != 0).then(|| label.user_data.to_string()),
            });
        }
        report.recount();
        report
    }
}

/// The parts of backing buffers, by buffer.
type Parts = HashMap<BackingAddress, Vec<AllocationReport>>;

fn parts<'a>(within: impl Iterator<Item = &'a Striped<BackingBuffers>>, labels: &Labels) -> Parts {
    let mut parts = Parts::new();
    for buffers in within {
        for SurveyedBuffer { address, parts: ranges, .. } in buffers.survey() {
            parts.insert(address, parts_of(&ranges, labels));
        }
    }
    parts
}

fn parts_of(ranges: &[(AllocationId, HeapRange)], labels: &Labels) -> Vec<AllocationReport> {
    let of = |&(id, range): &(AllocationId, HeapRange)| {
        allocation(range.start(), range.size(), AllocationKind::Buffer, labels.get(id))
    };
    ranges.iter().map(of).collect()
}

fn allocation(
    offset: HeapOffset,
    size: ByteSize,
    kind: AllocationKind,
    label: Option<Label>,
) -> AllocationReport {
    let mut allocation = AllocationReport { offset, size, kind, ..Default::default() };
    if let Some(Label { name, user_data, .. }) = label {
        allocation.name = name.as_deref().map(str::to_owned);
        allocation.user_data = (user_data != 0).then(|| user_data.to_string());
    }
    allocation
}

fn heap_type_name(desc: &TypedHeapsDesc) -> HeapTypeName {
    match HeapFamily::try_from_d3d12(&desc.heap.Properties) {
        Ok((HeapFamily::Custom(_), _)) => HeapTypeName::Custom,
        Ok((HeapFamily::Type(heap_type), _)) => heap_type.into(),
        Err(_) => desc.heap_type.into(),
    }
}

/// Adds the implicit heap of each committed backing buffer; `like` has the same properties.
fn add_committed_buffers(
    report: &mut AllocatorReport,
    buffers: &BackingBuffers,
    like: &TypedHeaps,
    labels: &Labels,
) {
    for SurveyedBuffer { size, parts, .. } in buffers.survey() {
        let kind = AllocationKind::BackingBuffer;
        let within = Some(parts_of(&parts, labels));
        let buffer = AllocationReport { within, ..allocation(HeapOffset::ZERO, size, kind, None) };
        report.heaps.push(HeapReport {
            heap_type: heap_type_name(&like.desc),
            segment_group: like.desc.segment_group,
            kind: HeapContents::Buffers,
            algorithm: "committed".to_owned(),
            size,
            flags: heap_flag_names(like.desc.heap.Flags),
            allocations: vec![buffer],
            ..Default::default()
        });
    }
}

fn add_heaps(report: &mut AllocatorReport, heaps: &TypedHeaps, pool: usize, parts: &Parts) {
    let desc = &heaps.desc;
    let heap_type = heap_type_name(desc);
    let (contents, kind) = match desc.class {
        ResourceClass::Buffer => (HeapContents::Buffers, AllocationKind::Buffer),
        ResourceClass::Texture => (HeapContents::Textures, AllocationKind::Texture),
        ResourceClass::RenderTarget => (HeapContents::RenderTargets, AllocationKind::RenderTarget),
        ResourceClass::Multisampled => (HeapContents::Multisampled, AllocationKind::Multisampled),
        ResourceClass::Any | ResourceClass::AnyMultisampled => (HeapContents::Any, AllocationKind::Unknown),
    };
    for survey in heaps.set.survey() {
        let mut heap = HeapReport {
            pool,
            heap_type,
            segment_group: desc.segment_group,
            kind: contents,
            algorithm: heaps.set.algorithm().to_string(),
            size: survey.size,
            flags: heap_flag_names(desc.heap.Flags),
            ..Default::default()
        };
        for range in survey.ranges {
            let SurveyedRange::Used { id, range } = range else { continue };
            let label = heaps.source.labels.get(AllocationId::placed(desc.number, id));
            let backing = label.as_ref().and_then(|label| label.backing);
            let kind = if backing.is_some() { AllocationKind::BackingBuffer } else { kind };
            let within = backing.map(|address| parts.get(&address).cloned().unwrap_or_default());
            let listed = allocation(range.start(), range.size(), kind, label);
            heap.allocations.push(AllocationReport { within, ..listed });
        }
        report.heaps.push(heap);
    }
}
