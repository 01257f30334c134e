//! `Barrier`: groups of global, texture and buffer barriers.
//!
//! DirectX-Specs, D3D12EnhancedBarriers.md, "Runtime barrier validation", requires the runtime to check them with or
//! without the debug layer.

use heapwright_d3d12::*;

use super::compatibility;
use crate::rules::operand::{Operand, extents};
use crate::rules::{Notices, Refusal};

/// A barrier of a call of `Barrier`. Pairs are the values before and after it.
pub(crate) struct Barrier<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) sync: [D3D12_BARRIER_SYNC; 2],
    pub(crate) access: [D3D12_BARRIER_ACCESS; 2],
}

/// The target of a barrier.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Global,
    Buffer {
        resource: Operand<'a>,
        offset: u64,
        size: u64,
    },
    Texture {
        resource: Operand<'a>,
        layout: [D3D12_BARRIER_LAYOUT; 2],
        subresources: &'a D3D12_BARRIER_SUBRESOURCE_RANGE,
        flags: D3D12_TEXTURE_BARRIER_FLAGS,
    },
}

/// Checks a barrier on a list of a type.
pub(crate) fn check(
    barrier: &Barrier<'_>,
    list_type: D3D12_COMMAND_LIST_TYPE,
    notices: &mut Notices,
) -> Result<(), Refusal> {
    let Barrier { target, sync, access } = barrier;
    match *target {
        Target::Global if (sync[0] | sync[1]) & D3D12_BARRIER_SYNC_SPLIT != 0 => {
            Err(Refusal::invalid("a global barrier cannot be split")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC))
        }
        Target::Global => check_sides(*sync, *access, list_type),
        Target::Buffer { resource, offset, size } => {
            if !resource.is_buffer() {
                return Err(Refusal::invalid("pResource of a buffer barrier is a texture")
                    .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
            }
            check_sides(*sync, *access, list_type)?;
            check_accesses(resource, *access, notices)?;
            let width = resource.desc.Width;
            if offset != 0 || (size != u64::MAX && size != width) {
                return Err(Refusal::invalid(format!(
                    "Offset {offset:#x} and Size {size:#x} do not select the whole buffer of {width:#x} bytes"
                ))
                .with_id(D3D12_MESSAGE_ID_BUFFER_BARRIER_SUBREGION_OUT_OF_BOUNDS));
            }
            Ok(())
        }
        Target::Texture { resource, layout, subresources, flags } => {
            if resource.is_buffer() {
                return Err(Refusal::invalid("pResource of a texture barrier is a buffer")
                    .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
            }
            check_texture_flags(flags, layout[0])?;
            check_sides(*sync, *access, list_type)?;
            check_accesses(resource, *access, notices)?;
            check_layouts(resource.desc, layout, *access, list_type)?;
            check_subresources(subresources, resource.desc)
        }
    }
}

fn check_texture_flags(
    flags: D3D12_TEXTURE_BARRIER_FLAGS,
    layout_before: D3D12_BARRIER_LAYOUT,
) -> Result<(), Refusal> {
    let refuse = |message: String| {
        Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_INVALID_FLAGS))
    };
    if flags & !D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0 {
        return refuse(format!("Flags {flags:#x} has unknown bits; only DISCARD is allowed"));
    }
    if flags != 0 && layout_before != D3D12_BARRIER_LAYOUT_UNDEFINED {
        return refuse("D3D12_TEXTURE_BARRIER_FLAG_DISCARD requires LayoutBefore UNDEFINED".to_owned());
    }
    Ok(())
}

/// Checks that a resource and its heap support the accesses before and after a barrier.
fn check_accesses(
    resource: Operand<'_>,
    [before, after]: [D3D12_BARRIER_ACCESS; 2],
    notices: &mut Notices,
) -> Result<(), Refusal> {
    for (access, name) in [(before, "AccessBefore"), (after, "AccessAfter")] {
        check_resource(resource, access, name)?;
        notices.tolerate(check_heap_type(resource, access, name));
    }
    Ok(())
}

