//! Devices with wrong objects, wrong device references of objects, or wrong accounting of the adapter.

use heapwright_d3d12::*;
use windows_core::Interface;

use super::{WrongDevice, lie, wrong};
use crate::lies::{HONEST, Lies, PrivateData, Refused};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "creation calls that only check answer S_OK",
        lie!(check_only, |hresult| if hresult == S_FALSE { S_OK } else { hresult }),
        &["device/heap-null-result-only-checks", "device/placed-null-result-only-checks"],
    ),
    wrong(
        "each heap keeps a reference to the device for ever",
        Lies { leaks_device: true, ..HONEST },
        &["device/objects-give-their-references-back"],
    ),
    wrong(
        "SetPrivateData of a resource keeps nothing",
        lie!(private_data, PrivateData::Forgotten),
        &["device/private-data-round-trip", "device/private-data-room-too-small"],
    ),
    wrong(
        "SetPrivateData refuses a null pointer with a size",
        lie!(private_data, PrivateData::SizeNeedsData),
        &["device/private-data-of-some-size-is-removed"],
    ),
    wrong(
        "SetPrivateData answers S_OK where it removes nothing",
        lie!(private_data, PrivateData::RemovesNothing),
        &["device/private-data-of-nothing-removed"],
    ),
    wrong(
        "SetPrivateDataInterface of null removes the data",
        lie!(private_data, PrivateData::NullInterfaceRemoves),
        &["device/private-data-of-nothing-removed"],
    ),
    wrong(
        "a placed resource holds a reference to its heap that the application sees",
        Lies { counts_placed: true, ..HONEST },
        &["device/placed-resources-hold-no-reference"],
    ),
    wrong(
        "CreateRootSignature refuses everything",
        lie!(refuses, Refused::RootSignatures),
        &["pipelines/root-signature"],
    ),
    wrong(
        "CreateComputePipelineState refuses everything",
        lie!(refuses, Refused::ComputeStates),
        &["pipelines/compute-state"],
    ),
    wrong(
        "CreateGraphicsPipelineState refuses everything",
        lie!(refuses, Refused::GraphicsStates),
        &["pipelines/graphics-state"],
    ),
    wrong(
        "CreateCommandSignature refuses everything",
        lie!(refuses, Refused::CommandSignatures),
        &["pipelines/command-signature"],
    ),
    wrong(
        "CreateQueryHeap refuses everything",
        lie!(refuses, Refused::QueryHeaps),
        &["pipelines/timestamps"],
    ),
    wrong(
        "command allocators of bundles are refused",
        lie!(refuses, Refused::Bundles),
        &["pipelines/bundle"],
    ),
    wrong(
        "ID3D12Device5 is denied, newer ones are not",
        lie!(denies, ID3D12Device5::IID),
        &["device/newer-interfaces-imply-older"],
    ),
    wrong(
        "the device's LUID is not its adapter's",
        lie!(luid, |luid| luid.LowPart ^= 0xff),
        &["device/luid-is-the-adapters"],
    ),
    wrong("GetNodeCount answers 0", lie!(node_count, 0), &["device/has-a-node"]),
    wrong(
        "CurrentUsage is always 0",
        lie!(video_memory, |_, info| info.CurrentUsage = 0),
        &["upload/default-charged-to-local", "upload/charged-to-local"],
    ),
    wrong(
        "the segment groups are mistaken for each other",
        lie!(segment_group, |group| if group > 1 { group } else { 1 - group }),
        &[
            "upload/charged-to-local",
            "upload/upload-charged-to-non-local",
            "upload/readback-charged-to-non-local",
        ],
    ),
    wrong(
        "UMA has a budget in the non-local segment group",
        lie!(video_memory, |group, info| {
            if group == DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL {
                info.Budget = 1 << 30;
            }
        }),
        &["upload/non-local-is-empty-on-uma"],
    )
    .on("uma"),
    wrong(
        "GetDevice of heaps and resources fails",
        Lies { orphans: true, ..HONEST },
        &[
            "device/heap-knows-its-device",
            "device/placed-resource-knows-its-device",
            "device/committed-resource-knows-its-device",
        ],
    ),
    wrong(
        "GetDeviceRemovedReason answers DEVICE_HUNG for a device that works",
        lie!(removed, DXGI_ERROR_DEVICE_HUNG),
        &["device/is-not-removed", "heap/size-64-kib"],
    ),
    wrong(
        "the local segment group has no budget",
        lie!(video_memory, |_, info| info.Budget = 0),
        &["upload/budget-is-there"],
    ),
    wrong(
        "QueryVideoMemoryInfo takes any segment group",
        lie!(segment_group, |group| group.clamp(0, 1)),
        &["upload/unknown-segment-group-refused"],
    ),
];
