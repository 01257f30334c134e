//! The simulated GPUs that come with the runtime, as data.
//!
//! The numbers describe kinds of hardware, not products: what differs between them is what memory code has to
//! cope with.

use std::time::Duration;

use heapwright_core::{Alignment, ByteSize};

use crate::ddi::Architecture;

/// A simulated GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostProfile {
    /// What `--device host:NAME` takes.
    pub name: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// PCI vendor; 0x1414 (Microsoft's, as its software adapters have it) would lie, so this is none's.
    pub vendor_id: u32,
    /// PCI device.
    pub device_id: u32,
    /// How its memory relates to the CPU's.
    pub architecture: Architecture,
    /// `D3D12_RESOURCE_HEAP_TIER`, 1 or 2.
    pub resource_heap_tier: u8,
    /// `D3D12_TILED_RESOURCES_TIER`, 0 to 4. On tier 1, which leaves the access to a null tile undefined, it faults.
    pub tiled_resources_tier: u8,
    /// Whether textures may have the layout 64KB_STANDARD_SWIZZLE.
    pub has_standard_swizzle: bool,
    /// Whether textures may have the layout ROW_MAJOR, which is for sharing between adapters.
    pub has_cross_adapter_row_major: bool,
    /// Alignment of placed buffers with tight alignment, 8 to 256; `None` where the driver has no such cap.
    pub tight_buffer_alignment: Option<Alignment>,
    /// Largest alignment of placed textures with tight alignment; `None` where they are aligned as without it, small
    /// ones as small ones.
    pub tight_texture_alignment: Option<Alignment>,
    /// Compression data beside render targets and depth-stencil textures, in thousandths of their size.
    pub texture_padding_per_mille: u32,
    /// The CPU sees all of video memory. On UMA it does, whatever this says.
    pub l1_memory_fully_cpu_accessible: bool,
    /// DDI version. A driver has no tight alignment and no addresses of the application's choice before 0111, and no GPU upload
    /// heaps before 0098.
    pub ddi_version: u32,
    /// The system is in developer mode; without, there are neither GPU upload heaps (document UPLOAD) nor addresses of the
    /// application's choice (document RECREATE).
    pub developer_mode: bool,
    /// Its device is what the first D3D12 had: `ID3D12Device` and no numbered interface, E_INVALIDARG to every feature that came
    /// later, and none of the later heap and resource flags.
    pub is_first_generation: bool,
    /// Whether its device takes callbacks for trim notifications (`ID3D12Device15`); without, it answers E_NOTIMPL to them.
    pub has_trim_notifications: bool,
    /// Whether programs that open it by name are to use its adapter.
    ///
    /// A D3D12 without DXGI has none, and some native builds of others are such. [`Instance::adapter`](crate::Instance::adapter)
    /// is there all the same, for tests that count memory.
    pub has_adapter: bool,
    /// The local segment group.
    pub local: SegmentProfile,
    /// The non-local segment group; empty on UMA.
    pub non_local: SegmentProfile,
    /// How long paging in takes, in nanoseconds for each MiB; 0 for no time at all.
    pub paging_nanos_per_mib: u64,
    /// How the local budget changes over time, in order; empty where it stays.
    pub budget_schedule: &'static [BudgetStep],
    /// Largest resource, in bits.
    pub gpu_va_bits_per_resource: u32,
    /// Address space of a process, in bits; more than 32, at most 62.
    pub gpu_va_bits_per_process: u32,
    /// Decides at which GPU virtual address the first object is; seeds that differ by one are far apart, and 0 is the lowest
    /// address there is. `None` is another place for each GPU that is opened, in this process and in others.
    ///
    /// So a program that recreates objects at the addresses of an earlier run (document RECREATE) has them by design and not
    /// by luck.
    pub address_seed: Option<u64>,
}

/// A change of the local budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetStep {
    /// When, since the GPU was opened.
    pub after: Duration,
    /// The budget from then on.
    pub local: ByteSize,
}

/// The memory of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentProfile {
    /// All there is; beyond it creation fails.
    pub capacity: ByteSize,
    /// What the process should stay under; at most the capacity.
    pub budget: ByteSize,
}

impl SegmentProfile {
    /// No memory at all.
    pub const EMPTY: Self = Self { capacity: ByteSize::ZERO, budget: ByteSize::ZERO };

    /// A segment group of which the operating system keeps 1/16 for others.
    const fn of_gib(gib: u64) -> Self {
        let capacity = ByteSize::from_gib(gib);
        Self { capacity, budget: ByteSize::new(capacity.get() - capacity.get() / 16) }
    }
}

