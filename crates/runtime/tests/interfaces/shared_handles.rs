//! Shared handles through the COM interfaces.

use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use heapwright_runtime::Instance;
use heapwright_runtime::exports::D3D12CreateDevice;
use windows_core::{HRESULT, IUnknown, Interface};

use crate::gpu::{
    Answer as _, Queue, buffer_desc, bytes, code, commit, committed, default_heap, descriptor_heap, instance,
    local_usage, messages, of_type, placed, texture_desc,
};
use crate::queues::textures::{create_castable_in, download};

const GENERIC_ALL: u32 = 0x1000_0000;
const SIZE: u64 = 65_536;

fn open() -> (Instance, ID3D12Device14) {
    let instance = instance("discrete");
    let device = instance.device.cast().expect("the newest interface");
    (instance, device)
}

/// Creates another device on the adapter.
fn second_device(gpu: &Instance) -> ID3D12Device14 {
    let mut device = null_mut();
    let level = D3D_FEATURE_LEVEL_12_0;
    unsafe {
        let answer = D3D12CreateDevice(gpu.adapter.as_raw(), level, &ID3D12Device14::IID, &mut device);
        assert_eq!(answer, S_OK);
        ID3D12Device14::from_raw(device)
    }
}

fn create_heap(device: &ID3D12Device14, flags: D3D12_HEAP_FLAGS) -> ID3D12Heap {
    default_heap(device, SIZE, flags | D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS)
}

fn commit_shared(device: &ID3D12Device14) -> ID3D12Resource {
    let (desc, state) = (buffer_desc(SIZE, D3D12_RESOURCE_FLAG_NONE), D3D12_RESOURCE_STATE_COMMON);
    let properties = of_type(D3D12_HEAP_TYPE_DEFAULT);
    committed(device, properties, D3D12_HEAP_FLAG_SHARED, &desc, state).expect("a shared buffer")
}

/// Returns `name` as UTF-16 with a terminating zero.
fn wide(name: &str) -> Vec<u16> {
    name.encode_utf16().chain([0]).collect()
}

fn share_as(
    device: &ID3D12Device14,
    object: &impl Interface,
    access: u32,
    name: Option<&str>,
) -> Result<HANDLE, HRESULT> {
    let object: ID3D12DeviceChild = object.cast().expect("a child of a device");
    let name = name.map(wide);
    let name = name.as_ref().map_or(PCWSTR::null(), |name| PCWSTR(name.as_ptr()));
    unsafe { device.CreateSharedHandle(&object, None, access, name) }.map_err(|error| error.code())
}

fn share(device: &ID3D12Device14, object: &impl Interface) -> Result<HANDLE, HRESULT> {
    share_as(device, object, GENERIC_ALL, None)
}

fn open_handle<T: Interface>(device: &ID3D12Device14, handle: HANDLE) -> Result<T, HRESULT> {
    let mut object = None;
    unsafe { device.OpenSharedHandle(handle, &mut object) }.map_err(|error| error.code())?;
    Ok(object.expect("S_OK comes with an object"))
}

fn find(device: &ID3D12Device14, name: &str) -> Result<HANDLE, HRESULT> {
    let name = wide(name);
    unsafe { device.OpenSharedHandleByName(PCWSTR(name.as_ptr()), GENERIC_ALL) }.map_err(|error| error.code())
}

/// Closes a handle, as the application has to.
fn close(handle: HANDLE) {
    unsafe { event::close(handle) };
}

fn usage(gpu: &Instance) -> u64 {
    local_usage(&gpu.adapter)
}

