//! `BeginRenderPass` and `EndRenderPass`, as far as they concern memory.
//!
//! `BeginRenderPass` records the beginning accesses (clears as fills) and `EndRenderPass` the ending accesses
//! (resolves). Between the two, calls that D3D12 does not allow there are refused, as are barriers that could order the
//! pass's own writes. The pass keeps the resources that it renders to alive. Suspending and resuming passes,
//! PRESERVE_LOCAL accesses and passes that bind depth or stencil read-only are not implemented.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::barriers::extents;
use super::bindings;
use super::clears::{self, fill_color, fill_depth, fill_stencil};
use super::resolves::{self, Resolve};
use super::{Recording, read_array};
use crate::aliasing::RenderedView;
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::api::views::{Descriptor, View, ViewPart};
use crate::ddi::command::Command;
use crate::ddi::driver_resource::DriverResource;
use crate::rules::Refusal;

/// An open render pass.
pub(super) struct RenderPass {
    attachments: Vec<Attachment>,
}

/// One plane of a view that a pass renders to.
struct Attachment {
    view: View,
    resource: Arc<dyn DriverResource>,
    plane: u32,
    aspect: Aspect,
    ending: Ending,
}

/// The beginning access of an attachment.
#[derive(Clone, Copy)]
enum Beginning {
    Discard,
    Preserve,
    ClearColor([f32; 4]),
    ClearDepth(f32),
    ClearStencil(u8),
    NoAccess,
}

/// The ending access of an attachment.
enum Ending {
    Discard,
    Preserve,
    Resolve { commands: Vec<Command>, preserves_source: bool },
    NoAccess,
}

/// The effect of a pass on the contents of an attachment, besides its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentAccess {
    /// The contents are no longer needed, at the beginning or at the end.
    Discard,
    /// The pass uses the existing contents.
    Load,
    /// The contents are used after the pass.
    Store,
}

/// Notes discards and loads of a pass for the aliasing tracker. Neither has a command: discarded contents may stay as
/// they are, and memory preserves its contents anyway.
fn access_contents(recording: &mut Recording, attachment: &Attachment, access: ContentAccess) {
    let Attachment { resource, view, plane, .. } = attachment;
    match access {
        ContentAccess::Discard => recording.note_pass_discard(resource, view, *plane),
        ContentAccess::Load => recording.note_pass_load(resource, view, *plane),
        ContentAccess::Store => {}
    }
}

/// The kind of view and the plane of an access, and their name in messages.
#[derive(Clone, Copy)]
enum Aspect {
    Color(usize),
    Depth,
    Stencil,
}

impl Aspect {
    /// Checks whether a view is read-only for the aspect.
    fn is_read_only(self, view: &View) -> bool {
        let flag = match self {
            Self::Color(_) => D3D12_DSV_FLAG_NONE,
            Self::Depth => D3D12_DSV_FLAG_READ_ONLY_DEPTH,
            Self::Stencil => D3D12_DSV_FLAG_READ_ONLY_STENCIL,
        };
        view.read_only & flag != 0
    }
}

impl std::fmt::Display for Aspect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Color(index) => write!(f, "pRenderTargets[{index}]"),
            Self::Depth => f.write_str("pDepthStencil, depth"),
            Self::Stencil => f.write_str("pDepthStencil, stencil"),
        }
    }
}

