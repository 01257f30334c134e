//! Descriptions to begin with; a check changes what it is about.

use heapwright_d3d12::*;

/// 2^10 and its powers, in bytes.
pub(crate) const KIB: u64 = 1024;
/// 2^20 bytes.
pub(crate) const MIB: u64 = 1024 * KIB;

/// A buffer of `width` bytes.
pub(crate) fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

/// A buffer of `width` bytes with USE_TIGHT_ALIGNMENT.
pub(crate) fn tight_buffer(width: u64) -> D3D12_RESOURCE_DESC {
    tight(buffer(width))
}

/// The same with USE_TIGHT_ALIGNMENT.
pub(crate) fn tight(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_flags(desc, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)
}

/// The same with more flags.
pub(crate) fn with_flags(desc: D3D12_RESOURCE_DESC, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: desc.Flags | flags, ..desc }
}

/// A 2D texture with one mip level and a layout of the device's choice.
pub(crate) fn texture2d(format: DXGI_FORMAT, width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    }
}

/// A 2D texture of 4-byte texels.
pub(crate) fn rgba(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    texture2d(DXGI_FORMAT_R8G8B8A8_UNORM, width, height)
}

/// A render target of 4-byte texels.
pub(crate) fn render_target(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    with_flags(rgba(width, height), D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET)
}

/// A multisampled render target of 4-byte texels.
pub(crate) fn multisampled(width: u64, height: u32, sample_count: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        SampleDesc: DXGI_SAMPLE_DESC { Count: sample_count, Quality: 0 },
        ..render_target(width, height)
    }
}

/// A depth buffer of 4-byte texels.
pub(crate) fn depth_buffer(width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    with_flags(texture2d(DXGI_FORMAT_D32_FLOAT, width, height), D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL)
}

/// A 3D texture of 4-byte texels.
pub(crate) fn volume(width: u64, height: u32, depth: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        DepthOrArraySize: depth,
        ..rgba(width, height)
    }
}

/// Properties of an abstract heap type.
pub(crate) fn properties(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() }
}

/// Properties of a custom heap.
pub(crate) fn custom(page: D3D12_CPU_PAGE_PROPERTY, pool: D3D12_MEMORY_POOL) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: page,
        MemoryPoolPreference: pool,
        ..Default::default()
    }
}

/// A heap for buffers, which every resource heap tier takes.
pub(crate) fn buffer_heap(heap_type: D3D12_HEAP_TYPE, size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: properties(heap_type),
        Alignment: 0,
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
    }
}

/// A DEFAULT heap for textures that are no render targets and no depth buffers.
pub(crate) fn texture_heap(size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
        ..buffer_heap(D3D12_HEAP_TYPE_DEFAULT, size)
    }
}

/// The name of a heap type, for details.
pub(crate) fn heap_type_name(heap_type: D3D12_HEAP_TYPE) -> &'static str {
    match heap_type {
        D3D12_HEAP_TYPE_DEFAULT => "DEFAULT",
        D3D12_HEAP_TYPE_UPLOAD => "UPLOAD",
        D3D12_HEAP_TYPE_READBACK => "READBACK",
        D3D12_HEAP_TYPE_CUSTOM => "CUSTOM",
        D3D12_HEAP_TYPE_GPU_UPLOAD => "GPU_UPLOAD",
        _ => "an unknown heap type",
    }
}
