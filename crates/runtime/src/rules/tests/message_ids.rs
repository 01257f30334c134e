//! The ids under which D3D12's debug layer reports broken rules, where the tables of the rules do not have them.

use super::*;
use crate::rules::{clear_value, footprints, heap, initial, placement};

/// Changes that each invalidate a valid heap, and the ids of the message in `CreateHeap` and `CreateCommittedResource`.
type HeapIdCase = (&'static [fn(&mut D3D12_HEAP_DESC)], D3D12_MESSAGE_ID, D3D12_MESSAGE_ID);

fn heap_desc() -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        ..Default::default()
    }
}

fn custom(page: D3D12_CPU_PAGE_PROPERTY, pool: D3D12_MEMORY_POOL) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: page,
        MemoryPoolPreference: pool,
        ..Default::default()
    }
}

#[test]
fn heaps_of_both_calls() {
    let cases: [HeapIdCase; 7] = [
        (
            &[|d| d.Properties.Type = 77],
            D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDHEAPTYPE,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDHEAPTYPE,
        ),
        (
            &[
                |d| d.Properties.CPUPageProperty = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
                |d| d.Properties.VisibleNodeMask = 4,
                |d| d.Properties = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L1),
            ],
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDPROPERTIES,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES,
        ),
        (
            &[|d| d.Properties = custom(9, D3D12_MEMORY_POOL_L0)],
            D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDCPUPAGEPROPERTIES,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDCPUPAGEPROPERTIES,
        ),
        (
            &[|d| d.Properties = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, 9)],
            D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMEMORYPOOL,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDMEMORYPOOL,
        ),
        (
            &[|d| d.Flags = 1 << 30],
            D3D12_MESSAGE_ID_CREATEHEAP_UNRECOGNIZEDMISCFLAGS,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_UNRECOGNIZEDHEAPMISCFLAGS,
        ),
        (
            &[|d| d.Flags = D3D12_HEAP_FLAG_TOOLS_USE_MANUAL_WRITE_TRACKING],
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDMISCFLAGS,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPMISCFLAGS,
        ),
        (
            &[|d| d.Properties.Type = D3D12_HEAP_TYPE_GPU_UPLOAD],
            D3D12_MESSAGE_ID_CREATEHEAP_INVALIDHEAPTYPE,
            D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPTYPE,
        ),
    ];
    let caps = DriverCaps { l1_memory_fully_cpu_accessible: false, ..caps("discrete") };
    for (change, id, implicit_id) in cases
        .into_iter()
        .flat_map(|(changes, id, implicit)| changes.iter().map(move |&it| (it, id, implicit)))
    {
        let mut desc = heap_desc();
        change(&mut desc);
        let refusal = heap::check(&desc, &caps, &PLAIN).expect_err("refused");
        assert_eq!(refusal.id(), id, "{refusal}");
        let implicit = heap::check_implicit(&desc.Properties, desc.Flags, &caps, &PLAIN);
        assert_eq!(implicit.expect_err("refused").id(), implicit_id, "{refusal}");
    }
}

#[test]
fn placement_and_initial_states() {
    let resource = valid(&buffer(1000));
    let textures_only = D3D12_HEAP_DESC { Flags: D3D12_HEAP_FLAG_DENY_BUFFERS, ..heap_desc() };
    let refusal = placement::check(&resource, member(65_536, 65_536), 0, &textures_only).expect_err("denied");
    assert_eq!(refusal.id(), D3D12_MESSAGE_ID_CREATERESOURCEANDHEAP_INVALIDHEAPPROPERTIES);

    let state = |resource, state, heap_type| {
        let checked = initial::check_state(resource, state, heap_type, 0, &caps("discrete"));
        checked.expect_err("refused").id()
    };
    let upload = state(&resource, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_HEAP_TYPE_UPLOAD);
    assert_eq!(upload, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP);
    let both = D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
    let combined = state(&resource, both, D3D12_HEAP_TYPE_DEFAULT);
    assert_eq!(combined, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMBINATION);
    let plain = valid(&texture2d(64, 64));
    let target = state(&plain, D3D12_RESOURCE_STATE_RENDER_TARGET, D3D12_HEAP_TYPE_DEFAULT);
    assert_eq!(target, D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS);
    let value = D3D12_CLEAR_VALUE { Format: DXGI_FORMAT_R8G8B8A8_UNORM, ..Default::default() };
    let refusal = clear_value::check(&resource, Some(&value), &[]).expect_err("a buffer");
    assert_eq!(refusal.id(), D3D12_MESSAGE_ID_CREATERESOURCE_INVALIDCLEARVALUE);
    let refusal = footprints::copyable_footprints(&resource, 0, 2, 0, |_| ()).expect_err("one subresource");
    assert_eq!(refusal.id(), D3D12_MESSAGE_ID_GETCOPYABLEFOOTPRINTS_INVALIDSUBRESOURCERANGE);
}
