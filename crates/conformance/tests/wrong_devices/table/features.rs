//! Devices whose features contradict each other or the device's behaviour.

use heapwright_d3d12::*;

use super::wrong_devices;

wrong_devices! {
    "ResourceBindingTier is 1 on a device of feature level 12_0": field = (D3D12_FEATURE_D3D12_OPTIONS, 4, 1)
        => "features/resource-binding-tier";
    "logic operations are missing on feature level 12_1": field = (D3D12_FEATURE_D3D12_OPTIONS, 1, 0)
        => "features/feature-level-means-features";
    "TiledResourcesTier is 1 on feature level 12_1": field = (D3D12_FEATURE_D3D12_OPTIONS, 3, 1)
        => "features/feature-level-means-features";
    "additional typed loads are missing on feature level 12_1": field = (D3D12_FEATURE_D3D12_OPTIONS, 6, 0)
        => "features/feature-level-means-features";
    "rasterizer ordered views are missing on feature level 12_1": field = (D3D12_FEATURE_D3D12_OPTIONS, 7, 0)
        => "features/feature-level-means-features";
    "conservative rasterization is missing on feature level 12_1": field = (D3D12_FEATURE_D3D12_OPTIONS, 8, 0)
        => "features/feature-level-means-features";
    "GPUUploadHeapSupported is TRUE, and GPU_UPLOAD refused" on "discrete-2gib":
        field = (D3D12_FEATURE_D3D12_OPTIONS16, 1, 1) => "features/gpu-upload-means-the-heaps";
    "ARCHITECTURE1 says UMA, ARCHITECTURE does not": field = (D3D12_FEATURE_ARCHITECTURE1, 2, 1)
        => "features/architecture1-agrees";
    "CacheCoherentUMA is TRUE on a discrete GPU": field = (D3D12_FEATURE_ARCHITECTURE, 3, 1)
        => "features/cache-coherent-implies-uma";
    "GPU_VIRTUAL_ADDRESS_SUPPORT has fewer bits than OPTIONS":
        field = (D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, 0, 31) => "features/address-bits-agree";
    "CheckFeatureSupport does not look at the size": feature_size = |feature, size| {
        if feature == D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT { 4 } else { size }
    } => "features/wrong-sizes-refused";
    "every feature that exists or not is answered with S_OK": feature = |_, answer| answer.hresult = S_OK
        => "features/unknown-features-refused";
    "ManualWriteTrackingResourceSupported is TRUE without a tool":
        field = (D3D12_FEATURE_D3D12_OPTIONS17, 1, 1) => "features/write-tracking-off-by-default";
    "FORMAT_SUPPORT answers nothing for every format": field = (D3D12_FEATURE_FORMAT_SUPPORT, 1, 0)
        => "features/format-support-of-a-common-format", "features/format-support-of-a-depth-format",
           "features/format-support-of-a-block-format";
    "MULTISAMPLE_QUALITY_LEVELS answers 1 for every sample count": feature = |feature, answer| {
        if feature == D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS {
            (answer.hresult, answer.fields[3]) = (S_OK, 1);
        }
    } => "features/sample-quality-levels";
    "a process has fewer address bits than a resource":
        field = (D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, 1, 20) => "features/address-bits-in-order";
    "RelaxedFormatCastingSupported is TRUE, EnhancedBarriersSupported is not": feature = |feature, answer| {
        if feature == D3D12_FEATURE_D3D12_OPTIONS12 {
            (answer.fields[1], answer.fields[2]) = (0, 1);
        }
    } => "features/options12-known";
    "RecreateAtTier is 9": field = (D3D12_FEATURE_D3D12_OPTIONS20, 1, 9) => "features/options20-known";
}