#[test]
fn a_committed_buffer_is_the_same_memory_on_another_device() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let buffer = commit_shared(&device);
    let before = usage(&gpu);
    let handle = share(&device, &buffer).expect("shared");
    let opened: ID3D12Resource = open_handle(&other, handle).expect("on the same adapter");
    close(handle);
    assert_eq!(usage(&gpu), before, "an opened resource uses no additional memory");
    let (writer, reader) = (Queue::direct(&device), Queue::direct(&other));
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, SIZE);
    let readback = commit(&other, D3D12_HEAP_TYPE_READBACK, SIZE);
    bytes(&upload).fill(0xa7);
    unsafe {
        assert_eq!(opened.GetDesc(), buffer.GetDesc());
        assert_eq!(opened.GetGPUVirtualAddress().0, buffer.GetGPUVirtualAddress().0);
        let mut flags = 0;
        opened.GetHeapProperties(None, Some(&mut flags)).succeeds();
        assert_eq!(flags, D3D12_HEAP_FLAG_SHARED);
        writer.list.CopyResource(&buffer, &upload);
        writer.run();
        drop(buffer);
        assert_eq!(usage(&gpu), before, "the opened resource keeps the memory alive");
        reader.list.CopyResource(&readback, &opened);
        reader.run();
    }
    assert!(bytes(&readback).iter().all(|&byte| byte == 0xa7));
    drop((opened, reader, writer));
    assert_eq!(usage(&gpu), before - SIZE);
}

#[test]
fn an_opened_texture_keeps_its_castable_formats() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let desc = D3D12_RESOURCE_DESC {
        Flags: D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        ..texture_desc(DXGI_FORMAT_R16G16_FLOAT, [4, 4])
    };
    let texture = create_castable_in(&device, D3D12_HEAP_FLAG_SHARED, &desc, &[DXGI_FORMAT_R8G8B8A8_UNORM]);
    let handle = share(&device, &texture).expect("shared");
    let opened: ID3D12Resource = open_handle(&other, handle).expect("on the same adapter");
    close(handle);
    let views = descriptor_heap(&other, D3D12_DESCRIPTOR_HEAP_TYPE_RTV, 1, D3D12_DESCRIPTOR_HEAP_FLAG_NONE)
        .expect("a heap");
    let queue = Queue::direct(&other);
    let readback = commit(&other, D3D12_HEAP_TYPE_READBACK, 1024);
    unsafe {
        let view = views.GetCPUDescriptorHandleForHeapStart();
        let view_desc = D3D12_RENDER_TARGET_VIEW_DESC {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            ViewDimension: D3D12_RTV_DIMENSION_TEXTURE2D,
            ..Default::default()
        };
        other.CreateRenderTargetView(&opened, Some(&view_desc), view);
        queue.list.ClearRenderTargetView(view, &[1.0, 0.0, 0.0, 1.0], &[]);
        download(&queue.list, (&opened, 0), (&readback, 0), DXGI_FORMAT_R16G16_FLOAT, [4, 4, 1], 256);
    }
    queue.run();
    assert_eq!(bytes(&readback)[..4], [255, 0, 0, 255]);
}

#[test]
fn the_aliasing_tracker_of_another_device_knows_an_opened_resource() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let aliasing: IHeapwrightAliasing = other.cast().expect("ours");
    let tracking = HEAPWRIGHT_ALIASING_TRACKING {
        Model: HEAPWRIGHT_ALIASING_MODEL_ADVANCED,
        Strictness: HEAPWRIGHT_ALIASING_STRICTNESS_DOCUMENTED,
        Scramble: 0,
        ScrambleSeed: 0,
    };
    assert_eq!(unsafe { aliasing.SetTracking(&raw const tracking) }, S_OK);
    let desc = buffer_desc(SIZE, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let (flags, state) = (D3D12_HEAP_FLAG_SHARED, D3D12_RESOURCE_STATE_COMMON);
    let buffer = committed(&device, of_type(D3D12_HEAP_TYPE_DEFAULT), flags, &desc, state).expect("a buffer");
    let handle = share(&device, &buffer).expect("shared");
    let contents = |resource: &ID3D12Resource| {
        let mut contents = 0;
        assert_eq!(unsafe { aliasing.GetContents(resource.as_raw(), 0, &raw mut contents) }, S_OK);
        contents
    };
    let opened: ID3D12Resource = open_handle(&other, handle).expect("on the same adapter");
    assert_eq!(contents(&opened), HEAPWRIGHT_ALIASING_CONTENTS_VALID);
    let queue = Queue::direct(&other);
    unsafe { queue.list.DiscardResource(&opened, None) };
    queue.run();
    assert_ne!(contents(&opened), HEAPWRIGHT_ALIASING_CONTENTS_VALID);
    let again: ID3D12Resource = open_handle(&other, handle).expect("on the same adapter");
    close(handle);
    assert_ne!(contents(&again), HEAPWRIGHT_ALIASING_CONTENTS_VALID, "it is the same memory");
}

