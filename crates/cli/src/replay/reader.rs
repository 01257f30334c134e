//! Reads the recorded calls of a file.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;
use std::time::Duration;

use heapwright::PoolDesc;
use heapwright_trace::Trace;
use heapwright_trace::session::{Action, Asked, Counter, Description, Record, Refusal};

use super::recorded::{
    Calls, HeapTime, RecordedAllocation, RecordedAllocator, RecordedHeap, RecordedHeld, RecordedMove,
    RecordedPlace, RecordedPool, RecordedRefusal, RecordedRun, RecordedTrace, Step, StepKind,
};
use super::request::heap_type_of;
use crate::exit::Failed;
use crate::input;

/// The kind of thing of which a session has too many, and the limit. Limits bound the memory that a malicious file
/// takes.
pub(super) type Excess = (&'static str, usize);

/// Maximum number of allocators that are replayed. Each of them has its own heaps.
const MAX_ALLOCATORS: usize = 1024;

/// Maximum number of steps.
const MAX_STEPS: usize = 1 << 21;

/// Maximum number of times of calls for heaps.
const MAX_HEAP_TIMES: usize = 1 << 21;

/// Maximum number of pools, whether they are live or not.
const MAX_POOLS: usize = 1 << 16;

/// Maximum number of different descriptions, and of different requests beyond them.
const MAX_DESCRIPTIONS: usize = 1 << 20;

/// Maximum number of recorded sums of held bytes. Further ones are not compared.
const MAX_HELD: usize = 1 << 20;

impl RecordedTrace {
    /// Reads a file, standard input or a generated trace.
    pub(super) fn read(path: &Path) -> Result<Self, Failed> {
        let mut reader = Reader::default();
        let trace = Trace::from_records(input::records(path)?, |events, record| reader.note(events, record))?;
        let has_reasons = reader.has_reasons();
        match reader.into_calls() {
            Err((what, limit)) => {
                let rule = format!("there are more than {limit} {what}; a replay has at most as many");
                Err(Failed::bad_input(rule).of(trace.path().display()))
            }
            Ok(calls) => {
                let recorded = Self::new(trace, calls);
                let is_checkable = recorded.has_settings && has_reasons;
                Ok(Self { is_checkable, ..recorded })
            }
        }
    }
}

/// Collects records.
#[derive(Debug, Default)]
pub(super) struct Reader {
    calls: Calls,
    by_number: HashMap<u64, u32>,
    selected: u32,
    used_count: usize,
    heap_time_count: usize,
    /// Indices of the live allocations.
    live: HashMap<u64, u32>,
    /// Id of the last allocation.
    last_allocation: Option<u64>,
    by_description: HashMap<Description, u32>,
    by_asked: HashMap<Asked, u32>,
    pools_by_id: HashMap<u64, u32>,
    runs_by_id: HashMap<u64, u32>,
    /// Sizes of the live heaps, and their indices if something was placed in them.
    heaps: HashMap<u64, (u64, Option<u32>)>,
    has_reasons: bool,
    /// The limit that the file exceeds.
    excess: Option<Excess>,
}

impl Reader {
    /// Returns whether reasons for placements are recorded, which only sessions of heapwright have.
    pub(super) fn has_reasons(&self) -> bool {
        self.has_reasons
    }

    /// Returns the calls.
    ///
    /// # Errors
    ///
    /// Returns the limit that the file exceeds.
    pub(super) fn into_calls(self) -> Result<Calls, Excess> {
        match self.excess {
            Some(excess) => Err(excess),
            None => Ok(self.calls),
        }
    }

    pub(super) fn note(&mut self, events: usize, record: Record) {
        if self.excess.is_some() {
            return;
        }
        match record.action {
            Action::SelectAllocator { allocator } => {
                let next = index_of(self.calls.allocators.len());
                self.selected = *self.by_number.entry(allocator).or_insert(next);
                if self.selected == next {
                    self.calls.allocators.push(RecordedAllocator::default());
                    self.add_step(Step { events: index_of(events), allocator: next, kind: StepKind::Create });
                }
            }
            Action::SetOption { name, value } => {
                if self.calls.allocators.is_empty() {
                    self.calls.allocators.push(RecordedAllocator::default());
                }
                // The last value counts.
                self.calls.allocators[self.selected as usize].options.insert(name, value);
            }
            Action::NestAllocator { parent } => self.nest(parent),
            Action::Allocate(allocation) => {
                self.mark_used(Some(self.selected as usize));
                self.last_allocation = Some(allocation.id);
                self.live.insert(allocation.id, index_of(self.calls.allocations.len()));
                self.calls.allocations.push(RecordedAllocation {
                    allocator: self.selected,
                    heap_type: heap_type_of(allocation.heap_type),
                    resource_flags: allocation.flags,
                    description: None,
                    asked: None,
                    pool: None,
                    place: None,
                });
            }
            Action::Free { allocation } => drop(self.live.remove(&allocation)),
            // These follow their allocation directly; others belong to none that is replayed.
            Action::Describe(description) => {
                if self.last_allocation == Some(description.allocation) {
                    let description = self.describe(Description { allocation: 0, ..*description });
                    self.last(|last| last.description = description);
                }
            }
            Action::Reason { .. } => self.has_reasons = true,
            Action::Ask { allocation, request } => {
                if self.last_allocation == Some(allocation) {
                    let asked = self.ask(request);
                    self.last(|last| last.asked = asked);
                }
            }
            Action::UsePool { allocation, pool } => {
                if self.last_allocation == Some(allocation) {
                    let pool = self.pools_by_id.get(&pool).copied();
                    self.last(|last| last.pool = pool);
                }
            }
            Action::Place { allocation, heap, offset } => self.place(allocation, heap, offset),
            Action::CreateHeap(heap) => {
                self.heaps.insert(heap.id, (heap.size, None));
            }
            Action::DestroyHeap { heap } => {
                if let Some((_, Some(index))) = self.heaps.remove(&heap) {
                    self.calls.heaps[index as usize].end = index_of(events);
                }
            }
            Action::HeapTime { heap_type, is_free, nanoseconds } => {
                let selected = self.calls.allocators.get_mut(self.selected as usize);
                let (Some(heap_type), Some(selected)) = (heap_type_of(heap_type), selected) else { return };
                if self.heap_time_count == MAX_HEAP_TIMES {
                    self.excess = Some(("times of calls for heaps", MAX_HEAP_TIMES));
                    return;
                }
                self.heap_time_count += 1;
                let time = Duration::from_nanos(nanoseconds);
                selected.heap_times.push(HeapTime { heap_type, is_free, time });
            }
            Action::Count { counter: Counter::Reserved, value } if self.calls.held.len() < MAX_HELD => {
                let (events, steps) = (index_of(events), index_of(self.calls.steps.len()));
                self.calls.held.push(RecordedHeld { events, steps, allocator: self.selected, bytes: value });
            }
            // Without an allocator, they belong to none that is replayed.
            _ if self.calls.allocators.is_empty() => {}
            action => {
                if let Some((allocator, kind)) = self.step(action) {
                    self.add_step(Step { events: index_of(events), allocator, kind });
                }
            }
        }
    }

    /// Returns the step that an action is, and its allocator, which may be another one than the selected one.
    fn step(&mut self, action: Action) -> Option<(u32, StepKind)> {
        let kind = match action {
            Action::CreatePool { pool, options } => {
                let index = self.add_pool(options)?;
                self.pools_by_id.insert(pool, index);
                StepKind::CreatePool(index)
            }
            Action::RefusePool { options } => StepKind::RefusePool(self.add_pool(options)?),
            Action::DropPool { pool } => {
                let pool = self.pools_by_id.remove(&pool)?;
                return Some((self.calls.pools[pool as usize].allocator, StepKind::DropPool(pool)));
            }
            Action::ReleasePool { pool } => {
                let &pool = self.pools_by_id.get(&pool)?;
                return Some((self.calls.pools[pool as usize].allocator, StepKind::ReleasePool(pool)));
            }
            Action::Refuse(refusal) => {
                let Refusal { description, resource_flags, request, pool, is_out_of_memory } = *refusal;
                let pool = pool.and_then(|pool| self.pools_by_id.get(&pool).copied());
                let description = self.describe(description)?;
                let asked = self.ask(request)?;
                let refusal = RecordedRefusal { description, asked, resource_flags, pool, is_out_of_memory };
                self.calls.refusals.push(refusal);
                StepKind::Refuse(index_of(self.calls.refusals.len() - 1))
            }
            Action::BeginDefragmentation { run, pool } => {
                let pool = pool.and_then(|pool| self.pools_by_id.get(&pool).copied());
                let index = index_of(self.calls.runs.len());
                self.calls.runs.push(RecordedRun { allocator: self.selected, pool });
                self.runs_by_id.insert(run, index);
                StepKind::BeginRun(index)
            }
            Action::StepDefragmentation { run, moves, bytes, time_checks, planned } => {
                let kind = |run| StepKind::StepRun { run, moves, bytes, time_checks, planned };
                return self.of_run(run, kind);
            }
            Action::CompleteMove { run, number, allocation } => {
                let &allocation = self.live.get(&allocation)?;
                let index = index_of(self.calls.moves.len());
                let step = self.of_run(run, |_| StepKind::CompleteMove(index))?;
                let &run = self.runs_by_id.get(&run)?;
                self.calls.moves.push(RecordedMove { run, number, allocation, place: None });
                return Some(step);
            }
            Action::AbandonMove { run, number } => {
                return self.of_run(run, |run| StepKind::AbandonMove { run, number });
            }
            Action::EndDefragmentation { run } => return self.of_run(run, StepKind::EndRun),
            Action::DropAllocator => StepKind::Drop,
            Action::Frame => StepKind::Frame,
            Action::IdlePeriod => StepKind::IdlePeriod,
            Action::ReleaseHeaps { bytes } => StepKind::ReleaseHeaps(bytes),
            _ => return None,
        };
        Some((self.selected, kind))
    }

    /// Returns a step of a defragmentation. Ids of ended ones stay, because their moves may end later.
    fn of_run(&self, run: u64, kind: impl FnOnce(u32) -> StepKind) -> Option<(u32, StepKind)> {
        let &run = self.runs_by_id.get(&run)?;
        Some((self.calls.runs[run as usize].allocator, kind(run)))
    }

    fn add_step(&mut self, step: Step) {
        if self.calls.steps.len() == MAX_STEPS {
            let what = "frames, idle periods and other steps between allocations";
            self.excess = Some((what, MAX_STEPS));
            return;
        }
        if !matches!(step.kind, StepKind::Create | StepKind::Drop) {
            self.mark_used(Some(step.allocator as usize));
        }
        self.calls.steps.push(step);
    }

    fn nest(&mut self, parent: u64) {
        // A parent exists before what is nested in it, so that there are no cycles.
        let parent = self.by_number.get(&parent).filter(|&&parent| parent < self.selected);
        let parent = parent.map(|&parent| parent as usize);
        if let Some(selected) = self.calls.allocators.get_mut(self.selected as usize) {
            selected.parent = parent;
            if selected.is_used {
                self.mark_used(parent);
            }
        }
    }

    /// Adds a place: of the last allocation, which it follows directly, or of the last move.
    fn place(&mut self, allocation: u64, heap: u64, offset: u64) {
        let Some((size, index)) = self.heaps.get_mut(&heap) else { return };
        let heap = *index.get_or_insert_with(|| {
            self.calls.heaps.push(RecordedHeap { size: *size, end: u32::MAX });
            index_of(self.calls.heaps.len() - 1)
        });
        let place = Some(RecordedPlace { heap, offset });
        let Some(&allocation) = self.live.get(&allocation) else { return };
        let recorded = &mut self.calls.allocations[allocation as usize];
        if recorded.place.is_none() {
            recorded.place = place;
        } else if let Some(last) = self.calls.moves.last_mut().filter(|last| last.allocation == allocation) {
            last.place = place;
        }
    }

    fn last(&mut self, change: impl FnOnce(&mut RecordedAllocation)) {
        if let Some(last) = self.calls.allocations.last_mut() {
            change(last);
        }
    }

    fn add_pool(&mut self, options: Vec<(Box<str>, Box<str>)>) -> Option<u32> {
        if self.calls.pools.len() == MAX_POOLS {
            self.excess = Some(("pools", MAX_POOLS));
            return None;
        }
        let mut desc = Ok(PoolDesc::default());
        for (name, value) in options {
            desc = desc.and_then(|mut desc| desc.set_option(&name, &value).map(|()| desc));
        }
        self.calls.pools.push(RecordedPool { allocator: self.selected, desc });
        Some(index_of(self.calls.pools.len() - 1))
    }

    /// Marks an allocator, and those in which it is nested, as used.
    fn mark_used(&mut self, mut next: Option<usize>) {
        while let Some(allocator) = next.and_then(|index| self.calls.allocators.get_mut(index)) {
            if std::mem::replace(&mut allocator.is_used, true) {
                return;
            }
            next = allocator.parent;
            self.used_count += 1;
            if self.used_count > MAX_ALLOCATORS {
                self.excess = Some(("allocators that do something", MAX_ALLOCATORS));
            }
        }
    }

    /// Returns the index of a description.
    fn describe(&mut self, description: Description) -> Option<u32> {
        let found = distinct(&mut self.calls.descriptions, &mut self.by_description, description);
        if found.is_none() {
            self.excess = Some(("different descriptions", MAX_DESCRIPTIONS));
        }
        found
    }

    /// Returns the index of what was asked.
    fn ask(&mut self, asked: Asked) -> Option<u32> {
        let found = distinct(&mut self.calls.asked, &mut self.by_asked, asked);
        if found.is_none() {
            self.excess = Some(("different requests", MAX_DESCRIPTIONS));
        }
        found
    }
}

/// Returns the index of a value in a list, to which it is added unless it is there; `None` if the list is full.
fn distinct<T: Clone + Eq + Hash>(list: &mut Vec<T>, indices: &mut HashMap<T, u32>, value: T) -> Option<u32> {
    if let Some(&known) = indices.get(&value) {
        return Some(known);
    }
    if list.len() == MAX_DESCRIPTIONS {
        return None;
    }
    let index = index_of(list.len());
    list.push(value.clone());
    indices.insert(value, index);
    Some(index)
}

/// Returns an index of a list whose length is limited.
fn index_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of no allocator are not held, however many a file has.
    #[test]
    fn what_belongs_to_no_allocator_is_not_held() {
        let held = |has_allocator: bool| {
            let mut reader = Reader::default();
            let mut note = |action| reader.note(0, Record { time_us: 0, action });
            if has_allocator {
                note(Action::SelectAllocator { allocator: 1 });
            }
            note(Action::CreatePool { pool: 2, options: Vec::new() });
            note(Action::Refuse(Box::default()));
            note(Action::BeginDefragmentation { run: 3, pool: None });
            note(Action::EndDefragmentation { run: 3 });
            (0..3).for_each(|_| note(Action::Frame));
            let Calls { pools, steps, refusals, runs, .. } = reader.calls;
            (pools.len(), steps.len(), refusals.len(), runs.len())
        };
        assert_eq!(held(false), (0, 0, 0, 0));
        assert_eq!(held(true), (1, 8, 1, 1));
    }
}
