//! Validation of reports.

use std::collections::BTreeSet;
use std::fmt;

use heapwright::report::{AllocationKind, AllocationReport, AllocatorReport, SCHEMA, TotalsReport, VERSION};
use heapwright::{ByteSize, HeapOffset};

use crate::ReportError;

/// Maximum depth of nested allocations.
const MAX_DEPTH: usize = 16;

/// Checks that a report follows the [rules](crate#rules). Takes O(allocations) time.
///
/// # Errors
///
/// Returns the first violation.
pub fn check(report: &AllocatorReport) -> Result<(), ReportError> {
    check_version(Some(&report.schema), Some(report.version))?;
    for (place, heap) in report.heaps.iter().enumerate() {
        let path = format!("heaps[{place}]");
        if heap.index != place {
            let rule = format!("is {}, but must be {place}, the heap's position in the array", heap.index);
            return Err(ReportError::at(format!("{path}.index"), rule));
        }
        if heap.pool >= report.pools.len() {
            let rule = format!("is {}, but the report has {} pools", heap.pool, report.pools.len());
            return Err(ReportError::at(format!("{path}.pool"), rule));
        }
        check_size(&path, heap.size)?;
        let path = Path { outer: None, list: &path, place: None };
        check_allocations(path, "allocations", &heap.allocations, heap.size, 1)?;
    }
    let resources = [("committed", &report.committed), ("imported", &report.imported)];
    for (list, resources) in resources {
        for (place, resource) in resources.iter().enumerate() {
            check_size(&format!("{list}[{place}]"), resource.size)?;
        }
    }
    // Allocations are inside the heaps, so these are the largest sums.
    check_sum_fits("heaps", report.heaps.iter().map(|heap| heap.size))?;
    for (list, resources) in resources {
        check_sum_fits(list, resources.iter().map(|resource| resource.size))?;
    }
    check_sums(report)
}

/// Checks that the sum of the sizes fits in 64 bits.
fn check_sum_fits(list: &str, sizes: impl Iterator<Item = ByteSize>) -> Result<(), ReportError> {
    let mut sum = ByteSize::ZERO;
    for (place, size) in sizes.enumerate() {
        let rule = "the sum of the sizes up to this item exceeds 64 bits";
        let overflow = || ReportError::at(format!("{list}[{place}]"), rule);
        sum = sum.checked_add(size).ok_or_else(overflow)?;
    }
    Ok(())
}

/// Recounts the report and compares all sums.
fn check_sums(report: &AllocatorReport) -> Result<(), ReportError> {
    let mut counted = report.clone();
    counted.recount();
    for (place, (heap, counted)) in report.heaps.iter().zip(&counted.heaps).enumerate() {
        check_sum(|| format!("heaps[{place}].used"), heap.used.get(), counted.used.get())?;
    }
    for (place, (pool, counted)) in report.pools.iter().zip(&counted.pools).enumerate() {
        check_totals(&format!("pools[{place}].totals"), &pool.totals, &counted.totals)?;
    }
    check_groups(
        ["heap_types", "heap_type"],
        report.heap_types.iter().map(|listed| (listed.heap_type, &listed.totals)),
        counted.heap_types.iter().map(|listed| (listed.heap_type, &listed.totals)),
    )?;
    check_groups(
        ["segment_groups", "segment_group"],
        report.segment_groups.iter().map(|listed| (listed.segment_group, &listed.totals)),
        counted.segment_groups.iter().map(|listed| (listed.segment_group, &listed.totals)),
    )?;
    let mut reasons = BTreeSet::new();
    for (place, decision) in report.decisions.iter().enumerate() {
        let reason = decision.reason.as_str();
        check_unique(&mut reasons, reason, &format!("decisions[{place}].reason"), &format!("{reason:?}"))?;
    }
    check_totals("totals", &report.totals, &counted.totals)?;
    if report.heaps_created < report.totals.heap_count {
        let rule = format!("is {}, but there are {} heaps", report.heaps_created, report.totals.heap_count);
        return Err(ReportError::at("heaps_created", rule));
    }
    Ok(())
}

