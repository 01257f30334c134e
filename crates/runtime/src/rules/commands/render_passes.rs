//! `BeginRenderPass` and `EndRenderPass`, as far as they concern memory, and the calls allowed between the two.
//!
//! Beginning accesses are fills (clears), ending accesses are resolves. Between the two, calls that D3D12 does not
//! allow there are refused, as are barriers that could order the pass's own writes. The pass keeps the resources that
//! it renders to alive. Suspending and resuming passes, PRESERVE_LOCAL accesses and passes that bind depth or stencil
//! read-only are not implemented.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::barriers::{enhanced, legacy};
use super::clears::{fill_color, fill_depth, fill_stencil, has_stencil};
use super::resolves::{self, Resolve};
use crate::drivers::command::Command;
use crate::drivers::resource::DriverResource;
use crate::rules::Refusal;
use crate::rules::operand::{Operand, contains};
use crate::rules::views::{View, ViewPart};

/// An open render pass.
pub(crate) struct RenderPass {
    attachments: Vec<Attachment>,
}

/// One plane of a view that a pass renders to.
struct Attachment {
    view: View,
    resource: Arc<DriverResource>,
    plane: u32,
    aspect: Aspect,
    ending: Ending,
}

/// The beginning access of an attachment.
#[derive(Clone, Copy)]
pub(crate) enum Beginning {
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

/// A part of a resource whose contents a pass discards or uses. Neither has a command: discarded contents may stay as
/// they are, and memory preserves its contents anyway.
pub(crate) struct Contents {
    pub(crate) resource: Arc<DriverResource>,
    pub(crate) subresources: Vec<u32>,
    /// Whether the part is all of each subresource.
    pub(crate) is_whole: bool,
    pub(crate) is_discarded: bool,
}

/// One plane of a view, and the accesses that a pass is to make to it. `None` is a null view, which it does not access.
pub(crate) struct Target<'a> {
    pub(crate) aspect: Aspect,
    pub(crate) view: Option<View>,
    pub(crate) begins: Beginning,
    pub(crate) ends: EndingAccess<'a>,
}

/// The ending access of a target, as the application describes it.
pub(crate) enum EndingAccess<'a> {
    Discard,
    Preserve,
    Resolve(EndingResolve<'a>),
    NoAccess,
}

/// The resolves at the end of a pass, as the application describes them.
pub(crate) struct EndingResolve<'a> {
    pub(crate) source: Operand<'a>,
    pub(crate) target: Operand<'a>,
    pub(crate) parts: &'a [D3D12_RENDER_PASS_ENDING_ACCESS_RESOLVE_SUBRESOURCE_PARAMETERS],
    pub(crate) format: DXGI_FORMAT,
    pub(crate) mode: D3D12_RESOLVE_MODE,
    pub(crate) preserves_source: bool,
}

/// A pass that begins, and what that does.
pub(crate) struct Begun {
    pub(crate) pass: RenderPass,
    pub(crate) commands: Vec<Command>,
    pub(crate) contents: Vec<Contents>,
}

/// The kind of view and the plane of an access, and their name in messages.
#[derive(Clone, Copy)]
pub(crate) enum Aspect {
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

/// Checks the parameters of `BeginRenderPass` except for the accesses. `is_open` tells whether a pass is open.
pub(crate) fn check_begin(
    is_open: bool,
    target_count: usize,
    has_depth_stencil: bool,
    flags: D3D12_RENDER_PASS_FLAGS,
) -> Result<(), Refusal> {
    if is_open {
        return Err(Refusal::invalid("a render pass is already open; render passes cannot be nested")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_NEST_RENDER_PASSES));
    }
    check_flags(flags)?;
    let error = |message: String| Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR);
    if target_count > D3D12_SIMULTANEOUS_RENDER_TARGET_COUNT as usize {
        return Err(error(format!("NumRenderTargets {target_count} exceeds the limit of 8")));
    }
    if target_count == 0 && !has_depth_stencil {
        return Err(error("a render pass requires a render target or a depth stencil".to_owned()));
    }
    Ok(())
}

