//! The description of an allocator.

use std::path::PathBuf;

use bitflags::bitflags;
use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::flags::{EmptyHeapPolicy, ResourceAllocatorFlags, SuballocationAlgorithm};
use crate::{AlignmentWithTight, DeviceCaps, Error, HeapType, NodeMasks};

/// Every heap's size is a multiple of this. D3D12 does not require it: the reference of `D3D12_HEAP_DESC::SizeInBytes`
/// accepts other sizes, and recommends multiples of the alignment, which is at least 64 KiB.
pub(crate) const HEAP_GRANULARITY: Alignment =
    match Alignment::new(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("64 KiB is a power of two"),
    };

/// The configuration of an allocator: `RESOURCE_ALLOCATOR_DESC` of GPGMM, and fields that D3D12MA adds.
///
/// `Default` sets the default that each field documents.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceAllocatorDesc {
    /// Flags; none by default.
    pub flags: ResourceAllocatorFlags,
    /// The resource heap tier to use; `None` is the device's tier. Below the device's tier, heaps are separated more
    /// than necessary, and a warning is logged. A higher tier is an error.
    pub resource_heap_tier: Option<u8>,
    /// How resources share heaps.
    pub suballocation_algorithm: SuballocationAlgorithm,
    /// How empty heaps are kept.
    pub empty_heap_policy: EmptyHeapPolicy,
    /// Usual size of a heap that resources share, at least, rounded up to 64 KiB. A heap for requests of which few fit
    /// in the usual size is a multiple of the request: with 4 MiB, a request of 3 MiB gets a heap of 3 MiB. `None` is 4
    /// MiB, and 256 KiB for UPLOAD and READBACK heaps. With [`Slab`](SuballocationAlgorithm::Slab) and
    /// [`BuddySystem`](SuballocationAlgorithm::BuddySystem), `None` is 64 KiB (4 MiB for multisampled textures), as in
    /// GPGMM.
    pub preferred_heap_size: Option<ByteSize>,
    /// Maximum size of a heap, at least 64 KiB; a request that needs a larger one is out of memory. `None` is what the
    /// process can address.
    pub max_heap_size: Option<ByteSize>,
    /// With [`Slab`](SuballocationAlgorithm::Slab): maximum fraction of a heap that may be wasted by rounding a request
    /// up, above 0 and up to 1. `None` is an eighth.
    pub heap_fragmentation_limit: Option<f64>,
    /// With [`Slab`](SuballocationAlgorithm::Slab): factor by which the next heap of a size is larger than the last.
    /// `None` is 1.25. Below 1, each resource has a heap of its own.
    pub heap_growth_factor: Option<f64>,
    /// Minimum alignment of every allocation in the allocator's own heaps, at most 64 KiB; with tight alignment, the
    /// device may report as little as 8 bytes. 1 by default. Custom pools have their own.
    pub min_alignment: Alignment,
    /// Minimum number of bytes of empty heaps to release when memory is short. More is released if more is missing.
    pub release_size: ByteSize,
    /// Flags that are added to every resource.
    pub extra_required_resource_flags: D3D12_RESOURCE_FLAGS,
    /// The events to record.
    pub record_options: RecordOptions,
    /// The maximum that may be held, for each heap type.
    pub limits: HeapLimits,
    /// How the device treats alignments combined with tight alignment. `Invalid`, the default, is correct on every SDK.
    /// With `Floor`, for SDK 1.619.4 or later, requested alignments are passed to the driver.
    pub alignment_beside_tight: AlignmentWithTight,
    /// Node masks of the adapter's GPUs; zero for both is the only GPU.
    pub nodes: NodeMasks,
}

impl Default for ResourceAllocatorDesc {
    fn default() -> Self {
        Self {
            flags: ResourceAllocatorFlags::empty(),
            resource_heap_tier: None,
            suballocation_algorithm: SuballocationAlgorithm::Default,
            empty_heap_policy: EmptyHeapPolicy::Default,
            preferred_heap_size: None,
            max_heap_size: None,
            heap_fragmentation_limit: None,
            heap_growth_factor: None,
            min_alignment: Alignment::ONE,
            release_size: ByteSize::ZERO,
            extra_required_resource_flags: D3D12_RESOURCE_FLAG_NONE,
            record_options: RecordOptions::default(),
            limits: HeapLimits::default(),
            alignment_beside_tight: AlignmentWithTight::default(),
            nodes: NodeMasks::default(),
        }
    }
}

/// Hard limits on the bytes that heaps and committed resources take together: of each type, and of all types in a
/// segment group. `None` is no limit.
///
/// A request that would exceed a limit is out of memory, and the error's message names the limit. A new heap takes at
/// most an eighth of what the limit leaves, unless the request needs more.
///
/// With [unified memory](ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY) the types share their heaps. These heaps, and
/// committed resources in unified memory, count as DEFAULT: the limit of DEFAULT applies to all unified memory. The
/// limits of the other types then apply to the bytes of the resources that request the type.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeapLimits {
    /// Limit of DEFAULT, in bytes.
    pub default: Option<ByteSize>,
    /// Limit of UPLOAD, in bytes.
    pub upload: Option<ByteSize>,
    /// Limit of READBACK, in bytes.
    pub readback: Option<ByteSize>,
    /// Limit of GPU_UPLOAD, in bytes.
    pub gpu_upload: Option<ByteSize>,
    /// Limit of each segment group, as a share of its budget at that time, above 0 and up to 1. Requires an adapter or
    /// a residency manager, whose budget is used. A smaller budget releases nothing that is in use.
    pub share_of_budget: Option<f64>,
}