/// Records `BeginRenderPass`.
///
/// # Safety
///
/// The union members selected by `Type` are initialised, and the pointers in them point to as many elements as their
/// counts.
pub(super) unsafe fn begin(
    device: &Device,
    recording: &mut Recording,
    targets: &[D3D12_RENDER_PASS_RENDER_TARGET_DESC],
    depth_stencil: Option<&D3D12_RENDER_PASS_DEPTH_STENCIL_DESC>,
    flags: D3D12_RENDER_PASS_FLAGS,
) -> Result<(), Refusal> {
    if recording.render_pass.is_some() {
        return Err(Refusal::invalid("a render pass is already open; render passes cannot be nested")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_NEST_RENDER_PASSES));
    }
    check_flags(flags)?;
    let error = |message: String| Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR);
    if targets.len() > D3D12_SIMULTANEOUS_RENDER_TARGET_COUNT as usize {
        return Err(error(format!("NumRenderTargets {} exceeds the limit of 8", targets.len())));
    }
    if targets.is_empty() && depth_stencil.is_none() {
        return Err(error("a render pass requires a render target or a depth stencil".to_owned()));
    }
    let mut begun = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let name = format!("pRenderTargets[{index}].cpuDescriptor");
        let view = attached_view(device, target.cpuDescriptor, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, &name)?;
        let accesses = (&target.BeginningAccess, &target.EndingAccess);
        // SAFETY: guaranteed by the caller.
        begun.extend(unsafe { attach(device, view.as_ref(), Aspect::Color(index), accesses) }?);
    }
    if let Some(desc) = depth_stencil {
        let (heap_type, name) = (D3D12_DESCRIPTOR_HEAP_TYPE_DSV, "pDepthStencil->cpuDescriptor");
        let view = attached_view(device, desc.cpuDescriptor, heap_type, name)?;
        let depth = (&desc.DepthBeginningAccess, &desc.DepthEndingAccess);
        // SAFETY: guaranteed by the caller.
        begun.extend(unsafe { attach(device, view.as_ref(), Aspect::Depth, depth) }?);
        let stencil = (&desc.StencilBeginningAccess, &desc.StencilEndingAccess);
        // Accesses to a stencil that does not exist have no effect.
        let view = view.filter(clears::has_stencil);
        // SAFETY: guaranteed by the caller.
        begun.extend(unsafe { attach(device, view.as_ref(), Aspect::Stencil, stencil) }?);
    }
    let mut attachments = Vec::with_capacity(begun.len());
    for (attachment, beginning) in begun {
        begin_attachment(recording, &attachment, beginning)?;
        attachments.push(attachment);
    }
    recording.render_pass = Some(RenderPass { attachments });
    recording.unbind_render_targets();
    Ok(())
}

fn check_flags(flags: D3D12_RENDER_PASS_FLAGS) -> Result<(), Refusal> {
    let across = D3D12_RENDER_PASS_FLAG_SUSPENDING_PASS | D3D12_RENDER_PASS_FLAG_RESUMING_PASS;
    let read_only =
        D3D12_RENDER_PASS_FLAG_BIND_READ_ONLY_DEPTH | D3D12_RENDER_PASS_FLAG_BIND_READ_ONLY_STENCIL;
    // ALLOW_UAV_WRITES concerns draws only, which are not executed.
    if flags & !(D3D12_RENDER_PASS_FLAG_ALLOW_UAV_WRITES | across | read_only) != 0 {
        return Err(Refusal::invalid(format!("Flags {flags:#x} is not a valid D3D12_RENDER_PASS_FLAGS"))
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR));
    }
    if flags & across != 0 {
        return Err(Refusal::not_implemented("suspending and resuming render passes"));
    }
    if flags & read_only != 0 {
        return Err(Refusal::not_implemented("render passes with read-only depth or stencil"));
    }
    Ok(())
}

/// Returns the view of an attachment, or `None` for a null view, which a pass does not access.
fn attached_view(
    device: &Device,
    handle: D3D12_CPU_DESCRIPTOR_HANDLE,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    name: &str,
) -> Result<Option<View>, Refusal> {
    match clears::find_descriptor(device, handle, heap_type, name)?.1 {
        Some(Descriptor::View(view)) => Ok(Some(view)),
        Some(Descriptor::Null) => Ok(None),
        Some(Descriptor::ShadersOnly) | None => Err(Refusal::invalid(format!(
            "{name} refers to a descriptor without a view that can be rendered to"
        ))
        .with_id(D3D12_MESSAGE_ID_INVALID_DESCRIPTOR_HANDLE)),
    }
}

