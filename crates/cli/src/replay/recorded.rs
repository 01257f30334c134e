//! Records of a file beyond its trace: settings, descriptions of resources, pools, and frames.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use heapwright::d3d12::{
    D3D12_HEAP_DESC, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_GENERIC_READ,
    D3D12_RESOURCE_STATES, DXGI_SAMPLE_DESC,
};
use heapwright::{
    ByteSize, FreeRangeChoice, HeapType, PoolDesc, ResourceAllocationDesc, ResourceAllocationFlags,
    ResourceAllocatorDesc, ResourceAllocatorFlags, buffer_desc,
};
use heapwright_trace::Trace;
use heapwright_trace::session::{Action, Description, Heap, HeapType as RecordedHeapType, Placement, Record};

use crate::exit::Failed;
use crate::input;

/// A trace with what else its file records.
#[derive(Debug)]
pub(super) struct RecordedTrace {
    pub(super) trace: Trace,
    read: Reader,
    /// The allocators that do something.
    used: Vec<usize>,
    /// Whether allocators and their settings are recorded.
    pub(super) has_settings: bool,
    has_steps: bool,
    /// Whether buffers without a description are in heaps of the recorded types.
    has_heap_types: bool,
}

/// The kind of thing of which a session has too many, and the limit. Limits bound the memory that a malicious file takes.
type Excess = (&'static str, usize);

/// Maximum number of allocators that are replayed. Each of them has its own heaps.
const MAX_ALLOCATORS: usize = 1024;

/// Maximum number of steps.
const MAX_STEPS: usize = 1 << 21;

/// Maximum number of times of calls for heaps.
const MAX_HEAP_TIMES: usize = 1 << 21;

/// Maximum number of pools, whether they are live or not.
const MAX_POOLS: usize = 1 << 16;

/// Maximum number of different descriptions.
const MAX_DESCRIPTIONS: usize = 1 << 20;

#[derive(Debug, Default)]
struct RecordedAllocator {
    options: BTreeMap<Box<str>, Box<str>>,
    /// Index of the allocator in which it is nested, which is lower than its own.
    parent: Option<usize>,
    /// Whether it, or one that is nested in it, does something.
    is_used: bool,
    /// The times of the device's calls for heaps, in order.
    heap_times: Vec<HeapTime>,
}

/// The time of a call that created or freed a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapTime {
    pub(super) heap_type: HeapType,
    pub(super) is_free: bool,
    pub(super) time: Duration,
}

/// A custom pool.
#[derive(Debug)]
struct RecordedPool {
    allocator: u32,
    /// An error if an option is unknown.
    desc: Result<PoolDesc, heapwright::Error>,
}

/// A heap that was added before it was needed.
#[derive(Debug)]
pub(super) struct RecordedPrefetch {
    pub(super) heap: D3D12_HEAP_DESC,
    pub(super) pool: Option<u32>,
    pub(super) is_shared: bool,
}

#[derive(Debug)]
struct RecordedAllocation {
    allocator: u32,
    heap_type: Option<HeapType>,
    resource_flags: u32,
    /// Index of the description.
    description: Option<u32>,
    pool: Option<u32>,
}

/// Something that an application did with an allocator, other than an allocation or a free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of events before it.
    pub(super) events: u32,
    pub(super) allocator: u32,
    pub(super) kind: StepKind,
}

/// Pools and prefetches are indices.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepKind {
    Frame,
    IdlePeriod,
    ReleaseHeaps(u64),
    /// The last handle of the allocator is dropped.
    Drop,
    CreatePool(u32),
    DropPool(u32),
    ReleasePool(u32),
    Prefetch(u32),
}

