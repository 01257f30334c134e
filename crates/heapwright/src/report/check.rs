//! The rules of a report.

use std::collections::BTreeSet;
use std::fmt;

use heapwright_core::{ByteSize, GpuVirtualAddress, HeapOffset};

use super::allocator_report::{AllocatorReport, ResourceReport, TotalsReport};
use super::error::ReportError;
use super::heap_report::AllocationReport;
use super::json::{SCHEMA, VERSION};
use super::names::HeapTypeName;
use super::sums::{SEGMENT_GROUPS, Sums, place_of_heap_type, place_of_segment_group};

/// How deep allocations lie within others at most.
const MAX_DEPTH: usize = 16;

impl AllocatorReport {
    /// Whether the report keeps the [rules](super#rules). O(allocations).
    ///
    /// # Errors
    ///
    /// The first place where it does not, and the rule.
    pub fn check(&self) -> Result<(), ReportError> {
        check_version(Some(&self.schema), Some(self.version))?;
        for (place, heap) in self.heaps.iter().enumerate() {
            let path = format!("heaps[{place}]");
            if heap.index != place {
                let rule = format!("{}, but the heap is the one at {place}", heap.index);
                return Err(ReportError::at(format!("{path}.index"), rule));
            }
            check_memory(&path, heap.size, heap.gpu_virtual_address)?;
            let path = Path { outer: None, list: &path, place: None };
            check_allocations(path, "allocations", &heap.allocations, heap.size, 1)?;
        }
        for (list, resources) in [("committed", &self.committed), ("imported", &self.imported)] {
            for (place, resource) in resources.iter().enumerate() {
                check_resource(&format!("{list}[{place}]"), resource)?;
            }
        }
        self.check_sums()
    }

    fn check_sums(&self) -> Result<(), ReportError> {
        let sums = Sums::of(self)?;
        for (place, (heap, found)) in self.heaps.iter().zip(&sums.heaps_used).enumerate() {
            agree(|| format!("heaps[{place}].used"), heap.used.get(), found.get())?;
        }
        let listed = self.pools.iter().map(|pool| &pool.totals).zip(&sums.pools);
        for (place, (told, found)) in listed.enumerate() {
            check_totals(&format!("pools[{place}].totals"), told, found)?;
        }

        let mut heap_types = BTreeSet::new();
        for (place, listed) in self.heap_types.iter().enumerate() {
            let path = format!("heap_types[{place}]");
            let of_type = place_of_heap_type(listed.heap_type);
            once(&mut heap_types, of_type, &format!("{path}.heap_type"), listed.heap_type.name())?;
            check_totals(&format!("{path}.totals"), &listed.totals, &sums.heap_types[of_type])?;
        }
        let found = sums.heap_types.iter().zip(HeapTypeName::ALL.map(HeapTypeName::name));
        all_listed("heap_types", &heap_types, found)?;

        let mut segment_groups = BTreeSet::new();
        for (place, listed) in self.segment_groups.iter().enumerate() {
            let path = format!("segment_groups[{place}]");
            let group = place_of_segment_group(listed.segment_group);
            let name = listed.segment_group.to_string();
            once(&mut segment_groups, group, &format!("{path}.segment_group"), &name)?;
            check_totals(&format!("{path}.totals"), &listed.totals, &sums.segment_groups[group])?;
        }
        let names = SEGMENT_GROUPS.map(|group| group.to_string());
        let found = sums.segment_groups.iter().zip(names.iter().map(String::as_str));
        all_listed("segment_groups", &segment_groups, found)?;

        let mut reasons = BTreeSet::new();
        for (place, decision) in self.decisions.iter().enumerate() {
            let reason = decision.reason.as_str();
            once(&mut reasons, reason, &format!("decisions[{place}].reason"), &format!("{reason:?}"))?;
        }

        check_totals("totals", &self.totals, &sums.totals)?;
        if self.heaps_created < self.totals.heap_count {
            let rule = format!("{}, but there are {} heaps", self.heaps_created, self.totals.heap_count);
            return Err(ReportError::at("heaps_created", rule));
        }
        Ok(())
    }
}

