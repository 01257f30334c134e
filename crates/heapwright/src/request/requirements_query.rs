//! Queries of the device for the sizes of resources, and a cache of its results for buffers, so that each description
//! is queried once.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use heapwright_core::{Alignment, ByteSize};
#[cfg(feature = "preview")]
use heapwright_d3d12::preview::{ID3D12GuidTextureLayoutDevice, with_layout_guid};
use heapwright_d3d12::resource_desc::upgrade;
use heapwright_d3d12::*;
use windows_core::Interface;

use super::requirements::{Creation, RequirementsOptions, ResourceRequirements, known_buffer, requirements};
use super::{format_support, standard_tiles};
use crate::caps::{allocation_info, read_allocation_info};
use crate::desc::ResourceDesc;
use crate::{BufferUses, DeviceCaps, Error};

/// Queries the requirements of resources from a device.
///
/// Holds the interfaces for the queries, so that a resource costs no `QueryInterface`.
pub(crate) struct RequirementsQuery {
    device: ID3D12Device,
    /// For descriptions with a sampler feedback region.
    device8: Option<ID3D12Device8>,
    /// For castable formats.
    device12: Option<ID3D12Device12>,
    /// For layout GUIDs.
    #[cfg(feature = "preview")]
    layout_device: Option<ID3D12GuidTextureLayoutDevice>,
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
            #[cfg(feature = "preview")]
            layout_device: device.cast().ok(),
            caps: *caps,
            options,
            is_tight_by_default: options.tight_alignment && caps.tight_alignment_tier != 0,
            remembered: RememberedBuffers::new(),
        }
    }

    /// Returns whether buffers are tightly aligned unless their descriptions prevent it.
    #[inline]
    pub(crate) fn is_tight_by_default(&self) -> bool {
        self.is_tight_by_default
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
    /// Those of [`requirements`]; those of a description that the device refuses, with the reason as far as it is
    /// known; unsupported if the device lacks the interface for castable formats (`ID3D12Device12`) or for sampler
    /// feedback regions (`ID3D12Device8`).
    #[inline]
    pub(crate) fn requirements(
        &self,
        resource: &ResourceDesc<'_>,
        uses: BufferUses,
        creation: Creation,
    ) -> Result<ResourceRequirements, Error> {
        let placed = if creation == Creation::Placed { self.remembered(resource, uses) } else { None };
        placed.map_or_else(|| self.determine(resource, uses, creation), Ok)
    }

    fn determine(
        &self,
        resource: &ResourceDesc<'_>,
        uses: BufferUses,
        creation: Creation,
    ) -> Result<ResourceRequirements, Error> {
        let found = requirements(resource, uses, creation, &self.caps, &self.options, |desc| {
            if resource.has_later_fields() {
                return self.ask(desc, resource);
            }
            self.remembered.get_or(desc, || self.ask(desc, resource))
        });
        found?.ok_or_else(|| self.refused(resource))
    }

    /// Returns the reason why the device does not return a size: its result is the same for all of them.
    #[cold]
    fn refused(&self, resource: &ResourceDesc<'_>) -> Error {
        let flags = resource.desc.Flags | self.options.extra_required_resource_flags;
        let desc = D3D12_RESOURCE_DESC { Flags: flags, ..resource.desc };
        let (least, largest) = (standard_tiles::least_bytes(&desc), self.caps.max_resource_size());
        if !resource.is_buffer() && least > largest {
            let rule = format!(
                "the texture needs at least {least}, which exceeds the maximum resource size of {largest}"
            );
            return Error::too_large("D3D12_RESOURCE_DESC", rule);
        }
        let has_casts = !resource.castable_formats.is_empty();
        match format_support::explain_refusal(&self.device, &desc, has_casts) {
            Err(error) => error,
            Ok(()) => {
                let rule = "GetResourceAllocationInfo rejected the description";
                Error::invalid_argument("D3D12_RESOURCE_DESC", rule)
            }
        }
    }

    /// Returns the result of [`requirements`](Self::requirements) for a plain placed buffer without a query of the
    /// device. `None` if it is not plain, or was not queried recently. O(1).
    ///
    /// A plain buffer requests no alignment, neither itself nor by uses.
    #[inline]
    fn remembered(&self, resource: &ResourceDesc<'_>, uses: BufferUses) -> Option<ResourceRequirements> {
        // Flags that matter in addition to the description: acceleration structures have uses, and resources that cross
        // adapters are not tightly aligned.
        const SPECIAL: D3D12_RESOURCE_FLAGS =
            D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE | D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
        let flags = resource.desc.Flags | self.options.extra_required_resource_flags;
        let is_plain = resource.desc.Alignment == 0
            && uses.is_empty()
            && resource.castable_formats.is_empty()
            && !resource.has_later_fields()
            && flags & SPECIAL == 0;
        if !is_plain {
            return None;
        }
        if !self.is_tight_by_default {
            let desc = D3D12_RESOURCE_DESC { Flags: flags, ..resource.desc };
            let is_possible = ByteSize::new(desc.Width) <= self.caps.max_resource_size();
            let (size, alignment) = known_buffer(&desc).filter(|_| is_possible)?;
            return Some(ResourceRequirements { desc, size, alignment });
        }
        let flags = flags | D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
        let desc = D3D12_RESOURCE_DESC { Flags: flags, ..resource.desc };
        let (size, alignment) = self.remembered.find(Question::of(&desc)?)?;
        Some(ResourceRequirements { desc, size, alignment })
    }

    /// Calls `GetResourceAllocationInfo` in the oldest generation that supports the request.
    #[cold]
    fn ask(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        resource: &ResourceDesc<'_>,
    ) -> Result<Option<(ByteSize, Alignment)>, Error> {
        format_support::check_optional(&self.device, desc)?;
        let formats = resource.castable_formats;
        if formats.is_empty() && !resource.has_later_fields() {
            return Ok(allocation_info(&self.device, desc));
        }
        let desc = with_mip_region(desc, resource.sampler_feedback_mip_region);
        #[cfg(feature = "preview")]
        if !resource.layout_guid.is_null() {
            return self.ask_in_layout(&desc, resource);
        }
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

    /// Calls `GetResourceAllocationInfo4`, which takes a layout GUID.
    #[cfg(feature = "preview")]
    fn ask_in_layout(
        &self,
        desc: &D3D12_RESOURCE_DESC1,
        resource: &ResourceDesc<'_>,
    ) -> Result<Option<(ByteSize, Alignment)>, Error> {
        let Some(device) = self.layout_device.as_ref().filter(|_| self.caps.layout_guid_tier != 0) else {
            return Err(Error::unsupported("a layout GUID (requires ID3D12GuidTextureLayoutDevice)"));
        };
        let desc = with_layout_guid(desc, resource.layout_guid.get());
        let formats = resource.castable_formats;
        let count = u32::try_from(formats.len())
            .map_err(|_| Error::invalid_argument("castable formats", "the count exceeds 2^32 - 1"))?;
        let (list, mut info) = (formats.as_ptr(), D3D12_RESOURCE_ALLOCATION_INFO::default());
        // SAFETY: the device is a live COM object; the result, the description, the count and the list, which has as
        // many formats as are counted, outlive the call.
        unsafe { device.GetResourceAllocationInfo4(&mut info, 0, 1, &desc, &count, &list, ptr::null_mut()) };
        Ok(read_allocation_info(info))
    }
}

/// Converts a description to one with a mip region of sampler feedback.
pub(crate) fn with_mip_region(desc: &D3D12_RESOURCE_DESC, region: D3D12_MIP_REGION) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 { SamplerFeedbackMipRegion: region, ..upgrade(desc) }
}

