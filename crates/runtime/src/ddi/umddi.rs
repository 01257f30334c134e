//! Numbers and structures of d3d12umddi.h, the header of D3D12's drivers, with the names and the layout that the
//! documents of tight alignment and Recreate-at-GPUVA define.
#![allow(
    non_camel_case_types,
    non_snake_case,
    clippy::upper_case_acronyms,
    reason = "the names are those of d3d12umddi.h"
)]

use std::ffi::c_void;

use heapwright_d3d12::*;

use super::GpuVirtualAddressRange;

/// Flags of a resource.
pub(crate) type D3D12DDI_RESOURCE_FLAGS_0003 = u32;

/// No flags.
pub(crate) const D3D12DDI_RESOURCE_FLAG_0003_NONE: D3D12DDI_RESOURCE_FLAGS_0003 = 0;

/// The driver should align the resource tightly. Set only for drivers that report
/// [`D3D12DDICAPS_TYPE_TIGHT_ALIGNMENT_TIER_0111`].
pub(crate) const D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT: D3D12DDI_RESOURCE_FLAGS_0003 = 0x8000;

/// Flags of a heap.
pub(crate) type D3D12DDI_HEAP_FLAGS = u32;

/// No flags.
pub(crate) const D3D12DDI_HEAP_FLAG_NONE: D3D12DDI_HEAP_FLAGS = 0;

/// The heap was created for a committed resource. Set from DDI 0115 on.
pub(crate) const D3D12DDI_HEAP_FLAG_0115_IMPLICIT: D3D12DDI_HEAP_FLAGS = 0x80;

/// The cap that the runtime asks a driver for.
pub(crate) type D3D12DDICAPS_TYPE = i32;

/// Asks for a [`D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111`], of drivers since DDI 0111.
pub(crate) const D3D12DDICAPS_TYPE_TIGHT_ALIGNMENT_TIER_0111: D3D12DDICAPS_TYPE = 1089;

/// The driver's support of tight alignment.
pub(crate) type D3D12DDI_TIGHT_ALIGNMENT_TIER = i32;

/// The driver does not know [`D3D12DDI_RESOURCE_FLAG_0111_USE_TIGHT_ALIGNMENT`].
pub(crate) const D3D12DDI_TIGHT_ALIGNMENT_TIER_NOT_SUPPORTED: D3D12DDI_TIGHT_ALIGNMENT_TIER = 0;

/// The driver aligns buffers to at most 256 bytes.
pub(crate) const D3D12DDI_TIGHT_ALIGNMENT_TIER_1: D3D12DDI_TIGHT_ALIGNMENT_TIER = 1;

/// The answer to [`D3D12DDICAPS_TYPE_TIGHT_ALIGNMENT_TIER_0111`].
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111 {
    pub(crate) SupportTier: D3D12DDI_TIGHT_ALIGNMENT_TIER,
}

/// A GPU virtual address. In [`D3D12DDIARG_CREATERESOURCE_0109`], 0 lets the driver choose.
pub(crate) type D3D12DDI_GPU_VIRTUAL_ADDRESS = u64;

/// A range of GPU virtual addresses: `StartAddress` and `SizeInBytes`.
pub(crate) type D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE = GpuVirtualAddressRange;

/// `D3D12DDIARG_BUFFER_PLACEMENT`: the heap that a buffer's address is in, and the offset.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct D3D12DDIARG_BUFFER_PLACEMENT {
    pub(crate) hResource: *mut c_void,
    pub(crate) Offset: u64,
}

/// `D3D12DDI_MIP_REGION_0075`: the region of a texel of a sampler feedback map.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct D3D12DDI_MIP_REGION_0075 {
    pub(crate) Width: u32,
    pub(crate) Height: u32,
    pub(crate) Depth: u32,
}

