//! The page's HTML: totals, tables, and a section for each heap.

use std::fmt::{self, Display};
use std::io::{self, Write};

use heapwright::ByteSize;
use heapwright::report::{AllocatorReport, HeapReport, ResourceReport, TotalsReport};

use super::LISTED_WITHOUT_SCRIPT;
use crate::free_ranges::share;
use crate::html_text::HtmlText;
use crate::{
    AllocationLocation, external_fragmentation, heap_external_fragmentation, largest_allocations,
    largest_free_range,
};

/// Writes the content of the body up to the script.
pub(super) fn write(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    header(report, page)?;
    writeln!(page, "<main>")?;
    totals(report, page)?;
    groups(report, page)?;
    heaps(report, page)?;
    resources("committed", "Committed resources", &report.committed, report, page)?;
    resources("imported", "Imported resources", &report.imported, report, page)?;
    allocations(report, page)?;
    writeln!(page, "</main>\n<div id=\"tip\" hidden></div>")
}

fn header(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    let device = &report.device;
    let mut facts: Vec<String> = Vec::new();
    if !device.architecture.is_empty() {
        facts.push(HtmlText(&device.architecture).to_string());
    }
    facts.extend(device.resource_heap_tier.map(|tier| format!("resource heap tier {tier}")));
    facts.extend(device.tight_alignment_tier.map(|tier| match tier {
        0 => "no tight alignment".to_owned(),
        tier => format!("tight alignment tier {tier}"),
    }));
    facts.extend(
        device
            .gpu_upload_heaps
            .map(|has| if has { "GPU upload heaps" } else { "no GPU upload heaps" }.to_owned()),
    );
    facts.extend(device.interface_version.map(|version| match version {
        0 => "ID3D12Device".to_owned(),
        version => format!("ID3D12Device{version}"),
    }));
    let description = match device.description.as_str() {
        "" => "unnamed device",
        description => description,
    };
    writeln!(
        page,
        "<header>\n<h1>Memory of <bdi>{}</bdi></h1>\n<p>{}</p>\n</header>",
        HtmlText(description),
        facts.join(" · ")
    )
}

fn totals(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    let totals = &report.totals;
    let fragmentation = percent(external_fragmentation(report));
    let live =
        totals.allocation_count.saturating_add(totals.committed.count).saturating_add(totals.imported.count);
    let mut tiles: Vec<(&str, String, String)> = vec![
        (
            "Used in heaps",
            totals.used.to_string(),
            format!("{} of the heaps", percent(share(totals.used, totals.reserved))),
        ),
        (
            "Heaps",
            totals.reserved.to_string(),
            format!(
                "{}, {} empty, {} created in total",
                counted(totals.heap_count, "heap"),
                grouped(totals.empty_heap_count),
                grouped(report.heaps_created)
            ),
        ),
        ("Free in heaps", totals.free.to_string(), format!("{fragmentation} fragmented")),
        ("Allocations", grouped(live), format!("{} in heaps", grouped(totals.allocation_count))),
    ];
    for (label, tally) in [("Committed", totals.committed), ("Imported", totals.imported)] {
        if tally.count > 0 {
            tiles.push((label, tally.size.to_string(), counted(tally.count, "resource")));
        }
    }
    if totals.within_resource.count > 0 {
        let tally = totals.within_resource;
        tiles.push(("Within backing buffers", tally.size.to_string(), counted(tally.count, "allocation")));
    }
    writeln!(page, "<section aria-label=\"Totals\">\n<dl class=\"tiles\">")?;
    for (label, number, note) in tiles {
        writeln!(page, "<div><dt>{label}</dt><dd>{number}</dd><dd class=\"note\">{note}</dd></div>")?;
    }
    writeln!(page, "</dl>\n</section>")
}

/// Writes the sums by heap type, segment group and pool, and the decisions.
fn groups(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    writeln!(
        page,
        "<section class=\"groups\">\n<p class=\"note\"><span class=\"swatch used\"></span>used in heaps \
         <span class=\"swatch free\"></span>free in heaps <span class=\"swatch committed\"></span>committed</p>"
    )?;
    let largest = report.heap_types.iter().map(|group| reserved(&group.totals)).max().unwrap_or_default();
    let rows = report.heap_types.iter().map(|group| (group.heap_type.name().to_owned(), &group.totals));
    sums(page, "Heap types", "heap type", largest, rows)?;

    if !report.segment_groups.is_empty() {
        segment_groups(report, page)?;
    }

    let largest = report.pools.iter().map(|pool| reserved(&pool.totals)).max().unwrap_or_default();
    let rows = report.pools.iter().enumerate().map(|(place, pool)| {
        let mut name = pool_name(report, place);
        let facts = [pool.heap_type.map(|heap_type| heap_type.name()), pool.algorithm.as_deref()];
        for fact in facts.into_iter().flatten() {
            name.push_str(&format!(" <small>{}</small>", HtmlText(fact)));
        }
        (name, &pool.totals)
    });
    sums(page, "Pools", "pool", largest, rows)?;

    if !report.decisions.is_empty() {
        writeln!(page, "<div class=\"scroll\"><table>\n<caption>Decisions</caption>")?;
        writeln!(
            page,
            "<thead><tr><th scope=\"col\">reason</th><th scope=\"col\" class=\"n\">count</th></tr></thead>\n<tbody>"
        )?;
        for decision in &report.decisions {
            let reason = HtmlText(&decision.reason);
            writeln!(
                page,
                "<tr><th scope=\"row\"><bdi>{reason}</bdi></th><td class=\"n\">{}</td></tr>",
                grouped(decision.count)
            )?;
        }
        writeln!(page, "</tbody>\n</table></div>")?;
    }
    writeln!(page, "</section>")
}