/// Checks the accesses of a pass to one plane of a view.
///
/// # Safety
///
/// The union members selected by `Type` are initialised, and the pointers in them point to as many elements as their
/// counts.
unsafe fn attach(
    device: &Device,
    view: Option<&View>,
    aspect: Aspect,
    (begins, ends): (&D3D12_RENDER_PASS_BEGINNING_ACCESS, &D3D12_RENDER_PASS_ENDING_ACCESS),
) -> Result<Option<(Attachment, Beginning)>, Refusal> {
    let no_access = (
        begins.Type == D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_NO_ACCESS,
        ends.Type == D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_NO_ACCESS,
    );
    if no_access.0 != no_access.1 {
        return Err(Refusal::invalid(format!(
            "{aspect}: beginning and ending access must both be NO_ACCESS, or neither"
        ))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_MISMATCHING_NO_ACCESS));
    }
    // SAFETY: guaranteed by the caller.
    let beginning = unsafe { beginning(begins, aspect) }?;
    let plane = match (view, aspect) {
        (Some(view), Aspect::Color(_)) => view.plane(),
        (_, Aspect::Stencil) => 1,
        _ => 0,
    };
    let ending = match ends.Type {
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_DISCARD => Ending::Discard,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE => Ending::Preserve,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_NO_ACCESS => Ending::NoAccess,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_RESOLVE => match view {
            // SAFETY: Type determines which member of the union the application wrote; the caller guarantees its
            // contents.
            Some(view) => unsafe { ending_resolve(device, view, plane, aspect, &ends.Anonymous.Resolve)? },
            None => return Err(no_resolve(aspect, "the view is a null view")),
        },
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE_LOCAL_RENDER
        | D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE_LOCAL_SRV
        | D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE_LOCAL_UAV => return Err(no_local(aspect)),
        other => {
            return Err(Refusal::invalid(format!(
                "{aspect}: {other} is not a valid D3D12_RENDER_PASS_ENDING_ACCESS_TYPE"
            ))
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR));
        }
    };
    let Some(view) = view else { return Ok(None) };
    let keeps = matches!(beginning, Beginning::Preserve | Beginning::NoAccess);
    let writes = !keeps || matches!(ending, Ending::Discard);
    if aspect.is_read_only(view) && writes {
        return Err(Refusal::invalid(format!(
            "{aspect}: the view is read-only, but the pass clears or discards it"
        ))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR));
    }
    let attachment = Attachment { resource: view.resource()?, view: view.clone(), plane, aspect, ending };
    Ok(Some((attachment, beginning)))
}

/// # Safety
///
/// The union member selected by `Type` is initialised, and in a clear value the member for `aspect`.
unsafe fn beginning(
    access: &D3D12_RENDER_PASS_BEGINNING_ACCESS,
    aspect: Aspect,
) -> Result<Beginning, Refusal> {
    match access.Type {
        D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_DISCARD => Ok(Beginning::Discard),
        D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE => Ok(Beginning::Preserve),
        D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_NO_ACCESS => Ok(Beginning::NoAccess),
        D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_CLEAR => {
            // SAFETY: Type determines which member of the union the application wrote.
            let value = unsafe { access.Anonymous.Clear }.ClearValue.Anonymous;
            // SAFETY: the aspect determines which member of the clear value the application wrote.
            Ok(unsafe {
                match aspect {
                    Aspect::Color(_) => Beginning::ClearColor(value.Color),
                    Aspect::Depth => Beginning::ClearDepth(value.DepthStencil.Depth),
                    Aspect::Stencil => Beginning::ClearStencil(value.DepthStencil.Stencil),
                }
            })
        }
        D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE_LOCAL_RENDER
        | D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE_LOCAL_SRV
        | D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE_PRESERVE_LOCAL_UAV => Err(no_local(aspect)),
        other => Err(Refusal::invalid(format!(
            "{aspect}: {other} is not a valid D3D12_RENDER_PASS_BEGINNING_ACCESS_TYPE"
        ))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR)),
    }
}

