//! The simulated GPUs that come with the runtime, as data.
//!
//! The numbers describe kinds of hardware, not products. The profiles differ in properties that memory management must
//! handle.

use std::time::Duration;

use heapwright_core::placement::HeapCosts;
use heapwright_core::{Alignment, ByteSize};

use crate::ddi::{Architecture, ComputeOnly};

/// A simulated GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostProfile {
    /// Name of the profile, as in `--device host:NAME`.
    pub name: &'static str,
    /// Description in one line.
    pub description: &'static str,
    /// PCI vendor id, which belongs to no vendor. Microsoft's id of software adapters, 0x1414, would be misleading.
    pub vendor_id: u32,
    /// PCI device id.
    pub device_id: u32,
    /// Memory architecture of the GPU.
    pub architecture: Architecture,
    /// `D3D12_RESOURCE_HEAP_TIER`, 1 or 2.
    pub resource_heap_tier: u8,
    /// `D3D12_TILED_RESOURCES_TIER`, 0 to 4. Tier 1 leaves accesses to null tiles undefined; here they fault.
    pub tiled_resources_tier: u8,
    /// Whether textures may have the layout 64KB_STANDARD_SWIZZLE.
    pub has_standard_swizzle: bool,
    /// Whether textures may have the layout ROW_MAJOR, for sharing between adapters.
    pub has_cross_adapter_row_major: bool,
    /// Alignment of placed buffers with tight alignment, 8 to 256 bytes; `None` if the driver does not support it.
    pub tight_buffer_alignment: Option<Alignment>,
    /// Largest alignment of placed textures with tight alignment. `None` means the same alignment as without it; that
    /// of small textures is then the small one.
    pub tight_texture_alignment: Option<Alignment>,
    /// Size of the compression data of render targets and depth-stencil textures, in thousandths of the texture's size;
    /// at most 1,000.
    pub texture_padding_per_mille: u32,
    /// Whether the CPU sees all of video memory. On UMA it does in any case.
    pub l1_memory_fully_cpu_accessible: bool,
    /// DDI version of the driver. Tight alignment and Recreate-at-GPUVA require 0111, GPU upload heaps 0098, views by
    /// byte offsets 0121.
    pub ddi_version: u32,
    /// Whether the system is in developer mode, which GPU upload heaps and Recreate-at-GPUVA require.
    pub developer_mode: bool,
    /// Whether the device is that of the first D3D12: it has `ID3D12Device` and no numbered interface, returns
    /// E_INVALIDARG for every later feature, and knows none of the later heap and resource flags.
    pub is_first_generation: bool,
    /// For a compute-only device, of Direct3D 12's Core 1.0 feature level; `None` for a GPU. Such a device has buffers
    /// alone.
    pub compute_only: Option<ComputeOnly>,
    /// Whether the device supports callbacks for trim notifications (`ID3D12Device15`); otherwise it returns E_NOTIMPL.
    pub has_trim_notifications: bool,
    /// Whether programs that open the profile by name should use its adapter.
    ///
    /// A D3D12 without DXGI has no adapter, as some native builds of other implementations do. Tests that measure
    /// memory can use [`Instance::adapter`](crate::Instance::adapter) in any case.
    pub has_adapter: bool,
    /// Local segment group.
    pub local: SegmentProfile,
    /// Non-local segment group; empty on UMA.
    pub non_local: SegmentProfile,
    /// Duration of paging in, in nanoseconds per MiB; 0 for none.
    pub paging_nanos_per_mib: u64,
    /// Modelled time to create and to free heaps that the CPU cannot map, or that are in video memory. It passes on the
    /// GPU's own clock, `IHeapwrightHeapClock`, while the calls return at once.
    pub video_heap_costs: HeapCosts,
    /// Modelled time to create and to free heaps in system memory that the CPU can map.
    pub system_heap_costs: HeapCosts,
    /// Changes of the local budget over time, in order, to at most the capacity; empty for a constant budget.
    pub budget_schedule: &'static [BudgetStep],
    /// Bits of GPU virtual address of a resource, which limit its size; at most those of a process.
    pub gpu_va_bits_per_resource: u32,
    /// Bits of GPU virtual address of a process: more than 32, at most 62.
    pub gpu_va_bits_per_process: u32,
    /// Determines the GPU virtual address of the first object. Consecutive seeds give addresses that are far apart; 0
    /// gives the lowest address. `None` gives a different address to each GPU that is opened, in this and in other
    /// processes.
    ///
    /// So a program that recreates objects at the addresses of an earlier run (Recreate-at-GPUVA specification) gets
    /// them by design and not by chance.
    pub address_seed: Option<u64>,
}

/// A change of the local budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetStep {
    /// Time of the change, since the GPU was opened.
    pub after: Duration,
    /// Local budget from then on, in bytes.
    pub local: ByteSize,
}

/// A field of a [`HostProfile`] whose value is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("HostProfile::{field} is {value}; {allowed} is allowed")]
pub struct InvalidHostProfile {
    field: &'static str,
    value: String,
    allowed: String,
}

/// The memory of one segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentProfile {
    /// Size of the memory, in bytes. Creation fails beyond it.
    pub capacity: ByteSize,
    /// Budget of the process, in bytes; at most the capacity.
    pub budget: ByteSize,
}

impl SegmentProfile {
    /// A segment group without memory.
    pub const EMPTY: Self = Self { capacity: ByteSize::ZERO, budget: ByteSize::ZERO };

    /// Creates a segment group of which the operating system keeps 1/16 for other processes.
    const fn of_gib(gib: u64) -> Self {
        let capacity = ByteSize::from_gib(gib);
        Self { capacity, budget: ByteSize::new(capacity.get() - capacity.get() / 16) }
    }
}

