//! Violations of each rule of a report, and random changes of numbers.

use crate::sample::{allocation, bytes, consistent, full, to_json, within};
use heapwright::report::{AllocationKind, AllocatorReport};
use heapwright::{HeapOffset, SegmentGroup};
use heapwright_report::{check, from_json};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Changes the sample and expects an error at this path, from `check` and from `from_json`.
#[track_caller]
fn broken(change: impl FnOnce(&mut AllocatorReport), path: &str) {
    let mut report = full();
    change(&mut report);
    let error = check(&report).expect_err("the report is broken");
    assert_eq!(error.place(), path, "{error}");
    let read = from_json(to_json(&report).as_bytes());
    assert_eq!(read.expect_err("the report is broken"), error);
}

#[test]
fn the_sample_is_valid() {
    assert_eq!(check(&full()), Ok(()));
}

#[test]
fn heaps_are_numbered_and_not_empty() {
    broken(|report| report.heaps[1].index = 0, "heaps[1].index");
    broken(|report| report.heaps[1].pool = 2, "heaps[1].pool");
    broken(|report| report.heaps[0].size = bytes(0), "heaps[0].size");
}

#[test]
fn allocations_are_in_order_and_inside() {
    broken(
        |report| report.heaps[1].allocations[1].offset = HeapOffset::new(65_535),
        "heaps[1].allocations[1].offset",
    );
    broken(|report| report.heaps[1].allocations.reverse(), "heaps[1].allocations[1].offset");
    broken(|report| report.heaps[0].allocations[2].size = bytes(49_153), "heaps[0].allocations[2].size");
    broken(|report| report.heaps[0].allocations[2].size = bytes(u64::MAX), "heaps[0].allocations[2].size");
    broken(|report| report.heaps[0].allocations[2].size = bytes(0), "heaps[0].allocations[2].size");
}

#[test]
fn nested_allocations_are_in_order_and_inside() {
    broken(
        |report| report.heaps[0].allocations[0].within.as_mut().unwrap()[1].offset = HeapOffset::new(769),
        "heaps[0].allocations[0].within[1].size",
    );
    broken(
        |report| report.heaps[0].allocations[0].within.as_mut().unwrap()[1].offset = HeapOffset::new(255),
        "heaps[0].allocations[0].within[1].offset",
    );
    broken(
        |report| report.heaps[0].allocations[0].kind = AllocationKind::Texture,
        "heaps[0].allocations[0].within",
    );
    broken(
        |report| {
            let mut deep = allocation(0, 1, AllocationKind::BackingBuffer);
            for _ in 0..17 {
                deep = within(allocation(0, 1, AllocationKind::BackingBuffer), vec![deep]);
            }
            report.heaps[0].allocations[0] = deep;
        },
        &format!("heaps[0].allocations[0]{}.within", ".within[0]".repeat(16)),
    );
}

#[test]
fn resources_keep_the_rules_of_allocations() {
    broken(|report| report.committed[0].size = bytes(0), "committed[0].size");
    broken(|report| report.imported[0].size = bytes(0), "imported[0].size");
}

#[test]
fn sums_match_the_listed_items() {
    broken(|report| report.heaps[0].used = bytes(1), "heaps[0].used");
    broken(|report| report.totals.reserved = bytes(3), "totals.reserved");
    broken(|report| report.pools[1].totals.heap_count = 2, "pools[1].totals.heap_count");
    broken(
        |report| report.heap_types[0].totals.committed.size = bytes(0),
        "heap_types[0].totals.committed.size",
    );
    broken(
        |report| report.segment_groups[1].totals.within_resource.count = 0,
        "segment_groups[1].totals.within_resource.count",
    );
    broken(|report| report.heaps_created = 1, "heaps_created");
}

#[test]
fn each_used_group_is_listed_once() {
    broken(|report| report.heap_types.push(report.heap_types[0].clone()), "heap_types[2].heap_type");
    broken(|report| report.heap_types.truncate(1), "heap_types");
    broken(
        |report| report.segment_groups.push(report.segment_groups[0].clone()),
        "segment_groups[2].segment_group",
    );
    broken(
        |report| report.segment_groups.retain(|group| group.segment_group != SegmentGroup::Local),
        "segment_groups",
    );
    broken(|report| report.decisions.push(report.decisions[0].clone()), "decisions[1].reason");
}

#[test]
fn sums_above_64_bits_are_errors_and_recount_saturates() {
    broken(
        |report| {
            report.heaps[1].size = bytes(u64::MAX - 1000);
            report.recount();
            assert_eq!(report.totals.reserved, bytes(u64::MAX));
        },
        "heaps[1]",
    );
    broken(
        |report| {
            report.imported.push(report.imported[0].clone());
            report.imported[1].size = bytes(u64::MAX);
            report.recount();
            assert_eq!(report.totals.committed.size, bytes(1 << 16));
            assert_eq!(report.totals.imported.size, bytes(u64::MAX));
        },
        "imported[1]",
    );
}

/// Returns the pointers to all numbers in a document, except those that no other value depends on.
fn numbers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(pointer.to_owned()),
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                numbers(value, &format!("{pointer}/{place}"), found);
            }
        }
        Value::Object(object) => {
            let free = ["device", "decisions", "offset", "budget", "current_usage", "pool", "heaps_created"];
            for (key, value) in object.iter().filter(|(key, _)| !free.contains(&key.as_str())) {
                numbers(value, &format!("{pointer}/{key}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// No number that others depend on can be changed.
    #[test]
    fn a_changed_number_is_detected(
        report in consistent(),
        place in any::<prop::sample::Index>(),
        other in prop_oneof![Just(0_u64), Just(u64::MAX), 0_u64..100, any::<u64>()],
    ) {
        let mut document: Value = serde_json::from_str(&to_json(&report)).unwrap();
        let mut all = Vec::new();
        numbers(&document, "", &mut all);
        let pointer = &all[place.index(all.len())];
        let number = document.pointer_mut(pointer).unwrap();
        prop_assume!(*number != json!(other));
        // The size of an empty container may be changed.
        let is_empty_container = pointer.strip_suffix("/size").is_some();
        *number = json!(other);
        let read = from_json(document.to_string().as_bytes());
        if is_empty_container {
            let container = document.pointer(pointer.strip_suffix("/size").unwrap()).unwrap();
            prop_assume!(container.get("within").is_none());
        }
        let error = read.expect_err(pointer);
        prop_assert!(!error.place().is_empty(), "{pointer}: {error}");
    }

    /// Overlapping allocations are detected.
    #[test]
    fn a_duplicate_allocation_is_detected(
        report in consistent(),
        heap in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
    ) {
        let mut report = report;
        prop_assume!(!report.heaps.is_empty());
        let heap = heap.index(report.heaps.len());
        let list = &mut report.heaps[heap].allocations;
        prop_assume!(!list.is_empty());
        let place = place.index(list.len());
        list.insert(place, list[place].clone());
        report.recount();
        let error = check(&report).unwrap_err();
        prop_assert_eq!(error.place(), format!("heaps[{heap}].allocations[{}].offset", place + 1));
    }
}
