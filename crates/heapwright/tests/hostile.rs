//! Invalid input gives an error that names the field or the call; nothing is leaked and nothing panics.
#![allow(missing_docs, reason = "a test")]

mod gpu;

use gpu::*;
use heapwright::d3d12::*;
use heapwright::{
    Alignment, BufferUses, ByteSize, EmptyHeapPolicy, HeapType, HeapTypePreference, InitialState, NodeMasks,
    Pool, PoolDesc, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator,
    ResourceAllocatorDesc, ResourceAllocatorFlags, ResourceDesc, ResourceKind, Strategy as Placing,
    SuballocationAlgorithm, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};
use proptest::collection::vec;
use proptest::prelude::*;
use windows_core::Interface;

#[test]
fn a_null_device_is_refused_and_objects_keep_their_counts() {
    let gpu = open("discrete");
    let (device, adapter) = (gpu.device.as_raw(), gpu.adapter.as_raw());
    // SAFETY: null is refused.
    let error = unsafe { ResourceAllocator::from_raw(std::ptr::null_mut(), adapter, Default::default()) };
    assert!(error.expect_err("there is no device").to_string().starts_with("device: "));
    // SAFETY: the device is alive, and without an adapter there are no budgets.
    let allocator = unsafe { ResourceAllocator::from_raw(device, std::ptr::null_mut(), Default::default()) };
    let allocator = allocator.expect("sound");
    drop(local(&allocator, 1000));
    drop(allocator);
    // The reference counts of the caller are unchanged.
    let again = with_flags(&gpu, ResourceAllocatorFlags::empty());
    drop(local(&again, 1000));
}

#[test]
fn heap_types_that_are_none_are_refused_with_their_field() {
    for heap_type in HeapType::ALL {
        assert_eq!(HeapType::try_from(heap_type.to_d3d12()).expect("it is one"), heap_type);
    }
    for number in [0, D3D12_HEAP_TYPE_CUSTOM, 6, -1, i32::MIN, i32::MAX] {
        let error = HeapType::try_from(number).expect_err("there is no such type");
        assert!(error.to_string().starts_with("D3D12_HEAP_TYPE"), "{number}: {error}");
        assert!(error.hresult().is_err());
    }
}

#[test]
fn flags_that_are_none_are_refused_with_their_field() {
    let gpu = open("discrete");
    for bit in (0..32).map(|bit| 1_u32 << bit) {
        let flags = ResourceAllocatorFlags::from_bits_retain(bit);
        let made = ResourceAllocator::new(
            &gpu.device,
            Some(&gpu.adapter),
            ResourceAllocatorDesc { flags, ..Default::default() },
        );
        assert_eq!(made.is_ok(), ResourceAllocatorFlags::all().contains(flags), "{bit:#x}");
        if let Err(error) = made {
            assert!(error.to_string().starts_with("ResourceAllocatorDesc::flags"), "{error}");
        }
        let allocator = with_flags(&gpu, ResourceAllocatorFlags::empty());
        let flags = ResourceAllocationFlags::from_bits_retain(bit);
        if !ResourceAllocationFlags::all().contains(flags) {
            let error = try_buffer(&allocator, &place(HeapType::Default, flags), 100).expect_err("no flag");
            assert!(error.to_string().starts_with("ResourceAllocationDesc::flags"), "{error}");
        }
    }
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_their_field() {
    let gpu = open("discrete");
    let usual = ResourceAllocatorDesc::default;
    let cases = [
        (
            ResourceAllocatorDesc { preferred_heap_size: Some(ByteSize::ZERO), ..usual() },
            "ResourceAllocatorDesc::preferred_heap_size",
        ),
        (
            ResourceAllocatorDesc { max_heap_size: Some(ByteSize::ZERO), ..usual() },
            "ResourceAllocatorDesc::max_heap_size",
        ),
        (
            ResourceAllocatorDesc { heap_fragmentation_limit: Some(f64::NAN), ..usual() },
            "ResourceAllocatorDesc::heap_fragmentation_limit",
        ),
        (
            ResourceAllocatorDesc { heap_growth_factor: Some(f64::NEG_INFINITY), ..usual() },
            "ResourceAllocatorDesc::heap_growth_factor",
        ),
        (
            ResourceAllocatorDesc { nodes: NodeMasks { creation: 3, visible: 3 }, ..usual() },
            "D3D12_HEAP_PROPERTIES::CreationNodeMask",
        ),
        (
            ResourceAllocatorDesc { nodes: NodeMasks { creation: 1, visible: 6 }, ..usual() },
            "D3D12_HEAP_PROPERTIES::VisibleNodeMask",
        ),
        (
            ResourceAllocatorDesc { resource_heap_tier: Some(200), ..usual() },
            "ResourceAllocatorDesc::resource_heap_tier",
        ),
    ];
    for (desc, field) in cases {
        let error =
            ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc.clone()).expect_err("nonsense");
        assert!(error.is_invalid_argument() && error.to_string().starts_with(field), "{desc:?}: {error}");
    }
}

