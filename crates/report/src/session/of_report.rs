//! An allocator's report as a session of one moment, and its page.

use std::io::{self, Write};

use heapwright::ByteSize;
use heapwright::report::{
    AllocationKind, AllocationReport, AllocatorReport, HeapReport, HeapTypeName, Tally,
};
use heapwright_trace::session::HeapType;

use super::free_space::{FreeBytes, FreeSpace};
use super::history::{Block, HeapLife, PlacementSource, SessionHistory};
use super::page::{Fact, SessionTitle, write_session_html};

/// Writes an HTML page of a report: the heaps and allocations at its moment.
///
/// The page has no external resources, and equal reports have equal pages. Names in the report are escaped. Use a
/// [`BufWriter`](io::BufWriter) for files, because the page is written in many small pieces.
///
/// # Errors
///
/// Returns the writer's error.
pub fn write_html(report: &AllocatorReport, writer: impl Write) -> io::Result<()> {
    let name = match report.device.description.as_str() {
        "" => "unnamed device",
        description => description,
    };
    let title = SessionTitle {
        name,
        format: "allocator's report",
        placements: &PlacementSource::Report { device: device_facts(report) },
        is_truncated: false,
        is_followed: false,
        facts: &facts(report),
    };
    write_session_html(&title, &history_of(report), writer)
}

/// Returns the history of the report's moment. Committed and imported resources are outside of the heaps.
#[must_use]
pub fn history_of(report: &AllocatorReport) -> SessionHistory {
    let pools: Vec<Box<str>> = report.pools.iter().map(|pool| pool.name.as_str().into()).collect();
    let heaps: Vec<HeapLife> = (0..)
        .zip(&report.heaps)
        .map(|(id, heap)| {
            let pool =
                report.pools.get(heap.pool).map_or(String::new(), |pool| format!("pool {}", pool.name));
            let mut detail = vec![&*pool, heap.kind.label(), &*heap.algorithm];
            detail.extend(heap.flags.iter().map(String::as_str));
            HeapLife {
                id,
                size: heap.size.get(),
                start: 0,
                end: 1,
                heap_type: heap_type_of(heap.heap_type),
                name: "".into(),
                detail: detail.join(" · ").into(),
            }
        })
        .collect();
    let blocks = blocks(report);
    SessionHistory {
        times_us: vec![0],
        scattered: vec![free_bytes(report).scattered()],
        end_fragmentation: free_bytes(report).fragmentation(),
        allocation_count: blocks.len() as u64,
        has_placements: true,
        blocks,
        heaps,
        pools,
        ..SessionHistory::default()
    }
}

/// Returns a block for each live allocation: those in heaps, by heap and offset, followed by committed and imported
/// resources.
fn blocks(report: &AllocatorReport) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, heap) in (0..).zip(&report.heaps) {
        add_allocations(&mut blocks, (index, heap), 0, &heap.allocations);
    }
    for (what, resources) in [("committed", &report.committed), ("imported", &report.imported)] {
        for (number, resource) in resources.iter().enumerate() {
            let name = match shown_name(&resource.name, &resource.user_data) {
                name if name.is_empty() => format!("{what} {number}"),
                name => name,
            };
            blocks.push(block(resource.size, resource.kind, resource.heap_type, None, name));
        }
    }
    for (id, block) in (0..).zip(&mut blocks) {
        block.id = id;
    }
    blocks
}

/// Adds the allocations of a heap, or those within an allocation that begins at `start`.
fn add_allocations(
    blocks: &mut Vec<Block>,
    (index, heap): (u32, &HeapReport),
    start: u64,
    allocations: &[AllocationReport],
) {
    for allocation in allocations {
        // The sum may overflow in a report that was not checked.
        let offset = start.saturating_add(allocation.offset.get());
        if let Some(within) = &allocation.within {
            add_allocations(blocks, (index, heap), offset, within);
            continue;
        }
        let name = shown_name(&allocation.name, &allocation.user_data);
        let placed = block(allocation.size, allocation.kind, heap.heap_type, Some(heap.pool), name);
        blocks.push(Block { heap: Some(index), offset, ..placed });
    }
}