#[test]
fn a_heap_takes_the_resources_of_both_devices() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let heap = create_heap(&device, D3D12_HEAP_FLAG_SHARED);
    let handle = share(&device, &heap).expect("shared");
    let opened: ID3D12Heap = open_handle(&other, handle).expect("on the same adapter");
    let again: ID3D12Heap1 = open_handle(&device, handle).expect("on its own device");
    close(handle);
    let place = |device: &ID3D12Device14, heap: &ID3D12Heap| {
        let desc = buffer_desc(256, D3D12_RESOURCE_FLAG_NONE);
        let placed = placed(device, heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON);
        placed.map(|placed| unsafe { placed.GetGPUVirtualAddress() }.0).map_err(|error| error.code())
    };
    let address = place(&device, &heap);
    assert!(address.is_ok());
    assert_eq!(place(&other, &opened), address);
    assert_eq!(place(&device, &again), address);
    assert_eq!(place(&other, &heap), Err(E_INVALIDARG), "of another device");
    unsafe { assert_eq!(opened.GetDesc(), heap.GetDesc()) };
}

#[test]
fn a_fence_has_one_value() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let fence: ID3D12Fence = unsafe { device.CreateFence(3, D3D12_FENCE_FLAG_SHARED) }.expect("a fence");
    let handle = share(&device, &fence).expect("shared");
    let opened: ID3D12Fence1 = open_handle(&other, handle).expect("on the same adapter");
    let queue = Queue::direct(&other);
    unsafe {
        assert_eq!((opened.GetCompletedValue(), opened.GetCreationFlags()), (3, D3D12_FENCE_FLAG_SHARED));
        queue.queue.Wait(&opened, 5).succeeds();
        queue.queue.Signal(&opened, 9).succeeds();
        fence.Signal(5).succeeds();
        fence.SetEventOnCompletion(9, HANDLE::default()).succeeds();
        assert_eq!(opened.GetCompletedValue(), 9);
        device.RemoveDevice();
        assert_eq!(opened.GetCompletedValue(), u64::MAX, "device removal sets the fence to UINT64_MAX");
        other.GetDeviceRemovedReason().succeeds();
        let on_the_lost = open_handle::<ID3D12Fence>(&device, handle);
        assert_eq!(on_the_lost.err(), Some(DXGI_ERROR_DEVICE_REMOVED));
    }
    close(handle);
}

#[test]
fn only_what_was_created_to_be_shared_is_shared() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let heap = create_heap(&device, D3D12_HEAP_FLAG_NONE);
    let buffer = commit(&device, D3D12_HEAP_TYPE_DEFAULT, SIZE);
    let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
    let queue = Queue::direct(&device);
    let shared = create_heap(&device, D3D12_HEAP_FLAG_SHARED);
    messages(&device);
    let refused = [
        (share(&device, &heap), "D3D12_HEAP_FLAG_SHARED"),
        (share(&device, &buffer), "not committed with D3D12_HEAP_FLAG_SHARED"),
        (share(&device, &fence), "D3D12_FENCE_FLAG_SHARED"),
        (share(&device, &queue.queue), "not a heap, resource or fence"),
        (share_as(&device, &shared, 0x8000_0000, None), "GENERIC_ALL"),
        (share_as(&device, &shared, GENERIC_ALL, Some("")), "has 0 characters"),
        (share_as(&device, &shared, GENERIC_ALL, Some(&"n".repeat(261))), "has 261 characters"),
        (share_as(&device, &shared, GENERIC_ALL, Some(r"Local\a\b")), "backslash"),
    ];
    let told = messages(&device);
    assert_eq!(told.len(), refused.len());
    for ((answer, rule), (id, text)) in refused.into_iter().zip(told) {
        assert_eq!(answer, Err(E_INVALIDARG), "{rule}");
        assert_eq!(id, D3D12_MESSAGE_ID_DEVICE_CREATE_SHARED_HANDLE_INVALIDARG, "{text}");
        assert!(text.contains(rule), "{text}");
    }
    assert_eq!(share(&other, &shared), Err(E_INVALIDARG), "of another device");
    let nothing = unsafe { device.CreateSharedHandle(None, None, GENERIC_ALL, PCWSTR::null()) };
    assert_eq!(code(nothing), E_INVALIDARG);
}

