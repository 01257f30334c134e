//! Heap families on every simulated GPU.

use heapwright_d3d12::*;
use heapwright_runtime::{ComputeOnly, HostProfile, Instance, SegmentProfile};

use super::*;
use crate::{Architecture, ByteSize, DeviceCaps, HeapType, SegmentGroup, VideoMemoryInfo, buffer_desc};

const ARCHITECTURES: [Architecture; 3] =
    [Architecture::Discrete, Architecture::Uma, Architecture::CacheCoherentUma];

/// Returns every simulated GPU, with its capabilities.
fn gpus() -> impl Iterator<Item = (&'static str, Instance, DeviceCaps)> {
    HostProfile::all().iter().map(|profile| {
        let gpu = Instance::open(profile).expect("the instance opens");
        let caps = DeviceCaps::query(&gpu.device).expect("the device is valid");
        (profile.name, gpu, caps)
    })
}

fn families(gpu: &Instance, caps: &DeviceCaps, allow_unified_memory: bool) -> HeapFamilies {
    HeapFamilies::query(&gpu.device, caps, NodeMasks::default(), allow_unified_memory, false)
        .expect("the device is valid")
}

/// Returns a GPU with unified memory, and its families.
fn unified() -> (Instance, HeapFamilies) {
    let (_, gpu, caps) = gpus().find(|(name, ..)| *name == "cache-coherent-uma").expect("the profile exists");
    let families = families(&gpu, &caps, true);
    (gpu, families)
}

/// Creates a heap of 64 KiB, and returns the bytes that each segment group is charged for it.
fn create_heap(
    gpu: &Instance,
    properties: D3D12_HEAP_PROPERTIES,
) -> windows_core::Result<(ID3D12Heap, [u64; 2])> {
    let usage = || {
        [SegmentGroup::Local, SegmentGroup::NonLocal]
            .map(|group| VideoMemoryInfo::query(&gpu.adapter, group).expect("answered").current_usage.get())
    };
    let before = usage();
    let desc = D3D12_HEAP_DESC { SizeInBytes: 65_536, Properties: properties, ..Default::default() };
    let desc = D3D12_HEAP_DESC { Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, ..desc };
    let mut heap: Option<ID3D12Heap> = None;
    // SAFETY: the device is live, the description outlives the call, and the result is written to its interface.
    unsafe { gpu.device.CreateHeap(&desc, &mut heap) }?;
    let after = usage();
    Ok((heap.expect("created"), [after[0] - before[0], after[1] - before[1]]))
}

const fn charged_to(group: SegmentGroup) -> [u64; 2] {
    match group {
        SegmentGroup::Local => [65_536, 0],
        SegmentGroup::NonLocal => [0, 65_536],
    }
}

#[test]
fn the_table_equals_get_custom_heap_properties() {
    for (name, gpu, caps) in gpus() {
        for heap_type in HeapType::ALL {
            // SAFETY: the device is a live COM object.
            let answer = unsafe { gpu.device.GetCustomHeapProperties(0, heap_type.to_d3d12()) };
            let custom = HeapFamily::Custom(HeapMemory::of(heap_type, caps.architecture));
            let nodes = NodeMasks { creation: 1, visible: 1 };
            assert_eq!(answer, custom.properties(nodes), "{heap_type} on {name}");
        }
    }
}

#[test]
fn heaps_are_charged_to_the_documented_segment_group() {
    for (name, gpu, caps) in gpus() {
        let types = HeapType::ALL.map(HeapFamily::Type);
        let customs =
            HeapType::ALL.map(|heap_type| HeapFamily::Custom(HeapMemory::of(heap_type, caps.architecture)));
        for family in types.into_iter().chain(customs) {
            let created = create_heap(&gpu, family.properties(NodeMasks::default()));
            assert_eq!(created.is_ok(), family.check(&caps).is_ok(), "{family} on {name}");
            if let Ok((_heap, charge)) = created {
                assert_eq!(charge, charged_to(family.segment_group(caps.architecture)), "{family} on {name}");
            }
        }
    }
}

#[test]
fn only_upload_and_readback_of_discrete_gpus_are_not_local() {
    for architecture in ARCHITECTURES {
        for heap_type in HeapType::ALL {
            let is_system = [HeapType::Upload, HeapType::Readback].contains(&heap_type);
            let expected = match architecture {
                Architecture::Discrete if is_system => SegmentGroup::NonLocal,
                _ => SegmentGroup::Local,
            };
            assert_eq!(HeapFamily::Type(heap_type).segment_group(architecture), expected);
            let is_accessible = HeapMemory::of(heap_type, architecture).is_cpu_accessible();
            assert_eq!(is_accessible, heap_type.is_cpu_accessible());
        }
    }
}

