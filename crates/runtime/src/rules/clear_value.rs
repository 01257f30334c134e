//! Optimized clear values.

use heapwright_d3d12::*;

use super::Refusal;
use super::resource::Resource;
use crate::format::properties;

/// Checks the `pOptimizedClearValue` of a resource; `None` stands for null.
///
/// Only render targets and depth-stencils may have one. Its format must be a typed format that the resource can be
/// viewed as.
pub(crate) fn check(
    resource: &Resource,
    value: Option<&D3D12_CLEAR_VALUE>,
    castable_formats: &[DXGI_FORMAT],
) -> Result<(), Refusal> {
    let Some(value) = value else { return Ok(()) };
    check_value(resource, value, castable_formats)
        .map_err(|refusal| refusal.or_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE))
}

fn check_value(
    resource: &Resource,
    value: &D3D12_CLEAR_VALUE,
    castable_formats: &[DXGI_FORMAT],
) -> Result<(), Refusal> {
    let Some(texture) = resource.texture() else {
        return Err(Refusal::invalid("pOptimizedClearValue must be null for a buffer")
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE));
    };
    let usage = texture.args.usage;
    if !usage.is_render_target_or_depth_stencil() {
        return Err(Refusal::invalid(
            "pOptimizedClearValue must be null unless Flags contain ALLOW_RENDER_TARGET or ALLOW_DEPTH_STENCIL",
        )
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE));
    }
    let resource_format = texture.args.format;
    let (support, view) = if usage.depth_stencil {
        (D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, "a depth-stencil view")
    } else {
        (D3D12_FORMAT_SUPPORT1_RENDER_TARGET, "a render target view")
    };
    let viewed = properties(value.Format).filter(|row| row.support().has(support)).ok_or_else(|| {
        Refusal::invalid(format!(
            "D3D12_CLEAR_VALUE::Format {} is not a typed format that supports {view}",
            value.Format
        ))
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_UNRECOGNIZEDCLEARVALUEFORMAT)
    })?;
    let is_castable = castable_formats.contains(&viewed.format);
    if viewed.family != resource_format.family && !is_castable {
        return Err(Refusal::invalid(format!(
            "D3D12_CLEAR_VALUE::Format {} must be in the format family of the resource's Format {} or in \
             pCastableFormats",
            viewed.name, resource_format.name
        ))
        .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUEFORMAT));
    }
    if usage.depth_stencil {
        // SAFETY: every bit pattern is a valid value of both members of the union, and both are plain numbers.
        let depth = unsafe { value.Anonymous.DepthStencil.Depth };
        if !(0.0..=1.0).contains(&depth) {
            return Err(Refusal::invalid(format!(
                "D3D12_CLEAR_VALUE::DepthStencil.Depth {depth} must be between 0 and 1"
            ))
            .with_id(D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE));
        }
    }
    Ok(())
}

/// Returns the format and the bits of a clear value.
///
/// # Safety
///
/// The union member for the format is initialised.
pub(crate) unsafe fn bits(value: &D3D12_CLEAR_VALUE) -> (DXGI_FORMAT, [u32; 4]) {
    let is_depth = properties(value.Format)
        .is_some_and(|format| format.support().has(D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL));
    let bits = if is_depth {
        // SAFETY: guaranteed by the caller.
        let value = unsafe { value.Anonymous.DepthStencil };
        [value.Depth.to_bits(), value.Stencil.into(), 0, 0]
    } else {
        // SAFETY: guaranteed by the caller.
        unsafe { value.Anonymous.Color }.map(f32::to_bits)
    };
    (value.Format, bits)
}
