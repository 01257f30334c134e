//! Plans and checks of tables.

use std::num::NonZero;
use std::time::{Duration, Instant};

use heapwright_aliasing::{
    Instance, Packing, SolveOptions, aliasing_pairs, check, reduce_aliasing_pairs, solve,
};
use heapwright_core::{ByteSize, HeapOffset};

use super::args::{Budget, PlanArgs};
use super::report::{HeapReport, PlanReport};
use super::table::Table;
use super::{Planned, moves};
use crate::exit::Failed;

/// Buffers of one heap, with their plan.
struct Heap {
    category: Option<String>,
    /// Rows of the table, in the order of the instance's buffers.
    rows: Vec<usize>,
    instance: Instance,
    packing: Packing,
}

/// Makes or checks the plan of a table.
pub(super) fn make(args: &PlanArgs, name: String, text: &str) -> Result<Planned, Failed> {
    let mut table = Table::parse(name, text)?;
    if args.check {
        table.expect_offsets()?;
    }
    let start = Instant::now();
    let mut barrier_time = Duration::ZERO;
    let groups =
        if args.tier == 1 { table.by_category()? } else { vec![(None, (0..table.rows.len()).collect())] };
    let count = groups.len().max(1);
    let mut heaps = Vec::new();
    for (number, (category, rows)) in groups.into_iter().enumerate() {
        let instance = table.instance(&rows, !args.check)?;
        let packing = if args.check {
            checked(&table, &rows, &instance)?
        } else {
            let budget = args.budget.part(number, count);
            let options = solve_options(args, budget);
            let mut packing = solve(&instance, &options, &mut || budget.is_over(start));
            let packed = Instant::now();
            let moves = moves(instance.buffers().len(), budget.steps(), start);
            if moves > 0 {
                reduce_aliasing_pairs(&instance, &mut packing, moves, &mut || budget.is_over(start));
            }
            barrier_time += packed.elapsed();
            packing
        };
        heaps.push(Heap { category, rows, instance, packing });
    }
    let times = [start.elapsed(), barrier_time];
    let report = PlanReport::new(table.name.clone(), times, heaps.iter().map(heap_report).collect());
    for heap in &heaps {
        for (&row, &offset) in heap.rows.iter().zip(&heap.packing.offsets) {
            table.rows[row].offset = Some(offset.get());
        }
    }
    Ok(Planned { report, with_offsets: table.to_text() })
}

/// Returns how a heap is packed within a budget.
pub(super) fn solve_options(args: &PlanArgs, budget: Budget) -> SolveOptions {
    SolveOptions {
        capacity: args.capacity.map(ByteSize::new),
        steps: budget.steps().unwrap_or(u64::MAX),
        threads: NonZero::new(usize::from(args.threads)).unwrap_or(NonZero::<usize>::MIN),
        hint_slack_permille: args.hint_slack_permille,
    }
}

/// Checks the offsets of the table.
fn checked(table: &Table, rows: &[usize], instance: &Instance) -> Result<Packing, Failed> {
    let offsets: Vec<HeapOffset> =
        rows.iter().map(|&row| HeapOffset::new(table.rows[row].offset.unwrap_or(0))).collect();
    let height =
        check(instance, &offsets).map_err(|error| Failed::failure(table.packing_error(rows, error)))?;
    let lower_bound = instance.load().size;
    Ok(Packing { offsets, height, lower_bound, proved: height == lower_bound, steps: 0 })
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
        total: (heap.instance.buffers().iter())
            .map(|buffer| buffer.size.get().next_multiple_of(buffer.alignment.get()))
            .sum(),
        barriers: aliasing_pairs(&heap.instance, &heap.packing),
        steps: heap.packing.steps,
    }
}
