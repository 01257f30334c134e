//! Descriptor heaps of one descriptor, and views in them.

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use windows_core::Interface;

use super::{done, returned};
use crate::answer::Answer;

pub(crate) fn create_descriptor_heap(
    device: &ID3D12Device,
    desc: &D3D12_DESCRIPTOR_HEAP_DESC,
) -> Answer<ID3D12DescriptorHeap> {
    // SAFETY: desc is valid.
    returned("CreateDescriptorHeap", unsafe { device.CreateDescriptorHeap(desc) })
}

/// Returns the handle of a heap's first descriptor.
pub(crate) fn start(heap: &ID3D12DescriptorHeap) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    // SAFETY: the heap is live.
    unsafe { heap.GetCPUDescriptorHandleForHeapStart() }
}

/// Calls `CreateRenderTargetView` for the whole resource, or for one mip level and array slice of a 2D texture.
pub(crate) fn create_target_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    part: Option<(DXGI_FORMAT, u32, u32)>,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = part.map(|(format, mip, slice)| D3D12_RENDER_TARGET_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2DARRAY,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
            Texture2DArray: D3D12_TEX2D_ARRAY_RTV {
                MipSlice: mip,
                FirstArraySlice: slice,
                ArraySize: 1,
                PlaneSlice: 0,
            },
        },
    });
    // SAFETY: the heap has one descriptor for render target views; the description is valid for a 2D texture.
    unsafe { device.CreateRenderTargetView(resource, desc.as_ref().map(std::ptr::from_ref), start(heap)) };
    start(heap)
}

/// Calls `CreateDepthStencilView` for the whole resource, or for the first mip level of a 2D texture.
pub(crate) fn create_depth_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    part: Option<(DXGI_FORMAT, D3D12_DSV_FLAGS)>,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = part.map(|(format, flags)| D3D12_DEPTH_STENCIL_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_DSV_DIMENSION_TEXTURE2D,
        Flags: flags,
        ..Default::default()
    });
    // SAFETY: the heap has one descriptor for depth stencil views; the description is valid for a 2D texture.
    unsafe { device.CreateDepthStencilView(resource, desc.as_ref().map(std::ptr::from_ref), start(heap)) };
    start(heap)
}

/// Calls `CreateUnorderedAccessView` for a texture's first mip level, or for a buffer's first 4-byte elements.
pub(crate) fn create_unordered_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    element_count: Option<u32>,
    heap: &ID3D12DescriptorHeap,
) -> D3D12_CPU_DESCRIPTOR_HANDLE {
    let desc = element_count.map(|count| D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: DXGI_FORMAT_R32_TYPELESS,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
            Buffer: D3D12_BUFFER_UAV {
                NumElements: count,
                Flags: D3D12_BUFFER_UAV_FLAG_RAW,
                ..Default::default()
            },
        },
    });
    let desc = desc.as_ref().map(std::ptr::from_ref);
    // SAFETY: the heap has one descriptor for unordered access views; the description is valid for a buffer.
    unsafe { device.CreateUnorderedAccessView(resource, None, desc, start(heap)) };
    start(heap)
}

/// Calls `CreateShaderResourceView` for all of a texture.
pub(crate) fn create_readable_view(
    device: &ID3D12Device,
    resource: &ID3D12Resource,
    heap: &ID3D12DescriptorHeap,
) {
    // SAFETY: the heap has one descriptor for shader resource views.
    unsafe { device.CreateShaderResourceView(resource, None, start(heap)) };
}

/// A range of a buffer's bytes, and what its elements are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteRange {
    pub(crate) format: DXGI_FORMAT,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The size of structures; 0 for texels and words.
    pub(crate) stride: u32,
    pub(crate) is_raw: bool,
}

/// Calls `ID3D12Device15::TryCreateShaderResourceView` for a range of bytes.
pub(crate) fn try_readable_bytes(
    device: &ID3D12Device15,
    buffer: &ID3D12Resource,
    range: ByteRange,
    heap: &ID3D12DescriptorHeap,
) -> Answer<()> {
    let ByteRange { format, offset, size, stride, is_raw } = range;
    let flags = if is_raw { D3D12_BUFFER_SRV_FLAG_RAW } else { D3D12_BUFFER_SRV_FLAG_NONE };
    let range = D3D12_BUFFER_SRV_BYTE_OFFSET {
        Offset: offset,
        Size: size,
        StructureByteStride: stride,
        Flags: flags,
    };
    let desc = D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET::new(format, range);
    // SAFETY: the objects are live, the heap has one descriptor, and the description has the member of its dimension.
    let hresult = unsafe { device.TryCreateShaderResourceView(buffer.as_raw(), desc.as_desc(), start(heap)) };
    done("TryCreateShaderResourceView", hresult)
}

/// Calls `ID3D12Device15::TryCreateUnorderedAccessView` for a range of bytes.
pub(crate) fn try_unordered_bytes(
    device: &ID3D12Device15,
    buffer: &ID3D12Resource,
    range: ByteRange,
    heap: &ID3D12DescriptorHeap,
) -> Answer<()> {
    let ByteRange { format, offset, size, stride, is_raw } = range;
    let range = D3D12_BUFFER_UAV_BYTE_OFFSET {
        Offset: offset,
        Size: size,
        StructureByteStride: stride,
        CounterOffsetInBytes: 0,
        Flags: if is_raw { D3D12_BUFFER_UAV_FLAG_RAW } else { D3D12_BUFFER_UAV_FLAG_NONE },
    };
    let desc = D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET::new(format, range);
    let no_counter = std::ptr::null_mut();
    // SAFETY: as in try_readable_bytes.
    let hresult = unsafe {
        device.TryCreateUnorderedAccessView(buffer.as_raw(), no_counter, desc.as_desc(), start(heap))
    };
    done("TryCreateUnorderedAccessView", hresult)
}