#[test]
fn custom_memory_is_refused_where_the_device_refuses_it() {
    for (name, gpu, caps) in gpus() {
        for cpu_page_property in
            [CpuPageProperty::NotAvailable, CpuPageProperty::WriteCombine, CpuPageProperty::WriteBack]
        {
            for memory_pool in [MemoryPool::L0, MemoryPool::L1] {
                let memory = HeapMemory { cpu_page_property, memory_pool };
                let family = HeapFamily::Custom(memory);
                let created = create_heap(&gpu, family.properties(NodeMasks::default()));
                let checked = family.check(&caps);
                assert_eq!(created.is_ok(), checked.is_ok(), "{memory} on {name}: {checked:?}");
                let Err(error) = checked else { continue };
                // Write-combined video memory depends on the device; the rest never exists.
                let may_exist = caps.architecture == Architecture::Discrete
                    && cpu_page_property == CpuPageProperty::WriteCombine;
                assert_eq!(error.is_unsupported(), may_exist, "{error}");
                assert_eq!(error.is_invalid_argument(), !may_exist, "{error}");
            }
        }
    }
}

#[test]
fn properties_read_back_as_the_family_they_are_of() {
    let nodes = NodeMasks { creation: 2, visible: 3 };
    for architecture in ARCHITECTURES {
        for heap_type in HeapType::ALL {
            for family in
                [HeapFamily::Type(heap_type), HeapFamily::Custom(HeapMemory::of(heap_type, architecture))]
            {
                let read = HeapFamily::try_from_d3d12(&family.properties(nodes)).expect("a known heap type");
                assert_eq!(read, (family, nodes));
            }
        }
    }
}

