//! Copies between buffers, and immediate writes.

use heapwright_d3d12::*;

use crate::gpu::*;

#[test]
fn copies_beyond_the_end_of_a_buffer_fail_the_list() {
    let device = open();
    let other = open();
    let queue = Queue::direct(&device);
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 1000);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 2000);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 1000);
    let foreign = commit(&other, D3D12_HEAP_TYPE_DEFAULT, 1000);
    let region = |to: Option<&ID3D12Resource>, at, from: Option<&ID3D12Resource>, start, size| {
        queue.close_after(|list| unsafe { list.CopyBufferRegion(to, at, from, start, size) })
    };
    assert_eq!(region(Some(&local), 0, Some(&upload), 0, 1000), S_OK);
    assert_eq!(region(Some(&local), 0, Some(&local), 0, 0), S_OK);
    assert_eq!(region(Some(&local), 0, Some(&local), 500, 500), S_OK);
    assert_eq!(region(Some(&local), 500, Some(&local), 0, 500), S_OK);
    let target = D3D12_MESSAGE_ID_COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS;
    let source = D3D12_MESSAGE_ID_COPYBUFFERREGION_SRCRANGEOUTOFBOUNDS;
    let overlap = D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE;
    for (at, from, start, size, rule) in [
        (0, &upload, 0, 1001, target),
        (1, &upload, 0, 1000, target),
        (u64::MAX, &upload, 0, 1000, target),
        (0, &upload, 1001, 1000, source),
        (0, &upload, u64::MAX, 2, source),
        (0, &local, 499, 500, overlap),
        (499, &local, 0, 500, overlap),
    ] {
        let broken = broken_rule(&device, || region(Some(&local), at, Some(from), start, size));
        assert_eq!(broken, rule, "{at} {start} {size}");
    }
    assert_eq!(region(None, 0, Some(&upload), 0, 1), E_INVALIDARG);
    assert_eq!(region(Some(&local), 0, None, 0, 1), E_INVALIDARG);
    assert_eq!(region(Some(&foreign), 0, Some(&upload), 0, 1), E_INVALIDARG);
    messages(&device);
    assert_eq!(region(Some(&readback), 0, Some(&upload), 0, 1), S_OK);
    assert_eq!(messages(&device), []);
    assert_eq!(region(Some(&upload), 0, Some(&local), 0, 1), S_OK, "an UPLOAD heap");
    assert_eq!(region(Some(&local), 0, Some(&readback), 0, 1), S_OK, "a READBACK heap");
    assert_eq!(messages(&device).len(), 2, "states are checked by the debug layer");
    let whole = |to, from| queue.close_after(|list| unsafe { list.CopyResource(to, from) });
    assert_eq!(whole(&local, &local), E_INVALIDARG);
    assert_eq!(whole(&local, &upload), E_INVALIDARG, "different widths");
}

#[test]
fn immediate_writes_reach_their_addresses() {
    let device = open();
    let queue = Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COPY);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 16);
    let at = |offset| unsafe { D3D12_GPU_VIRTUAL_ADDRESS(readback.GetGPUVirtualAddress().0 + offset) };
    let write = |offset, value| D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: at(offset), Value: value };
    let params = [write(0, 0x0403_0201), write(8, u32::MAX)];
    unsafe { queue.list.WriteBufferImmediate(2, params.as_ptr(), None) };
    queue.run();
    assert_eq!(bytes(&readback), [1, 2, 3, 4, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0]);
    let refused = |param: D3D12_WRITEBUFFERIMMEDIATE_PARAMETER| {
        queue.close_after(|list| unsafe { list.WriteBufferImmediate(1, &param, None) })
    };
    assert_eq!(refused(write(2, 0)), E_INVALIDARG, "not a multiple of 4");
    assert_eq!(refused(D3D12_WRITEBUFFERIMMEDIATE_PARAMETER::default()), E_INVALIDARG);
    let released = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 65536);
    let address = unsafe { released.GetGPUVirtualAddress() };
    drop(released);
    let param = D3D12_WRITEBUFFERIMMEDIATE_PARAMETER { Dest: address, Value: 1 };
    unsafe {
        queue.list.WriteBufferImmediate(1, &param, None);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
}
