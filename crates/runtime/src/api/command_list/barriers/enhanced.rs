//! `Barrier`: groups of global, texture and buffer barriers.

use heapwright_d3d12::*;

use super::{at, extents};
use crate::api::command_list::copies::is_buffer;
use crate::api::command_list::{CommandList, read_array};
use crate::rules::Refusal;

impl CommandList {
    /// `Barrier`.
    pub(in crate::api::command_list) fn check_barrier_groups(
        &self,
        groups: &[D3D12_BARRIER_GROUP],
    ) -> Result<(), Refusal> {
        for (index, group) in groups.iter().enumerate() {
            self.check_barrier_group(group).map_err(|refusal| at("pBarrierGroups", index, &refusal))?;
        }
        Ok(())
    }

    fn check_barrier_group(&self, group: &D3D12_BARRIER_GROUP) -> Result<(), Refusal> {
        let count = group.NumBarriers;
        // SAFETY: Type says which member of the union the application wrote; by the COM contract it has NumBarriers
        // elements.
        unsafe {
            match group.Type {
                D3D12_BARRIER_TYPE_GLOBAL => {
                    read_array(count, group.Anonymous.pGlobalBarriers, "pGlobalBarriers")?
                        .iter()
                        .try_for_each(|b| {
                            check_access(b.SyncBefore, b.AccessBefore, "Before")?;
                            check_access(b.SyncAfter, b.AccessAfter, "After")
                        })
                }
                D3D12_BARRIER_TYPE_TEXTURE => {
                    read_array(count, group.Anonymous.pTextureBarriers, "pTextureBarriers")?
                        .iter()
                        .try_for_each(|barrier| self.check_texture_barrier(barrier))
                }
                D3D12_BARRIER_TYPE_BUFFER => {
                    read_array(count, group.Anonymous.pBufferBarriers, "pBufferBarriers")?
                        .iter()
                        .try_for_each(|barrier| self.check_buffer_barrier(barrier))
                }
                other => Err(Refusal::invalid(format!("Type {other} is no D3D12_BARRIER_TYPE"))
                    .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_TYPE)),
            }
        }
    }

    fn check_buffer_barrier(&self, barrier: &D3D12_BUFFER_BARRIER) -> Result<(), Refusal> {
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        if !is_buffer(resource) {
            return Err(Refusal::invalid("a buffer barrier for a texture")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
        }
        check_access(barrier.SyncBefore, barrier.AccessBefore, "Before")?;
        check_access(barrier.SyncAfter, barrier.AccessAfter, "After")?;
        let width = resource.desc().Width;
        if barrier.Offset != 0 || (barrier.Size != u64::MAX && barrier.Size != width) {
            return Err(Refusal::invalid(format!(
                "a buffer barrier is for the whole buffer: Offset is {:#x} and Size {:#x} of {width:#x}",
                barrier.Offset, barrier.Size
            ))
            .with_id(D3D12_MESSAGE_ID_BUFFER_BARRIER_SUBREGION_OUT_OF_BOUNDS));
        }
        Ok(())
    }

    fn check_texture_barrier(&self, barrier: &D3D12_TEXTURE_BARRIER) -> Result<(), Refusal> {
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        if is_buffer(resource) {
            return Err(Refusal::invalid("a texture barrier for a buffer")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_RESOURCE_DIMENSION));
        }
        if barrier.Flags & !D3D12_TEXTURE_BARRIER_FLAG_DISCARD != 0 {
            return Err(Refusal::invalid(format!(
                "Flags {:#x} is no D3D12_TEXTURE_BARRIER_FLAGS",
                barrier.Flags
            ))
            .with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_INVALID_FLAGS));
        }
        if barrier.Flags != 0 && barrier.LayoutBefore != D3D12_BARRIER_LAYOUT_UNDEFINED {
            return Err(Refusal::invalid("D3D12_TEXTURE_BARRIER_FLAG_DISCARD needs LayoutBefore UNDEFINED")
                .with_id(D3D12_MESSAGE_ID_TEXTURE_BARRIER_INVALID_FLAGS));
        }
        check_access(barrier.SyncBefore, barrier.AccessBefore, "Before")?;
        check_access(barrier.SyncAfter, barrier.AccessAfter, "After")?;
        self.check_layout(barrier.LayoutBefore, barrier.AccessBefore, resource.desc(), "LayoutBefore")?;
        if barrier.LayoutAfter == D3D12_BARRIER_LAYOUT_UNDEFINED
            && barrier.AccessAfter != D3D12_BARRIER_ACCESS_NO_ACCESS
        {
            return Err(Refusal::invalid("LayoutAfter UNDEFINED with an access")
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT));
        }
        self.check_layout(barrier.LayoutAfter, barrier.AccessAfter, resource.desc(), "LayoutAfter")?;
        check_subresources(&barrier.Subresources, resource.desc())
    }

    fn check_layout(
        &self,
        layout: D3D12_BARRIER_LAYOUT,
        access: D3D12_BARRIER_ACCESS,
        desc: &D3D12_RESOURCE_DESC1,
        name: &str,
    ) -> Result<(), Refusal> {
        let refuse = |why: &str, id| Err(Refusal::invalid(format!("{name} {layout} {why}")).with_id(id));
        let is_layout = (D3D12_BARRIER_LAYOUT_UNDEFINED
            ..=D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE)
            .contains(&layout);
        if !is_layout {
            return refuse("is no D3D12_BARRIER_LAYOUT", D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
        }
        let direct = D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON..=D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_DEST;
        let compute =
            D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON..=D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COPY_DEST;
        let of_other_queue = match self.list_type {
            D3D12_COMMAND_LIST_TYPE_DIRECT => compute.contains(&layout),
            D3D12_COMMAND_LIST_TYPE_COMPUTE => direct.contains(&layout),
            _ => direct.contains(&layout) || compute.contains(&layout),
        };
        if of_other_queue {
            return refuse("belongs to queues of another type", D3D12_MESSAGE_ID_UNSUPPORTED_BARRIER_LAYOUT);
        }
        let (flag, accesses) = match layout {
            D3D12_BARRIER_LAYOUT_RENDER_TARGET => {
                (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET)
            }
            D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS
            | D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_UNORDERED_ACCESS
            | D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_UNORDERED_ACCESS => {
                (D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS)
            }
            D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE => (
                D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
                D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE | D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ,
            ),
            D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ => {
                (D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ)
            }
            D3D12_BARRIER_LAYOUT_COPY_SOURCE => (D3D12_RESOURCE_FLAG_NONE, D3D12_BARRIER_ACCESS_COPY_SOURCE),
            D3D12_BARRIER_LAYOUT_COPY_DEST => (D3D12_RESOURCE_FLAG_NONE, D3D12_BARRIER_ACCESS_COPY_DEST),
            D3D12_BARRIER_LAYOUT_SHADER_RESOURCE => {
                (D3D12_RESOURCE_FLAG_NONE, D3D12_BARRIER_ACCESS_SHADER_RESOURCE)
            }
            _ => return Ok(()),
        };
        if desc.Flags & flag != flag {
            let id = D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT;
            return refuse("needs a flag that the resource does not have", id);
        }
        if access != D3D12_BARRIER_ACCESS_NO_ACCESS && access & !accesses != 0 {
            return refuse("does not allow the access", D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT);
        }
        Ok(())
    }
}

