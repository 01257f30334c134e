//! Timestamp queries. They need no wait: each test compares values of one clock.

use heapwright_d3d12::*;

use crate::gpu::*;

pub(crate) fn timestamp_heap(device: &ID3D12Device14, count: u32) -> ID3D12QueryHeap {
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: count, NodeMask: 0 };
    let mut heap = None;
    unsafe { device.CreateQueryHeap(&desc, &mut heap) }.succeeds();
    heap.expect("S_OK comes with a heap")
}

fn gpu_now(queue: &Queue) -> u64 {
    let (mut gpu, mut cpu) = (0, 0);
    unsafe { queue.queue.GetClockCalibration(&mut gpu, &mut cpu) }.succeeds();
    gpu
}

fn words(buffer: &ID3D12Resource) -> Vec<u64> {
    bytes(buffer).chunks(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
}

/// Queries of one queue tell when their commands ran: between two calibrations of its clock, and in order.
pub(crate) fn follow_the_queue_clock(device: &ID3D12Device14) {
    const COUNT: u32 = 5;
    const TIMESTAMP: D3D12_QUERY_TYPE = D3D12_QUERY_TYPE_TIMESTAMP;
    let queue = Queue::direct(device);
    let heap = timestamp_heap(device, COUNT);
    let results = commit(device, D3D12_HEAP_TYPE_READBACK, 8 * 8);
    bytes(&results).fill(0xee);
    let resolve = |first, count, offset| unsafe {
        queue.list.ResolveQueryData(&heap, TIMESTAMP, first, count, &results, offset);
    };
    let before = gpu_now(&queue);
    unsafe {
        for index in 0..3 {
            queue.list.EndQuery(&heap, TIMESTAMP, index);
        }
    }
    resolve(0, 4, 8);
    queue.run();
    let after = gpu_now(&queue);
    let unwritten = u64::from_le_bytes([0xee; 8]);
    let found = words(&results);
    assert_eq!([found[0], found[5], found[6], found[7]], [unwritten; 4], "no other results are written");
    assert_eq!(found[4], 0, "the query has never ended");
    let times = [before, found[1], found[2], found[3], after];
    assert!(times.is_sorted(), "{times:?}");

    // A query may end again, and its result is the later one. A later list reads results of an earlier one.
    unsafe { queue.list.EndQuery(&heap, TIMESTAMP, 1) };
    queue.run();
    resolve(1, 1, 0);
    queue.run();
    let again = words(&results)[0];
    assert!(again >= after && again <= gpu_now(&queue), "{again} is between the calibrations");
}

#[test]
fn timestamps_follow_the_queue_clock() {
    follow_the_queue_clock(&open());
}

#[test]
fn the_clock_has_the_frequency_of_the_queue() {
    let queue = Queue::direct(&open());
    let frequency = unsafe { queue.queue.GetTimestampFrequency() }.expect("a frequency");
    let (mut gpu, mut cpu) = (0, 0);
    unsafe { queue.queue.GetClockCalibration(&mut gpu, &mut cpu) }.succeeds();
    assert_eq!(gpu, cpu, "the GPU's clock is the CPU's");
    #[cfg(not(windows))]
    assert_eq!(frequency, 1_000_000_000, "CLOCK_MONOTONIC counts nanoseconds");
    assert_ne!(frequency, 0);
}

/// Queries of other kinds measure nothing, because nothing is drawn.
#[test]
fn other_queries_are_zero() {
    let (device, queue) = open_direct();
    let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_OCCLUSION, Count: 2, NodeMask: 0 };
    let mut heap: Option<ID3D12QueryHeap> = None;
    unsafe { device.CreateQueryHeap(&desc, &mut heap) }.succeeds();
    let results = commit(&device, D3D12_HEAP_TYPE_READBACK, 16);
    bytes(&results).fill(0xee);
    unsafe {
        queue.list.BeginQuery(heap.as_ref(), D3D12_QUERY_TYPE_OCCLUSION, 0);
        queue.list.EndQuery(heap.as_ref(), D3D12_QUERY_TYPE_OCCLUSION, 0);
        queue.list.ResolveQueryData(heap.as_ref(), D3D12_QUERY_TYPE_OCCLUSION, 0, 2, &results, 0);
    }
    queue.run();
    assert_eq!(words(&results), [0, 0]);
}
