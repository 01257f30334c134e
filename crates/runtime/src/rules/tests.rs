//! The rules read off as tables.

use heapwright_core::{Alignment, ByteSize};
use heapwright_d3d12::*;
use proptest::prelude::*;
use windows_core::HRESULT;

use super::allocation_info::StructureLayout;
use super::*;
use crate::HostProfile;
use crate::ddi::{Architecture, CpuPageProperty, Driver, DriverCaps, MemoryPool, ResourceAllocation};
use crate::drivers::host::HostDriver;

/// How a sound description is broken, what the answer is, and what the message names.
type Case<T> = (fn(&mut T), HRESULT, &'static str);

fn caps(profile: &str) -> DriverCaps {
    *HostDriver::new(HostProfile::find(profile).expect("a profile of that name")).caps()
}

fn buffer(width: u64) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn tight(width: u64) -> D3D12_RESOURCE_DESC1 {
    D3D12_RESOURCE_DESC1 { Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT, ..buffer(width) }
}

fn heap(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
        ..Default::default()
    }
}

/// UPLOAD's three tables.
#[test]
fn custom_properties_follow_the_architecture() {
    use Architecture::{CacheCoherentUma, Discrete, Uma};
    use CpuPageProperty::{NotAvailable, WriteBack, WriteCombine};
    use MemoryPool::{L0, L1};
    let table = [
        (Discrete, D3D12_HEAP_TYPE_UPLOAD, WriteCombine, L0),
        (Discrete, D3D12_HEAP_TYPE_DEFAULT, NotAvailable, L1),
        (Discrete, D3D12_HEAP_TYPE_READBACK, WriteBack, L0),
        (Discrete, D3D12_HEAP_TYPE_GPU_UPLOAD, WriteCombine, L1),
        (Uma, D3D12_HEAP_TYPE_UPLOAD, WriteCombine, L0),
        (Uma, D3D12_HEAP_TYPE_DEFAULT, NotAvailable, L0),
        (Uma, D3D12_HEAP_TYPE_READBACK, WriteBack, L0),
        (Uma, D3D12_HEAP_TYPE_GPU_UPLOAD, WriteCombine, L0),
        (CacheCoherentUma, D3D12_HEAP_TYPE_UPLOAD, WriteBack, L0),
        (CacheCoherentUma, D3D12_HEAP_TYPE_DEFAULT, NotAvailable, L0),
        (CacheCoherentUma, D3D12_HEAP_TYPE_READBACK, WriteBack, L0),
        (CacheCoherentUma, D3D12_HEAP_TYPE_GPU_UPLOAD, WriteBack, L0),
    ];
    for (architecture, heap_type, cpu_page_property, memory_pool) in table {
        let expected = heap::HeapMemory { cpu_page_property, memory_pool };
        let found = heap::custom_properties(heap_type, architecture);
        assert_eq!(found, Some(expected), "heap type {heap_type} on {architecture:?}");
    }
    assert_eq!(heap::custom_properties(D3D12_HEAP_TYPE_CUSTOM, Discrete), None);
    assert_eq!(heap::custom_properties(99, Discrete), None);
}

#[test]
fn custom_heaps_take_the_combinations_that_exist() {
    let cases = [
        // profile, CPU page property, pool, valid
        ("discrete", D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1, true),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1, true),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1, false),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0, true),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L0, true),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_MEMORY_POOL_L0, false),
        ("discrete", D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_UNKNOWN, false),
        ("discrete-2gib", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1, false),
        ("uma", D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L0, true),
        ("uma", D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1, false),
    ];
    for (profile, page, pool, valid) in cases {
        let mut desc = heap(D3D12_HEAP_TYPE_CUSTOM);
        desc.Properties.CPUPageProperty = page;
        desc.Properties.MemoryPoolPreference = pool;
        assert_eq!(heap::check(&desc, &caps(profile)).is_ok(), valid, "{profile} {page} {pool}");
    }
}