/// A current discrete GPU, on which the other profiles are based.
const DISCRETE: HostProfile = HostProfile {
    name: "discrete",
    description: "discrete GPU, 16 GiB, all video memory CPU-visible",
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
    ddi_version: 121,
    developer_mode: true,
    is_first_generation: false,
    compute_only: None,
    has_trim_notifications: true,
    has_adapter: true,
    local: SegmentProfile::of_gib(16),
    non_local: SegmentProfile::of_gib(16),
    paging_nanos_per_mib: 0,
    video_heap_costs: HeapCosts::device_local(),
    system_heap_costs: HeapCosts::host_visible(),
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
        description: "discrete GPU with resource heap tier 1 and tiled resources tier 2",
        device_id: 3,
        resource_heap_tier: 1,
        tiled_resources_tier: 2,
        ..DISCRETE
    },
    HostProfile {
        name: "old-ddi",
        description: "discrete GPU with a driver without tight alignment and GPU upload heaps",
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
        description: "integrated GPU, not cache-coherent, 8-byte buffer alignment, standard swizzle",
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
        description: "integrated GPU, cache-coherent, 64-byte buffer alignment, standard swizzle",
        device_id: 6,
        architecture: Architecture::CacheCoherentUma,
        has_standard_swizzle: true,
        tight_buffer_alignment: Alignment::new(64),
        non_local: SegmentProfile::EMPTY,
        ..DISCRETE
    },
    HostProfile {
        name: "compressing",
        description: "discrete GPU that adds compression metadata to render targets and depth-stencil textures",
        device_id: 7,
        tiled_resources_tier: 4,
        tight_buffer_alignment: Alignment::new(16),
        tight_texture_alignment: Alignment::new(4096),
        texture_padding_per_mille: 16,
        ..DISCRETE
    },
    HostProfile {
        name: "slow-paging",
        description: "discrete GPU, 4 GiB, paging in takes 1 ms per 16 MiB",
        device_id: 8,
        local: SegmentProfile::of_gib(4),
        paging_nanos_per_mib: 62_500,
        ..DISCRETE
    },
    HostProfile {
        name: "shrinking-budget",
        description: "discrete GPU, 4 GiB, whose budget temporarily drops to half",
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
        description: "discrete GPU, 4 GiB, first version of D3D12: only ID3D12Device, no later features, no adapter",
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

/// A compute-only device, which programs that ask for a GPU never get.
static COMPUTE_ONLY: HostProfile = HostProfile {
    name: "compute-only",
    description: "compute-only device, 8 GiB, with CUSTOM heaps and write watch, of feature level 1_0_CORE",
    device_id: 11,
    tiled_resources_tier: 0,
    has_cross_adapter_row_major: false,
    compute_only: Some(ComputeOnly { custom_heaps: true, write_watch: true }),
    local: SegmentProfile::of_gib(8),
    non_local: SegmentProfile::of_gib(8),
    ..DISCRETE
};

impl HostProfile {
    /// Returns all profiles of GPUs; the first is the default.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PROFILES
    }

    /// Returns the default profile, a current discrete GPU, which `host` without a name selects.
    #[must_use]
    pub fn default_profile() -> &'static Self {
        &PROFILES[0]
    }

    /// Checks the ranges that the fields document. Opening a GPU does the same, but returns E_INVALIDARG and logs the
    /// error.
    ///
    /// # Errors
    ///
    /// Returns the first field whose value is not allowed.
    ///
    /// ```
    /// use heapwright_runtime::HostProfile;
    ///
    /// let profile = HostProfile { gpu_va_bits_per_process: 64, ..*HostProfile::default_profile() };
    /// let error = profile.validate().expect_err("too many bits");
    /// assert_eq!(error.to_string(), "HostProfile::gpu_va_bits_per_process is 64; 33 to 62 is allowed");
    /// ```
    pub fn validate(&self) -> Result<(), InvalidHostProfile> {
        let in_range = |field, value: u64, (low, high): (u64, u64)| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(InvalidHostProfile { field, value: value.to_string(), allowed: format!("{low} to {high}") })
        };
        let process_bits = self.gpu_va_bits_per_process.into();
        in_range("resource_heap_tier", self.resource_heap_tier.into(), (1, 2))?;
        in_range("tiled_resources_tier", self.tiled_resources_tier.into(), (0, 4))?;
        in_range("gpu_va_bits_per_process", process_bits, (33, 62))?;
        in_range("gpu_va_bits_per_resource", self.gpu_va_bits_per_resource.into(), (1, process_bits))?;
        in_range("texture_padding_per_mille", self.texture_padding_per_mille.into(), (0, 1000))?;
        if let Some(alignment) = self.tight_buffer_alignment {
            in_range("tight_buffer_alignment", alignment.get(), (8, 256))?;
        }
        let local = (0, self.local.capacity.get());
        in_range("local.budget", self.local.budget.get(), local)?;
        in_range("non_local.budget", self.non_local.budget.get(), (0, self.non_local.capacity.get()))?;
        let mut earliest = Duration::ZERO;
        for step in self.budget_schedule {
            in_range("budget_schedule.local", step.local.get(), local)?;
            if step.after < earliest {
                let (field, value) = ("budget_schedule.after", format!("{:?}", step.after));
                return Err(InvalidHostProfile { field, value, allowed: format!("{earliest:?} or later") });
            }
            earliest = step.after;
        }
        Ok(())
    }

    /// Returns the profile with the given name, or `None` if there is none.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().chain([&COMPUTE_ONLY]).find(|profile| profile.name == name)
    }
}