/// Checks the accesses of a pass.
pub(crate) fn begin(targets: Vec<Target<'_>>) -> Result<Begun, Refusal> {
    let attached = targets.into_iter().map(attach).collect::<Result<Vec<_>, _>>()?;
    let (mut attachments, mut commands, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for (attachment, beginning) in attached.into_iter().flatten() {
        let view = &attachment.view;
        match beginning {
            Beginning::NoAccess => {}
            Beginning::Discard => contents.extend(attachment.contents(true)),
            Beginning::Preserve => contents.extend(attachment.contents(false)),
            Beginning::ClearColor(color) => commands.extend(fill_color(view, color, &[])?),
            Beginning::ClearDepth(depth) => commands.extend(fill_depth(view, depth, &[])?),
            Beginning::ClearStencil(stencil) => commands.extend(fill_stencil(view, stencil, &[])?),
        }
        attachments.push(attachment);
    }
    Ok(Begun { pass: RenderPass { attachments }, commands, contents })
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

/// Checks the accesses of a pass to one plane of a view.
fn attach(target: Target<'_>) -> Result<Option<(Attachment, Beginning)>, Refusal> {
    let Target { aspect, view, begins, ends } = target;
    let is_unused = (matches!(begins, Beginning::NoAccess), matches!(ends, EndingAccess::NoAccess));
    if is_unused.0 != is_unused.1 {
        return Err(Refusal::invalid(format!(
            "{aspect}: beginning and ending access must both be NO_ACCESS, or neither"
        ))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_MISMATCHING_NO_ACCESS));
    }
    // Accesses to a stencil that does not exist have no effect.
    let view = view.filter(|view| !matches!(aspect, Aspect::Stencil) || has_stencil(view));
    let plane = match (&view, aspect) {
        (Some(view), Aspect::Color(_)) => view.plane(),
        (_, Aspect::Stencil) => 1,
        _ => 0,
    };
    let ending = match (ends, &view) {
        (EndingAccess::Discard, _) => Ending::Discard,
        (EndingAccess::Preserve, _) => Ending::Preserve,
        (EndingAccess::NoAccess, _) => Ending::NoAccess,
        (EndingAccess::Resolve(resolve), Some(view)) => ending_resolve(&resolve, view, plane, aspect)?,
        (EndingAccess::Resolve(_), None) => return Err(no_resolve(aspect, "the view is a null view")),
    };
    let Some(view) = view else { return Ok(None) };
    let keeps = matches!(begins, Beginning::Preserve | Beginning::NoAccess);
    let writes = !keeps || matches!(ending, Ending::Discard);
    if aspect.is_read_only(&view) && writes {
        return Err(Refusal::invalid(format!(
            "{aspect}: the view is read-only, but the pass clears or discards it"
        ))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_ERROR));
    }
    Ok(Some((Attachment { resource: view.resource()?, view, plane, aspect, ending }, begins)))
}

fn no_resolve(aspect: Aspect, why: &str) -> Refusal {
    Refusal::invalid(format!("{aspect}: ending access RESOLVE: {why}"))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_UNSUPPORTED_RESOLVE)
}

/// Checks the resolves at the end of a pass, when the pass begins.
fn ending_resolve(
    asked: &EndingResolve<'_>,
    view: &View,
    plane: u32,
    aspect: Aspect,
) -> Result<Ending, Refusal> {
    let &EndingResolve { source, target, parts, format, preserves_source, .. } = asked;
    if !Arc::ptr_eq(source.driver, &view.resource()?) {
        return Err(no_resolve(aspect, "pSrcResource is not the resource of the view"));
    }
    let mode = resolves::mode(asked.mode)?;
    let mut commands = Vec::new();
    for part in parts {
        if !view.subresources(plane).any(|index| index == part.SrcSubresource) {
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
            format,
            mode,
        };
        commands.extend(resolve.command()?);
    }
    Ok(Ending::Resolve { commands, preserves_source })
}

/// Checks `EndRenderPass`. Returns the commands and the contents that the pass discards.
pub(crate) fn end(pass: Option<RenderPass>) -> Result<(Vec<Command>, Vec<Contents>), Refusal> {
    let Some(pass) = pass else {
        return Err(Refusal::invalid("no render pass is open")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_END_WITHOUT_BEGIN));
    };
    let (mut all, mut contents) = (Vec::new(), Vec::new());
    for mut attachment in pass.attachments {
        let discards = match &mut attachment.ending {
            Ending::NoAccess | Ending::Preserve => false,
            Ending::Discard => true,
            Ending::Resolve { commands, preserves_source } => {
                all.append(commands);
                !*preserves_source
            }
        };
        if discards {
            contents.extend(attachment.contents(true));
        }
    }
    Ok((all, contents))
}

/// Checks that no render pass is open.
pub(crate) fn check_outside(pass: Option<&RenderPass>) -> Result<(), Refusal> {
    match pass {
        None => Ok(()),
        Some(_) => {
            Err(Refusal::invalid("this call is not allowed between BeginRenderPass and EndRenderPass")
                .with_id(D3D12_MESSAGE_ID_RENDER_PASS_DISALLOWED_API_CALLED))
        }
    }
}

