//! The time to create placed buffers and allocations.

use std::time::{Duration, Instant};

use ash::vk;
use heapwright::d3d12::*;
use heapwright::{
    ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocator, ResourceAllocatorDesc, buffer_desc,
};

use super::Result;
use super::plain::Plain;
use super::queue::{self, heap, placed};
use super::table::Row;

/// The number of buffers that are created and released.
const COUNT: u32 = 10_000;
const SIZE: u64 = 64 * 1024;

fn micros(time: Duration, count: u32) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(count)
}

/// Compares the creation of a placed buffer with what plain Vulkan needs for one: create, query, bind.
///
/// # Errors
///
/// Returns the errors of either device.
pub fn placed_buffers(index: usize) -> Result<Vec<Row>> {
    let plain = Plain::open(index)?;
    let local = plain.local_memory()?;
    let info =
        vk::MemoryAllocateInfo::default().allocation_size(SIZE * u64::from(COUNT)).memory_type_index(local);
    // SAFETY: plain calls; the memory has room for all buffers; nothing uses them.
    let theirs = unsafe {
        let memory = plain.device.allocate_memory(&info, None)?;
        let mut buffers = Vec::with_capacity(COUNT as usize);
        let start = Instant::now();
        for place in 0..u64::from(COUNT) {
            let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
            let info = vk::BufferCreateInfo::default().size(SIZE).usage(usage);
            let buffer = plain.device.create_buffer(&info, None)?;
            let _needs = plain.device.get_buffer_memory_requirements(buffer);
            plain.device.bind_buffer_memory(buffer, memory, place * SIZE)?;
            buffers.push(buffer);
        }
        let time = start.elapsed();
        buffers.into_iter().for_each(|buffer| plain.device.destroy_buffer(buffer, None));
        plain.device.free_memory(memory, None);
        time
    };
    let gpu = queue::open(index)?;
    let kind = D3D12_HEAP_TYPE_DEFAULT;
    let heap = heap(&gpu.device, kind, SIZE * u64::from(COUNT))?;
    let mut buffers = Vec::with_capacity(COUNT as usize);
    let start = Instant::now();
    for place in 0..u64::from(COUNT) {
        buffers.push(placed(&heap, kind, place * SIZE, SIZE)?);
    }
    let ours = micros(start.elapsed(), COUNT);
    let theirs = micros(theirs, COUNT);
    Ok(vec![Row::required(
        "creation of a placed buffer: ours − plain Vulkan",
        format!("{ours:.2} − {theirs:.2} = {:.2} µs", ours - theirs),
        "less than 2 µs",
        ours - theirs < 2.0,
    )])
}

/// Measures the mean cost of an allocation and its free, with the resource allocator and with a committed resource.
///
/// # Errors
///
/// Returns the errors of the device.
pub fn allocations(index: usize) -> Result<Vec<Row>> {
    const WINDOW: usize = 256;
    let gpu = queue::open(index)?;
    let desc = buffer_desc(ByteSize::new(SIZE));
    let allocator =
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), ResourceAllocatorDesc::default())?;
    let default = ResourceAllocationDesc::new(HeapType::Default);
    let state = D3D12_RESOURCE_STATE_COMMON;
    let mut held = std::collections::VecDeque::new();
    let start = Instant::now();
    for _ in 0..COUNT {
        held.push_back(allocator.create_resource(&default, &desc, state, None)?);
        if held.len() > WINDOW {
            held.pop_front();
        }
    }
    let with = micros(start.elapsed(), COUNT);
    drop(held);
    drop(allocator);
    let count = 500;
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let mut held = std::collections::VecDeque::new();
    let start = Instant::now();
    for _ in 0..count {
        let mut buffer: Option<ID3D12Resource> = None;
        let flags = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
        // SAFETY: the device is a live COM object, descriptions readable and the result writable.
        unsafe {
            gpu.device.CreateCommittedResource(&properties, flags, &desc, state, None, &mut buffer)?;
        }
        held.push_back(buffer);
        if held.len() > WINDOW {
            held.pop_front();
        }
    }
    let without = micros(start.elapsed(), count);
    Ok(vec![Row::plain(
        "a 64 KiB buffer, created and released: with the allocator / as a committed resource",
        format!("{with:.2} / {without:.1} µs"),
    )])
}
