//! Heapwright on the simulated GPU.

use std::marker::PhantomData;
use std::time::Duration;

use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
use heapwright::{
    ByteSize, EmptyHeapPolicy, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::residency::PagedObjects;
use heapwright_runtime::{HostProfile, Instance};

use super::allocators::{Failed, MemoryAllocator};
use super::meter::{Block, DeviceCall};
use super::prices::Prices;

/// The description of an allocator.
pub trait Configuration {
    /// Returns the description.
    fn desc() -> ResourceAllocatorDesc;
}

/// The defaults.
pub struct Default;
impl Configuration for Default {
    fn desc() -> ResourceAllocatorDesc {
        ResourceAllocatorDesc::default()
    }
}

/// Defaults with another policy for empty heaps.
macro_rules! policy {
    ($name:ident, $policy:expr, $doc:literal) => {
        #[doc = $doc]
        pub struct $name;
        impl Configuration for $name {
            fn desc() -> ResourceAllocatorDesc {
                ResourceAllocatorDesc { empty_heap_policy: $policy, ..ResourceAllocatorDesc::default() }
            }
        }
    };
}
policy!(LeastMemory, EmptyHeapPolicy::LeastMemory, "The policy that holds the least.");
policy!(FewestHitches, EmptyHeapPolicy::FewestHitches, "The policy with the fewest hitches.");
policy!(
    SegmentedPool,
    EmptyHeapPolicy::SegmentedPool,
    "The policy that keeps empty heaps until memory is short."
);

/// GPGMM's strategy, as in `heapwright replay --compare`.
pub struct LikeGpgmm;
impl Configuration for LikeGpgmm {
    fn desc() -> ResourceAllocatorDesc {
        ResourceAllocatorDesc {
            flags: ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT,
            suballocation_algorithm: SuballocationAlgorithm::Slab,
            empty_heap_policy: EmptyHeapPolicy::SegmentedPool,
            ..ResourceAllocatorDesc::default()
        }
    }
}

/// Heapwright's allocator on a simulated GPU.
pub struct Heapwright<C> {
    allocator: ResourceAllocator,
    gpu: Instance,
    created: PagedObjects,
    released: PagedObjects,
    configuration: PhantomData<C>,
}

impl<C> Heapwright<C> {
    /// Returns the allocator.
    #[must_use]
    pub fn allocator(&self) -> &ResourceAllocator {
        &self.allocator
    }
}

impl<C: Configuration> MemoryAllocator for Heapwright<C> {
    type Buffer = ResourceAllocation;

    fn new(prices: &Prices) -> Result<Self, Failed> {
        let profile = HostProfile { video_heap_costs: prices.shared, ..*HostProfile::default_profile() };
        let gpu = Instance::open(&profile).map_err(Failed::new)?;
        let allocator =
            ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), C::desc()).map_err(Failed::new)?;
        let report = gpu.residency();
        Ok(Self {
            allocator,
            gpu,
            created: report.created_resident,
            released: report.released_resident,
            configuration: PhantomData,
        })
    }

    fn allocate(&mut self, size: ByteSize) -> Result<ResourceAllocation, Failed> {
        let desc = ResourceAllocationDesc::new(HeapType::Default);
        self.allocator
            .create_resource(&desc, &buffer_desc(size), D3D12_RESOURCE_STATE_COMMON, None)
            .map_err(Failed::new)
    }

    fn free(&mut self, buffer: ResourceAllocation) -> Result<(), Failed> {
        drop(buffer);
        Ok(())
    }

    fn pass_time(&mut self, time: Duration) {
        self.allocator.on_time(time);
    }

    /// The simulated GPU counts the heaps and committed resources that are created and released. If an operation
    /// released several, they are taken to be equally large.
    fn take_calls(&mut self, calls: &mut Vec<DeviceCall>) {
        let report = self.gpu.residency();
        calls.clear();
        push(calls, self.created, report.created_resident, DeviceCall::Create);
        push(calls, self.released, report.released_resident, DeviceCall::Free);
        (self.created, self.released) = (report.created_resident, report.released_resident);
    }
}

fn push(calls: &mut Vec<DeviceCall>, before: PagedObjects, now: PagedObjects, call: fn(Block) -> DeviceCall) {
    let (count, bytes) = (now.objects - before.objects, now.bytes.get() - before.bytes.get());
    let mut rest = bytes;
    for left in (1..=count).rev() {
        let size = rest / left;
        rest -= size;
        calls.push(call(Block::shared(ByteSize::new(size))));
    }
}
