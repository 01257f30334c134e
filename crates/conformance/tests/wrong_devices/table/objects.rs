//! Devices with wrong objects, wrong device references of objects, or wrong accounting of the adapter.

use heapwright_d3d12::*;
use windows_core::Interface;

use super::wrong_devices;
use crate::lies::{PrivateData, Refused};

wrong_devices! {
    "creation calls that only check answer S_OK":
        check_only = |hresult| if hresult == S_FALSE { S_OK } else { hresult }
        => "device/heap-null-result-only-checks", "device/placed-null-result-only-checks";
    "each heap keeps a reference to the device for ever": leaks_device
        => "device/objects-give-their-references-back";
    "SetPrivateData of a resource keeps nothing": private_data = PrivateData::Forgotten
        => "device/private-data-round-trip";
    "SetPrivateData refuses a null pointer with a size": private_data = PrivateData::SizeNeedsData
        => "device/private-data-of-some-size-is-removed";
    "SetPrivateData answers S_OK where it removes nothing": private_data = PrivateData::RemovesNothing
        => "device/private-data-of-nothing-removed";
    "SetPrivateDataInterface of null removes the data": private_data = PrivateData::NullInterfaceRemoves
        => "device/private-data-of-nothing-removed";
    "a placed resource holds a reference to its heap that the application sees": counts_placed
        => "device/placed-resources-hold-no-reference";
    "CreateQueryHeap refuses everything": refuses = Refused::QueryHeaps => "residency/query-heap-round-trip";
    "ID3D12Device5 is denied, newer ones are not": denies = ID3D12Device5::IID
        => "device/newer-interfaces-imply-older";
    "the device's LUID is not its adapter's": luid = |luid| luid.LowPart ^= 0xff
        => "device/luid-is-the-adapters";
    "GetNodeCount answers 0": node_count = 0 => "device/has-a-node";
    "CurrentUsage is always 0": video_memory = |_, info| info.CurrentUsage = 0
        => "upload/default-charged-to-local", "upload/charged-to-local";
    "the segment groups are mistaken for each other":
        segment_group = |group| if group > 1 { group } else { 1 - group }
        => "upload/charged-to-local", "upload/upload-charged-to-non-local",
           "upload/readback-charged-to-non-local";
    "UMA has a budget in the non-local segment group" on "uma": video_memory = |group, info| {
        if group == DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL {
            info.Budget = 1 << 30;
        }
    } => "upload/non-local-is-empty-on-uma";
    "GetDevice of heaps and resources fails": orphans
        => "device/heap-knows-its-device", "device/placed-resource-knows-its-device",
           "device/committed-resource-knows-its-device";
    "GetDeviceRemovedReason answers DEVICE_HUNG for a device that works": removed = DXGI_ERROR_DEVICE_HUNG
        => "device/is-not-removed", "heap/size-64-kib";
    "the local segment group has no budget": video_memory = |_, info| info.Budget = 0
        => "upload/budget-is-there";
    "QueryVideoMemoryInfo takes any segment group": segment_group = |group| group.clamp(0, 1)
        => "upload/unknown-segment-group-refused";
}
