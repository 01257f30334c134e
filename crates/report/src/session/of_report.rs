//! An allocator's report as a session of one moment, and its page.

use std::io::{self, Write};

use heapwright::ByteSize;
use heapwright::report::{AllocatorReport, HeapTypeName, Tally};
use heapwright_trace::session::HeapType;

use super::history::{Block, HeapLife, PlacementSource, SessionHistory};
use super::page::{Fact, SessionTitle, write_session_html};
use crate::{AllocationLocation, external_fragmentation, live_allocations};

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
            let mut detail = detail.join(" · ");
            if let Some(address) = heap.gpu_virtual_address {
                detail.push_str(&format!(" · at {:#x}", address.get()));
            }
            HeapLife {
                id,
                size: heap.size.get(),
                start: 0,
                end: 1,
                heap_type: heap_type_of(heap.heap_type),
                name: "".into(),
                detail: detail.into(),
            }
        })
        .collect();
    let blocks: Vec<Block> = (0..)
        .zip(live_allocations(report))
        .map(|(id, live)| {
            let of_resource =
                |resource: &heapwright::report::ResourceReport| (None, 0, resource.pool, resource.heap_type);
            let (heap, offset, pool, heap_type) = match live.location {
                AllocationLocation::Heap { index, offset } => {
                    let heap = &report.heaps[index];
                    (u32::try_from(index).ok(), offset.get(), Some(heap.pool), heap.heap_type)
                }
                AllocationLocation::Committed(index) => of_resource(&report.committed[index]),
                AllocationLocation::Imported(index) => of_resource(&report.imported[index]),
            };
            let name = match (live.name, live.user_data, live.location) {
                ("", "", AllocationLocation::Heap { .. }) => String::new(),
                ("", "", location) => location.to_string(),
                (name, "", _) => name.to_owned(),
                (name, user_data, _) => format!("{name} ({user_data})").trim_start().to_owned(),
            };
            Block {
                id,
                requested: live.size.saturating_sub(live.waste).get(),
                size: live.size.get(),
                heap,
                offset,
                start: 0,
                end: 1,
                kind: live.kind,
                heap_type: heap_type_of(heap_type),
                pool: pool.map_or(0, |pool| u32::try_from(pool + 1).unwrap_or(0)),
                name: name.into(),
            }
        })
        .collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "hundredths of a percent")]
    let fragmentation = (external_fragmentation(report) * 10_000.0).round() as u16;
    SessionHistory {
        times_us: vec![0],
        fragmentation: vec![fragmentation],
        allocation_count: blocks.len() as u64,
        has_placements: true,
        blocks,
        heaps,
        pools,
        ..SessionHistory::default()
    }
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
            format!("{:.1} % fragmented", 100.0 * external_fragmentation(report)),
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
