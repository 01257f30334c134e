//! Writes records as Chrome trace events, with the names of GPGMM's events.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::session::{Action, Allocation, Counter, Description, Record, ResourceKind};

/// A writer of captures, for Perfetto, chrome://tracing and GPGMM's capture replay.
///
/// Heaps and allocations are objects with snapshots, calls are instants, and counters are tracks, with the bytes of heaps and of
/// allocations. What a capture cannot hold is left out: contents, and other settings than those of allocators.
#[derive(Debug)]
pub struct CaptureWriter<W> {
    output: W,
    has_events: bool,
    time_us: u64,
    /// The last allocation, whose description, place, address and name may follow.
    allocation: Option<NewAllocation>,
    /// The last new allocator, whose options may follow.
    allocator: Option<(u64, Map<String, Value>)>,
    selected: Option<u64>,
    known: Vec<u64>,
    /// Sizes of live allocations and heaps, and the heaps of residency sets, by id.
    allocations: HashMap<u64, u64>,
    heaps: HashMap<u64, u64>,
    sets: HashMap<u64, Vec<u64>>,
    used: u64,
    reserved: u64,
}

#[derive(Debug)]
struct NewAllocation {
    allocation: Allocation,
    description: Option<Box<Description>>,
    snapshot: Map<String, Value>,
}

const ALLOCATION: &str = "IResourceAllocation";
const HEAP: &str = "IResidencyHeap";
const ALLOCATOR: &str = "IResourceAllocator";

