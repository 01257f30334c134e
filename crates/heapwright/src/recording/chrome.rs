//! Events as a Chrome trace (JSON), with the names of GPGMM's events.

use std::collections::HashSet;
use std::fmt::{self, Display, Write as _};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_trace::session::{Counter, Description, Heap, PlacementKind};

use super::event::{Allocated, Entry, Event, InstanceKind, Settings};
use super::instance::HeapMemory;
use super::recorder::thread_name;
use crate::desc::HEAP_GRANULARITY;
use crate::residency::ResidencyManagerDesc;
use crate::{ClearValue, EmptyHeapPolicy, ResourceAllocatorDesc, SuballocationAlgorithm};

/// A trace that is being written. Between two checkpoints, only the end is missing in the file.
pub(super) struct ChromeTrace<W: Write> {
    output: BufWriter<W>,
    process: u32,
    named_threads: HashSet<u32>,
    /// The event that is being written.
    line: String,
}

const END: &str = "\n]}\n";

impl<W: Write + Seek> ChromeTrace<W> {
    pub(super) fn new(output: W) -> io::Result<Self> {
        let process = std::process::id();
        let mut output = BufWriter::new(output);
        let version = env!("CARGO_PKG_VERSION");
        write!(
            output,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"recorded by\":\"heapwright {version}\"}},\"traceEvents\":[\n\
             {{\"name\":\"process_name\",\"cat\":\"__metadata\",\"ph\":\"M\",\"pid\":{process},\"tid\":0,\"ts\":0,\
             \"args\":{{\"name\":{}}}}}",
            Text(&program_name())
        )?;
        Ok(Self { output, process, named_threads: HashSet::new(), line: String::new() })
    }

