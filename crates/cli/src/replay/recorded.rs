//! Records of a file beyond its trace: settings, descriptions of resources, and frames.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use heapwright::d3d12::{D3D12_RESOURCE_DESC, D3D12_RESOURCE_STATES, DXGI_SAMPLE_DESC};
use heapwright::{
    ByteSize, HeapType, ResourceAllocationDesc, ResourceAllocationFlags, ResourceAllocator,
    ResourceAllocatorDesc, Strategy,
};
use heapwright_trace::session::{Action, Description, HeapType as RecordedHeapType, PlacementKind, Record};
use heapwright_trace::{Trace, TraceError};

use crate::input;

/// A trace with what else its file records.
#[derive(Debug)]
pub(super) struct RecordedTrace {
    pub(super) trace: Trace,
    /// Allocators that did something, in the order of their first appearance; at least one.
    allocators: Vec<RecordedAllocator>,
    /// The allocator and the description of each allocation, by its index.
    allocations: Vec<RecordedAllocation>,
    /// Frames, idle periods and releases between the events, in order.
    steps: Vec<Step>,
    has_steps: bool,
}

#[derive(Debug, Default)]
struct RecordedAllocator {
    options: BTreeMap<Box<str>, Box<str>>,
}

#[derive(Debug)]
struct RecordedAllocation {
    id: u64,
    allocator: usize,
    heap_type: Option<HeapType>,
    resource_flags: u32,
    description: Option<Box<Description>>,
}

/// Something that an application did with an allocator, other than an allocation or a free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of events before it.
    pub(super) events: usize,
    pub(super) allocator: usize,
    pub(super) kind: StepKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum StepKind {
    Frame,
    IdlePeriod,
    ReleaseHeaps(u64),
}

impl From<Trace> for RecordedTrace {
    fn from(trace: Trace) -> Self {
        Self {
            trace,
            allocators: vec![RecordedAllocator::default()],
            allocations: Vec::new(),
            steps: Vec::new(),
            has_steps: false,
        }
    }
}

impl RecordedTrace {
    /// Reads a file, or standard input.
    pub(super) fn read(path: &Path) -> Result<Self, TraceError> {
        let mut reader = Reader::default();
        let note = |events, record| reader.note(events, record);
        let trace = match input::open(path) {
            Ok(file) => {
                let name = if input::is_stdin(path) { Path::new(input::STDIN_NAME) } else { path };
                Trace::from_records(name, file, note)?
            }
            // The error names the file.
            Err(_) => return Trace::read(path).map(Self::from),
        };
        Ok(reader.into_recorded(trace))
    }

