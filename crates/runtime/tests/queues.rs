//! Queues, command lists, fences and what they do to memory, as an application sees them.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};

use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::{HRESULT, Interface};

fn open() -> ID3D12Device14 {
    let profile = HostProfile::find("discrete").expect("a profile of that name");
    Instance::open(profile).expect("a fresh instance").device.cast().expect("the newest interface")
}

fn buffer_desc(width: u64, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: flags,
        ..Default::default()
    }
}

fn commit_with(
    device: &ID3D12Device14,
    heap_type: D3D12_HEAP_TYPE,
    width: u64,
    flags: D3D12_RESOURCE_FLAGS,
) -> ID3D12Resource {
    let properties = D3D12_HEAP_PROPERTIES { Type: heap_type, ..Default::default() };
    let (mut resource, desc) = (None, buffer_desc(width, flags));
    let state = D3D12_RESOURCE_STATE_COMMON;
    unsafe {
        device.CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, None, &mut resource)
    }
    .expect("a buffer");
    resource.expect("S_OK comes with a resource")
}

fn commit(device: &ID3D12Device14, heap_type: D3D12_HEAP_TYPE, width: u64) -> ID3D12Resource {
    commit_with(device, heap_type, width, D3D12_RESOURCE_FLAG_NONE)
}

#[allow(clippy::mut_from_ref, reason = "mapped memory is not the resource's own")]
fn bytes(resource: &ID3D12Resource) -> &mut [u8] {
    let mut start = null_mut();
    let width = usize::try_from(unsafe { resource.GetDesc() }.Width).expect("small");
    unsafe {
        resource.Map(0, None, &mut start).succeeds();
        std::slice::from_raw_parts_mut(start.cast(), width)
    }
}

/// The messages that the device stores, with their ids; forgotten once read.
fn messages(device: &ID3D12Device14) -> Vec<(D3D12_MESSAGE_ID, String)> {
    let queue: ID3D12InfoQueue = device.cast().expect("the debug layer is on");
    let count = unsafe { queue.GetNumStoredMessagesAllowedByRetrievalFilter() };
    let message = |index| {
        let mut size = 0;
        assert_eq!(unsafe { queue.GetMessage(index, None, &mut size) }, S_FALSE);
        let mut room = vec![0_u64; size.div_ceil(8)];
        let message = room.as_mut_ptr().cast::<D3D12_MESSAGE>();
        unsafe {
            queue.GetMessage(index, Some(message), &mut size).succeeds();
            let text = std::ffi::CStr::from_ptr((*message).pDescription.cast());
            ((*message).ID, text.to_str().expect("UTF-8").to_owned())
        }
    };
    let messages = (0..count).map(message).collect();
    unsafe { queue.ClearStoredMessages() };
    messages
}

/// What a call answers: some of the bindings' methods give an HRESULT, some a result.
trait Answer {
    fn hresult(&self) -> HRESULT;

    #[track_caller]
    fn succeeds(&self) {
        assert_eq!(self.hresult(), S_OK);
    }
}

impl Answer for HRESULT {
    fn hresult(&self) -> HRESULT {
        *self
    }
}

impl<T> Answer for windows_core::Result<T> {
    fn hresult(&self) -> HRESULT {
        self.as_ref().map_or_else(|error| error.code(), |_| S_OK)
    }
}

fn code(answer: impl Answer) -> HRESULT {
    answer.hresult()
}

/// A queue with what it takes to use it.
struct Queue {
    queue: ID3D12CommandQueue,
    allocator: ID3D12CommandAllocator,
    list: ID3D12GraphicsCommandList7,
    fence: ID3D12Fence,
}

fn create_queue(device: &ID3D12Device14, list_type: D3D12_COMMAND_LIST_TYPE) -> ID3D12CommandQueue {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
    unsafe { device.CreateCommandQueue(&desc) }.expect("a queue")
}

fn create_fence(device: &ID3D12Device14, value: u64) -> ID3D12Fence {
    unsafe { device.CreateFence(value, D3D12_FENCE_FLAG_NONE) }.expect("a fence")
}

