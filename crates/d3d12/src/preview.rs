//! What previews of the Agility SDK 1.721 add for memory: texture layouts by GUID, and a heap flag for tools.
//!
//! The declarations follow d3d12.idl of DirectX-Headers, commit 92f71aaee1c7 (D3D12_PREVIEW_SDK_VERSION 721); the
//! layouts are documented in DirectX-Specs, *D3D12 GUID Texture Layout*. Previews change: what a later one declares
//! differently is changed here without notice, and what becomes retail moves to a module of its SDK.
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    clippy::too_many_arguments,
    reason = "names and methods are D3D12's, and what windows-interface expands to is its own"
)]

use std::ffi::c_void;

use windows_core::{BOOL, GUID, HRESULT, IUnknown, IUnknown_Vtbl, interface};

use crate::*;

/// The flag of heaps whose memory a tool tracks. The headers declare it without a word; nothing else is public.
pub const D3D12_HEAP_FLAG_TOOLS_ENABLE_MEMORY_TRACKING: D3D12_HEAP_FLAGS = 0x4000;

/// The layout that [`D3D12_RESOURCE_DESC2::LayoutGuid`] names.
pub const D3D12_TEXTURE_LAYOUT_GUID: D3D12_TEXTURE_LAYOUT = 4;

/// The layout GUID of a resource whose `Layout` is not GUID.
pub const D3D12_GUID_TEXTURE_LAYOUT_NULL: GUID = GUID::zeroed();
/// Rows at multiples of 256 bytes, planes at multiples of 4 KiB, for textures that are rendered to or processed as
/// video.
pub const D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_WITH_RENDER_AND_VPBLT_CAPABILITY: GUID =
    GUID::from_u128(0x451b3cc7_91ce_49fa_ba67_0dca719ccbb8);

/// The height of each plane of a row-major layout is a multiple of this many rows.
pub const D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_HEIGHT_ALIGNMENT: u32 = 4;
/// Alignment of rows in a row-major layout, in bytes.
pub const D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_PITCH_ALIGNMENT: u32 = 256;
/// Alignment of planes in a row-major layout, in bytes.
pub const D3D12_GUID_TEXTURE_LAYOUT_ROW_MAJOR_PLANE_ALIGNMENT: u32 = 4096;

/// The feature of [`D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT`].
pub const D3D12_FEATURE_GUID_TEXTURE_LAYOUT: D3D12_FEATURE = 55;

/// Support of texture layouts by GUID.
pub type D3D12_GUID_TEXTURE_LAYOUT_TIER = i32;
/// Resources have the layouts of the enumeration alone.
pub const D3D12_GUID_TEXTURE_LAYOUT_TIER_NOT_SUPPORTED: D3D12_GUID_TEXTURE_LAYOUT_TIER = 0;
/// Drivers report which GUIDs they support, public and their own.
pub const D3D12_GUID_TEXTURE_LAYOUT_TIER_1: D3D12_GUID_TEXTURE_LAYOUT_TIER = 1;

/// The fourth generation of resource descriptions: `D3D12_RESOURCE_DESC1` with a layout GUID.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_RESOURCE_DESC2 {
    pub Dimension: D3D12_RESOURCE_DIMENSION,
    pub Alignment: u64,
    pub Width: u64,
    pub Height: u32,
    pub DepthOrArraySize: u16,
    pub MipLevels: u16,
    pub Format: DXGI_FORMAT,
    pub SampleDesc: DXGI_SAMPLE_DESC,
    pub Layout: D3D12_TEXTURE_LAYOUT,
    pub Flags: D3D12_RESOURCE_FLAGS,
    pub SamplerFeedbackMipRegion: D3D12_MIP_REGION,
    pub LayoutGuid: GUID,
}

/// Whether a device supports layout GUIDs, and the layout that a description names.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT {
    /// Null, or the description that the other members are about.
    pub pDesc: *const D3D12_RESOURCE_DESC2,
    pub Support1: D3D12_FORMAT_SUPPORT1,
    pub Support2: D3D12_FORMAT_SUPPORT2,
    pub GuidTextureLayoutTier: D3D12_GUID_TEXTURE_LAYOUT_TIER,
    pub GuidSupported: BOOL,
}

impl Default for D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT {
    fn default() -> Self {
        Self {
            pDesc: std::ptr::null(),
            Support1: D3D12_FORMAT_SUPPORT1_NONE,
            Support2: D3D12_FORMAT_SUPPORT2_NONE,
            GuidTextureLayoutTier: D3D12_GUID_TEXTURE_LAYOUT_TIER_NOT_SUPPORTED,
            GuidSupported: false.into(),
        }
    }
}