#[test]
fn heap_descriptions_are_checked_field_by_field() {
    let sound = heap(D3D12_HEAP_TYPE_DEFAULT);
    assert!(heap::check(&sound, &caps("discrete")).is_ok());
    let with = |change: fn(&mut D3D12_HEAP_DESC)| {
        let mut desc = sound;
        change(&mut desc);
        heap::check(&desc, &caps("discrete")).map_err(|refusal| (refusal.hresult(), refusal.to_string()))
    };
    let refused: [Case<D3D12_HEAP_DESC>; 13] = [
        (|d| d.SizeInBytes = 0, E_INVALIDARG, "SizeInBytes"),
        (|d| d.SizeInBytes = u64::MAX, E_INVALIDARG, "SizeInBytes"),
        (|d| d.Alignment = 4096, E_INVALIDARG, "Alignment"),
        (|d| d.Alignment = 1 << 21, E_INVALIDARG, "Alignment"),
        (|d| d.Properties.Type = 0, E_INVALIDARG, "Type"),
        (|d| d.Properties.Type = 6, E_INVALIDARG, "Type"),
        (|d| d.Properties.CPUPageProperty = 1, E_INVALIDARG, "CPUPageProperty"),
        (|d| d.Properties.MemoryPoolPreference = 1, E_INVALIDARG, "MemoryPoolPreference"),
        (|d| d.Properties.CreationNodeMask = 2, E_INVALIDARG, "CreationNodeMask"),
        (|d| d.Flags = 0xC4, E_INVALIDARG, "deny every kind"),
        (|d| d.Flags = 1 << 30, E_INVALIDARG, "unknown"),
        (|d| d.Flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, E_INVALIDARG, "ManualWriteTracking"),
        (|d| d.Flags = D3D12_HEAP_FLAG_SHARED, E_NOTIMPL, "D3D12_HEAP_FLAG_SHARED"),
    ];
    for (change, hresult, named) in refused {
        let (found, message) = with(change).expect_err(named);
        assert_eq!(found, hresult, "{message}");
        assert!(message.contains(named), "{named:?} is missing: {message}");
    }
    assert_eq!(with(|d| d.Alignment = 4 << 20).map(|heap| heap.alignment.get()), Ok(4 << 20));
}

#[test]
fn heap_tier_1_wants_one_kind_of_resource() {
    let allowed = |flags, profile| {
        heap::check(&D3D12_HEAP_DESC { Flags: flags, ..heap(D3D12_HEAP_TYPE_DEFAULT) }, &caps(profile))
            .is_ok()
    };
    let one_kind = [
        D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
        D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
    ];
    for flags in one_kind {
        assert!(allowed(flags, "heap-tier-1") && allowed(flags, "discrete"), "{flags:#x}");
    }
    for flags in [D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES, D3D12_HEAP_FLAG_DENY_BUFFERS] {
        assert!(!allowed(flags, "heap-tier-1") && allowed(flags, "discrete"), "{flags:#x}");
    }
}

#[test]
fn gpu_upload_heaps_need_support_and_exclude_sharing() {
    let gpu_upload = heap(D3D12_HEAP_TYPE_GPU_UPLOAD);
    for (profile, valid) in [("discrete", true), ("uma", true), ("discrete-2gib", false), ("old-ddi", false)]
    {
        assert_eq!(heap::check(&gpu_upload, &caps(profile)).is_ok(), valid, "{profile}");
    }
    for flag in [D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, D3D12_HEAP_FLAG_ALLOW_DISPLAY]
    {
        let desc = D3D12_HEAP_DESC { Flags: flag, ..gpu_upload };
        let refusal = heap::check(&desc, &caps("discrete")).expect_err("excluded");
        assert_eq!(refusal.hresult(), E_INVALIDARG, "{flag:#x}: {refusal}");
    }
}

#[test]
fn committed_resources_take_no_allow_or_deny_flags() {
    let properties = heap(D3D12_HEAP_TYPE_DEFAULT).Properties;
    let check = |flags| heap::check_implicit(&properties, flags, &caps("discrete"));
    assert!(check(D3D12_HEAP_FLAG_NONE).is_ok());
    assert!(check(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED).is_ok());
    assert!(check(D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS).is_err());
}

