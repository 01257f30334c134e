//! The cost of the allocator compared with the device alone, on the host driver, in one run.
//!
//! Each pair creates a resource and drops it, while 1,000 others are alive. `threads` prints how many times more pairs
//! 4 threads make in a second than one.
#![allow(missing_docs, reason = "a bench")]
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, FenceValue, HeapLimits, HeapType, RecordFlags, RecordOptions, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator, ResourceAllocatorDesc, ResourceDesc,
    buffer_desc,
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

fn within() -> ResourceAllocationDesc<'static> {
    ResourceAllocationDesc {
        flags: ResourceAllocationFlags::ALLOW_SUBALLOCATE_WITHIN_RESOURCE,
        ..ResourceAllocationDesc::new(HeapType::Upload)
    }
}

fn live(allocator: &ResourceAllocator, place: &ResourceAllocationDesc<'_>) -> Vec<ResourceAllocation> {
    // Mostly small ones, and some that do not use slots of slabs.
    (0..1000)
        .map(|i| create(allocator, place, if i % 10 == 0 { 20_000 + i * 200 } else { 1 + i * 37 % 16_000 }))
        .collect()
}

fn pairs(criterion: &mut Criterion) {
    let (gpu, allocator) = open();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let within = within();
    let _live = [live(&allocator, &default), live(&allocator, &within)];

    let heap = large_heap(&gpu.device);
    for size in [1000, 100_000] {
        criterion.bench_function(&format!("device alone, placed, {size} B"), |bencher| {
            bencher.iter(|| place_at(&gpu.device, &heap, 1024, black_box(size)));
        });
        criterion.bench_function(&format!("allocator, placed, {size} B"), |bencher| {
            bencher.iter(|| create(&allocator, black_box(&default), black_box(size)));
        });
    }
    criterion.bench_function("allocator, within a resource, 1000 B", |bencher| {
        bencher.iter(|| create(&allocator, black_box(&within), black_box(1000)));
    });
}