    /// Completes the file. The next event replaces the end.
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        self.output.write_all(END.as_bytes())?;
        const BACK: i64 = -(END.len().cast_signed() as i64);
        // Seeking flushes the buffer first.
        self.output.seek(SeekFrom::Current(BACK)).map(drop)
    }

    pub(super) fn write(&mut self, entry: Entry) -> io::Result<()> {
        let Entry { time_ns, thread, event } = entry;
        if self.named_threads.insert(thread) {
            if let Some(name) = thread_name(thread) {
                let name = Text(&name);
                self.event(0, thread, "thread_name", 'M', format_args!(",\"args\":{{\"name\":{name}}}"))?;
            }
        }
        let time = time_ns;
        match event {
            Event::Begin { instance, kind, parent, settings } => {
                self.begin(time, thread, instance, kind, parent, &settings)
            }
            Event::End { instance, kind } => self.object(time, thread, name_of(kind), 'D', instance),
            Event::DropAllocator { instance } => {
                self.of_instance(time, thread, "ResourceAllocator.Release", instance, "")
            }
            Event::CreatePool { instance, pool, options } => {
                let mut args = format!(",\"pool\":\"{pool:#x}\"");
                options.iter().for_each(|(name, value)| {
                    write_to(&mut args, format_args!(",{}:{}", Text(name), Text(value)));
                });
                self.of_instance(time, thread, "ResourceAllocator.CreatePool", instance, &args)
            }
            Event::DropPool { pool } => {
                self.call(time, thread, "Pool.Release", &format!("\"pool\":\"{pool:#x}\""))
            }
            Event::ReleasePool { pool } => {
                self.call(time, thread, "Pool.ReleaseEmptyHeaps", &format!("\"pool\":\"{pool:#x}\""))
            }
            // Only a replay needs them, which reads sessions.
            Event::HeapTime { .. } => Ok(()),
            Event::PrefetchHeap { instance, heap, pool: _, is_shared: _ } => {
                let args = format!(",\"Heap\":{{\"id_ref\":\"{heap:#x}\"}}");
                self.of_instance(time, thread, "ResourceAllocator.PrefetchHeap", instance, &args)
            }
            Event::Allocate(allocated) => self.allocate(time, thread, &allocated),
            Event::Free { allocation } => self.object(time, thread, ALLOCATION, 'D', allocation),
            Event::Move { allocation, heap, offset, address } => {
                let mut snapshot =
                    format!("\"HeapOffset\":{offset},\"ResourceHeap\":{{\"id_ref\":\"{heap:#x}\"}}");
                if let Some((address, _)) = address {
                    write_to(&mut snapshot, format_args!(",\"GPUVirtualAddress\":\"{address:#x}\""));
                }
                self.snapshot(time, thread, ALLOCATION, allocation, &snapshot)
            }
            Event::Name { allocation, name } => {
                let snapshot = format!("\"DebugName\":{}", Text(&name));
                self.snapshot(time, thread, ALLOCATION, allocation, &snapshot)
            }
            Event::RecordContents { allocation, size } => {
                let args = format!("\"allocation\":\"{allocation:#x}\",\"SizeInBytes\":{size}");
                self.call(time, thread, "ResourceAllocation.RecordContents", &args)
            }
            // The bytes are in sessions only.
            Event::Contents { .. } => Ok(()),
            Event::CreateHeap(heap, call) => {
                if let Some(args) = call {
                    self.call(time, thread, "Heap.CreateResidencyHeap", &args)?;
                }
                self.create_heap(time, thread, &heap)
            }
            Event::DestroyHeap { heap } => self.object(time, thread, HEAP, 'D', heap),
            Event::Frame { instance } => {
                self.of_instance(time, thread, "ResourceAllocator.Frame", instance, "")
            }
            Event::IdlePeriod { instance } => {
                self.of_instance(time, thread, "ResourceAllocator.IdlePeriod", instance, "")
            }
            Event::ReleaseHeaps { instance, bytes } => {
                let args = format!(",\"BytesToRelease\":{bytes}");
                self.of_instance(time, thread, "ResourceAllocator.ReleaseResourceHeaps", instance, &args)
            }
            Event::Submit { queue, fence_value, lists } => {
                let lists = submit_args(&lists);
                let args = format!("{lists},\"Queue\":{queue},\"FenceValue\":{fence_value}");
                self.call(time, thread, "ResidencyManager.ExecuteCommandLists", &args)
            }
            Event::MakeResident { heaps } => {
                let args = format!("\"Heaps\":{}", References(&heaps));
                self.call(time, thread, "ResidencyManager.MakeResident", &args)
            }
            Event::Evict { heaps } => {
                let args = format!("\"Heaps\":{}", References(&heaps));
                self.call(time, thread, "ResidencyManager.Evict", &args)
            }
            Event::Count { instance, kind: _, values } => {
                values.iter().try_for_each(|&(counter, value)| self.count(time, instance, counter, value))
            }
            Event::Call { name, args } => self.call(time, thread, name, &args),
            Event::Timing { call, duration_ns } => {
                let start = time.saturating_sub(duration_ns);
                self.event(start, thread, call, 'X', format_args!(",\"dur\":{}", Microseconds(duration_ns)))
            }
        }
    }

    fn begin(
        &mut self,
        time: u64,
        thread: u32,
        instance: u64,
        kind: InstanceKind,
        parent: Option<u64>,
        settings: &Settings,
    ) -> io::Result<()> {
        self.object(time, thread, name_of(kind), 'N', instance)?;
        let mut snapshot = settings.fields.clone();
        if let Some(parent) = parent {
            write_to(&mut snapshot, format_args!(",\"parent\":{{\"id_ref\":\"{parent:#x}\"}}"));
        }
        // All of them, also where GPGMM has no field.
        snapshot.push_str(",\"heapwright\":{");
        for (index, (name, value)) in settings.options.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write_to(&mut snapshot, format_args!("{comma}{}:{}", Text(name), Text(value)));
        }
        snapshot.push('}');
        self.snapshot(time, thread, name_of(kind), instance, &snapshot)
    }

    fn allocate(&mut self, time: u64, thread: u32, allocated: &Allocated) -> io::Result<()> {
        if let Some(description) = &allocated.description {
            let Allocated { heap_type, resource_flags, clear_value, .. } = allocated;
            let args = resource_call(description, *heap_type, *resource_flags, clear_value.as_ref());
            self.call(time, thread, "ResourceAllocator.CreateResource", &args)?;
        }
        self.object(time, thread, ALLOCATION, 'N', allocated.id)?;
        let mut snapshot = format!("\"SizeInBytes\":{}", allocated.taken);
        if let Some((heap, offset)) = allocated.place {
            write_to(
                &mut snapshot,
                format_args!(",\"HeapOffset\":{offset},\"ResourceHeap\":{{\"id_ref\":\"{heap:#x}\"}}"),
            );
        }
        if let Some(address) = allocated.address {
            write_to(&mut snapshot, format_args!(",\"GPUVirtualAddress\":\"{address:#x}\""));
        }
        self.snapshot(time, thread, ALLOCATION, allocated.id, &snapshot)
    }

    fn create_heap(&mut self, time: u64, thread: u32, heap: &Heap) -> io::Result<()> {
        let Heap { id, size, alignment, heap_type, flags, name: _ } = heap;
        let heap_type = *heap_type as u8;
        self.object(time, thread, HEAP, 'N', *id)?;
        let snapshot = format!(
            "\"SizeInBytes\":{size},\"Alignment\":{alignment},\
             \"Heap\":{{\"Alignment\":{alignment},\"Flags\":{flags},\"Properties\":{{\"Type\":{heap_type}}}}}"
        );
        self.snapshot(time, thread, HEAP, *id, &snapshot)
    }

    fn count(&mut self, time: u64, instance: u64, counter: Counter, value: u64) -> io::Result<()> {
        let (track, series) = match counter {
            Counter::LocalBudget => ("Local memory", "budget"),
            Counter::LocalUsage => ("Local memory", "usage"),
            Counter::LocalResident => ("Local memory", "resident"),
            Counter::NonLocalBudget => ("Non-local memory", "budget"),
            Counter::NonLocalUsage => ("Non-local memory", "usage"),
            Counter::NonLocalResident => ("Non-local memory", "resident"),
            Counter::Reserved => ("Heaps", "reserved"),
            Counter::Used => ("Heaps", "used"),
            Counter::Fragmentation => ("Fragmentation", "millionths"),
        };
        // Instances have tracks of their own; the memory of the process is common.
        let id = match counter {
            Counter::Reserved | Counter::Used | Counter::Fragmentation => {
                format!(",\"id\":\"{instance:#x}\"")
            }
            _ => String::new(),
        };
        self.event(time, 0, track, 'C', format_args!("{id},\"args\":{{\"{series}\":{value}}}"))
    }

    fn object(&mut self, time: u64, thread: u32, name: &str, phase: char, id: u64) -> io::Result<()> {
        self.event(time, thread, name, phase, format_args!(",\"id\":\"{id:#x}\""))
    }

    fn snapshot(&mut self, time: u64, thread: u32, name: &str, id: u64, fields: &str) -> io::Result<()> {
        self.event(
            time,
            thread,
            name,
            'O',
            format_args!(",\"id\":\"{id:#x}\",\"args\":{{\"snapshot\":{{{fields}}}}}"),
        )
    }

    fn of_instance(
        &mut self,
        time: u64,
        thread: u32,
        name: &str,
        instance: u64,
        more: &str,
    ) -> io::Result<()> {
        self.call(time, thread, name, &format!("\"allocator\":\"{instance:#x}\"{more}"))
    }

    fn call(&mut self, time: u64, thread: u32, name: &str, args: &str) -> io::Result<()> {
        self.event(time, thread, name, 'i', format_args!(",\"s\":\"t\",\"args\":{{{args}}}"))
    }

    fn event(
        &mut self,
        time_ns: u64,
        thread: u32,
        name: &str,
        phase: char,
        more: fmt::Arguments<'_>,
    ) -> io::Result<()> {
        let category = if phase == 'M' { "__metadata" } else { "default" };
        let (process, time) = (self.process, Microseconds(time_ns));
        self.line.clear();
        write_to(
            &mut self.line,
            format_args!(
                ",\n{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\
                 \"ts\":{time}{more}}}"
            ),
        );
        self.output.write_all(self.line.as_bytes())
    }
}

