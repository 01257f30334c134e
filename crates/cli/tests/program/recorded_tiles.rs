//! Recordings of programs with pools of tiles.

use std::fs::{self, File};

use heapwright::d3d12::*;
use heapwright::{ByteSize, FenceValue, PoolDesc, ResourceAllocator, ResourceAllocatorDesc, buffer_desc};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_tiles::{GrowingBuffer, TilePool};
use heapwright_trace::RecordReader;
use heapwright_trace::session::Action;

use crate::recorded_program::record_to;
use crate::support::{Folder, heapwright, json};

/// Two caches grow in turns, and shrink; the second one is freed.
#[test]
fn tiles_are_in_reports_and_their_heaps_in_replays() {
    let folder = Folder::new();
    let file = folder.path().join("tiles.hws");
    {
        let gpu = Instance::open(HostProfile::default_profile()).unwrap();
        let desc = ResourceAllocatorDesc { record_options: record_to(&file), ..Default::default() };
        let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), desc).unwrap();
        let desc = PoolDesc { heap_size: Some(ByteSize::from_mib(1)), ..Default::default() };
        let pool = TilePool::new(&allocator, desc).unwrap();
        let desc = D3D12_COMMAND_QUEUE_DESC { Type: D3D12_COMMAND_LIST_TYPE_COPY, ..Default::default() };
        // SAFETY: the device is alive, and each result is of the interface asked for.
        let (queue, fence): (ID3D12CommandQueue, ID3D12Fence) = unsafe {
            (
                gpu.device.CreateCommandQueue(&desc).unwrap(),
                gpu.device.CreateFence(0, D3D12_FENCE_FLAG_NONE).unwrap(),
            )
        };
        let mut caches: Vec<GrowingBuffer> = (0..2)
            .map(|_| GrowingBuffer::in_tiles(&pool, &buffer_desc(ByteSize::from_mib(64))).unwrap())
            .collect();
        for (name, cache) in ["keys\0", "values\0"].into_iter().zip(&caches) {
            let name: Vec<u16> = name.encode_utf16().collect();
            // SAFETY: the name ends with a zero, and outlives the call.
            unsafe { cache.resource().SetName(PCWSTR(name.as_ptr())) }.ok().unwrap();
        }
        let mut value = 0;
        for mib in [1, 3, 2] {
            for cache in &mut caches {
                value += 1;
                cache.grow(ByteSize::from_mib(mib)).unwrap();
                cache.shrink(ByteSize::from_mib(mib)).unwrap();
                // SAFETY: the queue signals the value after the update, and nothing else uses the buffer.
                unsafe {
                    cache.update(&queue, &fence, FenceValue::new(value)).unwrap();
                    queue.Signal(&fence, value).ok().unwrap();
                    fence.SetEventOnCompletion(value, HANDLE::default()).ok().unwrap();
                }
                pool.collect();
            }
        }
        drop(caches.pop());
    }
    let records = RecordReader::new(&file, File::open(&file).unwrap()).unwrap();
    let actions: Vec<Action> = records.map(|record| record.unwrap().action).collect();
    let count = |is: fn(&Action) -> bool| actions.iter().filter(|action| is(action)).count();
    assert_eq!(count(|action| matches!(action, Action::Reserve { .. })), 2);
    assert_eq!(count(|action| matches!(action, Action::Unreserve { .. })), 2);
    let path = file.to_str().unwrap();
    let page = folder.path().join("page.html");
    let report = json(["report", "--json", "-o", page.to_str().unwrap(), path]);
    let number = |key: &str| report[key].as_u64().unwrap();
    assert_eq!(number("reserved_resources"), 2);
    assert_eq!((number("peak_mapped_bytes"), number("end_mapped_bytes")), (6 << 20, 0));
    assert_eq!((number("peak_used_bytes"), number("unknown_references")), (6 << 20, 0));
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"keys\"") && html.contains("\"values\""), "the resources are named");
    let text = heapwright(["report", "-o", page.to_str().unwrap(), path]).ok();
    assert!(text.contains("of 2 reserved resources: at most 6.00 MiB mapped; 0 B at the end"), "{text}");
    // The same heaps, compared with the recording.
    let replay = heapwright(["replay", "--profile", "captured", path]);
    assert_eq!(replay.code, 0, "{}{}", replay.stdout, replay.stderr);
    for command in ["convert", "residency"] {
        let out = folder.path().join("again.hws");
        let outcome = match command {
            "convert" => heapwright([command, path, out.to_str().unwrap()]),
            _ => heapwright([command, path]),
        };
        assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
    }
}