/// Returns the pairs per second of several threads in total. Each thread holds 64 objects that `create` creates from a
/// number.
fn throughput<T>(threads: usize, create: impl Fn(u64) -> T + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let time = Duration::from_millis(500);
    let count: u64 = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, create) = (&barrier, &create);
                scope.spawn(move || {
                    let mut ring: Vec<_> = (0..64).map(create).collect();
                    barrier.wait();
                    let begin = Instant::now();
                    let mut count = 0_u64;
                    while begin.elapsed() < time {
                        for (i, slot) in ring.iter_mut().enumerate() {
                            *slot = create(i as u64 * 7919 + thread as u64);
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

/// Prints how many times the pairs of one thread four threads make. The two alternate, so that other load of the
/// machine affects both. Prints the median of the ratios.
fn print_scaling<T>(name: &str, create: impl Fn(u64) -> T + Sync) {
    let mut ratios: Vec<f64> = (0..5)
        .map(|_| {
            let one = throughput(1, &create);
            throughput(4, &create) / one
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("threads, {name}: 4 make {:.2} times the pairs of 1", ratios[2]);
}

fn threads(_: &mut Criterion) {
    let (gpu, allocator) = open();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let within = within();
    print_scaling("placed", |i| create(&allocator, &default, 100 + i % 12_000));
    print_scaling("within a resource", |i| create(&allocator, &within, 100 + i % 12_000));
    let heap = large_heap(&gpu.device);
    print_scaling("device alone, one heap", |i| {
        place_at(&gpu.device, &heap, i % 1000 * 65_536, 100 + i % 12_000)
    });
    // The upper bound for two cores.
    print_scaling("arithmetic alone", |i| (0..300).fold(i, |sum, i| black_box(sum.wrapping_mul(31) + i)));
}

/// Prints what each recorded event adds to a call. A pair has two events. Pairs come in bursts, as in a frame, after
/// which the writer catches up; the fastest of many bursts is without other load of the machine.
fn recording(_: &mut Criterion) {
    const BURST: u64 = 5_000;
    let folder = tempfile::tempdir().expect("a folder");
    let within = within();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let (_gpu, plain) = open();
    for (place, place_name) in [(&within, "within a resource"), (&default, "placed")] {
        for (flags, flags_name) in [(RecordFlags::CAPTURE, "capture"), (RecordFlags::ALL, "all")] {
            for file in ["session.hws", "trace.json"] {
                let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
                let path = folder.path().join(format!("{place_name}-{flags_name}-{file}"));
                let record_options = RecordOptions { flags, trace_file: Some(path), ..Default::default() };
                let desc = ResourceAllocatorDesc { record_options, ..Default::default() };
                let recorded = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
                let burst = |allocator: &ResourceAllocator| {
                    let begin = Instant::now();
                    for i in 0..BURST {
                        drop(create(allocator, place, 100 + i % 1000));
                    }
                    let time = begin.elapsed();
                    std::thread::sleep(Duration::from_millis(20));
                    time
                };
                let fastest = |allocator| (0..20).map(|_| burst(allocator)).min().unwrap_or_default();
                let (without, with) = (fastest(&plain), fastest(&recorded));
                let events = if flags == RecordFlags::ALL { 3 } else { 2 } * BURST;
                let added = with.saturating_sub(without).as_nanos() as f64 / events as f64;
                println!("recording, {place_name}, {flags_name}, {file}: {added:.0} ns per event");
            }
        }
    }
}

/// Prints the time of an allocation and its deferred free while 1,000 and 100,000 others wait for fence values in
/// random order.
fn deferred(_: &mut Criterion) {
    const BURST: u64 = 1_000;
    let (gpu, allocator) = open();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    // SAFETY: the device is a live COM object.
    let fence: ID3D12Fence = unsafe { gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence");
    let mut value = 0_u64;
    for bursts in [1..=1, 2..=100] {
        let mut fastest = Duration::MAX;
        for _ in bursts {
            let begin = Instant::now();
            for _ in 0..BURST {
                value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) % (1 << 40);
                allocator
                    .free_after(create(&allocator, &default, 64), &fence, FenceValue::new(1 + value))
                    .expect("its own");
            }
            fastest = fastest.min(begin.elapsed());
        }
        let waiting = allocator.stats().deferred_count;
        println!("deferred, {waiting} waiting: {:.0} ns", fastest.as_nanos() as f64 / BURST as f64);
    }
    // SAFETY: the fence is a live COM object.
    unsafe { fence.Signal(u64::MAX - 1) }.ok().expect("signalled");
}

/// Prints the times of calls at a limit. Each round drops an object and asks for another one, which often has no room;
/// one round in 16 asks for more than any range has.
fn at_a_limit(_: &mut Criterion) {
    for (heap_count, live_count) in [(20, 10_000), (20, 100_000), (300, 10_000), (300, 100_000)] {
        let gpu = Instance::open(HostProfile::default_profile()).expect("a fresh instance");
        let heap_size = ByteSize::from_mib(4);
        let limit = ByteSize::new(heap_size.get() * heap_count);
        let desc = ResourceAllocatorDesc {
            preferred_heap_size: Some(heap_size),
            limits: HeapLimits { default: Some(limit), ..Default::default() },
            ..Default::default()
        };
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).expect("sound");
        let place = ResourceAllocationDesc::new(HeapType::Default);
        let mean = limit.get() / live_count;
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let mut live = Vec::new();
        let mut times: [Vec<Duration>; 2] = Default::default();
        for round in 0..live_count + 3000 {
            let is_measured = round >= live_count;
            if is_measured {
                let at = next(ByteSize::from_usize(live.len()).get());
                drop(live.swap_remove(usize::try_from(at).expect("an index")));
            }
            let size = if is_measured && round % 16 == 0 { heap_size.get() - 1 } else { 1 + next(2 * mean) };
            let desc = buffer_desc(ByteSize::new(size));
            let resource = ResourceDesc::new(&desc);
            let begin = Instant::now();
            let made = allocator.create(&place, resource);
            let created = begin.elapsed();
            if let Ok(made) = made {
                live.push(made);
            }
            if is_measured {
                let begin = Instant::now();
                let _predicted = black_box(allocator.probe(&place, resource));
                times[0].push(created);
                times[1].push(begin.elapsed());
            }
        }
        for (name, times) in ["create", "probe"].iter().zip(&mut times) {
            times.sort();
            let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).expect("3000");
            let [median, most] = [times[times.len() / 2], times[times.len() * 99 / 100]];
            let (held, heaps) = (live.len(), allocator.stats().used_heap_count);
            println!(
                "at a limit, {heaps} heaps, {held} live, {name}: mean {mean:.1?}, median {median:.1?}, 99 % {most:.1?}"
            );
        }
    }
}

fn large_heap(device: &ID3D12Device) -> ID3D12Heap {
    let desc = D3D12_HEAP_DESC {
        SizeInBytes: 64 << 20,
        Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
        Flags: D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        ..Default::default()
    };
    let mut made: Option<ID3D12Heap> = None;
    // SAFETY: the description and the result outlive the call.
    unsafe { device.CreateHeap(&desc, &mut made) }.expect("created");
    made.expect("S_OK comes with a heap")
}

/// Resources may overlap, because none is used.
fn place_at(device: &ID3D12Device, heap: &ID3D12Heap, offset: u64, size: u64) -> ID3D12Resource {
    let mut desc = buffer_desc(ByteSize::new(size));
    desc.Flags |= D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT;
    let mut resource: Option<ID3D12Resource> = None;
    let state = D3D12_RESOURCE_STATE_COMMON;
    // SAFETY: the description and the result outlive the call.
    unsafe { device.CreatePlacedResource(heap, offset, black_box(&desc), state, None, &mut resource) }
        .expect("placed");
    resource.expect("S_OK comes with a resource")
}

criterion_group!(benches, pairs, threads, recording, deferred, at_a_limit);
criterion_main!(benches);
