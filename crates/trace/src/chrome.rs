//! Chrome traces (JSON) with the names of GPGMM's events, for Perfetto, chrome://tracing and GPGMM's capture replay.
//!
//! Heaps and allocations are objects with snapshots, calls are instants, timings are complete events, and counters are
//! tracks. The library writes what happens as it happens, and [`CaptureWriter`](crate::gpgmm::CaptureWriter) the
//! records of a session.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Seek, SeekFrom, Write};

use crate::session::{Action, Counter, Description, Heap, Placement};

/// The name of allocations.
pub const ALLOCATION: &str = "IResourceAllocation";
/// The name of allocators.
pub const ALLOCATOR: &str = "IResourceAllocator";
/// The name of residency managers.
pub const MANAGER: &str = "IResidencyManager";
const HEAP: &str = "IResidencyHeap";
/// The call that creates a resource.
pub const CREATE_RESOURCE: &str = "ResourceAllocator.CreateResource";
/// The call that creates a heap.
pub const CREATE_HEAP: &str = "Heap.CreateResidencyHeap";

const END: &[u8] = b"\n]}\n";

/// A trace that is being written.
#[derive(Debug)]
pub struct ChromeTrace<W> {
    output: W,
    process: u32,
    /// The event that is being written.
    line: String,
}

/// When and on which thread something happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Time since the start, in nanoseconds.
    pub time_ns: u64,
    /// Number of the thread.
    pub thread: u32,
}

impl<W: Write> ChromeTrace<W> {
    /// Begins the trace of a process with this number and name.
    ///
    /// # Errors
    ///
    /// Returns the error of `output`.
    pub fn new(mut output: W, process: u32, name: &str) -> io::Result<Self> {
        let version = env!("CARGO_PKG_VERSION");
        write!(
            output,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"recorded by\":\"heapwright {version}\"}},\"traceEvents\":[\n\
             {{\"name\":\"process_name\",\"cat\":\"__metadata\",\"ph\":\"M\",\"pid\":{process},\"tid\":0,\"ts\":0,\
             \"args\":{{\"name\":{}}}}}",
            Text(name)
        )?;
        Ok(Self { output, process, line: String::new() })
    }

    /// Completes the file. The next event replaces the end.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn checkpoint(&mut self) -> io::Result<()>
    where
        W: Seek,
    {
        self.output.write_all(END)?;
        const BACK: i64 = -(END.len().cast_signed() as i64);
        // Seeking flushes a buffer first.
        self.output.seek(SeekFrom::Current(BACK)).map(drop)
    }