#[test]
fn a_heap_type_and_a_state_that_contradict_are_refused_with_their_field() {
    let gpu = open("discrete");
    let allocator = with_flags(&gpu, ResourceAllocatorFlags::empty());
    let small = buffer_desc(ByteSize::new(100));
    for (heap_type, state) in [
        (HeapType::Upload, D3D12_RESOURCE_STATE_COPY_DEST),
        (HeapType::Upload, D3D12_RESOURCE_STATE_UNORDERED_ACCESS),
        (HeapType::Readback, D3D12_RESOURCE_STATE_GENERIC_READ),
        (HeapType::Readback, u32::MAX),
    ] {
        for flags in [
            ResourceAllocationFlags::empty(),
            ResourceAllocationFlags::ALWAYS_COMMITTED,
            ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ] {
            let error = allocator
                .create_resource(&place(heap_type, flags), &small, state, None)
                .expect_err("a contradiction");
            assert!(
                error.to_string().starts_with("initial_state"),
                "{heap_type} {state:#x} {flags:?}: {error}"
            );
        }
    }
    for heap_type in [HeapType::Upload, HeapType::Readback] {
        let error = allocator
            .create_resource(&heap_type.into_place(), &texture(64, 64), COMMON, None)
            .expect_err("buffers only");
        assert!(error.to_string().starts_with("D3D12_RESOURCE_DESC::Dimension"), "{error}");
    }
    // States that no heap type forbids are refused by the device; the error names its call.
    let error = allocator
        .create_resource(&HeapType::Default.into_place(), &small, u32::MAX, None)
        .expect_err("no such state");
    assert!(error.to_string().contains("CreatePlacedResource"), "{error}");
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn sizes_that_overflow_are_refused_whatever_rounds_them() {
    let gpu = open("discrete");
    for suballocation_algorithm in [
        SuballocationAlgorithm::Default,
        SuballocationAlgorithm::Slab,
        SuballocationAlgorithm::BuddySystem,
        SuballocationAlgorithm::Dedicated,
    ] {
        let allocator =
            allocator(&gpu, ResourceAllocatorDesc { suballocation_algorithm, ..Default::default() });
        for width in
            [0, u64::MAX, u64::MAX - 1, u64::MAX - 65_535, u64::MAX / 2, 1 << 63, 1 << 44, (1 << 40) + 1]
        {
            for flags in [
                ResourceAllocationFlags::empty(),
                ResourceAllocationFlags::NEVER_SUBALLOCATE_HEAP,
                ResourceAllocationFlags::ALWAYS_COMMITTED,
                ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
            ] {
                let error =
                    try_buffer(&allocator, &place(HeapType::Upload, flags), width).expect_err("no size");
                let is_told = error.is_out_of_memory() || error.to_string().contains("D3D12_RESOURCE_DESC");
                assert!(is_told, "{suballocation_algorithm} {width:#x} {flags:?}: {error}");
            }
        }
        assert_returns_everything(&allocator, &gpu);
    }
}

/// Numbers that are mostly valid, so that a case has one or two errors.
fn number(sound: &'static [u64]) -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => prop::sample::select(sound),
        1 => any::<u64>(),
        1 => (0..64_u32).prop_map(|log2| 1 << log2),
        1 => prop::sample::select(&[0, 1, u64::MAX, u64::MAX - 1, u64::MAX - 65_535][..]),
    ]
}

