//! Writes records as a Chrome trace.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::chrome::{
    ALLOCATION, ALLOCATOR, CREATE_RESOURCE, ChromeTrace, Moment, Options, Place, address_field, append,
    name_field, resource_args,
};
use crate::session::{Action, Allocation, Description, Record, ResourceKind};

/// A writer of captures, for Perfetto, chrome://tracing and GPGMM's capture replay.
///
/// Heaps and allocations are objects with snapshots, calls are instants, and counters are tracks, with the bytes of
/// heaps and of allocations. What a capture cannot hold is left out: contents, and other settings than those of
/// allocators.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    trace: ChromeTrace<W>,
    now: Moment,
    /// The last allocation, whose description, place, address and name may follow.
    allocation: Option<NewAllocation>,
    /// The last new allocator, whose options may follow.
    allocator: Option<(u64, OptionList)>,
    selected: u64,
    known: Vec<u64>,
    /// Sizes of live allocations and heaps, and the heaps of residency sets, by id.
    allocations: HashMap<u64, u64>,
    heaps: HashMap<u64, u64>,
    sets: HashMap<u64, Vec<u64>>,
    used: u64,
    reserved: u64,
}

/// Names and values of options.
type OptionList = Vec<(Box<str>, Box<str>)>;

#[derive(Debug)]
struct NewAllocation {
    allocation: Allocation,
    description: Option<Box<Description>>,
    place: Option<Place>,
    address: Option<u64>,
}

impl<W: Write> CaptureWriter<W> {
    /// Creates a writer.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn new(output: W) -> io::Result<Self> {
        Ok(Self {
            trace: ChromeTrace::new(output, 1, "recorded program")?,
            now: Moment { time_ns: 0, thread: 1 },
            allocation: None,
            allocator: None,
            selected: 0,
            known: Vec::new(),
            allocations: HashMap::new(),
            heaps: HashMap::new(),
            sets: HashMap::new(),
            used: 0,
            reserved: 0,
        })
    }

    /// Writes a record, in the order of time.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        let time_ns = record.time_us.saturating_mul(1000);
        // What happens later is an event of its own.
        if time_ns == self.now.time_ns && self.attach(&record.action) {
            return Ok(());
        }
        self.flush()?;
        self.now.time_ns = time_ns;
        let Self { trace, now, selected, .. } = self;
        let (now, selected) = (*now, *selected);
        match &record.action {
            Action::Allocate(allocation) => {
                let allocation = allocation.clone();
                self.allocation =
                    Some(NewAllocation { allocation, description: None, place: None, address: None });
            }
            Action::Free { allocation } => {
                self.used -= self.allocations.remove(allocation).unwrap_or(0);
                trace.action(now, selected, &record.action)?;
                trace.bytes(now, "Allocations", self.used)?;
            }
            Action::CreateHeap(heap) => {
                self.reserved = self.reserved.saturating_add(heap.size);
                self.heaps.insert(heap.id, heap.size);
                trace.action(now, selected, &record.action)?;
                trace.bytes(now, "Heaps", self.reserved)?;
            }
            Action::DestroyHeap { heap } => {
                self.reserved = self.reserved.saturating_sub(self.heaps.remove(heap).unwrap_or(0));
                trace.action(now, selected, &record.action)?;
                trace.bytes(now, "Heaps", self.reserved)?;
            }
            Action::SelectAllocator { allocator } => {
                self.selected = *allocator;
                if !self.known.contains(allocator) {
                    self.known.push(*allocator);
                    self.allocator = Some((*allocator, Vec::new()));
                }
            }
            // A capture has its options without an allocator.
            Action::SetOption { name, value } => {
                self.allocator = Some((selected, vec![(name.clone(), value.clone())]));
            }
            Action::DefineSet { set, heaps } => drop(self.sets.insert(*set, heaps.clone())),
            Action::Submit { queue, fence_value, sets } => {
                let heaps: Vec<_> = sets.iter().filter_map(|set| self.sets.get(set).cloned()).collect();
                trace.submission(now, *queue, *fence_value, &heaps)?;
            }
            other => trace.action(now, selected, other)?,
        }
        Ok(())
    }

    /// Writes the end of the file, and returns the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        self.trace.finish()
    }

    /// Returns whether a record belongs to the last allocation or allocator, which is not written yet.
    fn attach(&mut self, action: &Action) -> bool {
        if let (Action::SetOption { name, value }, Some((_, options))) = (action, &mut self.allocator) {
            options.push((name.clone(), value.clone()));
            return true;
        }
        let Some(new) = &mut self.allocation else { return false };
        let id = new.allocation.id;
        match action {
            Action::Describe(described) if described.allocation == id => {
                new.description = Some(described.clone());
            }
            Action::Reason { allocation, .. }
            | Action::UsePool { allocation, .. }
            | Action::Ask { allocation, .. }
                if *allocation == id => {}
            Action::Place { allocation, heap, offset } if *allocation == id => {
                new.place = Some(Place { heap: *heap, offset: *offset });
            }
            Action::AllocationAddress { allocation, address, .. } if *allocation == id => {
                new.address = Some(*address);
            }
            Action::Name { allocation, name } if *allocation == id => {
                new.allocation.name = Some(name.clone());
            }
            _ => return false,
        }
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some((allocator, options)) = self.allocator.take() {
            let fields = format!("\"heapwright\":{{{}}}", Options(&options));
            self.trace.new_object(self.now, ALLOCATOR, allocator, &fields)?;
        }
        let Some(new) = self.allocation.take() else { return Ok(()) };
        let NewAllocation { allocation, description, place, address } = new;
        let description = match (description, allocation.kind) {
            (Some(description), _) => Some(*description),
            (None, ResourceKind::Buffer) => Some(buffer(allocation.size)),
            (None, _) => None,
        };
        if let Some(description) = description {
            let args = resource_args(&description, allocation.heap_type as u8, allocation.flags, "");
            self.trace.call(self.now, CREATE_RESOURCE, &args)?;
        }
        let mut fields = format!("\"SizeInBytes\":{}", allocation.size);
        let place = place.map(|place| place.to_string());
        let name = allocation.name.as_deref().map(name_field);
        for field in [place, address.map(address_field), name].into_iter().flatten() {
            append(&mut fields, format_args!(",{field}"));
        }
        self.trace.new_object(self.now, ALLOCATION, allocation.id, &fields)?;
        self.allocations.insert(allocation.id, allocation.size);
        self.used = self.used.saturating_add(allocation.size);
        self.trace.bytes(self.now, "Allocations", self.used)
    }
}

/// Returns the description of a buffer, for which the size is enough.
fn buffer(size: u64) -> Description {
    Description {
        dimension: 1,
        width: size,
        height: 1,
        depth_or_array_size: 1,
        mip_levels: 1,
        sample_count: 1,
        layout: 1,
        ..Description::default()
    }
}
