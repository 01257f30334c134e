//! The requested resource.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;

use super::BufferUses;
use crate::{DeviceCaps, Error};

/// Options for all resources of an allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequirementsOptions {
    /// Whether resources are tightly aligned where that is legal. If not, only those whose description has the flag.
    pub(crate) tight_alignment: bool,
    /// Flags that are added to every resource.
    pub(crate) extra_required_resource_flags: D3D12_RESOURCE_FLAGS,
}

impl Default for RequirementsOptions {
    fn default() -> Self {
        Self { tight_alignment: true, extra_required_resource_flags: D3D12_RESOURCE_FLAG_NONE }
    }
}

/// A requested resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedResource<'a> {
    /// The description. A non-zero `Alignment` is a minimum, on every device.
    pub(crate) desc: D3D12_RESOURCE_DESC,
    /// The mip region of sampler feedback; zero for every other resource.
    pub(crate) mip_region: D3D12_MIP_REGION,
    /// The formats to which its views may cast; empty for a buffer.
    pub(crate) castable_formats: &'a [DXGI_FORMAT],
    /// The uses of a buffer; empty for a texture.
    pub(crate) uses: BufferUses,
}

/// How a resource gets its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creation {
    /// At an offset of a heap that it may share.
    Placed,
    /// With an implicit heap of its own.
    Committed,
}

impl RequestedResource<'_> {
    /// Creates a request without options.
    pub(crate) fn new(desc: D3D12_RESOURCE_DESC) -> Self {
        Self {
            desc,
            mip_region: D3D12_MIP_REGION::default(),
            castable_formats: &[],
            uses: BufferUses::empty(),
        }
    }

    /// Returns `true` if the resource has a mip region of sampler feedback.
    #[inline]
    pub(crate) fn has_mip_region(&self) -> bool {
        self.mip_region != D3D12_MIP_REGION::default()
    }

    /// Returns the description with the flags and the width that do not depend on the device, and all its uses.
    #[inline]
    pub(super) fn effective(
        &self,
        caps: &DeviceCaps,
        options: &RequirementsOptions,
    ) -> Result<(D3D12_RESOURCE_DESC, BufferUses), Error> {
        let mut desc = self.desc;
        desc.Flags |= options.extra_required_resource_flags;
        if desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER {
            if !self.uses.is_empty() {
                return Err(Error::invalid_argument("BufferUses", "must be empty for a texture"));
            }
            return Ok((desc, BufferUses::empty()));
        }
        if !self.castable_formats.is_empty() {
            return Err(Error::invalid_argument("castable formats", "must be empty for a buffer"));
        }
        let uses = self.uses.with_flags(desc.Flags);
        let largest = caps.max_resource_size();
        let width = uses.width(ByteSize::new(desc.Width)).filter(|&width| width <= largest);
        desc.Width = width
            .ok_or_else(|| {
                let width = ByteSize::new(desc.Width);
                Error::too_large(
                    "D3D12_RESOURCE_DESC::Width",
                    format!("{width} exceeds the maximum resource size of {largest}"),
                )
            })?
            .get();
        Ok((desc, uses))
    }
}
