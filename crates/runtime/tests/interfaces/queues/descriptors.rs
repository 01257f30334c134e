//! Descriptor heaps, views, and clears through them.

use std::ptr::null;

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::gpu::*;

#[test]
fn unordered_access_views_of_buffers_are_cleared() {
    let device = open();
    let queue = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COMPUTE);
    let (views, visible) =
        (D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
    let cpu_heap = descriptor_heap(&device, views, 4, D3D12_DESCRIPTOR_HEAP_FLAG_NONE).expect("a heap");
    let gpu_heap = descriptor_heap(&device, views, 4, visible).expect("a heap");
    let buffer =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 64);
    unsafe {
        let step = usize::try_from(device.GetDescriptorHandleIncrementSize(views)).expect("small");
        assert_ne!(step, 0);
        let (cpu, gpu) =
            (cpu_heap.GetCPUDescriptorHandleForHeapStart(), gpu_heap.GetGPUDescriptorHandleForHeapStart());
        let second = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: cpu.ptr + step };
        let mut whole = elements_view(DXGI_FORMAT_R32_TYPELESS, 0, 16);
        whole.Anonymous.Buffer.Flags = D3D12_BUFFER_UAV_FLAG_RAW;
        device.CreateUnorderedAccessView(&buffer, None, Some(&whole), cpu);
        let part = elements_view(DXGI_FORMAT_R8G8B8A8_UNORM, 2, 3);
        device.CreateUnorderedAccessView(&buffer, None, Some(&part), second);
        let visible_start = gpu_heap.GetCPUDescriptorHandleForHeapStart();
        device.CopyDescriptorsSimple(2, visible_start, cpu, views);
        queue.list.SetDescriptorHeaps(&[Some(gpu_heap.clone())]);
        let list = &queue.list;
        list.ClearUnorderedAccessViewUint(gpu, cpu, &buffer, &[0x1111_1111, 0, 0, 0], &[]);
        list.ClearUnorderedAccessViewFloat(gpu, second, &buffer, &[1.0, 0.0, 0.0, 1.0], &[]);
        list.CopyResource(&readback, &buffer);
        queue.run();
        let mut expected = [0x11; 64];
        expected[8..20].copy_from_slice(&[255, 0, 0, 255].repeat(3));
        assert_eq!(bytes(&readback), expected);

        let clear = |gpu, cpu, resource: &ID3D12Resource| {
            queue.close_after(|list| {
                list.SetDescriptorHeaps(&[Some(gpu_heap.clone())]);
                list.ClearUnorderedAccessViewUint(gpu, cpu, resource, &[0; 4], &[]);
            })
        };
        assert_eq!(clear(gpu, cpu, &buffer), S_OK);
        assert_eq!(clear(gpu, cpu, &readback), E_INVALIDARG, "another resource");
        for ptr in [8, usize::MAX, cpu.ptr + 1, cpu.ptr + 2 * step] {
            assert_eq!(clear(gpu, D3D12_CPU_DESCRIPTOR_HANDLE { ptr }, &buffer), E_INVALIDARG, "{ptr:#x}");
        }
        messages(&device);
        let told = |answer| (answer, messages(&device).len());
        assert_eq!(told(clear(gpu, visible_start, &buffer)), (S_OK, 1), "shader-visible");
        assert_eq!(told(clear(D3D12_GPU_DESCRIPTOR_HANDLE { ptr: 1 }, cpu, &buffer)), (S_OK, 1));
        queue.list.ClearUnorderedAccessViewUint(gpu, cpu, &buffer, &[0x2222_2222, 0, 0, 0], &[]);
        queue.list.CopyResource(&readback, &buffer);
        queue.run();
        assert_eq!(messages(&device).len(), 1, "no descriptor heap is set");
        assert_eq!(bytes(&readback)[0], 0x22, "and the view is cleared");
        let copy = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COPY);
        let on_copy =
            copy.close_after(|list| list.ClearUnorderedAccessViewUint(gpu, cpu, &buffer, &[0; 4], &[]));
        assert_eq!(on_copy, E_INVALIDARG, "a copy list");
    }
}