/// Flags of a filter. There are none yet.
pub type D3D12_TEXTURE_LAYOUT_FILTER_FLAGS = i32;
/// No flags.
pub const D3D12_TEXTURE_LAYOUT_FILTER_FLAG_NONE: D3D12_TEXTURE_LAYOUT_FILTER_FLAGS = 0;

/// A resource, and what its layout must support.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_TEXTURE_LAYOUT_FILTER {
    pub Desc: D3D12_RESOURCE_DESC2,
    pub Support1: D3D12_FORMAT_SUPPORT1,
    pub Support2: D3D12_FORMAT_SUPPORT2,
    pub Flags: D3D12_TEXTURE_LAYOUT_FILTER_FLAGS,
}

/// Where a subresource of a row-major texture lies within the resource.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO {
    pub Offset: u64,
    pub RowPitch: u32,
    pub HeightInRows: u32,
    pub SizeInBytes: u64,
}

/// The device interface of layout GUIDs. Results that D3D12 returns as structures are written to the first parameter,
/// which is also returned.
#[interface("24499bcb-4364-4c06-9007-a334f1748f18")]
pub unsafe trait ID3D12GuidTextureLayoutDevice: IUnknown {
    /// Counts the layouts that a resource may have. A null filter selects all.
    pub fn GetTextureLayoutCount(
        &self,
        filter: *const D3D12_TEXTURE_LAYOUT_FILTER,
        count: *mut u32,
    ) -> HRESULT;
    /// Returns the layouts that a resource may have, the fastest first.
    pub fn GetTextureLayouts(
        &self,
        filter: *const D3D12_TEXTURE_LAYOUT_FILTER,
        count: u32,
        guids: *mut GUID,
    ) -> HRESULT;
    /// `CreateCommittedResource3` with a layout GUID. Pointers to interfaces are null or live COM objects, here and
    /// below.
    pub fn CreateCommittedResource4(
        &self,
        properties: *const D3D12_HEAP_PROPERTIES,
        heap_flags: D3D12_HEAP_FLAGS,
        desc: *const D3D12_RESOURCE_DESC2,
        layout: D3D12_BARRIER_LAYOUT,
        clear_value: *const D3D12_CLEAR_VALUE,
        session: *mut c_void,
        format_count: u32,
        formats: *const DXGI_FORMAT,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> HRESULT;
    /// `CreatePlacedResource2` with a layout GUID.
    pub fn CreatePlacedResource3(
        &self,
        heap: *mut c_void,
        offset: u64,
        desc: *const D3D12_RESOURCE_DESC2,
        layout: D3D12_BARRIER_LAYOUT,
        clear_value: *const D3D12_CLEAR_VALUE,
        format_count: u32,
        formats: *const DXGI_FORMAT,
        riid: *const GUID,
        resource: *mut *mut c_void,
    ) -> HRESULT;
    /// `GetResourceAllocationInfo3` with layout GUIDs.
    pub fn GetResourceAllocationInfo4(
        &self,
        result: *mut D3D12_RESOURCE_ALLOCATION_INFO,
        visible_mask: u32,
        count: u32,
        descs: *const D3D12_RESOURCE_DESC2,
        format_counts: *const u32,
        formats: *const *const DXGI_FORMAT,
        infos: *mut D3D12_RESOURCE_ALLOCATION_INFO1,
    ) -> *mut D3D12_RESOURCE_ALLOCATION_INFO;
    /// `GetCopyableFootprints1` with a layout GUID.
    pub fn GetCopyableFootprints2(
        &self,
        desc: *const D3D12_RESOURCE_DESC2,
        first: u32,
        count: u32,
        base_offset: u64,
        layouts: *mut D3D12_PLACED_SUBRESOURCE_FOOTPRINT,
        row_counts: *mut u32,
        row_sizes: *mut u64,
        total: *mut u64,
    );
    /// Returns where the subresources of a row-major texture lie.
    pub fn GetRowMajorTextureLayoutInfo(
        &self,
        desc: *const D3D12_RESOURCE_DESC2,
        first: u32,
        count: u32,
        infos: *mut D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO,
    ) -> HRESULT;
}

/// The resource interface of layout GUIDs.
#[interface("4f9b2e01-3883-4973-80ca-59d2f45f25b5")]
pub unsafe trait ID3D12GuidTextureLayoutResource: IUnknown {
    /// Returns the description. It is also written to the parameter.
    pub fn GetDesc2(&self, result: *mut D3D12_RESOURCE_DESC2) -> *mut D3D12_RESOURCE_DESC2;
}

// SAFETY: devices are free-threaded (`threading`).
unsafe impl Send for ID3D12GuidTextureLayoutDevice {}
// SAFETY: as above.
unsafe impl Sync for ID3D12GuidTextureLayoutDevice {}
// SAFETY: resources are free-threaded (`threading`).
unsafe impl Send for ID3D12GuidTextureLayoutResource {}
// SAFETY: as above.
unsafe impl Sync for ID3D12GuidTextureLayoutResource {}

/// Converts a description of the third generation to the fourth.
#[must_use]
pub fn with_layout_guid(desc: &D3D12_RESOURCE_DESC1, layout_guid: GUID) -> D3D12_RESOURCE_DESC2 {
    D3D12_RESOURCE_DESC2 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: desc.SamplerFeedbackMipRegion,
        LayoutGuid: layout_guid,
    }
}