fn check_layouts(
    desc: &D3D12_RESOURCE_DESC1,
    [before, after]: [D3D12_BARRIER_LAYOUT; 2],
    access: [D3D12_BARRIER_ACCESS; 2],
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Result<(), Refusal> {
    // UNDEFINED on both sides keeps the current layout, whatever it is.
    if (before, after) == (D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_BARRIER_LAYOUT_UNDEFINED) {
        return Ok(());
    }
    check_layout(before, access[0], desc, list_type, "LayoutBefore")?;
    check_layout(after, access[1], desc, list_type, "LayoutAfter")?;
    if list_type == D3D12_COMMAND_LIST_TYPE_COPY && before != after {
        return Err(Refusal::invalid("a copy list cannot change layouts")
            .with_id(D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT));
    }
    Ok(())
}

/// Checks the synchronization scopes before and after a barrier, each with its accesses.
fn check_sides(
    sync: [D3D12_BARRIER_SYNC; 2],
    access: [D3D12_BARRIER_ACCESS; 2],
    list_type: D3D12_COMMAND_LIST_TYPE,
) -> Result<(), Refusal> {
    check_side(sync[0], access[0], list_type, "Before")?;
    check_side(sync[1], access[1], list_type, "After")?;
    if sync == [D3D12_BARRIER_SYNC_SPLIT; 2] {
        return Err(Refusal::invalid("SyncBefore and SyncAfter cannot both be SPLIT")
            .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC));
    }
    Ok(())
}

fn check_side(
    sync: D3D12_BARRIER_SYNC,
    access: D3D12_BARRIER_ACCESS,
    list_type: D3D12_COMMAND_LIST_TYPE,
    which: &str,
) -> Result<(), Refusal> {
    let refuse = |message: String, id| Err(Refusal::invalid(message).with_id(id));
    let list = list_kind(list_type);
    let unknown = sync & !compatibility::syncs_of(list_type);
    if unknown != 0 {
        let message =
            format!("Sync{which} {sync:#x} has bits {unknown:#x}, which are not valid on a {list} list");
        return refuse(message, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC);
    }
    if sync & D3D12_BARRIER_SYNC_SPLIT != 0 && sync != D3D12_BARRIER_SYNC_SPLIT {
        let message = format!("Sync{which} {sync:#x} combines SPLIT with other bits");
        return refuse(message, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC);
    }
    let none = D3D12_BARRIER_ACCESS_NO_ACCESS;
    if access == none {
        return Ok(());
    }
    if access & none != 0 {
        let message = format!("Access{which} {access:#x} combines NO_ACCESS with other bits");
        return refuse(message, D3D12_MESSAGE_ID_INVALID_BARRIER_ACCESS);
    }
    let unknown = access & !compatibility::accesses_of(list_type);
    if unknown != 0 {
        let message =
            format!("Access{which} {access:#x} has bits {unknown:#x}, which are not valid on a {list} list");
        return refuse(message, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS);
    }
    if sync == D3D12_BARRIER_SYNC_NONE {
        let message = format!("Sync{which} is NONE, but Access{which} {access:#x} is not NO_ACCESS");
        return refuse(message, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS);
    }
    if let Some(bit) = compatibility::unsynchronized(sync, access) {
        let message =
            format!("Access{which} has bit {bit:#x}, which is not compatible with Sync{which} {sync:#x}");
        return refuse(message, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS);
    }
    Ok(())
}

fn list_kind(list_type: D3D12_COMMAND_LIST_TYPE) -> &'static str {
    match list_type {
        D3D12_COMMAND_LIST_TYPE_COPY => "copy",
        D3D12_COMMAND_LIST_TYPE_COMPUTE => "compute",
        _ => "direct",
    }
}

