//! Any number in any field of a description gives a result, or an error that names the field or the call:
//! nothing is leaked and nothing panics. Tests are built with overflow checks.
#![allow(non_snake_case, reason = "fields have D3D12's names")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use crate::gpu::*;

/// Zero, one, powers of two with their neighbours, and the largest numbers.
fn any_size() -> impl Strategy<Value = u64> {
    let near_power = (0..64_u32, -1..=1_i64).prop_map(|(log2, by)| (1_u64 << log2).wrapping_add_signed(by));
    prop_oneof![4 => near_power, 1 => (0..3_u64).prop_map(|by| u64::MAX - by), 1 => 1..100_000_u64]
}

fn any_u32() -> impl Strategy<Value = u32> {
    any_size().prop_map(|size| u32::try_from(size).unwrap_or(u32::MAX - 1))
}

/// Numbers that are mostly valid, so that a case has one or two errors.
fn number(sound: &'static [u64]) -> impl Strategy<Value = u64> {
    noisy_number(1, sound)
}

/// Numbers of which `noise` in about 12 are anything.
fn noisy_number(noise: u32, sound: &'static [u64]) -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => prop::sample::select(sound),
        noise => any::<u64>(),
        2 * noise => any_size(),
        noise => Just(u64::MAX - 65_535),
    ]
}

fn sizes<const COUNT: usize>() -> impl Strategy<Value = [ByteSize; COUNT]> {
    let size = prop_oneof![2 => Just(ByteSize::ZERO), 3 => any_size().prop_map(ByteSize::new)];
    vec(size, COUNT).prop_map(|sizes| sizes.try_into().expect("as many"))
}

fn word(sound: &'static [u32]) -> impl Strategy<Value = u32> {
    noisy_word(1, sound)
}

fn noisy_word(noise: u32, sound: &'static [u32]) -> impl Strategy<Value = u32> {
    prop_oneof![12 => prop::sample::select(sound), noise => any::<u32>(), noise => any_u32()]
}

fn noisy_half(noise: u32, sound: &'static [u32]) -> impl Strategy<Value = u16> {
    #[expect(clippy::cast_possible_truncation, reason = "garbage is as good when it is cut")]
    noisy_word(noise, sound).prop_map(|word| word as u16)
}

/// Only flags of resident heaps, as the adapter counts no others.
fn heap_flags() -> impl Strategy<Value = u32> {
    word(&[0, 0, 0, 0, D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED])
        .prop_map(|flags| flags & !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT)
}

fn enumerator(sound: &'static [i32]) -> impl Strategy<Value = i32> {
    prop_oneof![16 => prop::sample::select(sound), 1 => any::<i32>(), 1 => -2..200_i32]
}

prop_compose! {
    fn resource_desc(noise: u32)(
        Dimension in enumerator(&[
            D3D12_RESOURCE_DIMENSION_BUFFER,
            D3D12_RESOURCE_DIMENSION_BUFFER,
            D3D12_RESOURCE_DIMENSION_TEXTURE2D,
            D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        ]),
        Width in noisy_number(noise, &[1, 4, 100, 256, 5000, 65_536, 100_000, 3_000_000]),
        Height in noisy_word(noise, &[1, 1, 64, 300]),
        DepthOrArraySize in noisy_half(noise, &[1, 1, 1, 2, 6]),
        MipLevels in noisy_half(noise, &[1, 1, 1, 0, 3]),
        Count in noisy_word(noise, &[1, 1, 1, 4, 64]),
        Quality in noisy_word(noise, &[0]),
        Format in enumerator(&[
            DXGI_FORMAT_UNKNOWN,
            DXGI_FORMAT_UNKNOWN,
            DXGI_FORMAT_R8G8B8A8_UNORM,
            DXGI_FORMAT_D32_FLOAT,
            DXGI_FORMAT_BC1_UNORM,
        ]),
        Layout in enumerator(&[D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_UNKNOWN]),
        Alignment in noisy_number(noise, &[0, 0, 0, 0, 65_536, 4096, 256]),
        Flags in noisy_word(noise, &[0, 0, 0, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET]),
        is_plain in any::<bool>(),
    ) -> D3D12_RESOURCE_DESC {
        // Half of the buffers have a valid layout and dimensions.
        if is_plain && Dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
            return D3D12_RESOURCE_DESC { Alignment, Flags, ..buffer_of(Width) };
        }
        let SampleDesc = DXGI_SAMPLE_DESC { Count, Quality };
        D3D12_RESOURCE_DESC {
            Dimension, Alignment, Width, Height, DepthOrArraySize, MipLevels, Format, SampleDesc, Layout, Flags,
        }
    }
}