/// Checks that no render pass is open, so that the list can be closed.
pub(crate) fn check_ended(pass: Option<&RenderPass>) -> Result<(), Refusal> {
    match pass {
        None => Ok(()),
        Some(_) => Err(Refusal::invalid("a render pass is still open")
            .with_id(D3D12_MESSAGE_ID_RENDER_PASS_CANNOT_CLOSE_COMMAND_LIST)),
    }
}

impl RenderPass {
    /// Checks that a valid barrier of `ResourceBarrier` is allowed in the pass.
    ///
    /// A driver may move barriers to the beginning of the pass. They must therefore not concern resources that the pass
    /// writes, and aliasing and UAV barriers are not allowed.
    pub(crate) fn check_barrier(&self, barrier: &legacy::Barrier<'_>) -> Result<(), Refusal> {
        match barrier.kind {
            legacy::BarrierKind::Transition { resource, subresource, .. } => {
                let is_all = subresource == D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
                if self.renders_to(resource, |of| is_all || of.shows(|index| index == subresource)) {
                    return Err(misplaced("a transition of a render target or depth stencil of the pass"));
                }
                Ok(())
            }
            legacy::BarrierKind::Aliasing { .. } => Err(misplaced("an aliasing barrier")),
            legacy::BarrierKind::UnorderedAccess(_) => Err(misplaced("a UAV barrier")),
        }
    }

    /// Same as [`check_barrier`](Self::check_barrier), for a barrier of `Barrier`.
    ///
    /// D3D12 does not document enhanced barriers in render passes. They are treated as the legacy barriers that they
    /// correspond to: UNORDERED_ACCESS on both sides is a UAV barrier, and a layout of UNDEFINED on one side activates
    /// or deactivates a texture.
    pub(crate) fn check_enhanced_barrier(&self, barrier: &enhanced::Barrier<'_>) -> Result<(), Refusal> {
        if barrier.access[0] & barrier.access[1] & D3D12_BARRIER_ACCESS_UNORDERED_ACCESS != 0 {
            return Err(misplaced("a barrier between unordered accesses"));
        }
        let enhanced::Target::Texture { resource, layout, subresources, .. } = barrier.target else {
            return Ok(());
        };
        let [before, after] = layout.map(|layout| layout == D3D12_BARRIER_LAYOUT_UNDEFINED);
        if before != after {
            return Err(misplaced("a barrier that activates or deactivates a texture"));
        }
        if self.renders_to(resource, |of| of.shows(|index| contains(subresources, resource.desc, index))) {
            return Err(misplaced("a barrier on a render target or depth stencil of the pass"));
        }
        Ok(())
    }

    /// Returns the views that draws of the pass write, the plane of each, and whether it is depth or stencil.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&View, u32, bool)> {
        let written = self.attachments.iter().filter(|attachment| {
            !matches!(attachment.ending, Ending::NoAccess)
                && !attachment.aspect.is_read_only(&attachment.view)
        });
        written.map(|bound| (&bound.view, bound.plane, !matches!(bound.aspect, Aspect::Color(_))))
    }

    /// Checks whether the pass accesses a plane of `resource` that satisfies a condition.
    fn renders_to(&self, resource: Operand<'_>, is_so: impl Fn(&Attachment) -> bool) -> bool {
        self.attachments.iter().any(|attachment| {
            !matches!(attachment.ending, Ending::NoAccess)
                && Arc::ptr_eq(&attachment.resource, resource.driver)
                && is_so(attachment)
        })
    }
}

impl Attachment {
    /// Checks whether any of the subresources satisfies a condition.
    fn shows(&self, is_so: impl FnMut(u32) -> bool) -> bool {
        self.view.subresources(self.plane).any(is_so)
    }

    /// Returns the contents of the attachment; none for a buffer.
    fn contents(&self, is_discarded: bool) -> Option<Contents> {
        let ViewPart::Slices { mip, first, count, .. } = self.view.part else { return None };
        let depth = (u32::from(self.view.desc.DepthOrArraySize) >> mip).max(1);
        Some(Contents {
            resource: Arc::clone(&self.resource),
            subresources: self.view.subresources(self.plane).collect(),
            is_whole: !self.view.is_volume() || (first == 0 && count == depth),
            is_discarded,
        })
    }
}

fn misplaced(what: &str) -> Refusal {
    Refusal::invalid(format!("{what} is not allowed in a render pass"))
        .with_id(D3D12_MESSAGE_ID_RENDER_PASS_INVALID_RESOURCE_BARRIER)
}
