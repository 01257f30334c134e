//! What a device supports, as plain values.

use std::fmt;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::generations::NUMBERED_DEVICES;
use heapwright_d3d12::*;
use windows_core::Interface;

use crate::buffer_desc;
use crate::{Error, HeapType, SegmentGroup};

/// Committed resources are aligned to VidMm's pages, with tight alignment too.
pub(crate) const COMMITTED_MINIMUM: Alignment =
    match Alignment::new(D3D12_SMALL_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("4 KiB is a power of two"),
    };

/// How the GPU's memory relates to the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// Memory of its own beside system memory.
    Discrete,
    /// One memory for both; the GPU does not snoop the CPU's caches.
    Uma,
    /// One memory for both, coherent with the CPU's caches.
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

/// What a device makes of a non-zero `D3D12_RESOURCE_DESC::Alignment` beside `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT`.
///
/// The rule changed with the Agility SDK 1.619.4. A device does not say which one it follows, and trying is an error message of
/// its debug layer; so who knows the SDK says it
/// ([`ResourceAllocatorDesc::alignment_beside_tight`](crate::ResourceAllocatorDesc::alignment_beside_tight)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum AlignmentBesideTight {
    /// It is E_INVALIDARG, as document TIGHT has it. What assumes this is right on every SDK: the device is handed none, and
    /// the resource is placed at the alignment that was asked for all the same.
    #[default]
    Invalid,
    /// It is a floor: a power of two up to the largest of its kind of resource, which the driver may raise.
    Floor,
}

/// What a device supports of that which matters to memory.
///
/// A device is asked once; a feature that it does not know counts as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCaps {
    /// How the GPU's memory relates to the CPU's.
    pub architecture: Architecture,
    /// `D3D12_RESOURCE_HEAP_TIER`: 1 keeps buffers and textures in separate heaps.
    pub resource_heap_tier: u8,
    /// `D3D12_TIGHT_ALIGNMENT_TIER` (document TIGHT): 0 or 1.
    pub tight_alignment_tier: u8,
    /// What becomes of an alignment that is asked for beside the tight alignment flag: assumed, not asked.
    pub(crate) alignment_beside_tight: AlignmentBesideTight,
    /// Alignment of a small placed buffer, with tight alignment where there is such a thing.
    pub buffer_alignment: Alignment,
    /// `GPUUploadHeapSupported` (document UPLOAD).
    pub gpu_upload_heaps: bool,
    /// `EnhancedBarriersSupported`: resources may begin in a layout.
    pub enhanced_barriers: bool,
    /// `RelaxedFormatCastingSupported`: resources may have castable formats.
    pub relaxed_format_casting: bool,
    /// Largest resource, in bits of GPU virtual address.
    pub gpu_va_bits_per_resource: u32,
    /// GPU virtual address space of a process, in bits.
    pub gpu_va_bits_per_process: u32,
    /// How many GPUs are linked to one adapter; bits 0 to this are the node masks. 1 for almost every device.
    pub node_count: u32,
    /// The newest `ID3D12Device` that the device answers to, 0 for the first, at most 14.
    pub interface_version: u32,
}

