//! `CheckFeatureSupport`: the driver's caps in D3D12's structures.

use std::ffi::c_void;

use heapwright_d3d12::*;

use super::Device_Impl;
use crate::exports::FEATURE_LEVEL;
use crate::format::{FormatProperties, properties};
use crate::rules::Refusal;

impl Device_Impl {
    pub(super) fn check_feature_support(
        &self,
        feature: D3D12_FEATURE,
        data: *mut c_void,
        size: u32,
    ) -> Result<(), Refusal> {
        if data.is_null() {
            return Err(Refusal::invalid("pFeatureSupportData is null"));
        }
        let caps = *self.driver().caps();
        // SAFETY: by the COM contract pFeatureSupportData points to FeatureSupportDataSize bytes, in which the caller
        // keeps the feature's structure; `exchange` checks the size. The same holds for each arm.
        unsafe {
            match feature {
                D3D12_FEATURE_ARCHITECTURE => exchange(data, size, |data| self.architecture(data)),
                D3D12_FEATURE_ARCHITECTURE1 => exchange(data, size, |data| self.architecture1(data)),
                D3D12_FEATURE_FEATURE_LEVELS => exchange(data, size, feature_levels),
                D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT {
                        MaxGPUVirtualAddressBitsPerResource: caps.gpu_va_bits_per_resource,
                        MaxGPUVirtualAddressBitsPerProcess: caps.gpu_va_bits_per_process,
                    },
                ),
                D3D12_FEATURE_FORMAT_SUPPORT => exchange(data, size, format_support),
                D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS => {
                    exchange(data, size, |data| quality_levels(data, caps.tiled_resources_tier))
                }
                // Heaps over memory of the application's are not there.
                D3D12_FEATURE_EXISTING_HEAPS => {
                    fill(data, size, D3D12_FEATURE_DATA_EXISTING_HEAPS { Supported: false.into() })
                }
                D3D12_FEATURE_D3D12_OPTIONS => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS {
                        ResourceBindingTier: D3D12_RESOURCE_BINDING_TIER_1,
                        TiledResourcesTier: D3D12_TILED_RESOURCES_TIER::from(caps.tiled_resources_tier),
                        MaxGPUVirtualAddressBitsPerResource: caps.gpu_va_bits_per_resource,
                        StandardSwizzle64KBSupported: caps.standard_swizzle.into(),
                        // Textures of the layout exist and can be viewed; opening them on another adapter is not implemented.
                        CrossAdapterRowMajorTextureSupported: caps.cross_adapter_row_major.into(),
                        ResourceHeapTier: D3D12_RESOURCE_HEAP_TIER::from(caps.resource_heap_tier),
                        ..Default::default()
                    },
                ),
                // Tier 1 is what ResolveSubresourceRegion needs. Nothing is rasterized here, so nobody sees where samples are.
                D3D12_FEATURE_D3D12_OPTIONS2 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS2 {
                        DepthBoundsTestSupported: false.into(),
                        ProgrammableSamplePositionsTier: D3D12_PROGRAMMABLE_SAMPLE_POSITIONS_TIER_1,
                    },
                ),
                D3D12_FEATURE_D3D12_OPTIONS3 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS3 {
                        CastingFullyTypedFormatSupported: true.into(),
                        WriteBufferImmediateSupportFlags: D3D12_COMMAND_LIST_SUPPORT_FLAG_DIRECT
                            | D3D12_COMMAND_LIST_SUPPORT_FLAG_COMPUTE
                            | D3D12_COMMAND_LIST_SUPPORT_FLAG_COPY,
                        ..Default::default()
                    },
                ),
                D3D12_FEATURE_D3D12_OPTIONS4 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS4 {
                        MSAA64KBAlignedTextureSupported: true.into(),
                        SharedResourceCompatibilityTier: D3D12_SHARED_RESOURCE_COMPATIBILITY_TIER_0,
                        Native16BitShaderOpsSupported: false.into(),
                    },
                ),
                // The runtime has render passes, on every driver; that is what tier 0 says.
                D3D12_FEATURE_D3D12_OPTIONS5 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS5 {
                        SRVOnlyTiledResourceTier3: false.into(),
                        RenderPassesTier: D3D12_RENDER_PASS_TIER_0,
                        RaytracingTier: D3D12_RAYTRACING_TIER_NOT_SUPPORTED,
                    },
                ),
                // Its presence says that heaps can be created not resident.
                D3D12_FEATURE_D3D12_OPTIONS7 => {
                    fill(data, size, D3D12_FEATURE_DATA_D3D12_OPTIONS7::default())
                }
                D3D12_FEATURE_D3D12_OPTIONS12 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS12 {
                        MSPrimitivesPipelineStatisticIncludesCulledPrimitives: D3D12_TRI_STATE_UNKNOWN,
                        EnhancedBarriersSupported: true.into(),
                        RelaxedFormatCastingSupported: true.into(),
                    },
                ),
                D3D12_FEATURE_D3D12_OPTIONS16 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS16 {
                        DynamicDepthBiasSupported: false.into(),
                        GPUUploadHeapSupported: caps.l1_memory_fully_cpu_accessible.into(),
                    },
                ),
                // UPLOAD: false unless a tool turns it on.
                D3D12_FEATURE_D3D12_OPTIONS17 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS17 {
                        NonNormalizedCoordinateSamplersSupported: false.into(),
                        ManualWriteTrackingResourceSupported: self.options().manual_write_tracking.into(),
                    },
                ),
                D3D12_FEATURE_D3D12_OPTIONS20 => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_D3D12_OPTIONS20 {
                        ComputeOnlyWriteWatchSupported: false.into(),
                        RecreateAtTier: if caps.has_recreate_at() {
                            D3D12_RECREATE_AT_TIER::from(caps.recreate_at_tier)
                        } else {
                            D3D12_RECREATE_AT_TIER_NOT_SUPPORTED
                        },
                    },
                ),
                D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT => fill(
                    data,
                    size,
                    D3D12_FEATURE_DATA_TIGHT_ALIGNMENT {
                        SupportTier: D3D12_TIGHT_ALIGNMENT_TIER::from(caps.tight_alignment_tier),
                    },
                ),
                other => {
                    Err(Refusal::not_implemented(format!("CheckFeatureSupport of D3D12_FEATURE {other}")))
                }
            }
        }
    }

    fn architecture(&self, data: &mut D3D12_FEATURE_DATA_ARCHITECTURE) -> Result<(), Refusal> {
        check_node(data.NodeIndex)?;
        data.TileBasedRenderer = false.into();
        data.UMA = self.is_uma().into();
        data.CacheCoherentUMA = self.is_cache_coherent().into();
        Ok(())
    }

    fn architecture1(&self, data: &mut D3D12_FEATURE_DATA_ARCHITECTURE1) -> Result<(), Refusal> {
        check_node(data.NodeIndex)?;
        data.TileBasedRenderer = false.into();
        data.UMA = self.is_uma().into();
        data.CacheCoherentUMA = self.is_cache_coherent().into();
        data.IsolatedMMU = true.into();
        Ok(())
    }
}