const ALLOCATION: &str = "IResourceAllocation";
const HEAP: &str = "IResidencyHeap";

fn name_of(kind: InstanceKind) -> &'static str {
    match kind {
        InstanceKind::Allocator => "IResourceAllocator",
        InstanceKind::ResidencyManager => "IResidencyManager",
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
    let Description {
        placement,
        allocation_flags,
        heap_flags,
        padding,
        initial_state,
        dimension,
        alignment,
        width,
        height,
        depth_or_array_size,
        mip_levels,
        format,
        sample_count,
        sample_quality,
        layout,
        ..
    } = description;
    // A replay does not create what was imported.
    let asked = match placement {
        PlacementKind::Imported => String::new(),
        _ => format!(
            "\"allocationDescriptor\":{{\"Flags\":{},\"HeapType\":{heap_type},\
             \"ExtraRequiredHeapFlags\":{heap_flags},\"ExtraRequiredResourcePadding\":{padding}}},",
            allocation_flags & ALLOCATION_FLAGS
        ),
    };
    let clear_value = clear_value.map(|value| match *value {
        ClearValue::Color { format, color: [red, green, blue, alpha] } => {
            format!("\"Format\":{format},\"Color\":{{\"R\":{red},\"G\":{green},\"B\":{blue},\"A\":{alpha}}}")
        }
        ClearValue::DepthStencil { format, depth, stencil } => {
            format!("\"Format\":{format},\"DepthStencil\":{{\"Depth\":{depth},\"Stencil\":{stencil}}}")
        }
    });
    let clear_value = clear_value.unwrap_or_default();
    format!(
        "{asked}\"resourceDescriptor\":{{\"Dimension\":{dimension},\"Alignment\":{alignment},\"Width\":{width},\
         \"Height\":{height},\"DepthOrArraySize\":{depth_or_array_size},\"MipLevels\":{mip_levels},\
         \"Format\":{format},\"Layout\":{layout},\
         \"SampleDesc\":{{\"Count\":{sample_count},\"Quality\":{sample_quality}}},\"Flags\":{resource_flags}}},\
         \"initialResourceState\":{initial_state},\"clearValue\":{{{clear_value}}}"
    )
}

