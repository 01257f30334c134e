//! Defragmentation: moves allocations out of sparsely used heaps, a few at a time, so that these heaps can be released.
//!
//! [`ResourceAllocator::defragment`] begins a run. Each step plans moves. For each move, the application creates the
//! resource at its new place, copies the contents and completes the move.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heapwright_core::placement::{
    Evacuation, EvacuationBudget, EvacuationState, Placed, PlacementAlgorithm, PlacementRequest, PlannedMove,
    SharedHeapSet,
};
use heapwright_core::{ByteSize, HeapOffset};
use heapwright_d3d12::*;
use heapwright_trace::session::Action;

use crate::allocator::{Inner, MemoryAllocation, Pool, ResourceAllocation, ResourceAllocator, place};
use crate::desc::{ClearValue, LayoutGuid, ResourceAllocationFlags, ResourceDesc, SuballocationAlgorithm};
use crate::heaps::{PlacedRange, Stripe, Striped, TypedHeaps};
use crate::recording::{COMPLETE_MOVE, Recorded, RecordedMove, Recording};
use crate::residency::ResidencyHeap;
use crate::source::{AllocationId, Heap, Label, MemoryReference, Refused, create_placed, set_debug_name};
use crate::{Error, InitialState};

pub use heapwright_core::placement::EvacuationProgress as DefragmentationProgress;

/// The heaps to defragment.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefragmentationDesc<'a> {
    /// A custom pool; `None` is all of the allocator's own heaps.
    pub pool: Option<&'a Pool>,
}

/// The number of labels that are indexed between two checks of the time: about 50 µs.
const LABELS: usize = 512;

/// Limits of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefragmentationBudget {
    /// Maximum number of moves. Default 64.
    pub moves: u32,
    /// Maximum bytes of these moves together; a single move may be larger. Default 64 MiB.
    pub bytes: ByteSize,
    /// Maximum time for planning. Creating a heap, if one is needed, is not included. Default 500 µs.
    pub time: Duration,
}

impl Default for DefragmentationBudget {
    #[inline]
    fn default() -> Self {
        let EvacuationBudget { moves, bytes, .. } = EvacuationBudget::default();
        Self { moves, bytes, time: Duration::from_micros(500) }
    }
}

