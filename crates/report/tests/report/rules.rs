//! Every rule of a report, broken once; and any number changed at random.

use crate::sample::{allocation, bytes, consistent, full, to_json};
use heapwright::report::{AllocationKind, AllocatorReport, DecisionReport};
use heapwright::{GpuVirtualAddress, HeapOffset, SegmentGroup};
use heapwright_report::{check, from_json};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Breaks the sample and expects this error, in memory and when it is read.
#[track_caller]
fn broken(change: impl FnOnce(&mut AllocatorReport), expected: &str) {
    let mut report = full();
    change(&mut report);
    let error = check(&report).expect_err("the report is broken");
    assert_eq!(error.to_string(), expected);
    let read = from_json(to_json(&report).as_bytes());
    assert_eq!(read.expect_err("the report is broken"), error);
}

#[test]
fn the_sample_keeps_them() {
    assert_eq!(check(&full()), Ok(()));
}

#[test]
fn heaps_are_numbered_and_not_empty() {
    broken(|report| report.heaps[1].index = 0, "heaps[1].index: 0, but the heap is the one at 1");
    broken(|report| report.heaps[1].pool = 2, "heaps[1].pool: 2, but there are 2 pools");
    broken(|report| report.heaps[0].size = bytes(0), "heaps[0].size: is 0");
    broken(
        |report| report.heaps[0].gpu_virtual_address = GpuVirtualAddress::new(u64::MAX - 100),
        "heaps[0].gpu_virtual_address: 18446744073709551515 and the size of 65536 do not fit in 64 bits",
    );
}

#[test]
fn allocations_are_in_order_and_inside() {
    broken(
        |report| report.heaps[1].allocations[1].offset = HeapOffset::new(65_535),
        "heaps[1].allocations[1].offset: 65535, but the allocation before it ends at 65536",
    );
    broken(
        |report| report.heaps[1].allocations.reverse(),
        "heaps[1].allocations[1].offset: 0, but the allocation before it ends at 196608",
    );
    broken(
        |report| report.heaps[0].allocations[2].size = bytes(49_153),
        "heaps[0].allocations[2].size: 49153 at offset 16384, but what it lies in has 65536 bytes",
    );
    broken(
        |report| report.heaps[0].allocations[2].size = bytes(u64::MAX),
        "heaps[0].allocations[2].size: 18446744073709551615 at offset 16384, but what it lies in has 65536 bytes",
    );
    broken(|report| report.heaps[0].allocations[2].size = bytes(0), "heaps[0].allocations[2].size: is 0");
    broken(
        |report| report.heaps[0].allocations[2].requested = Some(bytes(16_385)),
        "heaps[0].allocations[2].requested: 16385, but the size is 16384",
    );
}

#[test]
fn what_lies_within_is_inside_too() {
    broken(
        |report| report.heaps[0].allocations[0].within.as_mut().unwrap()[1].offset = HeapOffset::new(769),
        "heaps[0].allocations[0].within[1].size: 256 at offset 769, but what it lies in has 1024 bytes",
    );
    broken(
        |report| report.heaps[0].allocations[0].within.as_mut().unwrap()[1].offset = HeapOffset::new(255),
        "heaps[0].allocations[0].within[1].offset: 255, but the allocation before it ends at 256",
    );
    broken(
        |report| report.heaps[0].allocations[0].kind = AllocationKind::Texture,
        "heaps[0].allocations[0].within: is there, but nothing lies in a texture",
    );
    broken(
        |report| {
            let mut deep = allocation(0, 1, AllocationKind::Slab);
            for _ in 0..17 {
                deep = allocation(0, 1, AllocationKind::Slab).with_within(vec![deep]);
            }
            report.heaps[0].allocations[0] = deep;
        },
        "heaps[0].allocations[0].within[0].within[0].within[0].within[0].within[0].within[0].within[0].within[0]\
         .within[0].within[0].within[0].within[0].within[0].within[0].within[0].within[0].within: is deeper than 16 \
         levels",
    );
}

