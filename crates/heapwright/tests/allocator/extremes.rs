//! Any number in any field of a description gives a result or an error, never a panic. Tests are built with
//! overflow checks.

use crate::gpu::*;
use heapwright::d3d12::*;
use heapwright::residency::{
    BudgetOverride, GroupBudgets, ResidencyHeapDesc, ResidencyManager, ResidencyManagerDesc,
};
use heapwright::*;
use heapwright_runtime::{HostProfile, Instance};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Strategy;

/// Zero, one, powers of two with their neighbours, and the largest numbers.
fn any_size() -> impl Strategy<Value = u64> {
    let near_power = (0..64_u32, -1..=1_i64).prop_map(|(log2, by)| (1_u64 << log2).wrapping_add_signed(by));
    prop_oneof![4 => near_power, 1 => (0..3_u64).prop_map(|by| u64::MAX - by), 1 => 1..100_000_u64]
}

fn any_u32() -> impl Strategy<Value = u32> {
    any_size().prop_map(|size| u32::try_from(size).unwrap_or(u32::MAX - 1))
}

fn any_u16() -> impl Strategy<Value = u16> {
    any_size().prop_map(|size| u16::try_from(size).unwrap_or(u16::MAX))
}

prop_compose! {
    fn any_resource()(
        dimension in prop_oneof![4 => 1..5_i32, 1 => any::<i32>()],
        alignment in prop_oneof![3 => Just(0), 1 => any_size()],
        width in any_size(),
        height in any_u32(),
        depth in any_u16(),
        mips in any_u16(),
        format in prop_oneof![6 => 0..120_i32, 1 => any::<i32>()],
        samples in prop_oneof![2 => Just(1), 2 => select(vec![0, 2, 4, 8, 32, 64]), 3 => any_u32()],
        quality in prop_oneof![4 => Just(0), 1 => any_u32()],
        layout in prop_oneof![4 => 0..4_i32, 1 => any::<i32>()],
        flags in prop_oneof![3 => select(vec![0_u32, 1, 2, 4, 5, 6]), 1 => any::<u32>()],
        plain in 0..4,
    ) -> D3D12_RESOURCE_DESC {
        let mut desc = D3D12_RESOURCE_DESC {
            Dimension: dimension,
            Alignment: alignment,
            Width: width,
            Height: height,
            DepthOrArraySize: depth,
            MipLevels: mips,
            Format: format,
            SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: quality },
            Layout: layout,
            Flags: flags,
        };
        // Descriptions that are nearly valid, as most mistakes are.
        match plain {
            0 => desc = D3D12_RESOURCE_DESC { Width: width, Alignment: alignment, ..buffer_desc(ByteSize::new(1)) },
            1 => desc = D3D12_RESOURCE_DESC { SampleDesc: desc.SampleDesc, Flags: flags, ..texture(64, 64) },
            2 => desc = D3D12_RESOURCE_DESC { Width: width, Height: height, DepthOrArraySize: depth, ..texture(64, 64) },
            _ => {}
        }
        desc
    }
}

fn sizes<const COUNT: usize>() -> impl Strategy<Value = [ByteSize; COUNT]> {
    let size = prop_oneof![2 => Just(ByteSize::ZERO), 3 => any_size().prop_map(ByteSize::new)];
    proptest::collection::vec(size, COUNT).prop_map(|sizes| sizes.try_into().expect("as many"))
}

prop_compose! {
    fn any_allocator()(
        flags in any::<u32>(),
        algorithm in select(vec![
            SuballocationAlgorithm::Default,
            SuballocationAlgorithm::Slab,
            SuballocationAlgorithm::BuddySystem,
            SuballocationAlgorithm::Dedicated,
        ]),
        [preferred, largest, release, limit] in sizes::<4>(),
        has_limit in any::<bool>(),
        limit_fraction in proptest::option::of(f64::MIN_POSITIVE..1.0_f64),
        growth_factor in proptest::option::of(prop_oneof![0.001..100.0_f64, Just(f64::MAX), Just(f64::MIN_POSITIVE)]),
    ) -> ResourceAllocatorDesc {
        let limit = has_limit.then_some(limit);
        ResourceAllocatorDesc {
            flags: ResourceAllocatorFlags::from_bits_truncate(flags),
            suballocation_algorithm: algorithm,
            preferred_heap_size: Some(preferred).filter(|size| !size.is_zero()),
            max_heap_size: Some(largest).filter(|size| !size.is_zero()),
            heap_fragmentation_limit: limit_fraction,
            heap_growth_factor: growth_factor,
            release_size: release,
            limits: HeapLimits { default: limit, upload: limit, ..Default::default() },
            ..Default::default()
        }
    }
}