/// `schema` and `version`, as far as they are there.
pub(super) fn check_version(schema: Option<&str>, version: Option<u64>) -> Result<(), ReportError> {
    match schema {
        Some(SCHEMA) => {}
        Some(other) => {
            return Err(ReportError::at("schema", format!("{other:?}, but a report has {SCHEMA:?}")));
        }
        None => return Err(ReportError::at("schema", format!("is missing; a report has {SCHEMA:?}"))),
    }
    match version {
        Some(VERSION) => Ok(()),
        Some(other) => Err(ReportError::at(
            "version",
            format!("{other}, but this version of heapwright reads {VERSION}"),
        )),
        None => {
            Err(ReportError::at("version", format!("is missing; this version of heapwright reads {VERSION}")))
        }
    }
}

/// A place in a report, put into words only where something is wrong.
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
        let AllocationReport { offset, size, kind, requested, within, .. } = allocation;
        if size.is_zero() {
            return Err(ReportError::at(format!("{path}.size"), "is 0"));
        }
        if *offset < end {
            let rule = format!("{}, but the allocation before it ends at {}", offset.get(), end.get());
            return Err(ReportError::at(format!("{path}.offset"), rule));
        }
        end = offset.checked_add(*size).filter(|end| end.get() <= capacity.get()).ok_or_else(|| {
            let rule = format!(
                "{} at offset {}, but what it lies in has {} bytes",
                size.get(),
                offset.get(),
                capacity.get()
            );
            ReportError::at(format!("{path}.size"), rule)
        })?;
        check_requested(&path, *requested, *size)?;
        let Some(within) = within else { continue };
        if !kind.is_container() {
            let rule = format!("is there, but nothing lies in a {}", kind.label());
            return Err(ReportError::at(format!("{path}.within"), rule));
        }
        if depth > MAX_DEPTH {
            let rule = format!("is deeper than {MAX_DEPTH} levels");
            return Err(ReportError::at(format!("{path}.within"), rule));
        }
        check_allocations(path, "within", within, *size, depth + 1)?;
    }
    Ok(())
}

fn check_resource(path: &str, resource: &ResourceReport) -> Result<(), ReportError> {
    check_memory(path, resource.size, resource.gpu_virtual_address)?;
    check_requested(&path, resource.requested, resource.size)
}

fn check_requested(
    path: &dyn fmt::Display,
    requested: Option<ByteSize>,
    size: ByteSize,
) -> Result<(), ReportError> {
    match requested {
        Some(requested) if requested > size => {
            let rule = format!("{}, but the size is {}", requested.get(), size.get());
            Err(ReportError::at(format!("{path}.requested"), rule))
        }
        _ => Ok(()),
    }
}

fn check_memory(path: &str, size: ByteSize, address: Option<GpuVirtualAddress>) -> Result<(), ReportError> {
    if size.is_zero() {
        return Err(ReportError::at(format!("{path}.size"), "is 0"));
    }
    match address {
        Some(address) if address.checked_add(size).is_none() => {
            let rule = format!("{} and the size of {} do not fit in 64 bits", address.get(), size.get());
            Err(ReportError::at(format!("{path}.gpu_virtual_address"), rule))
        }
        _ => Ok(()),
    }
}

fn check_totals(path: &str, told: &TotalsReport, found: &TotalsReport) -> Result<(), ReportError> {
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
    for ((name, told), (_, found)) in std::iter::zip(numbers(told), numbers(found)) {
        agree(|| format!("{path}.{name}"), told, found)?;
    }
    Ok(())
}

fn agree(path: impl Fn() -> String, told: u64, found: u64) -> Result<(), ReportError> {
    if told == found {
        return Ok(());
    }
    Err(ReportError::at(path(), format!("{told}, but what is listed adds up to {found}")))
}

fn once<K: Ord>(seen: &mut BTreeSet<K>, key: K, path: &str, name: &str) -> Result<(), ReportError> {
    if seen.insert(key) { Ok(()) } else { Err(ReportError::at(path, format!("{name} is listed before"))) }
}

fn all_listed<'a>(
    list: &str,
    listed: &BTreeSet<usize>,
    found: impl Iterator<Item = (&'a TotalsReport, &'a str)>,
) -> Result<(), ReportError> {
    for (place, (totals, name)) in found.enumerate() {
        if *totals != TotalsReport::default() && !listed.contains(&place) {
            return Err(ReportError::at(list, format!("{name} is missing, but something lies there")));
        }
    }
    Ok(())
}
