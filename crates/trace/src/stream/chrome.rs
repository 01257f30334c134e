//! Events as a Chrome trace (JSON), with the names of GPGMM's events.

use std::collections::HashSet;
use std::io::{self, BufWriter, Seek, Write};

use super::{Allocated, Entry, Event, Settings};
use crate::chrome::{
    self, ALLOCATION, CREATE_HEAP, CREATE_RESOURCE, ChromeTrace, Moment, Options, Place, append,
};
use crate::session::Action;

/// A trace that is being written. Between two checkpoints, only the end is missing in the file.
pub(super) struct ChromeEvents<W: Write> {
    trace: ChromeTrace<BufWriter<W>>,
    thread_name: fn(u32) -> Option<String>,
    named_threads: HashSet<u32>,
}

impl<W: Write + Seek> ChromeEvents<W> {
    pub(super) fn new(
        output: W,
        process: u32,
        name: &str,
        thread_name: fn(u32) -> Option<String>,
    ) -> io::Result<Self> {
        let trace = ChromeTrace::new(BufWriter::new(output), process, name)?;
        Ok(Self { trace, thread_name, named_threads: HashSet::new() })
    }

    /// Completes the file. The next event replaces the end.
    pub(super) fn checkpoint(&mut self) -> io::Result<()> {
        self.trace.checkpoint()
    }

    pub(super) fn write(&mut self, entry: Entry) -> io::Result<()> {
        let Entry { time_ns, thread, event } = entry;
        if self.named_threads.insert(thread) {
            if let Some(name) = (self.thread_name)(thread) {
                self.trace.thread_name(thread, &name)?;
            }
        }
        let at = Moment { time_ns, thread };
        let trace = &mut self.trace;
        match event {
            Event::Begin { instance, kind, parent, settings } => {
                trace.new_object(at, kind.name(), instance, &instance_fields(&settings, parent))
            }
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
            let args = chrome::resource_args(description, *heap_type, *resource_flags, clear_value);
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
