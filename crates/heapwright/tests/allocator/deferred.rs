//! Deferred frees: memory becomes reusable once the GPU has reached a fence value.

use crate::gpu::*;
use crate::log_lines::warnings;
use heapwright::d3d12::*;
use heapwright::*;
use windows_core::Interface;

fn fence(gpu: &impl Opened) -> ID3D12Fence {
    // SAFETY: the device is a live COM object.
    unsafe { gpu.device().CreateFence(0, D3D12_FENCE_FLAG_NONE) }.expect("a fence")
}

fn signal(fence: &ID3D12Fence, value: u64) {
    // SAFETY: the fence is a live COM object.
    unsafe { fence.Signal(value) }.ok().expect("signalled");
}

#[test]
fn an_allocation_is_freed_once_its_fence_is_reached_and_no_sooner() {
    let (gpu, allocator) = with_allocator(any_device());
    let [graphics, copies] = [fence(&gpu), fence(&gpu)];
    let all = [(&graphics, 1), (&graphics, 3), (&graphics, 2), (&copies, 1), (&graphics, 3)];
    for (fence, value) in all {
        allocator.free_after(local(&allocator, 1000), fence, FenceValue::new(value));
    }
    let waiting = || {
        let stats = allocator.stats();
        assert_eq!(stats.deferred_count, stats.allocation_count, "they are among the live ones");
        stats.deferred_count
    };
    assert_eq!((allocator.collect(), waiting()), (0, 5));
    signal(&graphics, 2);
    assert_eq!(waiting(), 5, "nothing happens by itself");
    assert_eq!((allocator.collect(), waiting()), (2, 3));
    signal(&copies, 100);
    assert_eq!((allocator.collect(), waiting()), (1, 2));
    signal(&graphics, 3);
    assert_eq!((allocator.collect(), waiting()), (2, 0));
    // A fence value that has already been reached.
    allocator.free_after(local(&allocator, 1000), &graphics, FenceValue::new(1));
    assert_eq!((allocator.collect(), allocator.collect()), (1, 0));
    assert_returns_everything(&allocator, &gpu);
}

#[test]
fn what_is_reached_is_freed_before_memory_is_said_to_be_short() {
    let (gpu, allocator) = with_allocator(open("discrete-2gib"));
    let done = fence(&gpu);
    allocator.free_after(local(&allocator, 1024 * MIB), &done, FenceValue::new(1));
    let large = HeapType::Default.into_place();
    refused(try_buffer(&allocator, &large, 1536 * MIB), Error::is_out_of_memory);
    signal(&done, 1);
    drop(buffer(&allocator, &large, 1536 * MIB));
    assert_eq!(allocator.stats().deferred_count, 0);
}

#[test]
fn a_removed_devices_fences_are_all_reached() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let never = fence(&gpu);
    allocator.free_after(local(&allocator, 1000), &never, FenceValue::new(u64::MAX));
    assert_eq!(allocator.collect(), 0);
    let device: ID3D12Device5 = gpu.device.cast().expect("it has that interface");
    // SAFETY: the device is a live COM object.
    unsafe { device.RemoveDevice() };
    assert_eq!(allocator.collect(), 1);
    let error = try_buffer(&allocator, &HeapType::Upload.into_place(), 1000).expect_err("the device is gone");
    assert!(error.is_device_removed() && !error.is_out_of_memory(), "{error}");
    allocator.audit().expect("consistent");
}

#[test]
fn what_the_gpu_may_still_use_is_never_pulled_from_under_it() {
    let gpu = open("discrete");
    let (never, done) = (fence(&gpu), fence(&gpu));
    let allocator = usual(&gpu);
    allocator.free_after(local(&allocator, 1000), &never, FenceValue::new(1));
    allocator.free_after(local(&allocator, 8 * MIB), &done, FenceValue::new(1));
    signal(&done, 1);
    let ((), logged) = warnings(|| drop(allocator));
    assert!(logged.iter().any(|line| line.contains("count=1")), "{logged:?}");
    assert!(usage(&gpu) > ByteSize::ZERO, "one is lost on purpose");

    let gpu = open("discrete");
    let done = fence(&gpu);
    let allocator = usual(&gpu);
    allocator.free_after(local(&allocator, 1000), &done, FenceValue::new(1));
    signal(&done, 1);
    let ((), logged) = warnings(|| drop(allocator));
    assert_eq!((logged, usage(&gpu)), (Vec::<String>::new(), ByteSize::ZERO));
}

/// Returns the duration of each batch of calls, in seconds.
fn batches(count: usize, mut act: impl FnMut(usize)) -> Vec<f64> {
    (0..20)
        .map(|batch| {
            let began = std::time::Instant::now();
            (batch * count..(batch + 1) * count).for_each(&mut act);
            began.elapsed().as_secs_f64()
        })
        .collect()
}

#[test]
fn an_allocation_costs_the_same_however_many_fences_and_values_wait() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let within = place(HeapType::Upload, WITHIN);
    let count = 1000;
    let fences: Vec<_> = (0..20 * count).map(|_| fence(&gpu)).collect();
    let one = fence(&gpu);
    // First with one fence for each allocation, then with one fence and values in random order.
    let with_a_fence_each = batches(count, |number| {
        allocator.free_after(buffer(&allocator, &within, 64), &fences[number], FenceValue::new(1));
    });
    let out_of_order = batches(count, |number| {
        let value = 1 + (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_003;
        allocator.free_after(buffer(&allocator, &within, 64), &one, FenceValue::new(value));
    });
    for times in [with_a_fence_each, out_of_order] {
        // Takes the fastest of several batches, as other processes share the machine. Linear cost per call
        // would make the ratio ten.
        let least = |times: &[f64]| times.iter().copied().fold(f64::MAX, f64::min);
        let (first, last) = (least(&times[..4]), least(&times[16..]));
        assert!(last < 5.0 * first, "{first} s and later {last} s for {count} calls");
    }
    assert_eq!(allocator.stats().deferred_count, 40 * count as u64);
    fences.iter().step_by(2).for_each(|fence| signal(fence, 1));
    assert_eq!(allocator.collect(), 10 * count);
    fences.iter().for_each(|fence| signal(fence, 1));
    signal(&one, u64::MAX - 1);
    assert_eq!((allocator.collect(), allocator.stats().deferred_count), (30 * count, 0));
    assert_returns_everything(&allocator, &gpu);
}