#[test]
fn a_resource_that_is_placed_in_a_shared_heap_has_no_handle_of_its_own() {
    let (_gpu, device) = open();
    let heap = create_heap(&device, D3D12_HEAP_FLAG_SHARED);
    let (desc, state) = (buffer_desc(256, D3D12_RESOURCE_FLAG_NONE), D3D12_RESOURCE_STATE_COMMON);
    let placed = placed(&device, &heap, 0, &desc, state).expect("placed");
    assert_eq!(share(&device, &placed), Err(E_INVALIDARG));
}

#[test]
fn what_a_handle_does_not_refer_to_is_not_opened() {
    let ((_gpu, device), (_elsewhere, foreign)) = (open(), open());
    let heap = create_heap(&device, D3D12_HEAP_FLAG_SHARED);
    let handle = share(&device, &heap).expect("shared");
    assert_eq!(open_handle::<ID3D12Heap>(&foreign, handle).err(), Some(E_INVALIDARG), "another adapter");
    assert_eq!(open_handle::<ID3D12Fence>(&device, handle).err(), Some(E_NOINTERFACE));
    let mut kept = std::ptr::dangling_mut();
    let base: ID3D12Device = device.cast().expect("known");
    let answer = |handle, riid, out| unsafe {
        (Interface::vtable(&base).OpenSharedHandle)(base.as_raw(), handle, riid, out)
    };
    assert_eq!(answer(HANDLE::default(), &IUnknown::IID, &mut kept), E_INVALIDARG);
    assert!(kept.is_null(), "the output pointer is set to null");
    assert_eq!(answer(handle, null(), &mut kept), E_INVALIDARG);
    assert_eq!(answer(handle, &ID3D12Heap::IID, null_mut()), E_INVALIDARG);
    let event = event::Event::new(event::EventReset::Auto).expect("an event");
    assert_eq!(open_handle::<ID3D12Heap>(&device, event.handle()).err(), Some(E_INVALIDARG), "an event");
    let closed = share(&device, &heap).expect("shared");
    close(closed);
    let taken = event::Event::new(event::EventReset::Auto).expect("an event");
    // A new handle with the number of a closed one.
    assert_eq!(open_handle::<ID3D12Heap>(&device, taken.handle()).err(), Some(E_INVALIDARG));
    assert_eq!(open_handle::<ID3D12Heap>(&device, closed).err(), Some(E_INVALIDARG), "closed");
    close(handle);
}

/// The creator hands an object over by its handle alone: it releases the object before the receiver opens the handle.
#[test]
fn an_open_handle_keeps_its_object_alive() {
    let (gpu, device) = open();
    let other = second_device(&gpu);
    let before = usage(&gpu);
    let (heap, buffer) = (create_heap(&device, D3D12_HEAP_FLAG_SHARED), commit_shared(&device));
    let fence: ID3D12Fence =
        unsafe { device.CreateFence(7, D3D12_FENCE_FLAG_SHARED) }.expect("a shared fence");
    let handles = [share(&device, &heap), share(&device, &buffer), share(&device, &fence)];
    let [heap_handle, buffer_handle, fence_handle] = handles.map(|handle| handle.expect("shared"));
    let address = unsafe { buffer.GetGPUVirtualAddress() }.0;
    drop((heap, buffer, fence, device));
    assert_eq!(usage(&gpu), before + 2 * SIZE);
    let heap: ID3D12Heap = open_handle(&other, heap_handle).expect("a heap");
    let buffer: ID3D12Resource = open_handle(&other, buffer_handle).expect("a buffer");
    let fence: ID3D12Fence = open_handle(&other, fence_handle).expect("a fence");
    unsafe { assert_eq!((buffer.GetGPUVirtualAddress().0, fence.GetCompletedValue()), (address, 7)) };
    let desc = buffer_desc(256, D3D12_RESOURCE_FLAG_NONE);
    placed(&other, &heap, 0, &desc, D3D12_RESOURCE_STATE_COMMON).expect("in the heap");
    for handle in [heap_handle, buffer_handle, fence_handle] {
        close(handle);
    }
    drop((heap, buffer, fence));
    assert_eq!(usage(&gpu), before, "nothing outlives its last handle and object");
}

