//! The recording of a replay: the heaps that an allocator with default settings creates, and where it places what.

use std::collections::HashMap;
use std::fs::File;

use heapwright::d3d12::hresult::Named;
use heapwright::{ByteSize, HeapType, RecordFlags, RecordOptions, RecordScope};
use heapwright_loader::Gpu;
use heapwright_runtime::{HostProfile, Instance};
use heapwright_trace::session::{Action, HeapType as RecordedHeapType};
use heapwright_trace::{RecordReader, Trace, TraceError};

use crate::exit::Failed;

use super::configuration::Configuration;
use super::engine::{self, Observed};
use super::recorded::RecordedTrace;
use super::settings::Settings;

/// What a replay recorded.
pub(crate) struct Recording {
    /// Its heaps, allocations, placements and frees, in order.
    pub(crate) actions: Vec<Action>,
    /// Size of the range of each allocation, by its index; `None` if it failed.
    pub(crate) sizes: Vec<Option<ByteSize>>,
    /// Name of the device.
    pub(crate) device: String,
}

/// Replays a trace on the default simulated GPU with default settings, as buffers in heaps of these types, and records
/// it.
pub(crate) fn record(
    trace: Trace,
    heap_types: impl Iterator<Item = RecordedHeapType>,
) -> Result<Recording, Failed> {
    let profile = HostProfile::default_profile();
    let cannot = |reason: &dyn std::fmt::Display| Failed::failure(format_args!("replay failed: {reason}"));
    let opened = Instance::open(profile).map_err(|error| cannot(&Named(error.code())))?;
    let gpu = Gpu { device: opened.device, adapter: Some(opened.adapter) };
    let recorded = RecordedTrace::of_buffers(trace, heap_types);
    let folder = tempfile::tempdir().map_err(|error| cannot(&error))?;
    let path = folder.path().join("replay.hws");
    let settings = Settings {
        heap_type: HeapType::Default,
        verify: false,
        configuration: Configuration::Default,
        options: Vec::new(),
        as_recorded: true,
        compare_usage: false,
        is_exact: false,
        record_options: RecordOptions {
            flags: RecordFlags::API_OBJECTS,
            scope: RecordScope::PerInstance,
            trace_file: Some(path.clone()),
            ..RecordOptions::default()
        },
    };
    let mut sizes = vec![None; recorded.trace.allocation_count()];
    engine::replay(&recorded, &gpu, &settings, &mut |observed| {
        if let Observed::Created(allocation, buffer) = observed {
            sizes[allocation.as_usize()] = Some(buffer.size());
        }
    })
    .map_err(|error| cannot(&error))?;
    let file = File::open(&path).map_err(|error| cannot(&error))?;
    let records = RecordReader::new(&path, file)?;
    let mut actions = records.map(|record| Ok(record?.action)).collect::<Result<Vec<_>, TraceError>>()?;
    // Ids count objects of every kind. Heaps are numbered in the order of their creation.
    let mut numbers = HashMap::new();
    for action in &mut actions {
        match action {
            Action::CreateHeap(heap) => {
                let number = numbers.len() as u64;
                numbers.insert(heap.id, number);
                heap.id = number;
            }
            Action::DestroyHeap { heap } | Action::Place { heap, .. } => *heap = numbers[heap],
            _ => {}
        }
    }
    Ok(Recording { actions, sizes, device: format!("the simulated GPU host:{}", profile.name) })
}