#[test]
fn buffer_descriptions_are_checked_field_by_field() {
    let with = |change: fn(&mut D3D12_RESOURCE_DESC1)| {
        let mut desc = buffer(1000);
        change(&mut desc);
        resource::check(&desc, &caps("discrete")).map_err(|refusal| (refusal.hresult(), refusal.to_string()))
    };
    assert!(with(|_| ()).is_ok());
    assert!(with(|d| d.Alignment = 65_536).is_ok());
    assert!(with(|d| d.Width = 1 << 40).is_ok());
    let refused: [Case<D3D12_RESOURCE_DESC1>; 18] = [
        (|d| d.Width = 0, E_INVALIDARG, "Width"),
        (|d| d.Width = (1 << 40) + 1, E_INVALIDARG, "40 bits"),
        (|d| d.Height = 0, E_INVALIDARG, "Height"),
        (|d| d.DepthOrArraySize = 2, E_INVALIDARG, "DepthOrArraySize"),
        (|d| d.MipLevels = 0, E_INVALIDARG, "MipLevels"),
        (|d| d.Format = DXGI_FORMAT_R8_UNORM, E_INVALIDARG, "Format"),
        (|d| d.SampleDesc.Count = 4, E_INVALIDARG, "SampleDesc.Count"),
        (|d| d.SampleDesc.Quality = 1, E_INVALIDARG, "SampleDesc.Quality"),
        (|d| d.Layout = D3D12_TEXTURE_LAYOUT_UNKNOWN, E_INVALIDARG, "Layout"),
        (|d| d.SamplerFeedbackMipRegion.Width = 1, E_INVALIDARG, "SamplerFeedbackMipRegion"),
        (|d| d.Alignment = 256, E_INVALIDARG, "Alignment"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, E_INVALIDARG, "flags"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, E_INVALIDARG, "flags"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS, E_INVALIDARG, "flags"),
        (|d| d.Flags = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, E_INVALIDARG, "UNORDERED"),
        (|d| d.Dimension = 0, E_INVALIDARG, "Dimension"),
        (|d| d.Dimension = 5, E_INVALIDARG, "Dimension"),
        (|d| d.Dimension = D3D12_RESOURCE_DIMENSION_TEXTURE2D, E_NOTIMPL, "textures"),
    ];
    for (change, hresult, named) in refused {
        let (found, message) = with(change).expect_err(named);
        assert_eq!(found, hresult, "{message}");
        assert!(message.contains(named), "{named:?} is missing: {message}");
    }
}

/// TIGHT, *Validation*.
#[test]
fn tight_alignment_is_refused_where_the_document_says_so() {
    assert!(resource::check(&tight(1000), &caps("discrete")).expect("supported").tight_alignment);
    assert!(resource::check(&tight(1000), &caps("old-ddi")).is_err(), "the tier is NOT_SUPPORTED");
    for alignment in [8, 256, 65_536] {
        let desc = D3D12_RESOURCE_DESC1 { Alignment: alignment, ..tight(1000) };
        assert!(
            resource::check(&desc, &caps("discrete")).is_err(),
            "an alignment of {alignment} beside the flag"
        );
    }
    let cross_adapter = D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER;
    let desc = D3D12_RESOURCE_DESC1 { Flags: tight(1000).Flags | cross_adapter, ..tight(1000) };
    let checked = resource::check(&desc, &caps("discrete")).expect("a warning, not an error");
    assert!(!checked.tight_alignment, "the alignment stays 64 KiB");
    let notices: Vec<_> = checked.notices.iter().collect();
    assert_eq!(notices.len(), 1, "TIGHT asks for a warning");
    assert_eq!(notices[0].severity, D3D12_MESSAGE_SEVERITY_WARNING);
    assert!(notices[0].message.contains("ALLOW_CROSS_ADAPTER"));
}

/// TIGHT's tables: placed buffers 8 to 256 B and as large as their width, committed buffers exactly 4 KiB.
#[test]
fn tight_buffers_stay_within_the_tables() {
    for profile in HostProfile::all() {
        let driver = HostDriver::new(profile);
        for width in [1, 7, 8, 255, 256, 4095, 65_536, 65_537, 1 << 33] {
            let plain = resource::check(&buffer(width), driver.caps()).expect("valid");
            let placed = allocation_info::of_placed(&plain, &driver);
            assert_eq!(placed.alignment.get(), 65_536);
            assert_eq!(placed.size.get(), width.next_multiple_of(65_536));
            assert_eq!(allocation_info::of_committed(&plain, &driver), placed);
            let Ok(tight) = resource::check(&tight(width), driver.caps()) else { continue };
            let placed = allocation_info::of_placed(&tight, &driver);
            assert!((8..=256).contains(&placed.alignment.get()), "{}: {placed:?}", profile.name);
            assert_eq!(placed.size.get(), width);
            let committed = allocation_info::of_committed(&tight, &driver);
            assert_eq!((committed.alignment.get(), committed.size.get()), (4096, width));
            assert_eq!(allocation_info::of_placed(&tight, &driver), placed, "idempotent");
        }
    }
}

fn member(size: u64, alignment: u64) -> ResourceAllocation {
    ResourceAllocation {
        size: ByteSize::new(size),
        alignment: Alignment::new(alignment).expect("a power of two"),
    }
}

fn layout(members: &[ResourceAllocation]) -> Option<(u64, u64)> {
    let mut layout = StructureLayout::new();
    for &member in members {
        layout.append(member)?;
    }
    layout.finish().map(|whole| (whole.size.get(), whole.alignment.get()))
}

