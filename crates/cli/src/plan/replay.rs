//! Replays a plan of a frame on the rules of the aliasing tracker.
//!
//! A table of a frame's resources has the column `uses`: the passes that use each resource. With the offsets of a plan, the
//! planner derives the barriers and initialisations of each pass, and the tracker judges the commands of several frames.

use heapwright::d3d12::{
    D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_DEPTH_WRITE, D3D12_RESOURCE_STATE_RENDER_TARGET,
};
use heapwright_core::aliasing::Violated;
use heapwright_core::aliasing::frame::{
    Frame, FrameError, FramePlan, FramePlanOptions, FrameResource, FrameResourceId, Initialisation, PassId,
    QueueKind, ResourceKind, Use,
};
use heapwright_core::{ByteSize, HeapOffset};
use heapwright_runtime::aliasing::{
    AliasingTracking, CommandStream, Severity, StreamCommand, StreamError, StreamHeap, StreamQueue,
    StreamResource, StreamResourceKind, Violation,
};

use super::table::{FrameRow, Table, TableError};

/// Frames that are replayed: the second one finds the memory as the first one left it.
const FRAMES: usize = 2;

/// Returns the first violation of the rules, or `None` if there is none. Tables without the column `uses` have no frame.
pub(super) fn violation(table: &Table, heaps: &[Vec<usize>]) -> Result<Option<String>, TableError> {
    let Some(rows) = table.frame_rows()? else { return Ok(None) };
    let (frame, passes) = frame(table, &rows)?;
    let options = FramePlanOptions {
        heap_per_category: heaps.len() > 1,
        steps: 0,
        moves: 0,
        ..FramePlanOptions::default()
    };
    let plan = match frame.plan(&options, &mut || false) {
        Ok(plan) => plan,
        // Their bytes were compared already.
        Err(FrameError::Resource { resource: Some(resource), rule: Violated::FixedOverlap { other } }) => {
            return Ok(Some(table.in_one_granule(resource.index(), other)));
        }
        Err(error) => return Err(table.without_line(error.to_string())),
    };
    let found =
        replay(&rows, table, heaps, &plan, &passes).map_err(|error| table.without_line(error.to_string()))?;
    Ok(found.map(|violation| format!("{}: the plan violates a rule of aliasing: {violation}", table.name)))
}

/// Creates the frame of a table, with the offsets of the plan, and the passes with the resources that each uses.
fn frame(table: &Table, rows: &[FrameRow]) -> Result<(Frame, Vec<Vec<usize>>), TableError> {
    let count = rows.iter().flat_map(|row| &row.passes).max().map_or(0, |last| last + 1);
    let mut passes: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut frame = Frame::new();
    let queue = frame.add_queue(QueueKind::Direct);
    for (number, row) in rows.iter().enumerate() {
        let placed = &table.rows[number];
        frame.add_resource(FrameResource {
            fixed_offset: placed.offset.map(HeapOffset::new),
            ..FrameResource::new(row.kind, ByteSize::new(placed.size), placed.alignment)
        });
        row.passes.iter().for_each(|&pass| passes[pass].push(number));
    }
    for (number, resources) in passes.iter().enumerate() {
        let pass = frame.add_pass(queue);
        for &resource in resources {
            let row = &rows[resource];
            let how = if row.passes[0] == number { row.first_use() } else { Use::Read };
            frame
                .add_use(pass, FrameResourceId::new(resource), how)
                .map_err(|error| table.without_line(error.to_string()))?;
        }
    }
    Ok((frame, passes))
}

fn replay(
    rows: &[FrameRow],
    table: &Table,
    heaps: &[Vec<usize>],
    plan: &FramePlan,
    passes: &[Vec<usize>],
) -> Result<Option<Violation>, StreamError> {
    let (mut stream, queue, resources) = place(rows, table, heaps)?;
    for _ in 0..FRAMES {
        let violations = stream.execute(queue, &commands(rows, plan, passes, &resources))?;
        let worst = violations.into_iter().find(|violation| violation.severity <= Severity::Warning);
        if worst.is_some() {
            return Ok(worst);
        }
    }
    Ok(None)
}

/// Creates a stream with one queue and the resources of a table.
fn place(
    rows: &[FrameRow],
    table: &Table,
    heaps: &[Vec<usize>],
) -> Result<(CommandStream, StreamQueue, Vec<StreamResource>), StreamError> {
    let mut stream = CommandStream::new(AliasingTracking::ADVANCED);
    let queue = stream.add_queue();
    let made: Vec<StreamHeap> = heaps.iter().map(|_| stream.add_heap()).collect();
    let mut resources: Vec<StreamResource> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let heap = heaps.iter().position(|heap| heap.contains(&number)).unwrap_or(0);
        let placed = &table.rows[number];
        let (kind, state) = match row.kind {
            ResourceKind::Buffer => (StreamResourceKind::Buffer, D3D12_RESOURCE_STATE_COMMON),
            ResourceKind::Texture | ResourceKind::UnorderedAccessTexture => {
                (StreamResourceKind::Texture, D3D12_RESOURCE_STATE_COMMON)
            }
            ResourceKind::RenderTarget { .. } => {
                (StreamResourceKind::RenderTarget, D3D12_RESOURCE_STATE_RENDER_TARGET)
            }
            ResourceKind::DepthStencil => {
                (StreamResourceKind::DepthStencil, D3D12_RESOURCE_STATE_DEPTH_WRITE)
            }
        };
        let offset = HeapOffset::new(placed.offset.unwrap_or(0));
        let size = ByteSize::new(placed.size);
        let made = stream.place(made[heap], offset, kind, size, placed.alignment, state, &placed.label);
        resources.push(made?);
    }
    Ok((stream, queue, resources))
}

