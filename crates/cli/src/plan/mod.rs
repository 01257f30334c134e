//! `heapwright plan`: packs resources that do not live at the same time into the smallest heap.
//!
//! - [`args`]: the arguments.
//! - [`table`]: the file format of tables: buffers with lifetimes as CSV. [`table_plan`]: plans and checks of tables.
//! - [`frame_file`]: the file format of frames: queues, resources and passes as JSON. [`frame`]: a frame with the names
//!   of its parts. [`frame_plan`]: plans and checks of frames.
//! - [`budget`]: the value of `--budget`.
//! - [`replay`]: the rules of aliasing, for `--check`.
//! - [`report`]: what is printed.
//! - [`drawing`]: the SVG.

mod args;
mod budget;
mod drawing;
mod frame;
mod frame_file;
mod frame_plan;
mod replay;
mod report;
mod table;
mod table_plan;

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use heapwright_core::aliasing::Load;

pub(crate) use self::args::PlanArgs;
use self::report::{HeapReport, PlanReport};
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, OutputError};
use crate::output_file::{OutputFile, OutputFileError};

/// Heaps with more buffers are not searched for fewer barriers: it would take longer than the plan.
const MAX_BUFFERS_MOVED: usize = 1000;

/// Number of moves that are tried to reduce the number of barriers: less than a millisecond for a hundred resources.
const MOVES: u64 = 800;

/// Number of moves for a plan that took [`LONG`] already.
const MORE_MOVES: u64 = 8000;

/// A plan that takes longer than this is no plan for a single frame.
const LONG: Duration = Duration::from_millis(20);

/// An error in a file, with its line.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("{name}: {reason}")]
    File { name: String, reason: String },
    #[error("{name}:{line}: {reason}")]
    Line { name: String, line: usize, reason: String },
}

/// Error of the command.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputFileError),
    #[error("--capacity is for one heap and cannot be combined with --tier 1")]
    TierWithCapacity,
    #[error("{name}: is a table, and --barriers is for frames (JSON)")]
    BarriersOfTable { name: String },
    /// The capacity or the checked plan is infeasible.
    #[error("{0}")]
    Infeasible(String),
}

impl PlanError {
    fn exit(&self) -> Exit {
        match self {
            Self::Input(_) | Self::TierWithCapacity | Self::BarriersOfTable { .. } => Exit::BadInput,
            Self::Output(error) => error.exit(),
            Self::Infeasible(_) => Exit::Failure,
        }
    }
}

/// A plan that was made or checked.
struct Planned {
    report: PlanReport,
    /// The drawing, if it is wanted.
    svg: Option<String>,
    /// The input with the offsets.
    with_offsets: String,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, output: &mut Output) -> Result<Exit, OutputError> {
    let result = make_plan(args);
    match result {
        Ok((report, failure)) => {
            if args.json {
                output.result(&report.to_json())?;
            } else {
                output.result(&report.to_text())?;
            }
            match failure {
                None => Ok(Exit::Success),
                Some(error) => {
                    output.error(&error);
                    Ok(error.exit())
                }
            }
        }
        Err(error) => {
            output.error(&error);
            Ok(error.exit())
        }
    }
}

/// Makes or checks a plan and writes the files. Returns the report, and the error if the capacity is not met.
fn make_plan(args: &PlanArgs) -> Result<(PlanReport, Option<PlanError>), PlanError> {
    if args.tier == 1 && args.capacity.is_some() {
        return Err(PlanError::TierWithCapacity);
    }
    let outputs = [("plan", args.out.as_deref()), ("drawing", args.svg.as_deref())];
    let [plan_file, drawing] = OutputFile::open_all(outputs, Some(&args.file))?;
    let (name, text) = read(&args.file)?;
    let planned = if frame_file::is_frame(&text) {
        frame_plan::make(args, &name, &text)?
    } else if args.barriers.is_some() {
        return Err(PlanError::BarriersOfTable { name });
    } else {
        table_plan::make(args, name, &text)?
    };
    let heap = planned.report.heaps.first();
    let failure =
        args.capacity.zip(heap).filter(|(capacity, heap)| heap.height > *capacity).map(|(capacity, heap)| {
            PlanError::Infeasible(too_large(&planned.report.file, heap, capacity, args.check))
        });
    if let (Some(file), Some(svg)) = (drawing, &planned.svg) {
        file.write(|writer| writer.write_all(svg.as_bytes()))?;
    }
    if let Some(file) = plan_file {
        file.write(|writer| writer.write_all(planned.with_offsets.as_bytes()))?;
    }
    Ok((planned.report, failure))
}

/// Reads a file, or standard input, and returns its name for messages and its text.
fn read(path: &Path) -> Result<(String, String), InputError> {
    let name = input::name(path).display().to_string();
    let wrong = |reason: String| InputError::File { name: name.clone(), reason };
    let bytes = input::read(path).map_err(|error| wrong(input::reason(&error, "no such file")))?;
    let text = input::text(&bytes).ok_or_else(|| wrong("the file is not UTF-8".to_owned()))?.to_owned();
    Ok((name, text))
}

/// Returns the number of moves to be tried behind a plan.
fn moves(buffers: usize, steps: Option<u64>, start: Instant) -> u64 {
    match steps {
        _ if buffers > MAX_BUFFERS_MOVED => 0,
        Some(steps) => MOVES.min(steps),
        None if start.elapsed() >= LONG => MORE_MOVES,
        None => MOVES,
    }
}

/// Returns the message that says why a capacity is not met.
fn too_large(name: &str, heap: &HeapReport, capacity: u64, is_checked: bool) -> String {
    let Load { size: load, instant } = heap.load;
    if is_checked {
        format!("{name}: the plan does not fit into {capacity} bytes: it takes {}", heap.height)
    } else if load.get() > capacity {
        let instant = instant.map_or(String::new(), |instant| format!(" at time {instant}"));
        format!(
            "{name}: no plan fits into {capacity} bytes: the buffers that live{instant} have {} bytes",
            load.get()
        )
    } else if heap.lower_bound > capacity {
        format!(
            "{name}: no plan fits into {capacity} bytes: the search has proved that {} are needed",
            heap.lower_bound
        )
    } else {
        format!(
            "{name}: no plan for {capacity} bytes was found within the budget; the lowest one takes {}, and no plan takes \
             less than {}",
            heap.height, heap.lower_bound
        )
    }
}
