//! Converts traces of allocations to workloads.
//!
//! A trace records when blocks are allocated and freed, but not when the GPU uses them. The rest is derived
//! as follows:
//!
//! - **Heaps.** The trace is replayed through [`ResourceAllocator`] with its defaults, on a simulated GPU,
//!   and each heap that the allocator creates is a heap of the workload: heaps are what is paged, and the
//!   allocator determines which blocks share them. A heap is created resident in the submission of its first
//!   block, and released after the last submission that uses one of its blocks.
//! - **Submissions** are slices of [`EVENTS_PER_SUBMISSION`] events; each is a frame. The GPU works on a
//!   submission for the time that the slice took in the recording.
//! - **First and last uses.** A block is used in the submission of its allocation, which writes it, and in
//!   that of its free, until which it is read.
//! - **Weights** are the blocks that are never freed. Both traces are of neural networks, whose operations
//!   read about one weight and write one result: each allocation of another block therefore uses the next
//!   weight, cyclically in the order of their allocation. A pass over the network is then a pass over the
//!   weights, as long as in the recording.
//! - **Budget.** [`BUDGET_PERCENT`] of the peak size of the live heaps.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

use heapwright::d3d12::D3D12_RESOURCE_STATE_COMMON;
use heapwright::d3d12::hresult::Named;
use heapwright::{
    ByteSize, HeapType, ResourceAllocation, ResourceAllocationDesc, ResourceAllocator, ResourceAllocatorDesc,
    buffer_desc,
};
use heapwright_core::SegmentGroup;
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::{EventKind, RecordReader, Trace, TraceError};

use super::from_session::Recorded;
use super::{BUDGET_PERCENT, FRAMES_IN_FLIGHT, Frame, HeapNumber, WorkHeap, Workload, as_index};

/// The number of events per submission. It is small, so that concurrent work of the GPU fits in the budget,
/// as in a program that intends to page: three consecutive submissions exceed it in 1.1 % of the cases for
/// `unet_diffusion` and never for `vision_serving`. With 16 events it is 9 and 1 %, with 64 79 and 7 %, and
/// keeping the queue busy matters more than what is evicted.
const EVENTS_PER_SUBMISSION: usize = 8;

/// The error of records that cannot be converted to a workload.
#[derive(Debug, thiserror::Error)]
pub enum CannotDerive {
    /// The records cannot be read.
    #[error(transparent)]
    Unreadable(#[from] TraceError),
    /// A session has more than can be simulated.
    #[error("{path}: there are more than {limit} {what}")]
    TooMany {
        /// The session.
        path: String,
        /// What there is too much of.
        what: &'static str,
        /// The maximum.
        limit: usize,
    },
    /// An allocation of the trace fails.
    #[error("{location}: allocation failed: {error}")]
    Allocate {
        /// The line of the trace.
        location: String,
        /// The reason.
        error: heapwright::Error,
    },
    /// The simulated GPU cannot be opened.
    #[error("{path}: cannot open the simulated GPU: {reason}")]
    Open {
        /// The trace.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The trace has no allocation.
    #[error("{path}: the trace contains no allocations")]
    Empty {
        /// The trace.
        path: String,
    },
}

/// Derives a workload from records: from the submissions of a session, or else from its trace.
///
/// # Errors
///
/// Returns an error if a record is invalid, if there are too many, or if an allocation of the trace fails.
pub fn from_records(records: RecordReader<impl Read>) -> Result<Workload, CannotDerive> {
    let mut recorded = Recorded::default();
    let trace = Trace::from_records(records, |_, record| recorded.note(record))?;
    let path = trace.path().display();
    let too_many = |(what, limit)| CannotDerive::TooMany { path: path.to_string(), what, limit };
    let workload = match recorded.into_workload(trace.name()).map_err(too_many)? {
        Some(workload) => workload,
        None => from_trace(&trace)?,
    };
    Ok(Workload { truncated_at: trace.truncated_at(), ..workload })
}

fn from_trace(trace: &Trace) -> Result<Workload, CannotDerive> {
    let path = || trace.path().display().to_string();
    if trace.allocation_count() == 0 {
        return Err(CannotDerive::Empty { path: path() });
    }
    let cannot_open = |reason: String| CannotDerive::Open { path: path(), reason };
    let gpu = Instance::open(HostProfile::default_profile())
        .map_err(|error| cannot_open(format!("{:#}", Named(error.code()))))?;
    let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), ResourceAllocatorDesc::default())
        .map_err(|error| cannot_open(error.to_string()))?;
    // Without its own time, the allocator would release idle heaps by the clock.
    allocator.on_time(Duration::ZERO);
    let mut derivation = Derivation {
        trace,
        gpu: &gpu,
        blocks: std::iter::repeat_with(|| None).take(trace.allocation_count()).collect(),
        is_weight: weights(trace),
        weights: Vec::new(),
        next_weight: 0,
        sizes: Vec::new(),
        by_address: BTreeMap::new(),
    };
    let slices: Result<Vec<Slice>, CannotDerive> = trace
        .events()
        .chunks(EVENTS_PER_SUBMISSION)
        .enumerate()
        .map(|(number, _)| derivation.slice(&allocator, number))
        .collect();
    Ok(assemble(trace, &derivation.sizes, &slices?))
}

