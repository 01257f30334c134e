//! The contents of descriptors and the rules for them: views of resources, with the information that clears need.

use std::sync::{Arc, Weak};

use heapwright_d3d12::*;

use super::Refusal;
use super::operand::{Operand, extents, plane_count};
use crate::drivers::resource::DriverResource;
use crate::format::{self, FormatKind, FormatProperties};

/// The contents of a written descriptor.
#[derive(Clone)]
pub(crate) enum Descriptor {
    /// A view that clears can use. As in D3D12, it does not keep its resource alive.
    View(View),
    /// A null view. Writes through it are discarded.
    Null,
    /// A view or sampler that only shaders use.
    ShadersOnly,
}

/// A view of a resource.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) resource: Weak<DriverResource>,
    /// The resource's description.
    pub(crate) desc: D3D12_RESOURCE_DESC1,
    pub(crate) format: DXGI_FORMAT,
    pub(crate) part: ViewPart,
    /// The aspects, depth or stencil, for which a depth stencil view is read-only.
    pub(crate) read_only: D3D12_DSV_FLAGS,
    /// The buffer of an unordered access view's counter, and the offset in bytes.
    pub(crate) counter: Option<(Weak<DriverResource>, u64)>,
}

/// The part of the resource that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewPart {
    /// A range of bytes in a buffer.
    Bytes { offset: u64, size: u64 },
    /// A mip level of array slices, or of depth slices of a 3D texture.
    Slices { mip: u32, first: u32, count: u32, plane: u32 },
}

/// Mip level, first slice, number of slices and plane: the common members of the unions in view descriptions.
pub(crate) type Slices = (u32, u32, u32, u32);

impl View {
    /// Creates a view of a texture. A format of UNKNOWN means the resource's format.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG for a mip level, slices or a plane that the resource does not have, and for a format that
    /// it cannot be cast to.
    pub(crate) fn of_texture(
        resource: Operand<'_>,
        format: DXGI_FORMAT,
        slices: Slices,
    ) -> Result<Self, Refusal> {
        let desc = *resource.desc;
        let (mip, first, count, plane) = slices;
        if mip >= u32::from(desc.MipLevels) {
            return Err(Refusal::invalid(format!(
                "MipSlice {mip} is out of range; the texture has {} mip levels",
                desc.MipLevels
            )));
        }
        let all = if desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D {
            (u32::from(desc.DepthOrArraySize) >> mip).max(1)
        } else {
            u32::from(desc.DepthOrArraySize)
        };
        if plane >= plane_count(desc.Format) {
            return Err(Refusal::invalid(format!(
                "PlaneSlice {plane} is out of range for format {}",
                desc.Format
            )));
        }
        // A count of -1 selects all remaining slices.
        let count = if count == u32::MAX { all.saturating_sub(first) } else { count };
        if count == 0 || first.checked_add(count).is_none_or(|end| end > all) {
            return Err(Refusal::invalid(format!(
                "{count} slices starting at {first} are not a range within the texture's {all}"
            )));
        }
        let format = if format == DXGI_FORMAT_UNKNOWN { desc.Format } else { format };
        if !resource.castable_formats.contains(&format) {
            check_cast(format, desc.Format, plane)?;
        }
        let part = ViewPart::Slices { mip, first, count, plane };
        let read_only = D3D12_DSV_FLAG_NONE;
        let resource = Arc::downgrade(resource.driver);
        Ok(Self { resource, desc, format, part, read_only, counter: None })
    }

    /// Returns the plane of the view; for a depth stencil view, the first.
    pub(crate) fn plane(&self) -> u32 {
        match self.part {
            ViewPart::Slices { plane, .. } => plane,
            ViewPart::Bytes { .. } => 0,
        }
    }

    /// Returns the subresources of one plane that the view shows; none for a buffer.
    pub(crate) fn subresources(&self, plane: u32) -> impl Iterator<Item = u32> + use<> {
        let [mips, slices, _] = extents(&self.desc);
        let (mip, shown) = match self.part {
            ViewPart::Bytes { .. } => (0, 0..0),
            // In a view of a volume, the slices are depth slices of a single subresource.
            ViewPart::Slices { mip, .. } if self.is_volume() => (mip, 0..1),
            ViewPart::Slices { mip, first, count, .. } => (mip, first..first + count),
        };
        shown.map(move |slice| mip + (slice + plane * slices) * mips)
    }

    pub(crate) fn is_volume(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D
    }

    /// Returns the resource.
    ///
    /// # Errors
    ///
    /// Returns E_INVALIDARG if the resource was released.
    pub(crate) fn resource(&self) -> Result<Arc<DriverResource>, Refusal> {
        self.resource.upgrade().ok_or_else(|| {
            Refusal::invalid("the descriptor's resource was released")
                .with_id(D3D12_MESSAGE_ID_DESCRIPTOR_HANDLE_WITH_INVALID_RESOURCE)
        })
    }
}

