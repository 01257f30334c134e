//! Barriers and discards: what is refused.

use std::mem::ManuallyDrop;
use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::Interface;

use super::gpu::*;

pub(crate) fn transition(
    resource: Option<&ID3D12Resource>,
    before: D3D12_RESOURCE_STATES,
    after: D3D12_RESOURCE_STATES,
) -> D3D12_RESOURCE_BARRIER {
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_TRANSITION,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Transition: ManuallyDrop::new(D3D12_RESOURCE_TRANSITION_BARRIER {
                // Not a reference of its own: the barrier borrows, and nothing releases it.
                pResource: ManuallyDrop::new(
                    resource.map(|resource| unsafe { ID3D12Resource::from_raw(resource.as_raw()) }),
                ),
                Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                StateBefore: before,
                StateAfter: after,
            }),
        },
    }
}

fn borrow(resource: Option<&ID3D12Resource>) -> ManuallyDrop<Option<ID3D12Resource>> {
    ManuallyDrop::new(resource.map(|resource| unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
}

pub(crate) fn aliasing(
    before: Option<&ID3D12Resource>,
    after: Option<&ID3D12Resource>,
) -> D3D12_RESOURCE_BARRIER {
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                pResourceBefore: borrow(before),
                pResourceAfter: borrow(after),
            }),
        },
    }
}

pub(crate) fn uav(resource: Option<&ID3D12Resource>) -> D3D12_RESOURCE_BARRIER {
    D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_UAV,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            UAV: ManuallyDrop::new(D3D12_RESOURCE_UAV_BARRIER { pResource: borrow(resource) }),
        },
    }
}

#[test]
fn transitions_are_checked() {
    let device = open();
    let direct = Queue::direct(&device);
    let copy = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COPY);
    let plain = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let writable =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let check = |queue: &Queue, resource: Option<&ID3D12Resource>, before, after| {
        queue.close_after(|list| unsafe { list.ResourceBarrier(&[transition(resource, before, after)]) })
    };
    let (common, target) = (D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
    assert_eq!(check(&direct, Some(&plain), common, target), S_OK);
    assert_eq!(check(&copy, Some(&plain), common, target), S_OK);
    assert_eq!(check(&direct, Some(&plain), target, target), E_INVALIDARG, "the same");
    assert_eq!(check(&direct, None, common, target), E_INVALIDARG);
    assert_eq!(check(&direct, Some(&upload), D3D12_RESOURCE_STATE_GENERIC_READ, common), E_INVALIDARG);
    let uav = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
    assert_eq!(check(&direct, Some(&plain), common, uav), E_INVALIDARG, "no ALLOW_UNORDERED_ACCESS");
    assert_eq!(check(&direct, Some(&writable), common, uav), S_OK);
    assert_eq!(check(&copy, Some(&writable), common, uav), E_INVALIDARG, "a copy list");
    assert_eq!(check(&direct, Some(&writable), common, uav | target), E_INVALIDARG, "two that write");
    let structure = D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE;
    assert_eq!(check(&direct, Some(&plain), common, structure), E_INVALIDARG, "no ALLOW_UNORDERED_ACCESS");
    assert_eq!(check(&direct, Some(&writable), common, structure), S_OK, "as in DXR 1.0");
    let flagged =
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
    let flagged = commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, flagged);
    assert_eq!(check(&direct, Some(&flagged), common, structure), S_OK);
    assert_eq!(check(&direct, Some(&plain), common, D3D12_RESOURCE_STATE_DEPTH_WRITE), E_INVALIDARG);
    assert_eq!(check(&direct, Some(&plain), common, 1 << 30), E_INVALIDARG, "no state");
    let indexed = |subresource| {
        let mut barrier = transition(Some(&plain), common, target);
        unsafe { (*barrier.Anonymous.Transition).Subresource = subresource };
        direct.close_after(|list| unsafe { list.ResourceBarrier(&[barrier]) })
    };
    assert_eq!((indexed(0), indexed(1)), (S_OK, E_INVALIDARG));
    let unknown = D3D12_RESOURCE_BARRIER { Type: 9, ..Default::default() };
    assert_eq!(direct.close_after(|list| unsafe { list.ResourceBarrier(&[unknown]) }), E_INVALIDARG);
}

