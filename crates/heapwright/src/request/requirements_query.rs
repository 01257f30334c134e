//! Queries of the device.

use std::ptr;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::resource_desc::upgrade;
use heapwright_d3d12::*;
use windows_core::Interface;

use super::remembered_buffers::RememberedBuffers;
use super::requirements::{
    Creation, RequestedResource, RequirementsOptions, ResourceRequirements, known_buffer, requirements,
};
use crate::caps::{allocation_info, read_allocation_info};
use crate::{DeviceCaps, Error};

/// Queries the requirements of resources from a device.
///
/// Holds the interfaces for the queries, so that a resource costs no `QueryInterface`.
#[derive(Debug)]
pub(crate) struct RequirementsQuery {
    device: ID3D12Device,
    /// For descriptions with a sampler feedback region.
    device8: Option<ID3D12Device8>,
    /// For castable formats.
    device12: Option<ID3D12Device12>,
    caps: DeviceCaps,
    options: RequirementsOptions,
    is_tight_by_default: bool,
    remembered: RememberedBuffers,
}

impl RequirementsQuery {
    /// Creates the query for resources of `device`, whose capabilities are `caps`.
    pub(crate) fn new(device: &ID3D12Device, caps: &DeviceCaps, options: RequirementsOptions) -> Self {
        Self {
            device: device.clone(),
            device8: device.cast().ok(),
            device12: device.cast().ok(),
            caps: *caps,
            options,
            is_tight_by_default: options.tight_alignment && caps.tight_alignment_tier != 0,
            remembered: RememberedBuffers::new(),
        }
    }

    /// Returns the description that a resource is created with, its size and its alignment.
    ///
    /// A placed resource is placed at a multiple of the alignment, in a heap of its
    /// [`ResourceClass`](super::ResourceClass). The description is passed to `CreatePlacedResource`; with a sampler
    /// feedback region, to `CreatePlacedResource1`; with castable formats, to `CreatePlacedResource2`; or to their
    /// committed counterparts.
    ///
    /// Cost: O(castable formats), and at most two calls of the device; see [`requirements`]. No call for most
    /// descriptions of buffers that were queried recently. Takes no lock.
    ///
    /// # Errors
    ///
    /// Those of [`requirements`], and unsupported if the device lacks the interface for castable formats
    /// (`ID3D12Device12`) or for sampler feedback regions (`ID3D12Device8`).
    #[inline]
    pub(crate) fn requirements(
        &self,
        requested: &RequestedResource<'_>,
        creation: Creation,
    ) -> Result<ResourceRequirements, Error> {
        match self.remembered(requested) {
            Some(found) if creation == Creation::Placed => Ok(found),
            _ => self.determine(requested, creation),
        }
    }

    fn determine(
        &self,
        requested: &RequestedResource<'_>,
        creation: Creation,
    ) -> Result<ResourceRequirements, Error> {
        requirements(requested, creation, &self.caps, &self.options, |desc| {
            if requested.has_mip_region() {
                return self.ask(desc, requested);
            }
            self.remembered.get_or(desc, || self.ask(desc, requested))
        })
    }

    /// Returns the result of [`requirements`](Self::requirements) for a plain placed buffer without a query of the
    /// device. `None` if it is not plain, or was not queried recently. O(1).
    ///
    /// A plain buffer requests no alignment, neither itself nor by uses.
    #[inline]
    fn remembered(&self, requested: &RequestedResource<'_>) -> Option<ResourceRequirements> {
        // Flags that matter in addition to the description: acceleration structures have uses, and resources that cross
        // adapters are not tightly aligned.
        const SPECIAL: D3D12_RESOURCE_FLAGS =
            D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
        let flags = requested.desc.Flags | self.options.extra_required_resource_flags;
        let is_plain = requested.desc.Alignment == 0
            && requested.uses.is_empty()
            && requested.castable_formats.is_empty()
            && !requested.has_mip_region()
            && flags & SPECIAL == 0;
        if !is_plain {
            return None;
        }
        if !self.is_tight_by_default {
            let desc = D3D12_RESOURCE_DESC { Flags: flags, ..requested.desc };
            let is_possible = ByteSize::new(desc.Width) <= self.caps.max_resource_size();
            let (size, alignment) = known_buffer(&desc).filter(|_| is_possible)?;
            return Some(ResourceRequirements { desc, size, alignment });
        }
        let flags = flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        let desc = D3D12_RESOURCE_DESC { Flags: flags, ..requested.desc };
        let (size, alignment) = self.remembered.get(&desc)?;
        Some(ResourceRequirements { desc, size, alignment })
    }

