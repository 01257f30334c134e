//! Plans and checks of frames.

use std::collections::BTreeSet;
use std::time::Instant;

use heapwright::d3d12::hresult::Named;
use heapwright_aliasing::SolveOptions;
use heapwright_aliasing::frame::{BarrierModel, Category, FrameError, FramePlan, FramePlanOptions};

use super::args::{BarriersArg, PlanArgs};
use super::frame::{FrameText, NamedFrame};
use super::report::{HeapReport, PlanReport};
use super::table_plan::solve_options;
use super::{Planned, frame_file, moves, replay};
use crate::exit::Failed;

/// Makes or checks the plan of a frame.
pub(super) fn make(args: &PlanArgs, name: &str, text: &str) -> Result<Planned, Failed> {
    let frame = frame_file::read(name, text)?;
    let heap_per_category = args.tier == 1;
    let start = Instant::now();
    let (plan, barrier_time) = if args.check {
        if let Some(without) = frame.resources.iter().find(|resource| resource.desc.fixed_offset.is_none()) {
            return Err(frame.wrong(without.line, "the plan has no offset for this resource"));
        }
        (check(&frame, &unchanged(heap_per_category))?, Default::default())
    } else {
        let categories: BTreeSet<Category> =
            frame.resources.iter().map(|resource| resource.desc.kind.category()).collect();
        let heaps = if heap_per_category { categories.len().max(1) } else { 1 };
        let options = FramePlanOptions {
            heap_per_category,
            barriers: match args.barriers.unwrap_or(BarriersArg::Legacy) {
                BarriersArg::Legacy => BarrierModel::Legacy,
                BarriersArg::Enhanced => BarrierModel::Enhanced,
            },
            solve: solve_options(args, args.budget.part(0, heaps)),
            ..FramePlanOptions::default()
        };
        let mut stop = |heap| args.budget.part(heap, heaps).is_over(start);
        let mut packing = frame.frame.pack(&options, &mut stop).map_err(|error| frame.malformed(error))?;
        let packed = Instant::now();
        let moves = moves(frame.resources.len(), args.budget.steps(), start);
        packing.reduce_aliasing_pairs(moves, &mut || args.budget.is_over(start));
        let barrier_time = packed.elapsed();
        (packing.plan(options.barriers), barrier_time)
    };
    let times = [start.elapsed(), barrier_time];
    frame.expect_defined(&plan)?;
    let heaps = (0..plan.heaps.len()).map(|heap| heap_report(&frame, &plan, heap)).collect();
    let report = PlanReport::new(name.to_owned(), times, heaps)
        .with_frame(frame.to_json(&plan), FrameText(&frame, &plan).to_string());
    let with_offsets =
        frame_file::with_offsets(text, &plan).map_err(|error| Failed::bad_input(error).of(name))?;
    Ok(Planned { report, with_offsets })
}

/// Returns the options for a frame whose offsets are all fixed.
pub(super) fn unchanged(heap_per_category: bool) -> FramePlanOptions {
    let solve = SolveOptions { steps: 0, ..SolveOptions::default() };
    FramePlanOptions { heap_per_category, solve, moves: 0, ..FramePlanOptions::default() }
}

/// Plans a frame with fixed offsets, and checks the plan by the rules of the tracker.
pub(super) fn check(frame: &NamedFrame, options: &FramePlanOptions) -> Result<FramePlan, Failed> {
    let plan = frame.frame.plan(options, &mut || false).map_err(|error| match error {
        FrameError::Resource { .. } => Failed::failure(frame.malformed(error)),
        error => frame.malformed(error),
    })?;
    frame.expect_defined(&plan)?;
    let found = replay::violation(frame, &plan).map_err(|error| {
        Failed::failure(format_args!("the plan cannot be replayed: {}", Named(error.code()))).of(&frame.file)
    })?;
    found.map_or(Ok(plan), |violation| {
        let rule = format!("the plan violates a rule of aliasing: {violation}");
        Err(Failed::failure(rule).of(&frame.file))
    })
}

/// Returns the numbers of the resources in a heap.
fn held(plan: &FramePlan, heap: usize) -> impl Iterator<Item = usize> + '_ {
    (0..plan.placements.len()).filter(move |&resource| plan.placements[resource].heap == heap)
}

fn category_name(category: Category) -> &'static str {
    match category {
        Category::Buffer => "buffer",
        Category::Texture => "non_rt_ds",
        Category::RenderTargetOrDepthStencil => "rt_ds",
    }
}

fn heap_report(frame: &NamedFrame, plan: &FramePlan, heap: usize) -> HeapReport {
    let of = &plan.heaps[heap];
    let activations =
        plan.activations.iter().filter(|activation| plan.placements[activation.resource.0].heap == heap);
    let pairs = activations.map(|activation| {
        let before: BTreeSet<_> =
            activation.predecessors.iter().map(|predecessor| predecessor.resource).collect();
        before.len()
    });
    HeapReport {
        category: of.category.map(|category| category_name(category).to_owned()),
        buffers: held(plan, heap).count(),
        height: of.height.get(),
        lower_bound: of.lower_bound.get(),
        load: of.load.size.get(),
        load_instant: of.load.instant,
        proved: of.proved,
        total: held(plan, heap)
            .map(|resource| {
                let desc = frame.resources[resource].desc;
                desc.size.get().next_multiple_of(desc.alignment.max(desc.granularity).get())
            })
            .sum(),
        barriers: pairs.sum(),
        steps: of.steps,
    }
}