/// Returns a block outside of heaps.
fn block(
    size: ByteSize,
    kind: AllocationKind,
    heap_type: HeapTypeName,
    pool: Option<usize>,
    name: String,
) -> Block {
    Block {
        id: 0,
        requested: size.get(),
        size: size.get(),
        heap: None,
        offset: 0,
        start: 0,
        end: 1,
        kind,
        heap_type: heap_type_of(heap_type),
        pool: pool.map_or(0, |pool| u32::try_from(pool + 1).unwrap_or(0)),
        placement: None,
        reason: None,
        name: name.into(),
    }
}

fn shown_name(name: &Option<String>, user_data: &Option<String>) -> String {
    let name = name.as_deref().unwrap_or_default();
    match user_data.as_deref() {
        None | Some("") => name.to_owned(),
        Some(user_data) => format!("{name} ({user_data})").trim_start().to_owned(),
    }
}

fn free_bytes(report: &AllocatorReport) -> FreeBytes {
    let mut sum = FreeBytes::default();
    for heap in &report.heaps {
        let mut space = FreeSpace::new(heap.size.get());
        heap.allocations.iter().for_each(|used| space.take(used.offset.get(), used.size.get()));
        sum.add(&space);
    }
    sum
}

fn heap_type_of(name: HeapTypeName) -> HeapType {
    match name {
        HeapTypeName::Default => HeapType::Default,
        HeapTypeName::Upload => HeapType::Upload,
        HeapTypeName::Readback => HeapType::Readback,
        HeapTypeName::GpuUpload => HeapType::GpuUpload,
        _ => HeapType::Custom,
    }
}

fn device_facts(report: &AllocatorReport) -> String {
    let device = &report.device;
    let mut facts = Vec::new();
    if !device.architecture.is_empty() {
        facts.push(device.architecture.clone());
    }
    facts.extend(device.resource_heap_tier.map(|tier| format!("resource heap tier {tier}")));
    facts.extend(device.tight_alignment_tier.map(|tier| match tier {
        0 => "no tight alignment".to_owned(),
        tier => format!("tight alignment tier {tier}"),
    }));
    let gpu_upload = |has| if has { "GPU upload heaps" } else { "no GPU upload heaps" }.to_owned();
    facts.extend(device.gpu_upload_heaps.map(gpu_upload));
    facts.extend(device.interface_version.map(|version| match version {
        0 => "ID3D12Device".to_owned(),
        version => format!("ID3D12Device{version}"),
    }));
    let decisions = report.decisions.iter().map(|decision| format!("{} {}", decision.reason, decision.count));
    let decisions = decisions.collect::<Vec<_>>().join(", ");
    if !decisions.is_empty() {
        facts.push(format!("decisions: {decisions}"));
    }
    facts.join(" · ")
}

fn facts(report: &AllocatorReport) -> Vec<Fact> {
    let totals = &report.totals;
    let fact = |name: &str, value: String, note: String| Fact { name: name.to_owned(), value, note };
    let mut facts = vec![
        fact("used in heaps", totals.used.to_string(), format!("{} allocations", totals.allocation_count)),
        fact(
            "heaps",
            totals.reserved.to_string(),
            format!(
                "{}, {} empty, {} created in total",
                totals.heap_count, totals.empty_heap_count, report.heaps_created
            ),
        ),
        fact(
            "free in heaps",
            totals.free.to_string(),
            format!("{} of it in fragments", ByteSize::new(free_bytes(report).scattered())),
        ),
    ];
    let tallies = [
        ("committed", totals.committed),
        ("imported", totals.imported),
        ("within backing buffers", totals.within_resource),
    ];
    for (name, Tally { count, size }) in tallies.into_iter().filter(|(_, tally)| tally.count > 0) {
        facts.push(fact(name, size.to_string(), format!("{count} in number")));
    }
    for group in &report.segment_groups {
        let known =
            |size: Option<ByteSize>| size.map_or_else(|| "unknown".to_owned(), |size| size.to_string());
        let is_over =
            matches!((group.current_usage, group.budget), (Some(usage), Some(budget)) if usage > budget);
        let over = if is_over { ": over budget" } else { "" };
        facts.push(fact(
            &format!("{} memory of the process", group.segment_group),
            known(group.current_usage),
            format!("budget {}{over}", known(group.budget)),
        ));
    }
    facts
}
