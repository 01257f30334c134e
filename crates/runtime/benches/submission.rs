//! The cost of submitting work on the simulated device itself: the floor for the residency manager benches.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "every call here is one of D3D12's, on live objects")]

use std::cell::Cell;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};
use windows_core::Interface;

/// Number of calls in a sample. The queue is drained after each sample, outside of the measurement.
const CALLS: u64 = 64;

fn wait(fence: &ID3D12Fence, value: u64) {
    unsafe { fence.SetEventOnCompletion(value, HANDLE::default()) }.ok().expect("a null event blocks");
}

fn submission(criterion: &mut Criterion) {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device = &gpu.device;
    let list_type = D3D12_COMMAND_LIST_TYPE_COPY;
    let queue_desc = D3D12_COMMAND_QUEUE_DESC { Type: list_type, ..Default::default() };
    let (queue, fence, list) = unsafe {
        let queue: ID3D12CommandQueue = device.CreateCommandQueue(&queue_desc).expect("created");
        let fence: ID3D12Fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("created");
        let allocator: ID3D12CommandAllocator = device.CreateCommandAllocator(list_type).expect("created");
        let list: ID3D12GraphicsCommandList =
            device.CreateCommandList(0, list_type, &allocator, None).expect("created");
        list.Close().ok().expect("closed");
        (queue, fence, list)
    };
    let lists = [Some(list.cast::<ID3D12CommandList>().expect("a command list"))];
    let value = Cell::new(0_u64);
    let drain = || {
        value.set(value.get() + 1);
        unsafe { queue.Signal(&fence, value.get()) }.ok().expect("signalled");
        wait(&fence, value.get());
    };
    let mut measure = |name: &str, call: &dyn Fn()| {
        criterion.bench_function(&format!("{name}, {CALLS} times"), |bencher| {
            bencher.iter_batched(drain, |()| (0..CALLS).for_each(|_| call()), BatchSize::PerIteration);
        });
        drain();
    };
    measure("ExecuteCommandLists of an empty list", &|| unsafe {
        queue.ExecuteCommandLists(black_box(&lists));
    });
    measure("Signal", &|| {
        value.set(value.get() + 1);
        unsafe { queue.Signal(black_box(&fence), value.get()) }.ok().expect("signalled");
    });
    measure("Wait for what is reached", &|| {
        unsafe { queue.Wait(black_box(&fence), 0) }.ok().expect("waits");
    });
    measure("GetCompletedValue", &|| {
        black_box(unsafe { black_box(&fence).GetCompletedValue() });
    });
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: 1 << 16,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut heap: Option<ID3D12Heap> = None;
    unsafe { device.CreateHeap(&desc, &mut heap) }.expect("created");
    let heap = [Some(heap.expect("S_OK comes with a heap").cast::<ID3D12Pageable>().expect("a pageable"))];
    measure("Evict and MakeResident of a heap", &|| unsafe {
        device.Evict(black_box(&heap)).ok().expect("evicted");
        device.MakeResident(black_box(&heap)).ok().expect("resident");
    });
}

criterion_group!(benches, submission);
criterion_main!(benches);
