//! The capabilities of a device, as plain values.

use std::fmt;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::generations::NUMBERED_DEVICES;
#[cfg(feature = "preview")]
use heapwright_d3d12::preview::{D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT, D3D12_FEATURE_GUID_TEXTURE_LAYOUT};
use heapwright_d3d12::sdk_619::{D3D12_FEATURE_D3D12_OPTIONS22, D3D12_FEATURE_DATA_D3D12_OPTIONS22};
use heapwright_d3d12::*;
use windows_core::Interface;

use crate::desc::LayoutGuid;
use crate::{Error, HeapType, SegmentGroup, buffer_desc};

/// Committed resources are aligned to VidMm's pages, even with tight alignment.
pub(crate) const COMMITTED_MINIMUM: Alignment =
    match Alignment::new(D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("4 KiB is a power of two"),
    };

/// The relation of the GPU's memory to the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// The GPU has memory of its own beside system memory.
    Discrete,
    /// CPU and GPU share one memory. The GPU does not snoop the CPU's caches.
    Uma,
    /// CPU and GPU share one memory, coherent with the CPU's caches.
    CacheCoherentUma,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Discrete => "discrete",
            Self::Uma => "UMA",
            Self::CacheCoherentUma => "cache-coherent UMA",
        })
    }
}

/// How a device treats a non-zero `D3D12_RESOURCE_DESC::Alignment` combined with
/// `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT`.
///
/// The rule changed with the Agility SDK 1.619.4. A device does not report which rule it follows, and trying it makes
/// the debug layer report an error. Neither rule affects where resources are placed: always at a multiple of the larger
/// of the requested alignment and the one that the device reports. Applications that know their SDK configure the rule
/// in [`ResourceAllocatorDesc::alignment_beside_tight`](crate::ResourceAllocatorDesc::alignment_beside_tight).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum AlignmentWithTight {
    /// The combination is E_INVALIDARG, as Microsoft's tight alignment specification has it. Assuming this rule is
    /// correct on every SDK: no alignment is passed to the device, and the resource is still placed at the requested
    /// alignment.
    #[default]
    Invalid,
    /// The alignment is a minimum: a power of two, from 8 bytes up to the largest alignment of the kind of resource,
    /// that the driver may raise. Windows accepts it and reports the alignment that it reports without it.
    Floor,
}

/// The capabilities of a device that concern memory.
///
/// The device is queried once. A feature that the device does not know counts as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCaps {
    /// The relation of the GPU's memory to the CPU's.
    pub architecture: Architecture,
    /// `D3D12_RESOURCE_HEAP_TIER`. On tier 1, buffers and textures are in separate heaps.
    pub resource_heap_tier: u8,
    /// `D3D12_TILED_RESOURCES_TIER`; 0 is none. Reserved resources are in the crate `heapwright-tiles`.
    pub tiled_resources_tier: u8,
    /// `D3D12_TIGHT_ALIGNMENT_TIER`: 0 or 1.
    pub tight_alignment_tier: u8,
    /// How the device treats an explicit alignment combined with the tight alignment flag. Configured, not queried.
    pub(crate) alignment_beside_tight: AlignmentWithTight,
    /// Alignment of a small placed buffer, in bytes; the tight alignment where the device supports it.
    pub buffer_alignment: Alignment,
    /// `MSAA64KBAlignedTextureSupported`: small multisampled textures may be aligned to 64 KiB instead of 4 MiB.
    pub small_multisampled_textures: bool,
    /// `GPUUploadHeapSupported`.
    pub gpu_upload_heaps: bool,
    /// Heaps of type CUSTOM: every GPU has them, a compute-only device only with `ComputeOnlyCustomHeapSupported`.
    pub custom_heaps: bool,
    /// `EnhancedBarriersSupported`: resources may be created in a layout.
    pub enhanced_barriers: bool,
    /// `RelaxedFormatCastingSupported`: resources may have castable formats.
    pub relaxed_format_casting: bool,
    /// `UnalignedBlockTexturesSupported`: block-compressed textures need not have whole blocks.
    pub(crate) unaligned_block_textures: bool,
    /// `CreateByteOffsetViewsSupported`: views of buffers may begin at bytes instead of whole elements. Parts of
    /// buffers are then aligned to what such views need, at most 16 bytes.
    pub byte_offset_views: bool,
    /// `D3D12_GUID_TEXTURE_LAYOUT_TIER` of previews: 0 or 1.
    #[cfg(feature = "preview")]
    pub layout_guid_tier: u8,
    /// The largest resource, in bits of GPU virtual address.
    pub gpu_va_bits_per_resource: u32,
    /// The GPU virtual address space of a process, in bits.
    pub gpu_va_bits_per_process: u32,
    /// Number of GPUs that are linked to one adapter. Node masks use bits 0 to `node_count - 1`. 1 for almost every
    /// device.
    pub node_count: u32,
    /// The newest numbered `ID3D12Device` interface that the device supports: 0 for the first, at most 14.
    pub interface_version: u32,
}

