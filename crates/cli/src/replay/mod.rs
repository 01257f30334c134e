//! `heapwright replay`: replays traces through the allocator.
//!
//! - [`args`]: the arguments.
//! - [`engine`]: replay of one trace, which returns measurements and findings.
//! - [`configuration`]: configurations of the allocator.
//! - [`timing`]: time measurement.
//! - [`verify`]: the checks of `--verify`.
//! - [`heap_type`]: selection of the heap type.
//! - [`recorded`]: what a file records beyond its trace.
//! - [`allocators`]: the allocators and pools of a replay.
//! - [`recording`]: the recording of a replay, for `heapwright report`.
//! - [`report`], [`finding`]: types for the results.
//! - [`table`]: the results as a table.

mod allocators;
mod args;
mod configuration;
mod engine;
mod finding;
mod heap_type;
mod recorded;
mod recording;
mod report;
mod table;
mod timing;
mod verify;

use std::path::{Path, PathBuf};

use heapwright::{ByteSize, DeviceCaps, HeapType, RecordOptions, ResourceAllocator, ResourceAllocatorDesc};
use heapwright_trace::{Event, EventKind, Location};

pub(crate) use self::args::ReplayArgs;
use self::args::{HeapTypeArg, Profile, Setting};
use self::configuration::Configuration;
use self::engine::{Observed, Replayed, Settings};
use self::heap_type::HeapTypeRefused;
use self::recorded::{Excess, RecordedTrace};
pub(crate) use self::recording::{CannotRecord, Recording, record};
use crate::convert;
use crate::device::{CannotOpen, DeviceChoice, NoDevice};
use crate::environment::{self, RecordingError};
use crate::exit::Exit;
use crate::format;
use crate::input::{self, NoTrace};
use crate::output::{Output, OutputError};
use crate::output_file::OutputFile;

/// Runs the command. Returns the most severe result of all traces.
pub(crate) fn run(args: &ReplayArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let paths = input::expand_parts(&args.traces);
    let plan = match Plan::new(args, &paths) {
        Ok(plan) => plan,
        Err(error) => {
            output.error(&error);
            return Ok(error.exit());
        }
    };
    // All files are opened before the first replay, so that errors are reported at once.
    let inputs = paths.iter().map(PathBuf::as_path);
    let report_file = args.report.as_deref().map(|path| OutputFile::open("report", path, inputs)).transpose();
    let mut report_file = match report_file {
        Ok(file) => file,
        Err(error) => {
            output.error(&format_args!("--report: {error}"));
            return Ok(error.exit());
        }
    };
    let mut exit = Exit::Success;
    let mut traces = Vec::new();
    for path in &paths {
        match plan.read(path) {
            Ok(trace) => {
                if let Some(offset) = trace.trace.truncated_at() {
                    output.warning(&convert::truncated(trace.trace.path(), offset));
                }
                traces.push(trace);
            }
            Err(error) => {
                output.error(&error);
                exit = exit.and(Exit::BadInput);
            }
        }
    }
    let mut reports = Vec::new();
    let chosen = [args.profile.into()];
    let configurations: &[Configuration] = if args.compare { &Configuration::ALL } else { &chosen };
    let replays = traces.iter().flat_map(|trace| configurations.iter().map(move |&with| (trace, with)));
    for (trace, configuration) in replays {
        match plan.replay(trace, configuration, !args.json, output) {
            Ok(Replayed { report, findings, detailed }) => {
                if let Some(detailed) = detailed
                    && let Some(file) = report_file.take()
                    && let Err(error) = file.write(|writer| Ok(serde_json::to_writer(writer, &detailed)?))
                {
                    output.error(&error);
                    exit = exit.and(error.exit());
                }
                if args.json {
                    output.result(&report.to_json())?;
                }
                for finding in &findings {
                    output.error(finding);
                    exit = exit.and(Exit::Failure);
                }
                reports.push(report);
            }
            Err(error) => {
                output.error(&error);
                exit = exit.and(error.exit());
            }
        }
    }
    if !args.json && !reports.is_empty() {
        output.result(&table::render(&reports, args.compare || args.profile != Profile::Default))?;
        if !plan.has_adapter {
            output.result(&"\nno adapter: the device's usage and budgets are unknown")?;
        }
    }
    Ok(exit)
}

