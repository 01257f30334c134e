//! Heaps and placements for files without them, by a replay through the allocator.

use std::collections::HashMap;
use std::time::Duration;

use heapwright::{HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
use heapwright::{ByteSize, ResourceAllocatorDesc};
use heapwright_report::session::{HistoryBuilder, HistoryError, SessionHistory};
use heapwright_trace::session as recorded;

use crate::device::{CannotOpen, DeviceChoice, NoDevice};
use crate::replay::initial_state;

/// A history with the heaps and placements of a replay.
pub(super) struct Replayed {
    pub(super) history: SessionHistory,
    /// Name of the device.
    pub(super) device: String,
    /// Number of allocations that failed. They are outside of all heaps.
    pub(super) failures: u64,
}

/// Error that prevents a replay.
#[derive(Debug, thiserror::Error)]
pub(super) enum CannotReplay {
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    #[error(transparent)]
    CannotOpen(#[from] CannotOpen),
    #[error("replay failed: {0}")]
    Allocator(#[from] heapwright::Error),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Device of the replay.
const DEVICE: &str = "host";

/// Replays a history without heaps through an allocator with default settings, and returns it with the allocator's heaps.
///
/// Every allocation is a buffer, as in `heapwright replay`.
pub(super) fn replay(history: &SessionHistory) -> Result<Replayed, CannotReplay> {
    let choice = DeviceChoice::find(DEVICE)?;
    let gpu = choice.open()?;
    let allocator = ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), ResourceAllocatorDesc::default())?;
    let mut replay = Replay { allocator, builder: HistoryBuilder::new(), heaps: HashMap::new(), next_heap: 0, state: (ByteSize::ZERO, 0) };
    let mut live: HashMap<usize, Option<ResourceAllocation>> = HashMap::new();
    let mut ends: Vec<usize> = (0..history.blocks.len()).collect();
    ends.sort_by_key(|&block| history.blocks[block].end);
    let (mut starts, mut ends) = ((0..history.blocks.len()).peekable(), ends.into_iter().peekable());
    let mut submissions = history.submissions.iter().peekable();
    let mut failures = 0;
    for (moment, &time_us) in (0..).zip(&history.times_us) {
        replay.builder.set_time(time_us);
        replay.allocator.on_time(Duration::from_micros(time_us));
        if let Some(block) = starts.next_if(|&block| history.blocks[block].start == moment) {
            let buffer = replay.allocate(&history.blocks[block])?;
            failures += u64::from(buffer.is_none());
            live.insert(block, buffer);
        } else if let Some(block) = ends.next_if(|&block| history.blocks[block].end == moment) {
            drop(live.remove(&block));
            replay.follow_heaps()?;
            replay.builder.free(history.blocks[block].id)?;
        } else if let Some(submission) = submissions.next_if(|submission| submission.moment == moment) {
            replay.builder.submit(submission.queue, &[])?;
        }
    }
    Ok(Replayed { history: replay.builder.finish(), device: choice.name(), failures })
}

struct Replay {
    allocator: ResourceAllocator,
    builder: HistoryBuilder,
    /// Number and size of each heap, by its GPU virtual address.
    heaps: HashMap<u64, (u64, ByteSize)>,
    next_heap: u64,
    /// Reserved bytes and number of created heaps at the last look at the heaps.
    state: (ByteSize, u64),
}

impl Replay {
    /// Creates a buffer and records it with its place.
    fn allocate(&mut self, block: &heapwright_report::session::Block) -> Result<Option<ResourceAllocation>, CannotReplay> {
        let heap_type = match block.heap_type {
            recorded::HeapType::Upload => HeapType::Upload,
            recorded::HeapType::Readback => HeapType::Readback,
            _ => HeapType::Default,
        };
        let desc = ResourceAllocationDesc::new(heap_type);
        let size = ByteSize::new(block.requested);
        // A failure is shown as an allocation outside of heaps.
        let buffer = self.allocator.create_resource(&desc, &buffer_desc(size), initial_state(heap_type), None).ok();
        self.follow_heaps()?;
        self.builder.allocate(&recorded::Allocation {
            id: block.id,
            size: block.requested,
            kind: block.kind,
            heap_type: block.heap_type,
            flags: 0,
            name: (!block.name.is_empty()).then(|| block.name.clone()),
        })?;
        if let Some(buffer) = &buffer
            && buffer.heap().is_some()
            && let Some(address) = buffer.gpu_virtual_address()
        {
            let offset = buffer.offset().get() + buffer.offset_from_resource().get();
            if let Some(&(heap, _)) = self.heaps.get(&address.get().wrapping_sub(offset)) {
                self.builder.place(block.id, heap, offset, Some(buffer.size().get()))?;
            }
        }
        Ok(buffer)
    }

    /// Records which heaps the allocator has created and released since the last call.
    fn follow_heaps(&mut self) -> Result<(), HistoryError> {
        let state = (self.allocator.reserved(), self.allocator.stats().heaps_created);
        if state == self.state {
            return Ok(());
        }
        self.state = state;
        let report = self.allocator.report();
        let mut now = HashMap::with_capacity(report.heaps.len());
        for heap in &report.heaps {
            let Some(address) = heap.gpu_virtual_address else { continue };
            let known = self.heaps.remove(&address.get()).filter(|&(_, size)| size == heap.size);
            let (number, size) = known.unwrap_or((self.next_heap, heap.size));
            if known.is_none() {
                self.next_heap += 1;
                self.builder.create_heap(&recorded::Heap {
                    id: number,
                    size: size.get(),
                    alignment: 0,
                    heap_type: recorded_type(heap.heap_type),
                    flags: 0,
                    name: None,
                })?;
            }
            now.insert(address.get(), (number, size));
        }
        // In the order of their numbers, so that equal files have equal pages.
        let mut destroyed: Vec<u64> = self.heaps.values().map(|&(number, _)| number).collect();
        destroyed.sort_unstable();
        destroyed.into_iter().for_each(|number| self.builder.destroy_heap(number));
        self.heaps = now;
        Ok(())
    }
}

fn recorded_type(heap_type: heapwright::report::HeapTypeName) -> recorded::HeapType {
    use heapwright::report::HeapTypeName;
    match heap_type {
        HeapTypeName::Default => recorded::HeapType::Default,
        HeapTypeName::Upload => recorded::HeapType::Upload,
        HeapTypeName::Readback => recorded::HeapType::Readback,
        HeapTypeName::GpuUpload => recorded::HeapType::GpuUpload,
        _ => recorded::HeapType::Unknown,
    }
}
