//! `heapwright replay`: replays traces through the allocator.
//!
//! - [`args`]: the arguments.
//! - [`engine`]: replay of one trace, which returns measurements and findings.
//! - [`configuration`]: configurations of the allocator.
//! - [`timing`]: time measurement.
//! - [`verify`]: the checks of `--verify`.
//! - [`recorded`]: what a file records beyond its trace; [`reader`]: collects it; [`request`]: requests.
//! - [`allocators`]: the allocators and pools of a replay; [`defragmentation`]: its defragmentations; [`objects`]:
//!   calls of D3D12 itself.
//! - [`exactness`]: comparison with the recording.
//! - [`recording`]: the recording of a replay, for `heapwright report`.
//! - [`report`]: the results.
//! - [`table`]: the results as a table.

mod allocators;
mod args;
mod configuration;
mod defragmentation;
mod engine;
mod exactness;
mod objects;
mod reader;
mod recorded;
mod recording;
mod report;
mod request;
mod settings;
mod table;
mod timing;
mod verify;

use std::path::{Path, PathBuf};

use heapwright::{ByteSize, DeviceCaps, RecordOptions, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_trace::{Event, EventKind, Location};

use self::args::HeapTypeArg;
pub(crate) use self::args::ReplayArgs;
use self::configuration::Configuration;
use self::engine::{Observed, Replayed};
use self::recorded::RecordedTrace;
pub(crate) use self::recording::{Recording, record};
use self::settings::Settings;
use crate::convert;
use crate::device::DeviceChoice;
use crate::devices::cannot_query;
use crate::exit::{Exit, Failed};
use crate::format;
use crate::input;
use crate::output::Output;
use crate::output_file::check_recording;

/// Runs the command. Returns the most severe result of all traces. With `shows_all`, the tables have all measurements.
pub(crate) fn run(args: &ReplayArgs, shows_all: bool, output: &mut Output) -> Result<Exit, Failed> {
    let plan = Plan::new(args, &args.traces)?;
    let mut exit = Exit::Success;
    let mut traces = Vec::new();
    for path in &args.traces {
        match plan.read(path) {
            Ok(trace) => {
                if let Some(offset) = trace.trace.truncated_at() {
                    output.warning(&convert::truncated(trace.trace.path(), offset));
                }
                traces.push(trace);
            }
            Err(failed) => exit = exit.and(output.failed(&failed)),
        }
    }
    let mut reports = Vec::new();
    let chosen = [args.profile];
    let configurations: &[Configuration] = if args.compare { &Configuration::COMPARED } else { &chosen };
    let replays = traces.iter().flat_map(|trace| configurations.iter().map(move |&with| (trace, with)));
    for (trace, configuration) in replays {
        let Replayed { report, findings } = match plan.replay(trace, configuration, !args.json, output) {
            Ok(replayed) => replayed,
            Err(failed) => {
                exit = exit.and(output.failed(&failed));
                continue;
            }
        };
        if args.json {
            output.json(&report)?;
        }
        for finding in &findings {
            output.error(&finding.text);
            finding.details.iter().for_each(|detail| output.detail(detail));
            exit = exit.and(Exit::Failure);
        }
        reports.push(report);
    }
    if !args.json && !reports.is_empty() {
        let names_configuration = args.compare || args.profile != Configuration::Default;
        output.result(&table::render(&reports, names_configuration, shows_all))?;
        if !plan.has_adapter {
            output.result(&"\nno adapter: the device's usage and budgets are unknown")?;
        }
        for trace in traces.iter().filter(|trace| plan.settings.is_exact && !trace.is_checkable) {
            let path = trace.trace.path().display();
            output.result(&format_args!(
                "\n{path}: not compared with the recording, which is no session of heapwright with all calls"
            ))?;
        }
    }
    Ok(exit)
}

/// The device of a replay, the same for all of its traces.
struct Plan {
    device: DeviceChoice,
    has_adapter: bool,
    max_resource_size: ByteSize,
    settings: Settings,
}

impl Plan {
    fn new(args: &ReplayArgs, paths: &[PathBuf]) -> Result<Self, Failed> {
        input::check_stdin(paths)?;
        paths.iter().try_for_each(|path| check_recording(path))?;
        let wrong = |error: heapwright::Error| Failed::bad_input(error).of("--set");
        let mut desc = ResourceAllocatorDesc::default();
        args.set.iter().try_for_each(|(name, value)| desc.set_option(name, value)).map_err(wrong)?;
        let device = DeviceChoice::find(&args.device)?;
        let gpu = device.open()?;
        let caps = DeviceCaps::query(&gpu.device).map_err(|error| cannot_query(&device, &error))?;
        if !args.set.is_empty() && std::env::var_os("HEAPWRIGHT_RECORD").is_none() {
            // Finds values that are invalid in every profile; recorded settings may contradict others. A recording
            // would have this allocator, too.
            ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), desc).map_err(|error| {
                if error.is_invalid_argument() { wrong(error) } else { cannot_query(&device, &error) }
            })?;
        }
        let as_recorded = !args.verify && args.heap_type == HeapTypeArg::Auto;
        let settings = Settings {
            heap_type: args.heap_type.choose(args.verify, caps.gpu_upload_heaps)?,
            verify: args.verify,
            configuration: args.profile,
            options: args.set.clone(),
            as_recorded,
            compare_usage: device.counts_exactly(),
            is_exact: as_recorded && args.profile == Configuration::Captured && args.set.is_empty(),
            record_options: RecordOptions::default(),
        };
        let has_adapter = gpu.adapter.is_some();
        Ok(Self { device, has_adapter, max_resource_size: caps.max_resource_size(), settings })
    }

    /// Reads a trace and checks that every allocation is within the device's maximum resource size.
    fn read(&self, path: &Path) -> Result<RecordedTrace, Failed> {
        let recorded = RecordedTrace::read(path)?;
        let trace = &recorded.trace;
        if self.settings.configuration == Configuration::Captured && !recorded.has_settings {
            let rule = "records no settings of an allocator, which --profile captured needs";
            return Err(Failed::bad_input(rule).of(trace.path().display()));
        }
        let limit = self.max_resource_size;
        let is_over = |event: &Event| event.kind == EventKind::Alloc && event.size > limit;
        let Some(place) = trace.events().iter().position(is_over) else { return Ok(recorded) };
        let size = trace.events()[place].size.get();
        Err(Failed::bad_input(format_args!(
            "{}: size_bytes {size} ({}) exceeds the maximum resource size of device {}, {} ({})",
            trace.location(place),
            format::size(size),
            self.device.name,
            limit.get(),
            format::size(limit.get())
        )))
    }

    /// Replays a trace on a new device.
    fn replay(
        &self,
        recorded: &RecordedTrace,
        configuration: Configuration,
        shows_progress: bool,
        output: &Output,
    ) -> Result<Replayed, Failed> {
        let settings = Settings { configuration, ..self.settings.clone() };
        let (gpu, trace) = (self.device.open()?, &recorded.trace);
        let bar = output.progress(shows_progress, trace.name(), trace.events().len() as u64);
        let replayed = engine::replay(recorded, &gpu, &settings, &mut |observed| {
            if let Observed::Progress(event_count) = observed {
                bar.set_position(event_count as u64);
            }
        });
        bar.finish_and_clear();
        replayed.map_err(|error| {
            let location = Location { path: trace.path(), position: None };
            Failed::failure(format_args!("{location}: replay failed: {error}"))
        })
    }
}
