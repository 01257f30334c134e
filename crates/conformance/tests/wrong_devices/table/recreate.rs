//! Devices with wrong rules for objects at given GPU virtual addresses.

use heapwright_d3d12::*;

use super::{KIB_64, wrong_devices};
use crate::lies::Recreate;

/// The placeholder of an object without addresses.
const NOWHERE: D3D12_GPU_VIRTUAL_ADDRESS = D3D12_GPU_VIRTUAL_ADDRESS(0);

wrong_devices! {
    "RecreateAtTier is 2, which there is not": field = (D3D12_FEATURE_D3D12_OPTIONS20, 1, 2)
        => "features/options20-known";
    "the driver is too old, and the address is dropped without a word" on "old-ddi":
        recreate = Recreate::NextAddress(|_| 0) => "recreate/refused-without-the-tier";
    "GetAllocation of a heap answers address 0":
        recreate = Recreate::HeapAllocation(|found| found.StartAddress = NOWHERE)
        => "recreate/heap-allocation", "recreate/allocations-do-not-overlap";
    "GetAllocation of a heap answers half of its size":
        recreate = Recreate::HeapAllocation(|found| found.SizeInBytes /= 2)
        => "recreate/heap-allocation", "recreate/heap-at-its-address";
    "GetAllocation of a resource answers a buffer's width":
        recreate = Recreate::ResourceAllocation(|found| found.SizeInBytes = 1000)
        => "recreate/placed-buffer-allocation";
    "GetAllocation of a resource answers no bytes":
        recreate = Recreate::ResourceAllocation(|found| found.SizeInBytes = 0)
        => "recreate/committed-buffer-allocation", "recreate/committed-buffer-at-its-address";
    "GetAllocation of a resource answers an address that is not GetGPUVirtualAddress's":
        recreate = Recreate::ResourceAllocation(|found| found.StartAddress.0 += KIB_64)
        => "recreate/committed-buffer-allocation", "recreate/placed-buffer-allocation";
    "SetNextAllocationAddress does nothing": recreate = Recreate::NextAddress(|_| 0)
        => "recreate/heap-at-its-address", "recreate/committed-buffer-at-its-address",
           "recreate/reserved-buffer-at-its-address", "recreate/many-objects-in-any-order",
           "recreate/recreated-memory-holds-bytes";
    "addresses are rounded down to 64 KiB instead of refused":
        recreate = Recreate::NextAddress(|address| address - address % KIB_64)
        => "recreate/misaligned-address-refused";
    "SetNextAllocationAddress of zero asks for address 4096":
        recreate = Recreate::NextAddress(|address| address.max(4096))
        => "recreate/device-tools", "recreate/zero-clears-the-address";
    "the address is not cleared by the object that has it": recreate = Recreate::Stays
        => "recreate/address-is-cleared-by-creation";
    "a refused creation clears the address": recreate = Recreate::UsedUpByRefusals
        => "recreate/address-is-left-by-a-refused-creation";
    "the address that one thread sets is another thread's": recreate = Recreate::AnyThread
        => "recreate/the-address-is-the-threads";
    "a heap whose address cannot be had is created elsewhere": recreate = Recreate::HeapElsewhere
        => "recreate/address-in-use-refused", "recreate/misaligned-address-refused",
           "recreate/address-outside-refused", "recreate/refused-takes-no-memory";
    "a texture forgets the address that was set":
        recreate = Recreate::Forgets { textures: true, placed: false } => "recreate/texture-refused";
    "a placed buffer does not care for the address that was set":
        recreate = Recreate::Forgets { textures: false, placed: true }
        => "recreate/placed-buffer-elsewhere-refused",
           "recreate/placed-buffer-in-a-heap-without-address-refused";
    "ReserveGPUVARangesAtCreate keeps nothing": recreate = Recreate::Ranges(Vec::clear)
        => "recreate/heap-at-its-address", "recreate/the-list-is-kept";
    "ReserveGPUVARangesAtCreate keeps the first range alone":
        recreate = Recreate::Ranges(|ranges| ranges.truncate(1))
        => "recreate/ranges-are-taken-as-they-come", "recreate/many-objects-in-any-order";
    "ranges that are aligned to nothing are dropped":
        recreate = Recreate::Ranges(|ranges| ranges.retain(|range| range.StartAddress.0 % KIB_64 == 0))
        => "recreate/ranges-are-taken-as-they-come";
    "ReserveGPUVARangesAtCreate drops all ranges of a call that has one without an address":
        recreate = Recreate::Ranges(|ranges| {
            if ranges.iter().any(|range| range.StartAddress.0 == 0) {
                ranges.clear();
            }
        }) => "recreate/ranges-without-addresses-hide-none";
    "ReserveGPUVARangesAtCreate drops all ranges of a call that has an empty one":
        recreate = Recreate::Ranges(|ranges| {
            if ranges.iter().any(|range| range.SizeInBytes == 0) {
                ranges.clear();
            }
        }) => "recreate/ranges-without-addresses-hide-none";
    "a call of ReserveGPUVARangesAtCreate replaces what earlier calls named": recreate = Recreate::Replaces
        => "recreate/calls-append";
    "CreateDevice forgets the list": recreate = Recreate::UsesUp => "recreate/the-list-is-kept";
    "ClearReservedGPUVARangesList does nothing": recreate = Recreate::KeepsList
        => "recreate/a-cleared-list-reserves-nothing";
    "an address that cannot be had removes the device": recreate = Recreate::Removes
        => "recreate/address-in-use-refused", "recreate/misaligned-address-refused";
}
