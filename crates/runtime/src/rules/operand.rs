//! Resources as the rules of views, tiles and commands see them.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::Refusal;
use super::resource::Resource;
use crate::ddi::TextureArgs;
use crate::drivers::resource::DriverResource;
use crate::format;

/// A resource that a command works on or that a view shows.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    /// The application's description, with the effective alignment and number of mip levels.
    pub(crate) desc: &'a D3D12_RESOURCE_DESC1,
    /// The description in the form that the rules use.
    pub(crate) resource: &'a Resource,
    /// The type of the resource's heap; `None` for a reserved resource.
    pub(crate) heap_type: Option<D3D12_HEAP_TYPE>,
    /// Whether the resource has an implicit heap.
    pub(crate) is_committed: bool,
    /// Formats that views may have besides those of the resource's family.
    pub(crate) castable_formats: &'a [DXGI_FORMAT],
    /// The driver's part, which identifies the resource. Rules only pass it on.
    pub(crate) driver: &'a Arc<DriverResource>,
}

impl<'a> Operand<'a> {
    pub(crate) fn is_buffer(&self) -> bool {
        self.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
    }

    pub(crate) fn is_reserved(&self) -> bool {
        self.heap_type.is_none()
    }

    /// Returns the texture's parameters, or an error for a buffer.
    pub(crate) fn texture(&self) -> Result<&'a TextureArgs, Refusal> {
        let texture = self.resource.texture().map(|texture| &texture.args);
        texture.ok_or_else(|| Refusal::invalid("the resource is a buffer, not a texture"))
    }

    /// Checks whether both are the same resource.
    pub(crate) fn is(&self, other: &Operand<'_>) -> bool {
        Arc::ptr_eq(self.driver, other.driver)
    }

    /// Checks that copies may write to the resource, which a message calls `name`. Resources in UPLOAD heaps stay in
    /// GENERIC_READ; states are checked by the debug layer.
    pub(super) fn check_copy_target(&self, name: &str) -> Result<(), Refusal> {
        if self.heap_type == Some(D3D12_HEAP_TYPE_UPLOAD) {
            return Err(Refusal::invalid(format!("{name} is in an UPLOAD heap, which the GPU cannot write")));
        }
        Ok(())
    }

    /// Checks that copies may read from the resource, which a message calls `name`. Resources in READBACK heaps stay in
    /// COPY_DEST; states are checked by the debug layer.
    pub(super) fn check_copy_source(&self, name: &str) -> Result<(), Refusal> {
        if self.heap_type == Some(D3D12_HEAP_TYPE_READBACK) {
            return Err(Refusal::invalid(format!(
                "{name} is in a READBACK heap, which cannot be a copy source"
            )));
        }
        Ok(())
    }

    /// Returns a reference for a command to hold.
    pub(crate) fn hold(&self) -> Arc<DriverResource> {
        Arc::clone(self.driver)
    }
}

/// Returns the number of planes of a format.
pub(super) fn plane_count(format: DXGI_FORMAT) -> u32 {
    format::properties(format).map_or(1, |format| format.plane_count())
}

/// Returns the numbers of mip levels, array slices and planes of a resource.
pub(crate) fn extents(desc: &D3D12_RESOURCE_DESC1) -> [u32; 3] {
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

/// Returns the number of subresources of a resource.
pub(crate) fn subresource_count(desc: &D3D12_RESOURCE_DESC1) -> u32 {
    extents(desc).iter().product()
}

/// Returns whether a valid range of subresources contains one.
pub(crate) fn contains(
    range: &D3D12_BARRIER_SUBRESOURCE_RANGE,
    desc: &D3D12_RESOURCE_DESC1,
    index: u32,
) -> bool {
    if range.NumMipLevels == 0 {
        return [D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, index].contains(&range.IndexOrFirstMipLevel);
    }
    let [mips, slices, _] = extents(desc);
    [
        (index % mips, range.IndexOrFirstMipLevel, range.NumMipLevels),
        // Windows treats 0 slices as 1.
        (index / mips % slices, range.FirstArraySlice, range.NumArraySlices.max(1)),
        (index / mips / slices, range.FirstPlane, range.NumPlanes),
    ]
    .into_iter()
    .all(|(value, first, count)| value.checked_sub(first).is_some_and(|offset| offset < count))
}
