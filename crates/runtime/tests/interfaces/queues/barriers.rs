//! Barriers and discards that are refused.

use std::mem::ManuallyDrop;
use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::Interface;

use super::textures::create;
use crate::gpu::*;

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
                pResource: borrow(resource),
                Subresource: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
                StateBefore: before,
                StateAfter: after,
            }),
        },
    }
}

/// Lends a resource to a barrier: this adds no reference, and nothing releases it.
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

pub(crate) fn global_group(barrier: &D3D12_GLOBAL_BARRIER) -> D3D12_BARRIER_GROUP {
    let pointers = D3D12_BARRIER_GROUP_0 { pGlobalBarriers: barrier };
    D3D12_BARRIER_GROUP { Type: D3D12_BARRIER_TYPE_GLOBAL, NumBarriers: 1, Anonymous: pointers }
}

pub(crate) fn texture_group(barrier: &D3D12_TEXTURE_BARRIER) -> D3D12_BARRIER_GROUP {
    let pointers = D3D12_BARRIER_GROUP_0 { pTextureBarriers: barrier };
    D3D12_BARRIER_GROUP { Type: D3D12_BARRIER_TYPE_TEXTURE, NumBarriers: 1, Anonymous: pointers }
}

/// Returns a barrier without effect on all of a buffer.
fn buffer_barrier(buffer: &ID3D12Resource) -> D3D12_BUFFER_BARRIER {
    D3D12_BUFFER_BARRIER {
        SyncBefore: D3D12_BARRIER_SYNC_ALL,
        SyncAfter: D3D12_BARRIER_SYNC_ALL,
        AccessBefore: D3D12_BARRIER_ACCESS_COMMON,
        AccessAfter: D3D12_BARRIER_ACCESS_COMMON,
        pResource: borrow(Some(buffer)),
        Offset: 0,
        Size: u64::MAX,
    }
}

/// Returns a barrier without effect on all of a texture.
pub(crate) fn texture_barrier(texture: &ID3D12Resource) -> D3D12_TEXTURE_BARRIER {
    D3D12_TEXTURE_BARRIER {
        SyncBefore: D3D12_BARRIER_SYNC_ALL,
        SyncAfter: D3D12_BARRIER_SYNC_ALL,
        AccessBefore: D3D12_BARRIER_ACCESS_COMMON,
        AccessAfter: D3D12_BARRIER_ACCESS_COMMON,
        LayoutBefore: D3D12_BARRIER_LAYOUT_COMMON,
        LayoutAfter: D3D12_BARRIER_LAYOUT_COMMON,
        pResource: borrow(Some(texture)),
        Subresources: D3D12_BARRIER_SUBRESOURCE_RANGE {
            IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
            ..Default::default()
        },
        Flags: D3D12_TEXTURE_BARRIER_FLAG_NONE,
    }
}

fn buffer_group(barrier: &D3D12_BUFFER_BARRIER) -> D3D12_BARRIER_GROUP {
    let pointers = D3D12_BARRIER_GROUP_0 { pBufferBarriers: barrier };
    D3D12_BARRIER_GROUP { Type: D3D12_BARRIER_TYPE_BUFFER, NumBarriers: 1, Anonymous: pointers }
}

/// Returns a direct queue, a compute queue and a copy queue.
fn all_queues(device: &ID3D12Device14) -> [Queue; 3] {
    [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY]
        .map(|list_type| Queue::new(device, list_type))
}

