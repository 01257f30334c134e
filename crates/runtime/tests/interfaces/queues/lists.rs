//! Command lists and allocators: their states, and the calls that they refuse.

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::gpu::*;

#[test]
fn lists_record_once_and_are_closed_once() {
    let (device, queue) = open_direct();
    unsafe {
        // Only one list at a time can record with an allocator, and only one of its type.
        let list_type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        let second =
            device.CreateCommandList::<_, _, ID3D12GraphicsCommandList>(0, list_type, &queue.allocator, None);
        assert_eq!(code(second), E_INVALIDARG);
        assert_eq!(code(queue.allocator.Reset()), E_FAIL);
        assert_eq!(code(queue.list.Reset(&queue.allocator, None)), E_FAIL, "it records");
        assert_eq!(code(queue.list.Close()), S_OK);
        assert_eq!(code(queue.list.Close()), E_FAIL);
        assert_eq!(code(queue.allocator.Reset()), S_OK);
        let copy: ID3D12CommandAllocator =
            device.CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COPY).expect("an allocator");
        assert_eq!(code(queue.list.Reset(&copy, None)), E_INVALIDARG);
        assert_eq!(code(queue.list.Reset(None, None)), E_INVALIDARG);
        let closed: ID3D12GraphicsCommandList =
            device.CreateCommandList1(0, list_type, D3D12_COMMAND_LIST_FLAG_NONE).expect("a closed list");
        assert_eq!(code(closed.Close()), E_FAIL);
        assert_eq!(code(closed.Reset(&queue.allocator, None)), S_OK);
        assert_eq!(code(queue.list.Reset(&queue.allocator, None)), E_INVALIDARG, "the other list records");
        drop(closed);
        assert_eq!(code(queue.list.Reset(&queue.allocator, None)), S_OK, "the other list was dropped");
        let of = |list_type| code(device.CreateCommandAllocator::<ID3D12CommandAllocator>(list_type));
        assert_eq!(of(D3D12_COMMAND_LIST_TYPE_BUNDLE), S_OK);
        assert_eq!(of(D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE), E_NOTIMPL);
        assert_eq!(of(77), E_INVALIDARG);
        assert_eq!(queue.list.GetType(), list_type);
    }
}

#[test]
fn one_invalid_list_prevents_execution_of_all_lists_of_the_call() {
    let (device, queue) = open_direct();
    let copy = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COPY);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 16);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 16);
    bytes(&upload).fill(7);
    unsafe {
        queue.list.CopyResource(&readback, &upload);
        queue.list.Close().succeeds();
        copy.list.Close().succeeds();
    }
    let expect_nothing = |why: &str| {
        queue.drain();
        assert_eq!(bytes(&readback), [0; 16], "{why}");
    };
    queue.execute(&[&queue.list, &copy.list]);
    expect_nothing("the second is a copy list");
    unsafe { queue.queue.ExecuteCommandLists(&[Some(queue.list.cast().expect("a list")), None]) };
    expect_nothing("the second is null");
    let foreign = Queue::direct(&open());
    unsafe { foreign.list.Close() }.succeeds();
    queue.execute(&[&queue.list, &foreign.list]);
    expect_nothing("the second is of another device");
    queue.execute(&[&queue.list, &queue.list]);
    queue.drain();
    assert_eq!(bytes(&readback), [7; 16]);
    unsafe { queue.allocator.Reset() }.succeeds();
    bytes(&readback).fill(0);
    queue.execute(&[&queue.list]);
    expect_nothing("its allocator was reset");
    assert_eq!(code(unsafe { device.GetDeviceRemovedReason() }), S_OK);
}

/// As in vkd3d-proton's test_device_removed_reason for an open list.
#[test]
fn executing_an_open_or_a_failed_list_removes_the_device() {
    for is_open in [true, false] {
        let device = open();
        let (queue, other) = (Queue::direct(&device), Queue::direct(&device));
        let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 16);
        let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 16);
        bytes(&upload).fill(7);
        unsafe {
            queue.list.CopyResource(&readback, &upload);
            queue.list.Close().succeeds();
            if !is_open {
                other.list.CopyResource(None, None);
                assert_eq!(code(other.list.Close()), E_INVALIDARG);
            }
        }
        let found = bytes(&readback);
        messages(&device);
        queue.execute(&[&queue.list, &other.list]);
        assert_eq!(code(unsafe { device.GetDeviceRemovedReason() }), DXGI_ERROR_INVALID_CALL);
        let desc = D3D12_COMMAND_QUEUE_DESC::default();
        let made = unsafe { device.CreateCommandQueue::<ID3D12CommandQueue>(&desc) };
        assert_eq!(code(made), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(unsafe { queue.fence.GetCompletedValue() }, u64::MAX);
        assert_eq!(found, [0; 16], "no list of the call was executed");
        let told: Vec<_> = messages(&device).into_iter().map(|(id, _)| id).collect();
        let id = if is_open {
            D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST
        } else {
            D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_FAILEDCOMMANDLIST
        };
        assert_eq!(told[..2], [D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT, id]);
    }
}