/// TIGHT's example: two tiny resources at 256 B and a tiny one at 2 MiB.
#[test]
fn the_size_of_several_resources_depends_on_their_order() {
    let (small, large) = (member(100, 256), member(100, 2 << 20));
    assert_eq!(layout(&[small, large, small]), Some((4 << 20, 2 << 20)));
    assert_eq!(layout(&[large, small, small]), Some((2 << 20, 2 << 20)));
    // The document's figures take the size of the large one as its alignment.
    let large = member(2 << 20, 2 << 20);
    assert_eq!(layout(&[small, large, small]), Some((6 << 20, 2 << 20)));
    assert_eq!(layout(&[large, small, small]), Some((4 << 20, 2 << 20)));
    assert_eq!(layout(&[small, small, large]), Some((4 << 20, 2 << 20)));
    let tail = [vec![small; 8192], vec![large]].concat();
    assert_eq!(layout(&tail), Some((4 << 20, 2 << 20)), "8,192 of them fill the room before the large one");
}

#[test]
fn a_layout_that_overflows_has_no_answer() {
    assert_eq!(layout(&[member(u64::MAX, 1), member(1, 1)]), None);
    assert_eq!(layout(&[member(u64::MAX - 5, 256)]), None);
}

proptest! {
    /// The layout is what a C compiler does: beside a plain re-computation.
    #[test]
    fn structure_layout_is_c_layout(members in prop::collection::vec((1_u64..1 << 24, 0_u32..23), 1..20)) {
        let members: Vec<_> = members.iter().map(|&(size, log2)| member(size, 1 << log2)).collect();
        let mut end = 0_u64;
        let mut offsets = StructureLayout::new();
        for &part in &members {
            let start = end.next_multiple_of(part.alignment.get());
            prop_assert_eq!(offsets.append(part), Some(start));
            end = start + part.size.get();
        }
        let largest = members.iter().map(|part| part.alignment.get()).max().unwrap_or(1);
        prop_assert_eq!(layout(&members), Some((end.next_multiple_of(largest), largest)));
    }
}

#[test]
fn a_buffer_is_placed_at_its_alignment_within_a_heap_that_takes_buffers() {
    let check = |size, alignment, offset, flags| {
        placement::check_buffer(member(size, alignment), offset, ByteSize::from_kib(64), flags).is_ok()
    };
    assert!(check(65_536, 65_536, 0, D3D12_HEAP_FLAG_NONE));
    assert!(check(100, 256, 65_280, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS));
    assert!(!check(100, 256, 128, D3D12_HEAP_FLAG_NONE), "not a multiple");
    assert!(!check(257, 256, 65_280, D3D12_HEAP_FLAG_NONE), "one byte too many");
    assert!(!check(1, 8, 65_536, D3D12_HEAP_FLAG_NONE), "begins at the end");
    assert!(!check(1, 8, u64::MAX - 7, D3D12_HEAP_FLAG_NONE), "overflows");
    assert!(!check(1, 8, 0, D3D12_HEAP_FLAG_DENY_BUFFERS));
    assert!(!check(1, 8, 0, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES));
}

#[test]
fn initial_states_follow_the_heap_type() {
    let check =
        |state, heap_type| placement::check_buffer_state(state, heap_type, D3D12_RESOURCE_FLAG_NONE).is_ok();
    let any = [
        D3D12_RESOURCE_STATE_COMMON,
        D3D12_RESOURCE_STATE_COPY_DEST,
        D3D12_RESOURCE_STATE_COPY_SOURCE,
        D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
    ];
    for state in any {
        assert!(
            check(state, D3D12_HEAP_TYPE_DEFAULT) && check(state, D3D12_HEAP_TYPE_GPU_UPLOAD),
            "{state:#x}"
        );
        let upload = [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_GENERIC_READ].contains(&state);
        assert_eq!(check(state, D3D12_HEAP_TYPE_UPLOAD), upload, "{state:#x}");
        let readback = [D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST].contains(&state);
        assert_eq!(check(state, D3D12_HEAP_TYPE_READBACK), readback, "{state:#x}");
    }
    for state in [D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_RESOURCE_STATE_DEPTH_WRITE, 1 << 30] {
        assert!(!check(state, D3D12_HEAP_TYPE_DEFAULT), "{state:#x}");
    }
    let structure = D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;
    assert!(!check(structure, D3D12_HEAP_TYPE_DEFAULT), "needs the flag");
    let flags = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
    assert!(placement::check_buffer_state(structure, D3D12_HEAP_TYPE_DEFAULT, flags).is_ok());
    assert!(placement::check_buffer_layout(D3D12_BARRIER_LAYOUT_UNDEFINED).is_ok());
    assert!(placement::check_buffer_layout(D3D12_BARRIER_LAYOUT_COMMON).is_err());
}