fn flags_of_allocation() -> impl Strategy<Value = ResourceAllocationFlags> {
    let one = (0..19_u32).prop_map(|bit| ResourceAllocationFlags::from_bits_truncate(1 << bit));
    prop_oneof![
        6 => Just(NONE),
        6 => one.clone(),
        3 => (one.clone(), one).prop_map(|(one, other)| one | other),
        1 => any::<u32>().prop_map(ResourceAllocationFlags::from_bits_retain),
    ]
}

fn flags_of_allocator() -> impl Strategy<Value = ResourceAllocatorFlags> {
    prop_oneof![
        4 => Just(NO_FLAGS),
        // Allocations that are deliberately leaked while a thread creates heaps would make a failing case
        // hard to read.
        6 => any::<u32>().prop_map(ResourceAllocatorFlags::from_bits_truncate),
        1 => any::<u32>().prop_map(ResourceAllocatorFlags::from_bits_retain),
    ]
}

fn heap_type() -> impl Strategy<Value = HeapType> {
    prop::sample::select(&HeapType::ALL[..])
}

#[derive(Debug, Clone)]
struct Asked {
    flags: ResourceAllocationFlags,
    preference: Option<HeapTypePreference>,
    heap_flags: u32,
    padding: u64,
    in_pool: bool,
    custom_heap: Option<(D3D12_CPU_PAGE_PROPERTY, D3D12_MEMORY_POOL)>,
    placing: FreeRangeChoice,
    uses: u32,
    user_data: u64,
    desc: D3D12_RESOURCE_DESC,
    initial_state: InitialState,
    castable: Vec<DXGI_FORMAT>,
    has_clear_value: bool,
    frees: u8,
}

prop_compose! {
    fn asked()(
        flags in flags_of_allocation(),
        preference in prop_oneof![
            1 => Just(None),
            5 => heap_type().prop_map(|one| Some(one.into())),
            1 => (heap_type(), heap_type()).prop_map(|(one, two)| Some(HeapTypePreference::first(one).or(two))),
        ],
        heap_flags in heap_flags(),
        padding in number(&[0, 0, 0, 0, 0, 100, 24_576]),
        (in_pool, has_clear_value) in (prop::bool::weighted(0.2), prop::bool::weighted(0.1)),
        custom_heap in prop::option::weighted(0.15, (0..5_i32, 0..4_i32)),
        placing in prop::sample::select(vec![FreeRangeChoice::MinMemory, FreeRangeChoice::MinOffset]),
        uses in any::<u32>(),
        user_data in any::<u64>(),
        desc in prop_oneof![3 => resource_desc(1).boxed(), 1 => resource_desc(8).boxed()],
        initial_state in prop_oneof![
            6 => word(&[0, 0, 0, D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COPY_DEST])
                .prop_map(InitialState::State),
            1 => enumerator(&[D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_BARRIER_LAYOUT_COMMON])
                .prop_map(InitialState::Layout),
        ],
        castable in prop_oneof![
            8 => Just(Vec::new()),
            1 => vec(enumerator(&[DXGI_FORMAT_R8G8B8A8_UNORM_SRGB]), 1..4),
        ],
        frees in any::<u8>(),
    ) -> Asked {
        Asked {
            flags, preference, heap_flags, padding, in_pool, custom_heap, placing, uses, user_data, desc,
            initial_state, castable, has_clear_value, frees,
        }
    }
}

/// A fraction or a factor.
fn ratio() -> impl Strategy<Value = Option<f64>> {
    let largest = prop::sample::select(&[f64::MAX, f64::MIN_POSITIVE][..]);
    prop_oneof![5 => Just(None), 3 => (0.0..2.0).prop_map(Some), 1 => any::<f64>().prop_map(Some), 1 => largest.prop_map(Some)]
}

