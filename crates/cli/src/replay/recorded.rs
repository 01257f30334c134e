//! The contents of a file beyond its trace: settings, requests, pools, frames, defragmentations, and the place of every
//! allocation.

use std::collections::BTreeMap;
use std::time::Duration;

use heapwright::{ByteSize, Error, HeapType, PoolDesc, ResourceAllocatorDesc};
use heapwright_trace::Trace;
use heapwright_trace::session::{Asked, Description, HeapType as RecordedHeapType, Placement};

use super::request::{Request, heap_type_of};

/// A trace with what else its file records.
#[derive(Debug)]
pub(super) struct RecordedTrace {
    pub(super) trace: Trace,
    pub(super) calls: Calls,
    /// The allocators that do something.
    pub(super) used: Vec<usize>,
    /// Whether allocators and their settings are recorded.
    pub(super) has_settings: bool,
    pub(super) has_steps: bool,
    /// Whether buffers without a description are in heaps of the recorded types.
    pub(super) has_heap_types: bool,
    /// Whether everything is recorded by which an exact replay is recognized.
    pub(super) is_checkable: bool,
}

/// The recorded calls and their results. References to others of a list are indices.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In the order of their first appearance; at least one in the end.
    pub(super) allocators: Vec<RecordedAllocator>,
    /// By the index of the allocation in the trace.
    pub(super) allocations: Vec<RecordedAllocation>,
    /// The distinct descriptions of the allocations, with the id 0.
    pub(super) descriptions: Vec<Description>,
    /// The distinct requests beyond the descriptions.
    pub(super) asked: Vec<Asked>,
    /// The other calls between the events, in order.
    pub(super) steps: Vec<Step>,
    pub(super) pools: Vec<RecordedPool>,
    pub(super) refusals: Vec<RecordedRefusal>,
    pub(super) runs: Vec<RecordedRun>,
    pub(super) moves: Vec<RecordedMove>,
    /// Heaps in which something was placed.
    pub(super) heaps: Vec<RecordedHeap>,
    /// Bytes that allocators held, in order.
    pub(super) held: Vec<RecordedHeld>,
}

#[derive(Debug, Default)]
pub(super) struct RecordedAllocator {
    pub(super) options: BTreeMap<Box<str>, Box<str>>,
    /// Index of the allocator in which it is nested, which is lower than its own.
    pub(super) parent: Option<usize>,
    /// Whether it, or one that is nested in it, does something.
    pub(super) is_used: bool,
    /// The times of the device's calls for heaps, in order.
    pub(super) heap_times: Vec<HeapTime>,
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
pub(super) struct RecordedPool {
    pub(super) allocator: u32,
    /// An error if an option is unknown.
    pub(super) desc: Result<PoolDesc, Error>,
}

#[derive(Debug)]
pub(super) struct RecordedAllocation {
    pub(super) allocator: u32,
    pub(super) heap_type: Option<HeapType>,
    pub(super) resource_flags: u32,
    pub(super) description: Option<u32>,
    pub(super) asked: Option<u32>,
    pub(super) pool: Option<u32>,
    /// Where it was before its first move.
    pub(super) place: Option<RecordedPlace>,
}

/// A heap and an offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedPlace {
    pub(super) heap: u32,
    pub(super) offset: u64,
}

/// A heap in which something was placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedHeap {
    pub(super) size: u64,
    /// Number of events before its end.
    pub(super) end: u32,
}

/// A request that failed.
#[derive(Debug)]
pub(super) struct RecordedRefusal {
    pub(super) description: u32,
    pub(super) asked: u32,
    pub(super) resource_flags: u32,
    pub(super) pool: Option<u32>,
    pub(super) is_out_of_memory: bool,
}

/// A defragmentation.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedRun {
    pub(super) allocator: u32,
    pub(super) pool: Option<u32>,
}

/// A completed move.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedMove {
    pub(super) run: u32,
    pub(super) number: u64,
    pub(super) allocation: u32,
    pub(super) place: Option<RecordedPlace>,
}

/// The bytes that an allocator held.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedHeld {
    /// Number of events and of steps before it.
    pub(super) events: u32,
    pub(super) steps: u32,
    pub(super) allocator: u32,
    pub(super) bytes: u64,
}

/// Something that an application did with an allocator, other than an allocation or a free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of events before it.
    pub(super) events: u32,
    pub(super) allocator: u32,
    pub(super) kind: StepKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum StepKind {
    /// The allocator is created. Relatives release one another's heaps in the order of their creation.
    Create,
    Frame,
    IdlePeriod,
    ReleaseHeaps(u64),
    /// The last handle of the allocator is dropped.
    Drop,
    CreatePool(u32),
    DropPool(u32),
    ReleasePool(u32),
    /// A request failed.
    Refuse(u32),
    /// The creation of a pool failed.
    RefusePool(u32),
    BeginRun(u32),
    StepRun {
        run: u32,
        moves: u32,
        bytes: u64,
        time_checks: Option<u64>,
        planned: u32,
    },
    CompleteMove(u32),
    AbandonMove {
        run: u32,
        number: u64,
    },
    EndRun(u32),
}

