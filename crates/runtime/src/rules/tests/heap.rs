//! Heap descriptions, properties and flags.

use super::*;
use crate::ddi::{Architecture, CpuPageProperty, MemoryPool};
use crate::rules::heap;

fn heap(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
        ..Default::default()
    }
}

/// The three tables of the GPU upload heaps specification.
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
fn custom_heaps_accept_the_valid_combinations() {
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
        assert_eq!(heap::check(&desc, &caps(profile), &PLAIN).is_ok(), valid, "{profile} {page} {pool}");
    }
}

#[test]
fn heap_descriptions_are_checked_field_by_field() {
    let check = |desc: &D3D12_HEAP_DESC| heap::check(desc, &caps("discrete"), &PLAIN);
    let refused: [Case<D3D12_HEAP_DESC>; 17] = [
        (|d| d.SizeInBytes = 0, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE, "SizeInBytes"),
        (|d| d.SizeInBytes = u64::MAX, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE, "SizeInBytes"),
        (|d| d.Alignment = 4096, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDALIGNMENT, "Alignment"),
        (|d| d.Alignment = 1 << 21, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDALIGNMENT, "Alignment"),
        (|d| d.Properties.Type = 0, D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE, "Type"),
        (|d| d.Properties.Type = 6, D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE, "Type"),
        (
            |d| d.Properties.CPUPageProperty = 1,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES,
            "CPUPageProperty",
        ),
        (
            |d| d.Properties.MemoryPoolPreference = 1,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES,
            "MemoryPoolPreference",
        ),
        (
            |d| d.Properties.CreationNodeMask = 2,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES,
            "CreationNodeMask",
        ),
        (|d| d.Flags = 0xC4, D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS, "must not contain all of"),
        (|d| d.Flags = 1 << 30, D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS, "unknown"),
        (
            |d| d.Flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
            "ManualWriteTracking",
        ),
        (|d| d.Flags = D3D12_HEAP_FLAG_HARDWARE_PROTECTED, NOT_IMPLEMENTED, "HARDWARE_PROTECTED"),
        (|d| d.Flags = D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, NOT_IMPLEMENTED, "ALLOW_WRITE_WATCH"),
        (
            |d| d.Flags = D3D12_HEAP_FLAG_ALLOW_DISPLAY,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
            "ALLOW_DISPLAY",
        ),
        (
            |d| d.Flags = D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
            "needs D3D12_HEAP_FLAG_SHARED",
        ),
        (
            |d| d.Flags = D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS,
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
            "ALLOW_ONLY_BUFFERS",
        ),
    ];
    assert_refused(heap(D3D12_HEAP_TYPE_DEFAULT), &refused, |desc| check(desc).map(|_| ()));
    let aligned = D3D12_HEAP_DESC { Alignment: 4 << 20, ..heap(D3D12_HEAP_TYPE_DEFAULT) };
    assert_eq!(outcome(check(&aligned)).map(|heap| heap.alignment.get()), Ok(4 << 20));
}

#[test]
fn heap_tier_1_requires_one_resource_category() {
    let allowed = |flags, profile| {
        heap::check(
            &D3D12_HEAP_DESC { Flags: flags, ..heap(D3D12_HEAP_TYPE_DEFAULT) },
            &caps(profile),
            &PLAIN,
        )
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
        assert_eq!(heap::check(&gpu_upload, &caps(profile), &PLAIN).is_ok(), valid, "{profile}");
    }
    for flag in [D3D12_HEAP_FLAG_SHARED, D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, D3D12_HEAP_FLAG_ALLOW_DISPLAY]
    {
        let desc = D3D12_HEAP_DESC { Flags: flag, ..gpu_upload };
        let refusal = heap::check(&desc, &caps("discrete"), &PLAIN).expect_err("excluded");
        assert_eq!(refusal.hresult(), E_INVALIDARG, "{flag:#x}: {refusal}");
    }
}

#[test]
fn committed_resources_refuse_allow_and_deny_flags() {
    let properties = heap(D3D12_HEAP_TYPE_DEFAULT).Properties;
    let check = |flags| heap::check_implicit(&properties, flags, &caps("discrete"), &PLAIN);
    assert!(check(D3D12_HEAP_FLAG_NONE).is_ok());
    assert!(check(D3D12_HEAP_FLAG_CREATE_NOT_ZEROED).is_ok());
    assert!(check(D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS).is_err());
}

/// Flags whose effect does not depend on the heap's contents.
#[test]
fn heap_flags_are_accepted_where_d3d12_accepts_them() {
    let check = |flags, heap_type, options: &Options| {
        let desc = D3D12_HEAP_DESC { Flags: flags, ..heap(heap_type) };
        heap::check(&desc, &caps("discrete"), options).is_ok()
    };
    let shared = D3D12_HEAP_FLAG_SHARED;
    let taken = [
        shared,
        shared | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER,
        D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT,
        D3D12_HEAP_FLAG_CREATE_NOT_ZEROED,
        D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
    ];
    for flags in taken {
        assert!(check(flags, D3D12_HEAP_TYPE_DEFAULT, &PLAIN), "{flags:#x}");
    }
    // The restriction of the GPU upload heaps specification applies to all CPU-accessible memory.
    for heap_type in [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_GPU_UPLOAD] {
        assert!(!check(shared, heap_type, &PLAIN), "{heap_type}");
        assert!(check(D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT, heap_type, &PLAIN), "{heap_type}");
    }
    let tracked = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING;
    assert!(!check(tracked, D3D12_HEAP_TYPE_UPLOAD, &PLAIN));
    let with_tool = Options { manual_write_tracking: true, ..PLAIN };
    assert!(check(tracked, D3D12_HEAP_TYPE_UPLOAD, &with_tool));
}

#[test]
fn a_custom_heap_is_shared_only_without_cpu_access() {
    for (page, pool, allowed) in [
        (D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L1, true),
        (D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE, D3D12_MEMORY_POOL_L0, true),
        (D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE, D3D12_MEMORY_POOL_L1, false),
        (D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0, false),
    ] {
        let mut desc = heap(D3D12_HEAP_TYPE_CUSTOM);
        desc.Properties.CPUPageProperty = page;
        desc.Properties.MemoryPoolPreference = pool;
        desc.Flags = D3D12_HEAP_FLAG_SHARED;
        assert_eq!(heap::check(&desc, &caps("discrete"), &PLAIN).is_ok(), allowed, "{page} {pool}");
    }
}