    /// Calls `GetResourceAllocationInfo` in the oldest generation that supports the request.
    #[cold]
    fn ask(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        requested: &RequestedResource<'_>,
    ) -> Result<Option<(ByteSize, Alignment)>, Error> {
        let formats = requested.castable_formats;
        if formats.is_empty() && !requested.has_mip_region() {
            return Ok(allocation_info(&self.device, desc));
        }
        let desc = with_mip_region(desc, requested.mip_region);
        let info = if formats.is_empty() {
            let device = self
                .device8
                .as_ref()
                .ok_or_else(|| Error::unsupported("D3D12_RESOURCE_DESC1 (requires ID3D12Device8)"))?;
            // SAFETY: the device is a live COM object, and the description outlives the call.
            unsafe { device.GetResourceAllocationInfo2(0, 1, &desc, None) }
        } else {
            let device = self
                .device12
                .as_ref()
                .ok_or_else(|| Error::unsupported("castable formats (requires ID3D12Device12)"))?;
            let count = u32::try_from(formats.len())
                .map_err(|_| Error::invalid_argument("castable formats", "the count exceeds 2^32 - 1"))?;
            let list = formats.as_ptr();
            // SAFETY: the device is a live COM object; the description, the count and the list, which has as many
            // formats as are counted, outlive the call.
            unsafe { device.GetResourceAllocationInfo3(0, 1, &desc, &count, ptr::from_ref(&list), None) }
        };
        Ok(read_allocation_info(info))
    }
}

/// Converts a description to one with a mip region of sampler feedback.
pub(crate) fn with_mip_region(desc: &D3D12_RESOURCE_DESC, region: D3D12_MIP_REGION) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 { SamplerFeedbackMipRegion: region, ..upgrade(desc) }
}

#[cfg(test)]
mod tests {
    use heapwright_runtime::{HostProfile, Instance};

    use super::*;
    use crate::BufferUses;
    use crate::buffer_desc;

    fn query() -> RequirementsQuery {
        let gpu = Instance::open(HostProfile::default_profile()).expect("the instance opens");
        let caps = DeviceCaps::query(&gpu.device).expect("the device is valid");
        RequirementsQuery::new(&gpu.device, &caps, RequirementsOptions::default())
    }

    fn texture(format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC {
        D3D12_RESOURCE_DESC {
            Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
            Height: 64,
            Format: format,
            Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
            ..buffer_desc(ByteSize::new(64))
        }
    }

    #[test]
    fn castable_formats_are_passed_on_and_need_their_interface() {
        let mut query = query();
        // Without the formats, the device would accept both: formats of one byte cannot be cast to formats of four.
        for (castable, is_sound) in [(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, true), (DXGI_FORMAT_R8_UNORM, false)] {
            let formats = [castable];
            let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
            let requested = RequestedResource { castable_formats: &formats, ..RequestedResource::new(desc) };
            let found = query.requirements(&requested, Creation::Placed);
            assert_eq!(found.is_ok(), is_sound, "{found:?}");
        }
        query.device12 = None;
        let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
        let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
        let requested = RequestedResource { castable_formats: &formats, ..RequestedResource::new(desc) };
        let error = query.requirements(&requested, Creation::Placed).expect_err("the interface is missing");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device12"), "{error}");
        let without = RequestedResource { castable_formats: &[], ..requested };
        assert!(query.requirements(&without, Creation::Placed).is_ok(), "the first interface suffices");
    }

    #[test]
    fn requirements_of_plain_buffers_are_cached() {
        for profile in HostProfile::all() {
            let gpu = Instance::open(profile).expect("the instance opens");
            let caps = DeviceCaps::query(&gpu.device).expect("the device is valid");
            for extra_required_resource_flags in
                [D3D12_RESOURCE_FLAG_NONE, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS]
            {
                for tight_alignment in [false, true] {
                    let options = RequirementsOptions { tight_alignment, extra_required_resource_flags };
                    let query = RequirementsQuery::new(&gpu.device, &caps, options);
                    let mut count = 0;
                    for width in [1, 8, 1000, 65_536, 100_001, 5 << 30] {
                        for flags in [0, 4, 8, 0x40, 0x100, 0x400] {
                            for (alignment, uses) in [
                                (0, BufferUses::empty()),
                                (256, BufferUses::empty()),
                                (0, BufferUses::CONSTANT_BUFFER),
                            ] {
                                let desc = buffer_desc(ByteSize::new(width));
                                let desc = D3D12_RESOURCE_DESC { Alignment: alignment, Flags: flags, ..desc };
                                let requested = RequestedResource { uses, ..RequestedResource::new(desc) };
                                let decided = query.determine(&requested, Creation::Placed);
                                let Some(remembered) = query.remembered(&requested) else { continue };
                                assert_eq!(decided.expect("must be cached"), remembered, "{requested:?}");
                                count += 1;
                            }
                        }
                    }
                    assert!(count > 0, "{}: none was cached", profile.name);
                }
            }
        }
    }

    #[test]
    fn sampler_feedback_regions_are_passed_on_and_need_their_interface() {
        let mut query = query();
        let region = D3D12_MIP_REGION { Width: 8, Height: 8, Depth: 1 };
        let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
        let requested = RequestedResource { mip_region: region, ..RequestedResource::new(desc) };
        // The runtime receives the region, and refuses it for a format without regions.
        let error = query.requirements(&requested, Creation::Placed).expect_err("the format has no regions");
        assert!(error.is_invalid_argument(), "{error}");
        query.device8 = None;
        let error = query.requirements(&requested, Creation::Placed).expect_err("the interface is missing");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device8"), "{error}");
    }
}
