//! An allocator with a residency manager, and a queue that copies.

use crate::gpu::*;

pub(crate) struct Scene {
    pub(crate) allocator: ResourceAllocator,
    pub(crate) manager: ResidencyManager,
    queue: ID3D12CommandQueue,
    // Dropped last, when everything that it counts is gone.
    pub(crate) gpu: OwnGpu,
}

/// The parameters of a test.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) profile: Option<&'static str>,
    /// Budget of the local segment group, in MiB; `None` is the simulated GPU's default.
    pub(crate) budget_mib: Option<u64>,
    pub(crate) manager: ResidencyManagerFlags,
    pub(crate) policy: PolicyKind,
    pub(crate) allocator: ResourceAllocatorDesc,
}

impl Scene {
    /// Creates a scene on the GPU that the environment names, or on a simulated one.
    pub(crate) fn new(setup: Setup) -> Self {
        let profile = setup.profile.unwrap_or("discrete");
        Self::on(OwnGpu::open(profile, DeviceOptions::default()), setup)
    }

    /// Creates a scene on a simulated GPU, for tests that know its usage to the byte or its segment groups.
    pub(crate) fn simulated(setup: Setup) -> Self {
        Self::on(open("discrete").into(), setup)
    }

    fn on(gpu: OwnGpu, setup: Setup) -> Self {
        let budgets = |local| GroupBudgets { local: mib(local), non_local: gib(1) };
        let budget_override = setup.budget_mib.map(budgets);
        let Setup { manager: flags, policy, .. } = setup;
        let desc = ResidencyManagerDesc { flags, policy, budget_override, ..Default::default() };
        let (allocator, manager) = managed(&*gpu, setup.allocator, desc);
        let queue = queue_of(&gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
        Self { allocator, manager, queue, gpu }
    }

    /// Creates a scene with a budget of the local segment group.
    pub(crate) fn of_mib(budget_mib: u64) -> Self {
        Self::new(Setup { budget_mib: Some(budget_mib), ..Setup::default() })
    }

    pub(crate) fn with_flags(budget_mib: u64, flags: ResourceAllocatorFlags) -> Self {
        let allocator = flagged(flags);
        Self::new(Setup { budget_mib: Some(budget_mib), allocator, ..Setup::default() })
    }

    /// Creates buffers of 256 KiB and keeps every eighth, so that a defragmentation has something to move.
    pub(crate) fn sparse_buffers(&self) -> Vec<ResourceAllocation> {
        let mut made = (0..64).map(|_| local(&self.allocator, 256 * KIB)).collect();
        keep_every(8, &mut made);
        made
    }

    /// Creates a buffer of so many MiB in its own heap.
    pub(crate) fn alone(&self, size: u64) -> ResourceAllocation {
        self.try_alone(size, NONE).expect("there is room")
    }

    pub(crate) fn try_alone(
        &self,
        size: u64,
        flags: ResourceAllocationFlags,
    ) -> Result<ResourceAllocation, Error> {
        try_buffer(&self.allocator, &place(HeapType::Default, flags | OWN), size * MIB)
    }

    pub(crate) fn upload(&self, bytes: u64, flags: ResourceAllocationFlags) -> ResourceAllocation {
        buffer(&self.allocator, &place(HeapType::Upload, flags), bytes)
    }

    /// Executes what `record` records once the allocations that it uses are resident, and waits for the
    /// GPU.
    pub(crate) fn execute(
        &self,
        uses: &[&ResourceAllocation],
        record: impl FnOnce(&ID3D12GraphicsCommandList),
    ) {
        let list = ResidencyList::new();
        for allocation in uses {
            list.add_allocation(allocation).expect("of this manager");
        }
        let (_commands, recorded) = list_of(&self.gpu.device, D3D12_COMMAND_LIST_TYPE_DIRECT);
        let (fence, value) = unsafe {
            record(&recorded);
            assert_eq!(recorded.Close(), S_OK);
            let recorded = recorded.cast::<ID3D12CommandList>().expect("it is one");
            let value = self
                .manager
                .execute_command_lists(&self.queue, &[(&recorded, &list)])
                .expect("it becomes resident");
            let fence = self.manager.queue_fence(&self.queue).expect("of this device");
            assert_eq!(fence.SetEventOnCompletion(value.get(), HANDLE::default()), S_OK);
            (fence, value)
        };
        let reached = FenceValue::new(unsafe { fence.GetCompletedValue() });
        assert!(reached >= value && reached != FenceValue::DEVICE_REMOVED, "{:?}", self.gpu.messages());
    }

    /// Uses the allocations without any command.
    pub(crate) fn touch(&self, uses: &[&ResourceAllocation]) {
        self.execute(uses, |_| ());
    }

    /// Has the GPU fill both ends of a buffer with bytes derived from `seed`.
    pub(crate) fn fill(&self, target: &ResourceAllocation, seed: u8) {
        let bytes = [seed, seed ^ 0x5a, seed.wrapping_mul(3), 7];
        let mut source = self.upload(4, NONE);
        source.map().expect("it can be").write(0, &bytes).expect("inside");
        let last = width(target) - 4;
        self.execute(&[&source, target], |list| unsafe {
            list.CopyBufferRegion(target.resource(), 0, source.resource(), 0, 4);
            list.CopyBufferRegion(target.resource(), last, source.resource(), 0, 4);
        });
    }

    /// Checks that a buffer has the bytes that `fill` wrote.
    #[track_caller]
    pub(crate) fn assert_filled(&self, source: &ResourceAllocation, seed: u8) {
        let mut target = buffer(&self.allocator, &in_readback(), 8);
        let last = width(source) - 4;
        self.execute(&[source, &target], |list| unsafe {
            list.CopyBufferRegion(target.resource(), 0, source.resource(), 0, 4);
            list.CopyBufferRegion(target.resource(), 4, source.resource(), last, 4);
        });
        let mut bytes = [0; 8];
        target.map().expect("it can be").read(0, &mut bytes).expect("inside");
        let expected = [seed, seed ^ 0x5a, seed.wrapping_mul(3), 7];
        assert_eq!((&bytes[..4], &bytes[4..]), (&expected[..], &expected[..]));
    }

    /// Returns the simulated GPU's usage of local memory, in MiB.
    pub(crate) fn used_mib(&self) -> u64 {
        usage_of(&self.gpu, LOCAL).get() / MIB
    }

    /// Fills each buffer with the bytes of its number.
    pub(crate) fn fill_all(&self, made: &[ResourceAllocation]) {
        (1..).zip(made).for_each(|(seed, allocation)| self.fill(allocation, seed));
    }

    /// Checks that buffers have the bytes that `fill_all` wrote.
    #[track_caller]
    pub(crate) fn assert_all_filled(&self, made: &[ResourceAllocation]) {
        (1..).zip(made).for_each(|(seed, allocation)| self.assert_filled(allocation, seed));
    }

    /// Drops what a test holds. Checks that nothing is left in any book, and that the device has evicted as often as it
    /// made resident.
    #[track_caller]
    pub(crate) fn end<T>(self, held: T) {
        drop(held);
        self.manager.audit().expect("consistent");
        self.allocator.audit().expect("consistent");
        self.allocator.release_empty_heaps();
        let stats = self.manager.stats();
        for group in [&stats.local, &stats.non_local] {
            let counts = (group.resident_count, group.locked_count, group.evicted_count);
            assert_eq!(counts, (0, 0, 0), "{stats:?}");
            assert_eq!((group.resident, group.locked, group.evicted), Default::default(), "{stats:?}");
        }
        assert_eq!(usage(&self.gpu), ByteSize::ZERO);
        self.gpu.residency().check_balance().expect("balanced");
    }
}

fn width(allocation: &ResourceAllocation) -> u64 {
    desc_of(allocation).Width
}

pub(crate) fn status(allocation: &ResourceAllocation) -> ResidencyHeapStatus {
    allocation.memory().expect("it is managed").info().status
}

pub(crate) fn is_locked(allocation: &ResourceAllocation) -> bool {
    allocation.memory().expect("it is managed").info().is_locked
}

pub(crate) fn is_resident(allocation: &ResourceAllocation) -> bool {
    status(allocation) == ResidencyHeapStatus::Resident
}