#[test]
fn transitions_are_checked() {
    let (device, direct) = open_direct();
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
    let rule =
        |queue, resource, before, after| broken_rule(&device, || check(queue, Some(resource), before, after));
    let wrong_list = D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE;
    let missing_flag = D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS;
    assert_eq!(rule(&direct, &plain, target, target), D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES);
    assert_eq!(check(&direct, None, common, target), E_INVALIDARG);
    messages(&device);
    assert_eq!(check(&direct, Some(&upload), D3D12_RESOURCE_STATE_GENERIC_READ, common), S_OK);
    assert_eq!(messages(&device)[0].0, D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_HEAP);
    let uav = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
    assert_eq!(rule(&direct, &plain, common, uav), missing_flag);
    assert_eq!(check(&direct, Some(&writable), common, uav), S_OK);
    assert_eq!(rule(&copy, &writable, common, uav), wrong_list);
    let compute = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    let drawn = texture(&device, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    assert_eq!(check(&direct, Some(&drawn), common, D3D12_RESOURCE_STATE_RENDER_TARGET), S_OK);
    assert_eq!(rule(&compute, &drawn, common, D3D12_RESOURCE_STATE_RENDER_TARGET), wrong_list);
    assert_eq!(rule(&copy, &drawn, common, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE), wrong_list);
    assert_eq!(check(&direct, Some(&writable), common, uav | target), E_INVALIDARG, "two write states");
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
    let (device, direct) = open_direct();
    let buffer = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let of_buffer = |change: &dyn Fn(&mut D3D12_BUFFER_BARRIER)| {
        let mut barrier = D3D12_BUFFER_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_COPY,
            AccessBefore: D3D12_BARRIER_ACCESS_COPY_DEST,
            ..buffer_barrier(&buffer)
        };
        change(&mut barrier);
        let group = buffer_group(&barrier);
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
        pResource: borrow(Some(&buffer)),
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
    let (device, direct) = open_direct();
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
    let beyond = D3D12_DISCARD_REGION { FirstSubresource: u32::MAX, ..region };
    assert_eq!(discard(&writable, Some(beyond)), E_INVALIDARG);
    assert_eq!(discard(&writable, Some(D3D12_DISCARD_REGION { NumRects: 1, ..region })), E_INVALIDARG);
}

/// Returns the result of `Close` for a texture barrier: a barrier without effect, modified by `change`.
fn with_texture_barrier(
    queue: &Queue,
    texture: &ID3D12Resource,
    change: &dyn Fn(&mut D3D12_TEXTURE_BARRIER),
) -> windows_core::HRESULT {
    let mut barrier = texture_barrier(texture);
    change(&mut barrier);
    let group = texture_group(&barrier);
    queue.close_after(|list| unsafe { list.Barrier(&[group]) })
}

fn texture(device: &ID3D12Device14, flags: D3D12_RESOURCE_FLAGS) -> ID3D12Resource {
    let desc = D3D12_RESOURCE_DESC { Flags: flags, ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 4]) };
    create(device, &desc)
}

