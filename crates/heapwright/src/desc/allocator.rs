//! How an allocator behaves.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;

use super::{EmptyHeapPolicy, RecordFlags, RecordOptions, ResourceAllocatorFlags, SuballocationAlgorithm};
use crate::{AlignmentBesideTight, DeviceCaps, Error, HeapType, NodeMasks};

/// What every heap's size is a multiple of. Our choice: the reference of `D3D12_HEAP_DESC::SizeInBytes` takes other sizes, and
/// recommends multiples of the alignment, which is 64 KiB at least.
pub(crate) const HEAP_GRANULARITY: Alignment =
    match Alignment::new(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT.cast_unsigned() as u64) {
        Some(alignment) => alignment,
        None => panic!("64 KiB is a power of two"),
    };

/// How an allocator behaves: `RESOURCE_ALLOCATOR_DESC` (document GPGMM) and what D3D12MA adds.
///
/// `Default` is what the documentation of the fields says.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceAllocatorDesc {
    /// None by default.
    pub flags: ResourceAllocatorFlags,
    /// The resource heap tier to keep to; `None` is the device's. Below it, resources are kept apart that need not be, and a
    /// warning is logged. Above it is an error.
    pub resource_heap_tier: Option<u8>,
    /// How resources share heaps.
    pub suballocation_algorithm: SuballocationAlgorithm,
    /// How empty heaps are kept.
    pub empty_heap_policy: EmptyHeapPolicy,
    /// The least size of a heap that resources share, rounded up to 64 KiB. `None` is 256 KiB, or with [`Slab`](SuballocationAlgorithm::Slab) and
    /// [`BuddySystem`](SuballocationAlgorithm::BuddySystem) 64 KiB (4 MiB for multisampled textures), as GPGMM has it.
    pub preferred_heap_size: Option<ByteSize>,
    /// The largest heap; what needs more is out of memory. `None`: what the process can address.
    pub max_heap_size: Option<ByteSize>,
    /// With [`Slab`](SuballocationAlgorithm::Slab): the part of a heap that rounding one request up may lose, above 0 and up to 1.
    /// `None` is an eighth.
    pub heap_fragmentation_limit: Option<f64>,
    /// With [`Slab`](SuballocationAlgorithm::Slab): the next heap of a size is this many times the last. `None` is 1.25; below 1
    /// each resource has a heap of its own.
    pub heap_growth_factor: Option<f64>,
    /// The least number of bytes of empty heaps to give back when memory is short. More is given back if more is missing.
    pub release_size: ByteSize,
    /// Flags that every resource gets beside its own.
    pub extra_required_resource_flags: D3D12_RESOURCE_FLAGS,
    /// What is recorded.
    pub record_options: RecordOptions,
    /// What may be held at most.
    pub limits: HeapLimits,
    /// What the device makes of alignments beside tight alignment. `Invalid`, the default, is right on every SDK; with `Floor`, from
    /// SDK 1.619.4 on, the driver hears of alignments that are asked for.
    pub alignment_beside_tight: AlignmentBesideTight,
    /// Nodes of the adapter; zero for both is its only one.
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
            release_size: ByteSize::ZERO,
            extra_required_resource_flags: D3D12_RESOURCE_FLAG_NONE,
            record_options: RecordOptions::default(),
            limits: HeapLimits::default(),
            alignment_beside_tight: AlignmentBesideTight::default(),
            nodes: NodeMasks::default(),
        }
    }
}

/// Hard limits: what heaps and committed resources of each type may take together. `None` is no limit.
///
/// A request that would go beyond one is out of memory, and its message says which limit.
///
/// With [unified memory](ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY) the types share their heaps, which count as DEFAULT's, as do
/// committed resources in such memory: DEFAULT's limit is that of all unified memory. The limits of the other types hold there for the
/// bytes of the resources that ask for the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapLimits {
    /// Of DEFAULT.
    pub default: Option<ByteSize>,
    /// Of UPLOAD.
    pub upload: Option<ByteSize>,
    /// Of READBACK.
    pub readback: Option<ByteSize>,
    /// Of GPU_UPLOAD.
    pub gpu_upload: Option<ByteSize>,
}

impl HeapLimits {
    /// The limit of a heap type.
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
            return error("ResourceAllocatorDesc::flags", format!("{:#x} is no flag", unknown.bits()));
        }
        let device = caps.resource_heap_tier;
        if let Some(tier) = self.resource_heap_tier.filter(|&tier| tier == 0 || tier > device) {
            let rule = format!("{tier} is not between 1 and the device's tier, {device}");
            return error("ResourceAllocatorDesc::resource_heap_tier", rule);
        }
        if self.suballocation_algorithm == SuballocationAlgorithm::Linear {
            let rule =
                "linear heaps are for custom pools: what is freed in between comes back late".to_owned();
            return error("ResourceAllocatorDesc::suballocation_algorithm", rule);
        }
        for (size, field) in [
            (self.preferred_heap_size, "ResourceAllocatorDesc::preferred_heap_size"),
            (self.max_heap_size, "ResourceAllocatorDesc::max_heap_size"),
        ] {
            if size.is_some_and(ByteSize::is_zero) {
                return error(field, "is zero; None is the default".to_owned());
            }
        }
        if let (Some(preferred), Some(largest)) = (self.preferred_heap_size, self.max_heap_size) {
            if preferred > largest {
                let rule = format!("{preferred} is above max_heap_size, {largest}");
                return error("ResourceAllocatorDesc::preferred_heap_size", rule);
            }
        }
        if self.heap_fragmentation_limit.is_some_and(|limit| !(limit > 0.0 && limit <= 1.0)) {
            let rule = "is a part of a heap, above 0 and up to 1".to_owned();
            return error("ResourceAllocatorDesc::heap_fragmentation_limit", rule);
        }
        if self.heap_growth_factor.is_some_and(|factor| !(factor > 0.0 && factor.is_finite())) {
            return error("ResourceAllocatorDesc::heap_growth_factor", "is above 0 and finite".to_owned());
        }
        if self.record_options.flags != RecordFlags::empty() {
            return Err(Error::unsupported("ResourceAllocatorDesc::record_options: recording"));
        }
        Ok(())
    }
}