#[test]
fn enhanced_barriers_are_checked() {
    let device = open();
    let direct = Queue::direct(&device);
    let buffer = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let of_buffer = |change: &dyn Fn(&mut D3D12_BUFFER_BARRIER)| {
        let mut barrier = D3D12_BUFFER_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_COPY,
            SyncAfter: D3D12_BARRIER_SYNC_ALL,
            AccessBefore: D3D12_BARRIER_ACCESS_COPY_DEST,
            AccessAfter: D3D12_BARRIER_ACCESS_COMMON,
            pResource: ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(buffer.as_raw()) })),
            Offset: 0,
            Size: u64::MAX,
        };
        change(&mut barrier);
        let group = D3D12_BARRIER_GROUP {
            Type: D3D12_BARRIER_TYPE_BUFFER,
            NumBarriers: 1,
            Anonymous: D3D12_BARRIER_GROUP_0 { pBufferBarriers: &raw const barrier },
        };
        direct.close_after(|list| unsafe { list.Barrier(&[group]) })
    };
    assert_eq!(of_buffer(&|_| ()), S_OK);
    assert_eq!(of_buffer(&|barrier| barrier.Size = 64), S_OK);
    assert_eq!(of_buffer(&|barrier| barrier.Size = 63), E_INVALIDARG, "not the whole buffer");
    assert_eq!(of_buffer(&|barrier| barrier.Offset = 4), E_INVALIDARG);
    assert_eq!(of_buffer(&|barrier| barrier.pResource = ManuallyDrop::new(None)), E_INVALIDARG);
    assert_eq!(of_buffer(&|barrier| barrier.SyncBefore = D3D12_BARRIER_SYNC_DRAW), E_INVALIDARG);
    assert_eq!(of_buffer(&|barrier| barrier.SyncBefore = D3D12_BARRIER_SYNC_NONE), E_INVALIDARG);
    let no_access = D3D12_BARRIER_ACCESS_NO_ACCESS;
    let unused = of_buffer(&|barrier| {
        barrier.SyncBefore = D3D12_BARRIER_SYNC_NONE;
        barrier.AccessBefore = no_access;
    });
    assert_eq!(unused, S_OK);
    let mixed = of_buffer(&|barrier| barrier.AccessBefore = no_access | D3D12_BARRIER_ACCESS_COPY_DEST);
    assert_eq!(mixed, E_INVALIDARG);
    let texture = D3D12_TEXTURE_BARRIER {
        AccessBefore: no_access,
        AccessAfter: no_access,
        pResource: ManuallyDrop::new(Some(unsafe { ID3D12Resource::from_raw(buffer.as_raw()) })),
        ..Default::default()
    };
    let group = |kind, count, texture: *const D3D12_TEXTURE_BARRIER| {
        let pointers = D3D12_BARRIER_GROUP_0 { pTextureBarriers: texture };
        let group = D3D12_BARRIER_GROUP { Type: kind, NumBarriers: count, Anonymous: pointers };
        direct.close_after(|list| unsafe { list.Barrier(&[group]) })
    };
    assert_eq!(group(D3D12_BARRIER_TYPE_TEXTURE, 1, &texture), E_INVALIDARG, "a buffer");
    assert_eq!(group(D3D12_BARRIER_TYPE_TEXTURE, 1, null()), E_INVALIDARG);
    assert_eq!(group(D3D12_BARRIER_TYPE_GLOBAL, 0, null()), S_OK);
    assert_eq!(group(3, 0, null()), E_INVALIDARG, "no type");
}

#[test]
fn aliasing_and_uav_barriers_and_discards_are_checked() {
    let device = open();
    let direct = Queue::direct(&device);
    let committed = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let writable =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let reserved = reserve(&device, TILE);
    let check = |barrier| direct.close_after(|list| unsafe { list.ResourceBarrier(&[barrier]) });
    assert_eq!(check(aliasing(None, None)), S_OK);
    assert_eq!(check(aliasing(None, Some(&reserved))), S_OK);
    assert_eq!(check(aliasing(Some(&committed), None)), E_INVALIDARG, "committed");
    assert_eq!(check(uav(None)), S_OK);
    assert_eq!(check(uav(Some(&writable))), S_OK);
    assert_eq!(check(uav(Some(&committed))), E_INVALIDARG, "no ALLOW_UNORDERED_ACCESS");
    let split = D3D12_RESOURCE_BARRIER { Flags: D3D12_RESOURCE_BARRIER_FLAGS::MAX, ..uav(None) };
    assert_eq!(check(split), E_INVALIDARG);

    let discard = |resource: &ID3D12Resource, region: Option<D3D12_DISCARD_REGION>| {
        let region = region.as_ref().map(std::ptr::from_ref);
        direct.close_after(|list| unsafe { list.DiscardResource(resource, region) })
    };
    assert_eq!(discard(&writable, None), S_OK);
    assert_eq!(discard(&committed, None), E_INVALIDARG);
    let region = D3D12_DISCARD_REGION { NumSubresources: 1, ..Default::default() };
    assert_eq!(discard(&writable, Some(region)), S_OK);
    assert_eq!(
        discard(&writable, Some(D3D12_DISCARD_REGION { FirstSubresource: u32::MAX, ..region })),
        E_INVALIDARG
    );
    assert_eq!(discard(&writable, Some(D3D12_DISCARD_REGION { NumRects: 1, ..region })), E_INVALIDARG);
}
