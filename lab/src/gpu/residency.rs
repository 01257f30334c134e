//! A working set of four times the budget, whose contents must survive.

use std::time::Instant;

use heapwright::d3d12::*;
use heapwright::residency::{ResidencyList, ResidencyManagerDesc};
use heapwright::{ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, SegmentGroup, buffer_desc};

use super::queue::{self, Queue, heap, map, placed};
use super::table::Row;
use super::{GIB, Result};

const BUFFER: u64 = 256 << 20;

/// Writes a working set of `size` bytes under a budget of a quarter of it, then reads and checks all of it.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn quarter(index: usize, size: u64) -> Result<Vec<Row>> {
    let gpu = queue::open(index)?;
    let budget = size / 4;
    gpu.set_budget(heapwright_runtime::SegmentGroup::Local, ByteSize::new(budget));
    let (allocator, manager) = ResourceAllocator::with_new_residency(
        &gpu.device,
        Some(&gpu.adapter),
        Default::default(),
        ResidencyManagerDesc::default(),
    )?;
    let [source, target] = [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK].map(|kind| -> Result<_> {
        let heap = heap(&gpu.device, kind, BUFFER)?;
        let buffer = placed(&heap, kind, 0, BUFFER)?;
        let words = map(&buffer)?.cast::<u64>();
        Ok((heap, buffer, words))
    });
    let ((_source_heap, source, written), (_target_heap, target, read)) = (source?, target?);
    let words = usize::try_from(BUFFER / 8)?;
    let word = |buffer: u64, index: u64| (buffer << 40 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut queue = Queue::new(&gpu.device)?;
    let count = size / BUFFER;
    let mut buffers = Vec::new();
    let start = Instant::now();
    let default = ResourceAllocationDesc::new(HeapType::Default);
    for number in 0..count {
        let desc = buffer_desc(ByteSize::new(BUFFER));
        let buffer = allocator.create_resource(&default, &desc, D3D12_RESOURCE_STATE_COMMON, None)?;
        for index in 0..words {
            // SAFETY: the mapped buffer has this many words, and the GPU is not using it.
            unsafe { written.add(index).write(word(number, index as u64)) };
        }
        queue.copy((buffer.resource(), 0), (&source, 0), BUFFER);
        execute(&manager, &mut queue, &buffer)?;
        buffers.push(buffer);
    }
    let mut wrong = 0_u64;
    for (number, buffer) in (0..).zip(&buffers) {
        queue.copy((&target, 0), (buffer.resource(), 0), BUFFER);
        execute(&manager, &mut queue, buffer)?;
        // SAFETY: the mapped buffer has this many words, and the GPU is done with it.
        let read = unsafe { std::slice::from_raw_parts(read, words) };
        wrong += (0..).zip(read).filter(|&(index, &found)| found != word(number, index)).count() as u64;
    }
    let seconds = start.elapsed().as_secs_f64();
    let usage = gpu.current_usage(heapwright_runtime::SegmentGroup::Local);
    let stats = manager.stats();
    let evicted = gpu.residency().paged_out;
    let seen = manager.query_video_memory_info(SegmentGroup::Local).budget;
    Ok(vec![Row::required(
        format!(
            "residency: {} GiB of buffers under a budget of {:.1} GiB, written and read",
            size / GIB,
            seen.get() as f64 / GIB as f64
        ),
        format!(
            "{wrong} of {} words wrong; {:.1} GiB evicted in {} evictions; {usage} used at the end, {} heaps evicted; {seconds:.1} s",
            words as u64 * count,
            evicted.bytes.get() as f64 / GIB as f64,
            evicted.objects,
            stats.local.evicted_count
        ),
        "all right, usage within the budget, memory evicted",
        wrong == 0 && usage.get() <= budget && evicted.objects > 0,
    )])
}

fn execute(
    manager: &heapwright::residency::ResidencyManager,
    queue: &mut Queue,
    buffer: &heapwright::ResourceAllocation,
) -> Result<()> {
    let uses = ResidencyList::new();
    uses.open()?.add(buffer.memory().ok_or("the buffer is not managed")?)?;
    let list = queue.close()?;
    // SAFETY: the list's resources are alive until the queue was waited for; the residency list names the heap.
    unsafe { manager.execute_command_lists(&queue.queue, &[(&list, &uses)]) }?;
    queue.wait()
}