/// Empties sparsely used heaps, so that they can be released.
///
/// Only whole heaps are emptied. Those that free the most bytes for each moved byte come first. A heap is selected only
/// if its allocations fit elsewhere, or if a new heap for the contents of several heaps costs less than these free.
/// While a heap is being emptied, nothing new is placed in it. Any thread may use the allocator meanwhile.
///
/// Dropping this ends the run: heaps that are not empty yet accept allocations again, and moves in progress can still
/// be completed. It keeps its allocator alive.
///
/// # A full example
///
/// ```
/// use std::collections::HashMap;
///
/// use heapwright::d3d12::*;
/// use heapwright::{ByteSize, InitialState, ResourceAllocationDesc, ResourceAllocator, buffer_desc};
/// use heapwright::defragmentation::{DefragmentationBudget, DefragmentationState};
/// # let gpu = heapwright_runtime::Instance::open(heapwright_runtime::HostProfile::default_profile())?;
/// # let allocator = ResourceAllocator::new(&gpu.device, Some(&gpu.adapter), Default::default())?;
///
/// // The owner finds its resources by a number that is told back.
/// let mut buffers = HashMap::new();
/// for key in 1..=2000 {
///     let desc = ResourceAllocationDesc { user_data: key, ..Default::default() };
///     let resource = buffer_desc(ByteSize::from_kib(32));
///     let buffer = allocator.create_resource(&desc, &resource, D3D12_RESOURCE_STATE_COMMON, None)?;
///     buffers.insert(key, buffer);
/// }
/// buffers.retain(|key, _| key % 4 == 0);
/// let before = allocator.reserved();
///
/// let mut run = allocator.defragment(Default::default())?;
/// loop {
///     let step = run.step(DefragmentationBudget::default());
///     let mut moves = Vec::new();
///     for mut planned in step.moves {
///         let Some(buffer) = buffers.get(&planned.user_data()) else { continue }; // dropped: stays where it is
///         let target = planned.create_resource(buffer, InitialState::default(), None, &[])?;
///         // list.CopyResource(target, buffer.resource());
///         # let _ = target;
///         moves.push(planned);
///     }
///     // Execute the list, and wait for its fence; later frames may go by. Then:
///     for planned in moves {
///         let key = planned.user_data();
///         planned.complete(buffers.get_mut(&key).unwrap())?; // its resource() is the new one from here on
///     }
///     if step.state == DefragmentationState::Finished {
///         break;
///     }
/// }
/// assert!(allocator.reserved() < before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Defragmentation {
    allocator: ResourceAllocator,
    is_of_pool: bool,
    /// One run for each kind of heap.
    runs: Vec<Run>,
    /// Finished runs. Moves out of heaps that were given up may still be in progress.
    finished: Vec<Run>,
    /// The defragmentation in the allocator's recording.
    recorded: Option<Recorded>,
    /// The number of its moves in the recording.
    recorded_moves: u64,
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for Defragmentation {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defragmentation").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

/// The result of a step.
#[derive(Debug)]
#[must_use = "moves that are dropped are abandoned"]
pub struct DefragmentationStep {
    /// The planned moves, which may be completed or abandoned in any order, and while further steps are made.
    pub moves: Vec<Move>,
    /// The state of the run after the step.
    pub state: DefragmentationState,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefragmentationState {
    /// More moves can be planned.
    Planning,
    /// Nothing can be planned until moves are completed or abandoned.
    AwaitingMoves,
    /// No heap is worth emptying.
    Finished,
}

type HeapEvacuation = Evacuation<DefaultSet, Arc<Heap>>;

#[derive(Clone)]
struct Run {
    heaps: Arc<Stripe<TypedHeaps>>,
    evacuation: Arc<Mutex<HeapEvacuation>>,
}

/// A set of heaps with the default algorithm.
struct DefaultSet(Arc<Stripe<TypedHeaps>>);

impl Deref for DefaultSet {
    type Target = SharedHeapSet<Arc<Heap>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0.set
    }
}

impl Run {
    #[inline]
    fn new(heaps: &Striped<TypedHeaps>) -> Option<Self> {
        if heaps.set.algorithm() != PlacementAlgorithm::Default {
            return None;
        }
        let heaps = heaps.reference();
        let set = DefaultSet(Arc::clone(&heaps));
        let mut evacuation = Evacuation::new(set).keep_heaps(heaps.desc.min_heap_count);
        if !heaps.desc.heap_size.is_zero() {
            // The contents of several heaps never move to a new one, which would have another size.
            evacuation = evacuation.without_slack();
        }
        Some(Self { heaps, evacuation: Arc::new(Mutex::new(evacuation)) })
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, HeapEvacuation> {
        self.evacuation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn abandon(&self, planned: &PlannedMove<Arc<Heap>>) {
        let release = self.lock().abandon(planned);
        self.release(release);
    }

    /// Releases heaps to the device, except those that a pool needs. No other lock may be held.
    #[inline]
    fn release(&self, heaps: Vec<Arc<Heap>>) {
        drop(self.heaps.leave(heaps));
    }
}

impl ResourceAllocator {
    /// Begins a defragmentation. Nothing happens before its first [step](Defragmentation::step). O(heap types).
    ///
    /// Several may run at the same time, also over the same heaps; the work is then divided between them arbitrarily.
    /// If one of them abandons a move, another may plan a move of an allocation that the first one already moves; the
    /// one that is completed last is rejected.
    ///
    /// # Errors
    ///
    /// Unsupported: heaps with an algorithm other than [`Default`](crate::SuballocationAlgorithm::Default). Invalid
    /// argument: a pool of another allocator.
    #[inline]
    pub fn defragment(&self, desc: DefragmentationDesc<'_>) -> Result<Defragmentation, Error> {
        let inner = self.inner();
        inner.attempt("ResourceAllocator.Defragment", || Defragmentation::new(inner, desc))
    }
}

impl Defragmentation {
    #[inline]
    fn new(inner: &Arc<Inner>, desc: DefragmentationDesc<'_>) -> Result<Self, Error> {
        let runs: Vec<Run> = match desc.pool {
            Some(pool) if !pool.is_of(&inner.heaps.source) => {
                let rule = format!("pool \"{}\" belongs to another allocator", pool.name());
                return Err(Error::invalid_argument("DefragmentationDesc::pool", rule));
            }
            Some(pool) => Run::new(&pool.heaps).into_iter().collect(),
            // Runs for the allocator's own heaps are added by the first step.
            None => Vec::new(),
        };
        let is_of_pool = desc.pool.is_some();
        let is_default = inner.desc().suballocation_algorithm == SuballocationAlgorithm::Default;
        let is_supported = if is_of_pool { !runs.is_empty() } else { is_default };
        if !is_supported {
            return Err(Error::unsupported("defragmentation with an algorithm other than Default"));
        }
        let recording = inner.heaps.source.recording.as_ref();
        let recorded = recording.and_then(|it| it.run(desc.pool.and_then(|pool| pool.recorded.as_deref())));
        let allocator = ResourceAllocator::from_inner(Arc::clone(inner));
        Ok(Self { allocator, is_of_pool, runs, finished: Vec::new(), recorded, recorded_moves: 0 })
    }

    /// Plans moves within a budget, and releases heaps that are empty.
    ///
    /// The target ranges are reserved from then on; the application carries out the moves. Cost: bounded by the budget,
    /// plus a few nanoseconds for each heap.
    #[inline]
    pub fn step(&mut self, budget: DefragmentationBudget) -> DefragmentationStep {
        let begin = Instant::now();
        let DefragmentationBudget { moves, bytes, time } = budget;
        // Moves are planned with the names of the allocations, which have no index before the first step.
        while !self.allocator.inner().heaps.source.labels.index_some(LABELS) {
            if begin.elapsed() >= time {
                return DefragmentationStep { moves: Vec::new(), state: DefragmentationState::Planning };
            }
        }
        self.step_while(moves, bytes, &mut || begin.elapsed() < time)
    }

    /// Plans moves as in a recording, where so many checks found time left if it ran out.
    #[doc(hidden)]
    #[inline]
    pub fn replay_step(
        &mut self,
        moves: u32,
        bytes: ByteSize,
        mut time_checks: Option<u64>,
    ) -> DefragmentationStep {
        self.step_while(moves, bytes, &mut || {
            let has_time = time_checks != Some(0);
            time_checks = time_checks.map(|checks| checks.saturating_sub(1));
            has_time
        })
    }

    #[inline]
    fn step_while(
        &mut self,
        moves: u32,
        bytes: ByteSize,
        time_left: &mut dyn FnMut() -> bool,
    ) -> DefragmentationStep {
        let allocator = Arc::clone(self.allocator.inner());
        let (mut time_checks, mut ran_out) = (0, false);
        let mut step = allocator.timed("Defragmentation.Step", || {
            self.plan(moves, bytes, &mut || {
                let has_time = time_left();
                time_checks += u64::from(has_time);
                ran_out |= !has_time;
                has_time
            })
        });
        if let Some(recorded) = &self.recorded {
            let (recording, run) = (recorded.recording(), recorded.id());
            let (bytes, time_checks) = (bytes.get(), ran_out.then_some(time_checks));
            let planned = u32::try_from(step.moves.len()).unwrap_or(u32::MAX);
            recording.call(|| Action::StepDefragmentation { run, moves, bytes, time_checks, planned });
            for (number, planned) in (self.recorded_moves..).zip(&mut step.moves) {
                planned.recorded = Some(RecordedMove { recording: Arc::clone(recording), run, number });
            }
            self.recorded_moves += u64::from(planned);
            recording.count(|| allocator.counters());
        }
        step
    }

    #[inline]
    fn plan(
        &mut self,
        mut moves: u32,
        mut bytes: ByteSize,
        time_left: &mut dyn FnMut() -> bool,
    ) -> DefragmentationStep {
        self.add_new_kinds();
        let mut step = DefragmentationStep { moves: Vec::new(), state: DefragmentationState::Finished };
        let mut finished = Vec::new();
        for (place, run) in self.runs.iter().enumerate() {
            let budget = EvacuationBudget { moves, bytes, or_one_larger: step.moves.is_empty() };
            let planned = self.step_run(run, budget, time_left, &mut step.moves);
            moves = moves.saturating_sub(planned.moves);
            bytes = bytes.saturating_sub(planned.bytes);
            match planned.state {
                EvacuationState::Finished => finished.push(place),
                EvacuationState::Planning | EvacuationState::AwaitingHeap => {
                    step.state = DefragmentationState::Planning;
                }
                EvacuationState::AwaitingMoves if step.state == DefragmentationState::Finished => {
                    step.state = DefragmentationState::AwaitingMoves;
                }
                EvacuationState::AwaitingMoves => {}
            }
            if moves == 0 || bytes.is_zero() || !time_left() {
                if place + 1 < self.runs.len() {
                    step.state = DefragmentationState::Planning;
                }
                break;
            }
        }
        for place in finished.into_iter().rev() {
            self.finished.push(self.runs.remove(place));
        }
        step
    }

    /// Heaps of a kind exist from their first use on, which may be after the run began.
    #[inline]
    fn add_new_kinds(&mut self) {
        if self.is_of_pool {
            return;
        }
        for heaps in self.allocator.inner().heaps.own() {
            let is_known = |run: &Run| run.heaps.desc.number == heaps.desc.number;
            if !self.runs.iter().chain(&self.finished).any(is_known) {
                self.runs.extend(Run::new(heaps));
            }
        }
    }

    #[inline]
    fn step_run(
        &self,
        run: &Run,
        budget: EvacuationBudget,
        time_left: &mut dyn FnMut() -> bool,
        moves: &mut Vec<Move>,
    ) -> PlannedStep {
        let mut sum = PlannedStep { moves: 0, bytes: ByteSize::ZERO, state: EvacuationState::Planning };
        loop {
            let left = EvacuationBudget {
                moves: budget.moves.saturating_sub(sum.moves),
                bytes: budget.bytes.saturating_sub(sum.bytes),
                or_one_larger: budget.or_one_larger && sum.moves == 0,
            };
            let step = run.lock().step(left, time_left);
            sum.state = step.state;
            run.release(step.release);
            for planned in step.moves {
                let id = AllocationId::placed(run.heaps.desc.number, planned.source);
                let label = run.heaps.source.labels.get(id).unwrap_or_default();
                if label.backing.is_some() {
                    // A backing buffer, which no application can move.
                    run.abandon(&planned);
                    continue;
                }
                sum.moves += 1;
                sum.bytes = sum.bytes.saturating_add(planned.source_range.size());
                // Until it ends, as its holder has the memory.
                planned.target.heap.add_user();
                moves.push(Move {
                    run: run.clone(),
                    planned: Some(planned),
                    id,
                    label,
                    target: None,
                    recorded: None,
                });
            }
            let Some(size) = step.create else { return sum };
            let made = self.create_heap(&run.heaps, size);
            // A refusal is harmless: the planner only requests sizes that can be managed.
            let _refused = run.lock().supply(size, made);
            if !time_left() || sum.moves >= budget.moves {
                return sum;
            }
        }
    }

    /// Creates a heap for the contents of several sparsely used heaps.
    #[inline]
    fn create_heap(&self, heaps: &Arc<TypedHeaps>, size: ByteSize) -> Option<Arc<Heap>> {
        if size > heaps.source.max_heap_size || !heaps.desc.heap_size.is_zero() {
            // Not allowed: the pool's heaps have one size.
            return None;
        }
        // Defragmentation neither raises usage above the budget, not even for a while, nor evicts or waits; without
        // this heap it makes do with others.
        let source = &self.allocator.inner().heaps.source;
        if !source.may_prefetch(heaps.desc.segment_group, size, ResourceAllocationFlags::WITHIN_BUDGET) {
            return None;
        }
        self.allocator.inner().heaps.create_heap(heaps, size, ResourceAllocationFlags::empty()).ok()
    }

    /// Returns the results so far. O(heaps).
    #[must_use]
    #[inline]
    pub fn progress(&self) -> DefragmentationProgress {
        let mut progress = DefragmentationProgress::default();
        for run in self.runs.iter().chain(&self.finished) {
            progress.add(run.lock().progress());
        }
        progress
    }
}

impl Drop for Defragmentation {
    #[inline]
    fn drop(&mut self) {
        self.recorded = None;
        for run in &self.runs {
            // Moves in progress keep the evacuation alive.
            run.lock().cancel();
        }
    }
}

struct PlannedStep {
    moves: u32,
    bytes: ByteSize,
    state: EvacuationState,
}

/// A planned move of an allocation, and the target range that is reserved for it.
///
/// Carry it out in this order: [create the resource](Self::create_resource) at its new place, copy on the GPU, wait for
/// the copy, [complete](Self::complete) the move. Dropping it abandons the move: the target range is freed, and this
/// run no longer empties the heap.
#[must_use = "a move that is dropped is abandoned"]
pub struct Move {
    run: Run,
    /// `None` after completion.
    planned: Option<PlannedMove<Arc<Heap>>>,
    id: AllocationId,
    label: Label,
    /// Declared before the range, so that it is dropped first.
    target: Option<ID3D12Resource>,
    /// The move in the allocator's recording, until its end.
    recorded: Option<RecordedMove>,
}

impl Move {
    /// Returns the id of the allocation to move.
    #[must_use]
    #[inline]
    pub fn allocation(&self) -> AllocationId {
        self.id
    }

    /// Returns the application's value for the allocation when the move was planned; zero if none was set.
    #[must_use]
    #[inline]
    pub fn user_data(&self) -> u64 {
        self.label.user_data
    }

    /// Returns the debug name of the allocation when the move was planned.
    #[must_use]
    #[inline]
    pub fn debug_name(&self) -> Option<&str> {
        self.label.name.as_deref()
    }

    /// Returns the size of the allocation, in bytes.
    #[must_use]
    #[inline]
    pub fn size(&self) -> ByteSize {
        self.planned.as_ref().map_or(ByteSize::ZERO, |planned| planned.source_range.size())
    }

    /// Returns the target heap and the offset in it.
    #[must_use]
    #[inline]
    pub fn destination(&self) -> Option<(&ID3D12Heap, HeapOffset)> {
        let target = &self.planned.as_ref()?.target;
        Some((target.heap.d3d12(), target.range.start()))
    }

    /// Returns the memory of the target, for the residency list of the command list that copies. The memory of the
    /// source is the allocation's. `None` if the allocator has no residency manager.
    #[must_use]
    #[inline]
    pub fn destination_memory(&self) -> Option<&ResidencyHeap> {
        self.planned.as_ref()?.target.heap.residency()
    }

    /// Returns the [memory of the target](Self::destination_memory), kept alive.
    #[must_use]
    #[inline]
    pub fn destination_memory_reference(&self) -> Option<MemoryReference> {
        self.planned.as_ref()?.target.heap.residency_reference()
    }

    /// Creates the same resource at the new place, as the target of the GPU copy. Another call replaces it.
    ///
    /// Uses the resource's own `GetDesc`, which contains neither its state nor its clear value and castable formats.
    ///
    /// # Errors
    ///
    /// Invalid argument: `allocation` is not the one to move, or the allocator was dropped. Otherwise the device's
    /// error.
    #[inline]
    pub fn create_resource(
        &mut self,
        allocation: &ResourceAllocation,
        initial_state: InitialState,
        clear_value: Option<ClearValue>,
        castable_formats: &[DXGI_FORMAT],
    ) -> Result<&ID3D12Resource, Error> {
        let heaps = Arc::clone(&self.run.heaps);
        traced_creation(&heaps, move || {
            self.create_target(allocation, initial_state, clear_value, castable_formats)
        })
    }

    #[inline]
    fn create_target(
        &mut self,
        allocation: &ResourceAllocation,
        initial_state: InitialState,
        clear_value: Option<ClearValue>,
        castable_formats: &[DXGI_FORMAT],
    ) -> Result<&ID3D12Resource, Error> {
        self.check(allocation)?;
        // SAFETY: the resource is a live COM object.
        let mut desc = unsafe { allocation.resource().GetDesc() };
        if desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
            // `GetDesc` returns the actual alignment, which must not be requested together with the flag.
            desc.Alignment = 0;
        }
        let layout_guid = LayoutGuid::of(allocation.resource());
        let resource = ResourceDesc {
            layout_guid,
            initial_state,
            clear_value,
            castable_formats,
            ..ResourceDesc::new(&desc)
        };
        let Some(allocator) = Inner::of(&self.run.heaps.source) else {
            return Err(Error::invalid_argument("allocator", "all handles of the allocator were dropped"));
        };
        let devices = &allocator.heaps.source.devices;
        devices.check(&allocator.caps, &resource, (D3D12_HEAP_FLAG_NONE, ""))?;
        let Some(planned) = &self.planned else { return Err(ended()) };
        let (heap, offset) = (&*planned.target.heap, planned.target.range.start());
        let heap_type = self.run.heaps.desc.heap.Properties.Type;
        let made = create_placed(devices, heap_type, heap, offset, &resource, &desc);
        Ok(self.target.insert(made.map_err(Refused::into_error)?))
    }

    /// Creates a resource of the program's in the target range, for a move that
    /// [`complete_memory`](Self::complete_memory) completes.
    ///
    /// # Errors
    ///
    /// As [`MemoryAllocation::create_resource`].
    #[inline]
    pub fn place<'a>(
        &self,
        offset: HeapOffset,
        resource: impl Into<ResourceDesc<'a>>,
    ) -> Result<ID3D12Resource, Error> {
        let target = &self.planned.as_ref().ok_or_else(ended)?.target;
        traced_creation(&self.run.heaps, || {
            place(&self.run.heaps, &target.heap, target.range, offset, &resource.into(), None)
        })
    }

    /// Completes the move: `allocation` gets the new resource and range, and keeps its name and value. Its
    /// [id](ResourceAllocation::id) changes.
    ///
    /// The old resource is released and its range is freed: the GPU must have finished the copy and all other uses of
    /// it. Views of it must be recreated.
    ///
    /// # Errors
    ///
    /// Invalid argument: `allocation` is not the one to move, or no resource was created at the new place. The move is
    /// then abandoned.
    #[inline]
    pub fn complete(self, allocation: &mut ResourceAllocation) -> Result<(), Error> {
        let heaps = Arc::clone(&self.run.heaps);
        Recording::timed(heaps.source.recording.as_deref(), COMPLETE_MOVE, || self.complete_move(allocation))
    }

    #[inline]
    fn complete_move(mut self, allocation: &mut ResourceAllocation) -> Result<(), Error> {
        self.check(allocation)?;
        let Some(resource) = self.target.take() else {
            let rule = "no resource has been created at the new location";
            return Err(Error::invalid_argument("Move", rule));
        };
        self.finish(allocation, Some(resource))
    }

    /// Completes the move of memory: `allocation` gets the new range, at which the program has created its resources
    /// and to which it has copied their contents. Otherwise as [`complete`](Self::complete).
    ///
    /// # Errors
    ///
    /// Invalid argument: `allocation` is not the one to move. The move is then abandoned.
    #[inline]
    pub fn complete_memory(mut self, allocation: &mut MemoryAllocation) -> Result<(), Error> {
        let heaps = Arc::clone(&self.run.heaps);
        Recording::timed(heaps.source.recording.as_deref(), COMPLETE_MOVE, || {
            self.check(allocation.as_placed())?;
            self.target = None;
            self.finish(allocation.as_placed_mut(), None)
        })
    }

    fn finish(
        mut self,
        allocation: &mut ResourceAllocation,
        resource: Option<ID3D12Resource>,
    ) -> Result<(), Error> {
        let Some(planned) = self.planned.take() else { return Err(ended()) };
        let target = &planned.target;
        let placed = Placed { id: target.id, range: target.range, heap: NonNull::from(&*target.heap) };
        let asked = PlacementRequest::new(target.range.size(), allocation.alignment());
        let range = PlacedRange::new(Arc::clone(&self.run.heaps), &asked, placed);
        if let (Some(name), Some(resource)) = (allocation.debug_name(), &resource) {
            // A failure to set the name is no reason to abandon the move.
            let _refused = set_debug_name(resource, name);
        }
        if let Some(recorded) = self.recorded.take() {
            // Before the new place, which belongs to it.
            recorded.complete(allocation.recorded().map(|recorded| recorded.object.id()));
        }
        let Some((old_resource, old_range)) = allocation.exchange(resource, range) else {
            planned.target.heap.remove_user();
            return Err(ended());
        };
        planned.target.heap.remove_user();
        drop(old_resource);
        // The run frees the range, because it counts what is left in the heap.
        old_range.forget();
        let completed = self.run.lock().complete(&planned);
        debug_assert!(completed.is_moved, "the allocation must be live until the move is completed");
        self.run.release(completed.release);
        Ok(())
    }

    /// Returns whether [`complete`](Self::complete) can complete the move of an allocation.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn can_complete(&self, allocation: &ResourceAllocation) -> bool {
        self.target.is_some() && self.check(allocation).is_ok()
    }

    #[inline]
    fn check(&self, allocation: &ResourceAllocation) -> Result<(), Error> {
        if allocation.id() == self.id {
            return Ok(());
        }
        Err(Error::invalid_argument("allocation", "is not the allocation that this move belongs to"))
    }
}

#[inline]
fn ended() -> Error {
    Error::invalid_argument("Move", "was already completed or abandoned")
}

/// Creates a resource at the new place of a move, as a call of a recording.
#[inline]
fn traced_creation<T>(heaps: &TypedHeaps, create: impl FnOnce() -> T) -> T {
    let recording = heaps.source.recording.as_deref();
    Recording::traced(recording, "Defragmentation.CreateResource", String::new, create)
}

impl Drop for Move {
    #[inline]
    fn drop(&mut self) {
        // The resource is released before its range is freed.
        drop(self.target.take());
        if let Some(recorded) = self.recorded.take() {
            recorded.abandon();
        }
        if let Some(planned) = self.planned.take() {
            planned.target.heap.remove_user();
            self.run.abandon(&planned);
        }
    }
}

impl fmt::Debug for Move {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Move")
            .field("allocation", &self.id)
            .field("user_data", &self.user_data())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