fn word(sound: &'static [u32]) -> impl Strategy<Value = u32> {
    prop_oneof![12 => prop::sample::select(sound), 1 => any::<u32>(), 1 => (0..32_u32).prop_map(|bit| 1 << bit)]
}

/// Only flags of resident heaps, as the adapter counts no others.
fn heap_flags() -> impl Strategy<Value = u32> {
    word(&[0, 0, 0, 0, D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED])
        .prop_map(|flags| flags & !D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT)
}

fn enumerator(sound: &'static [i32]) -> impl Strategy<Value = i32> {
    prop_oneof![16 => prop::sample::select(sound), 1 => any::<i32>(), 1 => -2..200_i32]
}

fn resource_desc() -> impl Strategy<Value = D3D12_RESOURCE_DESC> {
    let dimension = enumerator(&[
        D3D12_RESOURCE_DIMENSION_BUFFER,
        D3D12_RESOURCE_DIMENSION_BUFFER,
        D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        D3D12_RESOURCE_DIMENSION_TEXTURE3D,
    ]);
    let shape = (number(&[1, 4, 100, 256, 5000, 65_536, 100_000, 3_000_000]), word(&[1, 1, 64, 300]));
    let counts = (word(&[1, 1, 1, 2, 6]), word(&[1, 1, 1, 0, 3]), word(&[1, 1, 1, 4]), word(&[0]));
    let format = enumerator(&[
        DXGI_FORMAT_UNKNOWN,
        DXGI_FORMAT_UNKNOWN,
        DXGI_FORMAT_R8G8B8A8_UNORM,
        DXGI_FORMAT_D32_FLOAT,
        DXGI_FORMAT_BC1_UNORM,
    ]);
    let layout = enumerator(&[D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_UNKNOWN]);
    let alignment = number(&[0, 0, 0, 0, 65_536, 4096, 256]);
    let flags =
        word(&[0, 0, 0, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET]);
    (dimension, shape, counts, format, layout, alignment, flags, any::<bool>()).prop_map(
        |(
            dimension,
            (width, height),
            (depth, mips, samples, quality),
            format,
            layout,
            alignment,
            flags,
            plain,
        )| {
            #[expect(clippy::cast_possible_truncation, reason = "garbage is as good when it is cut")]
            let desc = D3D12_RESOURCE_DESC {
                Dimension: dimension,
                Alignment: alignment,
                Width: width,
                Height: height,
                DepthOrArraySize: depth as u16,
                MipLevels: mips as u16,
                Format: format,
                SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: quality },
                Layout: layout,
                Flags: flags,
            };
            // Half of the buffers have a valid layout and dimensions.
            if plain && dimension == D3D12_RESOURCE_DIMENSION_BUFFER {
                D3D12_RESOURCE_DESC {
                    Alignment: alignment,
                    Flags: flags,
                    ..buffer_desc(ByteSize::new(width))
                }
            } else {
                desc
            }
        },
    )
}

fn flags_of_allocation() -> impl Strategy<Value = ResourceAllocationFlags> {
    let one = (0..19_u32).prop_map(|bit| ResourceAllocationFlags::from_bits_truncate(1 << bit));
    prop_oneof![
        6 => Just(ResourceAllocationFlags::empty()),
        6 => one.clone(),
        3 => (one.clone(), one).prop_map(|(one, other)| one | other),
        1 => any::<u32>().prop_map(ResourceAllocationFlags::from_bits_retain),
    ]
}