fn no_local(aspect: Aspect) -> Refusal {
    Refusal::not_implemented(format!("{aspect}: PRESERVE_LOCAL access types"))
}

fn no_resolve(aspect: Aspect, why: &str) -> Refusal {
    Refusal::invalid(format!("{aspect}: ending access RESOLVE: {why}"))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_UNSUPPORTED_RESOLVE)
}

/// Checks the resolves at the end of a pass, when the pass begins.
///
/// # Safety
///
/// `pSubresourceParameters` is null or points to `SubresourceCount` elements.
unsafe fn ending_resolve(
    device: &Device,
    view: &View,
    plane: u32,
    aspect: Aspect,
    desc: &D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_PARAMETERS,
) -> Result<Ending, Refusal> {
    let named = |what: &str| format!("{aspect}: {what}");
    let source = own::<Resource>(device, desc.pSrcResource.as_ref(), named("pSrcResource"))?;
    let target = own::<Resource>(device, desc.pDstResource.as_ref(), named("pDstResource"))?;
    if !Arc::ptr_eq(source.driver(), &view.resource()?) {
        return Err(no_resolve(aspect, "pSrcResource is not the resource of the view"));
    }
    // SAFETY: by the COM contract, pSubresourceParameters is null or has SubresourceCount elements.
    let parts =
        unsafe { read_array(desc.SubresourceCount, desc.pSubresourceParameters, "pSubresourceParameters")? };
    let mode = resolves::mode(desc.ResolveMode)?;
    let mut commands = Vec::new();
    for part in parts {
        if !covers(view, plane, part.SrcSubresource) {
            let why = format!("SrcSubresource {} is not in the view", part.SrcSubresource);
            return Err(no_resolve(aspect, &why));
        }
        let resolve = Resolve {
            target,
            target_subresource: part.DstSubresource,
            target_start: [part.DstX, part.DstY],
            source,
            source_subresource: part.SrcSubresource,
            // Not a pointer: a rectangle of zeros is empty.
            rect: Some(part.SrcRect),
            format: desc.Format,
            mode,
        };
        commands.extend(resolve.command()?);
    }
    Ok(Ending::Resolve { commands, preserves_source: desc.PreserveResolveSource.as_bool() })
}

/// Checks whether a plane of a view contains a subresource.
fn covers(view: &View, plane: u32, subresource: u32) -> bool {
    let [mips, slices, planes] = extents(&view.desc);
    let (mip, rest) = (subresource % mips, subresource / mips);
    let (slice, of_plane) = (rest % slices, rest / slices);
    of_plane < planes && of_plane == plane && covers_range(view, (mip, 1), (slice, 1))
}

/// Checks whether a view contains any subresource of a range of mip levels and array slices.
fn covers_range(view: &View, mips: (u32, u32), slices: (u32, u32)) -> bool {
    let ViewPart::Slices { mip, first, count, .. } = view.part else { return false };
    // In a view of a volume, the slices are depth slices of a single subresource.
    let is_volume = view.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
    let (first, count) = if is_volume { (0, 1) } else { (first, count) };
    let overlap =
        |a: (u32, u32), b: (u32, u32)| a.0 < b.0.saturating_add(b.1) && b.0 < a.0.saturating_add(a.1);
    overlap((mip, 1), mips) && overlap((first, count), slices)
}

fn begin_attachment(
    recording: &mut Recording,
    attachment: &Attachment,
    beginning: Beginning,
) -> Result<(), Refusal> {
    let view = &attachment.view;
    match beginning {
        Beginning::NoAccess => {}
        Beginning::Discard => access_contents(recording, attachment, ContentAccess::Discard),
        Beginning::Preserve => access_contents(recording, attachment, ContentAccess::Load),
        Beginning::ClearColor(color) => fill_color(recording, view, color, &[])?,
        Beginning::ClearDepth(depth) => fill_depth(recording, view, depth, &[])?,
        Beginning::ClearStencil(stencil) => fill_stencil(recording, view, stencil, &[])?,
    }
    Ok(())
}