impl DeviceCaps {
    /// Queries a device.
    ///
    /// # Errors
    ///
    /// Returns an error if the device does not support the queries that every device must support (ARCHITECTURE and
    /// OPTIONS).
    pub fn query(device: &ID3D12Device) -> Result<Self, Error> {
        let mut architecture = D3D12_FEATURE_DATA_ARCHITECTURE::default();
        require(device, D3D12_FEATURE_ARCHITECTURE, &mut architecture)?;
        let mut options = D3D12_FEATURE_DATA_D3D12_OPTIONS::default();
        require(device, D3D12_FEATURE_D3D12_OPTIONS, &mut options)?;
        let mut addresses = D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT {
            MaxGPUVirtualAddressBitsPerResource: options.MaxGPUVirtualAddressBitsPerResource,
            MaxGPUVirtualAddressBitsPerProcess: options.MaxGPUVirtualAddressBitsPerResource,
        };
        ask(device, D3D12_FEATURE_GPU_VIRTUAL_ADDRESS_SUPPORT, &mut addresses);
        let mut options4 = D3D12_FEATURE_DATA_D3D12_OPTIONS4::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS4, &mut options4);
        let mut options16 = D3D12_FEATURE_DATA_D3D12_OPTIONS16::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS16, &mut options16);
        let mut options8 = D3D12_FEATURE_DATA_D3D12_OPTIONS8::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS8, &mut options8);
        let mut options12 = D3D12_FEATURE_DATA_D3D12_OPTIONS12::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS12, &mut options12);
        let mut options19 = D3D12_FEATURE_DATA_D3D12_OPTIONS19::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS19, &mut options19);
        let mut options22 = D3D12_FEATURE_DATA_D3D12_OPTIONS22::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS22, &mut options22);
        let mut tight = D3D12_FEATURE_DATA_TIGHT_ALIGNMENT::default();
        ask(device, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, &mut tight);

        let mut caps = Self {
            architecture: match (architecture.UMA.as_bool(), architecture.CacheCoherentUMA.as_bool()) {
                (false, _) => Architecture::Discrete,
                (true, false) => Architecture::Uma,
                (true, true) => Architecture::CacheCoherentUma,
            },
            resource_heap_tier: tier(options.ResourceHeapTier),
            tiled_resources_tier: tier(options.TiledResourcesTier),
            tight_alignment_tier: tier(tight.SupportTier),
            alignment_beside_tight: AlignmentWithTight::Invalid,
            buffer_alignment: Alignment::ONE,
            small_multisampled_textures: options4.MSAA64KBAlignedTextureSupported.as_bool(),
            gpu_upload_heaps: options16.GPUUploadHeapSupported.as_bool(),
            custom_heaps: !is_compute_only(device) || options19.ComputeOnlyCustomHeapSupported.as_bool(),
            enhanced_barriers: options12.EnhancedBarriersSupported.as_bool(),
            relaxed_format_casting: options12.RelaxedFormatCastingSupported.as_bool(),
            unaligned_block_textures: options8.UnalignedBlockTexturesSupported.as_bool(),
            byte_offset_views: options22.CreateByteOffsetViewsSupported.as_bool(),
            #[cfg(feature = "preview")]
            layout_guid_tier: layout_guid_tier(device),
            gpu_va_bits_per_resource: address_bits(addresses.MaxGPUVirtualAddressBitsPerResource),
            gpu_va_bits_per_process: address_bits(addresses.MaxGPUVirtualAddressBitsPerProcess),
            // SAFETY: the device is a live COM object.
            node_count: unsafe { device.GetNodeCount() }.max(1),
            interface_version: interface_version(device),
        };
        let small = caps.with_tight_alignment(&buffer_desc(ByteSize::new(1)));
        caps.buffer_alignment = allocation_info(device, &small)
            .ok_or_else(|| Error::device("ID3D12Device::GetResourceAllocationInfo", E_INVALIDARG))?
            .1;
        Ok(caps)
    }

    /// Returns the size of the largest resource that the device can address.
    #[must_use]
    #[inline]
    pub fn max_resource_size(&self) -> ByteSize {
        ByteSize::new(1_u64.checked_shl(self.gpu_va_bits_per_resource).unwrap_or(u64::MAX))
    }

    /// Returns the segment group that heaps of a type are charged to. On UMA all memory is local.
    #[must_use]
    pub fn segment_group(&self, heap_type: HeapType) -> SegmentGroup {
        match (self.architecture, heap_type) {
            (Architecture::Discrete, HeapType::Upload | HeapType::Readback) => SegmentGroup::NonLocal,
            _ => SegmentGroup::Local,
        }
    }

    /// Returns the description with `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT` added where that is legal: the device has
    /// the tier, no alignment is requested, the layout is not a 64 KiB one, and the resource does not cross adapters.
    pub(crate) fn with_tight_alignment(&self, desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
        let is_legal = self.tight_alignment_tier >= 1
            && desc.Alignment == 0
            && !has_fixed_alignment(desc.Layout)
            && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0;
        let flag = if is_legal { D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT } else { D3D12_RESOURCE_FLAG_NONE };
        D3D12_RESOURCE_DESC { Flags: desc.Flags | flag, ..*desc }
    }
}

