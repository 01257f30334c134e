//! Devices whose features contradict each other or the device's behaviour.

use heapwright_d3d12::*;

use super::{WrongDevice, field, lie, wrong};
use crate::lies::{HONEST, Lies};

pub(super) const WRONG: &[WrongDevice] = &[
    wrong(
        "ResourceBindingTier is 1 on a device of feature level 12_0",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_D3D12_OPTIONS, answer.fields, 4, 1)),
        &["features/resource-binding-tier"],
    ),
    wrong(
        "GPUUploadHeapSupported is TRUE, and GPU_UPLOAD refused",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS16, answer.fields, 1, 1)
        }),
        &["features/gpu-upload-means-the-heaps"],
    )
    .on("discrete-2gib"),
    wrong(
        "ARCHITECTURE1 says UMA, ARCHITECTURE does not",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE1, answer.fields, 2, 1)),
        &["features/architecture1-agrees"],
    ),
    wrong(
        "CacheCoherentUMA is TRUE on a discrete GPU",
        lie!(feature, |feature, answer| field(feature, D3D12_FEATURE_ARCHITECTURE, answer.fields, 3, 1)),
        &["features/cache-coherent-implies-uma"],
    ),
    wrong(
        "GPU_VIRTUAL_ADDRESS_SUPPORT has fewer bits than OPTIONS",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 0, 31);
        }),
        &["features/address-bits-agree"],
    ),
    wrong(
        "CheckFeatureSupport does not look at the size",
        lie!(feature_size, |feature, size| {
            if feature == D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT { 4 } else { size }
        }),
        &["features/wrong-sizes-refused"],
    ),
    wrong(
        "every feature that exists or not is answered with S_OK",
        lie!(feature, |_, answer| answer.hresult = S_OK),
        &["features/unknown-features-refused"],
    ),
    wrong(
        "ManualWriteTrackingResourceSupported is TRUE without a tool",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS17, answer.fields, 1, 1)
        }),
        &["features/write-tracking-off-by-default"],
    ),
    wrong(
        "FORMAT_SUPPORT answers nothing for every format",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_FORMAT_SUPPORT, answer.fields, 1, 0)
        }),
        &[
            "features/format-support-of-a-common-format",
            "features/format-support-of-a-depth-format",
            "features/format-support-of-a-block-format",
        ],
    ),
    wrong(
        "MULTISAMPLE_QUALITY_LEVELS answers 1 for every sample count",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS, answer.fields, 3, 1);
            if feature == D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS {
                answer.hresult = S_OK;
            }
        }),
        &["features/sample-quality-levels"],
    ),
    wrong(
        "a process has fewer address bits than a resource",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, answer.fields, 1, 20)
        }),
        &["features/address-bits-in-order"],
    ),
    wrong(
        "RelaxedFormatCastingSupported is TRUE, EnhancedBarriersSupported is not",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 1, 0);
            field(feature, D3D12_FEATURE_D3D12_OPTIONS12, answer.fields, 2, 1);
        }),
        &["features/options12-known"],
    ),
    wrong(
        "RecreateAtTier is 9",
        lie!(feature, |feature, answer| {
            field(feature, D3D12_FEATURE_D3D12_OPTIONS20, answer.fields, 1, 9)
        }),
        &["features/options20-known"],
    ),
];
