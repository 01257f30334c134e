//! Heaps over memory that the process allocated.

use heapwright_d3d12::*;

use crate::answer::{Stop, ensure, require, require_eq, skipped};
use crate::check::{Check, check};
use crate::com::device::{self, Home};
use crate::com::memory;
use crate::context::Context;
use crate::desc::{COMMON, COPY_DEST, COPY_SOURCE, DIRECT, buffer, with_flags};
use crate::pages::Pages;
use crate::queue::{pattern, read};

const OPEN: &str = "Learn, ID3D12Device3::OpenExistingHeapFromAddress";
const CROSS_ADAPTER: &str = "vkd3d-proton, test_open_heap_from_address";

/// Size of the memory, and of each buffer, in bytes.
const SIZE: usize = 256 << 10;
const BUFFER: usize = 64 << 10;

pub(super) const CHECKS: &[Check] = &[
    check("existing-heaps/size-of-the-region", OPEN, &[], |ctx| {
        let (_pages, heap) = open(ctx)?;
        require_eq("SizeInBytes", memory::heap_desc(&heap).SizeInBytes, SIZE as u64)
    }),
    check("existing-heaps/in-system-memory", OPEN, &[], |ctx| {
        let (_pages, heap) = open(ctx)?;
        let properties = memory::heap_desc(&heap).Properties;
        let D3D12_HEAP_PROPERTIES { Type, CPUPageProperty, MemoryPoolPreference, .. } = properties;
        ensure!(Type == D3D12_HEAP_TYPE_CUSTOM, "the heap type is {Type}, not CUSTOM");
        require(
            MemoryPoolPreference == D3D12_MEMORY_POOL_L0
                && CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE,
            || format!("memory pool {MemoryPoolPreference} with CPU page property {CPUPageProperty}"),
        )
    }),
    check("existing-heaps/shared-across-adapters", CROSS_ADAPTER, &[], |ctx| {
        let (_pages, heap) = open(ctx)?;
        let flags = memory::heap_desc(&heap).Flags;
        let shared = D3D12_HEAP_FLAG_SHARED | D3D12_HEAP_FLAG_SHARED_CROSS_ADAPTER;
        require(flags & shared == shared, || format!("the flags are {flags:#x}, without {shared:#x}"))
    }),
    check("existing-heaps/the-gpu-reads-the-memory", OPEN, &[], |ctx| {
        let (pages, heap) = open(ctx)?;
        let bytes = pattern(SIZE, 3);
        pages.write(&bytes);
        let (source, queue) = (shared_buffer(ctx, &heap, BUFFER)?, ctx.queue(DIRECT)?);
        let target = queue.readback(BUFFER)?;
        queue.run(|list| {
            list.to_state(&source, COMMON, COPY_SOURCE);
            list.copy_buffer((&target, 0), (&source, 0), BUFFER as u64);
        })?;
        let is_same = read(&target, BUFFER)? == bytes[BUFFER..2 * BUFFER];
        require(is_same, || "a copy on the GPU has other bytes than the process wrote".to_owned())
    }),
    check("existing-heaps/the-gpu-writes-the-memory", OPEN, &[], |ctx| {
        let (pages, heap) = open(ctx)?;
        let bytes = pattern(BUFFER, 5);
        let (target, queue) = (shared_buffer(ctx, &heap, BUFFER)?, ctx.queue(DIRECT)?);
        let source = queue.upload(&bytes)?;
        queue.run(|list| {
            list.to_state(&target, COMMON, COPY_DEST);
            list.copy_buffer((&target, 0), (&source, 0), BUFFER as u64);
        })?;
        let found = pages.read();
        ensure!(found[BUFFER..2 * BUFFER] == bytes, "the process reads other bytes than the GPU wrote");
        let is_elsewhere_zero = found[..BUFFER].iter().chain(&found[2 * BUFFER..]).all(|&byte| byte == 0);
        require(is_elsewhere_zero, || "the GPU wrote bytes beside the buffer".to_owned())
    }),
    check("existing-heaps/memory-outlives-the-heap", OPEN, &[], |ctx| {
        let (pages, heap) = open(ctx)?;
        let bytes = pattern(SIZE, 7);
        pages.write(&bytes);
        drop(shared_buffer(ctx, &heap, 0)?);
        drop(heap);
        require(pages.read() == bytes, || "the bytes changed".to_owned())
    }),
    check("existing-heaps/inside-a-region-refused", CROSS_ADAPTER, &[], |ctx| {
        let pages = pages(ctx)?;
        device::open_existing_heap(ctx.device(), pages.address(BUFFER)).refused("64 KiB behind the beginning")
    }),
];

/// Allocates memory, or skips the check if the device makes no heaps of it.
fn pages(ctx: &Context) -> Result<Pages, Stop> {
    let data: D3D12_FEATURE_DATA_EXISTING_HEAPS = ctx.known()?;
    if !data.Supported.as_bool() {
        return skipped("existing heaps");
    }
    Pages::new(SIZE).map_or_else(|| skipped("memory of the operating system"), Ok)
}

/// Opens a heap over new memory. The heap is released first.
fn open(ctx: &Context) -> Result<(Pages, ID3D12Heap), Stop> {
    let pages = pages(ctx)?;
    let heap = device::open_existing_heap(ctx.device(), pages.address(0)).ok("memory of the process")?;
    Ok((pages, heap))
}

fn shared_buffer(ctx: &Context, heap: &ID3D12Heap, offset: usize) -> Result<ID3D12Resource, Stop> {
    let desc = with_flags(buffer(BUFFER as u64), D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER);
    let home = Home::Placed(heap, offset as u64);
    ctx.create_resource(home, &desc, COMMON, None).ok("a buffer for other adapters")
}