impl<W: Write> CaptureWriter<W> {
    /// Creates a writer.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
        Ok(Self {
            output,
            has_events: false,
            time_us: 0,
            allocation: None,
            allocator: None,
            selected: None,
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
        // What happens later is an event of its own.
        if record.time_us == self.time_us && self.attach(&record.action) {
            return Ok(());
        }
        self.flush()?;
        self.time_us = record.time_us;
        match &record.action {
            Action::Allocate(allocation) => {
                let mut snapshot = Map::from_iter([("SizeInBytes".to_owned(), allocation.size.into())]);
                snapshot.extend(allocation.name.as_deref().map(|name| ("DebugName".to_owned(), name.into())));
                self.allocation =
                    Some(NewAllocation { allocation: allocation.clone(), description: None, snapshot });
            }
            Action::Free { allocation } => {
                self.used -= self.allocations.remove(allocation).unwrap_or(0);
                self.object(ALLOCATION, "D", *allocation, None)?;
                self.count("Allocations", &[("bytes", self.used)])?;
            }
            Action::Place { allocation, .. }
            | Action::AllocationAddress { allocation, .. }
            | Action::Name { allocation, .. } => {
                let mut snapshot = Map::new();
                place(&mut snapshot, &record.action);
                self.object(ALLOCATION, "O", *allocation, Some(snapshot))?;
            }
            Action::CreateHeap(heap) => {
                self.reserved = self.reserved.saturating_add(heap.size);
                self.heaps.insert(heap.id, heap.size);
                let heap_type = heap.heap_type as u8;
                let mut snapshot = Map::from_iter([
                    ("SizeInBytes".to_owned(), heap.size.into()),
                    ("Alignment".to_owned(), heap.alignment.into()),
                    (
                        "Heap".to_owned(),
                        json!({ "Alignment": heap.alignment, "Flags": heap.flags, "Properties": { "Type": heap_type } }),
                    ),
                ]);
                snapshot.extend(heap.name.as_deref().map(|name| ("DebugName".to_owned(), name.into())));
                self.object(HEAP, "N", heap.id, None)?;
                self.object(HEAP, "O", heap.id, Some(snapshot))?;
                self.count("Heaps", &[("bytes", self.reserved)])?;
            }
            Action::DestroyHeap { heap } => {
                self.reserved = self.reserved.saturating_sub(self.heaps.remove(heap).unwrap_or(0));
                self.object(HEAP, "D", *heap, None)?;
                self.count("Heaps", &[("bytes", self.reserved)])?;
            }
            Action::SelectAllocator { allocator } => {
                self.selected = Some(*allocator);
                if !self.known.contains(allocator) {
                    self.known.push(*allocator);
                    self.allocator = Some((*allocator, Map::new()));
                }
            }
            Action::SetOption { name, value } => {
                // A capture has its options without an allocator.
                let options = Map::from_iter([(name.to_string(), (**value).into())]);
                self.allocator = Some((self.selected.unwrap_or(0), options));
            }
            Action::NestAllocator { parent } => {
                self.call("ResourceAllocator.Nest", json!({ "parent": id(*parent) }))?
            }
            Action::DropAllocator => self.call("ResourceAllocator.Release", json!({}))?,
            Action::Frame => self.call("ResourceAllocator.Frame", json!({}))?,
            Action::IdlePeriod => self.call("ResourceAllocator.IdlePeriod", json!({}))?,
            Action::ReleaseHeaps { bytes } => {
                self.call("ResourceAllocator.ReleaseResourceHeaps", json!({ "BytesToRelease": bytes }))?;
            }
            Action::CreatePool { pool, options } => {
                let options: Map<String, Value> =
                    options.iter().map(|(name, value)| (name.to_string(), (**value).into())).collect();
                self.call("ResourceAllocator.CreatePool", json!({ "pool": id(*pool), "options": options }))?;
            }
            Action::DropPool { pool } => self.call("Pool.Release", json!({ "pool": id(*pool) }))?,
            Action::ReleasePool { pool } => {
                self.call("Pool.ReleaseEmptyHeaps", json!({ "pool": id(*pool) }))?
            }
            Action::PrefetchHeap { heap, .. } => {
                self.call("ResourceAllocator.PrefetchHeap", json!({ "Heap": { "id_ref": id(*heap) } }))?;
            }
            Action::HeapTime { heap_type, is_free, nanoseconds } => {
                let args = json!({ "Type": *heap_type as u8, "IsFree": is_free, "Nanoseconds": nanoseconds });
                self.call("ResourceAllocator.HeapTime", args)?;
            }
            Action::DefineSet { set, heaps } => drop(self.sets.insert(*set, heaps.clone())),
            Action::Submit { queue, fence_value, sets } => {
                let lists: Vec<Value> = sets
                    .iter()
                    .filter_map(|set| self.sets.get(set))
                    .map(|heaps| json!({ "Heaps": heaps.iter().map(|&heap| json!({ "id_ref": id(heap) })).collect::<Vec<_>>() }))
                    .collect();
                let args = json!({ "ResidencyLists": lists, "Queue": queue, "FenceValue": fence_value });
                self.call("ResidencyManager.ExecuteCommandLists", args)?;
            }
            Action::MakeResident { heap } => {
                self.call("ResidencyManager.MakeResident", json!({ "Heaps": [{ "id_ref": id(*heap) }] }))?;
            }
            Action::Evict { heap } => {
                self.call("ResidencyManager.Evict", json!({ "Heaps": [{ "id_ref": id(*heap) }] }))?;
            }
            Action::Count { counter, value } => {
                let (track, series) = match counter {
                    Counter::LocalBudget => ("Local memory", "budget"),
                    Counter::LocalUsage => ("Local memory", "usage"),
                    Counter::LocalResident => ("Local memory", "resident"),
                    Counter::NonLocalBudget => ("Non-local memory", "budget"),
                    Counter::NonLocalUsage => ("Non-local memory", "usage"),
                    Counter::NonLocalResident => ("Non-local memory", "resident"),
                    Counter::Reserved => ("Allocator", "reserved"),
                    Counter::Used => ("Allocator", "used"),
                    Counter::Fragmentation => ("Fragmentation", "millionths"),
                };
                self.count(track, &[(series, *value)])?;
            }
            Action::Contents { .. }
            | Action::HeapAddress { .. }
            | Action::Describe(_)
            | Action::UsePool { .. } => {}
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
        self.output.write_all(b"\n]}\n")?;
        Ok(self.output)
    }

    /// Returns whether a record belongs to the last allocation or allocator, which is not written yet.
    fn attach(&mut self, action: &Action) -> bool {
        if let (Action::SetOption { name, value }, Some((_, options))) = (action, &mut self.allocator) {
            options.insert(name.to_string(), (**value).into());
            return true;
        }
        let Some(NewAllocation { allocation, description, snapshot }) = &mut self.allocation else {
            return false;
        };
        let is_same = |other: u64| other == allocation.id;
        match action {
            Action::Describe(described) if is_same(described.allocation) => {
                *description = Some(described.clone())
            }
            Action::UsePool { allocation, .. } if is_same(*allocation) => {}
            Action::Place { allocation, .. }
            | Action::AllocationAddress { allocation, .. }
            | Action::Name { allocation, .. }
                if is_same(*allocation) =>
            {
                place(snapshot, action)
            }
            _ => return false,
        }
        true
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some((allocator, options)) = self.allocator.take() {
            self.object(ALLOCATOR, "N", allocator, None)?;
            let snapshot = Map::from_iter([("heapwright".to_owned(), options.into())]);
            self.object(ALLOCATOR, "O", allocator, Some(snapshot))?;
        }
        let Some(NewAllocation { allocation, description, snapshot }) = self.allocation.take() else {
            return Ok(());
        };
        if let Some(resource) = resource(&allocation, description.as_deref()) {
            let described = description.unwrap_or_default();
            let args = json!({
                "allocationDescriptor": {
                    "Flags": described.allocation_flags & ALLOCATION_FLAGS,
                    "HeapType": allocation.heap_type as u8,
                    "ExtraRequiredHeapFlags": described.heap_flags,
                    "ExtraRequiredResourcePadding": described.padding,
                },
                "resourceDescriptor": resource,
                "initialResourceState": described.initial_state,
                "clearValue": {},
            });
            self.call("ResourceAllocator.CreateResource", args)?;
        }
        self.object(ALLOCATION, "N", allocation.id, None)?;
        self.object(ALLOCATION, "O", allocation.id, Some(snapshot))?;
        self.allocations.insert(allocation.id, allocation.size);
        self.used = self.used.saturating_add(allocation.size);
        self.count("Allocations", &[("bytes", self.used)])
    }

    fn object(
        &mut self,
        name: &str,
        phase: &str,
        number: u64,
        snapshot: Option<Map<String, Value>>,
    ) -> io::Result<()> {
        let mut event = json!({ "name": name, "ph": phase, "id": id(number) });
        if let Some(snapshot) = snapshot {
            event["args"] = json!({ "snapshot": snapshot });
        }
        self.event(event)
    }

    fn call(&mut self, name: &str, args: Value) -> io::Result<()> {
        self.event(json!({ "name": name, "ph": "i", "s": "t", "args": args }))
    }

    fn count(&mut self, track: &str, values: &[(&str, u64)]) -> io::Result<()> {
        let values: Map<String, Value> =
            values.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        self.event(json!({ "name": track, "ph": "C", "args": values }))
    }

    fn event(&mut self, mut event: Value) -> io::Result<()> {
        event["cat"] = "default".into();
        event["ts"] = self.time_us.into();
        event["pid"] = 1.into();
        event["tid"] = 1.into();
        if std::mem::replace(&mut self.has_events, true) {
            self.output.write_all(b",\n")?;
        }
        Ok(serde_json::to_writer(&mut self.output, &event)?)
    }
}

/// GPGMM's flags of allocations. A replay must not see others.
const ALLOCATION_FLAGS: u32 = 0x3ff;

fn id(number: u64) -> String {
    format!("{number:#x}")
}

/// Adds the place, address or name of an allocation to its snapshot.
fn place(snapshot: &mut Map<String, Value>, action: &Action) {
    match action {
        Action::Place { heap, offset, .. } => {
            snapshot.insert("HeapOffset".to_owned(), (*offset).into());
            snapshot.insert("ResourceHeap".to_owned(), json!({ "id_ref": id(*heap) }));
        }
        Action::AllocationAddress { address, .. } => {
            snapshot.insert("GPUVirtualAddress".to_owned(), id(*address).into());
        }
        Action::Name { name, .. } => drop(snapshot.insert("DebugName".to_owned(), (**name).into())),
        _ => {}
    }
}

/// Returns the description of the resource, if it is known. The size of a buffer is enough.
fn resource(allocation: &Allocation, description: Option<&Description>) -> Option<Value> {
    let buffer = Description {
        dimension: 1,
        width: allocation.size,
        height: 1,
        depth_or_array_size: 1,
        mip_levels: 1,
        sample_count: 1,
        layout: 1,
        ..Description::default()
    };
    let description = match (description, allocation.kind) {
        (Some(description), _) => description,
        (None, ResourceKind::Buffer) => &buffer,
        (None, _) => return None,
    };
    Some(json!({
        "Dimension": description.dimension,
        "Alignment": description.alignment,
        "Width": description.width,
        "Height": description.height,
        "DepthOrArraySize": description.depth_or_array_size,
        "MipLevels": description.mip_levels,
        "Format": description.format,
        "Layout": description.layout,
        "SampleDesc": { "Count": description.sample_count, "Quality": description.sample_quality },
        "Flags": allocation.flags,
    }))
}
