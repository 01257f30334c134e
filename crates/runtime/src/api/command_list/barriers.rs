//! `ResourceBarrier`, `Barrier` and `DiscardResource`.
//!
//! The simulated GPU executes a list in order and has no caches: barriers change nothing. They are checked as far as a single
//! barrier tells; which state a resource really is in is not tracked.

use heapwright_d3d12::*;

use super::copies::is_buffer;
use super::{CommandList, read_array};
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::format;
use crate::rules::Refusal;

/// States that write; each stands alone.
const WRITE_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_COPY_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that read; they combine.
const READ_STATES: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_GENERIC_READ
    | D3D12_RESOURCE_STATE_DEPTH_READ
    | D3D12_RESOURCE_STATE_RESOLVE_SOURCE
    | D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE;

/// States that only buffers can be in.
const BUFFER_ONLY: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
    | D3D12_RESOURCE_STATE_INDEX_BUFFER
    | D3D12_RESOURCE_STATE_STREAM_OUT
    | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that only textures can be in.
const TEXTURE_ONLY: D3D12_RESOURCE_STATES = D3D12_RESOURCE_STATE_RENDER_TARGET
    | D3D12_RESOURCE_STATE_DEPTH_WRITE
    | D3D12_RESOURCE_STATE_DEPTH_READ
    | D3D12_RESOURCE_STATE_RESOLVE_DEST
    | D3D12_RESOURCE_STATE_RESOLVE_SOURCE
    | D3D12_RESOURCE_STATE_SHADING_RATE_SOURCE;

/// States that a copy list knows.
const COPY_LIST_STATES: D3D12_RESOURCE_STATES =
    D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_COPY_SOURCE;

/// States that a compute list knows.
const COMPUTE_LIST_STATES: D3D12_RESOURCE_STATES = COPY_LIST_STATES
    | D3D12_RESOURCE_STATE_UNORDERED_ACCESS
    | D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE
    | D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER
    | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT
    | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;

/// States that need a flag of the resource.
const FLAG_STATES: [(D3D12_RESOURCE_STATES, D3D12_RESOURCE_FLAGS, &str); 3] = [
    (D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, "ALLOW_RENDER_TARGET"),
    // In DXR 1.0 an acceleration structure needs no flag of its own; the later one for it needs this one.
    (
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS | D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        "ALLOW_UNORDERED_ACCESS",
    ),
    (
        D3D12_RESOURCE_STATE_DEPTH_WRITE | D3D12_RESOURCE_STATE_DEPTH_READ,
        D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        "ALLOW_DEPTH_STENCIL",
    ),
];

/// The planes that a format keeps apart.
pub(in crate::api) fn plane_count(format: DXGI_FORMAT) -> u32 {
    format::properties(format).map_or(1, |format| format.plane_count())
}

/// Mips, array slices and planes of a resource.
pub(super) fn extents(desc: &D3D12_RESOURCE_DESC1) -> [u32; 3] {
    if desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
        return [1, 1, 1];
    }
    let slices = if desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
        1
    } else {
        u32::from(desc.DepthOrArraySize)
    };
    [u32::from(desc.MipLevels).max(1), slices, plane_count(desc.Format)]
}

/// How many subresources a resource has.
pub(super) fn subresource_count(desc: &D3D12_RESOURCE_DESC1) -> u32 {
    extents(desc).iter().product()
}

impl CommandList {
    /// `ResourceBarrier`.
    pub(super) fn check_barriers(&self, barriers: &[D3D12_RESOURCE_BARRIER]) -> Result<(), Refusal> {
        for (index, barrier) in barriers.iter().enumerate() {
            self.check_barrier(barrier).map_err(|refusal| at("pBarriers", index, &refusal))?;
        }
        Ok(())
    }