impl Queue {
    fn new(device: &ID3D12Device14, list_type: D3D12_COMMAND_LIST_TYPE) -> Self {
        let queue = create_queue(device, list_type);
        let (allocator, list) = unsafe {
            let allocator: ID3D12CommandAllocator =
                device.CreateCommandAllocator(list_type).expect("an allocator");
            let list = device.CreateCommandList(0, list_type, &allocator, None).expect("a list");
            (allocator, list)
        };
        Self { queue, allocator, list, fence: create_fence(device, 0) }
    }

    fn direct(device: &ID3D12Device14) -> Self {
        Self::new(device, D3D12_COMMAND_LIST_TYPE_DIRECT)
    }

    fn execute(&self, lists: &[&ID3D12GraphicsCommandList7]) {
        let lists: Vec<_> = lists.iter().map(|list| Some(list.cast().expect("a command list"))).collect();
        unsafe { self.queue.ExecuteCommandLists(&lists) };
    }

    /// Closes the list, executes it and waits for it; the list records again afterwards.
    fn run(&self) {
        unsafe { self.list.Close() }.succeeds();
        self.execute(&[&self.list]);
        self.drain();
        unsafe {
            self.allocator.Reset().succeeds();
            self.list.Reset(&self.allocator, None).succeeds();
        }
    }

    fn drain(&self) {
        unsafe {
            let value = self.fence.GetCompletedValue() + 1;
            self.queue.Signal(&self.fence, value).succeeds();
            self.fence.SetEventOnCompletion(value, HANDLE::default()).succeeds();
        }
    }

    /// What `Close` answers after `record`; the list records again afterwards.
    fn close_after(&self, record: impl FnOnce(&ID3D12GraphicsCommandList7)) -> HRESULT {
        record(&self.list);
        let closed = unsafe { self.list.Close() };
        unsafe { self.list.Reset(&self.allocator, None).succeeds() };
        code(closed)
    }
}

#[test]
fn copies_of_buffers_move_the_bytes_that_they_name() {
    let device = open();
    for list_type in
        [D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY]
    {
        let queue = Queue::new(&device, list_type);
        let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 1000);
        let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 1000);
        let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 1000);
        for (index, byte) in bytes(&upload).iter_mut().enumerate() {
            *byte = u8::try_from(index % 251).expect("below 251");
        }
        unsafe {
            queue.list.CopyResource(&local, &upload);
            queue.list.CopyBufferRegion(&local, 10, &local, 100, 50);
            queue.list.CopyResource(&readback, &local);
            queue.list.CopyBufferRegion(&readback, 999, &upload, 0, 1);
            queue.list.CopyBufferRegion(&readback, 0, &upload, 7, 0);
        }
        queue.run();
        let (before, after) = (bytes(&upload), bytes(&readback));
        assert_eq!(after[..10], before[..10]);
        assert_eq!(after[10..60], before[100..150]);
        assert_eq!(after[60..999], before[60..999]);
        assert_eq!(after[999], before[0]);
    }
}

#[test]
fn copies_outside_of_their_buffers_fail_the_list() {
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
    assert_eq!(region(Some(&local), 0, Some(&upload), 0, 1001), E_INVALIDARG);
    assert_eq!(region(Some(&local), 1, Some(&upload), 0, 1000), E_INVALIDARG);
    assert_eq!(region(Some(&local), 0, Some(&upload), 1001, 1000), E_INVALIDARG);
    assert_eq!(region(Some(&local), u64::MAX, Some(&upload), 0, 1000), E_INVALIDARG);
    assert_eq!(region(Some(&local), 0, Some(&upload), u64::MAX, u64::MAX), E_INVALIDARG);
    assert_eq!(region(Some(&local), 0, Some(&local), 0, 0), S_OK);
    assert_eq!(region(Some(&local), 0, Some(&local), 500, 500), S_OK);
    assert_eq!(region(Some(&local), 0, Some(&local), 499, 500), E_INVALIDARG, "they overlap");
    assert_eq!(region(None, 0, Some(&upload), 0, 1), E_INVALIDARG);
    assert_eq!(region(Some(&local), 0, None, 0, 1), E_INVALIDARG);
    assert_eq!(region(Some(&foreign), 0, Some(&upload), 0, 1), E_INVALIDARG);
    assert_eq!(region(Some(&upload), 0, Some(&local), 0, 1), E_INVALIDARG, "an UPLOAD heap");
    assert_eq!(region(Some(&local), 0, Some(&readback), 0, 1), E_INVALIDARG, "a READBACK heap");
    let whole = |to, from| queue.close_after(|list| unsafe { list.CopyResource(to, from) });
    assert_eq!(whole(&local, &local), E_INVALIDARG);
    assert_eq!(whole(&local, &upload), E_INVALIDARG, "different widths");
}