/// Checks that an access and what it is synchronized with can go together.
fn check_access(sync: D3D12_BARRIER_SYNC, access: D3D12_BARRIER_ACCESS, which: &str) -> Result<(), Refusal> {
    let none = D3D12_BARRIER_ACCESS_NO_ACCESS;
    if access & none != 0 && access != none {
        return Err(Refusal::invalid(format!("Access{which} {access:#x} combines NO_ACCESS with an access"))
            .with_id(D3D12_MESSAGE_ID_INVALID_BARRIER_ACCESS));
    }
    if sync == D3D12_BARRIER_SYNC_NONE && access != none {
        return Err(Refusal::invalid(format!(
            "Sync{which} is NONE and Access{which} {access:#x} not NO_ACCESS"
        ))
        .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS));
    }
    let copies = D3D12_BARRIER_ACCESS_COPY_SOURCE | D3D12_BARRIER_ACCESS_COPY_DEST;
    let is_copy_only = access != none && access != 0 && access & !copies == 0;
    let copy_syncs = D3D12_BARRIER_SYNC_COPY | D3D12_BARRIER_SYNC_ALL | D3D12_BARRIER_SYNC_SPLIT;
    if is_copy_only && sync & copy_syncs == 0 {
        return Err(Refusal::invalid(format!(
            "Access{which} {access:#x} is of copies, which Sync{which} {sync:#x} does not have"
        ))
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
            return outside(format!("Subresources.IndexOrFirstMipLevel {index} of {count}"));
        }
        return Ok(());
    }
    for (first, count, all, name) in [
        (range.IndexOrFirstMipLevel, range.NumMipLevels, mips, "mip levels"),
        (range.FirstArraySlice, range.NumArraySlices, slices, "array slices"),
        (range.FirstPlane, range.NumPlanes, planes, "planes"),
    ] {
        if count == 0 || first.checked_add(count).is_none_or(|end| end > all) {
            return outside(format!("Subresources has {count} {name} from {first} of {all}"));
        }
    }
    Ok(())
}
