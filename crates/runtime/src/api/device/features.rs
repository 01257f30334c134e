//! `CheckFeatureSupport`: the driver's caps in D3D12's structures.

use std::ffi::c_void;

use heapwright_d3d12::*;

use super::Device_Impl;
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
                D3D12_FEATURE_ARCHITECTURE => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_ARCHITECTURE| {
                        check_node(data.NodeIndex)?;
                        data.TileBasedRenderer = false.into();
                        data.UMA = self.is_uma().into();
                        data.CacheCoherentUMA = self.is_cache_coherent().into();
                        Ok(())
                    })
                }
                D3D12_FEATURE_ARCHITECTURE1 => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_ARCHITECTURE1| {
                        check_node(data.NodeIndex)?;
                        data.TileBasedRenderer = false.into();
                        data.UMA = self.is_uma().into();
                        data.CacheCoherentUMA = self.is_cache_coherent().into();
                        data.IsolatedMMU = true.into();
                        Ok(())
                    })
                }
                D3D12_FEATURE_D3D12_OPTIONS => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_D3D12_OPTIONS| {
                        *data = D3D12_FEATURE_DATA_D3D12_OPTIONS {
                            ResourceBindingTier: D3D12_RESOURCE_BINDING_TIER_1,
                            MaxGPUVirtualAddressBitsPerResource: caps.gpu_va_bits_per_resource,
                            ResourceHeapTier: D3D12_RESOURCE_HEAP_TIER::from(caps.resource_heap_tier),
                            ..Default::default()
                        };
                        Ok(())
                    })
                }
                D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT| {
                        data.MaxGPUVirtualAddressBitsPerResource = caps.gpu_va_bits_per_resource;
                        data.MaxGPUVirtualAddressBitsPerProcess = caps.gpu_va_bits_per_process;
                        Ok(())
                    })
                }
                D3D12_FEATURE_D3D12_OPTIONS16 => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_D3D12_OPTIONS16| {
                        data.DynamicDepthBiasSupported = false.into();
                        data.GPUUploadHeapSupported = caps.l1_memory_fully_cpu_accessible.into();
                        Ok(())
                    })
                }
                D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT => {
                    exchange(data, size, |data: &mut D3D12_FEATURE_DATA_TIGHT_ALIGNMENT| {
                        data.SupportTier = D3D12_TIGHT_ALIGNMENT_TIER::from(caps.tight_alignment_tier);
                        Ok(())
                    })
                }
                other => {
                    Err(Refusal::not_implemented(format!("CheckFeatureSupport of D3D12_FEATURE {other}")))
                }
            }
        }
    }
}

fn check_node(index: u32) -> Result<(), Refusal> {
    if index != 0 {
        return Err(Refusal::invalid(format!("NodeIndex {index} names no node: the device has one")));
    }
    Ok(())
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