/// Settings that are common to all traces.
struct Plan {
    device: DeviceChoice,
    has_adapter: bool,
    caps: DeviceCaps,
    heap_type: HeapType,
    verify: bool,
    options: Vec<(String, String)>,
    as_recorded: bool,
    report: bool,
    needs_settings: bool,
}

/// Maximum number of allocators of a file. Each of them has its own heaps.
const MAX_ALLOCATORS: usize = 1024;

/// Error that prevents the replay of one trace or of all.
#[derive(Debug, thiserror::Error)]
enum ReplayError {
    #[error("--device: {0}")]
    NoDevice(#[from] NoDevice),
    #[error(transparent)]
    CannotOpen(#[from] CannotOpen),
    #[error(transparent)]
    HeapType(#[from] HeapTypeRefused),
    #[error("--report requires a single trace, but {0} were given")]
    ManyReports(usize),
    #[error("{path}: --report requires a file with one allocator, but {count} are recorded")]
    ReportOfMany { path: String, count: usize },
    #[error("{path}: records no settings of an allocator, which --profile captured needs")]
    NoSettings { path: String },
    #[error("--set: {0}")]
    Setting(heapwright::Error),
    #[error("standard input (-) was given {0} times; it can be read only once")]
    ManyStdin(usize),
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Trace(#[from] NoTrace),
    #[error(
        "{location}: size_bytes {} ({}) exceeds the maximum resource size of device {device}, {} ({})",
        .size.get(), format::size(.size.get()), .limit.get(), format::size(.limit.get())
    )]
    OverDeviceLimit { location: String, size: ByteSize, device: String, limit: ByteSize },
    #[error("{}: {count} allocators made allocations; a replay has at most {MAX_ALLOCATORS}", .path.display())]
    ManyAllocators { path: PathBuf, count: usize },
    #[error("{path}: {excess}", path = .path.display())]
    TooMuch { path: PathBuf, excess: Excess },
    #[error("{location}: replay failed: {error}")]
    Stopped { location: String, error: heapwright::Error },
    #[error("cannot query device {name}: {error}")]
    Device { name: String, error: heapwright::Error },
}

impl ReplayError {
    fn exit(&self) -> Exit {
        match self {
            Self::ManyReports(_)
            | Self::ReportOfMany { .. }
            | Self::NoSettings { .. }
            | Self::ManyStdin(_)
            | Self::Recording(_)
            | Self::Setting(_) => Exit::BadInput,
            Self::HeapType(_) | Self::Trace(_) | Self::OverDeviceLimit { .. } => Exit::BadInput,
            Self::ManyAllocators { .. } | Self::TooMuch { .. } => Exit::BadInput,
            Self::NoDevice(error) => error.exit(),
            Self::CannotOpen(_) | Self::Stopped { .. } | Self::Device { .. } => Exit::Failure,
        }
    }
}

impl Plan {
    fn new(args: &ReplayArgs, paths: &[PathBuf]) -> Result<Self, ReplayError> {
        if args.report.is_some() && paths.len() > 1 {
            return Err(ReplayError::ManyReports(paths.len()));
        }
        let stdin_count = paths.iter().filter(|path| input::is_stdin(path)).count();
        if stdin_count > 1 {
            return Err(ReplayError::ManyStdin(stdin_count));
        }
        paths.iter().try_for_each(|path| environment::check_input(path))?;
        let mut desc = ResourceAllocatorDesc::default();
        for Setting { name, value } in &args.set {
            desc.set_option(name, value).map_err(ReplayError::Setting)?;
        }
        let device = DeviceChoice::find(&args.device)?;
        let gpu = device.open()?;
        let caps = DeviceCaps::query(&gpu.device)
            .map_err(|error| ReplayError::Device { name: device.name(), error })?;
        if !args.set.is_empty() && std::env::var_os("HEAPWRIGHT_RECORD").is_none() {
            // Finds values that are invalid in every profile; recorded settings may contradict others. A recording would have this
            // allocator, too.
            ResourceAllocator::new(&gpu.device, gpu.adapter.as_ref(), desc).map_err(|error| {
                if error.is_invalid_argument() {
                    ReplayError::Setting(error)
                } else {
                    ReplayError::Device { name: device.name(), error }
                }
            })?;
        }
        let heap_type = heap_type::choose(args.heap_type, args.verify, caps.gpu_upload_heaps)?;
        let has_adapter = gpu.adapter.is_some();
        let options = args.set.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
        let as_recorded = !args.verify && args.heap_type == HeapTypeArg::Auto;
        let (verify, report) = (args.verify, args.report.is_some());
        let needs_settings = args.profile == Profile::Captured;
        Ok(Self {
            device,
            has_adapter,
            caps,
            heap_type,
            verify,
            options,
            as_recorded,
            report,
            needs_settings,
        })
    }

    /// Reads a trace and checks that every allocation is within the device's maximum resource size.
    fn read(&self, path: &Path) -> Result<RecordedTrace, ReplayError> {
        let recorded = match input::named_workload(path).map_err(NoTrace::from)? {
            Some(generated) => generated.into(),
            None => RecordedTrace::read(path).map_err(NoTrace::from)?,
        };
        let count = recorded.allocator_count();
        if count > MAX_ALLOCATORS {
            return Err(ReplayError::ManyAllocators { path: path.to_owned(), count });
        }
        if let Some(excess) = recorded.excess() {
            return Err(ReplayError::TooMuch { path: path.to_owned(), excess });
        }
        let trace = &recorded.trace;
        let count = recorded.allocator_count();
        if self.report && count > 1 {
            return Err(ReplayError::ReportOfMany { path: trace.path().display().to_string(), count });
        }
        if self.needs_settings && !recorded.has_settings {
            return Err(ReplayError::NoSettings { path: trace.path().display().to_string() });
        }
        let limit = self.caps.max_resource_size();
        let is_over = |event: &Event| event.kind == EventKind::Alloc && event.size > limit;
        match trace.events().iter().position(is_over) {
            None => Ok(recorded),
            Some(place) => Err(ReplayError::OverDeviceLimit {
                location: trace.location(place).to_string(),
                size: trace.events()[place].size,
                device: self.device.name(),
                limit,
            }),
        }
    }

    /// Replays a trace on a new device.
    fn replay(
        &self,
        recorded: &RecordedTrace,
        configuration: Configuration,
        shows_progress: bool,
        output: &Output,
    ) -> Result<Replayed, ReplayError> {
        let settings = Settings {
            heap_type: self.heap_type,
            verify: self.verify,
            configuration,
            options: self.options.clone(),
            as_recorded: self.as_recorded,
            report: self.report,
            compare_usage: self.device.counts_exactly(),
            record_options: RecordOptions::default(),
        };
        let (gpu, trace) = (self.device.open()?, &recorded.trace);
        let bar = output.progress(shows_progress, trace.name(), trace.events().len() as u64);
        let replayed = engine::replay(recorded, &gpu, &settings, &mut |observed| {
            if let Observed::Progress(event_count) = observed {
                bar.set_position(event_count as u64);
            }
        });
        bar.finish_and_clear();
        replayed.map_err(|error| {
            let location = Location { path: trace.path(), position: None }.to_string();
            ReplayError::Stopped { location, error }
        })
    }
}