fn limit() -> impl Strategy<Value = Option<ByteSize>> {
    prop_oneof![6 => Just(None), 1 => number(&[1 << 20, 1 << 24]).prop_map(|bytes| Some(ByteSize::new(bytes)))]
}

fn optional(known: &'static [u64]) -> impl Strategy<Value = Option<ByteSize>> {
    prop::option::of(number(known).prop_map(ByteSize::new))
}

prop_compose! {
    fn allocator_desc()(
        flags in flags_of_allocator(),
        // A linear allocator is refused.
        suballocation_algorithm in prop::sample::select(&POOL_ALGORITHMS[..]),
        empty_heap_policy in prop::sample::select(vec![
            EmptyHeapPolicy::Default,
            FixedPool,
            SegmentedPool,
        ]),
        preferred_heap_size in optional(&[1, 65_536, 1_000_000]),
        max_heap_size in optional(&[1 << 26, 1 << 30]),
        release_size in number(&[0, 1 << 20]),
        heap_fragmentation_limit in ratio(),
        heap_growth_factor in ratio(),
        resource_heap_tier in prop_oneof![
            8 => Just(None),
            2 => (1..3_u8).prop_map(Some),
            1 => any::<u8>().prop_map(Some),
        ],
        ([default, upload, readback, gpu_upload], share_of_budget) in ([limit(), limit(), limit(), limit()], ratio()),
        extra_required_resource_flags in word(&[0, 0, 0, 0, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS]),
    ) -> ResourceAllocatorDesc {
        ResourceAllocatorDesc {
            flags,
            suballocation_algorithm,
            empty_heap_policy,
            preferred_heap_size,
            max_heap_size,
            release_size: ByteSize::new(release_size),
            heap_fragmentation_limit,
            heap_growth_factor,
            resource_heap_tier,
            limits: HeapLimits { default, upload, readback, gpu_upload, share_of_budget },
            extra_required_resource_flags,
            ..Default::default()
        }
    }
}

prop_compose! {
    fn pool_desc()(
        heap_type in heap_type(),
        resources in prop::sample::select(vec![
            ResourceKind::Buffers,
            ResourceKind::Buffers,
            ResourceKind::Textures,
            ResourceKind::RenderTargets,
            ResourceKind::Any,
        ]),
        algorithm in prop::sample::select(&POOL_ALGORITHMS[..]),
        heap_size in optional(&[0, 1 << 20, 1 << 16, 3 << 16]),
        min_heap_count in 0..3_u32,
        max_heap_count in prop::option::of(prop_oneof![2 => 0..3_u32, 1 => any_u32()]),
        log2 in prop_oneof![3 => 0..24_u32, 1 => 0..64_u32],
        multisampled in prop::bool::weighted(0.2),
        extra_heap_flags in heap_flags(),
    ) -> PoolDesc {
        PoolDesc {
            name: "hostile".into(),
            heap_type,
            resources,
            algorithm,
            heap_size,
            min_heap_count,
            max_heap_count,
            min_alignment: Alignment::from_log2(log2).expect("below 64"),
            multisampled,
            extra_heap_flags,
            ..Default::default()
        }
    }
}

/// Checks that an error names a field or a call of the device, or reports a lack of memory or support.
pub(crate) fn assert_is_told(error: &Error, about: &dyn std::fmt::Debug) {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.is_empty(), "one line: {text}");
    let names_one = error.is_out_of_memory()
        || error.is_unsupported()
        || text.contains("::")
        || [
            "D3D12_RESOURCE_DESC",
            "initial_state",
            "castable formats",
            "BufferUses",
            "the resource",
            "resource size",
        ]
        .iter()
        .any(|name| text.starts_with(name));
    assert!(names_one, "{text}: {about:?}");
    assert!(error.hresult().is_err());
}

fn check(allocator: &ResourceAllocator, gpu: &Instance, about: &dyn std::fmt::Debug) {
    allocator.audit().unwrap_or_else(|error| panic!("{error} after {about:?}"));
    let stats = allocator.stats();
    assert!(stats.used_heap_usage <= stats.reserved && stats.free_heap_usage <= stats.reserved, "{stats:?}");
    assert_eq!(stats.empty_heap_count == 0, stats.free_heap_usage.is_zero(), "{stats:?} after {about:?}");
    let is_resident = !allocator.desc().flags.contains(ResourceAllocatorFlags::CREATE_NOT_RESIDENT);
    // A prefetched heap exists before it is counted.
    if is_resident && !allocator.desc().flags.contains(ResourceAllocatorFlags::ALLOW_PREFETCH) {
        assert_eq!([allocator.reserved(), stats.reserved], [usage(gpu); 2], "{stats:?} after {about:?}");
    }
}