/// Writes a table of sums. The names are HTML.
fn sums<'a>(
    page: &mut impl Write,
    caption: &str,
    heading: &str,
    largest: ByteSize,
    rows: impl Iterator<Item = (String, &'a TotalsReport)>,
) -> io::Result<()> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(
        page,
        "<div class=\"scroll\"><table>\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">{heading}</th><th scope=\"col\" class=\"wide\">\
         </th><th scope=\"col\" class=\"n\">used</th><th scope=\"col\" class=\"n\">in heaps</th>\
         <th scope=\"col\" class=\"n\">heaps</th><th scope=\"col\" class=\"n\">empty</th>\
         <th scope=\"col\" class=\"n\">allocations</th><th scope=\"col\" class=\"n\">committed</th>\
         <th scope=\"col\" class=\"n\">imported</th></tr></thead>\n<tbody>"
    )?;
    for (name, totals) in rows {
        writeln!(
            page,
            "<tr><th scope=\"row\"><bdi>{name}</bdi></th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            Bar { used: totals.used, free: totals.free, committed: totals.committed.size, whole: largest },
            totals.used,
            totals.reserved,
            grouped(totals.heap_count),
            grouped(totals.empty_heap_count),
            grouped(totals.allocation_count),
            totals.committed.size,
            totals.imported.size,
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

fn segment_groups(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    writeln!(
        page,
        "<div class=\"scroll\"><table>\n<caption>Segment groups</caption>\n<thead><tr><th scope=\"col\">segment group</th>\
         <th scope=\"col\" class=\"wide\"></th><th scope=\"col\" class=\"n\">used</th><th scope=\"col\" class=\"n\">in heaps</th>\
         <th scope=\"col\" class=\"n\">committed</th><th scope=\"col\" class=\"n\">imported</th>\
         <th scope=\"col\" class=\"n\">process</th><th scope=\"col\" class=\"n\">budget</th></tr></thead>\n<tbody>"
    )?;
    let largest = report.segment_groups.iter().map(|group| reserved(&group.totals)).max().unwrap_or_default();
    for group in &report.segment_groups {
        let totals = &group.totals;
        let known = |size: Option<ByteSize>| size.map_or_else(|| "-".to_owned(), |size| size.to_string());
        let budget = group.budget.filter(|budget| !budget.is_zero());
        let is_over = matches!((group.current_usage, budget), (Some(usage), Some(budget)) if usage > budget);
        // With a budget, the bar shows the fraction of the budget instead of a comparison of the groups.
        let whole = budget.unwrap_or(largest).max(reserved(totals));
        writeln!(
            page,
            "<tr{}><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            if is_over { " class=\"over\"" } else { "" },
            group.segment_group,
            Bar { used: totals.used, free: totals.free, committed: totals.committed.size, whole },
            totals.used,
            totals.reserved,
            totals.committed.size,
            totals.imported.size,
            known(group.current_usage),
            known(group.budget),
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

/// Approximate number of rows of the overview, unless the largest heap requires a larger scale.
const OVERVIEW_ROWS: u64 = 10;

/// Writes the heaps by pool, heap type and kind.
fn heaps(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    writeln!(page, "<section id=\"heaps\">\n<h2>Heaps</h2>\n<div id=\"tools\" hidden></div>")?;
    if report.heaps.is_empty() {
        writeln!(page, "<p>There are no heaps.</p>")?;
    }
    // All maps and the overview have the same scale.
    let largest = report.heaps.iter().map(|heap| heap.size).max().unwrap_or_default();
    let group_of = |heap: &HeapReport| (heap.pool, heap.heap_type, heap.kind);
    let mut heaps: Vec<(usize, &HeapReport)> = report.heaps.iter().enumerate().collect();
    heaps.sort_by_key(|&(place, heap)| (group_of(heap), place));
    let groups = || heaps.chunk_by(|(_, left), (_, right)| group_of(left) == group_of(right));
    if let [_, _, ..] = heaps[..] {
        let row = largest.max(ByteSize::new(report.totals.reserved.get() / OVERVIEW_ROWS));
        writeln!(
            page,
            "<div id=\"overview\">\n<p class=\"note\">All heaps, drawn to scale: the full width is {row}.</p>"
        )?;
        for group in groups() {
            overview(report, row, group, page)?;
        }
        writeln!(page, "</div>")?;
    }
    for group in groups() {
        let [(_, first), ..] = group else { continue };
        writeln!(
            page,
            "<section class=\"group\">\n<h3>{} <small>{}</small></h3>",
            group_name(report, first),
            counted(group.len() as u64, "heap"),
        )?;
        let (full, rest): (Vec<_>, Vec<_>) = group.iter().partition(|(_, heap)| is_full(heap));
        for &(place, heap) in rest {
            write_heap(place, heap, largest, page)?;
        }
        if !full.is_empty() {
            let bytes = full.iter().fold(ByteSize::ZERO, |sum, (_, heap)| sum.saturating_add(heap.size));
            let count = counted(full.len() as u64, "full heap");
            writeln!(page, "<details class=\"full\"><summary>{count} <small>{bytes}</small></summary>")?;
            for &(place, heap) in full {
                write_heap(place, heap, largest, page)?;
            }
            writeln!(page, "</details>")?;
        }
        writeln!(page, "</section>")?;
    }
    writeln!(page, "</section>")
}

/// Returns pool, heap type and kind, as HTML.
fn group_name(report: &AllocatorReport, heap: &HeapReport) -> String {
    format!("<bdi>{}</bdi> · {} · {}", pool_name(report, heap.pool), heap.heap_type, heap.kind.label())
}

/// Writes a bar for each heap of a group, side by side. The width is proportional to the heap's size; `row` bytes have the
/// width of the page. Each bar is a link to the heap's map.
fn overview(
    report: &AllocatorReport,
    row: ByteSize,
    group: &[(usize, &HeapReport)],
    page: &mut impl Write,
) -> io::Result<()> {
    let [(_, first), ..] = group else { return Ok(()) };
    let bytes = group.iter().fold(ByteSize::ZERO, |sum, (_, heap)| sum.saturating_add(heap.size));
    writeln!(
        page,
        "<p class=\"row\">{} <small>{}, {bytes}</small></p>\n<div class=\"cells\">",
        group_name(report, first),
        counted(group.len() as u64, "heap"),
    )?;
    for &(place, heap) in group {
        writeln!(
            page,
            "<a class=\"cell\" href=\"#heap-{place}\" style=\"width:{}\" title=\"Heap {place}: {}, {} used\">\
             <span class=\"used\" style=\"width:{}\"></span></a>",
            width(heap.size, row),
            heap.size,
            percent(share(heap.used, heap.size)),
            width(heap.used, heap.size),
        )?;
    }
    writeln!(page, "</div>")
}

/// Returns whether at most 1/64 of the heap is free, so that its map is collapsed.
fn is_full(heap: &HeapReport) -> bool {
    heap.size.saturating_sub(heap.used).get() <= heap.size.get() / 64
}

fn write_heap(place: usize, heap: &HeapReport, largest: ByteSize, page: &mut impl Write) -> io::Result<()> {
    let free = heap.size.saturating_sub(heap.used);
    writeln!(
        page,
        "<article class=\"heap\" id=\"heap-{place}\" data-heap=\"{place}\">\n<h4><a href=\"#heap-{place}\">Heap {place}</a></h4>"
    )?;
    write!(
        page,
        "<p class=\"facts\"><b>{}</b> · {} used ({}) · {} free, largest range {}",
        heap.size,
        heap.used,
        percent(share(heap.used, heap.size)),
        free,
        largest_free_range(heap),
    )?;
    if !free.is_zero() {
        write!(page, ", {} fragmented", percent(heap_external_fragmentation(heap)))?;
    }
    write!(page, " · <bdi>{}</bdi> · {}", HtmlText(&heap.algorithm), heap.segment_group)?;
    for flag in &heap.flags {
        write!(page, " · <bdi>{}</bdi>", HtmlText(flag))?;
    }
    if let Some(address) = heap.gpu_virtual_address {
        write!(page, " · at {:#x}", address.get())?;
    }
    let bar = Bar { used: heap.used, free, committed: ByteSize::ZERO, whole: heap.size };
    writeln!(
        page,
        "</p>\n<div class=\"map\" style=\"width:{}\">{bar}</div>\n<p class=\"picked\" hidden></p>\n</article>",
        width(heap.size, largest)
    )
}

fn resources(
    id: &str,
    heading: &str,
    resources: &[ResourceReport],
    report: &AllocatorReport,
    page: &mut impl Write,
) -> io::Result<()> {
    if resources.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<section id=\"{id}\">\n<h2>{heading}</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">name</th><th scope=\"col\">kind</th>\
         <th scope=\"col\">heap type</th><th scope=\"col\">pool</th><th scope=\"col\" class=\"n\">size</th></tr></thead>\n<tbody>"
    )?;
    let mut largest: Vec<(usize, &ResourceReport)> = resources.iter().enumerate().collect();
    largest.sort_by_key(|&(_, resource)| std::cmp::Reverse(resource.size));
    for (place, resource) in largest.iter().take(LISTED_WITHOUT_SCRIPT) {
        writeln!(
            page,
            "<tr id=\"{id}-{place}\"><th scope=\"row\"><bdi>{}</bdi></th><td>{}</td><td>{}</td><td><bdi>{}</bdi></td>\
             <td class=\"n\">{}</td></tr>",
            Name(resource.name.as_deref().unwrap_or_default()),
            resource.kind.label(),
            resource.heap_type,
            resource.pool.map_or_else(String::new, |pool| pool_name(report, pool)),
            resource.size,
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>")?;
    let rest = resources.len().saturating_sub(LISTED_WITHOUT_SCRIPT);
    if rest > 0 {
        writeln!(
            page,
            "<p class=\"note\">The list of allocations shows {} smaller resources.</p>",
            grouped(rest as u64)
        )?;
    }
    writeln!(page, "</section>")
}

/// Writes the list of allocations, which the script fills, and a table of the largest for pages without scripts.
fn allocations(report: &AllocatorReport, page: &mut impl Write) -> io::Result<()> {
    writeln!(
        page,
        "<section id=\"allocations\">\n<h2>Allocations</h2>\n<div id=\"list\"></div>\n<noscript>"
    )?;
    let largest = largest_allocations(report, LISTED_WITHOUT_SCRIPT);
    writeln!(
        page,
        "<p>The {} largest allocations. Enable JavaScript to list all allocations and to show the maps of the heaps.</p>\n<div class=\"scroll\"><table>\n<thead><tr>\
         <th scope=\"col\">name</th><th scope=\"col\">kind</th><th scope=\"col\" class=\"n\">size</th>\
         <th scope=\"col\">location</th><th scope=\"col\">user data</th></tr></thead>\n<tbody>",
        grouped(largest.len() as u64)
    )?;
    for allocation in &largest {
        let href = match allocation.location {
            AllocationLocation::Heap { index, .. } => format!("heap-{index}"),
            AllocationLocation::Committed(place) => format!("committed-{place}"),
            AllocationLocation::Imported(place) => format!("imported-{place}"),
        };
        writeln!(
            page,
            "<tr><th scope=\"row\"><bdi>{}</bdi></th><td>{}</td><td class=\"n\">{}</td><td><a href=\"#{href}\">{}</a></td>\
             <td><bdi>{}</bdi></td></tr>",
            Name(allocation.name),
            allocation.kind.label(),
            allocation.size,
            allocation.location,
            HtmlText(allocation.user_data),
        )?;
    }
    writeln!(page, "</tbody>\n</table></div>\n</noscript>\n</section>")
}

/// Returns the name of a pool, as HTML.
fn pool_name(report: &AllocatorReport, place: usize) -> String {
    match report.pools.get(place) {
        Some(pool) if !pool.name.is_empty() => HtmlText(&pool.name).to_string(),
        _ => format!("pool {place}"),
    }
}

/// Returns the bytes in heaps and committed resources.
fn reserved(totals: &TotalsReport) -> ByteSize {
    totals.reserved.saturating_add(totals.committed.size)
}

/// A name as HTML, or "no name" if it is empty.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("<i>no name</i>") } else { HtmlText(self.0).fmt(f) }
    }
}

/// A horizontal bar that shows the used, committed and free parts of `whole`.
struct Bar {
    used: ByteSize,
    free: ByteSize,
    committed: ByteSize,
    whole: ByteSize,
}

impl Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<span class=\"bar\">")?;
        for (class, title, size) in [
            ("used", "used", self.used),
            ("committed", "committed", self.committed),
            ("free", "free", self.free),
        ] {
            if !size.is_zero() {
                let width = width(size, self.whole);
                write!(
                    f,
                    "<span class=\"{class}\" style=\"width:{width}\" title=\"{size} {title}\"></span>"
                )?;
            }
        }
        f.write_str("</span>")
    }
}

/// Formats `part / whole` as a width in CSS.
fn width(part: ByteSize, whole: ByteSize) -> String {
    format!("{:.2}%", 100.0 * share(part, whole))
}

/// Formats a fraction as a percentage: `12.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Formats a number with digits in groups of three: `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with a noun: `1 heap`, `2,000 heaps`.
fn counted(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}
