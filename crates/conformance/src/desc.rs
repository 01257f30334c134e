//! Valid descriptions, of which each check changes the members that it is about.

use heapwright_d3d12::*;

pub(crate) const KIB: u64 = 1024;
pub(crate) const MIB: u64 = 1024 * KIB;

// Enumerators by the names that D3D12's documentation gives them in running text.
pub(crate) const DEFAULT: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_DEFAULT;
pub(crate) const UPLOAD: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_UPLOAD;
pub(crate) const READBACK: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_READBACK;
pub(crate) const GPU_UPLOAD: D3D12_HEAP_TYPE = D3D12_HEAP_TYPE_GPU_UPLOAD;
/// The heap types that every device has.
pub(crate) const HEAP_TYPES: [D3D12_HEAP_TYPE; 3] = [DEFAULT, UPLOAD, READBACK];
pub(crate) const DIRECT: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_DIRECT;
pub(crate) const COMPUTE: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_COMPUTE;
pub(crate) const COPY: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_COPY;
pub(crate) const BUNDLE: D3D12_COMMAND_LIST_TYPE = D3D12_COMMAND_LIST_TYPE_BUNDLE;
pub(crate) const COMMON: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COMMON;
pub(crate) const COPY_DEST: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_DEST;
pub(crate) const COPY_SOURCE: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_COPY_SOURCE;
pub(crate) const RENDER_TARGET: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET;

/// A buffer of `width` bytes.
pub(crate) fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..texture2d(DXGI_FORMAT_UNKNOWN, width, 1)
    }
}

pub(crate) fn tight_buffer(width: u64) -> D3D12_RESOURCE_DESC {
    tight(buffer(width))
}

pub(crate) fn tight(desc: D3D12_RESOURCE_DESC) -> D3D12_RESOURCE_DESC {
    with_flags(desc, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT)
}

pub(crate) fn with_mips(desc: D3D12_RESOURCE_DESC, levels: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { MipLevels: levels, ..desc }
}

pub(crate) fn with_slices(desc: D3D12_RESOURCE_DESC, count: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { DepthOrArraySize: count, ..desc }
}

pub(crate) fn aligned(desc: D3D12_RESOURCE_DESC, alignment: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Alignment: alignment, ..desc }
}

pub(crate) fn with_layout(desc: D3D12_RESOURCE_DESC, layout: D3D12_TEXTURE_LAYOUT) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Layout: layout, ..desc }
}

pub(crate) fn with_format(desc: D3D12_RESOURCE_DESC, format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Format: format, ..desc }
}

pub(crate) fn with_samples(desc: D3D12_RESOURCE_DESC, count: u32, quality: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: quality }, ..desc }
}

/// `desc` with `flags` added.
pub(crate) fn with_flags(desc: D3D12_RESOURCE_DESC, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC { Flags: desc.Flags | flags, ..desc }
}

/// A 2D texture with one mip level and an UNKNOWN layout.
pub(crate) fn texture2d(format: DXGI_FORMAT, width: u64, height: u32) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Alignment: 0,
        Width: width,
        Height: height,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: format,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        Flags: D3D12_RESOURCE_FLAG_NONE,
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
    with_samples(render_target(width, height), sample_count, 0)
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

pub(crate) fn properties(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() }
}

pub(crate) fn custom(page: D3D12_CPU_PAGE_PROPERTY, pool: D3D12_MEMORY_POOL) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: page,
        MemoryPoolPreference: pool,
        ..Default::default()
    }
}

/// A heap for buffers only, which is valid on every resource heap tier.
pub(crate) fn buffer_heap(heap_type: D3D12_HEAP_TYPE, size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: size,
        Properties: properties(heap_type),
        Alignment: 0,
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
    }
}

/// A DEFAULT heap for textures that are neither render targets nor depth buffers.
pub(crate) fn texture_heap(size: u64) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES, ..buffer_heap(DEFAULT, size) }
}

/// Returns the name of a heap type for messages.
pub(crate) fn heap_type_name(heap_type: D3D12_HEAP_TYPE) -> &'static str {
    match heap_type {
        DEFAULT => "DEFAULT",
        UPLOAD => "UPLOAD",
        READBACK => "READBACK",
        D3D12_HEAP_TYPE_CUSTOM => "CUSTOM",
        GPU_UPLOAD => "GPU_UPLOAD",
        _ => "an unknown heap type",
    }
}