impl HeapLimits {
    /// Returns the limit of a heap type, in bytes.
    #[must_use]
    pub const fn of(&self, heap_type: HeapType) -> Option<ByteSize> {
        match heap_type {
            HeapType::Default => self.default,
            HeapType::Upload => self.upload,
            HeapType::Readback => self.readback,
            HeapType::GpuUpload => self.gpu_upload,
        }
    }
}

impl ResourceAllocatorDesc {
    pub(crate) fn check(&self, caps: &DeviceCaps) -> Result<(), Error> {
        let error = |field, rule: String| Err(Error::invalid_argument(field, rule));
        let unknown = self.flags.difference(ResourceAllocatorFlags::all());
        if !unknown.is_empty() {
            return error(
                "ResourceAllocatorDesc::flags",
                format!("the flag bits {:#x} are unknown", unknown.bits()),
            );
        }
        let device = caps.resource_heap_tier;
        if let Some(tier) = self.resource_heap_tier.filter(|&tier| tier == 0 || tier > device) {
            let rule = format!("{tier} is out of range; 1 to the device's tier, {device}, is allowed");
            return error("ResourceAllocatorDesc::resource_heap_tier", rule);
        }
        if self.suballocation_algorithm == SuballocationAlgorithm::Linear {
            let rule =
                "Linear is only supported for custom pools, because freed ranges are not reused while older and newer ones are in use".to_owned();
            return error("ResourceAllocatorDesc::suballocation_algorithm", rule);
        }
        for (size, field) in [
            (self.preferred_heap_size, "ResourceAllocatorDesc::preferred_heap_size"),
            (self.max_heap_size, "ResourceAllocatorDesc::max_heap_size"),
        ] {
            if size.is_some_and(ByteSize::is_zero) {
                return error(field, "must not be zero; None selects the default".to_owned());
            }
        }
        if let Some(largest) = self.max_heap_size.filter(|size| size.get() < HEAP_GRANULARITY.get()) {
            let rule = format!("{largest} is too small; every heap has a multiple of 64 KiB");
            return error("ResourceAllocatorDesc::max_heap_size", rule);
        }
        if let (Some(preferred), Some(largest)) = (self.preferred_heap_size, self.max_heap_size) {
            if preferred > largest {
                let rule = format!("{preferred} exceeds max_heap_size, {largest}");
                return error("ResourceAllocatorDesc::preferred_heap_size", rule);
            }
        }
        if self.min_alignment > HEAP_GRANULARITY {
            let rule = format!("{} exceeds the maximum of 64 KiB", self.min_alignment.get());
            return error("ResourceAllocatorDesc::min_alignment", rule);
        }
        if self.heap_fragmentation_limit.is_some_and(|limit| !(limit > 0.0 && limit <= 1.0)) {
            let rule = "must be above 0 and at most 1".to_owned();
            return error("ResourceAllocatorDesc::heap_fragmentation_limit", rule);
        }
        if self.heap_growth_factor.is_some_and(|factor| !(factor > 0.0 && factor.is_finite())) {
            return error(
                "ResourceAllocatorDesc::heap_growth_factor",
                "must be above 0 and finite".to_owned(),
            );
        }
        if self.limits.share_of_budget.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return error("HeapLimits::share_of_budget", "must be above 0 and at most 1".to_owned());
        }
        self.record_options.check("ResourceAllocatorDesc::record_options")
    }
}

bitflags! {
    /// The events to record: `RECORD_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct RecordFlags: u32 {
        /// Creation and destruction of objects.
        const API_OBJECTS = 0x1;
        /// Calls and their parameters.
        const API_CALLS = 0x2;
        /// The duration of calls.
        const API_TIMINGS = 0x4;
        /// Counters.
        const COUNTERS = 0x8;
        /// Everything that a replay needs: objects and calls.
        const CAPTURE = 0x3;
        /// Everything.
        const ALL = 0xff;
    }
}

/// The scope of a recording: `RECORD_SCOPE` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RecordScope {
    /// All instances of the process together: those that name the same file, and while one of these lives, each new one
    /// on its device whose options are the default. Residency heaps without a manager belong to it, too.
    #[default]
    PerProcess,
    /// This instance only. Without flags, the instance belongs to no recording of the process.
    PerInstance,
}

/// The events to record, and the output file: `RECORD_OPTIONS` of GPGMM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordOptions {
    /// The events to record; none by default. Then the [environment](crate::recording) or a recording of the process
    /// may select some.
    pub flags: RecordFlags,
    /// The scope of the recording.
    pub scope: RecordScope,
    /// Whether statistics are gathered after each allocation, so that counters include every step.
    pub use_detailed_timing_events: bool,
    /// Path of the output file. `None` is `gpgmm_event_trace.json` in the working directory, or for
    /// [`RecordScope::PerInstance`] a new file `gpgmm_event_trace.1.json`, `gpgmm_event_trace.2.json` and so on. The
    /// extension `.hws` selects the [session format](crate::recording#files), and `.json` a Chrome trace; any other is
    /// an error.
    pub trace_file: Option<PathBuf>,
}

impl RecordOptions {
    pub(crate) fn check(&self, field: &'static str) -> Result<(), Error> {
        let unknown = self.flags.difference(RecordFlags::ALL);
        if unknown.is_empty() {
            return Ok(());
        }
        Err(Error::invalid_argument(field, format!("the flag bits {:#x} are unknown", unknown.bits())))
    }
}