    /// Writes the end of the file, and returns the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.write_all(END)?;
        Ok(self.output)
    }

    /// Names a thread.
    ///
    /// # Errors
    ///
    /// Returns the error of the output, like the other methods.
    pub fn thread_name(&mut self, thread: u32, name: &str) -> io::Result<()> {
        let at = Moment { time_ns: 0, thread };
        self.event(at, "thread_name", 'M', format_args!(",\"args\":{{\"name\":{}}}", Text(name)))
    }

    /// Writes that an object begins (phase `N`) or ends (`D`).
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn object(&mut self, at: Moment, name: &str, phase: char, id: u64) -> io::Result<()> {
        self.event(at, name, phase, format_args!(",\"id\":\"{id:#x}\""))
    }

    /// Writes fields of an object.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn snapshot(&mut self, at: Moment, name: &str, id: u64, fields: &str) -> io::Result<()> {
        self.event(at, name, 'O', format_args!(",\"id\":\"{id:#x}\",\"args\":{{\"snapshot\":{{{fields}}}}}"))
    }

    /// Writes a new object with its first fields.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn new_object(&mut self, at: Moment, name: &str, id: u64, fields: &str) -> io::Result<()> {
        self.object(at, name, 'N', id)?;
        self.snapshot(at, name, id, fields)
    }

    /// Writes a new heap.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn new_heap(&mut self, at: Moment, heap: &Heap) -> io::Result<()> {
        let Heap { id, size, alignment, heap_type, flags, name } = heap;
        let heap_type = *heap_type as u8;
        let mut fields = format!(
            "\"SizeInBytes\":{size},\"Alignment\":{alignment},\
             \"Heap\":{{\"Alignment\":{alignment},\"Flags\":{flags},\"Properties\":{{\"Type\":{heap_type}}}}}"
        );
        if let Some(name) = name {
            append(&mut fields, format_args!(",{}", name_field(name)));
        }
        self.new_object(at, HEAP, *id, &fields)
    }

    /// Writes what happens to an allocator or its objects. Nothing is written of what a trace does not have, and of
    /// records that are a part of another event.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn action(&mut self, at: Moment, allocator: u64, action: &Action) -> io::Result<()> {
        match action {
            Action::Free { allocation } => self.object(at, ALLOCATION, 'D', *allocation),
            Action::Place { allocation, heap, offset } => {
                let place = Place { heap: *heap, offset: *offset };
                self.snapshot(at, ALLOCATION, *allocation, &place.to_string())
            }
            Action::AllocationAddress { allocation, address, .. } => {
                self.snapshot(at, ALLOCATION, *allocation, &address_field(*address))
            }
            Action::Name { allocation, name } => {
                self.snapshot(at, ALLOCATION, *allocation, &name_field(name))
            }
            Action::CreateHeap(heap) => self.new_heap(at, heap),
            Action::DestroyHeap { heap } => self.object(at, HEAP, 'D', *heap),
            Action::NestAllocator { parent } => {
                let parent = format!(",\"parent\":\"{parent:#x}\"");
                self.call_of(at, "ResourceAllocator.Nest", allocator, &parent)
            }
            Action::DropAllocator => self.call_of(at, "ResourceAllocator.Release", allocator, ""),
            Action::Frame => self.call_of(at, "ResourceAllocator.Frame", allocator, ""),
            Action::IdlePeriod => self.call_of(at, "ResourceAllocator.IdlePeriod", allocator, ""),
            Action::ReleaseHeaps { bytes } => {
                let bytes = format!(",\"BytesToRelease\":{bytes}");
                self.call_of(at, "ResourceAllocator.ReleaseResourceHeaps", allocator, &bytes)
            }
            Action::CreatePool { pool, options } => {
                let args = format!(",\"pool\":\"{pool:#x}\",\"options\":{{{}}}", Options(options));
                self.call_of(at, "ResourceAllocator.CreatePool", allocator, &args)
            }
            Action::DropPool { pool } => self.call(at, "Pool.Release", &format!("\"pool\":\"{pool:#x}\"")),
            Action::ReleasePool { pool } => {
                self.call(at, "Pool.ReleaseEmptyHeaps", &format!("\"pool\":\"{pool:#x}\""))
            }
            Action::PrefetchHeap { heap, .. } => {
                let heap = format!(",\"Heap\":{{\"id_ref\":\"{heap:#x}\"}}");
                self.call_of(at, "ResourceAllocator.PrefetchHeap", allocator, &heap)
            }
            Action::HeapTime { heap_type, is_free, nanoseconds } => {
                let heap_type = *heap_type as u8;
                let args =
                    format!(",\"Type\":{heap_type},\"IsFree\":{is_free},\"Nanoseconds\":{nanoseconds}");
                self.call_of(at, "ResourceAllocator.HeapTime", allocator, &args)
            }
            Action::BeginDefragmentation { run, pool } => {
                let pool = pool.map_or_else(String::new, |pool| format!(",\"pool\":\"{pool:#x}\""));
                self.call_of(at, "ResourceAllocator.Defragment", allocator, &format!(",\"run\":\"{run:#x}\"{pool}"))
            }
            Action::StepDefragmentation { run, moves, bytes, time_checks: _, planned } => {
                let args = format!("\"run\":\"{run:#x}\",\"Moves\":{moves},\"Bytes\":{bytes},\"Planned\":{planned}");
                self.call(at, "Defragmentation.Step", &args)
            }
            Action::CompleteMove { run, number, allocation } => {
                let args = format!("\"run\":\"{run:#x}\",\"move\":{number},\"allocation\":\"{allocation:#x}\"");
                self.call(at, "Defragmentation.CompleteMove", &args)
            }
            Action::AbandonMove { run, number } => {
                let args = format!("\"run\":\"{run:#x}\",\"move\":{number}");
                self.call(at, "Defragmentation.AbandonMove", &args)
            }
            Action::EndDefragmentation { run } => {
                self.call(at, "Defragmentation.Release", &format!("\"run\":\"{run:#x}\""))
            }
            Action::MakeResident { heap } => self.made_resident(at, &[*heap]),
            Action::Evict { heap } => self.evicted(at, &[*heap]),
            Action::Count { counter, value } => self.counter(at, allocator, *counter, *value),
            Action::Allocate(_)
            | Action::Describe(_)
            | Action::Reason { .. }
            | Action::UsePool { .. }
            | Action::Ask { .. }
            // The calls that failed are events of their own.
            | Action::Refuse(_)
            | Action::RefusePool { .. }
            | Action::Reserve { .. }
            | Action::MapTiles { .. }
            | Action::Unreserve { .. }
            | Action::Contents { .. }
            | Action::HeapAddress { .. }
            | Action::SelectAllocator { .. }
            | Action::SetOption { .. }
            | Action::DefineSet { .. }
            | Action::Submit { .. } => Ok(()),
        }
    }

    /// Writes a call with its arguments.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn call(&mut self, at: Moment, name: &str, args: &str) -> io::Result<()> {
        self.event(at, name, 'i', format_args!(",\"s\":\"t\",\"args\":{{{args}}}"))
    }

    /// Writes a call of an allocator with further arguments, which begin with a comma.
    fn call_of(&mut self, at: Moment, name: &str, allocator: u64, more: &str) -> io::Result<()> {
        self.call(at, name, &format!("\"allocator\":\"{allocator:#x}\"{more}"))
    }

    /// Writes that heaps were made resident.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn made_resident(&mut self, at: Moment, heaps: &[u64]) -> io::Result<()> {
        self.call(at, "ResidencyManager.MakeResident", &format!("\"Heaps\":{}", References(heaps)))
    }

    /// Writes that heaps were evicted.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn evicted(&mut self, at: Moment, heaps: &[u64]) -> io::Result<()> {
        self.call(at, "ResidencyManager.Evict", &format!("\"Heaps\":{}", References(heaps)))
    }

    /// Writes a submission of the heaps of its residency lists.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn submission(
        &mut self,
        at: Moment,
        queue: u64,
        fence_value: u64,
        heaps: &[Vec<u64>],
    ) -> io::Result<()> {
        let lists = submit_args(heaps);
        let args = format!("{lists},\"Queue\":{queue},\"FenceValue\":{fence_value}");
        self.call(at, "ResidencyManager.ExecuteCommandLists", &args)
    }

    /// Writes the duration of a call that ends now.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn timing(&mut self, at: Moment, call: &str, duration_ns: u64) -> io::Result<()> {
        let start = Moment { time_ns: at.time_ns.saturating_sub(duration_ns), ..at };
        self.event(start, call, 'X', format_args!(",\"dur\":{}", Microseconds(duration_ns)))
    }

    /// Writes a value of a counter. Allocators have tracks of their own; the memory of the process is common.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn counter(&mut self, at: Moment, allocator: u64, counter: Counter, value: u64) -> io::Result<()> {
        let (track, series, is_own) = match counter {
            Counter::LocalBudget => ("Local memory", "budget", false),
            Counter::LocalUsage => ("Local memory", "usage", false),
            Counter::LocalResident => ("Local memory", "resident", false),
            Counter::NonLocalBudget => ("Non-local memory", "budget", false),
            Counter::NonLocalUsage => ("Non-local memory", "usage", false),
            Counter::NonLocalResident => ("Non-local memory", "resident", false),
            Counter::Reserved => ("Heaps", "reserved", true),
            Counter::Used => ("Heaps", "used", true),
            Counter::Fragmentation => ("Fragmentation", "millionths", true),
        };
        let id = if is_own { format!(",\"id\":\"{allocator:#x}\"") } else { String::new() };
        self.event(
            Moment { thread: 0, ..at },
            track,
            'C',
            format_args!("{id},\"args\":{{\"{series}\":{value}}}"),
        )
    }

    /// Writes a value of a track of its own.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn bytes(&mut self, at: Moment, track: &str, value: u64) -> io::Result<()> {
        self.event(Moment { thread: 0, ..at }, track, 'C', format_args!(",\"args\":{{\"bytes\":{value}}}"))
    }

    fn event(&mut self, at: Moment, name: &str, phase: char, more: fmt::Arguments<'_>) -> io::Result<()> {
        let category = if phase == 'M' { "__metadata" } else { "default" };
        let (process, thread, time) = (self.process, at.thread, Microseconds(at.time_ns));
        self.line.clear();
        append(
            &mut self.line,
            format_args!(
                ",\n{{\"name\":\"{name}\",\"cat\":\"{category}\",\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{thread},\
                 \"ts\":{time}{more}}}"
            ),
        );
        self.output.write_all(self.line.as_bytes())
    }
}

