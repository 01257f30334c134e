//! Heap descriptions, properties and flags.

use super::*;
use crate::rules::heap;

const SIZE: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_INVALIDSIZE;
const ALIGNMENT: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_INVALIDALIGNMENT;
const TYPE: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE;
const PROPERTIES: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES;
const FLAGS: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS;
const UNKNOWN_FLAGS: D3D12_MESSAGE_ID = D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS;

fn heap(heap_type: D3D12_HEAP_TYPE) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() },
        ..Default::default()
    }
}

#[test]
fn heap_descriptions_are_checked_field_by_field() {
    let check = |desc: &D3D12_HEAP_DESC| heap::check(desc, &caps("discrete"), &PLAIN);
    let refused: [Case<D3D12_HEAP_DESC>; 16] = [
        (|d| d.SizeInBytes = 0, SIZE, "SizeInBytes"),
        (|d| d.SizeInBytes = u64::MAX, SIZE, "SizeInBytes"),
        (|d| d.Alignment = 4096, ALIGNMENT, "Alignment"),
        (|d| d.Alignment = 1 << 21, ALIGNMENT, "Alignment"),
        (|d| d.Properties.Type = 0, TYPE, "Type"),
        (|d| d.Properties.Type = 6, TYPE, "Type"),
        (|d| d.Properties.CPUPageProperty = 1, PROPERTIES, "CPUPageProperty"),
        (|d| d.Properties.MemoryPoolPreference = 1, PROPERTIES, "MemoryPoolPreference"),
        (|d| d.Properties.CreationNodeMask = 2, PROPERTIES, "CreationNodeMask"),
        (|d| d.Flags = 0xC4, FLAGS, "must not contain all of"),
        (|d| d.Flags = 1 << 30, UNKNOWN_FLAGS, "unknown"),
        (|d| d.Flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING, FLAGS, "ManualWriteTracking"),
        (|d| d.Flags = D3D12_HEAP_FLAG_HARDWARE_PROTECTED, NOT_IMPLEMENTED, "HARDWARE_PROTECTED"),
        (|d| d.Flags = D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH, NOT_IMPLEMENTED, "ALLOW_WRITE_WATCH"),
        (|d| d.Flags = D3D12_HEAP_FLAG_ALLOW_DISPLAY, FLAGS, "ALLOW_DISPLAY"),
        (|d| d.Flags = D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER, FLAGS, "needs D3D12_HEAP_FLAG_SHARED"),
    ];
    assert_refused(heap(D3D12_HEAP_TYPE_DEFAULT), &refused, |desc| check(desc).map(|_| ()));
    let aligned = D3D12_HEAP_DESC { Alignment: 4 << 20, ..heap(D3D12_HEAP_TYPE_DEFAULT) };
    assert_eq!(outcome(check(&aligned)).map(|heap| heap.alignment.get()), Ok(4 << 20));
}

#[test]
fn shader_atomics_exclude_cpu_access_unless_custom() {
    let custom = |page| D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: page,
        MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
        ..Default::default()
    };
    let of_type = |heap_type| heap(heap_type).Properties;
    for (properties, is_allowed) in [
        (of_type(D3D12_HEAP_TYPE_DEFAULT), true),
        (of_type(D3D12_HEAP_TYPE_UPLOAD), false),
        (of_type(D3D12_HEAP_TYPE_READBACK), false),
        (of_type(D3D12_HEAP_TYPE_GPU_UPLOAD), false),
        (custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK), true),
        (custom(D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE), true),
    ] {
        for kinds in [D3D12_HEAP_FLAG_NONE, D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES] {
            let plain = D3D12_HEAP_DESC { Properties: properties, Flags: kinds, ..heap(0) };
            let atomic = D3D12_HEAP_DESC { Flags: kinds | D3D12_HEAP_FLAG_ALLOW_SHADER_ATOMICS, ..plain };
            let check = |desc: &D3D12_HEAP_DESC| heap::check(desc, &caps("discrete"), &PLAIN);
            assert!(check(&plain).is_ok(), "{properties:?}");
            match check(&atomic) {
                Ok(_) => assert!(is_allowed, "{properties:?}"),
                Err(refusal) => {
                    assert!(!is_allowed, "{properties:?}: {refusal}");
                    assert_eq!((refusal.hresult(), refusal.id()), (E_INVALIDARG, FLAGS));
                }
            }
        }
    }
}
