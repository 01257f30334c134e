//! Events as a Chrome trace (JSON), with the names of GPGMM's events.

use std::collections::HashSet;
use std::io::{self, BufWriter, Seek, Write};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_trace::chrome::{
    self, ALLOCATION, ALLOCATOR, ChromeTrace, MANAGER, Moment, Options, Place, Text, append,
};
use heapwright_trace::session::{Action, Description};

use super::event::HeapMemory;
use super::event::{Allocated, Entry, Event, InstanceKind, Settings};
use super::thread_names::thread_name;
use crate::desc::HEAP_GRANULARITY;
use crate::{ClearValue, EmptyHeapPolicy, Error, ResourceAllocatorDesc, SuballocationAlgorithm};

/// The call that creates a resource.
pub(crate) const CREATE_RESOURCE: &str = "ResourceAllocator.CreateResource";

/// The call that creates a heap.
pub(crate) const CREATE_HEAP: &str = "Heap.CreateResidencyHeap";

/// A trace that is being written. Between two checkpoints, only the end is missing in the file.
pub(super) struct ChromeEvents<W: Write> {
    trace: ChromeTrace<BufWriter<W>>,
    named_threads: HashSet<u32>,
}

impl<W: Write + Seek> ChromeEvents<W> {
    pub(super) fn new(output: W) -> io::Result<Self> {
        let trace = ChromeTrace::new(BufWriter::new(output), std::process::id(), &program_name())?;
        Ok(Self { trace, named_threads: HashSet::new() })
    }

    /// Completes the file. The next event replaces the end.
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        self.trace.checkpoint()
    }

    pub(super) fn write(&mut self, entry: Entry) -> io::Result<()> {
        let Entry { time_ns, thread, event } = entry;
        if self.named_threads.insert(thread) {
            if let Some(name) = thread_name(thread) {
                self.trace.thread_name(thread, &name)?;
            }
        }
        let at = Moment { time_ns, thread };
        let trace = &mut self.trace;
        match event {
            Event::Begin { instance, kind, parent, settings } => {
                trace.new_object(at, name_of(kind), instance, &instance_fields(&settings, parent))
            }
            Event::End { instance, kind } => trace.object(at, name_of(kind), 'D', instance),
            // Only a replay needs the times, and reads sessions.
            Event::Action { action: Action::HeapTime { .. }, .. } => Ok(()),
            Event::Action { allocator, action } => trace.action(at, allocator.unwrap_or_default(), &action),
            Event::Allocate(allocated) => self.allocate(at, &allocated),
            Event::Move { allocation, heap, offset, address } => {
                let mut fields = Place { heap, offset }.to_string();
                if let Some((address, _)) = address {
                    append(&mut fields, format_args!(",{}", chrome::address_field(address)));
                }
                trace.snapshot(at, ALLOCATION, allocation, &fields)
            }
            Event::RecordContents { allocation, size } => {
                let args = format!("\"allocation\":\"{allocation:#x}\",\"SizeInBytes\":{size}");
                trace.call(at, "ResourceAllocation.RecordContents", &args)
            }
            Event::CreateHeap(new) => {
                if let Some(args) = &new.call {
                    // Directly before the object, which is how GPGMM's replay knows its id.
                    trace.call(at, CREATE_HEAP, args)?;
                }
                if new.is_object { trace.new_heap(at, &new.heap) } else { Ok(()) }
            }
            Event::Object { name, phase, id } => trace.object(at, name, phase, id),
            Event::Submit { queue, fence_value, lists } => trace.submission(at, queue, fence_value, &lists),
            Event::MakeResident { heaps } => trace.made_resident(at, &heaps),
            Event::Evict { heaps } => trace.evicted(at, &heaps),
            Event::Count { instance, kind: _, values } => {
                values.iter().try_for_each(|&(counter, value)| trace.counter(at, instance, counter, value))
            }
            Event::Call { name, args } => trace.call(at, name, &args),
            Event::Timing { call, duration_ns } => trace.timing(at, call, duration_ns),
        }
    }

    fn allocate(&mut self, at: Moment, allocated: &Allocated) -> io::Result<()> {
        if let Some((description, _)) = &allocated.description {
            let Allocated { heap_type, resource_flags, clear_value, .. } = allocated;
            let args = resource_call(description, *heap_type, *resource_flags, clear_value.as_ref());
            self.trace.call(at, CREATE_RESOURCE, &args)?;
        }
        let mut fields = format!("\"SizeInBytes\":{}", allocated.taken);
        if let Some((heap, offset)) = allocated.place {
            append(&mut fields, format_args!(",{}", Place { heap, offset }));
        }
        if let Some(address) = allocated.address {
            append(&mut fields, format_args!(",{}", chrome::address_field(address)));
        }
        self.trace.new_object(at, ALLOCATION, allocated.id, &fields)
    }
}

