//! Copies of buffers and of whole resources; `WriteBufferImmediate`; results of queries.

use std::sync::Arc;

use heapwright_core::GpuVirtualAddress;
use heapwright_d3d12::*;

use super::texture_copies;
use crate::drivers::command::Command;
use crate::format::{self, TexelValue};
use crate::rules::operand::Operand;
use crate::rules::{Notices, Refusal};
use crate::timestamps::Timestamps;

/// The start of a checked range of bytes in a buffer.
struct Bytes<'a> {
    buffer: Operand<'a>,
    offset: u64,
}

impl<'a> Bytes<'a> {
    fn check(
        buffer: Operand<'a>,
        offset: u64,
        size: u64,
        [name, offset_name]: [&str; 2],
        [wrong_kind, out_of_bounds]: [D3D12_MESSAGE_ID; 2],
    ) -> Result<Self, Refusal> {
        if !buffer.is_buffer() {
            return Err(Refusal::invalid(format!("{name} is not a buffer")).with_id(wrong_kind));
        }
        let width = buffer.desc.Width;
        if offset.checked_add(size).is_none_or(|end| end > width) {
            return Err(Refusal::invalid(format!(
                "{size:#x} bytes at {offset_name} {offset:#x} exceed the {width:#x} bytes of {name}"
            ))
            .with_id(out_of_bounds));
        }
        Ok(Self { buffer, offset })
    }
}

/// Checks `CopyBufferRegion`.
pub(crate) fn copy_buffer_region(
    (target, target_offset): (Operand<'_>, u64),
    (source, source_offset): (Operand<'_>, u64),
    size: u64,
    notices: &mut Notices,
) -> Result<Option<Command>, Refusal> {
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
    notices.tolerate(target.buffer.check_copy_target("pDstBuffer"));
    notices.tolerate(source.buffer.check_copy_source("pSrcBuffer"));
    let is_same = target.buffer.is(&source.buffer);
    if is_same && target.offset < source.offset + size && source.offset < target.offset + size {
        return Err(Refusal::invalid(format!(
            "source at {:#x} and destination at {:#x} overlap in the same buffer; {size:#x} bytes are copied",
            source.offset, target.offset
        ))
        .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    Ok((size != 0).then(|| Command::CopyBuffer {
        target: (target.buffer.hold(), target.offset),
        source: (source.buffer.hold(), source.offset),
        size,
    }))
}

/// Checks `CopyResource`.
pub(crate) fn copy_resource(
    target: Operand<'_>,
    source: Operand<'_>,
    notices: &mut Notices,
) -> Result<Vec<Command>, Refusal> {
    notices.tolerate(target.check_copy_target("pDstResource"));
    notices.tolerate(source.check_copy_source("pSrcResource"));
    if target.is(&source) {
        return Err(Refusal::invalid("pDstResource and pSrcResource are the same resource")
            .with_id(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE));
    }
    check_same_shape(target.desc, source.desc)?;
    if target.is_buffer() {
        return Ok(vec![Command::CopyBuffer {
            target: (target.hold(), 0),
            source: (source.hold(), 0),
            size: target.desc.Width,
        }]);
    }
    texture_copies::copy_texture(target, source, notices)
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

/// Checks `WriteBufferImmediate`.
pub(crate) fn write_buffer_immediate(
    params: &[D3D12_WRITEBUFFERIMMEDIATE_PARAMETER],
    modes: &[D3D12_WRITEBUFFERIMMEDIATE_MODE],
) -> Result<Vec<Command>, Refusal> {
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
    Ok(commands)
}

/// Checks `ResolveQueryData` of `size` bytes of results, a multiple of 8: timestamps from an index on, or the results
/// of queries that measure nothing, which are 0.
pub(crate) fn resolve_queries(
    target: Operand<'_>,
    offset: u64,
    size: u64,
    timestamps: Option<(Arc<Timestamps>, u32)>,
) -> Result<Option<Command>, Refusal> {
    let width = target.desc.Width;
    if !target.is_buffer()
        || !offset.is_multiple_of(8)
        || offset.checked_add(size).is_none_or(|end| end > width)
    {
        return Err(Refusal::invalid(format!(
            "AlignedDestinationBufferOffset {offset} is not a multiple of 8, or {size} bytes of results exceed \
             pDestinationBuffer"
        )));
    }
    if size == 0 {
        return Ok(None);
    }
    let target = (target.hold(), offset);
    Ok(Some(match timestamps {
        Some((timestamps, first)) => {
            Command::ResolveTimestamps { target, timestamps, first, count: size / 8 }
        }
        None => Command::FillBuffer { target, size, value: TexelValue { bytes: [0; 16], len: 8 } },
    }))
}