/// Returns which blocks are never freed.
fn weights(trace: &Trace) -> Vec<bool> {
    let mut is_weight = vec![true; trace.allocation_count()];
    for event in trace.events().iter().filter(|event| event.kind == EventKind::Free) {
        is_weight[event.allocation.as_usize()] = false;
    }
    is_weight
}

/// The actions of a submission.
struct Slice {
    used: BTreeSet<HeapNumber>,
    gpu: Duration,
}

struct Derivation<'a> {
    trace: &'a Trace,
    gpu: &'a Instance,
    /// The live blocks, by allocation.
    blocks: Vec<Option<(ResourceAllocation, HeapNumber)>>,
    is_weight: Vec<bool>,
    /// The heaps of the weights allocated so far.
    weights: Vec<HeapNumber>,
    next_weight: usize,
    /// The sizes, by heap.
    sizes: Vec<ByteSize>,
    /// The last heap created at each GPU virtual address. The heaps are not kept alive: the allocator
    /// releases them as it would in an application, and a later heap may have the same address.
    by_address: BTreeMap<u64, HeapNumber>,
}

impl Derivation<'_> {
    fn slice(&mut self, allocator: &ResourceAllocator, number: usize) -> Result<Slice, CannotDerive> {
        let events = self.trace.events();
        let first = number * EVENTS_PER_SUBMISSION;
        let end = events.len().min(first + EVENTS_PER_SUBMISSION);
        let mut used = BTreeSet::new();
        for (index, event) in events.iter().enumerate().take(end).skip(first) {
            let block = event.allocation.as_usize();
            match event.kind {
                EventKind::Free => used.extend(self.blocks[block].take().map(|(_, heap)| heap)),
                EventKind::Alloc => {
                    let desc = buffer_desc(event.size);
                    let local = ResourceAllocationDesc::new(HeapType::Default);
                    let heaps_before = allocator.stats().heaps_created;
                    let allocation = allocator
                        .create_resource(&local, &desc, D3D12_RESOURCE_STATE_COMMON, None)
                        .map_err(|error| CannotDerive::Allocate {
                            location: self.trace.location(index).to_string(),
                            error,
                        })?;
                    let is_new = allocator.stats().heaps_created > heaps_before;
                    let heap = self.heap_of(&allocation, is_new);
                    used.insert(heap);
                    self.blocks[block] = Some((allocation, heap));
                    if self.is_weight[block] {
                        self.weights.push(heap);
                    } else if let Some(&weight) = self.weights.get(self.next_weight) {
                        used.insert(weight);
                        self.next_weight = (self.next_weight + 1) % self.weights.len();
                    }
                }
            }
        }
        let begin = events[first].time_us;
        let next = events.get(end).or(events.last()).map_or(begin, |event| event.time_us);
        Ok(Slice { used, gpu: Duration::from_micros(next - begin) })
    }

    /// Returns the heap that contains a block. `is_new` means that a heap was created for the block.
    fn heap_of(&mut self, allocation: &ResourceAllocation, is_new: bool) -> HeapNumber {
        let next = HeapNumber::try_from(self.sizes.len()).expect("a trace has fewer than 2^32 allocations");
        let Some((heap, address)) = allocation.heap().zip(allocation.gpu_virtual_address()) else {
            // A committed resource is paged by itself.
            self.sizes.push(allocation.size());
            return next;
        };
        let address = address.get() - allocation.offset().get();
        let size = self.gpu.heap_size(heap);
        let known = self.by_address.get(&address).copied();
        match known.filter(|&known| !is_new && self.sizes[as_index(known)] == size) {
            Some(known) => known,
            None => {
                self.sizes.push(size);
                self.by_address.insert(address, next);
                next
            }
        }
    }
}

fn assemble(trace: &Trace, sizes: &[ByteSize], slices: &[Slice]) -> Workload {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; sizes.len()];
    for (number, slice) in slices.iter().enumerate() {
        for &heap in &slice.used {
            let life = lives[as_index(heap)].get_or_insert((number, number));
            life.1 = number;
        }
    }
    let mut workload = Workload::new(trace.name(), FRAMES_IN_FLIGHT, 1);
    for &size in sizes {
        workload.add_heap(WorkHeap { size, group: SegmentGroup::Local, is_resident: true });
    }
    for (number, slice) in slices.iter().enumerate() {
        workload.submit(0, slice.gpu, slice.used.iter().copied());
        workload.frames.push(Frame {
            budget: [ByteSize::ZERO; 2],
            born: Vec::new(),
            submissions: number..number + 1,
            died: Vec::new(),
        });
    }
    for (heap, life) in (0..).zip(lives) {
        if let Some((first, last)) = life {
            workload.frames[first].born.push(heap);
            workload.frames[last].died.push(heap);
        }
    }
    workload.set_local_budget(BUDGET_PERCENT);
    workload
}