#[test]
fn an_undefined_layout_requires_no_access() {
    let (device, queue) = open_direct();
    let target = texture(&device, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let undefined = D3D12_BARRIER_LAYOUT_UNDEFINED;
    let none = D3D12_BARRIER_ACCESS_NO_ACCESS;
    let activate = |sync, access, flags| {
        with_texture_barrier(&queue, &target, &|barrier| {
            (barrier.SyncBefore, barrier.AccessBefore) = (sync, access);
            (barrier.LayoutBefore, barrier.Flags) = (undefined, flags);
            barrier.AccessAfter = D3D12_BARRIER_ACCESS_RENDER_TARGET;
            barrier.LayoutAfter = D3D12_BARRIER_LAYOUT_RENDER_TARGET;
        })
    };
    let (discard, no_flags) = (D3D12_TEXTURE_BARRIER_FLAG_DISCARD, D3D12_TEXTURE_BARRIER_FLAG_NONE);
    assert_eq!(activate(D3D12_BARRIER_SYNC_NONE, none, discard), S_OK);
    assert_eq!(activate(D3D12_BARRIER_SYNC_DRAW, none, no_flags), S_OK, "synchronization without access");
    let target_access = D3D12_BARRIER_ACCESS_RENDER_TARGET;
    assert_eq!(activate(D3D12_BARRIER_SYNC_ALL, target_access, discard), E_INVALIDARG);
    assert_eq!(activate(D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_ACCESS_COMMON, discard), E_INVALIDARG);
    let deactivate = |sync, access| {
        with_texture_barrier(&queue, &target, &|barrier| {
            (barrier.SyncAfter, barrier.AccessAfter, barrier.LayoutAfter) = (sync, access, undefined);
        })
    };
    assert_eq!(deactivate(D3D12_BARRIER_SYNC_NONE, none), S_OK);
    assert_eq!(deactivate(D3D12_BARRIER_SYNC_ALL, none), S_OK);
    assert_eq!(deactivate(D3D12_BARRIER_SYNC_ALL, target_access), E_INVALIDARG);
    let discarded = with_texture_barrier(&queue, &target, &|barrier| barrier.Flags = discard);
    assert_eq!(discarded, E_INVALIDARG, "DISCARD of a defined layout");
    let both = with_texture_barrier(&queue, &target, &|barrier| {
        (barrier.LayoutBefore, barrier.LayoutAfter) = (undefined, undefined);
        barrier.AccessBefore = target_access;
    });
    assert_eq!(both, S_OK, "the layout is unchanged");
}

/// Accesses, with a synchronization scope that allows them and one that does not.
const SYNCHRONIZATION: [(D3D12_BARRIER_ACCESS, D3D12_BARRIER_SYNC, D3D12_BARRIER_SYNC); 13] = [
    (D3D12_BARRIER_ACCESS_VERTEX_BUFFER, D3D12_BARRIER_SYNC_VERTEX_SHADING, D3D12_BARRIER_SYNC_PIXEL_SHADING),
    (D3D12_BARRIER_ACCESS_CONSTANT_BUFFER, D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_SYNC_COPY),
    (D3D12_BARRIER_ACCESS_INDEX_BUFFER, D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_SYNC_VERTEX_SHADING),
    (D3D12_BARRIER_ACCESS_RENDER_TARGET, D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_SYNC_DEPTH_STENCIL),
    (
        D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
        D3D12_BARRIER_SYNC_CLEAR_UNORDERED_ACCESS_VIEW,
        D3D12_BARRIER_SYNC_RENDER_TARGET,
    ),
    (D3D12_BARRIER_ACCESS_DEPTH_STENCIL_WRITE, D3D12_BARRIER_SYNC_DEPTH_STENCIL, D3D12_BARRIER_SYNC_COPY),
    (D3D12_BARRIER_ACCESS_SHADER_RESOURCE, D3D12_BARRIER_SYNC_NON_PIXEL_SHADING, D3D12_BARRIER_SYNC_RESOLVE),
    (D3D12_BARRIER_ACCESS_STREAM_OUTPUT, D3D12_BARRIER_SYNC_DRAW, D3D12_BARRIER_SYNC_COMPUTE_SHADING),
    (D3D12_BARRIER_ACCESS_INDIRECT_ARGUMENT, D3D12_BARRIER_SYNC_EXECUTE_INDIRECT, D3D12_BARRIER_SYNC_DRAW),
    (D3D12_BARRIER_ACCESS_COPY_DEST, D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_SYNC_RESOLVE),
    (D3D12_BARRIER_ACCESS_RESOLVE_SOURCE, D3D12_BARRIER_SYNC_RESOLVE, D3D12_BARRIER_SYNC_COPY),
    (
        D3D12_BARRIER_ACCESS_RAYTRACING_ACCELERATION_STRUCTURE_WRITE,
        D3D12_BARRIER_SYNC_BUILD_RAYTRACING_ACCELERATION_STRUCTURE,
        D3D12_BARRIER_SYNC_EMIT_RAYTRACING_ACCELERATION_STRUCTURE_POSTBUILD_INFO,
    ),
    (D3D12_BARRIER_ACCESS_SHADING_RATE_SOURCE, D3D12_BARRIER_SYNC_PIXEL_SHADING, D3D12_BARRIER_SYNC_DRAW),
];

#[test]
fn synchronization_and_accesses_must_be_compatible() {
    let device = open();
    let [direct, compute, copy] = all_queues(&device);
    let global = |queue: &Queue, sync, access| {
        let barrier = D3D12_GLOBAL_BARRIER {
            SyncBefore: D3D12_BARRIER_SYNC_ALL,
            SyncAfter: sync,
            AccessBefore: D3D12_BARRIER_ACCESS_COMMON,
            AccessAfter: access,
        };
        let group = global_group(&barrier);
        queue.close_after(|list| unsafe { list.Barrier(&[group]) })
    };
    let (all, none) = (D3D12_BARRIER_SYNC_ALL, D3D12_BARRIER_ACCESS_NO_ACCESS);
    for (access, enough, other) in SYNCHRONIZATION {
        assert_eq!(global(&direct, all, access), S_OK, "{access:#x}");
        assert_eq!(global(&direct, enough | other, access), S_OK, "{access:#x}");
        assert_eq!(global(&direct, enough, access), S_OK, "{access:#x}");
        let broken = broken_rule(&device, || global(&direct, other, access));
        assert_eq!(broken, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS, "{access:#x}");
        assert_eq!(global(&direct, D3D12_BARRIER_SYNC_NONE, access), E_INVALIDARG, "{access:#x}");
    }
    assert_eq!(global(&direct, D3D12_BARRIER_SYNC_NONE, none), S_OK);
    assert_eq!(global(&direct, D3D12_BARRIER_SYNC_NONE, D3D12_BARRIER_ACCESS_COMMON), E_INVALIDARG);
    assert_eq!(global(&direct, all, none | D3D12_BARRIER_ACCESS_COPY_DEST), E_INVALIDARG);
    assert_eq!(global(&direct, all, 1 << 30), E_INVALIDARG, "no access");
    assert_eq!(global(&direct, 1 << 30, none), E_INVALIDARG, "no synchronization");
    assert_eq!(global(&direct, D3D12_BARRIER_SYNC_VIDEO_DECODE, none), E_INVALIDARG);
    assert_eq!(global(&direct, D3D12_BARRIER_SYNC_SPLIT, none), E_INVALIDARG, "global");
    let drawn = (D3D12_BARRIER_SYNC_DRAW, D3D12_BARRIER_ACCESS_SHADER_RESOURCE);
    let shaded = (D3D12_BARRIER_SYNC_COMPUTE_SHADING, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS);
    let copied = (D3D12_BARRIER_SYNC_COPY, D3D12_BARRIER_ACCESS_COPY_SOURCE);
    let of = |queue, (sync, access)| global(queue, sync, access);
    assert_eq!([drawn, shaded, copied].map(|pair| of(&compute, pair)), [E_INVALIDARG, S_OK, S_OK]);
    assert_eq!([drawn, shaded, copied].map(|pair| of(&copy, pair)), [E_INVALIDARG, E_INVALIDARG, S_OK]);
    let broken = broken_rule(&device, || of(&copy, drawn));
    assert_eq!(broken, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC);
    assert_eq!(global(&compute, all, D3D12_BARRIER_ACCESS_RENDER_TARGET), E_INVALIDARG);
    assert_eq!(global(&copy, all, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS), E_INVALIDARG);

    let plain = texture(&device, D3D12_RESOURCE_FLAG_NONE);
    let split = D3D12_BARRIER_SYNC_SPLIT;
    let halves = |before, after| {
        with_texture_barrier(&direct, &plain, &|barrier| {
            (barrier.SyncBefore, barrier.SyncAfter) = (before, after);
            barrier.AccessAfter = D3D12_BARRIER_ACCESS_SHADER_RESOURCE;
        })
    };
    assert_eq!((halves(all, split), halves(split, D3D12_BARRIER_SYNC_DRAW)), (S_OK, S_OK));
    assert_eq!(halves(split, split), E_INVALIDARG, "no end");
    assert_eq!(halves(all, split | D3D12_BARRIER_SYNC_DRAW), E_INVALIDARG, "not alone");
}

/// Layouts, with an access that they allow and one that they do not.
const LAYOUTS: [(D3D12_BARRIER_LAYOUT, D3D12_BARRIER_ACCESS, D3D12_BARRIER_ACCESS); 8] = [
    (D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_ACCESS_COPY_DEST, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS),
    (
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON,
        D3D12_BARRIER_ACCESS_UNORDERED_ACCESS,
        D3D12_BARRIER_ACCESS_RENDER_TARGET,
    ),
    (
        D3D12_BARRIER_LAYOUT_GENERIC_READ,
        D3D12_BARRIER_ACCESS_COPY_SOURCE,
        D3D12_BARRIER_ACCESS_RESOLVE_SOURCE,
    ),
    (
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ,
        D3D12_BARRIER_ACCESS_RESOLVE_SOURCE,
        D3D12_BARRIER_ACCESS_COPY_DEST,
    ),
    (
        D3D12_BARRIER_LAYOUT_RENDER_TARGET,
        D3D12_BARRIER_ACCESS_RENDER_TARGET,
        D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
    ),
    (D3D12_BARRIER_LAYOUT_RESOLVE_DEST, D3D12_BARRIER_ACCESS_RESOLVE_DEST, D3D12_BARRIER_ACCESS_COPY_DEST),
    (
        D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COPY_SOURCE,
        D3D12_BARRIER_ACCESS_COPY_SOURCE,
        D3D12_BARRIER_ACCESS_COPY_DEST,
    ),
    (
        D3D12_BARRIER_LAYOUT_SHADING_RATE_SOURCE,
        D3D12_BARRIER_ACCESS_SHADING_RATE_SOURCE,
        D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
    ),
];

#[test]
fn layouts_and_accesses_must_be_compatible() {
    let device = open();
    let [direct, compute, copy] = all_queues(&device);
    let every = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let (plain, target) = (texture(&device, D3D12_RESOURCE_FLAG_NONE), texture(&device, every));
    let after = |queue: &Queue, texture: &ID3D12Resource, layout, access| {
        with_texture_barrier(queue, texture, &|barrier| {
            (barrier.LayoutAfter, barrier.AccessAfter) = (layout, access);
        })
    };
    let on_direct = |layout, access| after(&direct, &target, layout, access);
    for (layout, allowed, other) in LAYOUTS {
        assert_eq!(on_direct(layout, allowed), S_OK, "{layout}: {allowed:#x}");
        assert_eq!(on_direct(layout, D3D12_BARRIER_ACCESS_COMMON), S_OK, "{layout}");
        assert_eq!(on_direct(layout, D3D12_BARRIER_ACCESS_NO_ACCESS), S_OK, "{layout}");
        let broken = broken_rule(&device, || on_direct(layout, other));
        assert_eq!(broken, D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT, "{layout}: {other:#x}");
        assert_eq!(on_direct(layout, allowed | other), E_INVALIDARG, "{layout}: {other:#x}");
    }
    let common = D3D12_BARRIER_ACCESS_COMMON;
    for layout in [-2, 32, D3D12_BARRIER_LAYOUT_VIDEO_DECODE_READ, D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON]
    {
        assert_eq!(on_direct(layout, common), E_INVALIDARG, "{layout}");
    }
    let of_plain = after(&direct, &plain, D3D12_BARRIER_LAYOUT_RENDER_TARGET, common);
    assert_eq!(of_plain, E_INVALIDARG, "missing resource flag");
    assert_eq!(on_direct(D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_READ, common), E_INVALIDARG, "the same");
    assert_eq!(on_direct(D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_ACCESS_INDEX_BUFFER), E_INVALIDARG);
    let on_compute = |layout| after(&compute, &target, layout, common);
    assert_eq!(on_compute(D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON), S_OK);
    assert_eq!(on_compute(D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS), S_OK);
    assert_eq!(on_compute(D3D12_BARRIER_LAYOUT_RENDER_TARGET), E_INVALIDARG);
    assert_eq!(on_compute(D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON), E_INVALIDARG);
    let on_copy = |layout, access| after(&copy, &target, layout, access);
    assert_eq!(on_copy(D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_ACCESS_COPY_SOURCE), S_OK);
    assert_eq!(on_copy(D3D12_BARRIER_LAYOUT_COPY_DEST, common), E_INVALIDARG);
    let none = D3D12_BARRIER_ACCESS_NO_ACCESS;
    assert_eq!(on_copy(D3D12_BARRIER_LAYOUT_UNDEFINED, none), E_INVALIDARG, "a change of layout");
    let shared = texture(&device, every | D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS);
    let of_shared = |layout, access| after(&direct, &shared, layout, access);
    assert_eq!(of_shared(D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_ACCESS_RENDER_TARGET), S_OK);
    assert_eq!(of_shared(D3D12_BARRIER_LAYOUT_RENDER_TARGET, common), E_INVALIDARG, "must stay in COMMON");

    // Buffers have no layout; their valid accesses depend on their flags and heap.
    let of_buffer = |buffer: &ID3D12Resource, access| {
        let barrier = D3D12_BUFFER_BARRIER { AccessAfter: access, ..buffer_barrier(buffer) };
        let group = buffer_group(&barrier);
        direct.close_after(|list| unsafe { list.Barrier(&[group]) })
    };
    let [default, upload, readback] =
        [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK]
            .map(|heap_type| commit(&device, heap_type, 64));
    let (source, dest) = (D3D12_BARRIER_ACCESS_COPY_SOURCE, D3D12_BARRIER_ACCESS_COPY_DEST);
    assert_eq!((of_buffer(&default, source), of_buffer(&default, dest)), (S_OK, S_OK));
    messages(&device);
    let told = |answer| (answer, messages(&device).len());
    assert_eq!(told(of_buffer(&upload, source)), (S_OK, 0));
    assert_eq!(told(of_buffer(&upload, dest)), (S_OK, 1), "reported by the debug layer only");
    assert_eq!(told(of_buffer(&readback, source)), (S_OK, 1));
    assert_eq!(told(of_buffer(&readback, dest)), (S_OK, 0));
    assert_eq!(of_buffer(&default, D3D12_BARRIER_ACCESS_UNORDERED_ACCESS), E_INVALIDARG, "no flag");
    assert_eq!(of_buffer(&default, D3D12_BARRIER_ACCESS_DEPTH_STENCIL_READ), E_INVALIDARG);
}

#[test]
fn an_index_buffer_and_a_texture_may_share_memory() {
    // The example of DirectX-Specs' *Enhanced Barriers*.
    let (device, queue) = open_direct();
    let (buffer, plain) =
        (commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64), texture(&device, D3D12_RESOURCE_FLAG_NONE));
    let (before, after) = (D3D12_BARRIER_SYNC_INDEX_INPUT, D3D12_BARRIER_SYNC_PIXEL_SHADING);
    let buffer = D3D12_BUFFER_BARRIER {
        SyncBefore: before,
        SyncAfter: after,
        AccessBefore: D3D12_BARRIER_ACCESS_INDEX_BUFFER,
        AccessAfter: D3D12_BARRIER_ACCESS_NO_ACCESS,
        ..buffer_barrier(&buffer)
    };
    let texture = D3D12_TEXTURE_BARRIER {
        SyncBefore: before,
        SyncAfter: after,
        AccessBefore: D3D12_BARRIER_ACCESS_NO_ACCESS,
        AccessAfter: D3D12_BARRIER_ACCESS_SHADER_RESOURCE,
        LayoutBefore: D3D12_BARRIER_LAYOUT_UNDEFINED,
        LayoutAfter: D3D12_BARRIER_LAYOUT_SHADER_RESOURCE,
        Flags: D3D12_TEXTURE_BARRIER_FLAG_DISCARD,
        ..texture_barrier(&plain)
    };
    let groups = [buffer_group(&buffer), texture_group(&texture)];
    assert_eq!(queue.close_after(|list| unsafe { list.Barrier(&groups) }), S_OK);
}