#[test]
fn a_closed_handle_keeps_nothing_alive_after_the_next_call() {
    let (gpu, device) = open();
    let fence: ID3D12Fence =
        unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_SHARED) }.expect("a shared fence");
    let other = share(&device, &fence).expect("shared");
    let before = usage(&gpu);
    let sweeps: [&dyn Fn(); 4] = [
        &|| close(share(&device, &fence).expect("shared")),
        &|| drop(open_handle::<ID3D12Fence>(&device, other).expect("opened")),
        &|| assert_eq!(find(&device, "a name that nothing has"), Err(E_INVALIDARG)),
        &|| drop(second_device(&gpu)),
    ];
    for (index, sweep) in sweeps.into_iter().enumerate() {
        let buffer = commit_shared(&device);
        let handles = [(); 2].map(|()| share(&device, &buffer).expect("shared"));
        close(handles[0]);
        drop(buffer);
        sweep();
        assert_eq!(usage(&gpu), before + SIZE, "{index}: a handle is open");
        close(handles[1]);
        sweep();
        assert_eq!(usage(&gpu), before, "{index}");
    }
    close(other);
}

/// Another thread's call may find the handle closed first. It releases what the handle refers to before this thread's
/// call returns.
#[test]
fn what_is_released_does_not_depend_on_calls_of_other_threads() {
    let (gpu, device) = open();
    let before = usage(&gpu);
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let (_gpu, device) = open();
                let fence: ID3D12Fence =
                    unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_SHARED) }.expect("a shared fence");
                while !has_ended.load(Ordering::Relaxed) {
                    close(share(&device, &fence).expect("shared"));
                }
            });
        }
        let left = (0..500).map(|_| {
            let buffer = commit_shared(&device);
            close(share(&device, &buffer).expect("shared"));
            drop(buffer);
            usage(&gpu) - before
        });
        let left: u64 = left.sum();
        has_ended.store(true, Ordering::Relaxed);
        assert_eq!(left, 0, "memory of closed handles is in use");
    });
}

/// A wait goes on while a handle is open, from which the fence that ends it can be opened.
#[test]
fn a_wait_outlasts_the_fence_s_last_object_while_a_handle_is_open() {
    let (_gpu, device) = open();
    let event = event::Event::new(event::EventReset::Auto).expect("an event");
    for is_handed_over in [true, false] {
        let fence: ID3D12Fence = unsafe { device.CreateFence(0, D3D12_FENCE_FLAG_SHARED) }.expect("a fence");
        let handle = share(&device, &fence).expect("shared");
        unsafe { fence.SetEventOnCompletion(1, event.handle()) }.succeeds();
        drop(fence);
        assert!(!event.is_set().expect("asked"), "the fence can still be opened");
        if is_handed_over {
            let opened: ID3D12Fence = open_handle(&device, handle).expect("opened");
            unsafe { opened.Signal(1) }.succeeds();
            assert!(event.is_set().expect("asked"));
            close(handle);
        } else {
            close(handle);
            assert_eq!(open_handle::<ID3D12Fence>(&device, handle).err(), Some(E_INVALIDARG));
            assert!(event.is_set().expect("asked"), "nobody can signal the fence any more");
        }
    }
}

/// Handles of an object that lives on are not used up.
#[test]
fn closed_handles_return_to_the_operating_system() {
    let (_gpu, device) = open();
    let heap = create_heap(&device, D3D12_HEAP_FLAG_SHARED);
    for _ in 0..5000 {
        close(share(&device, &heap).expect("shared"));
    }
}