impl RecordedTrace {
    /// Returns a trace of buffers in heaps of these types, in the order of their allocation.
    pub(super) fn of_buffers(trace: Trace, heap_types: impl Iterator<Item = RecordedHeapType>) -> Self {
        let allocations = heap_types.map(|heap_type| RecordedAllocation {
            allocator: 0,
            heap_type: heap_type_of(heap_type),
            resource_flags: 0,
            description: None,
            pool: None,
        });
        let reader = Reader { allocations: allocations.collect(), ..Reader::default() };
        Self { has_heap_types: true, ..reader.into_recorded(trace) }
    }

    /// Reads a file, standard input or a generated trace.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        let mut reader = Reader::default();
        let trace = Trace::from_records(input::records(path)?, |events, record| reader.note(events, record))?;
        match reader.excess {
            Some((what, limit)) => {
                let rule = format!("there are more than {limit} {what}; a replay has at most as many");
                Err(Failed::bad_input(rule).of(trace.path().display()))
            }
            None => Ok(reader.into_recorded(trace)),
        }
    }

    /// Returns whether frames and idle periods are recorded, so that the times of events have no meaning for the allocator.
    pub(super) fn has_steps(&self) -> bool {
        self.has_steps
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.read.steps
    }

    pub(super) fn allocator_count(&self) -> usize {
        self.read.allocators.len()
    }

    /// Returns the allocator in which an allocator is nested. It has a lower index.
    pub(super) fn parent(&self, allocator: usize) -> Option<usize> {
        self.read.allocators[allocator].parent
    }

    /// Returns the allocators that are nested in one and do something.
    pub(super) fn nested_in(&self, parent: usize) -> impl Iterator<Item = usize> {
        let is_nested = move |allocator: &usize| self.parent(*allocator) == Some(parent);
        self.used.iter().copied().filter(is_nested)
    }

    /// Returns the times of an allocator's heaps.
    pub(super) fn heap_times(&self, allocator: usize) -> &[HeapTime] {
        &self.read.allocators[allocator].heap_times
    }

    pub(super) fn pool_count(&self) -> usize {
        self.read.pools.len()
    }

    /// Returns the description of a pool.
    ///
    /// # Errors
    ///
    /// As for [`desc`](Self::desc).
    pub(super) fn pool(&self, pool: u32) -> Result<PoolDesc, heapwright::Error> {
        self.read.pools[pool as usize].desc.clone()
    }

    pub(super) fn prefetch(&self, prefetch: u32) -> &RecordedPrefetch {
        &self.read.prefetches[prefetch as usize]
    }

    /// Returns the pool of an allocation.
    pub(super) fn pool_of(&self, allocation: usize) -> Option<u32> {
        self.read.allocations.get(allocation)?.pool
    }

    /// Returns the settings of an allocator as they were recorded, except that it does not prefetch: recorded prefetches are steps.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is unknown, as one of a later version.
    pub(super) fn desc(&self, allocator: usize) -> Result<ResourceAllocatorDesc, heapwright::Error> {
        let mut desc = ResourceAllocatorDesc::default();
        for (name, value) in &self.read.allocators[allocator].options {
            desc.set_option(name, value)?;
        }
        desc.flags.remove(ResourceAllocatorFlags::ALLOW_PREFETCH);
        Ok(desc)
    }

    /// Returns the allocator of an allocation.
    pub(super) fn allocator_of(&self, allocation: usize) -> usize {
        self.read.allocations.get(allocation).map_or(0, |recorded| recorded.allocator as usize)
    }

    /// Returns how an allocation of a size was requested, or `None` if only its size is recorded.
    pub(super) fn request(&self, allocation: usize, size: ByteSize) -> Option<Request> {
        let &RecordedAllocation { heap_type, resource_flags, description, .. } =
            self.read.allocations.get(allocation)?;
        match description {
            Some(index) => {
                Some(Request::new(&self.read.descriptions[index as usize], heap_type?, resource_flags))
            }
            None if self.has_heap_types => Some(Request::buffer(size, heap_type?)),
            None => None,
        }
    }
}

