//! Views of buffers by byte offsets (DirectX-Specs, *D3D12 Revised Create Views*, runtime validation).

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::*;

use super::operand::Operand;
use super::views::{Descriptor, element_size, view_of_bytes};
use super::{Options, Refusal, SdkVersion};
use crate::ddi::DriverCaps;
use crate::format;

/// A view's range of bytes and the interpretation of its elements.
struct Elements {
    format: DXGI_FORMAT,
    offset: u64,
    size: u64,
    structure_stride: u32,
    is_raw: bool,
}

/// The flag RAW, which has the same value in shader resource views and in unordered access views.
const RAW: u32 = D3D12_BUFFER_SRV_FLAG_RAW;
const _: () = assert!(RAW == D3D12_BUFFER_UAV_FLAG_RAW);

impl Elements {
    fn new(
        format: DXGI_FORMAT,
        (offset, size): (u64, u64),
        structure_stride: u32,
        flags: u32,
    ) -> Result<Self, Refusal> {
        if flags & !RAW != 0 {
            return Err(Refusal::invalid(format!(
                "BufferByteOffset.Flags {flags:#x} has unknown bits; only RAW is allowed"
            )));
        }
        Ok(Self { format, offset, size, structure_stride, is_raw: flags & RAW != 0 })
    }

    /// Returns the size of an element, and the alignment of the first one's address, in bytes.
    ///
    /// A format whose size is a power of two is aligned to it, others to their channel; structures to the largest power
    /// of two up to 16 that divides their size.
    fn size_and_alignment(&self) -> Result<(u32, u32), Refusal> {
        let size = element_size(self.format, self.structure_stride, self.is_raw)?;
        let alignment = match (self.structure_stride, self.is_raw) {
            (0, true) => D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT.cast_unsigned(),
            (0, false) if size.is_power_of_two() => size,
            (0, false) => channel_bytes(self.format),
            (stride, _) => {
                let limit = D3D12_REQ_MULTI_ELEMENT_STRUCTURE_SIZE_IN_BYTES.cast_unsigned();
                if stride > limit {
                    return Err(Refusal::invalid(format!(
                        "BufferByteOffset.StructureByteStride {stride} exceeds the maximum of {limit}"
                    )));
                }
                (1 << stride.trailing_zeros()).min(16)
            }
        };
        Ok((size, alignment))
    }

    /// Checks the range within `resource` and returns its offset and size in bytes.
    fn check(
        &self,
        resource: Operand<'_>,
        caps: &DriverCaps,
        options: &Options,
    ) -> Result<(u64, u64), Refusal> {
        if !has_byte_offset_views(caps, options) {
            return Err(Refusal::invalid(
                "the device does not support ViewDimension BUFFER_BYTE_OFFSET: CreateByteOffsetViewsSupported is FALSE",
            ));
        }
        if !resource.is_buffer() {
            return Err(Refusal::invalid("ViewDimension BUFFER_BYTE_OFFSET needs a buffer"));
        }
        let (element, alignment) = self.size_and_alignment()?;
        let &Self { offset, size, .. } = self;
        let width = resource.desc.Width;
        let left = width.checked_sub(offset).filter(|&left| left > 0);
        let size = match left {
            Some(left) if size == 0 && options.sdk >= SdkVersion::IMPLICIT_VIEW_SIZE => {
                left / u64::from(element) * u64::from(element)
            }
            Some(left) if size <= left => size,
            _ => {
                return Err(Refusal::invalid(format!(
                    "BufferByteOffset.Size {size:#x} at Offset {offset:#x} exceeds the buffer's {width:#x} bytes"
                )));
            }
        };
        if size == 0 || !size.is_multiple_of(element.into()) {
            return Err(Refusal::invalid(format!(
                "BufferByteOffset.Size {size:#x} must be a multiple of the element's {element} bytes, and not 0"
            )));
        }
        let address = resource.driver.gpu_virtual_address().get().wrapping_add(offset);
        if !address.is_multiple_of(alignment.into()) {
            return Err(Refusal::invalid(format!(
                "BufferByteOffset.Offset {offset:#x} results in address {address:#x}, which must be a multiple of \
                 {alignment}"
            )));
        }
        Ok((offset, size))
    }
}

/// Returns whether the device supports views by byte offsets: the driver since DDI 0121, the API since SDK 1.619.
pub(crate) fn has_byte_offset_views(caps: &DriverCaps, options: &Options) -> bool {
    caps.has_byte_offset_views() && options.sdk >= SdkVersion::DEVICE15
}

/// Returns the size of a component of a format whose size is no power of two: of the 96-bit ones.
fn channel_bytes(format: DXGI_FORMAT) -> u32 {
    match format::properties(format) {
        Some(row) if row.block_bytes % 3 == 0 => row.block_bytes / 3,
        _ => 1,
    }
}

/// Checks a shader resource view.
///
/// # Errors
///
/// Returns E_INVALIDARG for a range, format, stride, flags or address that the specification excludes, and if the
/// device does not support such views.
pub(crate) fn shader_resource_view(
    resource: Operand<'_>,
    desc: &D3D12_SHADER_RESOURCE_VIEW_DESC_BYTE_OFFSET,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Descriptor, Refusal> {
    let range = &desc.BufferByteOffset;
    let stride = range.StructureByteStride;
    Elements::new(desc.Format, (range.Offset, range.Size), stride, range.Flags)?
        .check(resource, caps, options)?;
    Ok(Descriptor::ShadersOnly)
}

/// Creates an unordered access view, whose counter's offset is in `desc`.
///
/// # Errors
///
/// Same as [`shader_resource_view`]; also for a counter of a view that is not structured, at an offset that is not a
/// multiple of 4 KiB, or past the end of its buffer.
pub(crate) fn unordered_access_view(
    resource: Operand<'_>,
    counter: Option<Operand<'_>>,
    desc: &D3D12_UNORDERED_ACCESS_VIEW_DESC_BYTE_OFFSET,
    caps: &DriverCaps,
    options: &Options,
) -> Result<Descriptor, Refusal> {
    let range = &desc.BufferByteOffset;
    let stride = range.StructureByteStride;
    let bytes = Elements::new(desc.Format, (range.Offset, range.Size), stride, range.Flags)?
        .check(resource, caps, options)?;
    let placement = u64::from(D3D12_UAV_COUNTER_PLACEMENT_ALIGNMENT.cast_unsigned());
    if counter.is_some() && stride == 0 {
        return Err(Refusal::invalid("pCounterResource needs a view with StructureByteStride"));
    }
    let is_past_the_end = |counter: Operand<'_>| counter.desc.Width <= range.CounterOffsetInBytes;
    if !range.CounterOffsetInBytes.is_multiple_of(placement) {
        return Err(Refusal::invalid(format!(
            "BufferByteOffset.CounterOffsetInBytes {:#x} is not a multiple of {placement}",
            range.CounterOffsetInBytes
        )));
    }
    if counter.is_some_and(is_past_the_end) {
        return Err(Refusal::invalid(format!(
            "BufferByteOffset.CounterOffsetInBytes {:#x} exceeds pCounterResource",
            range.CounterOffsetInBytes
        )));
    }
    Ok(view_of_bytes(resource, desc.Format, bytes))
}
