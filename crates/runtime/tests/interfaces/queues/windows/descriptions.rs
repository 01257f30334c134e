//! Descriptions of resources, their flags and their initial states.

use heapwright_d3d12::*;
use windows_core::HRESULT;

use crate::gpu::*;
use crate::queues::textures::{create, footprint, subresource};

fn created(
    device: &ID3D12Device,
    heap_type: D3D12_HEAP_TYPE,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
) -> [HRESULT; 2] {
    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let heap = D3D12_HEAP_DESC { Flags: flags, ..heap_desc(heap_type, 1 << 20) };
    let heap = create_heap(device, &heap).expect("a heap");
    [
        code(committed(device, of_type(heap_type), D3D12_HEAP_FLAG_NONE, desc, state)),
        code(placed(device, &heap, 0, desc, state)),
    ]
}

#[test]
fn a_render_target_buffer_begins_as_one_and_is_cleared_through_a_view() {
    let device = open();
    let flags = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
    let state = D3D12_RESOURCE_STATE_RENDER_TARGET;
    let of = |flags| created(&device, D3D12_HEAP_TYPE_DEFAULT, &buffer_desc(256, flags), state);
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
    let (newer, older) = (open(), instance("first-generation").device);
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
fn footprints_of_an_invalid_description_take_no_time_without_arrays() {
    let device = open();
    let desc = D3D12_RESOURCE_DESC { Format: -1, ..texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, [4, 4]) };
    for _ in 0..1000 {
        let mut total = 0;
        let out = Some(&raw mut total);
        unsafe { device.GetCopyableFootprints(&desc, 0, u32::MAX, 0, None, None, None, out) };
        assert_eq!(total, u64::MAX);
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