/// Converts a description of the fourth generation to the third, without its layout GUID.
#[must_use]
pub fn without_layout_guid(desc: &D3D12_RESOURCE_DESC2) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: desc.Dimension,
        Alignment: desc.Alignment,
        Width: desc.Width,
        Height: desc.Height,
        DepthOrArraySize: desc.DepthOrArraySize,
        MipLevels: desc.MipLevels,
        Format: desc.Format,
        SampleDesc: desc.SampleDesc,
        Layout: desc.Layout,
        Flags: desc.Flags,
        SamplerFeedbackMipRegion: desc.SamplerFeedbackMipRegion,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use windows_core::Interface;

    use super::*;

    /// Sizes and offsets on 64-bit systems, as the compilers of d3d12.h lay the structures out.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layout_matches_the_header() {
        type Desc = D3D12_RESOURCE_DESC2;
        // The third generation ends at 68 of 72 bytes; a GUID is aligned to 4.
        assert_eq!((size_of::<Desc>(), align_of::<Desc>()), (88, 8));
        assert_eq!(offset_of!(Desc, SamplerFeedbackMipRegion), 56);
        assert_eq!(
            offset_of!(Desc, SamplerFeedbackMipRegion),
            offset_of!(D3D12_RESOURCE_DESC1, SamplerFeedbackMipRegion)
        );
        assert_eq!(offset_of!(Desc, LayoutGuid), 68);
        type Feature = D3D12_FEATURE_DATA_GUID_TEXTURE_LAYOUT;
        assert_eq!((size_of::<Feature>(), offset_of!(Feature, GuidSupported)), (24, 20));
        type Filter = D3D12_TEXTURE_LAYOUT_FILTER;
        assert_eq!(
            (size_of::<Filter>(), offset_of!(Filter, Support1), offset_of!(Filter, Flags)),
            (104, 88, 96)
        );
        type Info = D3D12_ROW_MAJOR_TEXTURE_LAYOUT_INFO;
        assert_eq!((size_of::<Info>(), offset_of!(Info, SizeInBytes)), (24, 16));
    }

    #[test]
    fn the_methods_are_in_the_order_of_the_header() {
        type Device = ID3D12GuidTextureLayoutDevice_Vtbl;
        let (word, own) = (size_of::<usize>(), size_of::<IUnknown_Vtbl>());
        let offsets = [
            offset_of!(Device, GetTextureLayoutCount),
            offset_of!(Device, GetTextureLayouts),
            offset_of!(Device, CreateCommittedResource4),
            offset_of!(Device, CreatePlacedResource3),
            offset_of!(Device, GetResourceAllocationInfo4),
            offset_of!(Device, GetCopyableFootprints2),
            offset_of!(Device, GetRowMajorTextureLayoutInfo),
        ];
        let expected: Vec<usize> = (0..7).map(|index| own + index * word).collect();
        assert_eq!(offsets.to_vec(), expected);
        assert_eq!(size_of::<Device>(), own + 7 * word);
        assert_eq!(size_of::<ID3D12GuidTextureLayoutResource_Vtbl>(), own + word);
        assert_eq!(
            [ID3D12GuidTextureLayoutDevice::IID, ID3D12GuidTextureLayoutResource::IID],
            [
                GUID::from_u128(0x24499bcb_4364_4c06_9007_a334f1748f18),
                GUID::from_u128(0x4f9b2e01_3883_4973_80ca_59d2f45f25b5)
            ]
        );
    }

    #[test]
    fn descriptions_are_converted_without_loss() {
        let desc = D3D12_RESOURCE_DESC2 {
            Dimension: 1,
            Alignment: 2,
            Width: 3,
            Height: 4,
            DepthOrArraySize: 5,
            MipLevels: 6,
            Format: 7,
            SampleDesc: DXGI_SAMPLE_DESC { Count: 8, Quality: 9 },
            Layout: 10,
            Flags: 11,
            SamplerFeedbackMipRegion: D3D12_MIP_REGION { Width: 12, Height: 13, Depth: 14 },
            LayoutGuid: GUID::from_u128(15),
        };
        assert_eq!(with_layout_guid(&without_layout_guid(&desc), desc.LayoutGuid), desc);
    }
}