/// Number of cached results: 4 KiB in total.
const PLACES: usize = 1 << PLACES_LOG2;
const PLACES_LOG2: u32 = 9;

/// A cache of a device's results for buffers: a table in which each description has one slot, which holds the last
/// result.
///
/// A device returns the same result for the same description each time (the HLK tests of tight alignment require it),
/// so the cache changes no decision, only whether the device is called.
///
/// Each entry is one word, which is read and written atomically: there is no lock, and no thread can read a part of an
/// entry. Entries that do not fit into a word are not cached: widths from 1 TiB on, flags from bit 12 on, and sizes
/// that are not the width rounded up to the alignment.
///
/// Cost: O(1).
struct RememberedBuffers {
    places: Box<[AtomicU64; PLACES]>,
}

/// A description and its result in a word, from the lowest bit up:
///
/// | bits | |
/// |---|---|
/// | 40 | width, not zero |
/// | 12 | flags |
/// | 5 | the alignment of the description: 0, or 1 + the power of two |
/// | 5 | the alignment of the result, as a power of two |
///
/// The first three are the key.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Question(u64);

const WIDTH_BITS: u32 = 40;
const FLAG_BITS: u32 = 12;
const ALIGNMENT_BITS: u32 = 5;
const QUESTION_BITS: u32 = WIDTH_BITS + FLAG_BITS + ALIGNMENT_BITS;