#[test]
fn lists_record_once_and_are_closed_once() {
    let device = open();
    let queue = Queue::direct(&device);
    unsafe {
        // One list at a time records with an allocator, and of the allocator's type.
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
        assert_eq!(
            code(queue.list.Reset(&queue.allocator, None)),
            S_OK,
            "a list that goes gives its turn back"
        );
        let of = |list_type| code(device.CreateCommandAllocator::<ID3D12CommandAllocator>(list_type));
        assert_eq!(of(D3D12_COMMAND_LIST_TYPE_BUNDLE), E_NOTIMPL);
        assert_eq!(of(D3D12_COMMAND_LIST_TYPE_VIDEO_DECODE), E_NOTIMPL);
        assert_eq!(of(77), E_INVALIDARG);
        assert_eq!(queue.list.GetType(), list_type);
    }
}

#[test]
fn one_bad_list_and_nothing_of_the_call_executes() {
    let device = open();
    let queue = Queue::direct(&device);
    let other = Queue::direct(&device);
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
    messages(&device);
    queue.execute(&[&queue.list, &other.list]);
    expect_nothing("the second is open");
    let told = messages(&device);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, D3D12_MESSAGE_ID_EXECUTECOMMANDLISTS_OPENCOMMANDLIST);
    assert!(told[0].1.contains("ppCommandLists[1] is open"), "{}", told[0].1);
    queue.execute(&[&queue.list, &copy.list]);
    expect_nothing("the second is a copy list");
    unsafe { queue.queue.ExecuteCommandLists(&[Some(queue.list.cast().expect("a list")), None]) };
    expect_nothing("the second is null");
    unsafe {
        other.list.CopyResource(None, None);
        assert_eq!(code(other.list.Close()), E_INVALIDARG);
    }
    queue.execute(&[&queue.list, &other.list]);
    expect_nothing("the second failed");
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

#[test]
fn an_allocator_is_not_reset_while_its_lists_execute() {
    let device = open();
    let queue = Queue::direct(&device);
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
fn two_queues_take_turns_by_fences() {
    let device = open();
    let (first, second) = (Queue::direct(&device), Queue::new(&device, D3D12_COMMAND_LIST_TYPE_COPY));
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 64);
    bytes(&upload).fill(0x5a);
    let (turn, done) = (create_fence(&device, 0), create_fence(&device, 0));
    unsafe {
        second.list.CopyResource(&readback, &local);
        second.list.Close().succeeds();
        second.queue.Wait(&turn, 5).succeeds();
        second.execute(&[&second.list]);
        second.queue.Signal(&done, 1).succeeds();
        assert_eq!(done.GetCompletedValue(), 0);
        first.list.CopyResource(&local, &upload);
        first.list.Close().succeeds();
        first.execute(&[&first.list]);
        first.queue.Signal(&turn, 5).succeeds();
        done.SetEventOnCompletion(1, HANDLE::default()).succeeds();
    }
    assert_eq!(bytes(&readback), [0x5a; 64]);
}