/// A request for a resource.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) allocation: ResourceAllocationDesc<'static>,
    pub(super) resource: D3D12_RESOURCE_DESC,
    pub(super) initial_state: D3D12_RESOURCE_STATES,
}

impl Request {
    /// A buffer, in the state in which it must be created.
    pub(super) fn buffer(size: ByteSize, heap_type: HeapType) -> Self {
        let initial_state = match heap_type {
            HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
            HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
            _ => D3D12_RESOURCE_STATE_COMMON,
        };
        let allocation = ResourceAllocationDesc::new(heap_type);
        Self { allocation, resource: buffer_desc(size), initial_state }
    }

    fn new(description: &Description, heap_type: HeapType, resource_flags: u32) -> Self {
        let mut flags = ResourceAllocationFlags::from_bits_retain(description.allocation_flags);
        if description.placement == Some(Placement::Imported) {
            // The application created the resource itself.
            flags = ResourceAllocationFlags::ALWAYS_COMMITTED;
        }
        let allocation = ResourceAllocationDesc {
            flags,
            extra_required_heap_flags: description.heap_flags,
            extra_required_resource_padding: ByteSize::new(description.padding),
            strategy: match description.strategy {
                1 => FreeRangeChoice::MinTime,
                2 => FreeRangeChoice::MinOffset,
                _ => FreeRangeChoice::MinMemory,
            },
            ..ResourceAllocationDesc::new(heap_type)
        };
        let resource = D3D12_RESOURCE_DESC {
            Dimension: description.dimension.cast_signed(),
            Alignment: description.alignment,
            Width: description.width,
            Height: description.height,
            DepthOrArraySize: description.depth_or_array_size,
            MipLevels: description.mip_levels,
            Format: description.format.cast_signed(),
            SampleDesc: DXGI_SAMPLE_DESC {
                Count: description.sample_count,
                Quality: description.sample_quality,
            },
            Layout: description.layout.cast_signed(),
            Flags: resource_flags,
        };
        Self { allocation, resource, initial_state: description.initial_state }
    }
}

/// Collects records.
#[derive(Debug, Default)]
struct Reader {
    /// In the order of their first appearance; at least one in the end.
    allocators: Vec<RecordedAllocator>,
    by_number: HashMap<u64, u32>,
    selected: u32,
    used_count: usize,
    heap_time_count: usize,
    /// The allocator and the description of each allocation, by its index.
    allocations: Vec<RecordedAllocation>,
    /// Id of the last allocation.
    last_allocation: Option<u64>,
    /// The distinct descriptions of the allocations.
    descriptions: Vec<Description>,
    /// Indices of the descriptions, which have the id 0.
    by_description: HashMap<Description, u32>,
    /// The other recorded calls between the events, in order.
    steps: Vec<Step>,
    pools: Vec<RecordedPool>,
    pools_by_id: HashMap<u64, u32>,
    prefetches: Vec<RecordedPrefetch>,
    last_heap: Option<Heap>,
    /// The limit that the file exceeds.
    excess: Option<Excess>,
}