const KEPT: ResourceAllocationFlags = ResourceAllocationFlags::all();

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_resource_is_created_or_refused(
        profile in select(HostProfile::all()),
        tight in any::<bool>(),
        requests in proptest::collection::vec(
            (any_resource(), any::<u32>(), any_size(), any::<bool>(), select(&HeapType::ALL[..]), any::<u32>()),
            1..12,
        ),
    ) {
        let gpu = Instance::open(&profile).expect("a fresh instance");
        let adapter = profile.has_adapter.then_some(&gpu.adapter);
        let flags = if tight { ResourceAllocatorFlags::empty() } else { ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT };
        let desc = ResourceAllocatorDesc { flags, ..Default::default() };
        let allocator = ResourceAllocator::new(&gpu.device, adapter, desc).expect("sound");
        let mut held = Vec::new();
        for (resource, flags, padding, is_padded, heap_type, uses) in requests {
            // Only requests that are refused or small, so that no test fills the machine's memory.
            let place = ResourceAllocationDesc {
                flags: KEPT & ResourceAllocationFlags::from_bits_retain(if flags & 1 == 0 { 0 } else { flags }),
                extra_required_resource_padding: if is_padded { ByteSize::new(padding) } else { ByteSize::ZERO },
                uses: BufferUses::from_bits_truncate(if uses & 1 == 0 { 0 } else { uses }),
                ..ResourceAllocationDesc::new(heap_type)
            };
            let resource = ResourceDesc { initial_state: InitialState::State(COMMON), ..ResourceDesc::new(&resource) };
            let _ = allocator.probe(&place, &resource);
            held.extend(allocator.create(&place, &resource).ok());
            allocator.audit().expect("consistent");
        }
        prop_assert_eq!(allocator.reserved(), usage(&gpu));
        drop(held);
        assert_returns_everything(&allocator, &gpu);
    }

    #[test]
    fn any_allocator_and_pool_are_made_or_refused(
        desc in any_allocator(),
        [heap_size, request, other] in sizes::<3>(),
        counts in (0..3_u32, any_u32()),
        alignment in 0..64_u32,
        algorithm in select(vec![
            SuballocationAlgorithm::Default,
            SuballocationAlgorithm::Slab,
            SuballocationAlgorithm::BuddySystem,
            SuballocationAlgorithm::Linear,
            SuballocationAlgorithm::Dedicated,
        ]),
        profile in select(vec!["discrete", "old-ddi", "cache-coherent-uma", "uma"]),
    ) {
        let gpu = open(profile);
        let Ok(allocator) = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc) else { return Ok(()) };
        let pool = PoolDesc {
            heap_size: Some(heap_size).filter(|size| !size.is_zero()),
            min_heap_count: counts.0,
            max_heap_count: Some(counts.1).filter(|&count| count > 0),
            algorithm,
            min_alignment: Alignment::from_log2(alignment).expect("below 64"),
            ..Default::default()
        };
        let pool = allocator.create_pool(pool).ok();
        let mut held = Vec::new();
        for size in [request.get(), 1, 70_000, other.get(), 5 * MIB] {
            for pool in [None, pool.as_ref()] {
                let place = ResourceAllocationDesc { pool, ..Default::default() };
                let resource = ResourceDesc::new(&buffer_desc(ByteSize::new(size)));
                let _ = allocator.probe(&place, &resource);
                held.extend(allocator.create(&place, &resource).ok());
            }
            allocator.audit().expect("consistent");
            let _ = (allocator.stats(), allocator.report());
        }
        drop((held, pool));
        assert_returns_everything(&allocator, &gpu);
    }

    #[test]
    fn any_manager_and_residency_heap_are_made_or_refused(
        [max_budget, evict_size, local, size] in sizes::<4>(),
        fence in any_size(),
        interval in any_size(),
        overrides in any::<bool>(),
        alignment in proptest::option::of(0..64_u32),
        bytes in any_size(),
    ) {
        let gpu = open("discrete");
        let budgets = GroupBudgets { local, non_local: ByteSize::from_gib(1) };
        let desc = ResidencyManagerDesc {
            max_budget: if overrides { ByteSize::ZERO } else { max_budget },
            evict_size,
            initial_fence_value: FenceValue::new(fence),
            budget_override: overrides.then_some(BudgetOverride::Fixed(budgets)),
            refresh_interval: interval,
            ..Default::default()
        };
        let Ok(manager) = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc) else { return Ok(()) };
        for group in [SegmentGroup::Local, SegmentGroup::NonLocal] {
            let _ = manager.set_video_memory_reservation(group, ByteSize::new(bytes));
            let _ = manager.query_video_memory_info(group);
        }
        let heap = D3D12_DESCRIPTOR_HEAP_DESC {
            Type: D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
            NumDescriptors: 100,
            ..Default::default()
        };
        // SAFETY: the device is live, and the description outlives the call.
        let heap: ID3D12DescriptorHeap = unsafe { gpu.device.CreateDescriptorHeap(&heap) }.expect("a heap");
        let desc = ResidencyHeapDesc {
            segment_group: Some(SegmentGroup::Local),
            size,
            alignment: alignment.and_then(Alignment::from_log2),
            ..Default::default()
        };
        let made = manager.manage(&desc, &heap.into());
        if let Some(heap) = made.ok().filter(|heap| heap.lock().is_ok()) {
            let _ = heap.unlock();
        }
        let _ = manager.stats();
        manager.audit().expect("consistent");
    }
}
