//! `heapwright plan`: packs resources that do not live at the same time into the smallest heap.
//!
//! - [`args`]: the arguments, with the budget of a search.
//! - [`table`]: the file format of tables: buffers with lifetimes as CSV. [`table_plan`]: plans and checks of tables.
//! - [`frame_file`]: the file format of frames: queues, resources and passes as JSON. [`frame`]: a frame with the names
//!   of its parts. [`frame_plan`]: plans and checks of frames.
//! - [`replay`]: the rules of aliasing, for `--check`.
//! - [`report`]: what is printed.

mod args;
mod frame;
mod frame_file;
mod frame_plan;
mod replay;
mod report;
mod table;
mod table_plan;

use std::fmt::Display;
use std::io::Write as _;
use std::time::{Duration, Instant};

pub(crate) use self::args::PlanArgs;
use self::report::{HeapReport, PlanReport};
use crate::exit::{Exit, Failed};
use crate::input;
use crate::output::Output;
use crate::output_file::OutputFile;

/// Heaps with more buffers are not searched for fewer barriers: it would take longer than the plan.
const MAX_BUFFERS_MOVED: usize = 1000;

/// Number of moves that are tried to reduce the number of barriers: less than a millisecond for a hundred resources.
const MOVES: u64 = 800;

/// Number of moves for a plan that took [`LONG`] already.
const MORE_MOVES: u64 = 8000;

/// A plan that takes longer than this is no plan for a single frame.
const LONG: Duration = Duration::from_millis(20);

/// Returns the error of a line of a file.
fn wrong(name: &str, line: usize, reason: impl Display) -> Failed {
    Failed::bad_input(format_args!("{name}:{line}: {reason}"))
}

/// A plan that was made or checked.
struct Planned {
    report: PlanReport,
    /// The input with the offsets.
    with_offsets: String,
}

/// Runs the command. What was made is printed and written even if it is larger than the capacity.
pub(crate) fn run(args: &PlanArgs, output: &mut Output) -> Result<Exit, Failed> {
    if args.tier == 1 && args.capacity.is_some() {
        return Err(Failed::bad_input("--capacity is for one heap and cannot be combined with --tier 1"));
    }
    let plan_file =
        args.out.as_deref().map(|path| OutputFile::open("plan", path, [&*args.file])).transpose()?;
    let name = input::name(&args.file).display().to_string();
    let text = input::read_text(&args.file, "a table (CSV) or a frame (JSON)")?;
    let Planned { report, with_offsets } = if frame_file::is_frame(&text) {
        frame_plan::make(args, &name, &text)?
    } else if args.barriers.is_some() {
        return Err(Failed::bad_input(format_args!(
            "{name}: is a table, and --barriers is for frames (JSON)"
        )));
    } else {
        table_plan::make(args, name, &text)?
    };
    if let Some(file) = plan_file {
        file.write(|writer| writer.write_all(with_offsets.as_bytes()))?;
    }
    if args.json {
        output.json(&report)?
    } else {
        output.result(&report)?
    }
    match (args.capacity, report.heaps.first()) {
        (Some(capacity), Some(heap)) if heap.height > capacity => {
            Err(Failed::failure(too_large(&report.file, heap, capacity, args.check)))
        }
        _ => Ok(Exit::Success),
    }
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
    let &HeapReport { load, load_instant, height, lower_bound, .. } = heap;
    if is_checked {
        format!("{name}: the plan does not fit into {capacity} bytes: it takes {height}")
    } else if load > capacity {
        let instant = load_instant.map_or(String::new(), |instant| format!(" at time {instant}"));
        format!(
            "{name}: no plan fits into {capacity} bytes: the buffers that live{instant} have {load} bytes"
        )
    } else if lower_bound > capacity {
        format!(
            "{name}: no plan fits into {capacity} bytes: the search has proved that {lower_bound} are needed"
        )
    } else {
        format!(
            "{name}: no plan for {capacity} bytes was found within the budget; the lowest one takes {height}, and no plan takes \
             less than {lower_bound}"
        )
    }
}
