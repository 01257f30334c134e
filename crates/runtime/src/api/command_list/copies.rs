//! Reads the operands of copies and resolves.

use heapwright_d3d12::*;

use crate::api::device::Device;
use crate::api::resource::operand;
use crate::rules::Refusal;
use crate::rules::commands::texture_copies::{Ids, Side};
use crate::rules::operand::Operand;

/// Returns the target and the source of a copy.
pub(super) fn operands<'a>(
    device: &Device,
    (target, target_name): (Option<&'a ID3D12Resource>, &str),
    (source, source_name): (Option<&'a ID3D12Resource>, &str),
    [null_target, null_source]: [D3D12_MESSAGE_ID; 2],
) -> Result<[Operand<'a>; 2], Refusal> {
    let target = operand(device, target, target_name).map_err(|refusal| refusal.with_id(null_target))?;
    let source = operand(device, source, source_name).map_err(|refusal| refusal.with_id(null_source))?;
    Ok([target, source])
}

/// Reads and checks one side of a copy.
///
/// # Safety
///
/// The union member selected by `Type` is initialised.
pub(super) unsafe fn copy_side<'a>(
    device: &Device,
    location: &'a D3D12_TEXTURE_COPY_LOCATION,
    ids: &Ids,
) -> Result<Side<'a>, Refusal> {
    let resource = operand(device, location.pResource.as_ref(), format!("{}->pResource", ids.name))
        .map_err(|refusal| refusal.with_id(ids.null))?;
    // SAFETY: Type determines which member of the union the application wrote.
    unsafe {
        match location.Type {
            D3D12_TEXTURE_COPY_TYPE_SUBRESOURCE_INDEX => {
                Side::subresource(resource, location.Anonymous.SubresourceIndex, ids)
            }
            D3D12_TEXTURE_COPY_TYPE_PLACED_FOOTPRINT => {
                Side::footprint(resource, &location.Anonymous.PlacedFootprint, ids)
            }
            other => ids.refuse(format!("Type {other} is not a valid D3D12_TEXTURE_COPY_TYPE"), ids.kind),
        }
    }
}

/// The message ids for a resolve without a target and without a source.
pub(super) const RESOLVE_NULLS: [D3D12_MESSAGE_ID; 2] =
    [D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_NULLDST, D3D12_MESSAGE_ID_RESOLVESUBRESOURCE_NULLSRC];
