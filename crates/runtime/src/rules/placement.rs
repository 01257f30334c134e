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
    check_heap(resource, heap)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))?;
    // A buffer occupies only its width of the heap, whatever is allocated for it: vkd3d-proton's tests record that
    // Windows places 1,024 bytes in a heap of 1,024. The heap's last 64 KiB always exist as a whole.
    let taken = match resource {
        Resource::Buffer(buffer) => ResourceAllocation { size: buffer.width, ..allocation },
        Resource::Texture(_) => allocation,
    };
    check_range(taken, offset, heap.SizeInBytes)
}

/// Checks the rules that do not depend on the offset in the heap.
fn check_heap(resource: &Resource, heap: &D3D12_HEAP_DESC) -> Result<(), Refusal> {
    check_category(resource, heap.Flags)?;
    check_heap_type(resource, &heap.Properties)?;
    check_cross_adapter(resource, heap.Flags)?;
    check_heap_alignment(resource, heap.Alignment)
}

/// Checks that tiles of a reserved resource may be mapped to a heap.
///
/// The reference of `UpdateTileMappings` applies the rules of placed resources to reserved ones. Tiles are 64 KiB, to
/// which every heap is aligned, so multisampled textures do not require a heap aligned to 4 MiB.
pub(crate) fn check_tiles(resource: &Resource, heap: &D3D12_HEAP_DESC) -> Result<(), Refusal> {
    check_category(resource, heap.Flags)?;
    check_heap_type(resource, &heap.Properties)?;
    check_cross_adapter(resource, heap.Flags)
}

/// Checks that a committed resource may have these heap properties and flags.
pub(crate) fn check_committed(
    resource: &Resource,
    properties: &D3D12_HEAP_PROPERTIES,
    flags: D3D12_HEAP_FLAGS,
) -> Result<(), Refusal> {
    check_heap_type(resource, properties)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))?;
    check_cross_adapter(resource, flags)
        .map_err(under(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES))?;
    if flags & D3D12_HEAP_FLAG_ALLOW_DISPLAY != 0 {
        let is_displayable = resource.texture().is_some_and(|texture| {
            texture.args.dimension == TextureDimension::Texture2D
                && !texture.args.is_multisampled()
                && texture.args.format.resource_support().has(D3D12_FORMAT_SUPPORT1_DISPLAY)
        });
        if !is_displayable {
            return Err(Refusal::invalid(
                "D3D12_HEAP_FLAG_ALLOW_DISPLAY needs a TEXTURE2D with one sample and a format that supports \
                 D3D12_FORMAT_SUPPORT1_DISPLAY",
            )
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS));
        }
    }
    Ok(())
}

/// Checks the resource against the heap flags that exclude kinds of resources.
fn check_category(resource: &Resource, heap_flags: D3D12_HEAP_FLAGS) -> Result<(), Refusal> {
    let (denied, rule) = match resource.texture() {
        None => {
            (D3D12_HEAP_FLAG_DENY_BUFFERS, "a heap with D3D12_HEAP_FLAG_DENY_BUFFERS cannot contain buffers")
        }
        Some(texture) if texture.args.usage.is_render_target_or_depth_stencil() => (
            D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES,
            "a heap with D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES cannot contain render targets or depth-stencils",
        ),
        Some(_) => (
            D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES,
            "a heap with D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES cannot contain textures that are neither render \
             targets nor depth-stencils",
        ),
    };
    if heap_flags & denied != 0 {
        return Err(Refusal::invalid(rule));
    }
    Ok(())
}

/// Checks the resource against the heap type. UPLOAD and READBACK heaps hold only buffers. CUSTOM heaps, CPU-visible or
/// not, and GPU_UPLOAD heaps hold textures as well.
///
/// Resources in an UPLOAD heap stay in read states, those in a READBACK heap in COPY_DEST (reference of
/// `D3D12_HEAP_TYPE`). Render target and unordered access buffers would be useless there, and vkd3d-proton's tests
/// (`test_create_committed_resource`) record that Windows refuses them.
fn check_heap_type(resource: &Resource, properties: &D3D12_HEAP_PROPERTIES) -> Result<(), Refusal> {
    if ![D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].contains(&properties.Type) {
        return Ok(());
    }
    match resource {
        Resource::Texture(_) => Err(Refusal::invalid("an UPLOAD or READBACK heap can only contain buffers")),
        Resource::Buffer(buffer) if buffer.gpu_writes => Err(Refusal::invalid(
            "a buffer in an UPLOAD or READBACK heap cannot have ALLOW_RENDER_TARGET or ALLOW_UNORDERED_ACCESS",
        )),
        Resource::Buffer(_) => Ok(()),
    }
}

/// Checks that cross-adapter resources are in cross-adapter heaps, and that such heaps hold no other resources.
fn check_cross_adapter(resource: &Resource, heap_flags: D3D12_HEAP_FLAGS) -> Result<(), Refusal> {
    let is_cross_adapter = match resource {
        Resource::Buffer(buffer) => buffer.cross_adapter,
        Resource::Texture(texture) => texture.args.usage.cross_adapter,
    };
    match (is_cross_adapter, heap_flags & D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER != 0) {
        (true, false) => Err(Refusal::invalid(
            "D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER needs a heap with D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER",
        )),
        (false, true) => Err(Refusal::invalid(
            "a heap with D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER can only contain resources with \
             D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER",
        )),
        _ => Ok(()),
    }
}

/// Checks that a heap for multisampled textures is aligned to 4 MiB (tight alignment specification, *How does this
/// affect Heap alignment and offsets?*).
fn check_heap_alignment(resource: &Resource, heap_alignment: u64) -> Result<(), Refusal> {
    let multisampled = resource.texture().is_some_and(|texture| texture.args.is_multisampled());
    if multisampled && heap_alignment < D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned().into()
    {
        return Err(Refusal::invalid(
            "a multisampled texture needs a heap whose D3D12_HEAP_DESC::Alignment is 4 MiB",
        ));
    }
    Ok(())
}

fn check_range(allocation: ResourceAllocation, offset: u64, heap_size: u64) -> Result<(), Refusal> {
    let ResourceAllocation { size, alignment } = allocation;
    if !offset.is_multiple_of(Alignment::get(alignment)) {
        return Err(Refusal::invalid(format!(
            "HeapOffset {offset:#x} is not a multiple of the resource's alignment {:#x}",
            alignment.get()
        )));
    }
    let fits = offset.checked_add(size.get()).is_some_and(|end| end <= heap_size);
    if !fits {
        return Err(Refusal::invalid(format!(
            "a resource of {:#x} bytes at HeapOffset {offset:#x} does not fit in a heap of {heap_size:#x} bytes",
            size.get()
        )));
    }
    Ok(())
}
