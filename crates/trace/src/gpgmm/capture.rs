//! Records of a capture.

use std::collections::{HashMap, VecDeque};
use std::io::Read;

use super::event::{
    AllocationSnapshot, AllocatorSnapshot, CreateHeap, CreateResource, Event, ExecuteCommandLists, HeapDesc,
    HeapSnapshot, Id,
};
use super::json::{Objects, invalid_json};
use crate::error::{Fault, Position};
use crate::session::{Action, Allocation, Heap, HeapType, MAX_LIST_LEN, MAX_LIVE, Record, ResourceKind};
use crate::source::Source;
use crate::text::quoted;

/// The records of a capture.
pub(crate) struct Capture<R> {
    objects: Objects<R>,
    /// Whether the error is in the current object.
    is_in_object: bool,
    /// Offset in the current object of an error.
    error_offset: u64,
    state: State,
}

/// The reader's state after the events so far.
#[derive(Default)]
struct State {
    time_us: u64,
    records: VecDeque<Record>,
    /// Calls of each thread whose object has not been created yet.
    resource_calls: HashMap<u64, Allocation>,
    heap_calls: HashMap<u64, HeapDesc>,
    /// Objects by id. An object without number has no record yet.
    allocations: HashMap<u64, Option<u64>>,
    heaps: HashMap<u64, LiveHeap>,
    allocation_count: u64,
    heap_count: u64,
    set_count: u64,
    submission_count: u64,
    has_gpgmm: bool,
    has_options: bool,
}

#[derive(Default)]
struct LiveHeap {
    number: Option<u64>,
    desc: Option<HeapDesc>,
}

/// An event that concerns memory.
enum Subject {
    Allocator,
    Manager,
    Allocation,
    Heap,
    CreateResource,
    CreateHeap,
    ExecuteCommandLists,
}

impl Subject {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "GPUMemoryAllocator" | "ResourceAllocator" | "IResourceAllocator" => Self::Allocator,
            "ResidencyManager" | "IResidencyManager" => Self::Manager,
            "GPUMemoryAllocation" | "ResourceAllocation" | "IResourceAllocation" => Self::Allocation,
            "GPUMemoryBlock" | "Heap" | "IHeap" | "ResidencyHeap" | "IResidencyHeap" => Self::Heap,
            "ResourceAllocator.CreateResource" | "IResourceAllocator.CreateResource" => Self::CreateResource,
            "Heap.CreateHeap" | "Heap.CreateResidencyHeap" | "ResidencyHeap.CreateResidencyHeap" => {
                Self::CreateHeap
            }
            "ResidencyManager.ExecuteCommandLists" | "IResidencyManager.ExecuteCommandLists" => {
                Self::ExecuteCommandLists
            }
            _ => return None,
        })
    }
}

impl<R: Read> Capture<R> {
    pub(crate) fn new(source: Source<R>) -> Self {
        Self { objects: Objects::new(source), is_in_object: false, error_offset: 0, state: State::default() }
    }

    /// Returns the position of the current event, or of the error.
    pub(crate) fn position(&self) -> Position {
        Position::Byte(if self.is_in_object {
            self.objects.object_offset() + self.error_offset
        } else {
            self.objects.offset()
        })
    }

    /// Returns the next record, or `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, Fault> {
        loop {
            if let Some(record) = self.state.records.pop_front() {
                return Ok(Some(record));
            }
            self.is_in_object = false;
            if !self.objects.advance()? {
                let is_gpgmm = self.state.has_gpgmm;
                return if is_gpgmm { Ok(None) } else { Err(NOT_GPGMM.into()) };
            }
            self.is_in_object = true;
            self.error_offset = 0;
            let event = serde_json::from_slice::<Event<'_>>(self.objects.object()).map_err(|error| {
                if error.line() == 1 {
                    self.error_offset = error.column().saturating_sub(1) as u64;
                }
                invalid_json(&error)
            });
            // The offset of an error in arguments is that of their event.
            self.state.event(&event?)?;
        }
    }
}

const NOT_GPGMM: &str = "the Chrome trace has no event of GPGMM, whose captures need its recording flags for API objects and API calls";

