//! `CheckFeatureSupport`: the driver's caps in D3D12's structures.

use std::ffi::c_void;

#[cfg(feature = "preview")]
use heapwright_d3d12::preview::D3D12_FEATURE_GUID_TEXTURE_LAYOUT;
use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::*;

use super::Device_Impl;
use crate::ddi::DriverCaps;
use crate::format::{FormatKind, FormatProperties, properties};
use crate::rules::commands::barriers;
use crate::rules::{Refusal, SdkVersion, byte_offset_views, feature_level};

/// Answers feature queries from a table. In each structure, fields with a value are set to it, fields listed without a
/// value keep what the caller passed, and all others are set to 0.
macro_rules! answers {
    ($asked:expr, $data:expr, $size:expr; $($feature:ident => $structure:ident {
        $($field:ident $(: $value:expr)?),* $(,)?
    },)*) => {
        match $asked {
            $($feature => exchange($data, $size, |data: &mut $structure| {
                let _asked = std::mem::take(data);
                $(answers!(@field data, _asked, $field $(, $value)?);)*
                Ok(())
            }),)*
            other => Err(Refusal::invalid(format!("Feature {other} is not a known D3D12_FEATURE"))),
        }
    };
    (@field $data:ident, $asked:ident, $field:ident) => { $data.$field = $asked.$field };
    (@field $data:ident, $asked:ident, $field:ident, $value:expr) => { $data.$field = $value };
}

impl Device_Impl {
    /// # Safety
    ///
    /// `data` is null or points to `size` writable bytes, aligned for the structure of the feature.
    pub(super) unsafe fn check_feature_support(
        &self,
        feature: D3D12_FEATURE,
        data: *mut c_void,
        size: u32,
    ) -> Result<(), Refusal> {
        if data.is_null() {
            return Err(Refusal::invalid("pFeatureSupportData is null"));
        }
        let caps = *self.driver().caps();
        // SAFETY: by the COM contract, pFeatureSupportData points to FeatureSupportDataSize bytes that hold the
        // feature's structure; `exchange` checks the size. The same holds for each arm and for `answer`.
        unsafe {
            match feature {
                D3D12_FEATURE_ARCHITECTURE => exchange(data, size, |data| self.architecture(data)),
                D3D12_FEATURE_ARCHITECTURE1 => exchange(data, size, |data| self.architecture1(data)),
                D3D12_FEATURE_FEATURE_LEVELS => {
                    exchange(data, size, |data| feature_levels(data, feature_level::highest(&caps)))
                }
                D3D12_FEATURE_FORMAT_SUPPORT => exchange(data, size, |data| format_support(data, &caps)),
                D3D12_FEATURE_MULTISAMPLE_QUALITY_LEVELS => {
                    exchange(data, size, |data| quality_levels(data, &caps))
                }
                D3D12_FEATURE_FORMAT_INFO => exchange(data, size, format_info),
                D3D12_FEATURE_SHADER_MODEL => exchange(data, size, shader_model),
                D3D12_FEATURE_ROOT_SIGNATURE => exchange(data, size, root_signature),
                D3D12_FEATURE_COMMAND_QUEUE_PRIORITY => exchange(data, size, queue_priority),
                D3D12_FEATURE_BARRIER_LAYOUT if self.options().sdk >= SdkVersion::BARRIER_LAYOUT => {
                    exchange(data, size, barrier_layout)
                }
                D3D12_FEATURE_D3D12_OPTIONS22 if self.options().sdk >= SdkVersion::DEVICE15 => {
                    exchange(data, size, |data| self.options22(data))
                }
                #[cfg(feature = "preview")]
                D3D12_FEATURE_GUID_TEXTURE_LAYOUT if self.options().sdk >= SdkVersion::FIRST_PREVIEW => {
                    exchange(data, size, |data| self.guid_texture_layout(data))
                }
                _ => self.answer(feature, data, size),
            }
        }
    }

