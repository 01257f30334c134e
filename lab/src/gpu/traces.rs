//! The recorded traces on the device: through heapwright and through VMA, in turn.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ash::vk;
use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
use heapwright::{
    ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, ResourceAllocatorDesc,
    ResourceAllocatorFlags, buffer_desc,
};
use heapwright_runtime::{Instance as Gpu, SegmentGroup};
use heapwright_trace::{EventKind, Trace};
use vk_mem::Alloc as _;

use super::Result;
use super::plain::Plain;
use super::queue;
use super::table::Row;

/// An operation that takes longer is a hitch, as for the cost model.
const HITCH: Duration = Duration::from_micros(250);

/// Bytes of device memory that the process holds during both replays.
const HELD: u64 = 1 << 30;

/// Measurements of a replay.
#[derive(Default)]
struct Measured {
    time: Duration,
    operations: u32,
    hitches: u32,
    peak: u64,
    sum: u128,
}

impl Measured {
    fn record(&mut self, time: Duration, held: u64) {
        self.time += time;
        self.operations += 1;
        self.hitches += u32::from(time > HITCH);
        self.peak = self.peak.max(held);
        self.sum += u128::from(held);
    }

    fn describe(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let count = self.operations.max(1);
        let mean = u64::try_from(self.sum / u128::from(count)).unwrap_or(u64::MAX);
        format!(
            "{:.2} µs, {} hitches, {:.0} / {:.0} MiB held",
            self.time.as_secs_f64() * 1e6 / f64::from(count),
            self.hitches,
            mib(mean),
            mib(self.peak)
        )
    }
}

/// An allocator on the device.
trait Allocator {
    type Buffer;
    fn allocate(&mut self, size: ByteSize) -> Result<Self::Buffer>;
    fn free(&mut self, buffer: Self::Buffer);
    fn pass_time(&mut self, time: Duration);
    fn held(&self) -> u64;
}

struct Ours {
    allocator: ResourceAllocator,
    gpu: Gpu,
}

impl Allocator for Ours {
    type Buffer = ResourceAllocation;

    fn allocate(&mut self, size: ByteSize) -> Result<ResourceAllocation> {
        let desc = ResourceAllocationDesc::new(HeapType::Default);
        Ok(self.allocator.create_resource(&desc, &buffer_desc(size), D3D12_RESOURCE_STATE_COMMON, None)?)
    }

    fn free(&mut self, buffer: ResourceAllocation) {
        drop(buffer);
    }

    fn pass_time(&mut self, time: Duration) {
        self.allocator.on_time(time);
    }

    fn held(&self) -> u64 {
        self.gpu.current_usage(SegmentGroup::Local).get()
    }
}

struct Vma {
    /// Dropped before the device.
    allocator: vk_mem::Allocator,
    _plain: Plain,
}

impl Allocator for Vma {
    type Buffer = (vk::Buffer, vk_mem::Allocation);

    fn allocate(&mut self, size: ByteSize) -> Result<Self::Buffer> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let desc = vk::BufferCreateInfo::default().size(size.get()).usage(usage);
        let info = vk_mem::AllocationCreateInfo {
            usage: vk_mem::MemoryUsage::AutoPreferDevice,
            ..Default::default()
        };
        // SAFETY: the description is valid, and the device is alive.
        Ok(unsafe { self.allocator.create_buffer(&desc, &info) }?)
    }

    fn free(&mut self, (buffer, mut allocation): Self::Buffer) {
        // SAFETY: both belong together, and nothing uses them.
        unsafe { self.allocator.destroy_buffer(buffer, &mut allocation) };
    }

    fn pass_time(&mut self, _time: Duration) {}

    fn held(&self) -> u64 {
        let budgets = self.allocator.get_heap_budgets().unwrap_or_default();
        budgets.iter().map(|budget| budget.statistics.blockBytes).sum()
    }
}

fn replay<A: Allocator>(mut allocator: A, trace: &Trace) -> Result<Measured> {
    let mut buffers: Vec<Option<A::Buffer>> = vec![];
    buffers.resize_with(trace.allocation_count(), || None);
    let mut measured = Measured::default();
    for event in trace.events() {
        let slot = &mut buffers[event.allocation.as_usize()];
        let start = Instant::now();
        // Releasing idle heaps is a part of the price.
        allocator.pass_time(Duration::from_micros(event.time_us));
        match event.kind {
            EventKind::Alloc => *slot = Some(allocator.allocate(event.size)?),
            EventKind::Free => {
                if let Some(buffer) = slot.take() {
                    allocator.free(buffer);
                }
            }
        }
        let time = start.elapsed();
        measured.record(time, allocator.held());
    }
    buffers.into_iter().flatten().for_each(|buffer| allocator.free(buffer));
    Ok(measured)
}

/// Replays the traces through both.
///
/// # Errors
///
/// Returns the errors of the device, and those of reading a trace.
pub fn beside_vma(index: usize, files: &[PathBuf]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for file in files {
        let trace = Trace::read(file)?;
        // The first memory of a process costs more, which neither of the two is to pay.
        let other = Plain::open(index)?;
        let held = other.buffer(HELD, other.local_memory()?)?;
        let gpu = queue::open(index)?;
        let allocator = ResourceAllocator::new(
            &gpu.device,
            Some(&gpu.adapter),
            ResourceAllocatorDesc {
                // VMA does not fill its memory with zeros either.
                flags: ResourceAllocatorFlags::CREATE_NOT_ZEROED,
                ..Default::default()
            },
        )?;
        let ours = replay(Ours { allocator, gpu }, &trace)?;
        let plain = Plain::open(index)?;
        let mut info = vk_mem::AllocatorCreateInfo::new(&plain.instance, &plain.device, plain.physical);
        info.vulkan_api_version = vk::API_VERSION_1_3;
        // SAFETY: the device outlives the allocator, since the fields are dropped in this order.
        let allocator = unsafe { vk_mem::Allocator::new(info) }?;
        let theirs = replay(Vma { allocator, _plain: plain }, &trace)?;
        other.destroy(held);
        rows.push(Row::plain(
            format!("{}: heapwright (mean per operation, mean / peak held)", trace.name()),
            ours.describe(),
        ));
        rows.push(Row::plain(format!("{}: VMA", trace.name()), theirs.describe()));
    }
    Ok(rows)
}