impl RecordedTrace {
    /// Returns a trace of buffers in heaps of these types, in the order of their allocation.
    pub(super) fn of_buffers(trace: Trace, heap_types: impl Iterator<Item = RecordedHeapType>) -> Self {
        let allocations = heap_types.map(|heap_type| RecordedAllocation {
            allocator: 0,
            heap_type: heap_type_of(heap_type),
            resource_flags: 0,
            description: None,
            asked: None,
            pool: None,
            place: None,
        });
        let calls = Calls { allocations: allocations.collect(), ..Calls::default() };
        Self { has_heap_types: true, ..Self::new(trace, calls) }
    }

    /// Adds the calls to a trace. There is at least one allocator.
    pub(super) fn new(trace: Trace, mut calls: Calls) -> Self {
        let has_settings = !calls.allocators.is_empty();
        if !has_settings {
            calls.allocators.push(RecordedAllocator::default());
        }
        // Calls are recorded or not as a whole, so descriptions without steps mean that there were none.
        let is_call = |step: &Step| !matches!(step.kind, StepKind::Create);
        let has_steps = calls.steps.iter().any(is_call)
            || calls.allocations.iter().any(|allocation| allocation.description.is_some());
        let used = (0..calls.allocators.len()).filter(|&index| calls.allocators[index].is_used).collect();
        Self { trace, calls, used, has_settings, has_steps, has_heap_types: false, is_checkable: false }
    }

    /// Returns whether frames and idle periods are recorded, so that the times of events have no meaning for the
    /// allocator.
    pub(super) fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// Returns the allocator in which an allocator is nested. It has a lower index.
    pub(super) fn parent(&self, allocator: usize) -> Option<usize> {
        self.calls.allocators[allocator].parent
    }

    /// Returns the allocators that are nested in one and do something.
    pub(super) fn nested_in(&self, parent: usize) -> impl Iterator<Item = usize> {
        let is_nested = move |allocator: &usize| self.parent(*allocator) == Some(parent);
        self.used.iter().copied().filter(is_nested)
    }

    /// Returns the description of a pool.
    ///
    /// # Errors
    ///
    /// As for [`desc`](Self::desc).
    pub(super) fn pool(&self, pool: u32) -> Result<PoolDesc, Error> {
        self.calls.pools[pool as usize].desc.clone()
    }

    /// Returns the pool of an allocation.
    pub(super) fn pool_of(&self, allocation: usize) -> Option<u32> {
        self.calls.allocations.get(allocation)?.pool
    }

    /// Returns the settings of an allocator as they were recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if an option is unknown, as one of a later version.
    pub(super) fn desc(&self, allocator: usize) -> Result<ResourceAllocatorDesc, Error> {
        let mut desc = ResourceAllocatorDesc::default();
        for (name, value) in &self.calls.allocators[allocator].options {
            desc.set_option(name, value)?;
        }
        Ok(desc)
    }

    /// Returns the allocator of an allocation.
    pub(super) fn allocator_of(&self, allocation: usize) -> usize {
        self.calls.allocations.get(allocation).map_or(0, |recorded| recorded.allocator as usize)
    }

    /// Returns how an allocation was placed, if that is recorded.
    pub(super) fn placement_of(&self, allocation: usize) -> Option<Placement> {
        let description = self.calls.allocations.get(allocation)?.description?;
        self.calls.descriptions[description as usize].placement
    }

    /// Returns how an allocation of a size was requested, or `None` if only its size is recorded.
    pub(super) fn request(&self, allocation: usize, size: ByteSize) -> Option<Request> {
        let &RecordedAllocation { heap_type, resource_flags, description, asked, .. } =
            self.calls.allocations.get(allocation)?;
        let asked = asked.map(|index| &self.calls.asked[index as usize]);
        match description {
            Some(_) if asked.is_none() && heap_type.is_none() => None,
            Some(index) => {
                let description = &self.calls.descriptions[index as usize];
                Some(Request::new(description, asked, heap_type, resource_flags))
            }
            None if self.has_heap_types => Some(Request::buffer(size, heap_type?)),
            None => None,
        }
    }

    /// Returns a request that failed.
    pub(super) fn refused_request(&self, refusal: &RecordedRefusal) -> Request {
        let &RecordedRefusal { description, asked, resource_flags, .. } = refusal;
        let description = &self.calls.descriptions[description as usize];
        Request::new(description, Some(&self.calls.asked[asked as usize]), None, resource_flags)
    }
}
