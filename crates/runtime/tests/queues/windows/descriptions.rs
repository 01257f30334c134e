//! Descriptions of resources, their flags and their initial states.

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

use crate::gpu::*;
use crate::textures::{create, footprint, subresource, texture_desc};

const HEAP_TYPES: [D3D12_HEAP_TYPE; 4] =
    [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_GPU_UPLOAD];

fn state_of(heap_type: D3D12_HEAP_TYPE) -> D3D12_RESOURCE_STATES {
    match heap_type {
        D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

fn created(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
) -> [HRESULT; 2] {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    let heap_desc = D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: properties,
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let (mut heap, mut placed, mut committed) = (None::<ID3D12Heap>, None, None);
    unsafe {
        device.CreateHeap(&heap_desc, &mut heap).expect("a heap");
        [
            code(device.CreateCommittedResource(
                &properties,
                D3D12_HEAP_FLAG_NONE,
                desc,
                state,
                None,
                &mut committed as *mut Option<ID3D12Resource>,
            )),
            code(device.CreatePlacedResource(
                &heap.expect("S_OK comes with a heap"),
                0,
                desc,
                state,
                None,
                &mut placed as *mut Option<ID3D12Resource>,
            )),
        ]
    }
}

#[test]
fn resources_that_the_gpu_writes_cannot_be_in_upload_or_readback_heaps() {
    let device: ID3D12Device = open().cast().expect("a device");
    let written = [
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE,
    ];
    for heap_type in HEAP_TYPES {
        let takes = [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_GPU_UPLOAD].contains(&heap_type);
        for flags in written {
            let expected = if takes { S_OK } else { E_INVALIDARG };
            let found = created(&device, heap_type, &buffer_desc(256, flags), state_of(heap_type));
            assert_eq!(found, [expected; 2], "flags {flags:#x} in heap type {heap_type}");
        }
        let denied = buffer_desc(256, D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE);
        let found = created(&device, heap_type, &denied, state_of(heap_type));
        assert_eq!(found, [S_OK; 2], "DENY_SHADER_RESOURCE in heap type {heap_type}");
    }
    for flags in [D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL, D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS] {
        for heap_type in HEAP_TYPES {
            let found = created(&device, heap_type, &buffer_desc(256, flags), state_of(heap_type));
            assert_eq!(found, [E_INVALIDARG; 2], "flags {flags:#x} in heap type {heap_type}");
        }
    }
}

#[test]
fn a_render_target_buffer_can_be_cleared_through_a_view() {
    let device = open();
    let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let state = D3D12_RESOURCE_STATE_RENDER_TARGET;
    let of = |flags| {
        created(&device.cast().expect("a device"), D3D12_HEAP_TYPE_DEFAULT, &buffer_desc(256, flags), state)
    };
    assert_eq!(of(flags), [S_OK; 2]);
    assert_eq!(of(D3D12_RESOURCE_FLAG_NONE), [E_INVALIDARG; 2]);

    let queue = Queue::direct(&device);
    let target = commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, flags);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 64);
    let heap = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)
        .expect("a heap");
    let desc = D3D12_RENDER_TARGET_VIEW_DESC {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        ViewDimension: D3D12_RTV_DIMENSION_BUFFER,
        Anonymous: D3D12_RENDER_TARGET_VIEW_DESC_0 {
            Buffer: D3D12_BUFFER_RTV { FirstElement: 4, NumElements: 8 },
        },
    };
    messages(&device);
    unsafe {
        let view = heap.GetCPUDescriptorHandleForHeapStart();
        device.CreateRenderTargetView(&target, Some(&desc), view);
        queue.list.ClearRenderTargetView(view, &[1.0; 4], &[]);
        queue.list.CopyResource(&readback, &target);
    }
    queue.run();
    let found = bytes(&readback);
    assert!(found[..16].iter().chain(&found[48..]).all(|&byte| byte == 0), "{found:?}");
    assert!(found[16..48].iter().all(|&byte| byte == 255), "{found:?}");
    assert_eq!(messages(&device), []);
}