impl State {
    /// Adds the records of an event.
    fn event(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let Some(subject) = Subject::of(&event.name) else { return Ok(()) };
        self.has_gpgmm = true;
        self.time_us = self.time_us.max(event.time_us());
        match (subject, &*event.ph) {
            (Subject::Allocator, "O") => self.allocator_snapshot(event)?,
            (Subject::Allocation, "N") => self.new_allocation(event)?,
            (Subject::Allocation, "O") => self.allocation_snapshot(event)?,
            (Subject::Allocation, "D") => self.delete_allocation(event)?,
            (Subject::Heap, "N") => self.new_heap(event)?,
            (Subject::Heap, "O") => self.heap_snapshot(event)?,
            (Subject::Heap, "D") => self.delete_heap(event)?,
            (Subject::CreateResource, "i") => self.create_resource(event)?,
            (Subject::CreateHeap, "i") => {
                if let Some(desc) = event.args::<CreateHeap>()?.and_then(|args| args.heap) {
                    self.heap_calls.insert(event.thread(), desc);
                    check_count(self.heap_calls.len())?;
                }
            }
            (Subject::ExecuteCommandLists, "i") => self.execute(event)?,
            _ => {}
        }
        Ok(())
    }

    fn record(&mut self, action: Action) {
        self.records.push_back(Record { time_us: self.time_us, action });
    }

    /// Adds the options of the first allocator; others have none of their own in a capture's records.
    fn allocator_snapshot(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        if std::mem::replace(&mut self.has_options, true) {
            return Ok(());
        }
        let Some(snapshot) = event.snapshot::<AllocatorSnapshot>()? else { return Ok(()) };
        if let Some(options) = snapshot.heapwright {
            for (name, value) in options {
                self.record(Action::SetOption { name: name.into(), value: value.into() });
            }
            return Ok(());
        }
        // Earlier versions had these algorithms alone.
        let algorithm = match snapshot.sub_allocation_algorithm.unwrap_or(0) {
            0 | 1 => "slab",
            2 => "buddy-system",
            _ => "dedicated",
        };
        let pool = match snapshot.pool_algorithm.unwrap_or(0) {
            3 => "fixed-pool",
            _ => "segmented-pool",
        };
        let size = |size: Option<u64>| size.filter(|&size| size > 0).map(|size| size.to_string());
        let number =
            |number: Option<f64>| number.filter(|number| *number > 0.0).map(|number| number.to_string());
        for (name, value) in [
            ("suballocation_algorithm", Some(algorithm.to_owned())),
            ("empty_heap_policy", Some(pool.to_owned())),
            ("preferred_heap_size", size(snapshot.preferred_resource_heap_size)),
            ("max_heap_size", size(snapshot.max_resource_heap_size)),
            ("heap_fragmentation_limit", number(snapshot.resource_heap_fragmentation_limit)),
            ("heap_growth_factor", number(snapshot.resource_heap_growth_factor)),
        ] {
            if let Some(value) = value {
                self.record(Action::SetOption { name: name.into(), value: value.into() });
            }
        }
        Ok(())
    }

    fn create_resource(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let Some(args) = event.args::<CreateResource>()? else { return Ok(()) };
        // A message with this name, or a call that failed, whose description may be impossible.
        let Some(resource) = args.resource_descriptor.filter(|_| args.description.is_none()) else {
            return Ok(());
        };
        let allocation = Allocation {
            id: 0,
            size: resource.size().map_err(|rule| format!("resourceDescriptor: {rule}"))?,
            kind: resource.kind(),
            heap_type: args
                .allocation_descriptor
                .and_then(|descriptor| HeapType::from_d3d12(descriptor.heap_type))
                .unwrap_or(HeapType::Unknown),
            flags: resource.flags,
            name: None,
        };
        // The previous call of the thread, if it is still here, has failed.
        self.resource_calls.insert(event.thread(), allocation);
        check_count(self.resource_calls.len())
    }

    fn new_allocation(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = id_of(event)?;
        let call = self.resource_calls.remove(&event.thread());
        let number = call.map(|call| self.allocate(call));
        match self.allocations.insert(id, number) {
            None => check_count(self.allocations.len()),
            Some(_) => Err(of_object(event, id, "created although it exists")),
        }
    }

    fn allocate(&mut self, allocation: Allocation) -> u64 {
        let id = self.allocation_count;
        self.allocation_count += 1;
        self.record(Action::Allocate(Allocation { id, ..allocation }));
        id
    }