fn flags_of_allocator() -> impl Strategy<Value = ResourceAllocatorFlags> {
    prop_oneof![
        4 => Just(ResourceAllocatorFlags::empty()),
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
    placing: Placing,
    uses: u32,
    user_data: u64,
    desc: D3D12_RESOURCE_DESC,
    initial_state: InitialState,
    castable: Vec<DXGI_FORMAT>,
    has_clear_value: bool,
    frees: u8,
}

fn asked() -> impl Strategy<Value = Asked> {
    let preference = prop_oneof![
        1 => Just(None),
        5 => heap_type().prop_map(|one| Some(one.into())),
        1 => (heap_type(), heap_type()).prop_map(|(one, two)| Some(HeapTypePreference::first(one).or(two))),
    ];
    let heap_flags = heap_flags();
    let padding = number(&[0, 0, 0, 0, 0, 100, 24_576]);
    let placing = prop::sample::select(vec![Placing::MinMemory, Placing::MinOffset]);
    let place = (
        flags_of_allocation(),
        preference,
        heap_flags,
        padding,
        prop::bool::weighted(0.2),
        placing,
        any::<u32>(),
        any::<u64>(),
    );
    let state = word(&[0, 0, 0, D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COPY_DEST]);
    let layout = enumerator(&[D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_BARRIER_LAYOUT_COMMON]);
    let initial =
        prop_oneof![6 => state.prop_map(InitialState::State), 1 => layout.prop_map(InitialState::Layout)];
    let castable =
        prop_oneof![8 => Just(Vec::new()), 1 => vec(enumerator(&[DXGI_FORMAT_R8G8B8A8_UNORM_SRGB]), 1..4)];
    (place, resource_desc(), initial, castable, prop::bool::weighted(0.1), any::<u8>()).prop_map(
        |(
            (flags, preference, heap_flags, padding, in_pool, placing, uses, user_data),
            desc,
            initial_state,
            castable,
            has_clear_value,
            frees,
        )| Asked {
            flags,
            preference,
            heap_flags,
            padding,
            in_pool,
            placing,
            uses,
            user_data,
            desc,
            initial_state,
            castable,
            has_clear_value,
            frees,
        },
    )
}

fn allocator_desc() -> impl Strategy<Value = ResourceAllocatorDesc> {
    let algorithm = prop::sample::select(vec![
        SuballocationAlgorithm::Default,
        SuballocationAlgorithm::Default,
        SuballocationAlgorithm::Slab,
        SuballocationAlgorithm::BuddySystem,
        SuballocationAlgorithm::Dedicated,
        SuballocationAlgorithm::Linear,
    ]);
    let pooling = prop::sample::select(vec![
        EmptyHeapPolicy::Default,
        EmptyHeapPolicy::FixedPool,
        EmptyHeapPolicy::SegmentedPool,
    ]);
    let size = |known: &'static [u64]| prop::option::of(number(known));
    let sizes = (size(&[1, 65_536, 1_000_000]), size(&[1 << 26, 1 << 30]), number(&[0, 1 << 20]));
    let knob =
        || prop_oneof![5 => Just(None), 3 => (0.0..2.0).prop_map(Some), 1 => any::<f64>().prop_map(Some)];
    let tier = prop_oneof![8 => Just(None), 2 => (1..3_u8).prop_map(Some), 1 => any::<u8>().prop_map(Some)];
    let limit = || prop_oneof![6 => Just(None), 1 => number(&[1 << 20, 1 << 24]).prop_map(|bytes| Some(ByteSize::new(bytes)))];
    let limits = (limit(), limit(), limit(), limit());
    let extra = word(&[0, 0, 0, 0, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS]);
    (flags_of_allocator(), algorithm, pooling, sizes, knob(), knob(), tier, limits, extra).prop_map(
        |(
            flags,
            suballocation_algorithm,
            empty_heap_policy,
            (preferred, largest, release),
            fragmentation,
            growth,
            tier,
            limits,
            extra,
        )| {
            let (default, upload, readback, gpu_upload) = limits;
            ResourceAllocatorDesc {
                flags,
                suballocation_algorithm,
                empty_heap_policy,
                preferred_heap_size: preferred.map(ByteSize::new),
                max_heap_size: largest.map(ByteSize::new),
                release_size: ByteSize::new(release),
                heap_fragmentation_limit: fragmentation,
                heap_growth_factor: growth,
                resource_heap_tier: tier,
                limits: heapwright::HeapLimits { default, upload, readback, gpu_upload },
                extra_required_resource_flags: extra,
                ..Default::default()
            }
        },
    )
}

fn pool_desc() -> impl Strategy<Value = PoolDesc> {
    let algorithm = prop::sample::select(vec![
        SuballocationAlgorithm::Default,
        SuballocationAlgorithm::Slab,
        SuballocationAlgorithm::BuddySystem,
        SuballocationAlgorithm::Dedicated,
        SuballocationAlgorithm::Linear,
    ]);
    let kind = prop::sample::select(vec![
        ResourceKind::Buffers,
        ResourceKind::Buffers,
        ResourceKind::Textures,
        ResourceKind::RenderTargets,
        ResourceKind::Any,
    ]);
    let size = prop::option::of(number(&[0, 1 << 20, 1 << 16, 3 << 16]));
    let sizes = (size, 0..3_u32, prop::option::of(0..3_u32));
    let flags = heap_flags();
    (heap_type(), kind, algorithm, sizes, 0..24_u32, prop::bool::weighted(0.2), flags).prop_map(
        |(heap_type, resources, algorithm, (size, least, most), log2, multisampled, extra_heap_flags)| {
            PoolDesc {
                name: "hostile".into(),
                heap_type,
                resources,
                algorithm,
                heap_size: size.map(ByteSize::new),
                min_heap_count: least,
                max_heap_count: most,
                min_alignment: Alignment::new(1 << log2).expect("a power of two"),
                multisampled,
                extra_heap_flags,
                ..Default::default()
            }
        },
    )
}

/// Checks that an error names a field or a call of the device, or reports a lack of memory or support.
fn assert_is_told(error: &heapwright::Error, about: &dyn std::fmt::Debug) {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.is_empty(), "one line: {text}");
    let names_one = error.is_out_of_memory()
        || error.is_unsupported()
        || text.contains("::")
        || ["D3D12_RESOURCE_DESC", "initial_state", "castable formats", "BufferUses", "resource size"]
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
        assert_eq!(
            (allocator.reserved(), stats.reserved),
            (usage(gpu), usage(gpu)),
            "{stats:?} after {about:?}"
        );
    }
}

