//! `heapwright plan`: packs resources that do not live at the same time into the smallest heap.
//!
//! - [`table`]: the file format: buffers with lifetimes as CSV.
//! - [`budget`]: the value of `--budget`.
//! - [`replay`]: the rules of aliasing, for `--check`.
//! - [`report`]: what is printed.
//! - [`drawing`]: the SVG.

pub(crate) mod budget;
mod drawing;
mod replay;
mod report;
mod table;

use std::io::Write as _;
use std::time::{Duration, Instant};

use heapwright_core::aliasing::{
    Instance, Packing, SolveOptions, aliasing_pairs, check, reduce_aliasing_pairs, solve,
};
use heapwright_core::{ByteSize, HeapOffset};

use self::budget::Budget;
use self::report::{HeapReport, PlanReport};
use self::table::{Table, TableError};
use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::output::{Output, OutputError};
use crate::output_file::{OutputFile, OutputFileError};

/// Instances with more buffers are not searched for fewer barriers: it would take longer than the plan.
const MAX_BUFFERS_MOVED: usize = 1000;

/// Number of moves that are tried to reduce the number of barriers: less than a millisecond for a hundred resources.
const MOVES: u64 = 800;

/// Number of moves for a plan that took [`LONG`] already.
const MORE_MOVES: u64 = 8000;

/// A plan that takes longer than this is no plan for a single frame.
const LONG: Duration = Duration::from_millis(20);

/// Error of the command.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Output(#[from] OutputFileError),
    #[error("--capacity is for one heap and cannot be combined with --tier 1")]
    TierWithCapacity,
    /// The capacity or the checked plan is infeasible.
    #[error("{0}")]
    Infeasible(String),
}

impl PlanError {
    fn exit(&self) -> Exit {
        match self {
            Self::Table(_) | Self::TierWithCapacity => Exit::BadInput,
            Self::Output(error) => error.exit(),
            Self::Infeasible(_) => Exit::Failure,
        }
    }
}

/// Buffers of one heap, with their plan.
struct Heap {
    category: Option<String>,
    /// Rows of the table, in the order of the instance's buffers.
    rows: Vec<usize>,
    instance: Instance,
    packing: Packing,
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
    let open = |what, path: &Option<std::path::PathBuf>| {
        let inputs = (!crate::input::is_stdin(&args.file)).then_some(args.file.as_path());
        path.as_ref().map(|path| OutputFile::open(what, path, inputs)).transpose()
    };
    if args.tier == 1 && args.capacity.is_some() {
        return Err(PlanError::TierWithCapacity);
    }
    let (plan_file, drawing) = (open("plan", &args.out)?, open("drawing", &args.svg)?);
    let mut table = Table::read(&args.file)?;
    if args.check {
        table.expect_offsets()?;
    }
    let start = Instant::now();
    let groups =
        if args.tier == 1 { table.by_category()? } else { vec![(None, (0..table.rows.len()).collect())] };
    let count = groups.len().max(1);
    let mut heaps = Vec::new();
    for (number, (category, rows)) in groups.into_iter().enumerate() {
        let instance = table.instance(&rows, !args.check)?;
        let packing = if args.check {
            checked(&table, &rows, &instance)?
        } else {
            let part = args.budget.part(number, count);
            planned(&instance, args.capacity, part, start)
        };
        heaps.push(Heap { category, rows, instance, packing });
    }
    if args.check {
        let rows: Vec<Vec<usize>> = heaps.iter().map(|heap| heap.rows.clone()).collect();
        if let Some(violation) = replay::violation(&table, &rows)? {
            return Err(PlanError::Infeasible(violation));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let failure = (args.capacity.filter(|_| !args.check))
        .and_then(|capacity| infeasible(&table.name, &heaps[0], ByteSize::new(capacity)));
    let report = PlanReport {
        file: table.name.clone(),
        seconds,
        steps: heaps.iter().map(|heap| heap.packing.steps).sum(),
        heaps: heaps.iter().map(heap_report).collect(),
    };
    if let Some(file) = drawing {
        let svg = drawing::draw(&table, &heaps);
        file.write(|writer| writer.write_all(svg.as_bytes()))?;
    }
    if let Some(file) = plan_file {
        for heap in &heaps {
            for (&row, &offset) in heap.rows.iter().zip(&heap.packing.offsets) {
                table.rows[row].offset = Some(offset.get());
            }
        }
        file.write(|writer| table.write(writer))?;
    }
    Ok((report, failure))
}

fn planned(instance: &Instance, capacity: Option<u64>, budget: Budget, start: Instant) -> Packing {
    let (steps, time) = match budget {
        Budget::Steps(steps) => (steps, None),
        Budget::Time(time) => (u64::MAX, Some(time)),
    };
    let mut stop = || time.is_some_and(|time: Duration| start.elapsed() >= time);
    let options = SolveOptions { capacity: capacity.map(ByteSize::new), steps };
    let mut packing = solve(instance, &options, &mut stop);
    if instance.buffers().len() <= MAX_BUFFERS_MOVED {
        let moves = match time {
            None => MOVES.min(steps),
            Some(_) if start.elapsed() >= LONG => MORE_MOVES,
            Some(_) => MOVES,
        };
        reduce_aliasing_pairs(instance, &mut packing, moves, &mut stop);
    }
    packing
}

/// Checks the offsets of the table.
fn checked(table: &Table, rows: &[usize], instance: &Instance) -> Result<Packing, PlanError> {
    let offsets: Vec<HeapOffset> =
        rows.iter().map(|&row| HeapOffset::new(table.rows[row].offset.unwrap_or(0))).collect();
    let height =
        check(instance, &offsets).map_err(|error| PlanError::Infeasible(table.packing_error(rows, error)))?;
    let lower_bound = instance.load().size;
    Ok(Packing { offsets, height, lower_bound, proved: height == lower_bound, steps: 0 })
}

/// Returns the error that says why a capacity is not met.
fn infeasible(name: &str, heap: &Heap, capacity: ByteSize) -> Option<PlanError> {
    let (height, bound, load) = (heap.packing.height, heap.packing.lower_bound, heap.instance.load());
    let (capacity, wanted) = (capacity.get(), capacity);
    if height <= wanted {
        return None;
    }
    let message = if load.size > wanted {
        let instant = load.instant.map_or(String::new(), |instant| format!(" at time {instant}"));
        format!(
            "{name}: no plan fits into {capacity} bytes: the buffers that live{instant} have {} bytes",
            load.size.get()
        )
    } else if bound > wanted {
        format!(
            "{name}: no plan fits into {capacity} bytes: the search has proved that {} are needed",
            bound.get()
        )
    } else {
        format!(
            "{name}: no plan for {capacity} bytes was found within the budget; the lowest one takes {}, and no plan takes \
             less than {}",
            height.get(),
            bound.get()
        )
    };
    Some(PlanError::Infeasible(message))
}

fn heap_report(heap: &Heap) -> HeapReport {
    let load = heap.instance.load();
    HeapReport {
        category: heap.category.clone(),
        buffers: heap.rows.len(),
        height: heap.packing.height.get(),
        lower_bound: heap.packing.lower_bound.get(),
        load: load.size.get(),
        load_instant: load.instant,
        proved: heap.packing.proved,
        total: heap.instance.total_size().get(),
        barriers: aliasing_pairs(&heap.instance, &heap.packing),
    }
}
