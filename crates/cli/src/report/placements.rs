//! Heaps and placements for files without them, by a replay through the allocator.

use std::iter::Peekable;

use heapwright::ByteSize;
use heapwright_report::session::{Block, HistoryBuilder, HistoryError, SessionHistory};
use heapwright_trace::session::{Action, Allocation, ResourceKind};
use heapwright_trace::{EventKind, Trace};

use crate::exit::Failed;
use crate::replay::{Recording, record};

/// A history with the heaps and placements of a replay.
pub(super) struct Replayed {
    pub(super) history: SessionHistory,
    /// Name of the device.
    pub(super) device: String,
    /// Number of allocations that failed. They are outside of all heaps.
    pub(super) failures: u64,
}

/// An event of a history.
#[derive(Clone, Copy)]
enum Event {
    Allocate(usize),
    Free(usize),
    Submit(u64),
}

/// Replays a history without heaps as `heapwright replay` does, and returns it with the heaps of that replay.
pub(super) fn replay(name: &str, history: &SessionHistory) -> Result<Replayed, Failed> {
    let of_trace = events(history).filter_map(|(time_us, event)| {
        let (kind, block) = match event {
            Event::Allocate(block) => (EventKind::Alloc, block),
            Event::Free(block) => (EventKind::Free, block),
            Event::Submit(_) => return None,
        };
        // Ids of a session may be used again.
        Some((time_us, kind, block as u64, ByteSize::new(history.blocks[block].requested)))
    });
    let trace = Trace::from_events(name, of_trace)?;
    let recorded = record(trace, history.blocks.iter().map(|block| block.heap_type))?;
    let failures = recorded.sizes.iter().filter(|size| size.is_none()).count() as u64;
    let history = with_heaps(history, &recorded).map_err(Failed::bad_input)?;
    Ok(Replayed { history, device: recorded.device, failures })
}

/// Returns the events of a history in order, with their times.
fn events(history: &SessionHistory) -> impl Iterator<Item = (u64, Event)> {
    let mut ends: Vec<usize> = (0..history.blocks.len()).collect();
    ends.sort_by_key(|&block| history.blocks[block].end);
    let (mut starts, mut ends) = ((0..history.blocks.len()).peekable(), ends.into_iter().peekable());
    let mut submissions = history.submissions.iter().peekable();
    (0..).zip(&history.times_us).filter_map(move |(moment, &time_us)| {
        let start = starts.next_if(|&block| history.blocks[block].start == moment).map(Event::Allocate);
        let event = start
            .or_else(|| ends.next_if(|&block| history.blocks[block].end == moment).map(Event::Free))
            .or_else(|| {
                let submission = submissions.next_if(|submission| submission.moment == moment);
                submission.map(|submission| Event::Submit(submission.queue))
            });
        Some((time_us, event?))
    })
}

/// Returns the history with the heaps and places of its recorded replay.
fn with_heaps(history: &SessionHistory, recorded: &Recording) -> Result<SessionHistory, HistoryError> {
    let mut actions = recorded.actions.iter().peekable();
    let mut builder = HistoryBuilder::new();
    for (time_us, event) in events(history) {
        builder.set_time(time_us);
        match event {
            Event::Submit(queue) => builder.submit(queue, &[])?,
            Event::Free(block) => {
                if recorded.sizes[block].is_some() {
                    follow_heaps(&mut actions, &mut builder)?;
                    actions.next_if(|action| matches!(action, Action::Free { .. }));
                }
                builder.free(history.blocks[block].id)?;
            }
            Event::Allocate(block) => {
                let Block { id, requested, heap_type, .. } = history.blocks[block];
                let kind = ResourceKind::Unknown;
                let mut allocation =
                    Allocation { id, size: requested, kind, heap_type, flags: 0, name: None };
                let size = recorded.sizes[block].map(ByteSize::get);
                if size.is_some() {
                    follow_heaps(&mut actions, &mut builder)?;
                    if let Some(Action::Allocate(replayed)) =
                        actions.next_if(|action| matches!(action, Action::Allocate(_)))
                    {
                        // That of a CSV trace is unknown.
                        allocation.heap_type = replayed.heap_type;
                    }
                }
                builder.allocate(&allocation)?;
                while let Some(Action::Place { heap, offset, .. }) =
                    actions.next_if(|action| matches!(action, Action::Place { .. }))
                {
                    builder.place(id, *heap, *offset, size)?;
                }
            }
        }
    }
    let mut replayed = builder.finish();
    replayed.pools.clone_from(&history.pools);
    replayed.groups.clone_from(&history.groups);
    replayed.has_unified_memory = history.has_unified_memory;
    // Nothing moved, so that both have the same blocks.
    for (block, original) in replayed.blocks.iter_mut().zip(&history.blocks) {
        (block.kind, block.pool) = (original.kind, original.pool);
        block.name.clone_from(&original.name);
    }
    Ok(replayed)
}

/// Follows the heaps that are created and destroyed before the next allocation or free.
fn follow_heaps<'a>(
    actions: &mut Peekable<impl Iterator<Item = &'a Action>>,
    builder: &mut HistoryBuilder,
) -> Result<(), HistoryError> {
    let is_of_heap = |action: &&Action| {
        !matches!(action, Action::Allocate(_) | Action::Free { .. } | Action::Place { .. })
    };
    while let Some(action) = actions.next_if(is_of_heap) {
        match action {
            Action::CreateHeap(heap) => builder.create_heap(heap)?,
            &Action::DestroyHeap { heap } => builder.destroy_heap(heap),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use heapwright_trace::session::HeapType;

    use super::*;

    #[test]
    fn blocks_have_the_types_of_the_heaps_that_the_replay_chose() {
        for (recorded, expected) in
            [(HeapType::Unknown, HeapType::Default), (HeapType::Upload, HeapType::Upload)]
        {
            let mut builder = HistoryBuilder::new();
            let kind = ResourceKind::Buffer;
            let allocation =
                Allocation { id: 7, size: 70_000, kind, heap_type: recorded, flags: 0, name: None };
            builder.allocate(&allocation).unwrap();
            let replayed = replay("t", &builder.finish()).unwrap().history;
            assert_eq!((replayed.blocks[0].heap_type, replayed.heaps[0].heap_type), (expected, expected));
        }
    }
}
