//! Device removal.

use heapwright_d3d12::*;
use windows_core::Interface;

use crate::gpu::*;

#[test]
fn a_fault_removes_the_device_and_its_fences_are_reached() {
    let (device, queue) = open_direct();
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let fence = create_fence(&device, 7);
    name(&local, "the weights");
    unsafe {
        queue.list.CopyResource(&local, &upload);
        queue.list.Close().succeeds();
        device.Evict(&[Some(local.cast().expect("pageable"))]).succeeds();
        queue.execute(&[&queue.list]);
        // The GPU may or may not have reached the fault, so either result is valid.
        let signal = code(queue.queue.Signal(&queue.fence, 1));
        assert!(signal == S_OK || signal == DXGI_ERROR_DEVICE_REMOVED, "{signal:?}");
        // The fences are signalled one after the other.
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        let told = messages(&device);
        let fault = told.iter().find(|(id, _)| *id == D3D12_MESSAGE_ID_DEVICE_REMOVAL_PROCESS_AT_FAULT);
        let (_, text) = fault.expect("before the fences are reached");
        assert!(text.contains("the weights"), "{text}");
        assert_eq!(fence.GetCompletedValue(), u64::MAX);
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
        assert_eq!(code(queue.queue.Signal(&fence, 8)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(queue.queue.Wait(&fence, 8)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(fence.Signal(3)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(fence.GetCompletedValue(), u64::MAX);
        let created = device.CreateFence::<ID3D12Fence>(0, D3D12_FENCE_FLAG_NONE);
        assert_eq!(code(created), DXGI_ERROR_DEVICE_REMOVED);
        let (mut late, desc) = (None::<ID3D12Heap>, D3D12_HEAP_DESC::default());
        assert_eq!(code(device.CreateHeap(&desc, &mut late)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(queue.list.Reset(&queue.allocator, None)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(queue.allocator.Reset()), S_OK, "a removed device does not execute lists");
    }
}

/// The documentation does not mention `Evict`. It still succeeds, as giving up memory needs no GPU.
#[test]
fn memory_of_a_removed_device_cannot_be_mapped_or_made_resident() {
    let (device, queue) = open_direct();
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let fence = create_fence(&device, 0);
    let objects = [Some(local.cast::<ID3D12Pageable>().expect("pageable"))];
    let mut start = std::ptr::null_mut();
    unsafe {
        upload.Map(0, None, &mut start).succeeds();
        device.MakeResident(&objects).succeeds();
        device.Evict(&objects).succeeds();
        device.Evict(&objects).succeeds();
        queue.list.CopyResource(&local, &upload);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG, "a page fault");

        let mut late = std::ptr::dangling_mut();
        assert_eq!(code(upload.Map(0, None, &mut late)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(late, std::ptr::dangling_mut(), "unchanged");
        assert_eq!(code(upload.Map(0, None, std::ptr::null_mut())), DXGI_ERROR_DEVICE_REMOVED);
        // Earlier mappings stay valid: only new ones are refused.
        start.cast::<u8>().write(7);
        assert_eq!(start.cast::<u8>().read(), 7);
        upload.Unmap(0, None);

        assert_eq!(code(device.MakeResident(&objects)), DXGI_ERROR_DEVICE_REMOVED);
        let flags = D3D12_RESIDENCY_FLAG_NONE;
        let enqueued = device.EnqueueMakeResident(flags, &objects, &fence, 1);
        assert_eq!(code(enqueued), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(device.Evict(&objects)), E_INVALIDARG, "neither call changed the residency count");
        let upload = [Some(upload.cast::<ID3D12Pageable>().expect("pageable"))];
        assert_eq!(code(device.Evict(&upload)), S_OK);
    }
}