/// What the device can do with a format.
fn format_support(data: &mut D3D12_FEATURE_DATA_FORMAT_SUPPORT) -> Result<(), Refusal> {
    if data.Format == DXGI_FORMAT_UNKNOWN {
        // What buffers without a format support.
        data.Support1 = D3D12_FORMAT_SUPPORT1_BUFFER;
        data.Support2 = D3D12_FORMAT_SUPPORT2_NONE;
        return Ok(());
    }
    let format = known_format(data.Format)?;
    let support = format.support();
    (data.Support1, data.Support2) = (support.support1, support.support2);
    Ok(())
}

/// How many quality levels a format has with a number of samples; 0 for none.
fn quality_levels(
    data: &mut D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS,
    tiled_resources_tier: u8,
) -> Result<(), Refusal> {
    if data.SampleCount == 0 || data.SampleCount > 32 {
        return Err(Refusal::invalid(format!("SampleCount {} is not 1 to 32", data.SampleCount)));
    }
    let tiled = data.Flags & D3D12_MULTISAMPLE_QUALITY_LEVELS_FLAG_TILED_RESOURCE != 0;
    let format = known_format(data.Format)?;
    let can_be_tiled =
        tiled_resources_tier > 0 && format.support().support2 & D3D12_FORMAT_SUPPORT2_TILED != 0;
    data.NumQualityLevels = if tiled && !can_be_tiled { 0 } else { format.quality_levels(data.SampleCount) };
    Ok(())
}

fn known_format(format: DXGI_FORMAT) -> Result<&'static FormatProperties, Refusal> {
    properties(format).ok_or_else(|| Refusal::invalid(format!("{format} is no DXGI_FORMAT that D3D12 knows")))
}

/// The highest of the levels that the caller asks for.
fn feature_levels(data: &mut D3D12_FEATURE_DATA_FEATURE_LEVELS) -> Result<(), Refusal> {
    let len = usize::try_from(data.NumFeatureLevels).unwrap_or(0);
    if len == 0 || data.pFeatureLevelsRequested.is_null() {
        return Err(Refusal::invalid("pFeatureLevelsRequested names no feature level"));
    }
    // SAFETY: by the COM contract the caller's array has NumFeatureLevels elements.
    let requested = unsafe { std::slice::from_raw_parts(data.pFeatureLevelsRequested, len) };
    let supported = requested.iter().copied().filter(|&level| level <= FEATURE_LEVEL).max();
    data.MaxSupportedFeatureLevel = supported.ok_or_else(|| {
        Refusal::invalid(format!("none of the feature levels asked for is at or below {FEATURE_LEVEL:#x}"))
    })?;
    Ok(())
}

fn check_node(index: u32) -> Result<(), Refusal> {
    if index != 0 {
        return Err(Refusal::invalid(format!("NodeIndex {index} names no node: the device has one")));
    }
    Ok(())
}

/// Writes the whole of the caller's structure, when its size is right.
///
/// # Safety
///
/// As for [`exchange`].
unsafe fn fill<T: Copy>(data: *mut c_void, size: u32, answer: T) -> Result<(), Refusal> {
    // SAFETY: the caller's promise.
    unsafe {
        exchange(data, size, |data: &mut T| {
            *data = answer;
            Ok(())
        })
    }
}

/// Lets `answer` read and write the caller's structure, when its size is right.
///
/// # Safety
///
/// `data` points to `size` readable and writable bytes that are a valid `T` if `size` is the size of one; it may be
/// unaligned.
unsafe fn exchange<T: Copy>(
    data: *mut c_void,
    size: u32,
    answer: impl FnOnce(&mut T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if usize::try_from(size).ok() != Some(size_of::<T>()) {
        return Err(Refusal::invalid(format!(
            "FeatureSupportDataSize is {size}, the structure has {} bytes",
            size_of::<T>()
        )));
    }
    let data = data.cast::<T>();
    // SAFETY: the caller's promise, with the size checked.
    let mut value = unsafe { data.read_unaligned() };
    answer(&mut value)?;
    // SAFETY: as above.
    unsafe { data.write_unaligned(value) };
    Ok(())
}