/// Checks that a plane of a texture of one format can be viewed as another.
fn check_cast(view: DXGI_FORMAT, resource: DXGI_FORMAT, plane: u32) -> Result<(), Refusal> {
    let unknown = |format| Refusal::invalid(format!("Format {format} cannot be used for a view"));
    // Views of video have the format of a plane or of components.
    let can_be_viewed =
        |format: &&FormatProperties| !format.is_typeless() && format.kind != FormatKind::Video;
    let of_view = format::properties(view).filter(can_be_viewed).ok_or_else(|| unknown(view))?;
    let of_resource = format::properties(resource).ok_or_else(|| unknown(resource))?;
    // Any 32-bit format can also be viewed as R32, which atomics require.
    let as_r32 = of_view.family == DXGI_FORMAT_R32_TYPELESS
        && of_resource.block_bytes == 4
        && !of_resource.is_block_compressed()
        && !of_resource.is_planar();
    let is_of_plane = of_resource.view_family(plane) == Some(of_view.family);
    if of_view.family != of_resource.family && !as_r32 && !is_of_plane {
        return Err(Refusal::invalid(format!(
            "Format {} of the view is not compatible with format {} of the texture",
            of_view.name, of_resource.name
        )));
    }
    Ok(())
}

/// Checks that a resource has the flag that a view requires.
pub(crate) fn check_flag(
    resource: Operand<'_>,
    flag: D3D12_RESOURCE_FLAGS,
    name: &str,
) -> Result<(), Refusal> {
    if resource.desc.Flags & flag == 0 {
        return Err(Refusal::invalid(format!("the view requires a resource with {name}")));
    }
    Ok(())
}

/// Creates an unordered access view of a buffer: typed, raw or structured.
///
/// # Errors
///
/// Returns E_INVALIDARG for elements outside of the buffer and for a format that is not valid for the kind of view.
pub(crate) fn buffer_uav(
    resource: Operand<'_>,
    format: DXGI_FORMAT,
    buffer: &D3D12_BUFFER_UAV,
) -> Result<Descriptor, Refusal> {
    let is_raw = buffer.Flags & D3D12_BUFFER_UAV_FLAG_RAW != 0;
    if buffer.Flags & !D3D12_BUFFER_UAV_FLAG_RAW != 0 {
        return Err(Refusal::invalid(format!(
            "Buffer.Flags {:#x} has unknown bits; only RAW is allowed",
            buffer.Flags
        )));
    }
    let stride = element_size(format, buffer.StructureByteStride, is_raw)?;
    elements(resource, format, stride, (buffer.FirstElement, buffer.NumElements))
}

/// Creates a render target view of a typed buffer.
///
/// # Errors
///
/// Same as [`buffer_uav`].
pub(crate) fn buffer_rtv(
    resource: Operand<'_>,
    format: DXGI_FORMAT,
    buffer: &D3D12_BUFFER_RTV,
) -> Result<Descriptor, Refusal> {
    elements(resource, format, typed_stride(format)?, (buffer.FirstElement, buffer.NumElements))
}

/// Returns the size of an element of a buffer's view, in bytes: of a structure, a word of a raw view, or a texel.
pub(super) fn element_size(format: DXGI_FORMAT, structure_stride: u32, is_raw: bool) -> Result<u32, Refusal> {
    match (structure_stride, is_raw) {
        (0, true) if format == DXGI_FORMAT_R32_TYPELESS => Ok(4),
        (0, true) => Err(Refusal::invalid("Format of a raw view must be DXGI_FORMAT_R32_TYPELESS")),
        (0, false) => typed_stride(format),
        (stride, false) if format == DXGI_FORMAT_UNKNOWN => Ok(stride),
        _ => Err(Refusal::invalid(
            "a view with StructureByteStride must have Format UNKNOWN and must not be raw",
        )),
    }
}

/// Returns the size of an element of a typed buffer, in bytes.
fn typed_stride(format: DXGI_FORMAT) -> Result<u32, Refusal> {
    format::texel_value::size(format)
        .ok_or_else(|| Refusal::invalid(format!("Format {format} cannot be used for a typed buffer view")))
}

/// Creates a view of elements of `stride` bytes.
fn elements(
    resource: Operand<'_>,
    format: DXGI_FORMAT,
    stride: u32,
    (first, count): (u64, u32),
) -> Result<Descriptor, Refusal> {
    let width = resource.desc.Width;
    let range = || {
        let offset = first.checked_mul(stride.into())?;
        let size = u64::from(count).checked_mul(stride.into())?;
        (offset.checked_add(size)? <= width).then_some((offset, size))
    };
    let (offset, size) = range().ok_or_else(|| {
        Refusal::invalid(format!(
            "{count} elements of {stride} bytes starting at {first} exceed the buffer's {width:#x} bytes"
        ))
    })?;
    Ok(view_of_bytes(resource, format, (offset, size)))
}

/// Creates a view of a range of bytes, as offset and size, of a buffer that has them.
pub(super) fn view_of_bytes(
    resource: Operand<'_>,
    format: DXGI_FORMAT,
    (offset, size): (u64, u64),
) -> Descriptor {
    Descriptor::View(View {
        resource: Arc::downgrade(resource.driver),
        desc: *resource.desc,
        format,
        part: ViewPart::Bytes { offset, size },
        read_only: D3D12_DSV_FLAG_NONE,
        counter: None,
    })
}