#[test]
fn resources_keep_the_rules_of_allocations() {
    broken(|report| report.committed[0].size = bytes(0), "committed[0].size: is 0");
    broken(|report| report.imported[0].pool = Some(7), "imported[0].pool: 7, but there are 2 pools");
    broken(
        |report| report.imported[0].requested = Some(bytes(5000)),
        "imported[0].requested: 5000, but the size is 4096",
    );
    broken(
        |report| report.committed[0].gpu_virtual_address = GpuVirtualAddress::new(u64::MAX),
        "committed[0].gpu_virtual_address: 18446744073709551615 and the size of 65536 do not fit in 64 bits",
    );
}

#[test]
fn sums_are_what_is_listed() {
    broken(|report| report.heaps[0].used = bytes(1), "heaps[0].used: 1, but what is listed adds up to 16946");
    broken(
        |report| report.totals.reserved = bytes(3),
        "totals.reserved: 3, but what is listed adds up to 1114112",
    );
    broken(
        |report| report.pools[1].totals.heap_count = 2,
        "pools[1].totals.heap_count: 2, but what is listed adds up to 1",
    );
    broken(
        |report| report.heap_types[0].totals.committed.size = bytes(0),
        "heap_types[0].totals.committed.size: 0, but what is listed adds up to 65536",
    );
    broken(
        |report| report.segment_groups[1].totals.within_resource.count = 0,
        "segment_groups[1].totals.within_resource.count: 0, but what is listed adds up to 1",
    );
    broken(|report| report.heaps_created = 1, "heaps_created: 1, but there are 2 heaps");
}

#[test]
fn each_group_is_listed_once_if_something_lies_there() {
    broken(
        |report| report.heap_types.push(report.heap_types[0].clone()),
        "heap_types[2].heap_type: DEFAULT is listed before",
    );
    broken(|report| report.heap_types.truncate(1), "heap_types: UPLOAD is missing, but something lies there");
    broken(
        |report| report.segment_groups.push(report.segment_groups[0].clone()),
        "segment_groups[2].segment_group: local is listed before",
    );
    broken(
        |report| report.segment_groups.retain(|group| group.segment_group != SegmentGroup::Local),
        "segment_groups: local is missing, but something lies there",
    );
    broken(
        |report| report.decisions.push(DecisionReport::new("committed: flag", 1)),
        "decisions[1].reason: \"committed: flag\" is listed before",
    );
}

#[test]
fn sums_above_64_bits_are_told_and_recount_saturates() {
    broken(
        |report| {
            report.heaps[1].size = bytes(u64::MAX - 1000);
            report.recount();
            assert_eq!(report.totals.reserved, bytes(u64::MAX));
        },
        "heaps[1]: the bytes up to here do not fit in 64 bits",
    );
    broken(
        |report| {
            report.imported.push(report.imported[0].clone());
            report.imported[1].size = bytes(u64::MAX);
            report.recount();
            assert_eq!(report.pools[0].totals.committed.size, bytes(1 << 16));
            assert_eq!(report.totals.imported.size, bytes(u64::MAX));
        },
        "imported[1]: the bytes up to here do not fit in 64 bits",
    );
}

/// The pointers to every number in a document, except those that say nothing about others.
fn numbers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(pointer.to_owned()),
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                numbers(value, &format!("{pointer}/{place}"), found);
            }
        }
        Value::Object(object) => {
            let free = [
                "device",
                "decisions",
                "requested",
                "gpu_virtual_address",
                "offset",
                "budget",
                "current_usage",
                "pool",
                "heaps_created",
            ];
            for (key, value) in object.iter().filter(|(key, _)| !free.contains(&key.as_str())) {
                numbers(value, &format!("{pointer}/{key}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Of the numbers that others depend on, none can be another.
    #[test]
    fn a_number_that_is_another_is_found(
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
        // An empty container may have any size that fits.
        let is_empty_container = pointer.strip_suffix("/size").is_some();
        *number = json!(other);
        let read = from_json(document.to_string().as_bytes());
        if is_empty_container {
            let container = document.pointer(pointer.strip_suffix("/size").unwrap()).unwrap();
            prop_assume!(container.get("within").is_none());
        }
        let error = read.expect_err(pointer);
        prop_assert!(!error.path().is_empty(), "{pointer}: {error}");
    }

    /// Two that overlap are found, whichever they are.
    #[test]
    fn an_allocation_that_is_there_twice_is_found(
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
        prop_assert_eq!(error.path(), format!("heaps[{heap}].allocations[{}].offset", place + 1));
    }
}
