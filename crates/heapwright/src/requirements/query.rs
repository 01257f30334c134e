//! The device, and the calls that answer for it.

use std::ptr;

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::{
    Creation, RequestedResource, RequirementsOptions, ResourceRequirements, downgrade, requirements,
};
use crate::caps::{allocation_info, read_allocation_info};
use crate::{DeviceCaps, Error};

/// Asks a device what resources take.
///
/// It holds the interfaces that answer, so that a resource costs no `QueryInterface`.
#[derive(Debug, Clone)]
pub(crate) struct RequirementsQuery {
    device: ID3D12Device,
    /// For descriptions with a sampler feedback region.
    device8: Option<ID3D12Device8>,
    /// For castable formats.
    device12: Option<ID3D12Device12>,
    caps: DeviceCaps,
    options: RequirementsOptions,
}

impl RequirementsQuery {
    /// For resources of `device`, whose caps are `caps`.
    pub(crate) fn new(device: &ID3D12Device, caps: &DeviceCaps, options: RequirementsOptions) -> Self {
        Self {
            device: device.clone(),
            device8: device.cast().ok(),
            device12: device.cast().ok(),
            caps: *caps,
            options,
        }
    }

    /// What a resource is created with, and what it takes.
    ///
    /// A placed resource goes to an offset that is a multiple of the alignment, into a heap of its
    /// [`ResourceClass`](super::ResourceClass). The description goes to `CreatePlacedResource`, with a sampler feedback
    /// region to `CreatePlacedResource1`, with castable formats to `CreatePlacedResource2`; or to the committed relatives.
    ///
    /// Cost: O(castable formats), and at most two calls of the device; see [`requirements`]. Takes no lock.
    ///
    /// # Errors
    ///
    /// Those of [`requirements`], and unsupported where the device lacks the interface for castable formats
    /// (`ID3D12Device12`) or for sampler feedback regions (`ID3D12Device8`).
    pub(crate) fn requirements(
        &self,
        requested: &RequestedResource<'_>,
        creation: Creation,
    ) -> Result<ResourceRequirements, Error> {
        let formats = requested.castable_formats;
        requirements(requested, creation, &self.caps, &self.options, |desc| self.ask(desc, formats))
    }

    /// `GetResourceAllocationInfo` in the oldest generation that knows what is asked.
    fn ask(
        &self,
        desc: &D3D12_RESOURCE_DESC1,
        castable_formats: &[DXGI_FORMAT],
    ) -> Result<Option<(ByteSize, Alignment)>, Error> {
        let info = match downgrade(desc) {
            _ if !castable_formats.is_empty() => {
                let device = self
                    .device12
                    .as_ref()
                    .ok_or_else(|| Error::unsupported("castable formats on this device (ID3D12Device12)"))?;
                let count = u32::try_from(castable_formats.len()).map_err(|_| {
                    Error::invalid_argument("castable formats", "there are more than 2^32 - 1")
                })?;
                let list = castable_formats.as_ptr();
                // SAFETY: the device is a live COM object; the description, the count and the list, which has as many
                // formats as are counted, outlive the call.
                unsafe { device.GetResourceAllocationInfo3(0, 1, desc, &count, ptr::from_ref(&list), None) }
            }
            Some(desc) => return Ok(allocation_info(&self.device, &desc)),
            None => {
                let device = self.device8.as_ref().ok_or_else(|| {
                    Error::unsupported("D3D12_RESOURCE_DESC1 on this device (ID3D12Device8)")
                })?;
                // SAFETY: the device is a live COM object, and the description outlives the call.
                unsafe { device.GetResourceAllocationInfo2(0, 1, desc, None) }
            }
        };
        Ok(read_allocation_info(info))
    }
}

#[cfg(test)]
mod tests {
    use heapwright_runtime::{HostProfile, Instance};

    use super::*;
    use crate::buffer_desc;
    use crate::requirements::{BufferUses, upgrade};

    fn query() -> RequirementsQuery {
        let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
        let caps = DeviceCaps::query(&gpu.device).expect("a sound device");
        RequirementsQuery::new(&gpu.device, &caps, RequirementsOptions::default())
    }

    fn texture(format: DXGI_FORMAT) -> D3D12_RESOURCE_DESC1 {
        D3D12_RESOURCE_DESC1 {
            Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
            Height: 64,
            Format: format,
            Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
            ..upgrade(&buffer_desc(ByteSize::new(64)))
        }
    }

    #[test]
    fn castable_formats_are_heeded_and_need_their_interface() {
        let mut query = query();
        // A device that is not told of the formats would take both: blocks of one byte are no blocks of four.
        for (castable, is_sound) in [(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, true), (DXGI_FORMAT_R8_UNORM, false)] {
            let formats = [castable];
            let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
            let requested = RequestedResource { desc, castable_formats: &formats, uses: BufferUses::empty() };
            let found = query.requirements(&requested, Creation::Placed);
            assert_eq!(found.is_ok(), is_sound, "{found:?}");
        }
        query.device12 = None;
        let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
        let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
        let requested = RequestedResource { desc, castable_formats: &formats, uses: BufferUses::empty() };
        let error = query.requirements(&requested, Creation::Placed).expect_err("there is no interface");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device12"), "{error}");
        let without = RequestedResource { castable_formats: &[], ..requested };
        assert!(query.requirements(&without, Creation::Placed).is_ok(), "the first interface is enough");
    }

    #[test]
    fn sampler_feedback_regions_are_passed_on_and_need_their_interface() {
        let mut query = query();
        let region = D3D12_MIP_REGION { Width: 8, Height: 8, Depth: 1 };
        let desc =
            D3D12_RESOURCE_DESC1 { SamplerFeedbackMipRegion: region, ..texture(DXGI_FORMAT_R8G8B8A8_UNORM) };
        let requested = RequestedResource { desc, castable_formats: &[], uses: BufferUses::empty() };
        // The runtime hears of the region, and refuses it for a format that has none.
        let error = query.requirements(&requested, Creation::Placed).expect_err("the format has no regions");
        assert!(error.is_invalid_argument(), "{error}");
        query.device8 = None;
        let error = query.requirements(&requested, Creation::Placed).expect_err("there is no interface");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device8"), "{error}");
    }
}
