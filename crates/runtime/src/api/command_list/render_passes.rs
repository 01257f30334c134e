//! `BeginRenderPass` and `EndRenderPass`: reads the accesses that the application describes.

use heapwright_d3d12::*;

use super::views::find_view;
use super::{Recording, read_array};
use crate::api::device::Device;
use crate::api::resource::operand;
use crate::drivers::command::Command;
use crate::rules::Refusal;
use crate::rules::commands::render_passes::{
    self, Aspect, Beginning, EndingAccess, EndingResolve, Target, check_begin,
};
use crate::rules::views::View;

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
) -> Result<Vec<Command>, Refusal> {
    check_begin(recording.render_pass.is_some(), targets.len(), depth_stencil.is_some(), flags)?;
    let mut asked = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let name = format!("pRenderTargets[{index}].cpuDescriptor");
        let (_, view) = find_view(device, target.cpuDescriptor, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, &name)?;
        let accesses = (&target.BeginningAccess, &target.EndingAccess);
        // SAFETY: guaranteed by the caller.
        asked.push(unsafe { read_target(device, Aspect::Color(index), view, accesses) }?);
    }
    if let Some(desc) = depth_stencil {
        let (heap_type, name) = (D3D12_DESCRIPTOR_HEAP_TYPE_DSV, "pDepthStencil->cpuDescriptor");
        let (_, view) = find_view(device, desc.cpuDescriptor, heap_type, name)?;
        for (aspect, accesses) in [
            (Aspect::Depth, (&desc.DepthBeginningAccess, &desc.DepthEndingAccess)),
            (Aspect::Stencil, (&desc.StencilBeginningAccess, &desc.StencilEndingAccess)),
        ] {
            // SAFETY: guaranteed by the caller.
            asked.push(unsafe { read_target(device, aspect, view.clone(), accesses) }?);
        }
    }
    let begun = render_passes::begin(asked)?;
    recording.note_pass_contents(begun.contents);
    recording.render_pass = Some(begun.pass);
    recording.unbind_render_targets();
    Ok(begun.commands)
}

/// Records `EndRenderPass`.
pub(super) fn end(recording: &mut Recording) -> Result<Vec<Command>, Refusal> {
    let (commands, contents) = render_passes::end(recording.render_pass.take())?;
    recording.note_pass_contents(contents);
    Ok(commands)
}

/// Reads the accesses of a pass to one plane of a view.
///
/// # Safety
///
/// The union members selected by `Type` are initialised, and the pointers in them point to as many elements as their
/// counts.
unsafe fn read_target<'a>(
    device: &Device,
    aspect: Aspect,
    view: Option<View>,
    (begins, ends): (&D3D12_RENDER_PASS_BEGINNING_ACCESS, &'a D3D12_RENDER_PASS_ENDING_ACCESS),
) -> Result<Target<'a>, Refusal> {
    // SAFETY: guaranteed by the caller.
    let begins = unsafe { beginning(begins, aspect) }?;
    let ends = match ends.Type {
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_DISCARD => EndingAccess::Discard,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_PRESERVE => EndingAccess::Preserve,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_NO_ACCESS => EndingAccess::NoAccess,
        D3D12_RENDER_PASS_ENDING_ACCESS_TYPE_RESOLVE => {
            // SAFETY: Type determines which member of the union the application wrote.
            let desc = unsafe { &ends.Anonymous.Resolve };
            let named = |what: &str| format!("{aspect}: {what}");
            EndingAccess::Resolve(EndingResolve {
                source: operand(device, desc.pSrcResource.as_ref(), named("pSrcResource"))?,
                target: operand(device, desc.pDstResource.as_ref(), named("pDstResource"))?,
                // SAFETY: by the COM contract, pSubresourceParameters is null or has SubresourceCount elements.
                parts: unsafe {
                    read_array(desc.SubresourceCount, desc.pSubresourceParameters, "pSubresourceParameters")?
                },
                format: desc.Format,
                mode: desc.ResolveMode,
                preserves_source: desc.PreserveResolveSource.as_bool(),
            })
        }
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
    Ok(Target { aspect, view, begins, ends })
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