    /// Handles the features whose values do not depend on the caller's input, and refuses unknown features.
    ///
    /// # Safety
    ///
    /// Same as for [`exchange`].
    unsafe fn answer(&self, feature: D3D12_FEATURE, data: *mut c_void, size: u32) -> Result<(), Refusal> {
        let caps = self.driver().caps();
        let is_12_1 = feature_level::highest(caps) >= D3D_FEATURE_LEVEL_12_1;
        // SAFETY: guaranteed by the caller.
        unsafe {
            answers! { feature, data, size;
                D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT => D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT {
                    MaxGPUVirtualAddressBitsPerResource: caps.gpu_va_bits_per_resource,
                    MaxGPUVirtualAddressBitsPerProcess: caps.gpu_va_bits_per_process,
                },
                // Shaders are not executed. These are the requirements of shader model 6.6.
                D3D12_FEATURE_D3D12_OPTIONS1 => D3D12_FEATURE_DATA_D3D12_OPTIONS1 {
                    WaveOps: true.into(),
                    WaveLaneCountMin: 32,
                    WaveLaneCountMax: 32,
                    TotalLaneCount: 32,
                    ExpandedComputeResourceStates: true.into(),
                    Int64ShaderOps: true.into(),
                },
                // Nothing is drawn, so a device has the features of shaders and of the rasterizer that its feature
                // level requires: logic operations since 11_1, additional formats of typed loads (which FORMAT_SUPPORT
                // reports) since 12_0, rasterizer ordered views and conservative rasterization since 12_1.
                D3D12_FEATURE_D3D12_OPTIONS => D3D12_FEATURE_DATA_D3D12_OPTIONS {
                    OutputMergerLogicOp: caps.compute_only.is_none().into(),
                    TypedUAVLoadAdditionalFormats: caps.compute_only.is_none().into(),
                    ROVsSupported: is_12_1.into(),
                    ConservativeRasterizationTier: if is_12_1 {
                        D3D12_CONSERVATIVE_RASTERIZATION_TIER_1
                    } else {
                        D3D12_CONSERVATIVE_RASTERIZATION_TIER_NOT_SUPPORTED
                    },
                    // GPUs of heap tier 2 have binding tier 3, older ones tier 2, and compute-only devices tier 1.
                    ResourceBindingTier: match caps.resource_heap_tier {
                        _ if caps.compute_only.is_some() => D3D12_RESOURCE_BINDING_TIER_1,
                        1 => D3D12_RESOURCE_BINDING_TIER_2,
                        _ => D3D12_RESOURCE_BINDING_TIER_3,
                    },
                    TiledResourcesTier: D3D12_TILED_RESOURCES_TIER::from(caps.tiled_resources_tier),
                    MaxGPUVirtualAddressBitsPerResource: caps.gpu_va_bits_per_resource,
                    StandardSwizzle64KBSupported: caps.standard_swizzle.into(),
                    // Textures with this layout can be created and viewed. Opening them on another adapter is not
                    // implemented.
                    CrossAdapterRowMajorTextureSupported: caps.cross_adapter_row_major.into(),
                    ResourceHeapTier: D3D12_RESOURCE_HEAP_TIER::from(caps.resource_heap_tier),
                },
                // Tier 1 is required for ResolveSubresourceRegion. Nothing is rasterized, so sample positions are not
                // observable.
                D3D12_FEATURE_D3D12_OPTIONS2 => D3D12_FEATURE_DATA_D3D12_OPTIONS2 {
                    DepthBoundsTestSupported: false.into(),
                    ProgrammableSamplePositionsTier: D3D12_PROGRAMMABLE_SAMPLE_POSITIONS_TIER_1,
                },
                D3D12_FEATURE_D3D12_OPTIONS3 => D3D12_FEATURE_DATA_D3D12_OPTIONS3 {
                    CastingFullyTypedFormatSupported: true.into(),
                    WriteBufferImmediateSupportFlags: D3D12_COMMAND_LIST_SUPPORT_FLAG_DIRECT
                        | D3D12_COMMAND_LIST_SUPPORT_FLAG_COMPUTE
                        | D3D12_COMMAND_LIST_SUPPORT_FLAG_COPY,
                },
                D3D12_FEATURE_D3D12_OPTIONS4 => D3D12_FEATURE_DATA_D3D12_OPTIONS4 {
                    MSAA64KBAlignedTextureSupported: true.into(),
                    SharedResourceCompatibilityTier: D3D12_SHARED_RESOURCE_COMPATIBILITY_TIER_0,
                    Native16BitShaderOpsSupported: false.into(),
                },
                // The runtime implements render passes on every driver, which is the meaning of tier 0.
                D3D12_FEATURE_D3D12_OPTIONS5 => D3D12_FEATURE_DATA_D3D12_OPTIONS5 {
                    SRVOnlyTiledResourceTier3: false.into(),
                    RenderPassesTier: D3D12_RENDER_PASS_TIER_0,
                    RaytracingTier: D3D12_RAYTRACING_TIER_NOT_SUPPORTED,
                },
                D3D12_FEATURE_D3D12_OPTIONS12 => D3D12_FEATURE_DATA_D3D12_OPTIONS12 {
                    MSPrimitivesPipelineStatisticIncludesCulledPrimitives: D3D12_TRI_STATE_UNKNOWN,
                    EnhancedBarriersSupported: true.into(),
                    RelaxedFormatCastingSupported: true.into(),
                },
                D3D12_FEATURE_D3D12_OPTIONS16 => D3D12_FEATURE_DATA_D3D12_OPTIONS16 {
                    DynamicDepthBiasSupported: false.into(),
                    GPUUploadHeapSupported: caps.has_gpu_upload_heaps().into(),
                },
                // Off unless a tool turns it on (DirectX-Specs, *D3D12 GPU Upload Heaps*).
                D3D12_FEATURE_D3D12_OPTIONS17 => D3D12_FEATURE_DATA_D3D12_OPTIONS17 {
                    NonNormalizedCoordinateSamplersSupported: false.into(),
                    ManualWriteTrackingResourceSupported: self.options().manual_write_tracking.into(),
                },
                D3D12_FEATURE_D3D12_OPTIONS20 => D3D12_FEATURE_DATA_D3D12_OPTIONS20 {
                    ComputeOnlyWriteWatchSupported: caps
                        .compute_only
                        .is_some_and(|compute_only| compute_only.write_watch)
                        .into(),
                    RecreateAtTier: if caps.has_recreate_at() {
                        D3D12_RECREATE_AT_TIER::from(caps.recreate_at_tier)
                    } else {
                        D3D12_RECREATE_AT_TIER_NOT_SUPPORTED
                    },
                },
                D3D12_FEATURE_D3D12_OPTIONS19 => D3D12_FEATURE_DATA_D3D12_OPTIONS19 {
                    ComputeOnlyCustomHeapSupported: caps
                        .compute_only
                        .is_some_and(|compute_only| compute_only.custom_heaps)
                        .into(),
                },
                D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT => D3D12_FEATURE_DATA_TIGHT_ALIGNMENT {
                    SupportTier: if caps.has_tight_alignment() {
                        caps.tight_alignment.SupportTier
                    } else {
                        D3D12_TIGHT_ALIGNMENT_TIER_NOT_SUPPORTED
                    },
                },
                // Features that this device does not support.
                D3D12_FEATURE_PROTECTED_RESOURCE_SESSION_SUPPORT =>
                    D3D12_FEATURE_DATA_PROTECTED_RESOURCE_SESSION_SUPPORT { NodeIndex },
                D3D12_FEATURE_PROTECTED_RESOURCE_SESSION_TYPE_COUNT =>
                    D3D12_FEATURE_DATA_PROTECTED_RESOURCE_SESSION_TYPE_COUNT { NodeIndex },
                D3D12_FEATURE_PROTECTED_RESOURCE_SESSION_TYPES =>
                    D3D12_FEATURE_DATA_PROTECTED_RESOURCE_SESSION_TYPES { NodeIndex, pTypes },
                // Programs may keep blobs and libraries, although nothing is in them.
                D3D12_FEATURE_SHADER_CACHE => D3D12_FEATURE_DATA_SHADER_CACHE {
                    SupportFlags: D3D12_SHADER_CACHE_SUPPORT_SINGLE_PSO | D3D12_SHADER_CACHE_SUPPORT_LIBRARY,
                },
                // Heaps over memory of the application.
                D3D12_FEATURE_EXISTING_HEAPS => D3D12_FEATURE_DATA_EXISTING_HEAPS {
                    Supported: caps.existing_heaps.into(),
                },
                D3D12_FEATURE_SERIALIZATION => D3D12_FEATURE_DATA_SERIALIZATION { NodeIndex },
                D3D12_FEATURE_CROSS_NODE => D3D12_FEATURE_DATA_CROSS_NODE {},
                D3D12_FEATURE_DISPLAYABLE => D3D12_FEATURE_DATA_DISPLAYABLE {},
                D3D12_FEATURE_PREDICATION => D3D12_FEATURE_DATA_PREDICATION {},
                D3D12_FEATURE_PLACED_RESOURCE_SUPPORT_INFO =>
                    D3D12_FEATURE_DATA_PLACED_RESOURCE_SUPPORT_INFO { Format, Dimension, DestHeapProperties },
                D3D12_FEATURE_HARDWARE_COPY => D3D12_FEATURE_DATA_HARDWARE_COPY {},
                D3D12_FEATURE_APPLICATION_SPECIFIC_DRIVER_STATE =>
                    D3D12_FEATURE_DATA_APPLICATION_SPECIFIC_DRIVER_STATE {},
                D3D12_FEATURE_BYTECODE_BYPASS_HASH_SUPPORTED => D3D12_FEATURE_DATA_BYTECODE_BYPASS_HASH_SUPPORTED {},
                D3D12_FEATURE_SHADER_CACHE_ABI_SUPPORT => D3D12_FEATURE_DATA_SHADERCACHE_ABI_SUPPORT {},
                D3D12_FEATURE_D3D12_OPTIONS6 => D3D12_FEATURE_DATA_D3D12_OPTIONS6 {},
                // Support for the structure indicates that heaps can be created non-resident.
                D3D12_FEATURE_D3D12_OPTIONS7 => D3D12_FEATURE_DATA_D3D12_OPTIONS7 {},
                D3D12_FEATURE_D3D12_OPTIONS8 => D3D12_FEATURE_DATA_D3D12_OPTIONS8 {},
                D3D12_FEATURE_D3D12_OPTIONS9 => D3D12_FEATURE_DATA_D3D12_OPTIONS9 {},
                D3D12_FEATURE_D3D12_OPTIONS10 => D3D12_FEATURE_DATA_D3D12_OPTIONS10 {},
                D3D12_FEATURE_D3D12_OPTIONS11 => D3D12_FEATURE_DATA_D3D12_OPTIONS11 {},
                D3D12_FEATURE_D3D12_OPTIONS13 => D3D12_FEATURE_DATA_D3D12_OPTIONS13 {},
                D3D12_FEATURE_D3D12_OPTIONS14 => D3D12_FEATURE_DATA_D3D12_OPTIONS14 {},
                D3D12_FEATURE_D3D12_OPTIONS15 => D3D12_FEATURE_DATA_D3D12_OPTIONS15 {},
                D3D12_FEATURE_D3D12_OPTIONS18 => D3D12_FEATURE_DATA_D3D12_OPTIONS18 {},
                D3D12_FEATURE_D3D12_OPTIONS21 => D3D12_FEATURE_DATA_D3D12_OPTIONS21 {},
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

    /// Nothing is dispatched: the sizes are those that every device has, and there are no mesh shaders.
    fn options22(&self, data: &mut D3D12_FEATURE_DATA_D3D12_OPTIONS22) -> Result<(), Refusal> {
        *data = D3D12_FEATURE_DATA_D3D12_OPTIONS22 {
            ShaderExecutionReorderingActuallyReorders: false.into(),
            CreateByteOffsetViewsSupported: byte_offset_views::has_byte_offset_views(
                self.driver().caps(),
                &self.options(),
            )
            .into(),
            Max1DDispatchSize: D3D12_CS_DISPATCH_MAX_THREAD_GROUPS_PER_DIMENSION.cast_unsigned(),
            Max1DDispatchMeshSize: 0,
        };
        Ok(())
    }
}

/// Returns whether command lists of a type support a layout: the layouts that barriers accept.
fn barrier_layout(data: &mut D3D12_FEATURE_DATA_BARRIER_LAYOUT) -> Result<(), Refusal> {
    data.Supported = barriers::supports_layout(data.CommandListType, data.Layout).into();
    Ok(())
}

/// Returns the highest supported shader model, at most the caller's. Shaders are not read; 6.6 is typical for the
/// simulated GPUs.
fn shader_model(data: &mut D3D12_FEATURE_DATA_SHADER_MODEL) -> Result<(), Refusal> {
    let asked = data.HighestShaderModel;
    if asked != D3D_SHADER_MODEL_5_1 && !(D3D_SHADER_MODEL_6_0..=D3D_HIGHEST_SHADER_MODEL).contains(&asked) {
        return Err(Refusal::invalid(format!(
            "HighestShaderModel {asked:#x} is not a valid D3D_SHADER_MODEL"
        )));
    }
    data.HighestShaderModel = asked.min(D3D_SHADER_MODEL_6_6);
    Ok(())
}

/// Returns the highest supported root signature version, at most the caller's.
fn root_signature(data: &mut D3D12_FEATURE_DATA_ROOT_SIGNATURE) -> Result<(), Refusal> {
    let asked = data.HighestVersion;
    if !(D3D_ROOT_SIGNATURE_VERSION_1_0..=D3D_ROOT_SIGNATURE_VERSION_1_2).contains(&asked) {
        return Err(Refusal::invalid(format!(
            "HighestVersion {asked} is not a valid D3D_ROOT_SIGNATURE_VERSION"
        )));
    }
    data.HighestVersion = asked.min(D3D_ROOT_SIGNATURE_VERSION_1_1);
    Ok(())
}

/// Returns whether queues of a type support a priority: the same priorities that `CreateCommandQueue` accepts.
fn queue_priority(data: &mut D3D12_FEATURE_DATA_COMMAND_QUEUE_PRIORITY) -> Result<(), Refusal> {
    let is_type =
        [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY]
            .contains(&data.CommandListType);
    let is_priority = [D3D12_COMMAND_QUEUE_PRIORITY_NORMAL, D3D12_COMMAND_QUEUE_PRIORITY_HIGH]
        .iter()
        .any(|&priority| u32::try_from(priority) == Ok(data.Priority));
    data.PriorityForTypeIsSupported = (is_type && is_priority).into();
    Ok(())
}

/// Returns the number of planes of a format. vkd3d-proton's tests/d3d12_device.c, test_check_feature_support, records
/// the values of Windows for every format up to B4G4R4A4_UNORM.
fn format_info(data: &mut D3D12_FEATURE_DATA_FORMAT_INFO) -> Result<(), Refusal> {
    data.PlaneCount = match data.Format {
        DXGI_FORMAT_UNKNOWN => 1,
        DXGI_FORMAT_R1_UNORM => return Err(Refusal::invalid("D3D12 does not support DXGI_FORMAT_R1_UNORM")),
        format => {
            let known = properties(format).ok_or_else(|| Refusal::invalid(unknown_format(format)))?;
            u8::try_from(known.plane_count()).unwrap_or(1)
        }
    };
    Ok(())
}

/// Returns the format support flags.
fn format_support(data: &mut D3D12_FEATURE_DATA_FORMAT_SUPPORT, caps: &DriverCaps) -> Result<(), Refusal> {
    if data.Format == DXGI_FORMAT_UNKNOWN {
        // The support of buffers without a format.
        data.Support1 = D3D12_FORMAT_SUPPORT1_BUFFER;
        data.Support2 = D3D12_FORMAT_SUPPORT2_NONE;
        return Ok(());
    }
    (data.Support1, data.Support2) = (D3D12_FORMAT_SUPPORT1_NONE, D3D12_FORMAT_SUPPORT2_NONE);
    let format = known_format(data.Format)?;
    if format.kind == FormatKind::Unsupported {
        // As on Windows for optional formats that a device does not support.
        return Err(Refusal::new(E_FAIL, format!("the device does not support {}", format.name)));
    }
    if caps.compute_only.is_some() {
        // Neither textures nor typed buffers.
        return Ok(());
    }
    let support = format.support();
    (data.Support1, data.Support2) = (support.support1, support.support2);
    Ok(())
}

/// Returns the number of quality levels for a format and a sample count; 0 if unsupported.
fn quality_levels(
    data: &mut D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS,
    caps: &DriverCaps,
) -> Result<(), Refusal> {
    // Windows, by vkd3d-proton's tests/d3d12_device.c, test_multisample_quality_levels: a sample count of 0 returns
    // E_FAIL and no levels, 1 has one level for every format, and invalid counts have no levels. Treating counts above
    // 32 like 0 is our choice.
    data.NumQualityLevels = 0;
    if data.SampleCount == 0 || data.SampleCount > 32 {
        let message = format!("SampleCount {} is out of range; must be 1 to 32", data.SampleCount);
        return Err(Refusal::new(E_FAIL, message));
    }
    if data.Format == DXGI_FORMAT_UNKNOWN {
        data.NumQualityLevels = u32::from(data.SampleCount == 1);
        return Ok(());
    }
    let tiled = data.Flags & D3D12_MULTISAMPLE_QUALITY_LEVELS_FLAG_TILED_RESOURCE != 0;
    let format = known_format(data.Format)?;
    let can_be_tiled =
        caps.tiled_resources_tier > 0 && format.support().support2 & D3D12_FORMAT_SUPPORT2_TILED != 0;
    data.NumQualityLevels = match data.SampleCount {
        _ if tiled && !can_be_tiled => 0,
        _ if caps.compute_only.is_some() => 0,
        1 => 1,
        count => format.quality_levels(count),
    };
    Ok(())
}

/// Returns the properties of a format, or E_FAIL for an unknown one. vkd3d-proton's tests/d3d12_device.c,
/// test_format_support, records that Windows returns E_FAIL for formats that are not documented. Treating numbers that
/// are no format in the same way is our choice.
fn known_format(format: DXGI_FORMAT) -> Result<&'static FormatProperties, Refusal> {
    properties(format).ok_or_else(|| Refusal::new(E_FAIL, unknown_format(format)))
}

fn unknown_format(format: DXGI_FORMAT) -> String {
    format!("Format {format} is not a DXGI_FORMAT known to the device")
}

/// Returns the highest supported level among those that the caller lists.
///
/// # Safety
///
/// `pFeatureLevelsRequested` is null or points to `NumFeatureLevels` levels.
unsafe fn feature_levels(
    data: &mut D3D12_FEATURE_DATA_FEATURE_LEVELS,
    highest: D3D_FEATURE_LEVEL,
) -> Result<(), Refusal> {
    let len = usize::try_from(data.NumFeatureLevels).unwrap_or(0);
    if len == 0 || data.pFeatureLevelsRequested.is_null() {
        return Err(Refusal::invalid("pFeatureLevelsRequested is null or NumFeatureLevels is 0"));
    }
    // SAFETY: by the COM contract, the caller's array has NumFeatureLevels elements.
    let requested = unsafe { std::slice::from_raw_parts(data.pFeatureLevelsRequested, len) };
    let supported = requested.iter().copied().filter(|&level| level <= highest).max();
    data.MaxSupportedFeatureLevel = supported.ok_or_else(|| {
        Refusal::invalid(format!(
            "no requested feature level is supported; the highest supported is {highest:#x}"
        ))
    })?;
    Ok(())
}

fn check_node(index: u32) -> Result<(), Refusal> {
    if index != 0 {
        return Err(Refusal::invalid(format!("NodeIndex {index} is out of range; the device has one node")));
    }
    Ok(())
}

/// Checks the size of the caller's structure and passes the structure to `answer` for reading and writing. Changes are
/// written back even if `answer` fails.
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
            "FeatureSupportDataSize is {size}; must be {}, the size of the structure",
            size_of::<T>()
        )));
    }
    let data = data.cast::<T>();
    // SAFETY: guaranteed by the caller, and the size was checked.
    let mut value = unsafe { data.read_unaligned() };
    let result = answer(&mut value);
    // SAFETY: same as above.
    unsafe { data.write_unaligned(value) };
    result
}