#[test]
#[cfg(any(windows, target_os = "linux"))]
fn fences_signal_events_and_wait_for_several() {
    use heapwright_d3d12::event::{Event, EventReset};
    use std::time::Duration;

    let device = open();
    let (a, b) = (create_fence(&device, 0), create_fence(&device, 3));
    let event = Event::new(EventReset::Auto).expect("an event");
    unsafe {
        a.SetEventOnCompletion(1, event.handle()).succeeds();
        assert!(!event.is_set().expect("asked"));
        a.Signal(1).succeeds();
        assert!(event.wait(Some(Duration::from_secs(10))).expect("asked"));
        b.SetEventOnCompletion(2, event.handle()).succeeds();
        assert!(event.is_set().expect("asked"));

        let fences = [Some(a.clone()), Some(b.clone())];
        let wait = |values: [u64; 2], flags, handle| {
            device.SetEventOnMultipleFenceCompletion(fences.as_ptr(), values.as_ptr(), 2, flags, handle)
        };
        wait([2, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, event.handle()).succeeds();
        a.Signal(2).succeeds();
        assert!(!event.is_set().expect("asked"), "only one of them");
        b.Signal(4).succeeds();
        assert!(event.is_set().expect("asked"));
        wait([3, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY, HANDLE::default()).succeeds();
        wait([2, 4], D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL, HANDLE::default()).succeeds();
        let bad = |fences: *const Option<ID3D12Fence>, values: *const u64, count, flags| {
            code(device.SetEventOnMultipleFenceCompletion(fences, values, count, flags, event.handle()))
        };
        let (values, none) = ([0, 0], [None, None]);
        assert_eq!(bad(null(), values.as_ptr(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        assert_eq!(bad(fences.as_ptr(), null(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        assert_eq!(
            bad(fences.as_ptr(), values.as_ptr(), 0, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL),
            E_INVALIDARG
        );
        assert_eq!(bad(fences.as_ptr(), values.as_ptr(), 2, 8), E_INVALIDARG);
        assert_eq!(bad(none.as_ptr(), values.as_ptr(), 2, D3D12_MULTIPLE_FENCE_WAIT_FLAG_ALL), E_INVALIDARG);
        assert!(!event.is_set().expect("asked"));
        let never = create_fence(&device, 0);
        never.SetEventOnCompletion(9, event.handle()).succeeds();
        assert_eq!(code(never.SetEventOnCompletion(9, HANDLE(usize::MAX as *mut c_void))), E_INVALIDARG);
    }
}

#[test]
fn a_fault_removes_the_device_and_its_fences_are_reached() {
    let device = open();
    let queue = Queue::direct(&device);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 64);
    let local = commit(&device, D3D12_HEAP_TYPE_DEFAULT, 64);
    let fence = create_fence(&device, 7);
    unsafe {
        local.SetName(windows_core::w!("the weights")).succeeds();
        queue.list.CopyResource(&local, &upload);
        queue.list.Close().succeeds();
        device.Evict(&[Some(local.cast().expect("pageable"))]).succeeds();
        queue.execute(&[&queue.list]);
        queue.queue.Signal(&queue.fence, 1).succeeds();
        // Fences are reached one after the other.
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
        assert_eq!(code(queue.list.Reset(&queue.allocator, None)), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(code(queue.allocator.Reset()), S_OK, "nothing executes any more");
    }
}

#[test]
fn remove_device_removes_it() {
    let device = open();
    let fence = create_fence(&device, 0);
    unsafe {
        device.RemoveDevice();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_REMOVED);
        assert_eq!(fence.GetCompletedValue(), u64::MAX);
    }
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

fn transition(
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

fn descriptor_heap(
    device: &ID3D12Device14,
    heap_type: D3D12_DESCRIPTOR_HEAP_TYPE,
    count: u32,
    flags: D3D12_DESCRIPTOR_HEAP_FLAGS,
) -> windows_core::Result<ID3D12DescriptorHeap> {
    let desc = D3D12_DESCRIPTOR_HEAP_DESC {
        Type: heap_type,
        NumDescriptors: count,
        Flags: flags,
        ..Default::default()
    };
    unsafe { device.CreateDescriptorHeap(&desc) }
}

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
    let uav = |format, first, count, flags| D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: format,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
            Buffer: D3D12_BUFFER_UAV {
                FirstElement: first,
                NumElements: count,
                Flags: flags,
                ..Default::default()
            },
        },
    };
    unsafe {
        let step = usize::try_from(device.GetDescriptorHandleIncrementSize(views)).expect("small");
        assert_ne!(step, 0);
        let (cpu, gpu) =
            (cpu_heap.GetCPUDescriptorHandleForHeapStart(), gpu_heap.GetGPUDescriptorHandleForHeapStart());
        let second = D3D12_CPU_DESCRIPTOR_HANDLE { ptr: cpu.ptr + step };
        let whole = uav(DXGI_FORMAT_R32_TYPELESS, 0, 16, D3D12_BUFFER_UAV_FLAG_RAW);
        device.CreateUnorderedAccessView(&buffer, None, Some(&whole), cpu);
        let part = uav(DXGI_FORMAT_R8G8B8A8_UNORM, 2, 3, D3D12_BUFFER_UAV_FLAG_NONE);
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
        assert_eq!(clear(gpu, D3D12_CPU_DESCRIPTOR_HANDLE { ptr: 8 }, &buffer), E_INVALIDARG);
        assert_eq!(clear(gpu, D3D12_CPU_DESCRIPTOR_HANDLE { ptr: usize::MAX }, &buffer), E_INVALIDARG);
        assert_eq!(clear(gpu, D3D12_CPU_DESCRIPTOR_HANDLE { ptr: cpu.ptr + 1 }, &buffer), E_INVALIDARG);
        assert_eq!(
            clear(gpu, D3D12_CPU_DESCRIPTOR_HANDLE { ptr: cpu.ptr + 2 * step }, &buffer),
            E_INVALIDARG
        );
        assert_eq!(clear(gpu, visible_start, &buffer), E_INVALIDARG, "shader-visible");
        assert_eq!(clear(D3D12_GPU_DESCRIPTOR_HANDLE { ptr: 1 }, cpu, &buffer), E_INVALIDARG);
        let unset =
            queue.close_after(|list| list.ClearUnorderedAccessViewUint(gpu, cpu, &buffer, &[0; 4], &[]));
        assert_eq!(unset, E_INVALIDARG, "no heap is set");
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
    assert_eq!(
        refused(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, u32::MAX, none),
        S_OK,
        "costs nothing until written"
    );
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
    }
}

#[test]
fn what_needs_pipelines_fails_the_list_as_not_implemented() {
    let device = open();
    let queue = Queue::direct(&device);
    assert_eq!(queue.close_after(|list| unsafe { list.DrawInstanced(3, 1, 0, 0) }), E_NOTIMPL);
    assert_eq!(queue.close_after(|list| unsafe { list.Dispatch(1, 1, 1) }), E_NOTIMPL);
    let state_only = queue.close_after(|list| unsafe {
        list.IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST));
        list.BeginEvent(0, None, 0);
        list.EndEvent();
    });
    assert_eq!(state_only, S_OK);
}

#[test]
fn queues_are_checked_and_described() {
    let device = open();
    let create =
        |desc: D3D12_COMMAND_QUEUE_DESC| unsafe { device.CreateCommandQueue::<ID3D12CommandQueue>(&desc) };
    let normal = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
    let queue = create(normal).expect("a queue");
    assert_eq!(unsafe { queue.GetDesc() }.Type, D3D12_COMMAND_LIST_TYPE_COPY);
    assert_ne!(unsafe { queue.GetTimestampFrequency() }.expect("a frequency"), 0);
    let (mut gpu, mut cpu) = (0, 0);
    unsafe { queue.GetClockCalibration(&mut gpu, &mut cpu) }.succeeds();
    assert_ne!(gpu, 0);
    assert_eq!(
        code(create(D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_BUNDLE, ..normal })),
        E_INVALIDARG
    );
    assert_eq!(code(create(D3D12_COMMAND_QUEUE_DESC { Priority: 5, ..normal })), E_INVALIDARG);
    assert_eq!(code(create(D3D12_COMMAND_QUEUE_DESC { Flags: 64, ..normal })), E_INVALIDARG);
    assert_eq!(code(create(D3D12_COMMAND_QUEUE_DESC { NodeMask: 2, ..normal })), E_INVALIDARG);
    let foreign = create_fence(&open(), 0);
    assert_eq!(code(unsafe { queue.Signal(&foreign, 1) }), E_INVALIDARG);
    assert_eq!(code(unsafe { queue.Wait(None, 1) }), E_INVALIDARG);
}

fn reserve(device: &ID3D12Device14, width: u64) -> ID3D12Resource {
    let mut resource = None;
    let desc = buffer_desc(width, D3D12_RESOURCE_FLAG_NONE);
    unsafe { device.CreateReservedResource(&desc, D3D12_RESOURCE_STATE_COMMON, None, &mut resource) }
        .expect("a reserved buffer");
    resource.expect("S_OK comes with a resource")
}

fn create_heap(device: &ID3D12Device14, size: u64) -> ID3D12Heap {
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    let desc =
        D3D12_HEAP_DESC { SizeInBytes: size, Properties: properties, Flags: flags, ..Default::default() };
    let mut heap = None;
    unsafe { device.CreateHeap(&desc, &mut heap) }.expect("a heap");
    heap.expect("S_OK comes with a heap")
}

const TILE: u64 = 65536;

/// Maps tiles from `first` on to what `ranges` says: flags, first tile of the heap, count.
fn map_tiles(
    queue: &Queue,
    resource: &ID3D12Resource,
    first: u32,
    heap: Option<&ID3D12Heap>,
    ranges: &[(i32, u32, u32)],
) {
    let count = u32::try_from(ranges.len()).expect("few");
    let flags: Vec<_> = ranges.iter().map(|range| range.0).collect();
    let offsets: Vec<_> = ranges.iter().map(|range| range.1).collect();
    let counts: Vec<_> = ranges.iter().map(|range| range.2).collect();
    let start = D3D12_TILED_RESOURCE_COORDINATE { X: first, ..Default::default() };
    let size = D3D12_TILE_REGION_SIZE { NumTiles: counts.iter().sum(), ..Default::default() };
    unsafe {
        queue.queue.UpdateTileMappings(
            resource,
            1,
            Some(&start),
            Some(&size),
            heap,
            count,
            Some(flags.as_ptr()),
            Some(offsets.as_ptr()),
            Some(counts.as_ptr()),
            D3D12_TILE_MAPPING_FLAG_NONE,
        );
    }
}

#[test]
fn tiles_stand_where_the_queue_maps_them() {
    let device = open();
    let queue = Queue::direct(&device);
    let tiled = reserve(&device, 4 * TILE);
    let heap = create_heap(&device, 4 * TILE);
    let upload = commit(&device, D3D12_HEAP_TYPE_UPLOAD, 4 * TILE);
    let readback = commit(&device, D3D12_HEAP_TYPE_READBACK, 4 * TILE);
    for (index, tile) in bytes(&upload).chunks_mut(65536).enumerate() {
        tile.fill(u8::try_from(index + 1).expect("few"));
    }
    let tiles = || {
        unsafe { queue.list.CopyResource(&readback, &tiled) };
        queue.run();
        let tiles = bytes(&readback).chunks(65536);
        tiles.map(|tile| tile.iter().all(|byte| *byte == tile[0]).then_some(tile[0])).collect::<Vec<_>>()
    };
    let (none, null, skip, reuse) = (
        D3D12_TILE_RANGE_FLAG_NONE,
        D3D12_TILE_RANGE_FLAG_NULL,
        D3D12_TILE_RANGE_FLAG_SKIP,
        D3D12_TILE_RANGE_FLAG_REUSE_SINGLE_TILE,
    );
    assert_eq!(tiles(), [Some(0); 4], "nothing is mapped");
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 2, 2), (null, 0, 1), (none, 0, 1)]);
    unsafe { queue.list.CopyResource(&tiled, &upload) };
    assert_eq!(tiles(), [Some(1), Some(2), Some(0), Some(4)], "writes to a null tile are dropped");
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(skip, 0, 1), (reuse, 0, 3)]);
    assert_eq!(tiles(), [Some(1), Some(4), Some(4), Some(4)]);
    // What does not fit the heap or the resource changes nothing.
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(none, 3, 2)]);
    map_tiles(&queue, &tiled, 3, Some(&heap), &[(none, 0, 2)]);
    map_tiles(&queue, &tiled, 0, None, &[(none, 0, 1)]);
    map_tiles(&queue, &tiled, 0, Some(&heap), &[(64, 0, 1)]);
    map_tiles(&queue, &upload, 0, Some(&heap), &[(none, 0, 1)]);
    assert_eq!(tiles(), [Some(1), Some(4), Some(4), Some(4)]);

    let at = |x| D3D12_TILED_RESOURCE_COORDINATE { X: x, ..Default::default() };
    let two = D3D12_TILE_REGION_SIZE { NumTiles: 2, ..Default::default() };
    unsafe {
        let flags = D3D12_TILE_MAPPING_FLAG_NONE;
        queue.queue.CopyTileMappings(&tiled, &at(1), &tiled, &at(0), &two, flags);
        assert_eq!(tiles(), [Some(1), Some(1), Some(4), Some(4)]);
        let to_tiles = D3D12_TILE_COPY_FLAG_LINEAR_BUFFER_TO_SWIZZLED_TILED_RESOURCE;
        let from_tiles = D3D12_TILE_COPY_FLAG_SWIZZLED_TILED_RESOURCE_TO_LINEAR_BUFFER;
        queue.list.CopyTiles(&tiled, &at(1), &two, &upload, TILE, to_tiles);
        assert_eq!(tiles(), [Some(2), Some(2), Some(3), Some(3)], "tiles share memory");
        queue.list.CopyTiles(&tiled, &at(1), &two, &readback, 0, from_tiles);
        queue.run();
        assert_eq!((bytes(&readback)[0], bytes(&readback)[65536]), (2, 3));
        let refused = |start, buffer, offset, flags| {
            queue.close_after(|list| list.CopyTiles(&tiled, &at(start), &two, buffer, offset, flags))
        };
        assert_eq!(refused(3, &upload, 0, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 3 * TILE, to_tiles), E_INVALIDARG);
        assert_eq!(refused(0, &upload, 0, from_tiles), E_INVALIDARG, "an UPLOAD heap");
        assert_eq!(refused(0, &upload, 0, 0), E_INVALIDARG, "no direction");
        let untiled = queue.close_after(|list| list.CopyTiles(&readback, &at(0), &two, &upload, 0, to_tiles));
        assert_eq!(untiled, E_INVALIDARG);
        assert_eq!(code(device.GetDeviceRemovedReason()), S_OK);
        // Tiles do not keep their heap alive.
        drop(heap);
        queue.list.CopyBufferRegion(&readback, 0, &tiled, 0, 4);
        queue.list.Close().succeeds();
        queue.execute(&[&queue.list]);
        queue.fence.SetEventOnCompletion(u64::MAX, HANDLE::default()).succeeds();
        assert_eq!(code(device.GetDeviceRemovedReason()), DXGI_ERROR_DEVICE_HUNG);
    }
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
    let borrow = |resource: Option<&ID3D12Resource>| {
        ManuallyDrop::new(resource.map(|resource| unsafe { ID3D12Resource::from_raw(resource.as_raw()) }))
    };
    let aliasing = |before, after| D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_ALIASING,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            Aliasing: ManuallyDrop::new(D3D12_RESOURCE_ALIASING_BARRIER {
                pResourceBefore: borrow(before),
                pResourceAfter: borrow(after),
            }),
        },
    };
    let uav = |resource| D3D12_RESOURCE_BARRIER {
        Type: D3D12_RESOURCE_BARRIER_TYPE_UAV,
        Flags: D3D12_RESOURCE_BARRIER_FLAG_NONE,
        Anonymous: D3D12_RESOURCE_BARRIER_0 {
            UAV: ManuallyDrop::new(D3D12_RESOURCE_UAV_BARRIER { pResource: borrow(resource) }),
        },
    };
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