/// GPGMM's flags of allocations. A replay must not see others.
const ALLOCATION_FLAGS: u32 = 0x3ff;

/// Returns the arguments of `CreateResource`. `clear_value` has the fields of the clear value.
#[must_use]
pub fn resource_args(
    description: &Description,
    heap_type: u8,
    resource_flags: u32,
    clear_value: &str,
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
        Some(Placement::Imported) => String::new(),
        _ => format!(
            "\"allocationDescriptor\":{{\"Flags\":{},\"HeapType\":{heap_type},\
             \"ExtraRequiredHeapFlags\":{heap_flags},\"ExtraRequiredResourcePadding\":{padding}}},",
            allocation_flags & ALLOCATION_FLAGS
        ),
    };
    format!(
        "{asked}\"resourceDescriptor\":{{\"Dimension\":{dimension},\"Alignment\":{alignment},\"Width\":{width},\
         \"Height\":{height},\"DepthOrArraySize\":{depth_or_array_size},\"MipLevels\":{mip_levels},\
         \"Format\":{format},\"Layout\":{layout},\
         \"SampleDesc\":{{\"Count\":{sample_count},\"Quality\":{sample_quality}}},\"Flags\":{resource_flags}}},\
         \"initialResourceState\":{initial_state},\"clearValue\":{{{clear_value}}}"
    )
}