/// A current discrete GPU; the other profiles say how they differ from it.
const DISCRETE: HostProfile = HostProfile {
    name: "discrete",
    description: "discrete GPU, 16 GiB, all of it visible to the CPU",
    vendor_id: 0x4857,
    device_id: 1,
    architecture: Architecture::Discrete,
    resource_heap_tier: 2,
    tiled_resources_tier: 3,
    has_standard_swizzle: false,
    has_cross_adapter_row_major: true,
    tight_buffer_alignment: Alignment::new(256),
    tight_texture_alignment: None,
    texture_padding_per_mille: 0,
    l1_memory_fully_cpu_accessible: true,
    ddi_version: 115,
    developer_mode: true,
    is_first_generation: false,
    has_trim_notifications: true,
    has_adapter: true,
    local: SegmentProfile::of_gib(16),
    non_local: SegmentProfile::of_gib(16),
    paging_nanos_per_mib: 0,
    budget_schedule: &[],
    gpu_va_bits_per_resource: 40,
    gpu_va_bits_per_process: 44,
    address_seed: None,
};

static PROFILES: [HostProfile; 10] = [
    DISCRETE,
    HostProfile {
        name: "discrete-2gib",
        description: "discrete GPU, 2 GiB, without CPU access to video memory",
        device_id: 2,
        l1_memory_fully_cpu_accessible: false,
        local: SegmentProfile::of_gib(2),
        non_local: SegmentProfile::of_gib(8),
        ..DISCRETE
    },
    HostProfile {
        name: "heap-tier-1",
        description: "discrete GPU that keeps buffers and textures in separate heaps, and tiles no volumes",
        device_id: 3,
        resource_heap_tier: 1,
        tiled_resources_tier: 2,
        ..DISCRETE
    },
    HostProfile {
        name: "old-ddi",
        description: "discrete GPU with a driver older than tight alignment and GPU upload heaps",
        device_id: 4,
        tight_buffer_alignment: None,
        tight_texture_alignment: None,
        l1_memory_fully_cpu_accessible: false,
        ddi_version: 88,
        has_trim_notifications: false,
        ..DISCRETE
    },
    HostProfile {
        name: "uma",
        description: "integrated GPU, not coherent with the CPU's caches, 8-byte buffers, standard swizzle",
        device_id: 5,
        architecture: Architecture::Uma,
        has_standard_swizzle: true,
        tight_buffer_alignment: Alignment::new(8),
        tight_texture_alignment: Alignment::new(256),
        non_local: SegmentProfile::EMPTY,
        ..DISCRETE
    },
    HostProfile {
        name: "cache-coherent-uma",
        description: "integrated GPU, coherent with the CPU's caches, 64-byte buffers, standard swizzle",
        device_id: 6,
        architecture: Architecture::CacheCoherentUma,
        has_standard_swizzle: true,
        tight_buffer_alignment: Alignment::new(64),
        non_local: SegmentProfile::EMPTY,
        ..DISCRETE
    },
    HostProfile {
        name: "compressing",
        description: "discrete GPU that keeps compression data beside render targets and depth-stencil textures",
        device_id: 7,
        tiled_resources_tier: 4,
        tight_buffer_alignment: Alignment::new(16),
        tight_texture_alignment: Alignment::new(4096),
        texture_padding_per_mille: 16,
        ..DISCRETE
    },
    HostProfile {
        name: "slow-paging",
        description: "discrete GPU, 4 GiB, that takes a millisecond to page 16 MiB in",
        device_id: 8,
        local: SegmentProfile::of_gib(4),
        paging_nanos_per_mib: 62_500,
        ..DISCRETE
    },
    HostProfile {
        name: "shrinking-budget",
        description: "discrete GPU, 4 GiB, whose budget another program halves and gives back",
        device_id: 9,
        local: SegmentProfile::of_gib(4),
        budget_schedule: &[
            BudgetStep { after: Duration::from_millis(200), local: ByteSize::from_gib(2) },
            BudgetStep { after: Duration::from_millis(600), local: ByteSize::from_mib(3840) },
        ],
        ..DISCRETE
    },
    HostProfile {
        name: "first-generation",
        description: "discrete GPU, 4 GiB, of the first D3D12: ID3D12Device alone, no later feature, no adapter",
        device_id: 10,
        resource_heap_tier: 1,
        tiled_resources_tier: 1,
        has_cross_adapter_row_major: false,
        tight_buffer_alignment: None,
        tight_texture_alignment: None,
        l1_memory_fully_cpu_accessible: false,
        ddi_version: 3,
        is_first_generation: true,
        has_trim_notifications: false,
        has_adapter: false,
        local: SegmentProfile::of_gib(4),
        non_local: SegmentProfile::of_gib(8),
        ..DISCRETE
    },
];

impl HostProfile {
    /// Every profile; the first is the default.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PROFILES
    }

    /// The profile that `host` without a name means: a current discrete GPU.
    #[must_use]
    pub fn default_profile() -> &'static Self {
        &PROFILES[0]
    }

    /// The profile of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}
