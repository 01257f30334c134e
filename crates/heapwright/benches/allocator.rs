//! What the allocator costs beside the device alone, on the host driver, in one run.
//!
//! Each pair creates a resource and drops it, while 1,000 others live. `threads` prints how much more pairs 4 threads make in a
//! second than one.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocator, buffer_desc,
};
use heapwright_runtime::{HostProfile, Instance};

fn open() -> (Instance, ResourceAllocator) {
    let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
    let allocator =
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default()).expect("sound");
    (gpu, allocator)
}

fn create(
    allocator: &ResourceAllocator,
    place: &ResourceAllocationDesc<'_>,
    size: u64,
) -> ResourceAllocation {
    let desc = buffer_desc(ByteSize::new(size));
    allocator.create_resource(place, &desc, D3D12_RESOURCE_STATE_COMMON, None).expect("there is room")
}

fn live(allocator: &ResourceAllocator, place: &ResourceAllocationDesc<'_>) -> Vec<ResourceAllocation> {
    (0..1000).map(|i| create(allocator, place, 1 + i * 37 % 16_000)).collect()
}

fn pairs(criterion: &mut Criterion) {
    let (gpu, allocator) = open();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let within = ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ..ResourceAllocationDesc::new(HeapType::Upload)
    };
    let _live = [live(&allocator, &default), live(&allocator, &within)];

    let heap = D3D12_HEAP_DESC {
        SizeInBytes: 1 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut made: Option<ID3D12Heap> = None;
    // SAFETY: the description and the result outlive the call.
    unsafe { gpu.device.CreateHeap(&heap, &mut made) }.expect("created");
    let heap = made.expect("S_OK comes with a heap");
    let mut desc = buffer_desc(ByteSize::new(1000));
    desc.Flags |= D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;

    for size in [1000, 100_000] {
        desc.Width = size;
        criterion.bench_function(&format!("device alone, placed, {size} B"), |bencher| {
            bencher.iter(|| {
                let mut resource: Option<ID3D12Resource> = None;
                let state = D3D12_RESOURCE_STATE_COMMON;
                // SAFETY: the description and the result outlive the call; nothing else uses the range.
                unsafe {
                    gpu.device.CreatePlacedResource(&heap, 1024, black_box(&desc), state, None, &mut resource)
                }
                .expect("placed");
                resource
            });
        });
        criterion.bench_function(&format!("allocator, placed, {size} B"), |bencher| {
            bencher.iter(|| create(&allocator, black_box(&default), black_box(size)));
        });
    }
    criterion.bench_function("allocator, within a resource, 1000 B", |bencher| {
        bencher.iter(|| create(&allocator, black_box(&within), black_box(1000)));
    });
}

/// Pairs that each of some threads makes in a while, in all.
fn throughput(allocator: &ResourceAllocator, place: &ResourceAllocationDesc<'_>, threads: usize) -> f64 {
    let barrier = Barrier::new(threads);
    let time = Duration::from_millis(500);
    let count: u64 = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut ring: Vec<_> = (0..64).map(|i| create(allocator, place, 100 + i * 200)).collect();
                    barrier.wait();
                    let begin = Instant::now();
                    let mut count = 0_u64;
                    while begin.elapsed() < time {
                        for (i, slot) in ring.iter_mut().enumerate() {
                            *slot =
                                create(allocator, place, 100 + (i as u64 * 7919 + thread as u64) % 12_000);
                            count += 1;
                        }
                    }
                    count
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().expect("no panic")).sum()
    });
    count as f64 / time.as_secs_f64()
}

fn threads(_: &mut Criterion) {
    let (_gpu, allocator) = open();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let within = ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ..ResourceAllocationDesc::new(HeapType::Upload)
    };
    for (name, place) in [("placed", &default), ("within a resource", &within)] {
        // Alternately, so that what else the machine does concerns both; the median of the ratios.
        let mut ratios: Vec<f64> = (0..5)
            .map(|_| {
                let one = throughput(&allocator, place, 1);
                throughput(&allocator, place, 4) / one
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!("threads, {name}: 4 make {:.2} times the pairs of 1", ratios[2]);
    }
}

criterion_group!(benches, pairs, threads);
criterion_main!(benches);