/// GPGMM's flags of allocations and of allocators. A replay must not see others.
const ALLOCATION_FLAGS: u32 = 0x3ff;
const ALLOCATOR_FLAGS: u32 = 0xff;

/// Returns the residency lists of a submission, as one: GPGMM has one list for each call.
pub(crate) fn submit_args(lists: &[Vec<u64>]) -> String {
    format!("\"ResidencyLists\":[{{\"Heaps\":{}}}]", References(&lists.concat()))
}

/// Returns a name in the arguments of a call.
pub(crate) fn name_args(name: &str) -> String {
    format!("\"Name\":{}", Text(name))
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

/// Returns the fields of GPGMM's snapshot of a residency manager. Zero is a default.
pub(crate) fn manager_fields(desc: &ResidencyManagerDesc, is_uma: bool) -> String {
    format!(
        "\"Flags\":{},\"RecordOptions\":{{\"Flags\":{}}},\"MaxPctOfVideoMemoryToBudget\":{},\
         \"MinPctOfBudgetToReserve\":{},\"MaxBudgetInBytes\":{},\"EvictSizeInBytes\":{},\"InitialFenceValue\":{},\
         \"IsUMA\":{is_uma}",
        desc.flags.bits(),
        desc.record_options.flags.bits(),
        desc.max_pct_of_video_memory_to_budget.unwrap_or(0.0),
        desc.min_pct_of_budget_to_reserve.unwrap_or(0.0),
        desc.max_budget.get(),
        desc.evict_size.get(),
        desc.initial_fence_value.get(),
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

/// Appends to a string, which cannot fail.
fn write_to(text: &mut String, arguments: fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

/// Nanoseconds as microseconds with fractions.
struct Microseconds(u64);

impl Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Ids as references to objects.
struct References<'a>(&'a [u64]);

impl Display for References<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, id) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{{\"id_ref\":\"{id:#x}\"}}")?;
        }
        f.write_str("]")
    }
}

/// A JSON string, with quotes and escapes.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\n' => f.write_str("\\n")?,
                control if u32::from(control) < 0x20 => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(Text("a \"b\" \\ \n\t\u{7f}é").to_string(), "\"a \\\"b\\\" \\\\ \\n\\u0009\u{7f}é\"");
    }

    #[test]
    fn times_are_microseconds() {
        assert_eq!(Microseconds(1_234_056).to_string(), "1234.056");
        assert_eq!(Microseconds(7).to_string(), "0.007");
    }
}
