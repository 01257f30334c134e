//! Copies of buffers and of whole resources; `WriteBufferImmediate`; results of queries.

use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::{Recording, texture_copies};
use crate::api::device::Device;
use crate::api::object::own;
use crate::api::resource::{Resource, Resource_Impl};
use crate::ddi::command::Command;
use crate::format::{self, TexelValue};
use crate::rules::Refusal;

/// Checks whether a resource is a buffer.
pub(super) fn is_buffer(resource: &Resource) -> bool {
    resource.desc().Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
}

/// Checks that copies may write to a resource. Resources in UPLOAD heaps stay in GENERIC_READ; states are checked by
/// the debug layer.
pub(super) fn check_target(resource: &Resource, name: &str) -> Result<(), Refusal> {
    if resource.heap_type() == Some(D3D12_HEAP_TYPE_UPLOAD) {
        return Err(Refusal::invalid(format!("{name} is in an UPLOAD heap, which the GPU cannot write")));
    }
    Ok(())
}

/// Checks that copies may read from a resource. Resources in READBACK heaps stay in COPY_DEST; states are checked by
/// the debug layer.
pub(super) fn check_source(resource: &Resource, name: &str) -> Result<(), Refusal> {
    if resource.heap_type() == Some(D3D12_HEAP_TYPE_READBACK) {
        return Err(Refusal::invalid(format!("{name} is in a READBACK heap, which cannot be a copy source")));
    }
    Ok(())
}

/// The start of a checked range of bytes in a buffer.
struct Bytes<'a> {
    buffer: &'a Resource_Impl,
    offset: u64,
}

impl<'a> Bytes<'a> {
    fn check(
        buffer: &'a Resource_Impl,
        offset: u64,
        size: u64,
        [name, offset_name]: [&str; 2],
        [wrong_kind, out_of_bounds]: [D3D12_MESSAGE_ID; 2],
    ) -> Result<Self, Refusal> {
        if !is_buffer(buffer) {
            return Err(Refusal::invalid(format!("{name} is not a buffer")).with_id(wrong_kind));
        }
        let width = buffer.desc().Width;
        if offset.checked_add(size).is_none_or(|end| end > width) {
            return Err(Refusal::invalid(format!(
                "{size:#x} bytes at {offset_name} {offset:#x} exceed the {width:#x} bytes of {name}"
            ))
            .with_id(out_of_bounds));
        }
        Ok(Self { buffer, offset })
    }
}