/// Checks that each group in use is listed once, with correct sums.
fn check_groups<'a, K: Ord + Copy + fmt::Display>(
    [list, key]: [&str; 2],
    listed: impl Iterator<Item = (K, &'a TotalsReport)>,
    counted: impl Iterator<Item = (K, &'a TotalsReport)>,
) -> Result<(), ReportError> {
    let counted: Vec<(K, &TotalsReport)> = counted.collect();
    let nothing = TotalsReport::default();
    let mut seen = BTreeSet::new();
    for (place, (group, totals)) in listed.enumerate() {
        let path = format!("{list}[{place}]");
        check_unique(&mut seen, group, &format!("{path}.{key}"), &group.to_string())?;
        let found = counted.iter().find(|(of, _)| *of == group).map_or(&nothing, |&(_, totals)| totals);
        check_totals(&format!("{path}.totals"), totals, found)?;
    }
    match counted.iter().find(|(group, _)| !seen.contains(group)) {
        Some((group, _)) => Err(ReportError::at(list, format!("{group} is in use but not listed"))),
        None => Ok(()),
    }
}

/// Checks the values of the keys `schema` and `version`.
pub(crate) fn check_version(schema: Option<&str>, version: Option<u64>) -> Result<(), ReportError> {
    let schema_rule = match schema {
        Some(SCHEMA) => None,
        Some(other) => Some(format!("is {other:?}, but must be {SCHEMA:?}")),
        None => Some(format!("is missing; must be {SCHEMA:?}")),
    };
    if let Some(rule) = schema_rule {
        return Err(ReportError::at("schema", rule));
    }
    let is = match version {
        Some(VERSION) => return Ok(()),
        Some(other) => format!("is {other}, but"),
        None => "is missing;".to_owned(),
    };
    Err(ReportError::at("version", format!("{is} this version of heapwright reads version {VERSION}")))
}

/// Path of a value in a report. It is formatted only for errors.
#[derive(Clone, Copy)]
struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    list: &'a str,
    place: Option<usize>,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            write!(f, "{outer}.")?;
        }
        f.write_str(self.list)?;
        self.place.map_or(Ok(()), |place| write!(f, "[{place}]"))
    }
}

fn check_allocations(
    outer: Path<'_>,
    list: &'static str,
    allocations: &[AllocationReport],
    capacity: ByteSize,
    depth: usize,
) -> Result<(), ReportError> {
    let mut end = HeapOffset::ZERO;
    for (place, allocation) in allocations.iter().enumerate() {
        let path = Path { outer: Some(&outer), list, place: Some(place) };
        let AllocationReport { offset, size, kind, within, .. } = allocation;
        check_size(&path, *size)?;
        if *offset < end {
            let rule = format!("is {}, but the previous allocation ends at {}", offset.get(), end.get());
            return Err(ReportError::at(format!("{path}.offset"), rule));
        }
        end = offset.checked_add(*size).filter(|end| end.get() <= capacity.get()).ok_or_else(|| {
            let [size, offset, capacity] = [size.get(), offset.get(), capacity.get()];
            let rule = format!("is {size} at offset {offset}, but the container has {capacity} bytes");
            ReportError::at(format!("{path}.size"), rule)
        })?;
        let Some(within) = within else { continue };
        if *kind != AllocationKind::BackingBuffer {
            let rule = format!("is present, but a {} cannot contain allocations", kind.label());
            return Err(ReportError::at(format!("{path}.within"), rule));
        }
        if depth > MAX_DEPTH {
            let rule = format!("is nested more than {MAX_DEPTH} levels deep");
            return Err(ReportError::at(format!("{path}.within"), rule));
        }
        check_allocations(path, "within", within, *size, depth + 1)?;
    }
    Ok(())
}

fn check_size(path: &dyn fmt::Display, size: ByteSize) -> Result<(), ReportError> {
    match size.is_zero() {
        true => Err(ReportError::at(format!("{path}.size"), "is 0, but must be at least 1")),
        false => Ok(()),
    }
}

fn check_totals(path: &str, listed: &TotalsReport, counted: &TotalsReport) -> Result<(), ReportError> {
    let numbers = |totals: &TotalsReport| {
        [
            ("reserved", totals.reserved.get()),
            ("used", totals.used.get()),
            ("free", totals.free.get()),
            ("heap_count", totals.heap_count),
            ("empty_heap_count", totals.empty_heap_count),
            ("allocation_count", totals.allocation_count),
            ("committed.count", totals.committed.count),
            ("committed.size", totals.committed.size.get()),
            ("imported.count", totals.imported.count),
            ("imported.size", totals.imported.size.get()),
            ("within_resource.count", totals.within_resource.count),
            ("within_resource.size", totals.within_resource.size.get()),
        ]
    };
    for ((name, listed), (_, counted)) in std::iter::zip(numbers(listed), numbers(counted)) {
        check_sum(|| format!("{path}.{name}"), listed, counted)?;
    }
    Ok(())
}

fn check_sum(path: impl Fn() -> String, listed: u64, counted: u64) -> Result<(), ReportError> {
    if listed == counted {
        return Ok(());
    }
    Err(ReportError::at(path(), format!("is {listed}, but the listed items add up to {counted}")))
}

fn check_unique<K: Ord>(seen: &mut BTreeSet<K>, key: K, path: &str, name: &str) -> Result<(), ReportError> {
    if seen.insert(key) { Ok(()) } else { Err(ReportError::at(path, format!("duplicate entry {name}"))) }
}