/// A resource shared across adapters can be opened on its own adapter; on another one the call returns
/// E_NOTIMPL.
#[test]
fn opening_on_another_adapter_is_what_is_not_implemented() {
    let ((gpu, device), (_elsewhere, foreign)) = (open(), open());
    let heap = create_heap(&device, D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER);
    let handle = share_as(&device, &heap, GENERIC_ALL, Some("across")).expect("shared");
    let opened: ID3D12Heap = open_handle(&second_device(&gpu), handle).expect("its own adapter");
    assert_eq!(unsafe { opened.GetDesc().Flags }, unsafe { heap.GetDesc().Flags });
    assert_eq!(open_handle::<ID3D12Heap>(&foreign, handle).err(), Some(E_NOTIMPL));
    assert_eq!(find(&foreign, "across"), Err(E_NOTIMPL));
    close(handle);
    let desc = buffer_desc(SIZE, D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
    let flags = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
    let (properties, state) = (of_type(D3D12_HEAP_TYPE_DEFAULT), D3D12_RESOURCE_STATE_COMMON);
    let buffer = committed(&device, properties, flags, &desc, state).expect("a buffer across adapters");
    let handle = share(&device, &buffer).expect("shared");
    assert_eq!(open_handle::<ID3D12Resource>(&foreign, handle).err(), Some(E_NOTIMPL));
    assert!(open_handle::<ID3D12Resource>(&second_device(&gpu), handle).is_ok(), "its own adapter");
    close(handle);
}

#[test]
fn a_name_is_one_object_s() {
    let ((gpu, device), (_elsewhere, foreign)) = (open(), open());
    let other = second_device(&gpu);
    let (buffer, heap) = (commit_shared(&device), create_heap(&device, D3D12_HEAP_FLAG_SHARED));
    let handle = share_as(&device, &buffer, GENERIC_ALL, Some("weights")).expect("shared");
    let taken = Err(DXGI_ERROR_NAME_ALREADY_EXISTS);
    assert_eq!(share_as(&device, &heap, GENERIC_ALL, Some("weights")), taken);
    assert_eq!(share_as(&device, &heap, GENERIC_ALL, Some(r"Local\weights")), taken, "the same name");
    let apart = share_as(&device, &heap, GENERIC_ALL, Some("Weights")).expect("cases differ");
    let found = find(&other, "weights").expect("by name");
    assert_ne!(found, handle);
    close(handle);
    let opened: ID3D12Resource = open_handle(&other, found).expect("opened");
    unsafe { assert_eq!(opened.GetGPUVirtualAddress().0, buffer.GetGPUVirtualAddress().0) };
    assert_eq!(find(&foreign, "weights"), Err(E_INVALIDARG), "another adapter");
    assert_eq!(find(&device, "biases"), Err(E_INVALIDARG), "nobody's");
    close(found);
    assert_eq!(find(&device, "weights"), Err(E_INVALIDARG), "no handle is open");
    drop((buffer, opened));
    let again = share_as(&device, &heap, GENERIC_ALL, Some("weights")).expect("free again");
    for handle in [apart, again] {
        close(handle);
    }
}

#[test]
fn a_call_that_fails_returns_a_null_handle() {
    let (_gpu, device) = open();
    let heap = create_heap(&device, D3D12_HEAP_FLAG_NONE);
    let garbage = HANDLE(std::ptr::dangling_mut());
    let name = wide("no object has this name");
    let mut handle = garbage;
    // SAFETY: the device and the object are live, and the handle can be written.
    let hresult = unsafe {
        let table = device.cast::<ID3D12Device>().expect("a device");
        (table.vtable().OpenSharedHandleByName)(
            table.as_raw(),
            PCWSTR(name.as_ptr()),
            GENERIC_ALL,
            &mut handle,
        )
    };
    assert!(hresult.is_err() && handle.0.is_null(), "{hresult}");
    handle = garbage;
    // SAFETY: as above. The heap is not shared.
    let hresult = unsafe {
        let table = device.cast::<ID3D12Device>().expect("a device");
        (table.vtable().CreateSharedHandle)(
            table.as_raw(),
            heap.as_raw(),
            null(),
            GENERIC_ALL,
            PCWSTR::null(),
            &mut handle,
        )
    };
    assert!(hresult.is_err() && handle.0.is_null(), "{hresult}");
}