impl Question {
    /// Returns `None` for a description that is not a well-formed buffer, or does not fit.
    #[inline]
    fn of(desc: &D3D12_RESOURCE_DESC) -> Option<Self> {
        let is_plain = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER
            && (desc.Height, desc.DepthOrArraySize, desc.MipLevels) == (1, 1, 1)
            && (desc.Format, desc.Layout) == (DXGI_FORMAT_UNKNOWN, D3D12_TEXTURE_LAYOUT_ROW_MAJOR)
            && (desc.SampleDesc.Count, desc.SampleDesc.Quality) == (1, 0);
        let flags = u64::from(desc.Flags);
        let alignment = match desc.Alignment {
            0 => 0,
            alignment => 1 + Alignment::new(alignment)?.log2(),
        };
        let fits = desc.Width != 0
            && desc.Width >> WIDTH_BITS == 0
            && flags >> FLAG_BITS == 0
            && alignment >> ALIGNMENT_BITS == 0;
        (is_plain && fits).then_some(Self(
            desc.Width | flags << WIDTH_BITS | u64::from(alignment) << (WIDTH_BITS + FLAG_BITS),
        ))
    }

    fn width(self) -> ByteSize {
        ByteSize::new(self.0 & ((1 << WIDTH_BITS) - 1))
    }

    /// Returns the index in the table. Consecutive widths, and those of an arithmetic progression, are far apart.
    #[inline]
    fn place(self) -> usize {
        // 2^64 over the golden ratio.
        let spread = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_LOG2);
        usize::try_from(spread).unwrap_or(0)
    }
}

impl RememberedBuffers {
    fn new() -> Self {
        Self { places: Box::new([const { AtomicU64::new(0) }; PLACES]) }
    }

    /// Returns the cached result for a description, if there is one.
    #[inline]
    fn find(&self, question: Question) -> Option<(ByteSize, Alignment)> {
        // Relaxed: the word is complete in itself, and no other data depends on it.
        let word = self.places[question.place()].load(Ordering::Relaxed);
        if word & ((1 << QUESTION_BITS) - 1) != question.0 {
            return None;
        }
        let alignment = Alignment::new(1 << (word >> QUESTION_BITS))?;
        Some((question.width().align_up(alignment)?, alignment))
    }

    /// Returns the cached result for a description, or the result of `ask`, which is then cached.
    fn get_or<E>(
        &self,
        desc: &D3D12_RESOURCE_DESC,
        ask: impl FnOnce() -> Result<Option<(ByteSize, Alignment)>, E>,
    ) -> Result<Option<(ByteSize, Alignment)>, E> {
        let Some(question) = Question::of(desc) else { return ask() };
        if let Some(found) = self.find(question) {
            return Ok(Some(found));
        }
        let answer = ask()?;
        if let Some((size, alignment)) = answer {
            let log2 = u64::from(alignment.log2());
            if log2 >> ALIGNMENT_BITS == 0 && question.width().align_up(alignment) == Some(size) {
                self.places[question.place()].store(question.0 | log2 << QUESTION_BITS, Ordering::Relaxed);
            }
        }
        Ok(answer)
    }
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
        let desc = texture(DXGI_FORMAT_R8G8B8A8_UNORM);
        for (castable, is_sound) in [(DXGI_FORMAT_R8G8B8A8_UNORM_SRGB, true), (DXGI_FORMAT_R8_UNORM, false)] {
            let formats = [castable];
            let resource = ResourceDesc { castable_formats: &formats, ..ResourceDesc::new(&desc) };
            let found = query.requirements(&resource, BufferUses::empty(), Creation::Placed);
            assert_eq!(found.is_ok(), is_sound, "{found:?}");
        }
        query.device12 = None;
        let formats = [DXGI_FORMAT_R8G8B8A8_UNORM_SRGB];
        let resource = ResourceDesc { castable_formats: &formats, ..ResourceDesc::new(&desc) };
        let placed = |resource| query.requirements(resource, BufferUses::empty(), Creation::Placed);
        let error = placed(&resource).expect_err("the interface is missing");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device12"), "{error}");
        let without = ResourceDesc { castable_formats: &[], ..resource };
        assert!(placed(&without).is_ok(), "the first interface suffices");
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
                                let resource = ResourceDesc::new(&desc);
                                let decided = query.determine(&resource, uses, Creation::Placed);
                                let Some(remembered) = query.remembered(&resource, uses) else { continue };
                                assert_eq!(decided.expect("must be cached"), remembered, "{resource:?}");
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
        let resource = ResourceDesc { sampler_feedback_mip_region: region, ..ResourceDesc::new(&desc) };
        let uses = BufferUses::empty();
        // The runtime receives the region, and refuses it for a format without regions.
        let found = query.requirements(&resource, uses, Creation::Placed);
        let error = found.expect_err("the format has no regions");
        assert!(error.is_invalid_argument(), "{error}");
        query.device8 = None;
        let found = query.requirements(&resource, uses, Creation::Placed);
        let error = found.expect_err("the interface is missing");
        assert!(error.is_unsupported() && error.to_string().contains("ID3D12Device8"), "{error}");
    }
}

