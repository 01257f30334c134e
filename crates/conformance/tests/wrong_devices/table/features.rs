//! Devices whose features contradict each other or the device's behaviour.

use heapwright_d3d12::*;

use super::{HONEST, WrongDevice, field};
use crate::lies::Lies;

pub(super) const WRONG: &[WrongDevice] = &[
    WrongDevice {
        name: "resource-binding-tier-1",
        what: "ResourceBindingTier is 1 on a device of feature level 12_0",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 4, 1)),
            ..HONEST
        },
        caught_by: &["features/resource-binding-tier"],
    },
    WrongDevice {
        name: "gpu-upload-cap-without-heaps",
        what: "GPUUploadHeapSupported is TRUE, and GPU_UPLOAD refused",
        profile: "discrete-2gib",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS16, answer.fields, 1, 1)
            }),
            ..HONEST
        },
        caught_by: &["features/gpu-upload-means-the-heaps"],
    },
    WrongDevice {
        name: "architectures-disagree",
        what: "ARCHITECTURE1 says UMA, ARCHITECTURE does not",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE1, answer.fields, 2, 1)),
            ..HONEST
        },
        caught_by: &["features/architecture1-agrees"],
    },
    WrongDevice {
        name: "coherent-but-not-uma",
        what: "CacheCoherentUMA is TRUE on a discrete GPU",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE, answer.fields, 3, 1)),
            ..HONEST
        },
        caught_by: &["features/cache-coherent-implies-uma"],
    },
    WrongDevice {
        name: "address-bits-disagree",
        what: "GPU_VIRTUAL_ADDRESS_SUPPORT has fewer bits than OPTIONS",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 0, 31);
            }),
            ..HONEST
        },
        caught_by: &["features/address-bits-agree"],
    },
    WrongDevice {
        name: "wrong-size-taken",
        what: "CheckFeatureSupport does not look at the size",
        profile: "discrete",
        lies: Lies {
            feature_size: Some(
                |feature, size| {
                    if feature == D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT { 4 } else { size }
                },
            ),
            ..HONEST
        },
        caught_by: &["features/wrong-sizes-refused"],
    },
    WrongDevice {
        name: "unknown-feature-taken",
        what: "every feature that exists or not is answered with S_OK",
        profile: "discrete",
        lies: Lies { feature: Some(|_, answer| answer.hresult = S_OK), ..HONEST },
        caught_by: &["features/unknown-features-refused"],
    },
    WrongDevice {
        name: "write-tracking-by-default",
        what: "ManualWriteTrackingResourceSupported is TRUE without a tool",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS17, answer.fields, 1, 1)
            }),
            ..HONEST
        },
        caught_by: &["features/write-tracking-off-by-default"],
    },
    WrongDevice {
        name: "formats-unsupported",
        what: "FORMAT_SUPPORT answers nothing for every format",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_FORMAT_SUPPORT, answer.fields, 1, 0)
            }),
            ..HONEST
        },
        caught_by: &[
            "features/format-support-of-a-common-format",
            "features/format-support-of-a-depth-format",
            "features/format-support-of-a-block-format",
        ],
    },
    WrongDevice {
        name: "every-sample-count",
        what: "MULTISAMPLE_QUALITY_LEVELS answers 1 for every sample count",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, answer.fields, 3, 1);
                if feature == D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS {
                    answer.hresult = S_OK;
                }
            }),
            ..HONEST
        },
        caught_by: &["features/sample-quality-levels"],
    },
    WrongDevice {
        name: "process-smaller-than-a-resource",
        what: "a process has fewer address bits than a resource",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 1, 20)
            }),
            ..HONEST
        },
        caught_by: &["features/address-bits-in-order"],
    },
    WrongDevice {
        name: "casting-without-barriers",
        what: "RelaxedFormatCastingSupported is TRUE, EnhancedBarriersSupported is not",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 1, 0);
                field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 2, 1);
            }),
            ..HONEST
        },
        caught_by: &["features/options12-known"],
    },
    WrongDevice {
        name: "recreate-at-tier-that-does-not-exist",
        what: "RecreateAtTier is 9",
        profile: "discrete",
        lies: Lies {
            feature: Some(|feature, answer| {
                field(feature, D3D12_FEATURE_D3D12_OPTIONS20, answer.fields, 1, 9)
            }),
            ..HONEST
        },
        caught_by: &["features/options20-known"],
    },
];