/// The description of a resource: that of DDI 0088, and the address of DDI 0109.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct D3D12DDIARG_CREATERESOURCE_0109 {
    pub(crate) ReuseBufferGPUVA: D3D12DDIARG_BUFFER_PLACEMENT,
    pub(crate) ResourceType: i32,
    pub(crate) Width: u64,
    pub(crate) Height: u32,
    pub(crate) DepthOrArraySize: u16,
    pub(crate) MipLevels: u16,
    pub(crate) Format: DXGI_FORMAT,
    pub(crate) SampleDesc: DXGI_SAMPLE_DESC,
    pub(crate) Layout: i32,
    pub(crate) Flags: D3D12DDI_RESOURCE_FLAGS_0003,
    pub(crate) InitialBarrierLayout: i32,
    pub(crate) pRowMajorLayout: *const c_void,
    pub(crate) SamplerFeedbackMipRegion: D3D12DDI_MIP_REGION_0075,
    pub(crate) NumCastableFormats: u32,
    pub(crate) pCastableFormats: *const DXGI_FORMAT,
    pub(crate) CreateAtVirtualAddress: D3D12DDI_GPU_VIRTUAL_ADDRESS,
}

/// The arguments of device creation: those of DDI 0003, and the ranges to reserve of DDI 0109. Of the handles and
/// callbacks, which a driver in Rust does not need, only the space is here.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct D3D12DDIARG_CREATEDEVICE_0109 {
    pub(crate) hRTDevice: *mut c_void,
    pub(crate) Interface: u32,
    pub(crate) Version: u32,
    pub(crate) pKTCallbacks: *const c_void,
    pub(crate) hDrvDevice: *mut c_void,
    pub(crate) p12UMCallbacks: *const c_void,
    pub(crate) Flags: u32,
    pub(crate) pReserveRanges: *const D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE,
    pub(crate) NumReserveRanges: u32,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// Offsets that follow from the documents' order of members, by the rules of C on 64-bit processors.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn structures_have_the_layout_of_c() {
        type Resource = D3D12DDIARG_CREATERESOURCE_0109;
        let resource = [
            (offset_of!(Resource, ResourceType), 16),
            (offset_of!(Resource, Width), 24),
            (offset_of!(Resource, Height), 32),
            (offset_of!(Resource, DepthOrArraySize), 36),
            (offset_of!(Resource, MipLevels), 38),
            (offset_of!(Resource, Format), 40),
            (offset_of!(Resource, SampleDesc), 44),
            (offset_of!(Resource, Layout), 52),
            (offset_of!(Resource, Flags), 56),
            (offset_of!(Resource, InitialBarrierLayout), 60),
            (offset_of!(Resource, pRowMajorLayout), 64),
            (offset_of!(Resource, SamplerFeedbackMipRegion), 72),
            (offset_of!(Resource, NumCastableFormats), 84),
            (offset_of!(Resource, pCastableFormats), 88),
            (offset_of!(Resource, CreateAtVirtualAddress), 96),
            (size_of::<Resource>(), 104),
        ];
        type Device = D3D12DDIARG_CREATEDEVICE_0109;
        let device = [
            (offset_of!(Device, Interface), 8),
            (offset_of!(Device, Version), 12),
            (offset_of!(Device, pKTCallbacks), 16),
            (offset_of!(Device, hDrvDevice), 24),
            (offset_of!(Device, p12UMCallbacks), 32),
            (offset_of!(Device, Flags), 40),
            (offset_of!(Device, pReserveRanges), 48),
            (offset_of!(Device, NumReserveRanges), 56),
            (size_of::<Device>(), 64),
        ];
        let others = [
            (size_of::<D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE>(), 16),
            (offset_of!(D3D12DDI_GPU_VIRTUAL_ADDRESS_RANGE, size), 8),
            (size_of::<D3D12DDI_TIGHT_ALIGNMENT_TIER_DATA_0111>(), 4),
        ];
        for (found, expected) in resource.into_iter().chain(device).chain(others) {
            assert_eq!(found, expected);
        }
    }
}