/// Records `EndRenderPass`.
pub(super) fn end(recording: &mut Recording) -> Result<(), Refusal> {
    let Some(pass) = recording.render_pass.take() else {
        return Err(Refusal::invalid("no render pass is open")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_END_WITHOUT_BEGIN));
    };
    for mut attachment in pass.attachments {
        let access = match &mut attachment.ending {
            Ending::NoAccess => continue,
            Ending::Discard => ContentAccess::Discard,
            Ending::Preserve => ContentAccess::Store,
            Ending::Resolve { commands, preserves_source } => {
                recording.commands.append(commands);
                if *preserves_source { ContentAccess::Store } else { ContentAccess::Discard }
            }
        };
        access_contents(recording, &attachment, access);
    }
    Ok(())
}

impl Recording {
    /// Checks that no render pass is open.
    pub(super) fn check_outside_pass(&self) -> Result<(), Refusal> {
        if self.render_pass.is_none() {
            return Ok(());
        }
        Err(Refusal::invalid("this call is not allowed between BeginRenderPass and EndRenderPass")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_DISALLOWED_API_CALLED))
    }

    /// Checks that no render pass is open, so that the list can be closed.
    pub(super) fn check_pass_ended(&self) -> Result<(), Refusal> {
        if self.render_pass.is_none() {
            return Ok(());
        }
        Err(Refusal::invalid("a render pass is still open")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_CLOSE_COMMAND_LIST))
    }

    /// Checks the barriers of a `ResourceBarrier` call in an open render pass. The barriers are valid by themselves.
    ///
    /// A driver may move barriers to the beginning of the pass. They must therefore not concern resources that the pass
    /// writes, and aliasing and UAV barriers are not allowed.
    ///
    /// # Safety
    ///
    /// In each barrier, the union member selected by `Type` is initialised.
    pub(super) unsafe fn check_pass_barriers(
        &self,
        device: &Device,
        barriers: &[D3D12_RESOURCE_BARRIER],
    ) -> Result<(), Refusal> {
        let Some(pass) = &self.render_pass else { return Ok(()) };
        for (index, barrier) in barriers.iter().enumerate() {
            match barrier.Type {
                D3D12_RESOURCE_BARRIER_TYPE_TRANSITION => {
                    // SAFETY: Type determines which member of the union the application wrote.
                    let transition = unsafe { &barrier.Anonymous.Transition };
                    let resource = own::<Resource>(device, transition.pResource.as_ref(), "pResource")?;
                    let subresource = transition.Subresource;
                    let is_written = pass.accessed(resource).any(|attachment| {
                        subresource == D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES
                            || covers(&attachment.view, attachment.plane, subresource)
                    });
                    if is_written {
                        return Err(misplaced(
                            "pBarriers",
                            index,
                            "a transition of a render target or depth stencil of the pass",
                        ));
                    }
                }
                D3D12_RESOURCE_BARRIER_TYPE_ALIASING => {
                    return Err(misplaced("pBarriers", index, "an aliasing barrier"));
                }
                _ => return Err(misplaced("pBarriers", index, "a UAV barrier")),
            }
        }
        Ok(())
    }

    /// Same as [`check_pass_barriers`](Self::check_pass_barriers), for a `Barrier` call.
    ///
    /// D3D12 does not document enhanced barriers in render passes. They are treated as the legacy barriers that they
    /// correspond to: UNORDERED_ACCESS on both sides is a UAV barrier, and a layout of UNDEFINED on one side activates
    /// or deactivates a texture.
    ///
    /// # Safety
    ///
    /// Each group points to `NumBarriers` barriers of its type.
    pub(super) unsafe fn check_pass_barrier_groups(
        &self,
        device: &Device,
        groups: &[D3D12_BARRIER_GROUP],
    ) -> Result<(), Refusal> {
        let Some(pass) = &self.render_pass else { return Ok(()) };
        for (index, group) in groups.iter().enumerate() {
            let refuse = |what| Err(misplaced("pBarrierGroups", index, what));
            let check_accesses = |before, after| {
                if before & after & D3D12_BARRIER_ACCESS_UNORDERED_ACCESS != 0 {
                    return refuse("a barrier between unordered accesses");
                }
                Ok(())
            };
            let count = group.NumBarriers;
            // SAFETY: Type determines which member of the union the application wrote; by the COM contract, it has
            // NumBarriers elements.
            unsafe {
                match group.Type {
                    D3D12_BARRIER_TYPE_GLOBAL => {
                        for barrier in read_array(count, group.Anonymous.pGlobalBarriers, "pGlobalBarriers")?
                        {
                            check_accesses(barrier.AccessBefore, barrier.AccessAfter)?;
                        }
                    }
                    D3D12_BARRIER_TYPE_BUFFER => {
                        for barrier in read_array(count, group.Anonymous.pBufferBarriers, "pBufferBarriers")?
                        {
                            check_accesses(barrier.AccessBefore, barrier.AccessAfter)?;
                        }
                    }
                    _ => {
                        let barriers =
                            read_array(count, group.Anonymous.pTextureBarriers, "pTextureBarriers")?;
                        for barrier in barriers {
                            check_accesses(barrier.AccessBefore, barrier.AccessAfter)?;
                            let undefined = D3D12_BARRIER_LAYOUT_UNDEFINED;
                            if (barrier.LayoutBefore == undefined) != (barrier.LayoutAfter == undefined) {
                                return refuse("a barrier that activates or deactivates a texture");
                            }
                            let resource = own::<Resource>(device, barrier.pResource.as_ref(), "pResource")?;
                            if pass.accessed(resource).any(|bound| bound.is_in(&barrier.Subresources)) {
                                return refuse("a barrier on a render target or depth stencil of the pass");
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl RenderPass {
    /// Returns the views that draws of the pass write.
    pub(super) fn rendered(&self) -> Vec<RenderedView> {
        let written = self.attachments.iter().filter(|attachment| {
            !matches!(attachment.ending, Ending::NoAccess)
                && !attachment.aspect.is_read_only(&attachment.view)
        });
        let rendered = |bound: &Attachment| {
            bindings::rendered(&bound.view, bound.plane, !matches!(bound.aspect, Aspect::Color(_)))
        };
        written.filter_map(rendered).collect()
    }

    /// Returns the attachments that are planes of `resource` and that the pass accesses.
    fn accessed(&self, resource: &Resource_Impl) -> impl Iterator<Item = &Attachment> {
        self.attachments.iter().filter(move |attachment| {
            !matches!(attachment.ending, Ending::NoAccess)
                && Arc::ptr_eq(&attachment.resource, resource.driver())
        })
    }
}

impl Attachment {
    /// Checks whether a valid range of subresources contains any of the attachment's.
    fn is_in(&self, range: &D3D12_BARRIER_SUBRESOURCE_RANGE) -> bool {
        if range.NumMipLevels == 0 {
            let index = range.IndexOrFirstMipLevel;
            return index == D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES || covers(&self.view, self.plane, index);
        }
        let is_plane = self.plane.checked_sub(range.FirstPlane).is_some_and(|plane| plane < range.NumPlanes);
        let mips = (range.IndexOrFirstMipLevel, range.NumMipLevels);
        is_plane && covers_range(&self.view, mips, (range.FirstArraySlice, range.NumArraySlices.max(1)))
    }
}

fn misplaced(array: &str, index: usize, what: &str) -> Refusal {
    Refusal::invalid(format!("{array}[{index}]: {what} is not allowed in a render pass"))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_INVALID_RESOURCE_BARRIER)
}
