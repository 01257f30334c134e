//! The cost of creating objects on the simulated device itself: the floor for the allocator benches.
#![allow(missing_docs, reason = "a bench")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use heapwright_d3d12::*;
use heapwright_runtime::{HostProfile, Instance};

fn buffer(width: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: width,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT,
        ..Default::default()
    }
}

fn creation(criterion: &mut Criterion) {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let device = &gpu.device;
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut heap: Option<ID3D12Heap> = None;
    // SAFETY: the description and the result outlive the call.
    unsafe { device.CreateHeap(&desc, &mut heap) }.expect("created");
    let heap = heap.expect("S_OK comes with a heap");
    let buffer = buffer(1000);

    criterion.bench_function("GetResourceAllocationInfo of a buffer", |bencher| {
        // SAFETY: the description outlives the call.
        bencher.iter(|| unsafe { device.GetResourceAllocationInfo(0, black_box(&[buffer])) });
    });
    criterion.bench_function("CreatePlacedResource and Release of a buffer", |bencher| {
        bencher.iter(|| {
            let mut resource: Option<ID3D12Resource> = None;
            let state = D3D12_RESOURCE_STATE_COMMON;
            // SAFETY: the description and the result outlive the call; the range is used by nothing else.
            unsafe {
                device.CreatePlacedResource(&heap, 1024, black_box(&buffer), state, None, &mut resource)
            }
            .expect("placed");
            resource
        });
    });
    criterion.bench_function("CreateHeap and Release, 1 MiB", |bencher| {
        bencher.iter(|| {
            let mut heap: Option<ID3D12Heap> = None;
            // SAFETY: the description and the result outlive the call.
            unsafe { device.CreateHeap(black_box(&desc), &mut heap) }.expect("created");
            heap
        });
    });
}

criterion_group!(benches, creation);
criterion_main!(benches);