/// Returns the commands of one frame.
fn commands(
    rows: &[FrameRow],
    plan: &FramePlan,
    passes: &[Vec<usize>],
    resources: &[StreamResource],
) -> Vec<StreamCommand> {
    let mut commands = Vec::new();
    for (number, used) in passes.iter().enumerate() {
        let activations: Vec<_> =
            plan.activations.iter().filter(|activation| activation.pass == PassId::new(number)).collect();
        for activation in &activations {
            commands.extend(activation.legacy.iter().map(|barrier| StreamCommand::AliasingBarrier {
                before: Some(resources[barrier.before.index()]),
                after: Some(resources[barrier.after.index()]),
            }));
        }
        for activation in &activations {
            if activation.initialisation == Initialisation::Discard {
                commands.push(StreamCommand::Discard(resources[activation.resource.index()]));
            }
        }
        for &resource in used {
            let (row, id) = (&rows[resource], resources[resource]);
            if row.passes[0] != number {
                commands.push(StreamCommand::Read(id));
                continue;
            }
            commands.push(match row.first_use() {
                Use::Clear => StreamCommand::Clear(id),
                Use::Render => StreamCommand::Draw(id),
                Use::WriteUnordered => StreamCommand::Write(id),
                Use::Read | Use::CopyAll | Use::Update => StreamCommand::CopyTo(id),
            });
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use heapwright_core::aliasing::{SolveOptions, solve};
    use heapwright_runtime::aliasing::Rule;

    use super::*;

    /// Plans a table of a frame graph and returns it with the offsets.
    fn planned(path: &Path) -> Table {
        let mut table = Table::read(path).expect("a table");
        let rows: Vec<usize> = (0..table.rows.len()).collect();
        let instance = table.instance(&rows, false).expect("an instance");
        let options = SolveOptions { capacity: None, steps: 5000 };
        let packing = solve(&instance, &options, &mut || false);
        for (row, offset) in table.rows.iter_mut().zip(&packing.offsets) {
            row.offset = Some(offset.get());
        }
        table
    }

    /// In each frame graph, a frame without one of its barriers or discards violates the rule of exactly that one.
    #[test]
    fn each_barrier_and_each_discard_of_a_frame_graph_is_needed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../heapwright/tests/transient/framegraphs");
        let (mut tables, mut barriers, mut discards) = (0, 0, 0);
        for file in std::fs::read_dir(folder).expect("the folder is there") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "csv") {
                continue;
            }
            tables += 1;
            let table = planned(&path);
            let heaps = [(0..table.rows.len()).collect()];
            assert_eq!(violation(&table, &heaps).expect("a frame"), None);
            let rows = table.frame_rows().expect("good columns").expect("a frame");
            let (frame, passes) = frame(&table, &rows).expect("a frame");
            let plan = frame.plan(&FramePlanOptions::default(), &mut || false).expect("a plan");
            let (mut stream, queue, resources) = place(&rows, &table, &heaps).expect("resources");
            let all = commands(&rows, &plan, &passes, &resources);
            let of = |resource: StreamResource| resources.iter().position(|&other| other == resource);
            assert_eq!(stream.execute(queue, &all), Ok(Vec::new()));
            for (number, left_out) in all.iter().enumerate() {
                let (rules, resource): (&[Rule], _) = match left_out {
                    StreamCommand::AliasingBarrier { after, .. } => {
                        (&[Rule::B1, Rule::B4], after.and_then(of))
                    }
                    StreamCommand::Discard(resource) => (&[Rule::I3, Rule::I4], of(*resource)),
                    _ => continue,
                };
                let mut commands = all.clone();
                commands.remove(number);
                let found = stream.execute(queue, &commands).expect("good commands");
                let shared = plan.activations.iter().any(|activation| {
                    Some(activation.resource.index()) == resource && !activation.predecessors.is_empty()
                });
                // What no other resource has overwritten needs no discard after the first frame.
                assert_eq!(found.is_empty(), !shared, "{}: {left_out:?}", table.name);
                let name = resource.map(|resource| table.rows[resource].label.clone());
                for violation in found {
                    let subject = violation.resource.as_ref().and_then(|subject| subject.name.clone());
                    assert!(rules.contains(&violation.rule) && subject == name, "{left_out:?}: {violation}");
                }
                match left_out {
                    StreamCommand::Discard(_) => discards += usize::from(shared),
                    _ => barriers += 1,
                }
            }
        }
        assert!(tables == 12 && barriers > 500 && discards > 100, "{tables}, {barriers}, {discards}");
    }
}