/// Since Agility SDK 606, an UPLOAD buffer may be created in COMMON or in any subset of GENERIC_READ.
#[test]
fn upload_buffers_may_start_in_any_state_of_generic_read() {
    let newer: ID3D12Device = open().cast().expect("a device");
    let older =
        Instance::open(HostProfile::find("first-generation").expect("a profile")).expect("a GPU").device;
    let parts = [
        D3D12_RESOURCE_STATE_COMMON,
        D3D12_RESOURCE_STATE_COPY_SOURCE,
        D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER,
        D3D12_RESOURCE_STATE_INDEX_BUFFER | D3D12_RESOURCE_STATE_INDIRECT_ARGUMENT,
        D3D12_RESOURCE_STATE_ALL_SHADER_RESOURCE,
    ];
    let desc = buffer_desc(256, D3D12_RESOURCE_FLAG_NONE);
    for state in parts {
        assert_eq!(created(&newer, D3D12_HEAP_TYPE_UPLOAD, &desc, state), [S_OK; 2], "{state:#x}");
        assert_eq!(created(&older, D3D12_HEAP_TYPE_UPLOAD, &desc, state), [E_INVALIDARG; 2], "{state:#x}");
    }
    for state in [D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_STREAM_OUT] {
        assert_eq!(created(&newer, D3D12_HEAP_TYPE_UPLOAD, &desc, state), [E_INVALIDARG; 2], "{state:#x}");
    }
    for state in [D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_COPY_SOURCE] {
        assert_eq!(created(&newer, D3D12_HEAP_TYPE_READBACK, &desc, state), [E_INVALIDARG; 2], "{state:#x}");
    }
}

#[test]
fn mip_levels_beyond_the_full_chain_have_one_texel() {
    let device = open();
    let desc = |side, levels| D3D12_RESOURCE_DESC {
        DepthOrArraySize: 2,
        MipLevels: levels,
        ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [side; 2])
    };
    for side in [1, 32] {
        let desc = desc(side, 10);
        assert_eq!(unsafe { create(&device, &desc).GetDesc() }.MipLevels, 10);
        let info = unsafe { device.GetResourceAllocationInfo(0, &[desc]) };
        assert_ne!(info.SizeInBytes, u64::MAX);
        let mut layouts = [D3D12_PLACED_SUBRESOURCE_FOOTPRINT::default(); 20];
        let start = Some(layouts.as_mut_ptr());
        unsafe { device.GetCopyableFootprints(&desc, 0, 20, 0, start, None, None, None) };
        for last in [9, 19] {
            let footprint = layouts[last].Footprint;
            assert_eq!((footprint.Width, footprint.Height, footprint.Depth), (1, 1, 1));
        }
    }
    let most = unsafe { device.GetResourceAllocationInfo(0, &[desc(32, 15)]) };
    assert_ne!(most.SizeInBytes, u64::MAX);
    let more = unsafe { device.GetResourceAllocationInfo(0, &[desc(32, 16)]) };
    assert_eq!(more.SizeInBytes, u64::MAX, "D3D12_REQ_MIP_LEVELS is 15");

    // The last mip level can be copied like any other.
    let (queue, texture) = (Queue::direct(&device), create(&device, &desc(4, 10)));
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 256);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 256);
    bytes(&upload)[..4].copy_from_slice(&[1, 2, 3, 4]);
    let placed = |buffer| footprint(buffer, 0, DXGI_FORMAT_R8G8B8A8_UNORM, [1; 3], 256);
    unsafe {
        queue.list.CopyTextureRegion(&subresource(&texture, 9), 0, 0, 0, &placed(&upload), None);
        queue.list.CopyTextureRegion(&placed(&readback), 0, 0, 0, &subresource(&texture, 9), None);
    }
    queue.run();
    assert_eq!(bytes(&readback)[..4], [1, 2, 3, 4]);
}

/// vkd3d-proton's tests place 1,024 bytes in a READBACK heap of 1,024 bytes.
#[test]
fn a_small_heap_holds_a_buffer_that_fits_it() {
    let device: ID3D12Device = open().cast().expect("a device");
    let place = |heap_size, offset, width| {
        let desc = D3D12_HEAP_DESC {
            SizeInBytes: heap_size,
            Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_READBACK, ..Default::default() },
            Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
            ..Default::default()
        };
        let (mut heap, mut buffer) = (None::<ID3D12Heap>, None::<ID3D12Resource>);
        unsafe {
            device.CreateHeap(&desc, &mut heap).expect("a heap of any size");
            let heap = heap.expect("S_OK comes with a heap");
            assert_eq!(heap.GetDesc().SizeInBytes, heap_size);
            let (desc, state) =
                (buffer_desc(width, D3D12_RESOURCE_FLAG_NONE), D3D12_RESOURCE_STATE_COPY_DEST);
            let made = device.CreatePlacedResource(&heap, offset, &desc, state, None, &mut buffer);
            if let Some(buffer) = &buffer {
                bytes(buffer).fill(7);
            }
            code(made)
        }
    };
    assert_eq!(place(1024, 0, 1024), S_OK);
    assert_eq!(place(1024, 0, 1), S_OK);
    assert_eq!(place(1024, 0, 1025), E_INVALIDARG);
    assert_eq!(place(TILE + 100, TILE, 100), S_OK);
    assert_eq!(place(TILE + 100, TILE, 101), E_INVALIDARG);
    assert_eq!(place(1024, TILE, 1), E_INVALIDARG);
}