/// Returns the fields of an instance: GPGMM's, and all options, also where GPGMM has no field.
fn instance_fields(settings: &Settings, parent: Option<u64>) -> String {
    let mut fields = settings.fields.clone();
    if let Some(parent) = parent {
        append(&mut fields, format_args!(",\"parent\":{{\"id_ref\":\"{parent:#x}\"}}"));
    }
    append(&mut fields, format_args!(",\"heapwright\":{{{}}}", Options(&settings.options)));
    fields
}

fn name_of(kind: InstanceKind) -> &'static str {
    match kind {
        InstanceKind::Allocator => ALLOCATOR,
        InstanceKind::ResidencyManager => MANAGER,
    }
}

fn program_name() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&program).file_name().unwrap_or(&program);
    name.to_string_lossy().into_owned()
}

/// Returns the arguments of `CreateResource`.
pub(crate) fn resource_call(
    description: &Description,
    heap_type: u8,
    resource_flags: u32,
    clear_value: Option<&ClearValue>,
) -> String {
    let clear_value = clear_value.map(|value| match *value {
        ClearValue::Color { format, color: [red, green, blue, alpha] } => {
            format!("\"Format\":{format},\"Color\":{{\"R\":{red},\"G\":{green},\"B\":{blue},\"A\":{alpha}}}")
        }
        ClearValue::DepthStencil { format, depth, stencil } => {
            format!("\"Format\":{format},\"DepthStencil\":{{\"Depth\":{depth},\"Stencil\":{stencil}}}")
        }
    });
    chrome::resource_args(description, heap_type, resource_flags, &clear_value.unwrap_or_default())
}

/// GPGMM's flags of allocators. A replay must not see others.
const ALLOCATOR_FLAGS: u32 = 0xff;

/// Returns a name in the arguments of a call.
pub(crate) fn name_args(name: &str) -> String {
    format!("\"Name\":{}", Text(name))
}

/// Returns what is appended to the arguments of a call that failed: GPGMM's replay takes it for a message and does not
/// repeat it.
pub(crate) fn failure_args(error: Option<&Error>) -> String {
    error.map_or_else(String::new, |error| format!(",\"Description\":{},\"ID\":0", Text(&error.to_string())))
}

/// Returns the fields of GPGMM's snapshot of an allocator. Zero is a default.
pub(crate) fn allocator_fields(desc: &ResourceAllocatorDesc, resource_heap_tier: u8) -> String {
    let size = |size: Option<ByteSize>| size.map_or(0, ByteSize::get);
    let dividing = match desc.suballocation_algorithm {
        SuballocationAlgorithm::Default | SuballocationAlgorithm::Linear => 0,
        SuballocationAlgorithm::Slab => 1,
        SuballocationAlgorithm::BuddySystem => 2,
        SuballocationAlgorithm::Dedicated => 5,
    };
    let keeping = match desc.empty_heap_policy {
        EmptyHeapPolicy::FixedPool => 3,
        EmptyHeapPolicy::SegmentedPool => 4,
        _ => 0,
    };
    format!(
        "\"Flags\":{},\"RecordOptions\":{{\"Flags\":{}}},\"ResourceHeapTier\":{resource_heap_tier},\
         \"SubAllocationAlgorithm\":{dividing},\"PoolAlgorithm\":{keeping},\"PreferredResourceHeapSize\":{},\
         \"MaxResourceHeapSize\":{},\"ResourceHeapFragmentationLimit\":{},\"ResourceHeapGrowthFactor\":{}",
        desc.flags.bits() & ALLOCATOR_FLAGS,
        desc.record_options.flags.bits(),
        size(desc.preferred_heap_size),
        size(desc.max_heap_size),
        desc.heap_fragmentation_limit.unwrap_or(0.0),
        desc.heap_growth_factor.unwrap_or(0.0),
    )
}

/// Returns the arguments of `CreateResidencyHeap`, by which a heap like it can be created.
pub(super) fn heap_call(memory: &HeapMemory) -> String {
    let &HeapMemory { size, alignment, properties, flags } = memory;
    if properties.Type == 0 {
        // As in GPGMM: neither a heap nor a resource.
        return "\"Heap\":{}".to_owned();
    }
    // Those of a small committed resource are not possible for a heap.
    let alignment = alignment.max(HEAP_GRANULARITY.get());
    let size = size.checked_next_multiple_of(alignment).unwrap_or(size);
    let D3D12_HEAP_PROPERTIES {
        Type,
        CPUPageProperty,
        MemoryPoolPreference,
        CreationNodeMask,
        VisibleNodeMask,
    } = properties;
    format!(
        "\"Heap\":{{\"SizeInBytes\":{size},\"Properties\":{{\"Type\":{Type},\"CPUPageProperty\":{CPUPageProperty},\
         \"MemoryPoolPreference\":{MemoryPoolPreference},\"CreationNodeMask\":{CreationNodeMask},\
         \"VisibleNodeMask\":{VisibleNodeMask}}},\"Alignment\":{alignment},\"Flags\":{flags}}}"
    )
}