#[test]
fn descriptor_and_query_heaps_are_checked_and_pageable() {
    let device = open();
    let (none, visible) = (D3D12_DESCRIPTOR_HEAP_FLAG_NONE, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE);
    let refused = |heap_type, count, flags| code(descriptor_heap(&device, heap_type, count, flags));
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, visible), E_INVALIDARG);
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, 2049, visible), E_INVALIDARG);
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER, 2048, visible), S_OK);
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 0, none), E_INVALIDARG);
    // Descriptors that are not written take no memory.
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, u32::MAX, none), S_OK);
    assert_eq!(refused(4, 1, none), E_INVALIDARG);
    assert_eq!(refused(-1, 1, none), E_INVALIDARG);
    assert_eq!(refused(D3D12_DESCRIPTOR_HEAP_TYPE_DSV, 1, 2), E_INVALIDARG);
    let heap = descriptor_heap(&device, D3D12_DESCRIPTOR_HEAP_TYPE_DSV, 3, none).expect("a heap");
    let desc = unsafe { heap.GetDesc() };
    assert_eq!((desc.Type, desc.NumDescriptors), (D3D12_DESCRIPTOR_HEAP_TYPE_DSV, 3));
    assert_eq!(unsafe { heap.GetGPUDescriptorHandleForHeapStart() }.ptr, 0);
    let query = |heap_type, count| {
        let desc = D3D12_QUERY_HEAP_DESC { Type: heap_type, Count: count, NodeMask: 0 };
        let mut heap: Option<ID3D12QueryHeap> = None;
        unsafe { device.CreateQueryHeap(&desc, &mut heap) }.map(|()| heap.expect("S_OK comes with a heap"))
    };
    assert_eq!(code(query(D3D12_QUERY_HEAP_TYPE_OCCLUSION, 0)), E_INVALIDARG);
    assert_eq!(code(query(99, 1)), E_INVALIDARG);
    let queries = query(D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 8).expect("a heap");
    let objects = [Some(heap.cast().expect("pageable")), Some(queries.cast().expect("pageable"))];
    unsafe {
        device.MakeResident(&objects).succeeds();
        device.Evict(&objects).succeeds();
        device.Evict(&objects).succeeds();
        assert_eq!(device.Evict(&objects), E_INVALIDARG, "more often than they were made resident");
    }
}

#[test]
fn descriptors_are_copied_range_by_range() {
    let (device, queue) = open_direct();
    let (views, none) = (D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
    let (from, to) = (
        descriptor_heap(&device, views, 4, none).expect("a heap"),
        descriptor_heap(&device, views, 4, none).expect("a heap"),
    );
    let visible =
        descriptor_heap(&device, views, 1, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE).expect("a heap");
    let buffer =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let desc = elements_view(DXGI_FORMAT_R32_UINT, 0, 16);
    unsafe {
        let step = usize::try_from(device.GetDescriptorHandleIncrementSize(views)).expect("small");
        let at = |heap: &ID3D12DescriptorHeap, index: usize| D3D12_CPU_DESCRIPTOR_HANDLE {
            ptr: heap.GetCPUDescriptorHandleForHeapStart().ptr + index * step,
        };
        let clear = |index| {
            let gpu = visible.GetGPUDescriptorHandleForHeapStart();
            queue.close_after(|list| {
                list.SetDescriptorHeaps(&[Some(visible.clone())]);
                list.ClearUnorderedAccessViewUint(gpu, at(&to, index), &buffer, &[0; 4], &[]);
            })
        };
        for index in [0, 2] {
            device.CreateUnorderedAccessView(&buffer, None, Some(&desc), at(&from, index));
        }
        // One target range of two descriptors, two source ranges of one: the sizes differ, but their sums agree.
        let (targets, sources) = ([at(&to, 2)], [at(&from, 2), at(&from, 0)]);
        device.CopyDescriptors(1, targets.as_ptr(), Some(&2), 2, sources.as_ptr(), None, views);
        assert_eq!([0, 1, 2, 3].map(clear), [E_INVALIDARG, E_INVALIDARG, S_OK, S_OK]);
        // An empty descriptor overwrites a valid one.
        device.CopyDescriptorsSimple(1, at(&to, 3), at(&from, 1), views);
        assert_eq!(clear(3), E_INVALIDARG);
        // Refused as a whole: beyond a heap, of another type, from a shader-visible heap, of different
        // sums.
        device.CopyDescriptorsSimple(3, at(&to, 0), at(&from, 2), views);
        device.CopyDescriptorsSimple(1, at(&to, 0), at(&from, 0), D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        device.CreateUnorderedAccessView(&buffer, None, Some(&desc), at(&visible, 0));
        device.CopyDescriptorsSimple(1, at(&to, 0), at(&visible, 0), views);
        device.CopyDescriptors(1, [at(&to, 0)].as_ptr(), Some(&1), 1, sources.as_ptr(), Some(&2), views);
        device.CopyDescriptors(1, null(), None, 1, null(), None, views);
        assert_eq!(clear(0), E_INVALIDARG);
        // Views outlive their released resource.
        let gone = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: at(&to, 2).ptr };
        drop(buffer);
        let other =
            commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
        let gpu = visible.GetGPUDescriptorHandleForHeapStart();
        let cleared = queue.close_after(|list| {
            list.SetDescriptorHeaps(&[Some(visible.clone())]);
            list.ClearUnorderedAccessViewUint(gpu, gone, &other, &[0; 4], &[]);
        });
        assert_eq!(cleared, E_INVALIDARG);
    }
}
