//! `Barrier`: groups of global, texture and buffer barriers.
//!
//! DirectX-Specs, D3D12EnhancedBarriers.md, "Runtime barrier validation", requires the runtime to check them with or
//! without the debug layer.

use heapwright_d3d12::*;

use super::{at, compatibility, extents};
use crate::api::command_list::copies::is_buffer;
use crate::api::command_list::{CommandList, read_array};
use crate::api::resource::Resource;
use crate::rules::{Notices, Refusal};

impl CommandList {
    /// Checks the barriers of a `Barrier` call.
    ///
    /// # Safety
    ///
    /// Each group points to `NumBarriers` barriers of its type.
    pub(in crate::api::command_list) unsafe fn check_barrier_groups(
        &self,
        groups: &[D3D12_BARRIER_GROUP],
        notices: &mut Notices,
    ) -> Result<(), Refusal> {
        for (index, group) in groups.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { self.check_barrier_group(group, notices) }
                .map_err(|refusal| at("pBarrierGroups", index, &refusal))?;
        }
        Ok(())
    }

    /// # Safety
    ///
    /// The group points to `NumBarriers` barriers of its type.
    unsafe fn check_barrier_group(
        &self,
        group: &D3D12_BARRIER_GROUP,
        notices: &mut Notices,
    ) -> Result<(), Refusal> {
        let count = group.NumBarriers;
        // SAFETY: Type determines which member of the union the application wrote; by the COM contract, it has
        // NumBarriers elements.
        unsafe {
            match group.Type {
                D3D12_BARRIER_TYPE_GLOBAL => {
                    read_array(count, group.Anonymous.pGlobalBarriers, "pGlobalBarriers")?
                        .iter()
                        .try_for_each(|barrier| self.check_global_barrier(barrier))
                }
                D3D12_BARRIER_TYPE_TEXTURE => {
                    read_array(count, group.Anonymous.pTextureBarriers, "pTextureBarriers")?
                        .iter()
                        .try_for_each(|barrier| self.check_texture_barrier(barrier, notices))
                }
                D3D12_BARRIER_TYPE_BUFFER => {
                    read_array(count, group.Anonymous.pBufferBarriers, "pBufferBarriers")?
                        .iter()
                        .try_for_each(|barrier| self.check_buffer_barrier(barrier, notices))
                }
                other => Err(Refusal::invalid(format!("Type {other} is not a valid D3D12_BARRIER_TYPE"))
                    .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_TYPE)),
            }
        }
    }

    fn check_global_barrier(&self, barrier: &D3D12_GLOBAL_BARRIER) -> Result<(), Refusal> {
        let D3D12_GLOBAL_BARRIER { SyncBefore, SyncAfter, AccessBefore, AccessAfter } = *barrier;
        if (SyncBefore | SyncAfter) & D3D12_BARRIER_SYNC_SPLIT != 0 {
            return Err(Refusal::invalid("a global barrier cannot be split")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC));
        }
        self.check_sides([(SyncBefore, AccessBefore), (SyncAfter, AccessAfter)])
    }

    fn check_buffer_barrier(
        &self,
        barrier: &D3D12_BUFFER_BARRIER,
        notices: &mut Notices,
    ) -> Result<(), Refusal> {
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        if !is_buffer(resource) {
            return Err(Refusal::invalid("pResource of a buffer barrier is a texture")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
        }
        self.check_sides([
            (barrier.SyncBefore, barrier.AccessBefore),
            (barrier.SyncAfter, barrier.AccessAfter),
        ])?;
        for (access, name) in [(barrier.AccessBefore, "AccessBefore"), (barrier.AccessAfter, "AccessAfter")] {
            check_resource(resource, access, name)?;
            notices.tolerate(check_heap_type(resource, access, name));
        }
        let width = resource.desc().Width;
        if barrier.Offset != 0 || (barrier.Size != u64::MAX && barrier.Size != width) {
            return Err(Refusal::invalid(format!(
                "Offset {:#x} and Size {:#x} do not select the whole buffer of {width:#x} bytes",
                barrier.Offset, barrier.Size
            ))
            .with_id(D3D12_MESSAGE_ID_BUFFER_BARRIER_SUBREGION_OUT_OF_BOUNDS));
        }
        Ok(())
    }

    fn check_texture_barrier(
        &self,
        barrier: &D3D12_TEXTURE_BARRIER,
        notices: &mut Notices,
    ) -> Result<(), Refusal> {
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        if is_buffer(resource) {
            return Err(Refusal::invalid("pResource of a texture barrier is a buffer")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
        }
        if barrier.Flags & !D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0 {
            return Err(Refusal::invalid(format!(
                "Flags {:#x} has unknown bits; only DISCARD is allowed",
                barrier.Flags
            ))
            .with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_INVALID_FLAGS));
        }
        if barrier.Flags != 0 && barrier.LayoutBefore != D3D12_BARRIER_LAYOUT_UNDEFINED {
            return Err(Refusal::invalid(
                "D3D12_TEXTURE_BARRIER_FLAG_DISCARD requires LayoutBefore UNDEFINED",
            )
            .with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_INVALID_FLAGS));
        }
        self.check_sides([
            (barrier.SyncBefore, barrier.AccessBefore),
            (barrier.SyncAfter, barrier.AccessAfter),
        ])?;
        for (access, name) in [(barrier.AccessBefore, "AccessBefore"), (barrier.AccessAfter, "AccessAfter")] {
            check_resource(resource, access, name)?;
            notices.tolerate(check_heap_type(resource, access, name));
        }
        let (before, after) = (barrier.LayoutBefore, barrier.LayoutAfter);
        // UNDEFINED on both sides keeps the current layout, whatever it is.
        if (before, after) != (D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_BARRIER_LAYOUT_UNDEFINED) {
            self.check_layout(before, barrier.AccessBefore, resource.desc(), "LayoutBefore")?;
            self.check_layout(after, barrier.AccessAfter, resource.desc(), "LayoutAfter")?;
            if self.list_type == D3D12_COMMAND_LIST_TYPE_COPY && before != after {
                return Err(Refusal::invalid("a copy list cannot change layouts")
                    .with_id(D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT));
            }
        }
        check_subresources(&barrier.Subresources, resource.desc())
    }

    /// Checks the synchronization scopes before and after a barrier, each with its accesses.
    fn check_sides(
        &self,
        [before, after]: [(D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS); 2],
    ) -> Result<(), Refusal> {
        self.check_side(before, "Before")?;
        self.check_side(after, "After")?;
        if before.0 == D3D12_BARRIER_SYNC_SPLIT && after.0 == D3D12_BARRIER_SYNC_SPLIT {
            return Err(Refusal::invalid("SyncBefore and SyncAfter cannot both be SPLIT")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC));
        }
        Ok(())
    }

    fn check_side(
        &self,
        (sync, access): (D3D12_BARRIER_SYNC, D3D12_BARRIER_ACCESS),
        which: &str,
    ) -> Result<(), Refusal> {
        let refuse = |message: String, id| Err(Refusal::invalid(message).with_id(id));
        let list = self.list_kind();
        let unknown = sync & !compatibility::syncs_of(self.list_type);
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
        let unknown = access & !compatibility::accesses_of(self.list_type);
        if unknown != 0 {
            let message = format!(
                "Access{which} {access:#x} has bits {unknown:#x}, which are not valid on a {list} list"
            );
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

    fn list_kind(&self) -> &'static str {
        match self.list_type {
            D3D12_COMMAND_LIST_TYPE_COPY => "copy",
            D3D12_COMMAND_LIST_TYPE_COMPUTE => "compute",
            _ => "direct",
        }
    }

    fn check_layout(
        &self,
        layout: D3D12_BARRIER_LAYOUT,
        access: D3D12_BARRIER_ACCESS,
        desc: &D3D12_RESOURCE_DESC1,
        name: &str,
    ) -> Result<(), Refusal> {
        let refuse = |why: String, id| Err(Refusal::invalid(format!("{name} {layout} {why}")).with_id(id));
        if layout == D3D12_BARRIER_LAYOUT_UNDEFINED {
            if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
                return Ok(());
            }
            let why =
                format!("(UNDEFINED) requires NO_ACCESS if the other layout is defined, not {access:#x}");
            return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
        }
        let last = D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE;
        if !(D3D12_BARRIER_LAYOUT_COMMON..=last).contains(&layout) {
            let why = "is not a valid D3D12_BARRIER_LAYOUT".to_owned();
            return refuse(why, D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
        }
        if !compatibility::knows_layout(self.list_type, layout) {
            let why = format!("is not valid on a {} list", self.list_kind());
            return refuse(why, D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
        }
        let is_simultaneous = desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS != 0;
        if is_simultaneous && layout != D3D12_BARRIER_LAYOUT_COMMON {
            let why = "is not COMMON, which a texture with ALLOW_SIMULTANEOUS_ACCESS requires".to_owned();
            return refuse(why, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
        }
        let flag = compatibility::flag_of(layout);
        if desc.Flags & flag != flag {
            let why = "requires a flag that the resource does not have".to_owned();
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
}

/// Checks that the resource supports an access at all.
fn check_resource(resource: &Resource, access: D3D12_BARRIER_ACCESS, name: &str) -> Result<(), Refusal> {
    let refuse = |why: String| {
        Err(Refusal::invalid(format!("{name} {access:#x} {why}"))
            .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS))
    };
    if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
        return Ok(());
    }
    let (foreign, kind) = if is_buffer(resource) {
        (compatibility::TEXTURE_ONLY, "buffer")
    } else {
        (compatibility::BUFFER_ONLY, "texture")
    };
    if access & foreign != 0 {
        return refuse(format!("has bits {:#x}, which are not valid for a {kind}", access & foreign));
    }
    let flags = resource.desc().Flags;
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
fn check_heap_type(resource: &Resource, access: D3D12_BARRIER_ACCESS, name: &str) -> Result<(), Refusal> {
    if access == D3D12_BARRIER_ACCESS_NO_ACCESS {
        return Ok(());
    }
    let (allowed, heap_type) = match resource.heap_type() {
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