    fn check_barrier(&self, barrier: &D3D12_RESOURCE_BARRIER) -> Result<(), Refusal> {
        let split = D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY | D3D12_RESOURCE_BARRIER_FLAG_END_ONLY;
        if barrier.Flags & !split != 0 || barrier.Flags == split {
            return Err(Refusal::invalid(format!(
                "Flags {:#x} is none of NONE, BEGIN_ONLY, END_ONLY",
                barrier.Flags
            ))
            .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_FLAG));
        }
        // SAFETY: Type says which member of the union the application wrote.
        unsafe {
            match barrier.Type {
                D3D12_RESOURCE_BARRIER_TYPE_TRANSITION => {
                    self.check_transition(&barrier.Anonymous.Transition)
                }
                D3D12_RESOURCE_BARRIER_TYPE_ALIASING => self.check_aliasing(&barrier.Anonymous.Aliasing),
                D3D12_RESOURCE_BARRIER_TYPE_UAV => self.check_uav_barrier(&barrier.Anonymous.UAV),
                other => Err(Refusal::invalid(format!("Type {other} is no D3D12_RESOURCE_BARRIER_TYPE"))
                    .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_TYPE)),
            }
        }
    }

    fn own_resource<'a>(
        &self,
        resource: Option<&'a ID3D12Resource>,
        name: &str,
    ) -> Result<&'a Resource_Impl, Refusal> {
        own::<Resource>(&self.child.device, resource, name)
            .map_err(|refusal| refusal.with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER))
    }

    fn check_transition(&self, barrier: &D3D12_RESOURCE_TRANSITION_BARRIER) -> Result<(), Refusal> {
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        let count = subresource_count(resource.desc());
        if barrier.Subresource != D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES && barrier.Subresource >= count {
            return Err(Refusal::invalid(format!("Subresource {} of {count}", barrier.Subresource))
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_SUBRESOURCE));
        }
        if barrier.StateBefore == barrier.StateAfter {
            return Err(Refusal::invalid(format!(
                "StateBefore and StateAfter are both {:#x}",
                barrier.StateAfter
            ))
            .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES));
        }
        if let Some(heap_type @ (D3D12_HEAP_TYPE_UPLOAD | D3D12_HEAP_TYPE_READBACK)) = resource.heap_type() {
            let heap_type = if heap_type == D3D12_HEAP_TYPE_UPLOAD { "an UPLOAD" } else { "a READBACK" };
            return Err(Refusal::invalid(format!("a resource in {heap_type} heap keeps its state"))
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP));
        }
        self.check_state(barrier.StateBefore, resource.desc(), "StateBefore")?;
        self.check_state(barrier.StateAfter, resource.desc(), "StateAfter")
    }

    fn check_state(
        &self,
        state: D3D12_RESOURCE_STATES,
        desc: &D3D12_RESOURCE_DESC1,
        name: &str,
    ) -> Result<(), Refusal> {
        let refuse = |why: String, id| Err(Refusal::invalid(format!("{name} {state:#x} {why}")).with_id(id));
        if state & !(WRITE_STATES | READ_STATES) != 0 {
            return refuse(
                "has bits that are no state".to_owned(),
                D3D12_MESSAGE_ID_RESOURCE_BARRIER_RESERVED_BITS,
            );
        }
        let writes = state & WRITE_STATES;
        if writes.count_ones() > 1 || (writes != 0 && state & READ_STATES != 0) {
            let why = "combines a state that writes with another".to_owned();
            return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION);
        }
        let (allowed, kind) = match self.list_type {
            D3D12_COMMAND_LIST_TYPE_COPY => (COPY_LIST_STATES, "copy"),
            D3D12_COMMAND_LIST_TYPE_COMPUTE => (COMPUTE_LIST_STATES, "compute"),
            _ => (WRITE_STATES | READ_STATES, "direct"),
        };
        if state & !allowed != 0 {
            let why = format!("has states that a {kind} list does not know");
            return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE);
        }
        let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
        // GENERIC_READ as a whole is also how textures in custom upload heaps begin.
        let foreign = if is_buffer { TEXTURE_ONLY } else { BUFFER_ONLY };
        if state & foreign != 0 && state != D3D12_RESOURCE_STATE_GENERIC_READ {
            let why = format!("is no state of a {}", if is_buffer { "buffer" } else { "texture" });
            return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS);
        }
        for (states, flag, flag_name) in FLAG_STATES {
            if state & states != 0 && desc.Flags & flag == 0 {
                let why = format!("needs a resource with {flag_name}");
                return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS);
            }
        }
        let shader = D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE;
        let denied = desc.Flags & D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE != 0;
        if denied && state & shader != 0 && state != D3D12_RESOURCE_STATE_GENERIC_READ {
            let why = "is a shader's, and the resource has DENY_SHADER_RESOURCE".to_owned();
            return refuse(why, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISMATCHING_MISC_FLAGS);
        }
        Ok(())
    }

    fn check_aliasing(&self, barrier: &D3D12_RESOURCE_ALIASING_BARRIER) -> Result<(), Refusal> {
        for (resource, name) in
            [(&barrier.pResourceBefore, "pResourceBefore"), (&barrier.pResourceAfter, "pResourceAfter")]
        {
            // Null stands for any resource.
            if resource.is_none() {
                continue;
            }
            if self.own_resource(resource.as_ref(), name)?.is_committed() {
                return Err(Refusal::invalid(format!(
                    "{name} is committed: only placed and reserved resources alias"
                ))
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_RESOURCE));
            }
        }
        Ok(())
    }

    fn check_uav_barrier(&self, barrier: &D3D12_RESOURCE_UAV_BARRIER) -> Result<(), Refusal> {
        if self.list_type == D3D12_COMMAND_LIST_TYPE_COPY {
            return Err(Refusal::invalid("a copy list knows no UAV barriers")
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE));
        }
        if barrier.pResource.is_none() {
            return Ok(());
        }
        let resource = self.own_resource(barrier.pResource.as_ref(), "pResource")?;
        let writable = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS
            | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
        if resource.desc().Flags & writable == 0 {
            return Err(Refusal::invalid("a UAV barrier for a resource without ALLOW_UNORDERED_ACCESS")
                .with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS));
        }
        Ok(())
    }

    /// `DiscardResource`: what the bytes are afterwards is not defined, so nothing is done.
    pub(super) fn check_discard(
        &self,
        resource: &Resource_Impl,
        region: *const D3D12_DISCARD_REGION,
    ) -> Result<(), Refusal> {
        let desc = resource.desc();
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        let is_compute = self.list_type == D3D12_COMMAND_LIST_TYPE_COMPUTE;
        if is_compute && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS == 0 {
            return Err(Refusal::invalid(
                "DiscardResource on a compute list needs a resource with ALLOW_UNORDERED_ACCESS",
            ));
        }
        if !is_compute && desc.Flags & (targets | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) == 0 {
            return Err(Refusal::invalid(
                "DiscardResource needs a render target, a depth stencil or an unordered access resource",
            ));
        }
        // SAFETY: by the COM contract pRegion is null (the whole resource) or points to a region.
        let Some(region) = (unsafe { region.as_ref() }) else { return Ok(()) };
        let count = subresource_count(desc);
        let end = region.FirstSubresource.checked_add(region.NumSubresources);
        if end.is_none_or(|end| end > count) {
            return Err(Refusal::invalid(format!(
                "pRegion has {} subresources from {} of a resource of {count}",
                region.NumSubresources, region.FirstSubresource
            ))
            .with_id(D3D12_MESSAGE_ID_DISCARD_INVALID_SUBRESOURCE_RANGE));
        }
        if region.NumRects != 0 {
            if desc.Dimension != D3D12_RESOURCE_DIMENSION_TEXTURE2D {
                return Err(Refusal::invalid("pRegion has rectangles, and the resource is no 2D texture")
                    .with_id(D3D12_MESSAGE_ID_DISCARD_NO_RECTS_FOR_NON_TEXTURE2D));
            }
            if region.NumSubresources != 1 {
                return Err(Refusal::invalid("pRegion has rectangles and not exactly one subresource")
                    .with_id(D3D12_MESSAGE_ID_DISCARD_ONE_SUBRESOURCE_FOR_MIPS_WITH_RECTS));
            }
            if region.pRects.is_null() {
                return Err(Refusal::invalid("pRegion->pRects is null and NumRects is not 0"));
            }
        }
        Ok(())
    }

    /// `Barrier`.
    pub(super) fn check_barrier_groups(&self, groups: &[D3D12_BARRIER_GROUP]) -> Result<(), Refusal> {
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

/// The same refusal, of one element of an array.
fn at(array: &str, index: usize, refusal: &Refusal) -> Refusal {
    Refusal::new(refusal.hresult(), format!("{array}[{index}]: {refusal}")).with_id(refusal.id())
}