fn run(profile: &HostProfile, desc: &ResourceAllocatorDesc, pool_desc: &PoolDesc, asked: &[Asked]) {
    let gpu = fresh(profile);
    let adapter = profile.has_adapter.then_some(&gpu.adapter);
    let allocator = match ResourceAllocator::new(&gpu.device, adapter, desc.clone()) {
        Ok(allocator) => allocator,
        Err(error) => return assert_is_told(&error, desc),
    };
    let pool: Option<Pool> = match allocator.create_pool(pool_desc.clone()) {
        Ok(pool) => Some(pool),
        Err(error) => {
            assert_is_told(&error, pool_desc);
            None
        }
    };
    let mut held = Vec::new();
    for one in asked {
        let place = ResourceAllocationDesc {
            flags: one.flags,
            heap_type: one.preference,
            extra_required_heap_flags: one.heap_flags,
            extra_required_resource_padding: ByteSize::new(one.padding),
            custom_heap: one.custom_heap,
            pool: pool.as_ref().filter(|_| one.in_pool),
            strategy: one.placing,
            uses: BufferUses::from_bits_retain(one.uses),
            user_data: one.user_data,
        };
        let clear = ClearValue::Color { format: one.desc.Format, color: [0.0; 4] };
        let resource = ResourceDesc {
            initial_state: one.initial_state,
            castable_formats: &one.castable,
            clear_value: one.has_clear_value.then_some(clear),
            ..ResourceDesc::new(&one.desc)
        };
        let probed = allocator.probe(&place, resource);
        if let Err(error) = &probed {
            assert_is_told(error, one);
        }
        match allocator.create(&place, resource) {
            Ok(mut made) => {
                let is_buffer = one.desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
                assert!(!is_buffer || made.size().get() >= one.desc.Width);
                assert_eq!(made.user_data(), one.user_data);
                if let Ok(mut mapping) = made.map() {
                    let last = mapping.len().get() - 1;
                    mapping.write(last, &[7]).expect("inside");
                }
                held.push(made);
            }
            Err(error) => assert_is_told(&error, one),
        }
        if one.frees & 3 == 0 && !held.is_empty() {
            let index = usize::from(one.frees >> 2) % held.len();
            drop(held.swap_remove(index));
        }
        check(&allocator, &gpu, one);
    }
    drop(allocator.report());
    drop((held, pool));
    allocator.release_empty_heaps();
    let stats = allocator.stats();
    let held = (stats.used, stats.reserved, stats.allocation_count);
    assert_eq!(held, (ByteSize::ZERO, ByteSize::ZERO, 0), "{stats:?}");
    check(&allocator, &gpu, &"the end");
    drop(allocator);
    assert_eq!(usage(&gpu), ByteSize::ZERO, "something is held by nobody");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    // The strategies are boxed, as their values would not fit on the stack together.
    #[test]
    fn nothing_that_is_asked_makes_it_panic_or_leak(
        profile in prop::sample::select(HostProfile::all()),
        desc in prop_oneof![1 => Just(ResourceAllocatorDesc::default()), 3 => allocator_desc().boxed()],
        pool_desc in pool_desc().boxed(),
        asked in vec(asked().boxed(), 1..24),
    ) {
        run(&profile, &desc, &pool_desc, &asked);
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
        let budgets = GroupBudgets { local, non_local: gib(1) };
        let desc = ResidencyManagerDesc {
            max_budget: if overrides { ByteSize::ZERO } else { max_budget },
            evict_size,
            initial_fence_value: FenceValue::new(fence),
            budget_override: overrides.then_some(budgets),
            refresh_interval: interval,
            ..Default::default()
        };
        let Ok(manager) = ResidencyManager::new(&gpu.device, Some(&gpu.adapter), desc) else { return Ok(()) };
        for group in [LOCAL, NON_LOCAL] {
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
            segment_group: Some(LOCAL),
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
