//! Items of the Agility SDKs 1.618 and 1.619 that the metadata lacks: two features, byte-offset views and query heaps
//! with flags.
//!
//! The declarations follow d3d12.h of DirectX-Headers v1.619. The views are documented in DirectX-Specs, *D3D12 Revised
//! Create Views*, and query heaps in *D3D12 CPU Timeline Query Resolution*; `ID3D12Device15` is in [`trim`]. Remove
//! what the metadata includes.
#![expect(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    reason = "the names are D3D12's, and the members those of its other structures"
)]

use windows_core::BOOL;

use crate::*;

/// The feature of [`D3D12_FEATURE_DATA_BARRIER_LAYOUT`] (SDK 1.618).
pub const D3D12_FEATURE_BARRIER_LAYOUT: D3D12_FEATURE = 64;
/// The feature of [`D3D12_FEATURE_DATA_D3D12_OPTIONS22`] (SDK 1.619).
pub const D3D12_FEATURE_D3D12_OPTIONS22: D3D12_FEATURE = 65;

/// Whether command lists of a type support a layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_FEATURE_DATA_BARRIER_LAYOUT {
    pub CommandListType: D3D12_COMMAND_LIST_TYPE,
    pub Layout: D3D12_BARRIER_LAYOUT,
    pub Supported: BOOL,
}

/// Byte-offset views, and features of shaders.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_FEATURE_DATA_D3D12_OPTIONS22 {
    pub ShaderExecutionReorderingActuallyReorders: BOOL,
    pub CreateByteOffsetViewsSupported: BOOL,
    pub Max1DDispatchSize: u32,
    pub Max1DDispatchMeshSize: u32,
}

/// `ViewDimension` of [`D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET`].
pub const D3D12_SRV_DIMENSION_BUFFER_BYTE_OFFSET: D3D12_SRV_DIMENSION = 12;
/// `ViewDimension` of [`D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET`].
pub const D3D12_UAV_DIMENSION_BUFFER_BYTE_OFFSET: D3D12_UAV_DIMENSION = 9;

/// The mapping of components that changes none, a macro of the header.
pub const D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING: u32 = 0x1688;

/// A range of bytes of a buffer, for a shader resource view.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_BUFFER_SRV_BYTE_OFFSET {
    pub Offset: u64,
    /// Size in bytes; 0 selects all bytes from `Offset` on (SDK 1.619.4).
    pub Size: u64,
    pub StructureByteStride: u32,
    pub Flags: D3D12_BUFFER_SRV_FLAGS,
}

/// A range of bytes of a buffer, for an unordered access view.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct D3D12_BUFFER_UAV_BYTE_OFFSET {
    pub Offset: u64,
    /// Size in bytes; 0 selects all bytes from `Offset` on (SDK 1.619.4).
    pub Size: u64,
    pub StructureByteStride: u32,
    pub CounterOffsetInBytes: u64,
    pub Flags: D3D12_BUFFER_UAV_FLAGS,
}

/// `D3D12_SHADER_RESOURCE_VIEW_DESC` with the member `BufferByteOffset` of its union, which the metadata's declaration
/// lacks.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET {
    pub Format: DXGI_FORMAT,
    pub ViewDimension: D3D12_SRV_DIMENSION,
    pub Shader4ComponentMapping: u32,
    pub BufferByteOffset: D3D12_BUFFER_SRV_BYTE_OFFSET,
}

impl D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET {
    /// Describes a view of `range` with the default mapping of components.
    #[must_use]
    pub fn new(format: DXGI_FORMAT, range: D3D12_BUFFER_SRV_BYTE_OFFSET) -> Self {
        Self {
            Format: format,
            ViewDimension: D3D12_SRV_DIMENSION_BUFFER_BYTE_OFFSET,
            Shader4ComponentMapping: D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING,
            BufferByteOffset: range,
        }
    }

    /// Returns the pointer for `CreateShaderResourceView`.
    #[must_use]
    pub fn as_desc(&self) -> *const D3D12_SHADER_RESOURCE_VIEW_DESC {
        std::ptr::from_ref(self).cast()
    }
}

/// `D3D12_UNORDERED_ACCESS_VIEW_DESC` with the member `BufferByteOffset` of its union, which the metadata's declaration
/// lacks. It is 8 bytes larger than that declaration.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET {
    pub Format: DXGI_FORMAT,
    pub ViewDimension: D3D12_UAV_DIMENSION,
    pub BufferByteOffset: D3D12_BUFFER_UAV_BYTE_OFFSET,
}

impl D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET {
    /// Describes a view of `range`.
    #[must_use]
    pub fn new(format: DXGI_FORMAT, range: D3D12_BUFFER_UAV_BYTE_OFFSET) -> Self {
        Self {
            Format: format,
            ViewDimension: D3D12_UAV_DIMENSION_BUFFER_BYTE_OFFSET,
            BufferByteOffset: range,
        }
    }

    /// Returns the pointer for `CreateUnorderedAccessView`.
    #[must_use]
    pub fn as_desc(&self) -> *const D3D12_UNORDERED_ACCESS_VIEW_DESC {
        std::ptr::from_ref(self).cast()
    }
}

/// Flags of `CreateQueryHeap1`.
pub type D3D12_QUERY_HEAP_FLAGS = i32;
/// The queries are resolved by commands.
pub const D3D12_QUERY_HEAP_FLAG_NONE: D3D12_QUERY_HEAP_FLAGS = 0;
/// The queries are resolved by `ID3D12Device15::ResolveQueryData`, and not by commands.
pub const D3D12_QUERY_HEAP_FLAG_CPU_RESOLVE: D3D12_QUERY_HEAP_FLAGS = 1;

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use super::*;

    /// Sizes and offsets on 64-bit systems, as the compilers of d3d12.h lay the structures out.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layout_matches_the_header() {
        assert_eq!(size_of::<D3D12_FEATURE_DATA_BARRIER_LAYOUT>(), 12);
        assert_eq!(size_of::<D3D12_FEATURE_DATA_D3D12_OPTIONS22>(), 16);
        type Srv = D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET;
        assert_eq!((size_of::<Srv>(), align_of::<Srv>()), (40, 8));
        assert_eq!(size_of::<D3D12_SHADER_RESOURCE_VIEW_DESC>(), size_of::<Srv>());
        assert_eq!(offset_of!(Srv, BufferByteOffset), offset_of!(D3D12_SHADER_RESOURCE_VIEW_DESC, Anonymous));
        type Uav = D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET;
        assert_eq!((size_of::<Uav>(), align_of::<Uav>()), (48, 8));
        assert_eq!(
            offset_of!(Uav, BufferByteOffset),
            offset_of!(D3D12_UNORDERED_ACCESS_VIEW_DESC, Anonymous)
        );
        assert_eq!(offset_of!(D3D12_BUFFER_UAV_BYTE_OFFSET, CounterOffsetInBytes), 24);
        assert_eq!(offset_of!(D3D12_BUFFER_UAV_BYTE_OFFSET, Flags), 32);
    }
}