/// Returns the tier of layout GUIDs.
#[cfg(feature = "preview")]
fn layout_guid_tier(device: &ID3D12Device) -> u8 {
    let mut data = D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT::default();
    ask(device, D3D12_FEATURE_GUID_TEXTURE_LAYOUT, &mut data);
    tier(data.GuidTextureLayoutTier)
}

/// Returns whether resources of a layout cannot be tightly aligned: those of 64 KiB tiles, and those that a GUID names.
pub(crate) fn has_fixed_alignment(layout: D3D12_TEXTURE_LAYOUT) -> bool {
    [
        D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE,
        D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE,
        LayoutGuid::LAYOUT,
    ]
    .contains(&layout)
}

/// Returns size and alignment of a placed resource, or `None` if the device finds the description invalid.
pub(crate) fn allocation_info(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
) -> Option<(ByteSize, Alignment)> {
    // SAFETY: the device is a live COM object, and the description outlives the call.
    let info = unsafe { device.GetResourceAllocationInfo(0, std::slice::from_ref(desc)) };
    read_allocation_info(info)
}

/// Returns size and alignment, or `None` for the values that a device returns for an invalid description.
pub(crate) fn read_allocation_info(info: D3D12_RESOURCE_ALLOCATION_INFO) -> Option<(ByteSize, Alignment)> {
    if info.SizeInBytes == u64::MAX || info.SizeInBytes == 0 {
        return None;
    }
    Some((ByteSize::new(info.SizeInBytes), Alignment::new(info.Alignment)?))
}

/// Returns size and alignment of an existing committed resource with the description `desc`, or `None` if the device
/// does not know them.
///
/// The alignment that `GetDesc` returns is the actual one, which may be illegal in a request; so none is requested. The
/// device is asked about a placed resource. A resource with a heap of its own takes whole pages of 4 KiB.
pub(crate) fn committed_info(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
) -> Option<(ByteSize, Alignment)> {
    let (size, alignment) = allocation_info(device, &D3D12_RESOURCE_DESC { Alignment: 0, ..*desc })?;
    let alignment = alignment.max(COMMITTED_MINIMUM);
    Some((size.align_up(alignment)?, alignment))
}

/// Calls `CheckFeatureSupport` with a feature's structure.
pub(crate) fn check_feature<T>(
    device: &ID3D12Device,
    feature: D3D12_FEATURE,
    data: &mut T,
) -> windows_core::HRESULT {
    let size = u32::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the device is a live COM object; the data is the feature's structure, writable, with its size.
    unsafe { device.CheckFeatureSupport(feature, std::ptr::from_mut(data).cast(), size) }
}

/// Fills `data` with a feature that every device must support.
fn require<T>(device: &ID3D12Device, feature: D3D12_FEATURE, data: &mut T) -> Result<(), Error> {
    let hresult = check_feature(device, feature, data);
    if hresult.is_err() {
        return Err(Error::device("ID3D12Device::CheckFeatureSupport", hresult));
    }
    Ok(())
}

/// Fills `data`, or leaves it unchanged if the device does not know the feature.
pub(crate) fn ask<T: Copy>(device: &ID3D12Device, feature: D3D12_FEATURE, data: &mut T) {
    let before = *data;
    if check_feature(device, feature, data).is_err() {
        *data = before;
    }
}

/// Returns whether the device has a Core feature level and none of GPUs.
fn is_compute_only(device: &ID3D12Device) -> bool {
    let levels = [D3D_FEATURE_LEVEL_1_0_CORE, D3D_FEATURE_LEVEL_11_0];
    let mut data = D3D12_FEATURE_DATA_FEATURE_LEVELS {
        NumFeatureLevels: 2,
        pFeatureLevelsRequested: levels.as_ptr(),
        MaxSupportedFeatureLevel: D3D_FEATURE_LEVEL_11_0,
    };
    ask(device, D3D12_FEATURE_FEATURE_LEVELS, &mut data);
    data.MaxSupportedFeatureLevel == D3D_FEATURE_LEVEL_1_0_CORE
}

/// Zero is not a valid number of bits. With 63 bits instead, the device itself decides which sizes it refuses.
fn address_bits(answer: u32) -> u32 {
    if answer == 0 { 63 } else { answer }
}

fn tier(tier: i32) -> u8 {
    u8::try_from(tier).unwrap_or(0)
}

/// Returns the number of the newest device interface. Each one is queried, because an implementation may lack one and
/// have a later one.
fn interface_version(device: &ID3D12Device) -> u32 {
    let answers = NUMBERED_DEVICES.iter().rposition(|iid| {
        let mut interface = std::ptr::null_mut();
        // SAFETY: the device is a live COM object, the GUID is readable and the pointer writable.
        let result = unsafe { device.query(iid, &mut interface) };
        if result.is_err() || interface.is_null() {
            return false;
        }
        // SAFETY: a successful query hands out an interface pointer with a reference that is ours to release.
        drop(unsafe { windows_core::IUnknown::from_raw(interface) });
        true
    });
    answers.and_then(|index| u32::try_from(index + 1).ok()).unwrap_or(0)
}