#[cfg(test)]
mod remembered_tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn buffer(width: u64, alignment: u64, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
        let desc = crate::buffer_desc(ByteSize::new(width));
        D3D12_RESOURCE_DESC { Alignment: alignment, Flags: flags, ..desc }
    }

    /// A result that depends on every part of the description.
    fn answer(desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
        let mixed = desc.Width ^ desc.Alignment.rotate_left(7) ^ u64::from(desc.Flags).rotate_left(3);
        let alignment = Alignment::from_log2(u32::try_from(mixed % 17).ok()?)?;
        Some((ByteSize::new(desc.Width).align_up(alignment)?, alignment))
    }

    fn asked(desc: &D3D12_RESOURCE_DESC) -> Result<Option<(ByteSize, Alignment)>, ()> {
        Ok(answer(desc))
    }

    fn found(remembered: &RememberedBuffers, desc: &D3D12_RESOURCE_DESC) -> Option<(ByteSize, Alignment)> {
        remembered.find(Question::of(desc)?)
    }

    #[test]
    fn repeated_queries_are_cached() {
        let remembered = RememberedBuffers::new();
        let desc = buffer(1000, 0, D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT);
        assert_eq!(found(&remembered, &desc), None);
        assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc));
        assert_eq!(found(&remembered, &desc), answer(&desc));
        assert_eq!(remembered.get_or(&desc, || Err("cached result must be used")), Ok(answer(&desc)));
    }

    #[test]
    fn large_and_rejected_buffers_are_not_cached() {
        let remembered = RememberedBuffers::new();
        let plain = buffer(1000, 0, 0);
        let large = [buffer(1 << WIDTH_BITS, 0, 0), buffer(0, 0, 0), buffer(1, 0, 1 << FLAG_BITS)];
        let others = [
            buffer(1000, 3, 0),
            buffer(1000, 1 << 31, 0),
            D3D12_RESOURCE_DESC { Height: 2, ..plain },
            D3D12_RESOURCE_DESC { DepthOrArraySize: 2, ..plain },
            D3D12_RESOURCE_DESC { MipLevels: 2, ..plain },
            D3D12_RESOURCE_DESC { Format: DXGI_FORMAT_R8_UNORM, ..plain },
            D3D12_RESOURCE_DESC { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..plain },
            D3D12_RESOURCE_DESC { SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 }, ..plain },
            D3D12_RESOURCE_DESC { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..plain },
        ];
        for desc in large.into_iter().chain(others) {
            remembered.get_or(&desc, || asked(&desc)).expect("answered");
            assert_eq!(found(&remembered, &desc), None, "{desc:?}");
        }
        for odd in
            [None, Some((ByteSize::new(2048), Alignment::ONE)), Some((ByteSize::new(8), Alignment::ONE))]
        {
            assert_eq!(remembered.get_or(&plain, || Ok::<_, ()>(odd)), Ok(odd));
            assert_eq!(found(&remembered, &plain), None);
        }
        assert_eq!(remembered.get_or(&plain, || Err("failed")), Err("failed"));
        assert_eq!(found(&remembered, &plain), None);
    }

    #[test]
    fn threads_never_read_partial_entries() {
        let remembered = RememberedBuffers::new();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let remembered = &remembered;
                scope.spawn(move || {
                    // Several descriptions share a slot, so threads overwrite each other's entries.
                    for round in 0..if cfg!(miri) { 200 } else { 100_000_u64 } {
                        let width = 1 + (round * 7 + thread) % 3000;
                        let desc = buffer(
                            width,
                            [0, 64, 256][usize::from(round % 2 == 0) + usize::from(round % 3 == 0)],
                            u32::try_from(round % 5).expect("small"),
                        );
                        assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc), "{desc:?}");
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn cached_results_equal_the_queried_results(
            descs in prop::collection::vec(
                (
                    prop_oneof![1..600_u64, any::<u64>()],
                    prop_oneof![Just(0), (0..20_u32).prop_map(|log2| 1 << log2)],
                    0..4096_u32,
                ),
                1..200,
            ),
        ) {
            let remembered = RememberedBuffers::new();
            let mut model = HashMap::new();
            for (width, alignment, flags) in descs {
                let desc = buffer(width, alignment, flags);
                let key = (width, alignment, flags);
                let found = found(&remembered, &desc);
                prop_assert!(found.is_none() || model.get(&key) == Some(&found));
                prop_assert_eq!(remembered.get_or(&desc, || asked(&desc)), asked(&desc));
                model.insert(key, answer(&desc));
            }
        }
    }
}