#[test]
fn an_allocator_cannot_be_reset_while_its_lists_execute() {
    let (device, queue) = open_direct();
    let gate = create_fence(&device, 0);
    unsafe {
        queue.list.Close().succeeds();
        queue.queue.Wait(&gate, 1).succeeds();
        queue.execute(&[&queue.list]);
        assert_eq!(code(queue.allocator.Reset()), E_FAIL);
        gate.Signal(1).succeeds();
        queue.drain();
        assert_eq!(code(queue.allocator.Reset()), S_OK);
    }
}

#[test]
fn objects_support_their_interfaces() {
    let (device, queue) = open_direct();
    macro_rules! check {
        ($object:expr; $($interface:ident),*) => {$(
            let _: $interface = $object.cast().expect(stringify!($interface));
        )*};
    }
    check!(queue.list; ID3D12Object, ID3D12DeviceChild, ID3D12CommandList, ID3D12GraphicsCommandList,
        ID3D12GraphicsCommandList1, ID3D12GraphicsCommandList2, ID3D12GraphicsCommandList3,
        ID3D12GraphicsCommandList4, ID3D12GraphicsCommandList5, ID3D12GraphicsCommandList6,
        ID3D12GraphicsCommandList7, ID3D12GraphicsCommandList8, ID3D12GraphicsCommandList9,
        ID3D12GraphicsCommandList10);
    check!(queue.fence; ID3D12Object, ID3D12DeviceChild, ID3D12Pageable, ID3D12Fence, ID3D12Fence1);
    check!(queue.allocator; ID3D12Object, ID3D12DeviceChild, ID3D12Pageable, ID3D12CommandAllocator);
    check!(queue.queue; ID3D12Object, ID3D12DeviceChild, ID3D12Pageable, ID3D12CommandQueue);
    assert!(queue.list.cast::<ID3D12Pageable>().is_err(), "a command list is not pageable");
    assert!(queue.list.cast::<ID3D12CommandQueue>().is_err());
    let of: ID3D12Device = unsafe {
        let mut of = None;
        queue.list.GetDevice(&mut of).expect("its device");
        of.expect("S_OK comes with a device")
    };
    assert_eq!(of, device.cast().expect("the same"));
}

#[test]
fn refused_commands_say_which_rule_they_broke() {
    let (device, queue) = open_direct();
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    messages(&device);
    let closed = queue.close_after(|list| unsafe { list.CopyBufferRegion(&local, 60, &upload, 0, 8) });
    assert_eq!(closed, E_INVALIDARG);
    let told = messages(&device);
    assert_eq!(told[0].0, D3D12_MESSAGE_ID_COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS);
    assert!(told[0].1.contains("pDstBuffer") && told[0].1.contains("CopyBufferRegion"), "{}", told[0].1);
    unsafe { queue.list.Close() }.succeeds();
    unsafe { queue.list.CopyResource(&local, &upload) };
    assert_eq!(messages(&device)[0].0, D3D12_MESSAGE_ID_COMMAND_LIST_CLOSED);
}

#[test]
fn every_object_is_destroyed_when_it_is_released() {
    let device = open();
    let live = || {
        let report: ID3D12DebugDevice = device.cast().expect("the debug layer is on");
        messages(&device);
        unsafe { report.ReportLiveDeviceObjects(D3D12_RLDO_DETAIL) }.succeeds();
        let live = messages(&device);
        live.into_iter().map(|(id, _)| id).filter(|id| *id != D3D12_MESSAGE_ID_LIVE_DEVICE).count()
    };
    assert_eq!(live(), 0);
    let queue = Queue::direct(&device);
    let views = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
    let heap = descriptor_heap(&device, views, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE).expect("a heap");
    let (local, upload) =
        (commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64), commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64));
    unsafe { queue.list.CopyResource(&local, &upload) };
    queue.run();
    assert_eq!(live(), 6, "queue, allocator, list, fence, descriptor heap, resources");
    drop((queue, heap, local, upload));
    assert_eq!(live(), 0);
}