fn run(profile: &HostProfile, desc: &ResourceAllocatorDesc, pool_desc: &PoolDesc, asked: &[Asked]) {
    let gpu = Instance::open(profile).expect("a fresh instance");
    let allocator = match ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc.clone()) {
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
            pool: pool.as_ref().filter(|_| one.in_pool),
            strategy: one.placing,
            uses: BufferUses::from_bits_retain(one.uses),
            user_data: one.user_data,
        };
        let clear = D3D12_CLEAR_VALUE { Format: one.desc.Format, ..Default::default() };
        let resource = ResourceDesc {
            initial_state: one.initial_state,
            castable_formats: &one.castable,
            clear_value: one.has_clear_value.then_some(clear),
            ..ResourceDesc::new(&one.desc)
        };
        match allocator.create(&place, &resource) {
            Ok(mut made) => {
                assert!(
                    one.desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER
                        || made.size().get() >= one.desc.Width
                );
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
    drop((held, pool));
    allocator.release_empty_heaps();
    let stats = allocator.stats();
    assert_eq!(
        (stats.used, stats.reserved, stats.allocation_count),
        (ByteSize::ZERO, ByteSize::ZERO, 0),
        "{stats:?}"
    );
    check(&allocator, &gpu, &"the end");
    drop(allocator);
    assert_eq!(usage(&gpu), ByteSize::ZERO, "something is held by nobody");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_asked_makes_it_panic_or_leak(
        profile in prop::sample::select(HostProfile::all()),
        desc in prop_oneof![1 => Just(ResourceAllocatorDesc::default()), 3 => allocator_desc()],
        pool_desc in pool_desc(),
        asked in vec(asked(), 1..24),
    ) {
        run(&profile, &desc, &pool_desc, &asked);
    }
}