    /// Returns whether frames and idle periods are recorded, so that the times of events have no meaning for the allocator.
    pub(super) fn has_steps(&self) -> bool {
        self.has_steps
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(super) fn allocator_count(&self) -> usize {
        self.allocators.len()
    }

    /// Returns the settings of an allocator as they were recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is unknown, as one of a later version.
    pub(super) fn desc(&self, allocator: usize) -> Result<ResourceAllocatorDesc, heapwright::Error> {
        let mut desc = ResourceAllocatorDesc::default();
        for (name, value) in &self.allocators[allocator].options {
            desc.set_option(name, value)?;
        }
        Ok(desc)
    }

    /// Returns the allocator of an allocation.
    pub(super) fn allocator_of(&self, allocation: usize) -> usize {
        self.allocations.get(allocation).map_or(0, |recorded| recorded.allocator)
    }

    /// Returns how an allocation was requested, or `None` if only its size is recorded.
    pub(super) fn request(&self, allocation: usize) -> Option<Request> {
        let recorded = self.allocations.get(allocation)?;
        Some(Request::new(recorded.description.as_deref()?, recorded.heap_type?, recorded.resource_flags))
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
    fn new(description: &Description, heap_type: HeapType, resource_flags: u32) -> Self {
        let mut flags = ResourceAllocationFlags::from_bits_retain(description.allocation_flags);
        if description.placement == PlacementKind::Imported {
            // The application created the resource itself.
            flags = ResourceAllocationFlags::ALWAYS_COMMITTED;
        }
        let allocation = ResourceAllocationDesc {
            flags,
            extra_required_heap_flags: description.heap_flags,
            extra_required_resource_padding: ByteSize::new(description.padding),
            strategy: match description.strategy {
                1 => Strategy::MinTime,
                2 => Strategy::MinOffset,
                _ => Strategy::MinMemory,
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
#[derive(Default)]
struct Reader {
    allocators: Vec<RecordedAllocator>,
    by_number: HashMap<u64, usize>,
    selected: usize,
    allocations: Vec<RecordedAllocation>,
    steps: Vec<Step>,
}

impl Reader {
    fn note(&mut self, events: usize, record: Record) {
        let step = match record.action {
            Action::SelectAllocator { allocator } => {
                self.selected = *self.by_number.entry(allocator).or_insert_with(|| {
                    self.allocators.push(RecordedAllocator::default());
                    self.allocators.len() - 1
                });
                return;
            }
            Action::SetOption { name, value } => {
                if self.allocators.is_empty() {
                    self.allocators.push(RecordedAllocator::default());
                }
                // The last value counts.
                self.allocators[self.selected].options.insert(name, value);
                return;
            }
            Action::Allocate(allocation) => {
                self.allocations.push(RecordedAllocation {
                    id: allocation.id,
                    allocator: self.selected,
                    heap_type: heap_type_of(allocation.heap_type),
                    resource_flags: allocation.flags,
                    description: None,
                });
                return;
            }
            // It follows its allocation directly; others belong to none that is replayed.
            Action::Describe(description) => {
                let last = self.allocations.last_mut();
                if let Some(described) = last.filter(|last| last.id == description.allocation) {
                    described.description = Some(description);
                }
                return;
            }
            Action::Frame => StepKind::Frame,
            Action::IdlePeriod => StepKind::IdlePeriod,
            Action::ReleaseHeaps { bytes } => StepKind::ReleaseHeaps(bytes),
            _ => return,
        };
        if !self.allocators.is_empty() {
            self.steps.push(Step { events, allocator: self.selected, kind: step });
        }
    }

    /// Returns what was read, without the allocators that did nothing, as a replay needs none for them.
    fn into_recorded(self, trace: Trace) -> RecordedTrace {
        let Self { allocators: mut found, mut allocations, mut steps, .. } = self;
        if found.is_empty() {
            found.push(RecordedAllocator::default());
        }
        let mut numbers = vec![None; found.len()];
        let mut allocators = Vec::new();
        let of_allocations = allocations.iter_mut().map(|allocation| &mut allocation.allocator);
        for allocator in of_allocations.chain(steps.iter_mut().map(|step| &mut step.allocator)) {
            *allocator = *numbers[*allocator].get_or_insert_with(|| {
                allocators.push(std::mem::take(&mut found[*allocator]));
                allocators.len() - 1
            });
        }
        if allocators.is_empty() {
            allocators.push(found.swap_remove(0));
        }
        // Calls are recorded or not as a whole, so descriptions without steps mean that there were none.
        let has_steps =
            !steps.is_empty() || allocations.iter().any(|allocation| allocation.description.is_some());
        RecordedTrace { trace, allocators, allocations, steps, has_steps }
    }
}

fn heap_type_of(recorded: RecordedHeapType) -> Option<HeapType> {
    match recorded {
        RecordedHeapType::Default => Some(HeapType::Default),
        RecordedHeapType::Upload => Some(HeapType::Upload),
        RecordedHeapType::Readback => Some(HeapType::Readback),
        RecordedHeapType::GpuUpload => Some(HeapType::GpuUpload),
        RecordedHeapType::Unknown | RecordedHeapType::Custom => None,
    }
}

/// An allocator of a replay, whose time is that of the recording.
#[derive(Debug)]
pub(super) struct ReplayedAllocator {
    pub(super) allocator: ResourceAllocator,
    /// Idle periods so far.
    periods: u32,
    /// The amounts after the last change of this allocator.
    held: HeldByAllocator,
}

/// Memory and heap time of an allocator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldByAllocator {
    /// Bytes in its heaps.
    pub(super) reserved: u64,
    /// Estimated time of all its heaps so far.
    pub(super) heap_time: Duration,
}

/// The period after which an allocator releases idle memory, as documented for `ResourceAllocator::on_time`.
const PERIOD: Duration = Duration::from_millis(500);

impl ReplayedAllocator {
    /// Wraps an allocator. With `has_steps`, its time is that of the steps.
    pub(super) fn new(allocator: ResourceAllocator, has_steps: bool) -> Self {
        if has_steps {
            allocator.on_time(Duration::ZERO);
        }
        Self { allocator, periods: 0, held: HeldByAllocator::default() }
    }

    /// Asks the allocator what it holds, and returns that of the last time and of now.
    pub(super) fn update_held(&mut self) -> (HeldByAllocator, HeldByAllocator) {
        let reserved = self.allocator.reserved().get();
        let now = HeldByAllocator { reserved, heap_time: self.allocator.estimated_heap_time() };
        (std::mem::replace(&mut self.held, now), now)
    }

    pub(super) fn take(&mut self, step: StepKind) {
        match step {
            StepKind::Frame => self.allocator.on_frame(),
            StepKind::IdlePeriod => {
                self.periods = self.periods.saturating_add(1);
                self.allocator.on_time(PERIOD.saturating_mul(self.periods));
            }
            StepKind::ReleaseHeaps(bytes) => {
                self.allocator.release_resource_heaps(ByteSize::new(bytes));
            }
        }
    }
}