fn check_layout(
    layout: D3D12_BARRIER_LAYOUT,
    access: D3D12_BARRIER_ACCESS,
    desc: &D3D12_RESOURCE_DESC1,
    list_type: D3D12_COMMAND_LIST_TYPE,
    name: &str,
) -> Result<(), Refusal> {
    let refuse = |why: String, id| Err(Refusal::invalid(format!("{name} {layout} {why}")).with_id(id));
    if layout == D3D12_BARRIER_LAYOUT_UNDEFINED {
        if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
            return Ok(());
        }
        let why = format!("(UNDEFINED) requires NO_ACCESS if the other layout is defined, not {access:#x}");
        return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
    }
    let last = D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE;
    if !(D3D12_BARRIER_LAYOUT_COMMON..=last).contains(&layout) {
        let why = "is not a valid D3D12_BARRIER_LAYOUT".to_owned();
        return refuse(why, D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
    }
    if !compatibility::knows_layout(list_type, layout) {
        let why = format!("is not valid on a {} list", list_kind(list_type));
        return refuse(why, D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
    }
    let is_simultaneous = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0;
    if is_simultaneous && layout != D3D12_BARRIER_LAYOUT_COMMON {
        let why = "is not COMMON, which a texture with ALLOW_SIMULTANEOUS_ACCESS requires".to_owned();
        return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
    }
    if let Some((_, name)) = compatibility::flag_of(layout).filter(|(flag, _)| desc.Flags & flag == 0) {
        let why = format!("requires a resource with {name}");
        return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
    }
    let more = if is_simultaneous { compatibility::SIMULTANEOUS } else { 0 };
    let allowed = compatibility::allowed_in(layout) | more | D3D12_BARRIER_ACCESS_NO_ACCESS;
    if access & !allowed != 0 {
        let why = format!("does not allow access {:#x}", access & !allowed);
        return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
    }
    Ok(())
}

/// Checks that the resource supports an access at all.
fn check_resource(resource: Operand<'_>, access: D3D12_BARRIER_ACCESS, name: &str) -> Result<(), Refusal> {
    let refuse = |why: String| {
        Err(Refusal::invalid(format!("{name} {access:#x} {why}"))
            .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS))
    };
    if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
        return Ok(());
    }
    let (foreign, kind) = if resource.is_buffer() {
        (compatibility::TEXTURE_ONLY, "buffer")
    } else {
        (compatibility::BUFFER_ONLY, "texture")
    };
    if access & foreign != 0 {
        return refuse(format!("has bits {:#x}, which are not valid for a {kind}", access & foreign));
    }
    let flags = resource.desc.Flags;
    for (accesses, flag, flag_name) in compatibility::FLAG_ACCESSES {
        if access & accesses != 0 && flags & flag == 0 {
            return refuse(format!("requires a resource with {flag_name}"));
        }
    }
    let denied = flags & D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE != 0;
    if denied && access & D3D12_BARRIER_ACCESS_SHADER_RESOURCE != 0 {
        return refuse("is a shader access, but the resource has DENY_SHADER_RESOURCE".to_owned());
    }
    Ok(())
}

/// Checks that the heap type of a resource allows an access. A violation is a message of the debug layer, like the
/// states of resources in UPLOAD and READBACK heaps.
fn check_heap_type(resource: Operand<'_>, access: D3D12_BARRIER_ACCESS, name: &str) -> Result<(), Refusal> {
    if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
        return Ok(());
    }
    let (allowed, heap_type) = match resource.heap_type {
        Some(D3D12_HEAP_TYPE_UPLOAD) => (compatibility::IN_UPLOAD_HEAPS, "an UPLOAD"),
        Some(D3D12_HEAP_TYPE_READBACK) => (compatibility::IN_READBACK_HEAPS, "a READBACK"),
        _ => return Ok(()),
    };
    if access & !allowed != 0 {
        let why = format!("has bits {:#x}, which are not allowed in {heap_type} heap", access & !allowed);
        return Err(Refusal::invalid(format!("{name} {access:#x} {why}"))
            .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS));
    }
    Ok(())
}

fn check_subresources(
    range: &D3D12_BARRIER_SUBRESOURCE_RANGE,
    desc: &D3D12_RESOURCE_DESC1,
) -> Result<(), Refusal> {
    let [mips, slices, planes] = extents(desc);
    let outside = |what: String| {
        Err(Refusal::invalid(what).with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_SUBRESOURCES_OUT_OF_BOUNDS))
    };
    if range.NumMipLevels == 0 {
        let (index, count) = (range.IndexOrFirstMipLevel, mips * slices * planes);
        if index != D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES && index >= count {
            return outside(format!(
                "Subresources.IndexOrFirstMipLevel {index} is out of range; the texture has {count} subresources"
            ));
        }
        return Ok(());
    }
    for (first, count, all, name) in [
        (range.IndexOrFirstMipLevel, range.NumMipLevels, mips, "mip levels"),
        // Windows treats 0 slices as 1.
        (range.FirstArraySlice, range.NumArraySlices.max(1), slices, "array slices"),
        (range.FirstPlane, range.NumPlanes, planes, "planes"),
    ] {
        if count == 0 || first.checked_add(count).is_none_or(|end| end > all) {
            return outside(format!(
                "Subresources has {count} {name} starting at {first}, but the texture has {all}"
            ));
        }
    }
    Ok(())
}
