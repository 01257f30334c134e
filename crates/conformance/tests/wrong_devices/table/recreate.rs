//! Devices with wrong rules for objects at given GPU virtual addresses.

use heapwright_d3d12::*;

use super::{KIB_64, WrongDevice, field, lie, wrong};
use crate::lies::{HONEST, Lies, Recreate};

/// The placeholder of an object without addresses.
const NOWHERE: D3D12_GPU_VIRTUAL_ADDRESS = D3D12_GPU_VIRTUAL_ADDRESS(0);

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "RecreateAtTier is 2, which there is not",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS20, answer.fields, 1, 2)
        }),
        &["features/options20-known"],
    ),
    wrong(
        "the driver is too old, and the address is dropped without a word",
        lie!(recreate, Recreate::NextAddress(|_| 0)),
        &["recreate/refused-without-the-tier"],
    )
    .on("old-ddi"),
    wrong(
        "GetAllocation of a heap answers address 0",
        lie!(recreate, Recreate::HeapAllocation(|found| found.StartAddress = NOWHERE)),
        &["recreate/heap-allocation", "recreate/allocations-do-not-overlap"],
    ),
    wrong(
        "GetAllocation of a heap answers half of its size",
        lie!(recreate, Recreate::HeapAllocation(|found| found.SizeInBytes /= 2)),
        &["recreate/heap-allocation", "recreate/heap-at-its-address"],
    ),
    wrong(
        "GetAllocation of a resource answers a buffer's width",
        lie!(recreate, Recreate::ResourceAllocation(|found| found.SizeInBytes = 1000)),
        &["recreate/placed-buffer-allocation"],
    ),
    wrong(
        "GetAllocation of a resource answers no bytes",
        lie!(recreate, Recreate::ResourceAllocation(|found| found.SizeInBytes = 0)),
        &["recreate/committed-buffer-allocation", "recreate/committed-buffer-at-its-address"],
    ),
    wrong(
        "GetAllocation of a resource answers an address that is not GetGPUVirtualAddress's",
        lie!(recreate, Recreate::ResourceAllocation(|found| found.StartAddress.0 += KIB_64)),
        &["recreate/committed-buffer-allocation", "recreate/placed-buffer-allocation"],
    ),
    wrong(
        "SetNextAllocationAddress does nothing",
        lie!(recreate, Recreate::NextAddress(|_| 0)),
        &[
            "recreate/heap-at-its-address",
            "recreate/committed-buffer-at-its-address",
            "recreate/reserved-buffer-at-its-address",
            "recreate/many-objects-in-any-order",
            "recreate/recreated-memory-holds-bytes",
        ],
    ),
    wrong(
        "addresses are rounded down to 64 KiB instead of refused",
        lie!(recreate, Recreate::NextAddress(|address| address - address % KIB_64)),
        &["recreate/misaligned-address-refused"],
    ),
    wrong(
        "SetNextAllocationAddress of zero asks for address 4096",
        lie!(recreate, Recreate::NextAddress(|address| address.max(4096))),
        &["recreate/device-tools", "recreate/zero-clears-the-address"],
    ),
    wrong(
        "the address is not cleared by the object that has it",
        lie!(recreate, Recreate::Stays),
        &["recreate/address-is-cleared-by-creation"],
    ),
    wrong(
        "a refused creation clears the address",
        lie!(recreate, Recreate::UsedUpByRefusals),
        &["recreate/address-is-left-by-a-refused-creation"],
    ),
    wrong(
        "the address that one thread sets is another thread's",
        lie!(recreate, Recreate::AnyThread),
        &["recreate/the-address-is-the-threads"],
    ),
    wrong(
        "a heap whose address cannot be had is created elsewhere",
        lie!(recreate, Recreate::HeapElsewhere),
        &[
            "recreate/address-in-use-refused",
            "recreate/misaligned-address-refused",
            "recreate/address-outside-refused",
            "recreate/refused-takes-no-memory",
        ],
    ),
    wrong(
        "a texture forgets the address that was set",
        lie!(recreate, Recreate::Forgets { textures: true, placed: false }),
        &["recreate/texture-refused"],
    ),
    wrong(
        "a placed buffer does not care for the address that was set",
        lie!(recreate, Recreate::Forgets { textures: false, placed: true }),
        &[
            "recreate/placed-buffer-elsewhere-refused",
            "recreate/placed-buffer-in-a-heap-without-address-refused",
        ],
    ),
    wrong(
        "ReserveGPUVARangesAtCreate keeps nothing",
        lie!(recreate, Recreate::Ranges(Vec::clear)),
        &["recreate/heap-at-its-address", "recreate/the-list-is-kept"],
    ),
    wrong(
        "ReserveGPUVARangesAtCreate keeps the first range alone",
        lie!(recreate, Recreate::Ranges(|ranges| ranges.truncate(1))),
        &["recreate/ranges-are-taken-as-they-come", "recreate/many-objects-in-any-order"],
    ),
    wrong(
        "ranges that are aligned to nothing are dropped",
        lie!(
            recreate,
            Recreate::Ranges(|ranges| ranges.retain(|range| range.StartAddress.0.is_multiple_of(KIB_64)))
        ),
        &["recreate/ranges-are-taken-as-they-come"],
    ),
    wrong(
        "ReserveGPUVARangesAtCreate drops all ranges of a call that has one without an address",
        lie!(
            recreate,
            Recreate::Ranges(|ranges| {
                if ranges.iter().any(|range| range.StartAddress.0 == 0) {
                    ranges.clear();
                }
            })
        ),
        &["recreate/ranges-without-addresses-hide-none"],
    ),
    wrong(
        "ReserveGPUVARangesAtCreate drops all ranges of a call that has an empty one",
        lie!(
            recreate,
            Recreate::Ranges(|ranges| {
                if ranges.iter().any(|range| range.SizeInBytes == 0) {
                    ranges.clear();
                }
            })
        ),
        &["recreate/ranges-without-addresses-hide-none"],
    ),
    wrong(
        "a call of ReserveGPUVARangesAtCreate replaces what earlier calls named",
        lie!(recreate, Recreate::Replaces),
        &["recreate/calls-append"],
    ),
    wrong("CreateDevice forgets the list", lie!(recreate, Recreate::UsesUp), &["recreate/the-list-is-kept"]),
    wrong(
        "ClearReservedGPUVARangesList does nothing",
        lie!(recreate, Recreate::KeepsList),
        &["recreate/a-cleared-list-reserves-nothing"],
    ),
    wrong(
        "an address that cannot be had removes the device",
        lie!(recreate, Recreate::Removes),
        &["recreate/address-in-use-refused", "recreate/misaligned-address-refused"],
    ),
];