    fn allocation_snapshot(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = id_of(event)?;
        let (Some(&number), Some(snapshot)) =
            (self.allocations.get(&id), event.snapshot::<AllocationSnapshot>()?)
        else {
            return Ok(());
        };
        let number = match number {
            Some(number) => number,
            None if snapshot.size_in_bytes == 0 => return Ok(()),
            None => {
                let number = self.allocate(Allocation {
                    id: 0,
                    size: snapshot.size_in_bytes,
                    kind: ResourceKind::Unknown,
                    heap_type: HeapType::Unknown,
                    flags: 0,
                    name: None,
                });
                self.allocations.insert(id, Some(number));
                number
            }
        };
        let heap = snapshot.resource_heap.and_then(|heap| self.heaps.get(&heap.id_ref.0)?.number);
        // The offset of allocations with a heap of their own, in which they are at the start, may be the largest
        // integer.
        let offset = snapshot.heap_offset.map(|offset| if offset == u64::MAX { 0 } else { offset });
        if let (Some(heap), Some(offset)) = (heap, offset) {
            self.record(Action::Place { allocation: number, heap, offset });
        }
        Ok(())
    }

    fn delete_allocation(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = id_of(event)?;
        match self.allocations.remove(&id) {
            Some(Some(allocation)) => self.record(Action::Free { allocation }),
            // Its size is unknown.
            Some(None) => {}
            None => return Err(of_object(event, id, "deleted although it does not exist")),
        }
        Ok(())
    }

    fn new_heap(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = id_of(event)?;
        let desc = self.heap_calls.remove(&event.thread());
        match self.heaps.insert(id, LiveHeap { number: None, desc }) {
            None => check_count(self.heaps.len()),
            Some(_) => Err(of_object(event, id, "created although it exists")),
        }
    }

    fn heap_snapshot(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let id = id_of(event)?;
        let Some(heap) = self.heaps.get_mut(&id).filter(|heap| heap.number.is_none()) else { return Ok(()) };
        let Some(snapshot) = event.snapshot::<HeapSnapshot>()? else { return Ok(()) };
        let number = self.heap_count;
        self.heap_count += 1;
        heap.number = Some(number);
        let desc = heap.desc.take().or(snapshot.heap);
        let heap_type =
            desc.as_ref().and_then(|desc| HeapType::from_d3d12(desc.properties.as_ref()?.heap_type));
        let heap = Heap {
            id: number,
            size: snapshot.size_in_bytes,
            alignment: snapshot.alignment.max(desc.as_ref().map_or(0, |desc| desc.alignment)),
            heap_type: heap_type.unwrap_or(HeapType::Unknown),
            flags: desc.map_or(0, |desc| desc.flags),
            name: snapshot.debug_name.map(Into::into),
        };
        self.record(Action::CreateHeap(heap));
        Ok(())
    }

    fn delete_heap(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let heap = self.heaps.remove(&id_of(event)?);
        // GPGMM at some versions writes no event for a new heap.
        if let Some(LiveHeap { number: Some(heap), .. }) = heap {
            self.record(Action::DestroyHeap { heap });
        }
        Ok(())
    }

    fn execute(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let Some(args) = event.args::<ExecuteCommandLists>()? else { return Ok(()) };
        let mut sets = Vec::new();
        for list in &args.residency_lists {
            let known = list.heaps.iter().filter_map(|heap| self.heaps.get(&heap.id_ref.0)?.number);
            let heaps: Vec<u64> = known.collect();
            let set = self.set_count;
            self.set_count += 1;
            check_list(heaps.len())?;
            self.record(Action::DefineSet { set, heaps });
            sets.push(set);
        }
        check_list(sets.len())?;
        self.submission_count += 1;
        self.record(Action::Submit { queue: 0, fence_value: self.submission_count, sets });
        Ok(())
    }
}

fn id_of(event: &Event<'_>) -> Result<u64, Fault> {
    let no_id = || format!("event {} has no id", quoted(event.name.as_bytes()));
    Ok(event.id.map(|Id(id)| id).ok_or_else(no_id)?)
}

/// Returns the error that an object does not exist, or exists.
fn of_object(event: &Event<'_>, id: u64, rule: &str) -> Fault {
    format!("{} {id:#x} is {rule}", quoted(event.name.as_bytes())).into()
}

/// Bounds the memory for malicious captures.
fn check_count(count: usize) -> Result<(), Fault> {
    let limit = MAX_LIVE;
    if count <= limit as usize {
        Ok(())
    } else {
        Err(format!("more than {limit} objects exist at the same time").into())
    }
}

fn check_list(len: usize) -> Result<(), Fault> {
    if len <= MAX_LIST_LEN {
        Ok(())
    } else {
        Err(format!("a list of heaps or residency sets exceeds the limit of {MAX_LIST_LEN}").into())
    }
}
