//! The heaps and offsets that a resource may have.

use heapwright_core::Alignment;
use heapwright_d3d12::*;

use super::resource::Resource;
use super::{Refusal, under};
use crate::ddi::{ResourceAllocation, TextureDimension};

/// Checks that a resource of `allocation` may be placed at `offset` of a heap.
pub(crate) fn check(
    resource: &Resource,
    allocation: ResourceAllocation,
    offset: u64,
    heap: &D3D12_HEAP_DESC,
) -> Result<(), Refusal> {
    check_heap(resource, heap.Properties.Type, heap.Flags)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))?;
    // Tight alignment specification, *How does this affect Heap alignment and offsets?*. Tiles and committed resources
    // need no such heap.
    let for_samples = D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into();
    let multisampled = resource.texture().is_some_and(|texture| texture.args.is_multisampled());
    if multisampled && heap.Alignment < for_samples {
        return Err(Refusal::invalid(
            "a multisampled texture needs a heap whose D3D12_HEAP_DESC::Alignment is 4 MiB",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES));
    }
    let ResourceAllocation { size, alignment } = allocation;
    if !offset.is_multiple_of(Alignment::get(alignment)) {
        return Err(Refusal::invalid(format!(
            "HeapOffset {offset:#x} is not a multiple of the resource's alignment {:#x}",
            alignment.get()
        )));
    }
    // A buffer occupies only its width of the heap, whatever is allocated for it: vkd3d-proton's tests record that
    // Windows places 1,024 bytes in a heap of 1,024. The heap's last 64 KiB always exist as a whole.
    let taken = match resource {
        Resource::Buffer(buffer) => buffer.width,
        Resource::Texture(_) => size,
    };
    if offset.checked_add(taken.get()).is_none_or(|end| end > heap.SizeInBytes) {
        return Err(Refusal::invalid(format!(
            "a resource of {:#x} bytes at HeapOffset {offset:#x} does not fit in a heap of {:#x} bytes",
            taken.get(),
            heap.SizeInBytes
        )));
    }
    Ok(())
}

/// Checks that a resource may be in a heap with this type and these flags: at an offset, in the implicit heap of a
/// committed resource, or tile by tile (the reference of `UpdateTileMappings` applies the rules of placed resources to
/// reserved ones).
///
/// UPLOAD and READBACK heaps hold only buffers. CUSTOM heaps, CPU-visible or not, and GPU_UPLOAD heaps hold textures as
/// well. Resources in an UPLOAD heap stay in read states, those in a READBACK heap in COPY_DEST (reference of
/// `D3D12_HEAP_TYPE`). Render target and unordered access buffers would be useless there, and vkd3d-proton's tests
/// (`test_create_committed_resource`) record that Windows refuses them.
pub(crate) fn check_heap(
    resource: &Resource,
    heap_type: D3D12_HEAP_TYPE,
    heap_flags: D3D12_HEAP_FLAGS,
) -> Result<(), Refusal> {
    let has = |flag: D3D12_HEAP_FLAGS| heap_flags & flag != 0;
    let (is_buffer, is_target, gpu_writes, crosses) = match resource {
        Resource::Buffer(buffer) => (true, false, buffer.gpu_writes, buffer.cross_adapter),
        Resource::Texture(texture) => {
            let usage = texture.args.usage;
            (false, usage.is_render_target_or_depth_stencil(), false, usage.cross_adapter)
        }
    };
    let for_cpu = [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].contains(&heap_type);
    // Whether the resource is refused, and the rule's text.
    let rules = [
        (
            is_buffer && has(D3D12_HEAP_FLAG_DENY_BUFFERS),
            "a heap with D3D12_HEAP_FLAG_DENY_BUFFERS cannot contain buffers",
        ),
        (
            is_target && has(D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES),
            "a heap with D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES cannot contain render targets or depth-stencils",
        ),
        (
            !is_buffer && !is_target && has(D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES),
            "a heap with D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES cannot contain textures that are neither render \
             targets nor depth-stencils",
        ),
        (for_cpu && !is_buffer, "an UPLOAD or READBACK heap can only contain buffers"),
        (
            for_cpu && gpu_writes,
            "a buffer in an UPLOAD or READBACK heap cannot have ALLOW_RENDER_TARGET or ALLOW_UNORDERED_ACCESS",
        ),
        (
            crosses && !has(D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER),
            "D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER needs a heap with D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER",
        ),
        (
            !crosses && has(D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER),
            "a heap with D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER can only contain resources with \
             D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER",
        ),
    ];
    match rules.into_iter().find(|&(refused, _)| refused) {
        Some((_, rule)) => Err(Refusal::invalid(rule)),
        None => Ok(()),
    }
}

/// Checks that a committed resource may have these heap properties and flags.
pub(crate) fn check_committed(
    resource: &Resource,
    properties: &D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
) -> Result<(), Refusal> {
    check_heap(resource, properties.Type, flags)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))?;
    let is_displayable = resource.texture().is_some_and(|texture| {
        texture.args.dimension == TextureDimension::Texture2D
            && !texture.args.is_multisampled()
            && texture.args.format.resource_support().has(D3D12_FORMAT_SUPPORT1_DISPLAY)
    });
    if flags & D3D12_HEAP_FLAG_ALLOW_DISPLAY != 0 && !is_displayable {
        return Err(Refusal::invalid(
            "D3D12_HEAP_FLAG_ALLOW_DISPLAY needs a TEXTURE2D with one sample and a format that supports \
             D3D12_FORMAT_SUPPORT1_DISPLAY",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS));
    }
    Ok(())
}