impl DeviceCaps {
    /// Asks a device.
    ///
    /// # Errors
    ///
    /// When the device does not answer to what every device knows (ARCHITECTURE and OPTIONS).
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
        let mut options16 = D3D12_FEATURE_DATA_D3D12_OPTIONS16::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS16, &mut options16);
        let mut options12 = D3D12_FEATURE_DATA_D3D12_OPTIONS12::default();
        ask(device, D3D12_FEATURE_D3D12_OPTIONS12, &mut options12);
        let mut tight = D3D12_FEATURE_DATA_TIGHT_ALIGNMENT::default();
        ask(device, D3D12_FEATURE_D3D12_TIGHT_ALIGNMENT, &mut tight);

        let mut caps = Self {
            architecture: match (architecture.UMA.as_bool(), architecture.CacheCoherentUMA.as_bool()) {
                (false, _) => Architecture::Discrete,
                (true, false) => Architecture::Uma,
                (true, true) => Architecture::CacheCoherentUma,
            },
            resource_heap_tier: tier(options.ResourceHeapTier),
            tight_alignment_tier: tier(tight.SupportTier),
            alignment_beside_tight: AlignmentBesideTight::Invalid,
            buffer_alignment: Alignment::ONE,
            gpu_upload_heaps: options16.GPUUploadHeapSupported.as_bool(),
            enhanced_barriers: options12.EnhancedBarriersSupported.as_bool(),
            relaxed_format_casting: options12.RelaxedFormatCastingSupported.as_bool(),
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

    /// The largest resource that the device can address.
    #[must_use]
    #[inline]
    pub fn max_resource_size(&self) -> ByteSize {
        ByteSize::new(1_u64.checked_shl(self.gpu_va_bits_per_resource).unwrap_or(u64::MAX))
    }

    /// The segment group that heaps of a type are charged to: on UMA all memory is local.
    #[must_use]
    pub fn segment_group(&self, heap_type: HeapType) -> SegmentGroup {
        match (self.architecture, heap_type) {
            (Architecture::Discrete, HeapType::Upload | HeapType::Readback) => SegmentGroup::NonLocal,
            _ => SegmentGroup::Local,
        }
    }

    /// The description with `D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT` added where document TIGHT allows it: the device
    /// has the tier, no alignment is asked for, the layout is not a 64 KiB one, and the resource does not cross adapters.
    pub(crate) fn with_tight_alignment(&self, desc: &D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
        let has_fixed_layout =
            [D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE]
                .contains(&desc.Layout);
        let is_legal = self.tight_alignment_tier >= 1
            && desc.Alignment == 0
            && !has_fixed_layout
            && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0;
        let flag = if is_legal { D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT } else { D3D12_RESOURCE_FLAG_NONE };
        D3D12_RESOURCE_DESC { Flags: desc.Flags | flag, ..*desc }
    }
}

/// Bytes and alignment of a placed resource, or `None` where the device finds the description invalid.
pub(crate) fn allocation_info(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
) -> Option<(ByteSize, Alignment)> {
    // SAFETY: the device is a live COM object, and the description outlives the call.
    let info = unsafe { device.GetResourceAllocationInfo(0, std::slice::from_ref(desc)) };
    read_allocation_info(info)
}

/// Bytes and alignment; `None` for what a device answers to an invalid description.
pub(crate) fn read_allocation_info(info: D3D12_RESOURCE_ALLOCATION_INFO) -> Option<(ByteSize, Alignment)> {
    if info.SizeInBytes == u64::MAX || info.SizeInBytes == 0 {
        return None;
    }
    Some((ByteSize::new(info.SizeInBytes), Alignment::new(info.Alignment)?))
}

/// Bytes and alignment of a committed resource that says that it is one of `desc`, or `None` where the device does not know.
///
/// What `GetDesc` says of the alignment is what was found, not what may be asked for. The device is asked about a placed resource; what
/// has a heap of its own has whole pages of 4 KiB (document TIGHT).
pub(crate) fn committed_info(
    device: &ID3D12Device,
    desc: &D3D12_RESOURCE_DESC,
) -> Option<(ByteSize, Alignment)> {
    let (size, alignment) = allocation_info(device, &D3D12_RESOURCE_DESC { Alignment: 0, ..*desc })?;
    let alignment = alignment.max(COMMITTED_MINIMUM);
    Some((size.align_up(alignment)?, alignment))
}

fn check<T>(device: &ID3D12Device, feature: D3D12_FEATURE, data: &mut T) -> windows_core::HRESULT {
    let size = u32::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the device is a live COM object; the data is the feature's structure, writable, with its size.
    unsafe { device.CheckFeatureSupport(feature, std::ptr::from_mut(data).cast(), size) }
}

/// Fills `data`, which every device must be able to.
fn require<T>(device: &ID3D12Device, feature: D3D12_FEATURE, data: &mut T) -> Result<(), Error> {
    let hresult = check(device, feature, data);
    if hresult.is_err() {
        return Err(Error::device("ID3D12Device::CheckFeatureSupport", hresult));
    }
    Ok(())
}

/// Fills `data`, or leaves it as it is where the device does not know the feature.
fn ask<T: Copy>(device: &ID3D12Device, feature: D3D12_FEATURE, data: &mut T) {
    let before = *data;
    if check(device, feature, data).is_err() {
        *data = before;
    }
}

/// Zero is no answer: then all that has a size is for the device to refuse.
fn address_bits(answer: u32) -> u32 {
    if answer == 0 { 63 } else { answer }
}

fn tier(tier: i32) -> u8 {
    u8::try_from(tier).unwrap_or(0)
}

/// The newest numbered device interface. Each is asked for; an implementation may lack one and have a later one.
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