#[test]
fn invalid_properties_name_their_field() {
    let custom = HeapFamily::Custom(HeapMemory::of(HeapType::Upload, Architecture::Uma));
    let [custom, upload] =
        [custom, HeapType::Upload.into()].map(|family| family.properties(NodeMasks::default()));
    let cases = [
        (D3D12_HEAP_PROPERTIES { Type: 77, ..upload }, "D3D12_HEAP_TYPE: unknown heap type 77"),
        (
            D3D12_HEAP_PROPERTIES { CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, ..upload },
            "D3D12_HEAP_PROPERTIES::CPUPageProperty: must be UNKNOWN unless Type is CUSTOM",
        ),
        (
            D3D12_HEAP_PROPERTIES { MemoryPoolPreference: D3D12_MEMORY_POOL_L0, ..upload },
            "D3D12_HEAP_PROPERTIES::MemoryPoolPreference: must be UNKNOWN unless Type is CUSTOM",
        ),
        (
            D3D12_HEAP_PROPERTIES { CPUPageProperty: 0, ..custom },
            "D3D12_HEAP_PROPERTIES::CPUPageProperty: 0 is not NOT_AVAILABLE, WRITE_COMBINE or WRITE_BACK",
        ),
        (
            D3D12_HEAP_PROPERTIES { MemoryPoolPreference: 9, ..custom },
            "D3D12_HEAP_PROPERTIES::MemoryPoolPreference: 9 is neither L0 nor L1",
        ),
    ];
    for (properties, text) in cases {
        let error = HeapFamily::try_from_d3d12(&properties).expect_err("must be rejected");
        assert!(error.is_invalid_argument());
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn d3d12s_numbers_are_heap_types_or_named_in_the_error() {
    for heap_type in HeapType::ALL {
        assert_eq!(HeapType::try_from(heap_type.to_d3d12()).expect("a known heap type"), heap_type);
    }
    for number in [i32::MIN, -1, 0, D3D12_HEAP_TYPE_CUSTOM, 6, i32::MAX] {
        let error = HeapType::try_from(number).expect_err("not a heap type");
        assert!(error.is_invalid_argument());
        assert!(error.to_string().contains(&number.to_string()), "{error}");
    }
}

#[test]
fn unified_memory_is_one_custom_family_on_cache_coherent_uma_alone() {
    for (name, gpu, caps) in gpus() {
        let without = families(&gpu, &caps, false);
        let with = families(&gpu, &caps, true);
        let is_unified = caps.architecture == Architecture::CacheCoherentUma;
        assert!(!without.has_unified_memory());
        assert_eq!(with.has_unified_memory(), is_unified, "{name}");
        let upload = HeapFamily::Custom(HeapMemory::of(HeapType::Upload, caps.architecture));
        for heap_type in HeapType::ALL {
            let family = with.of(heap_type, false);
            let usual = without.of(heap_type, false);
            let expected = if is_unified && heap_type != HeapType::Readback { Some(upload) } else { usual };
            assert_eq!(family, expected, "{heap_type} on {name}");
            assert_eq!(with.of(heap_type, true), usual, "attributed {heap_type} on {name}");
        }
    }
}

#[test]
fn unified_memory_is_mapped_and_local() {
    let (gpu, families) = unified();
    let granted = families.first_grant(&HeapType::Default.into(), false).expect("the heap type exists");
    assert!(granted.is_cpu_accessible && !granted.needs_copy);
    let (heap, charge) = create_heap(&gpu, families.properties(granted.family)).expect("enough memory");
    assert_eq!(charge, charged_to(SegmentGroup::Local));
    let desc = buffer_desc(ByteSize::from_kib(64));
    let mut buffer: Option<ID3D12Resource> = None;
    let mut bytes = std::ptr::null_mut();
    // SAFETY: all objects are live, and the results are written to variables of their types.
    unsafe {
        let state = D3D12_RESOURCE_STATE_COMMON;
        gpu.device.CreatePlacedResource(&heap, 0, &desc, state, None, &mut buffer).expect("enough memory");
        let mapped = buffer.as_ref().expect("created").Map(0, None, &mut bytes);
        assert!(mapped.is_ok() && !bytes.is_null(), "only memory of the unified heap can be mapped");
    }
}

#[test]
fn unified_memory_is_granted_once() {
    let (_gpu, families) = unified();
    let preference = HeapTypePreference::GPU_UPLOAD_OR_UPLOAD.or(HeapType::Readback).or(HeapType::Default);
    let granted = |always_attribute| {
        let granted = families.grants(&preference, always_attribute);
        granted.map(|granted| granted.heap_type).collect::<Vec<_>>()
    };
    assert_eq!(granted(false), [HeapType::GpuUpload, HeapType::Readback]);
    assert_eq!(granted(true), preference.heap_types());
}

#[test]
fn a_preference_selects_the_first_supported_heap_type() {
    let preference = HeapTypePreference::GPU_UPLOAD_OR_UPLOAD;
    for (name, gpu, caps) in gpus() {
        let families = families(&gpu, &caps, false);
        let granted = families.first_grant(&preference, false).expect("UPLOAD heaps exist");
        let (heap_type, needs_copy) = match name {
            "discrete-2gib" | "old-ddi" | "first-generation" => (HeapType::Upload, true),
            _ => (HeapType::GpuUpload, false),
        };
        assert_eq!((granted.heap_type, granted.needs_copy), (heap_type, needs_copy), "{name}");
        assert_eq!(granted.family, HeapFamily::Type(heap_type), "{name}");
        assert!(granted.is_cpu_accessible);
        let (_heap, charge) =
            create_heap(&gpu, families.properties(granted.family)).expect("granted heaps exist");
        assert_eq!(charge, charged_to(granted.segment_group), "{name}");
        let alone = families.first_grant(&HeapType::GpuUpload.into(), false);
        assert_eq!(alone.is_none(), heap_type == HeapType::Upload, "{name}");
    }
}

#[test]
fn default_and_readback_need_a_copy_where_upload_does_not() {
    for (name, gpu, caps) in gpus() {
        let families = families(&gpu, &caps, false);
        let is_discrete = caps.architecture == Architecture::Discrete;
        for (heap_type, needs_copy) in
            [(HeapType::Default, true), (HeapType::Upload, is_discrete), (HeapType::Readback, is_discrete)]
        {
            let granted = families.first_grant(&heap_type.into(), false).expect("the heap type exists");
            assert_eq!(granted.needs_copy, needs_copy, "{heap_type} on {name}");
        }
    }
}

/// UMA of an operating system without GPU upload heaps: the memory exists nevertheless.
#[test]
fn uma_without_gpu_upload_heaps_grants_a_custom_heap_of_the_same_memory() {
    for (name, gpu, mut caps) in gpus() {
        caps.gpu_upload_heaps = false;
        let families = families(&gpu, &caps, false);
        let granted = families.grants(&HeapTypePreference::GPU_UPLOAD_OR_UPLOAD, false).collect::<Vec<_>>();
        let upload = granted.last().copied().expect("UPLOAD heaps exist");
        assert_eq!((upload.heap_type, upload.family), (HeapType::Upload, HeapFamily::Type(HeapType::Upload)));
        if caps.architecture == Architecture::Discrete {
            assert_eq!(granted.len(), 1, "{name}");
            continue;
        }
        let [first, _] = granted[..] else { panic!("two heap types are granted on {name}") };
        assert_eq!(first.heap_type, HeapType::GpuUpload);
        assert_eq!(first.family, HeapFamily::Custom(HeapMemory::of(HeapType::GpuUpload, caps.architecture)));
        assert!(first.is_cpu_accessible && !first.needs_copy);
        let (_heap, charge) =
            create_heap(&gpu, families.properties(first.family)).expect("the device supports it");
        assert_eq!(charge, charged_to(SegmentGroup::Local), "{name}");
    }
}

/// CUSTOM heaps are a feature of a compute-only device, and no heap type falls back to them without it.
#[test]
fn compute_only_devices_have_custom_heaps_if_they_say_so() {
    let base = HostProfile::find("compute-only").expect("a profile of that name");
    for custom_heaps in [true, false] {
        let compute_only = Some(ComputeOnly { custom_heaps, write_watch: false });
        let architecture = heapwright_runtime::Architecture::Uma;
        let non_local = SegmentProfile::EMPTY;
        let profile = HostProfile { compute_only, architecture, non_local, ..*base };
        let gpu = Instance::open(&profile).expect("the instance opens");
        let caps = DeviceCaps::query(&gpu.device).expect("the device has caps");
        assert_eq!(caps.custom_heaps, custom_heaps);
        let family = HeapFamily::Custom(HeapMemory::of(HeapType::Readback, caps.architecture));
        assert_eq!(family.check(&caps).is_ok(), custom_heaps);
        let created = create_heap(&gpu, family.properties(NodeMasks::default()));
        assert_eq!(created.is_ok(), custom_heaps, "{:?}", created.err());
        let families = families(&gpu, &DeviceCaps { gpu_upload_heaps: false, ..caps }, true);
        assert_eq!(families.of(HeapType::GpuUpload, true).is_some(), custom_heaps);
    }
}

#[test]
fn the_initial_state_determines_the_heap_type() {
    for (state, heap_type) in [
        (D3D12_RESOURCE_STATE_GENERIC_READ, HeapType::Upload),
        (D3D12_RESOURCE_STATE_COPY_DEST, HeapType::Readback),
        (D3D12_RESOURCE_STATE_COMMON, HeapType::Default),
        (D3D12_RESOURCE_STATE_COPY_SOURCE, HeapType::Default),
        (D3D12_RESOURCE_STATE_GENERIC_READ | D3D12_RESOURCE_STATE_COPY_DEST, HeapType::Default),
    ] {
        assert_eq!(infer_heap_type(InitialState::State(state)), heap_type, "{state:#x}");
    }
    assert_eq!(infer_heap_type(InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED)), HeapType::Default);
    assert_eq!(infer_heap_type(InitialState::Layout(D3D12_BARRIER_LAYOUT_COPY_DEST)), HeapType::Default);
}

/// The device creates what the check accepts, and refuses what it rejects.
#[test]
fn invalid_states_for_a_heap_type_match_the_device() {
    let gpu = Instance::open(HostProfile::default_profile()).expect("the instance opens");
    let states = [
        D3D12_RESOURCE_STATE_COMMON,
        D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_RESOURCE_STATE_COPY_DEST,
        D3D12_RESOURCE_STATE_COPY_SOURCE,
        D3D12_RESOURCE_STATE_INDEX_BUFFER,
    ];
    for heap_type in HeapType::ALL {
        let (heap, _) =
            create_heap(&gpu, HeapFamily::Type(heap_type).properties(NodeMasks::default())).expect("room");
        let desc = buffer_desc(ByteSize::new(100));
        for state in states {
            let checked = check_initial_state(heap_type.into(), desc.Dimension, InitialState::State(state));
            let mut buffer: Option<ID3D12Resource> = None;
            // SAFETY: device and heap are live, the description outlives the call, the result goes to its interface.
            let created =
                unsafe { gpu.device.CreatePlacedResource(&heap, 0, &desc, state, None, &mut buffer) };
            assert_eq!(checked.is_ok(), created.is_ok(), "{heap_type} {state:#x}");
            if let Err(error) = checked {
                assert!(error.to_string().starts_with("initial_state: 0x"), "{error}");
            }
        }
    }
}

#[test]
fn layouts_and_dimensions_are_checked_for_each_heap_type() {
    let texture = D3D12_RESOURCE_DIMENSION_TEXTURE2D;
    let common = InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON);
    let undefined = InitialState::Layout(D3D12_BARRIER_LAYOUT_UNDEFINED);
    let buffer = D3D12_RESOURCE_DIMENSION_BUFFER;
    for heap_type in HeapType::ALL {
        let family = HeapFamily::Type(heap_type);
        let error = check_initial_state(family, buffer, common).expect_err("buffers do not allow a layout");
        assert!(error.to_string().starts_with("initial_state"), "{error}");
        assert!(check_initial_state(family, buffer, undefined).is_ok());
        let checked = check_initial_state(family, texture, common);
        let holds_textures = [HeapType::Default, HeapType::GpuUpload].contains(&heap_type);
        assert_eq!(checked.is_ok(), holds_textures, "{heap_type}");
        if let Err(error) = checked {
            assert!(error.to_string().starts_with("D3D12_RESOURCE_DESC::Dimension"), "{error}");
        }
    }
    let custom = HeapFamily::Custom(HeapMemory::of(HeapType::Upload, Architecture::Uma));
    assert!(check_initial_state(custom, texture, common).is_ok(), "custom heaps hold textures");
}