/// Returns the residency lists of a submission, as one: GPGMM has one list for each call.
#[must_use]
pub fn submit_args(lists: &[Vec<u64>]) -> String {
    format!("\"ResidencyLists\":[{{\"Heaps\":{}}}]", References(&lists.concat()))
}

/// Appends to a string, which cannot fail.
pub fn append(text: &mut String, arguments: fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

/// Nanoseconds as microseconds with fractions.
struct Microseconds(u64);

impl Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// The place of an allocation in a heap, as fields of its snapshot.
#[derive(Debug)]
pub struct Place {
    /// Id of the heap.
    pub heap: u64,
    /// Offset in the heap.
    pub offset: u64,
}

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heap, offset } = self;
        write!(f, "\"HeapOffset\":{offset},\"ResourceHeap\":{{\"id_ref\":\"{heap:#x}\"}}")
    }
}

/// Returns the address of a buffer, as a field of its snapshot.
#[must_use]
pub fn address_field(address: u64) -> String {
    format!("\"GPUVirtualAddress\":\"{address:#x}\"")
}

/// Returns a name, as a field of a snapshot.
#[must_use]
pub fn name_field(name: &str) -> String {
    format!("\"DebugName\":{}", Text(name))
}

/// Options as fields, with values that are text.
#[derive(Debug)]
pub struct Options<'a, N, V>(pub &'a [(N, V)]);

impl<N: AsRef<str>, V: AsRef<str>> Display for Options<'_, N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", Text(name.as_ref()), Text(value.as_ref()))?;
        }
        Ok(())
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
#[derive(Debug)]
pub struct Text<'a>(pub &'a str);

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