#[test]
fn discards_are_checked_by_list_type_and_resource() {
    let device = open();
    let [direct, compute, copy] = all_queues(&device);
    let discard = |queue: &Queue, resource: &ID3D12Resource, region: Option<D3D12_DISCARD_REGION>| {
        let region = region.as_ref().map(std::ptr::from_ref);
        queue.close_after(|list| unsafe { list.DiscardResource(resource, region) })
    };
    let of = |resource: &ID3D12Resource| {
        [&direct, &compute, &copy].map(|queue| discard(queue, resource, None) == S_OK)
    };
    let (target_flag, unordered) =
        (D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    assert_eq!(of(&texture(&device, target_flag)), [true, false, false]);
    assert_eq!(of(&texture(&device, target_flag | unordered)), [true, true, false]);
    assert_eq!(of(&texture(&device, D3D12_RESOURCE_FLAG_NONE)), [false, false, false]);
    let slices = |mips| {
        let desc = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 4]);
        let flags = target_flag;
        create(&device, &D3D12_RESOURCE_DESC { DepthOrArraySize: 2, MipLevels: mips, Flags: flags, ..desc })
    };
    let rects = [super::clears::rect(0, 0, 2, 2), super::clears::rect(-1, -1, 99, 99)];
    let region = |count, rect_count| D3D12_DISCARD_REGION {
        NumRects: rect_count,
        pRects: rects.as_ptr(),
        FirstSubresource: 0,
        NumSubresources: count,
    };
    let (one_mip, two_mips) = (slices(1), slices(2));
    assert_eq!(discard(&direct, &one_mip, Some(region(2, 2))), S_OK, "all slices have the same size");
    assert_eq!(discard(&direct, &two_mips, Some(region(1, 2))), S_OK);
    assert_eq!(discard(&direct, &two_mips, Some(region(2, 2))), E_INVALIDARG, "mips have different sizes");
    assert_eq!(discard(&direct, &two_mips, Some(region(4, 0))), S_OK);
    let outside = broken_rule(&device, || discard(&direct, &two_mips, Some(region(5, 0))));
    assert_eq!(outside, D3D12_MESSAGE_ID_DISCARD_INVALID_SUBRESOURCE_RANGE);
    let null = D3D12_DISCARD_REGION { pRects: null(), ..region(1, 1) };
    assert_eq!(discard(&direct, &one_mip, Some(null)), E_INVALIDARG);
    let buffer = commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, unordered);
    assert_eq!(discard(&direct, &buffer, Some(region(1, 1))), E_INVALIDARG, "rectangles of a buffer");
}
