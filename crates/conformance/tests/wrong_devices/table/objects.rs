//! Devices with wrong objects, wrong device references of objects, or wrong accounting of the adapter.

use heapwright_d3d12::*;
use windows_core::Interface;

use super::{HONEST, WrongDevice};
use crate::lies::{Lies, PrivateData, Refused};

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "check-only-says-ok",
        what: "creation calls that only check answer S_OK",
        profile: "discrete",
        lies: Lies { check_only: Some(|hresult| if hresult == S_FALSE { S_OK } else { hresult }), ..HONEST },
        caught_by: &["device/heap-null-result-only-checks", "device/placed-null-result-only-checks"],
    },
    WrongDevice {
        name: "device-leaks",
        what: "each heap keeps a reference to the device for ever",
        profile: "discrete",
        lies: Lies { leaks_device: true, ..HONEST },
        caught_by: &["device/objects-give-their-references-back"],
    },
    WrongDevice {
        name: "private-data-lost",
        what: "SetPrivateData of a resource keeps nothing",
        profile: "discrete",
        lies: Lies { private_data: Some(PrivateData::Forgotten), ..HONEST },
        caught_by: &["device/private-data-round-trip", "device/private-data-room-too-small"],
    },
    WrongDevice {
        name: "private-data-of-a-size-needs-data",
        what: "SetPrivateData refuses a null pointer with a size",
        profile: "discrete",
        lies: Lies { private_data: Some(PrivateData::SizeNeedsData), ..HONEST },
        caught_by: &["device/private-data-of-some-size-is-removed"],
    },
    WrongDevice {
        name: "private-data-of-nothing-is-removed",
        what: "SetPrivateData answers S_OK where it removes nothing",
        profile: "discrete",
        lies: Lies { private_data: Some(PrivateData::RemovesNothing), ..HONEST },
        caught_by: &["device/private-data-of-nothing-removed"],
    },
    WrongDevice {
        name: "null-interface-removes",
        what: "SetPrivateDataInterface of null removes the data",
        profile: "discrete",
        lies: Lies { private_data: Some(PrivateData::NullInterfaceRemoves), ..HONEST },
        caught_by: &["device/private-data-of-nothing-removed"],
    },
    WrongDevice {
        name: "placed-resources-count",
        what: "a placed resource holds a reference to its heap that the application sees",
        profile: "discrete",
        lies: Lies { counts_placed: true, ..HONEST },
        caught_by: &["device/placed-resources-hold-no-reference"],
    },
    WrongDevice {
        name: "no-root-signatures",
        what: "CreateRootSignature refuses everything",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::RootSignatures), ..HONEST },
        caught_by: &["pipelines/root-signature"],
    },
    WrongDevice {
        name: "no-compute-states",
        what: "CreateComputePipelineState refuses everything",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::ComputeStates), ..HONEST },
        caught_by: &["pipelines/compute-state"],
    },
    WrongDevice {
        name: "no-graphics-states",
        what: "CreateGraphicsPipelineState refuses everything",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::GraphicsStates), ..HONEST },
        caught_by: &["pipelines/graphics-state"],
    },
    WrongDevice {
        name: "no-command-signatures",
        what: "CreateCommandSignature refuses everything",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::CommandSignatures), ..HONEST },
        caught_by: &["pipelines/command-signature"],
    },
    WrongDevice {
        name: "no-query-heaps",
        what: "CreateQueryHeap refuses everything",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::QueryHeaps), ..HONEST },
        caught_by: &["pipelines/timestamps"],
    },
    WrongDevice {
        name: "no-bundles",
        what: "command allocators of bundles are refused",
        profile: "discrete",
        lies: Lies { refuses: Some(Refused::Bundles), ..HONEST },
        caught_by: &["pipelines/bundle"],
    },
    WrongDevice {
        name: "interface-missing-in-the-middle",
        what: "ID3D12Device5 is denied, newer ones are not",
        profile: "discrete",
        lies: Lies { denies: Some(ID3D12Device5::IID), ..HONEST },
        caught_by: &["device/newer-interfaces-imply-older"],
    },
    WrongDevice {
        name: "luid-of-another",
        what: "the device's LUID is not its adapter's",
        profile: "discrete",
        lies: Lies { luid: Some(|luid| luid.LowPart ^= 0xff), ..HONEST },
        caught_by: &["device/luid-is-the-adapters"],
    },
    WrongDevice {
        name: "no-node",
        what: "GetNodeCount answers 0",
        profile: "discrete",
        lies: Lies { node_count: Some(0), ..HONEST },
        caught_by: &["device/has-a-node"],
    },
    WrongDevice {
        name: "usage-stays",
        what: "CurrentUsage is always 0",
        profile: "discrete",
        lies: Lies { video_memory: Some(|_, info| info.CurrentUsage = 0), ..HONEST },
        caught_by: &["upload/default-charged-to-local", "upload/charged-to-local"],
    },
    WrongDevice {
        name: "groups-swapped",
        what: "the segment groups are mistaken for each other",
        profile: "discrete",
        lies: Lies { segment_group: Some(|group| if group > 1 { group } else { 1 - group }), ..HONEST },
        caught_by: &[
            "upload/charged-to-local",
            "upload/upload-charged-to-non-local",
            "upload/readback-charged-to-non-local",
        ],
    },
    WrongDevice {
        name: "non-local-on-uma",
        what: "UMA has a budget in the non-local segment group",
        profile: "uma",
        lies: Lies {
            video_memory: Some(|group, info| {
                if group == DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL {
                    info.Budget = 1 << 30;
                }
            }),
            ..HONEST
        },
        caught_by: &["upload/non-local-is-empty-on-uma"],
    },
    WrongDevice {
        name: "orphans",
        what: "GetDevice of heaps and resources fails",
        profile: "discrete",
        lies: Lies { orphans: true, ..HONEST },
        caught_by: &[
            "device/heap-knows-its-device",
            "device/placed-resource-knows-its-device",
            "device/committed-resource-knows-its-device",
        ],
    },
    WrongDevice {
        name: "removed",
        what: "GetDeviceRemovedReason answers DEVICE_HUNG for a device that works",
        profile: "discrete",
        lies: Lies { removed: Some(DXGI_ERROR_DEVICE_HUNG), ..HONEST },
        caught_by: &["device/is-not-removed", "heap/size-64-kib"],
    },
    WrongDevice {
        name: "no-budget",
        what: "the local segment group has no budget",
        profile: "discrete",
        lies: Lies { video_memory: Some(|_, info| info.Budget = 0), ..HONEST },
        caught_by: &["upload/budget-is-there"],
    },
    WrongDevice {
        name: "any-segment-group",
        what: "QueryVideoMemoryInfo takes any segment group",
        profile: "discrete",
        lies: Lies { segment_group: Some(|group| group.clamp(0, 1)), ..HONEST },
        caught_by: &["upload/unknown-segment-group-refused"],
    },
];