/// Records `CopyBufferRegion`.
pub(super) fn copy_buffer_region(
    recording: &mut Recording,
    (target, target_offset): (&Resource_Impl, u64),
    (source, source_offset): (&Resource_Impl, u64),
    size: u64,
) -> Result<(), Refusal> {
    let target_ids = [
        D3D12_MESSAGE_ID_COPYBUFFERREGION_INVALIDDSTRESOURCEDIMENSION,
        D3D12_MESSAGE_ID_COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS,
    ];
    let source_ids = [
        D3D12_MESSAGE_ID_COPYBUFFERREGION_INVALIDSRCRESOURCEDIMENSION,
        D3D12_MESSAGE_ID_COPYBUFFERREGION_SRCRANGEOUTOFBOUNDS,
    ];
    let target = Bytes::check(target, target_offset, size, ["pDstBuffer", "DstOffset"], target_ids)?;
    let source = Bytes::check(source, source_offset, size, ["pSrcBuffer", "SrcOffset"], source_ids)?;
    recording.notices.tolerate(check_target(target.buffer, "pDstBuffer"));
    recording.notices.tolerate(check_source(source.buffer, "pSrcBuffer"));
    let is_same = Arc::ptr_eq(target.buffer.driver(), source.buffer.driver());
    if is_same && target.offset < source.offset + size && source.offset < target.offset + size {
        return Err(Refusal::invalid(format!(
            "source at {:#x} and destination at {:#x} overlap in the same buffer; {size:#x} bytes are copied",
            source.offset, target.offset
        ))
        .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    if size != 0 {
        recording.commands.push(Command::CopyBuffer {
            target: (Arc::clone(target.buffer.driver()), target.offset),
            source: (Arc::clone(source.buffer.driver()), source.offset),
            size,
        });
    }
    Ok(())
}

/// Records `CopyResource`.
pub(super) fn copy_resource(
    recording: &mut Recording,
    target: &Resource_Impl,
    source: &Resource_Impl,
) -> Result<(), Refusal> {
    recording.notices.tolerate(check_target(target, "pDstResource"));
    recording.notices.tolerate(check_source(source, "pSrcResource"));
    if Arc::ptr_eq(target.driver(), source.driver()) {
        return Err(Refusal::invalid("pDstResource and pSrcResource are the same resource")
            .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    check_same_shape(target.desc(), source.desc())?;
    if is_buffer(target) {
        recording.commands.push(Command::CopyBuffer {
            target: (Arc::clone(target.driver()), 0),
            source: (Arc::clone(source.driver()), 0),
            size: target.desc().Width,
        });
        return Ok(());
    }
    texture_copies::copy_texture(recording, target, source)
}

/// Checks that two descriptions match in everything that `CopyResource` requires. Sizes are compared in blocks.
fn check_same_shape(target: &D3D12_RESOURCE_DESC1, source: &D3D12_RESOURCE_DESC1) -> Result<(), Refusal> {
    let block = |desc: &D3D12_RESOURCE_DESC1| {
        format::properties(desc.Format)
            .map_or((1, 1), |row| (row.block_width.max(1), row.block_height.max(1)))
    };
    let (to, from) = (block(target), block(source));
    let fields = [
        ("Dimension", i64::from(target.Dimension), i64::from(source.Dimension)),
        ("Height", i64::from(target.Height.div_ceil(to.1)), i64::from(source.Height.div_ceil(from.1))),
        ("DepthOrArraySize", i64::from(target.DepthOrArraySize), i64::from(source.DepthOrArraySize)),
        ("MipLevels", i64::from(target.MipLevels), i64::from(source.MipLevels)),
        ("SampleDesc.Count", i64::from(target.SampleDesc.Count), i64::from(source.SampleDesc.Count)),
        ("SampleDesc.Quality", i64::from(target.SampleDesc.Quality), i64::from(source.SampleDesc.Quality)),
    ];
    let widths = (target.Width.div_ceil(to.0.into()), source.Width.div_ceil(from.0.into()));
    if widths.0 != widths.1 {
        return Err(differs("Width", widths.0, widths.1));
    }
    match fields.iter().find(|(_, target, source)| target != source) {
        Some((field, target, source)) => Err(differs(field, target, source)),
        None => Ok(()),
    }
}

fn differs(field: &str, target: impl std::fmt::Display, source: impl std::fmt::Display) -> Refusal {
    Refusal::invalid(format!(
        "{field} (in blocks) must be the same for both resources, but is {target} in pDstResource and {source} in \
         pSrcResource"
    ))
    .with_id(D3D12_MESSAGE_ID_COPYRESOURCE_INVALIDSRCRESOURCE)
}

/// Records `WriteBufferImmediate`.
pub(super) fn write_buffer_immediate(
    recording: &mut Recording,
    params: &[D3D12_WRITEBUFFERIMMEDIATE_PARAMETER],
    modes: &[D3D12_WRITEBUFFERIMMEDIATE_MODE],
) -> Result<(), Refusal> {
    let mut commands = Vec::with_capacity(params.len());
    for (index, param) in params.iter().enumerate() {
        let address = GpuVirtualAddress::new(param.Dest.0).ok_or_else(|| {
            Refusal::invalid(format!("pParams[{index}].Dest is 0"))
                .with_id(D3D12_MESSAGE_ID_WRITEBUFFERIMMEDIATE_INVALID_DEST)
        })?;
        if !address.get().is_multiple_of(4) {
            return Err(Refusal::invalid(format!(
                "pParams[{index}].Dest {address:?} is not a multiple of 4"
            ))
            .with_id(D3D12_MESSAGE_ID_WRITEBUFFERIMMEDIATE_INVALID_ALIGNMENT));
        }
        commands.push(Command::WriteImmediate { address, value: param.Value });
    }
    let known = D3D12_WRITEBUFFERIMMEDIATE_MODE_DEFAULT..=D3D12_WRITEBUFFERIMMEDIATE_MODE_MARKER_OUT;
    if let Some(mode) = modes.iter().find(|mode| !known.contains(mode)) {
        return Err(Refusal::invalid(format!("{mode} is not a valid D3D12_WRITEBUFFERIMMEDIATE_MODE"))
            .with_id(D3D12_MESSAGE_ID_WRITEBUFFERIMMEDIATE_INVALID_MODE));
    }
    recording.commands.append(&mut commands);
    Ok(())
}

/// Records `ResolveQueryData`. Queries measure nothing, so all results are 0. `size` is a multiple of 8.
pub(super) fn clear_query_results(
    recording: &mut Recording,
    target: &Resource_Impl,
    offset: u64,
    size: u64,
) -> Result<(), Refusal> {
    let width = target.desc().Width;
    if target.texture().is_ok()
        || !offset.is_multiple_of(8)
        || offset.checked_add(size).is_none_or(|end| end > width)
    {
        return Err(Refusal::invalid(format!(
            "AlignedDestinationBufferOffset {offset} is not a multiple of 8, or {size} bytes of results exceed \
             pDestinationBuffer"
        )));
    }
    if size != 0 {
        let target = (Arc::clone(target.driver()), offset);
        let value = TexelValue { bytes: [0; 16], len: 8 };
        recording.commands.push(Command::FillBuffer { target, size, value });
    }
    Ok(())
}

/// Returns the target and the source of a copy.
pub(super) fn own_pair<'a>(
    device: &Device,
    (target, target_name): (Option<&'a ID3D12Resource>, &str),
    (source, source_name): (Option<&'a ID3D12Resource>, &str),
    [null_target, null_source]: [D3D12_MESSAGE_ID; 2],
) -> Result<[&'a Resource_Impl; 2], Refusal> {
    let target =
        own::<Resource>(device, target, target_name).map_err(|refusal| refusal.with_id(null_target))?;
    let source =
        own::<Resource>(device, source, source_name).map_err(|refusal| refusal.with_id(null_source))?;
    Ok([target, source])
}
