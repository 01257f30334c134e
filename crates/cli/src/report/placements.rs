//! Heaps and placements for files without them, by a replay through the allocator.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use heapwright::d3d12::hresult::Named;
use heapwright::{
    ByteSize, GpuVirtualAddress, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator,
    ResourceAllocatorDesc, buffer_desc,
};
use heapwright_report::session::{Block, HistoryBuilder, HistoryError, SessionHistory};
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::session as recorded;

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
    #[error("cannot open the simulated GPU: {0}")]
    Open(String),
    #[error("replay failed: {0}")]
    Allocator(#[from] heapwright::Error),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Replays a history without heaps through an allocator with default settings on the default simulated GPU, and returns it with
/// the allocator's heaps.
///
/// Every allocation is a buffer, as in `heapwright replay`.
pub(super) fn replay(history: &SessionHistory) -> Result<Replayed, CannotReplay> {
    let profile = HostProfile::default_profile();
    let gpu = Instance::open(profile).map_err(|error| CannotReplay::Open(Named(error.code()).to_string()))?;
    let allocator =
        ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), ResourceAllocatorDesc::default())?;
    let mut replay = Replay {
        gpu,
        allocator,
        builder: HistoryBuilder::new(),
        buffers: HashMap::new(),
        heaps: BTreeMap::new(),
        next_heap: 0,
        held: (ByteSize::ZERO, 0),
        failures: 0,
    };
    let mut ends: Vec<usize> = (0..history.blocks.len()).collect();
    ends.sort_by_key(|&block| history.blocks[block].end);
    let (mut starts, mut ends) = ((0..history.blocks.len()).peekable(), ends.into_iter().peekable());
    let mut submissions = history.submissions.iter().peekable();
    for (moment, &time_us) in (0..).zip(&history.times_us) {
        replay.builder.set_time(time_us);
        replay.allocator.on_time(Duration::from_micros(time_us));
        if let Some(block) = starts.next_if(|&block| history.blocks[block].start == moment) {
            replay.allocate(&history.blocks[block])?;
        } else if let Some(block) = ends.next_if(|&block| history.blocks[block].end == moment) {
            replay.free(history.blocks[block].id)?;
        } else if let Some(submission) = submissions.next_if(|submission| submission.moment == moment) {
            replay.builder.submit(submission.queue, &[])?;
        }
    }
    let device = format!("the simulated GPU host:{}", profile.name);
    Ok(Replayed { history: replay.builder.finish(), device, failures: replay.failures })
}

struct Replay {
    gpu: Instance,
    allocator: ResourceAllocator,
    builder: HistoryBuilder,
    /// Live buffers by the id of their allocation.
    buffers: HashMap<u64, ResourceAllocation>,
    /// Number and size of each heap in which a buffer has been placed, by its GPU virtual address.
    heaps: BTreeMap<u64, (u64, ByteSize)>,
    next_heap: u64,
    /// Reserved bytes and number of created heaps after the last event.
    held: (ByteSize, u64),
    failures: u64,
}

impl Replay {
    /// Creates a buffer and records it with its place.
    fn allocate(&mut self, block: &Block) -> Result<(), CannotReplay> {
        let heap_type = match block.heap_type {
            recorded::HeapType::Upload => HeapType::Upload,
            recorded::HeapType::Readback => HeapType::Readback,
            _ => HeapType::Default,
        };
        let desc = ResourceAllocationDesc::new(heap_type);
        let size = ByteSize::new(block.requested);
        let heaps_before = self.allocator.stats().heaps_created;
        let created =
            self.allocator.create_resource(&desc, &buffer_desc(size), initial_state(heap_type), None);
        let is_new = self.allocator.stats().heaps_created > heaps_before;
        self.forget_released_heaps();
        let place = created.as_ref().ok().map(|buffer| self.place_of(buffer, heap_type, is_new));
        let place = place.transpose()?.flatten();
        self.builder.allocate(&recorded::Allocation {
            id: block.id,
            size: block.requested,
            kind: block.kind,
            heap_type: block.heap_type,
            flags: 0,
            name: (!block.name.is_empty()).then(|| block.name.clone()),
        })?;
        match created {
            Ok(buffer) => {
                if let Some((heap, offset)) = place {
                    self.builder.place(block.id, heap, offset, Some(buffer.size().get()))?;
                }
                self.buffers.insert(block.id, buffer);
            }
            Err(_) => self.failures += 1,
        }
        Ok(())
    }

    fn free(&mut self, id: u64) -> Result<(), CannotReplay> {
        drop(self.buffers.remove(&id));
        self.forget_released_heaps();
        Ok(self.builder.free(id)?)
    }

    /// Returns number and offset of the heap in which a buffer is placed, and records a heap that was created for it (`is_new`).
    /// `None` for a committed buffer.
    fn place_of(
        &mut self,
        buffer: &ResourceAllocation,
        heap_type: HeapType,
        is_new: bool,
    ) -> Result<Option<(u64, u64)>, HistoryError> {
        let Some((heap, address)) = buffer.heap().zip(buffer.gpu_virtual_address()) else { return Ok(None) };
        let offset = buffer.offset().get() + buffer.offset_from_resource().get();
        let start = address.get().wrapping_sub(offset);
        let size = self.gpu.heap_size(heap);
        if let Some(&(heap, _)) = self.heaps.get(&start).filter(|_| !is_new) {
            return Ok(Some((heap, offset)));
        }
        // Heaps that had these addresses were released in favour of this one.
        let Self { heaps, builder, .. } = &mut *self;
        heaps.retain(|&other, &mut (number, len)| {
            let is_live =
                other >= start.saturating_add(size.get()) || other.saturating_add(len.get()) <= start;
            if !is_live {
                builder.destroy_heap(number);
            }
            is_live
        });
        let number = self.next_heap;
        self.next_heap += 1;
        self.heaps.insert(start, (number, size));
        self.builder.create_heap(&recorded::Heap {
            id: number,
            size: size.get(),
            alignment: 0,
            heap_type: match heap_type {
                HeapType::Upload => recorded::HeapType::Upload,
                HeapType::Readback => recorded::HeapType::Readback,
                _ => recorded::HeapType::Default,
            },
            flags: 0,
            name: None,
        })?;
        Ok(Some((number, offset)))
    }

    /// Records the heaps that the allocator has released since the last call.
    fn forget_released_heaps(&mut self) {
        // A heap may be released in favour of a new one of the same size.
        let now = (self.allocator.reserved(), self.allocator.stats().heaps_created);
        if std::mem::replace(&mut self.held, now) == now {
            return;
        }
        let Self { gpu, heaps, builder, .. } = self;
        heaps.retain(|&start, &mut (number, _)| {
            let is_live = GpuVirtualAddress::new(start).is_some_and(|start| gpu.has_memory_at(start));
            if !is_live {
                builder.destroy_heap(number);
            }
            is_live
        });
    }
}