impl Reader {
    fn note(&mut self, events: usize, record: Record) {
        if self.excess.is_some() {
            return;
        }
        let step = match record.action {
            Action::SelectAllocator { allocator } => {
                self.selected = *self.by_number.entry(allocator).or_insert_with(|| {
                    self.allocators.push(RecordedAllocator::default());
                    index_of(self.allocators.len() - 1)
                });
                return;
            }
            Action::SetOption { name, value } => {
                if self.allocators.is_empty() {
                    self.allocators.push(RecordedAllocator::default());
                }
                // The last value counts.
                self.allocators[self.selected as usize].options.insert(name, value);
                return;
            }
            Action::NestAllocator { parent } => {
                // A parent exists before what is nested in it, so that there are no cycles.
                let parent = self.by_number.get(&parent).filter(|&&parent| parent < self.selected);
                let parent = parent.map(|&parent| parent as usize);
                if let Some(selected) = self.allocators.get_mut(self.selected as usize) {
                    selected.parent = parent;
                    if selected.is_used {
                        self.mark_used(parent);
                    }
                }
                return;
            }
            Action::Allocate(allocation) => {
                self.mark_used(Some(self.selected as usize));
                self.last_allocation = Some(allocation.id);
                self.allocations.push(RecordedAllocation {
                    allocator: self.selected,
                    heap_type: heap_type_of(allocation.heap_type),
                    resource_flags: allocation.flags,
                    description: None,
                    pool: None,
                });
                return;
            }
            // Both follow their allocation directly; others belong to none that is replayed.
            Action::Describe(description) => {
                if self.last_allocation == Some(description.allocation) {
                    let description = self.describe(Description { allocation: 0, ..*description });
                    if let Some(described) = self.allocations.last_mut() {
                        described.description = description;
                    }
                }
                return;
            }
            Action::UsePool { allocation, pool } => {
                let last = self.allocations.last_mut();
                if let Some(of_pool) = last.filter(|_| self.last_allocation == Some(allocation)) {
                    of_pool.pool = self.pools_by_id.get(&pool).copied();
                }
                return;
            }
            Action::CreateHeap(heap) => {
                self.last_heap = Some(heap);
                return;
            }
            // Without an allocator, they belong to none that is replayed.
            Action::CreatePool { .. } | Action::PrefetchHeap { .. } if self.allocators.is_empty() => return,
            Action::CreatePool { pool, options } => {
                if self.pools.len() == MAX_POOLS {
                    self.excess = Some(("pools", MAX_POOLS));
                    return;
                }
                let mut desc = Ok(PoolDesc::default());
                for (name, value) in options {
                    desc = desc.and_then(|mut desc| desc.set_option(&name, &value).map(|()| desc));
                }
                self.pools.push(RecordedPool { allocator: self.selected, desc });
                let index = index_of(self.pools.len() - 1);
                self.pools_by_id.insert(pool, index);
                StepKind::CreatePool(index)
            }
            Action::DropPool { pool } => match self.pools_by_id.remove(&pool) {
                Some(pool) => StepKind::DropPool(pool),
                None => return,
            },
            Action::ReleasePool { pool } => match self.pools_by_id.get(&pool) {
                Some(&pool) => StepKind::ReleasePool(pool),
                None => return,
            },
            Action::PrefetchHeap { heap, pool, is_shared } => {
                // It follows the creation of its heap directly.
                let Some(heap) = self.last_heap.as_ref().filter(|last| last.id == heap) else { return };
                let properties =
                    D3D12_HEAP_PROPERTIES { Type: i32::from(heap.heap_type as u8), ..Default::default() };
                let heap = D3D12_HEAP_DESC {
                    SizeInBytes: heap.size,
                    Properties: properties,
                    Alignment: heap.alignment,
                    Flags: heap.flags,
                };
                let pool = pool.and_then(|pool| self.pools_by_id.get(&pool).copied());
                self.prefetches.push(RecordedPrefetch { heap, pool, is_shared });
                StepKind::Prefetch(index_of(self.prefetches.len() - 1))
            }
            Action::HeapTime { heap_type, is_free, nanoseconds } => {
                let selected = self.allocators.get_mut(self.selected as usize);
                let (Some(heap_type), Some(selected)) = (heap_type_of(heap_type), selected) else { return };
                if self.heap_time_count == MAX_HEAP_TIMES {
                    self.excess = Some(("times of calls for heaps", MAX_HEAP_TIMES));
                    return;
                }
                self.heap_time_count += 1;
                let time = Duration::from_nanos(nanoseconds);
                selected.heap_times.push(HeapTime { heap_type, is_free, time });
                return;
            }
            Action::DropAllocator => StepKind::Drop,
            Action::Frame => StepKind::Frame,
            Action::IdlePeriod => StepKind::IdlePeriod,
            Action::ReleaseHeaps { bytes } => StepKind::ReleaseHeaps(bytes),
            _ => return,
        };
        let allocator = match step {
            // Another allocator may be selected.
            StepKind::DropPool(pool) | StepKind::ReleasePool(pool) => self.pools[pool as usize].allocator,
            _ => self.selected,
        };
        if self.steps.len() == MAX_STEPS {
            let what = "frames, idle periods and other steps between allocations";
            self.excess = Some((what, MAX_STEPS));
        } else if !self.allocators.is_empty() {
            if !matches!(step, StepKind::Drop) {
                self.mark_used(Some(allocator as usize));
            }
            self.steps.push(Step { events: index_of(events), allocator, kind: step });
        }
    }

