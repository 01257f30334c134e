//! Devices with wrong rules for objects at given GPU virtual addresses.

use heapwright_d3d12::*;

use super::{HONEST, KIB_64, WrongDevice, field};
use crate::lies::{Lies, Recreate};

const fn lie(recreate: Recreate) -> Lies {
    Lies { recreate: Some(recreate), ..HONEST }
}

const fn wrong(
    name: &'static str,
    what: &'static str,
    recreate: Recreate,
    caught_by: &'static [&'static str],
) -> WrongDevice {
    WrongDevice { name, what, profile: "discrete", lies: lie(recreate), caught_by }
}

/// The placeholder of an object without addresses.
const NOWHERE: D3D12_GPU_VIRTUAL_ADDRESS = D3D12_GPU_VIRTUAL_ADDRESS(0);

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "recreate-tier-2",
        what: "RecreateAtTier is 2, which there is not",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS20, answer.fields, 1, 2)
            }),
            ..HONEST
        },
        caught_by: &["features/options20-known"],
    },
    WrongDevice {
        name: "recreate-without-the-tier",
        what: "the driver is too old, and the address is dropped without a word",
        profile: "old-ddi",
        lies: lie(Recreate::NextAddress(|_| 0)),
        caught_by: &["recreate/refused-without-the-tier"],
    },
    wrong(
        "heap-nowhere",
        "GetAllocation of a heap answers address 0",
        Recreate::HeapAllocation(|found| found.StartAddress = NOWHERE),
        &["recreate/heap-allocation", "recreate/allocations-do-not-overlap"],
    ),
    wrong(
        "heap-half-as-large",
        "GetAllocation of a heap answers half of its size",
        Recreate::HeapAllocation(|found| found.SizeInBytes /= 2),
        &["recreate/heap-allocation", "recreate/heap-at-its-address"],
    ),
    wrong(
        "allocation-is-the-width",
        "GetAllocation of a resource answers a buffer's width",
        Recreate::ResourceAllocation(|found| found.SizeInBytes = 1000),
        &["recreate/placed-buffer-allocation"],
    ),
    wrong(
        "allocation-without-size",
        "GetAllocation of a resource answers no bytes",
        Recreate::ResourceAllocation(|found| found.SizeInBytes = 0),
        &["recreate/committed-buffer-allocation", "recreate/committed-buffer-at-its-address"],
    ),
    wrong(
        "allocation-beside-the-address",
        "GetAllocation of a resource answers an address that is not GetGPUVirtualAddress's",
        Recreate::ResourceAllocation(|found| found.StartAddress.0 += KIB_64),
        &["recreate/committed-buffer-allocation", "recreate/placed-buffer-allocation"],
    ),
    wrong(
        "next-address-ignored",
        "SetNextAllocationAddress does nothing",
        Recreate::NextAddress(|_| 0),
        &[
            "recreate/heap-at-its-address",
            "recreate/committed-buffer-at-its-address",
            "recreate/reserved-buffer-at-its-address",
            "recreate/many-objects-in-any-order",
            "recreate/recreated-memory-holds-bytes",
        ],
    ),
    wrong(
        "next-address-rounded-down",
        "addresses are rounded down to 64 KiB instead of refused",
        Recreate::NextAddress(|address| address - address % KIB_64),
        &["recreate/misaligned-address-refused"],
    ),
    wrong(
        "next-address-zero-kept",
        "SetNextAllocationAddress of zero asks for address 4096",
        Recreate::NextAddress(|address| address.max(4096)),
        &["recreate/device-tools", "recreate/zero-clears-the-address"],
    ),
    wrong(
        "next-address-stays",
        "the address is not cleared by the object that has it",
        Recreate::Stays,
        &["recreate/address-is-cleared-by-creation"],
    ),
    wrong(
        "next-address-used-up-by-refusals",
        "a refused creation clears the address",
        Recreate::UsedUpByRefusals,
        &["recreate/address-is-left-by-a-refused-creation"],
    ),
    wrong(
        "next-address-of-any-thread",
        "the address that one thread sets is another thread's",
        Recreate::AnyThread,
        &["recreate/the-address-is-the-threads"],
    ),
    wrong(
        "heap-elsewhere",
        "a heap whose address cannot be had is created elsewhere",
        Recreate::HeapElsewhere,
        &[
            "recreate/address-in-use-refused",
            "recreate/misaligned-address-refused",
            "recreate/address-outside-refused",
            "recreate/refused-takes-no-memory",
        ],
    ),
    wrong(
        "texture-elsewhere",
        "a texture forgets the address that was set",
        Recreate::Forgets { textures: true, placed: false },
        &["recreate/texture-refused"],
    ),
    wrong(
        "placed-buffer-elsewhere",
        "a placed buffer does not care for the address that was set",
        Recreate::Forgets { textures: false, placed: true },
        &[
            "recreate/placed-buffer-elsewhere-refused",
            "recreate/placed-buffer-in-a-heap-without-address-refused",
        ],
    ),
    wrong(
        "ranges-dropped",
        "ReserveGPUVARangesAtCreate keeps nothing",
        Recreate::Ranges(Vec::clear),
        &["recreate/heap-at-its-address", "recreate/the-list-is-kept"],
    ),
    wrong(
        "one-range-a-call",
        "ReserveGPUVARangesAtCreate keeps the first range alone",
        Recreate::Ranges(|ranges| ranges.truncate(1)),
        &["recreate/ranges-are-taken-as-they-come", "recreate/many-objects-in-any-order"],
    ),
    wrong(
        "ranges-in-whole-pages-only",
        "ranges that are aligned to nothing are dropped",
        Recreate::Ranges(|ranges| ranges.retain(|range| range.StartAddress.0.is_multiple_of(KIB_64))),
        &["recreate/ranges-are-taken-as-they-come"],
    ),
    wrong(
        "no-range-where-one-has-no-address",
        "ReserveGPUVARangesAtCreate drops all ranges of a call that has one without an address",
        Recreate::Ranges(|ranges| {
            if ranges.iter().any(|range| range.StartAddress.0 == 0) {
                ranges.clear();
            }
        }),
        &["recreate/ranges-without-addresses-hide-none"],
    ),
    wrong(
        "no-range-where-one-is-empty",
        "ReserveGPUVARangesAtCreate drops all ranges of a call that has an empty one",
        Recreate::Ranges(|ranges| {
            if ranges.iter().any(|range| range.SizeInBytes == 0) {
                ranges.clear();
            }
        }),
        &["recreate/ranges-without-addresses-hide-none"],
    ),
    wrong(
        "ranges-replaced",
        "a call of ReserveGPUVARangesAtCreate replaces what earlier calls named",
        Recreate::Replaces,
        &["recreate/calls-append"],
    ),
    wrong(
        "ranges-used-up",
        "CreateDevice forgets the list",
        Recreate::UsesUp,
        &["recreate/the-list-is-kept"],
    ),
    wrong(
        "ranges-never-cleared",
        "ClearReservedGPUVARangesList does nothing",
        Recreate::KeepsList,
        &["recreate/a-cleared-list-reserves-nothing"],
    ),
    wrong(
        "lost-over-an-address",
        "an address that cannot be had removes the device",
        Recreate::Removes,
        &["recreate/address-in-use-refused", "recreate/misaligned-address-refused"],
    ),
];