#[test]
fn descriptors_are_copied_range_by_range() {
    let device = open();
    let queue = Queue::direct(&device);
    let (views, none) = (D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, D3D12_DESCRIPTOR_HEAP_FLAG_NONE);
    let (from, to) = (
        descriptor_heap(&device, views, 4, none).expect("a heap"),
        descriptor_heap(&device, views, 4, none).expect("a heap"),
    );
    let visible =
        descriptor_heap(&device, views, 1, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE).expect("a heap");
    let buffer =
        commit_with(&device, D3D12_HEAP_TYPE_DEFAULT, 64, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    let desc = D3D12_UNORDERED_ACCESS_VIEW_DESC {
        Format: DXGI_FORMAT_R32_UINT,
        ViewDimension: D3D12_UAV_DIMENSION_BUFFER,
        Anonymous: D3D12_UNORDERED_ACCESS_VIEW_DESC_0 {
            Buffer: D3D12_BUFFER_UAV { NumElements: 16, ..Default::default() },
        },
    };
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
        // 0, 2 to 3, 2: the sizes of both sides differ, their sums do not.
        let (targets, sources) = ([at(&to, 2)], [at(&from, 2), at(&from, 0)]);
        device.CopyDescriptors(1, targets.as_ptr(), Some(&2), 2, sources.as_ptr(), None, views);
        assert_eq!([0, 1, 2, 3].map(clear), [E_INVALIDARG, E_INVALIDARG, S_OK, S_OK]);
        // What is not there overwrites what is.
        device.CopyDescriptorsSimple(1, at(&to, 3), at(&from, 1), views);
        assert_eq!(clear(3), E_INVALIDARG);
        // Refused as a whole: beyond a heap, of another type, from a shader-visible heap, of different sums.
        device.CopyDescriptorsSimple(3, at(&to, 0), at(&from, 2), views);
        device.CopyDescriptorsSimple(1, at(&to, 0), at(&from, 0), D3D12_DESCRIPTOR_HEAP_TYPE_RTV);
        device.CreateUnorderedAccessView(&buffer, None, Some(&desc), at(&visible, 0));
        device.CopyDescriptorsSimple(1, at(&to, 0), at(&visible, 0), views);
        device.CopyDescriptors(1, [at(&to, 0)].as_ptr(), Some(&1), 1, sources.as_ptr(), Some(&2), views);
        device.CopyDescriptors(1, null(), None, 1, null(), None, views);
        assert_eq!(clear(0), E_INVALIDARG);
        // A released resource leaves its views behind.
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

#[test]
fn objects_answer_to_their_interfaces() {
    let device = open();
    let queue = Queue::direct(&device);
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
fn queues_work_side_by_side() {
    let device = open();
    std::thread::scope(|scope| {
        for seed in 1..=6_u8 {
            let device = &device;
            scope.spawn(move || {
                let queue = Queue::new(device, D3D12_COMMAND_LIST_TYPE_COPY);
                let upload = commit(device, D3D12_HEAP_TYPE_UPLOAD, 4096);
                let local = commit(device, D3D12_HEAP_TYPE_DEFAULT, 4096);
                let readback = commit(device, D3D12_HEAP_TYPE_READBACK, 4096);
                for round in 0..50 {
                    bytes(&upload).fill(seed.wrapping_mul(round));
                    unsafe {
                        queue.list.CopyResource(&local, &upload);
                        queue.list.CopyResource(&readback, &local);
                    }
                    queue.run();
                    assert!(bytes(&readback).iter().all(|byte| *byte == seed.wrapping_mul(round)));
                }
            });
        }
    });
}

#[test]
fn a_queue_that_waits_forever_can_be_released() {
    let device = open();
    let queue = Queue::direct(&device);
    let never = create_fence(&device, 0);
    unsafe {
        queue.list.Close().succeeds();
        queue.queue.Wait(&never, 1).succeeds();
        queue.execute(&[&queue.list]);
    }
    let Queue { queue, allocator, .. } = queue;
    assert_eq!(code(unsafe { allocator.Reset() }), E_FAIL, "it waits to execute");
    drop(queue);
    assert_eq!(code(unsafe { allocator.Reset() }), S_OK, "it never will");
}

#[test]
fn refused_commands_say_which_rule_they_broke() {
    let device = open();
    let queue = Queue::direct(&device);
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
fn every_object_goes_when_it_is_released() {
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