    /// Marks an allocator, and those in which it is nested, as used.
    fn mark_used(&mut self, mut next: Option<usize>) {
        while let Some(allocator) = next.and_then(|index| self.allocators.get_mut(index)) {
            if std::mem::replace(&mut allocator.is_used, true) {
                return;
            }
            next = allocator.parent;
            self.used_count += 1;
            if self.used_count > MAX_ALLOCATORS {
                self.excess = Some(("allocators that do something", MAX_ALLOCATORS));
            }
        }
    }

    /// Returns the index of a description.
    fn describe(&mut self, description: Description) -> Option<u32> {
        if let Some(&known) = self.by_description.get(&description) {
            return Some(known);
        }
        if self.descriptions.len() == MAX_DESCRIPTIONS {
            self.excess = Some(("different descriptions", MAX_DESCRIPTIONS));
            return None;
        }
        let index = index_of(self.descriptions.len());
        self.descriptions.push(description.clone());
        self.by_description.insert(description, index);
        Some(index)
    }

    /// Returns what was read. There is at least one allocator.
    fn into_recorded(mut self, trace: Trace) -> RecordedTrace {
        let has_settings = !self.allocators.is_empty();
        if !has_settings {
            self.allocators.push(RecordedAllocator::default());
        }
        // Calls are recorded or not as a whole, so descriptions without steps mean that there were none.
        let has_steps = !self.steps.is_empty()
            || self.allocations.iter().any(|allocation| allocation.description.is_some());
        let used = (0..self.allocators.len()).filter(|&index| self.allocators[index].is_used).collect();
        RecordedTrace { trace, read: self, used, has_settings, has_steps, has_heap_types: false }
    }
}

/// Returns an index of a list whose length is limited.
fn index_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Returns `None` for types of heaps that the allocator does not create.
fn heap_type_of(recorded: RecordedHeapType) -> Option<HeapType> {
    let number = D3D12_HEAP_TYPE::from(recorded as u8);
    HeapType::ALL.into_iter().find(|heap_type| heap_type.to_d3d12() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of no allocator are not held, however many a file has.
    #[test]
    fn what_belongs_to_no_allocator_is_not_held() {
        let held = |has_allocator: bool| {
            let mut reader = Reader::default();
            let mut note = |action| reader.note(0, Record { time_us: 0, action });
            if has_allocator {
                note(Action::SelectAllocator { allocator: 1 });
            }
            let heap_type = RecordedHeapType::Default;
            note(Action::CreateHeap(Heap {
                id: 1,
                size: 65_536,
                alignment: 65_536,
                heap_type,
                flags: 0,
                name: None,
            }));
            note(Action::CreatePool { pool: 2, options: Vec::new() });
            for _ in 0..3 {
                note(Action::PrefetchHeap { heap: 1, pool: None, is_shared: true });
                note(Action::Frame);
            }
            (reader.pools.len(), reader.prefetches.len(), reader.steps.len())
        };
        assert_eq!(held(false), (0, 0, 0));
        assert_eq!(held(true), (1, 3, 7));
    }
}
