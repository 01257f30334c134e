//! Defragmentation: heaps that hold little are emptied, a few moves at a time.
//!
//! [`ResourceAllocator::defragment`] begins a run. Each step of it plans moves; the owner of a resource creates it anew at its new
//! place, copies the contents and completes the move.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heapwright_core::placement::{
    Evacuation, EvacuationBudget, EvacuationProgress, EvacuationState, PlannedMove, SharedHeapSet,
};
use heapwright_core::{ByteSize, HeapOffset};
use heapwright_d3d12::*;

use crate::allocator::{Inner, Pool, ResourceAllocation, ResourceAllocator};
use crate::desc::{ResourceDesc, SuballocationAlgorithm};
use crate::memory::{
    AllocationId, Heap, Label, PlacedRange, Refused, Sharing, TypedHeaps, check_interfaces, create_placed,
    place_resident, set_debug_name,
};
use crate::requirements::{Creation, RequestedResource};
use crate::residency::ResidencyHeap;
use crate::{Error, InitialState};

/// What is defragmented.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefragmentationDesc<'a> {
    /// One custom pool; `None`: all heaps of the allocator's own.
    pub pool: Option<&'a Pool>,
}

/// What a step may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefragmentationBudget {
    /// Moves at most. Default 64.
    pub moves: u32,
    /// Bytes of these moves together; a single move may be larger. Default 64 MiB.
    pub bytes: ByteSize,
    /// How long to plan; creating a heap, where one is wanted, comes on top. Default 500 µs.
    pub time: Duration,
}

impl Default for DefragmentationBudget {
    fn default() -> Self {
        let EvacuationBudget { moves, bytes, .. } = EvacuationBudget::default();
        Self { moves, bytes, time: Duration::from_micros(500) }
    }
}

/// Empties heaps that hold little, so that they can go back to the device.
///
/// A heap is the unit: those that free the most bytes for each byte that is moved come first, and one is only begun when what lives in
/// it finds room elsewhere, or a new heap as large as the rest of a few frees more than it costs. While it is being emptied nothing
/// new is placed there. The allocator can be used as ever meanwhile, by any thread.
///
/// Dropping it ends the run: heaps that are not empty yet take allocations again. Moves that are under way can still be completed.
/// It holds on to its allocator.
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
///     let buffer = allocator.create_resource(&desc, &buffer_desc(ByteSize::from_kib(32)), D3D12_RESOURCE_STATE_COMMON, None)?;
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
///         let target = planned.create_resource(buffer, InitialState::default(), None)?;
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
#[derive(Debug)]
pub struct Defragmentation {
    allocator: Arc<Inner>,
    is_of_pool: bool,
    /// One for each kind of heaps.
    runs: Vec<Run>,
    /// Those that are finished. Moves of theirs may be under way yet: of heaps that were given up.
    finished: Vec<Run>,
}

/// What a step came to.
#[derive(Debug)]
#[must_use = "moves that are dropped are abandoned"]
pub struct DefragmentationStep {
    /// To be carried out, and completed or abandoned; in any order, and while other steps go on.
    pub moves: Vec<Move>,
    /// What there is to do next.
    pub state: DefragmentationState,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefragmentationState {
    /// There is more to plan.
    Planning,
    /// Nothing can be planned before moves are completed or abandoned.
    AwaitingMoves,
    /// No heap is worth emptying any more.
    Finished,
}

/// What a run did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DefragmentationProgress {
    /// Moves that were completed.
    pub moves: u64,
    /// Their bytes.
    pub bytes_moved: ByteSize,
    /// Heaps that went back to the device.
    pub heaps_freed: u64,
    /// Their bytes.
    pub bytes_freed: ByteSize,
    /// Bytes of heaps that were created to take what several thin ones held.
    pub bytes_created: ByteSize,
}

type HeapEvacuation = Evacuation<DefaultSet, Arc<Heap>>;

#[derive(Debug, Clone)]
struct Run {
    heaps: Arc<TypedHeaps>,
    evacuation: Arc<Mutex<HeapEvacuation>>,
}

/// The heaps of an engine with the default algorithm.
struct DefaultSet(Arc<TypedHeaps>);

impl Deref for DefaultSet {
    type Target = SharedHeapSet<Arc<Heap>>;

    fn deref(&self) -> &Self::Target {
        // Whoever makes one has checked it.
        self.0.shared().as_default().expect("the algorithm is the default one")
    }
}

impl Run {
    fn new(heaps: &Arc<TypedHeaps>) -> Option<Self> {
        heaps.shared().as_default()?;
        let set = DefaultSet(Arc::clone(heaps));
        let evacuation = Evacuation::new(set).keep_heaps(heaps.desc.min_heap_count);
        Some(Self { heaps: Arc::clone(heaps), evacuation: Arc::new(Mutex::new(evacuation)) })
    }

    fn lock(&self) -> LockedRun<'_> {
        let evacuation = self.evacuation.lock().unwrap_or_else(PoisonError::into_inner);
        LockedRun { evacuation, heaps: &self.heaps }
    }

    fn abandon(&self, planned: &PlannedMove<Arc<Heap>>) {
        let release = self.lock().abandon(planned);
        self.release(release);
    }

    /// Gives heaps back to the device, unless a pool is to have them. No lock may be held.
    fn release(&self, heaps: Vec<Arc<Heap>>) {
        for heap in heaps {
            if self.heaps.is_needed(&heap) {
                // Refused only when there are as many heaps as can be numbered; the heap goes back to the device then.
                let _refused = self.heaps.insert_empty(heap);
            }
        }
    }
}

impl DefragmentationProgress {
    fn add(&mut self, progress: &EvacuationProgress) {
        self.moves += progress.completed_moves;
        self.bytes_moved = self.bytes_moved.saturating_add(progress.completed_bytes);
        self.heaps_freed += progress.freed_heaps;
        self.bytes_freed = self.bytes_freed.saturating_add(progress.freed_bytes);
        self.bytes_created = self.bytes_created.saturating_add(progress.supplied_bytes);
    }
}

impl ResourceAllocator {
    /// Begins a defragmentation. Nothing happens before its first [step](Defragmentation::step). O(heap types).
    ///
    /// Several may run at the same time, over the same heaps too; they share the work by chance then. When one of them abandons a
    /// move, another may plan a move of an allocation that the first one moves already; whichever is completed last is refused.
    ///
    /// # Errors
    ///
    /// Unsupported: heaps whose algorithm is not [`Default`](crate::SuballocationAlgorithm::Default). Invalid argument: the pool of
    /// another allocator.
    pub fn defragment(&self, desc: DefragmentationDesc<'_>) -> Result<Defragmentation, Error> {
        let inner = self.inner();
        let runs: Vec<Run> = match desc.pool {
            Some(pool) if !pool.is_of(&inner.heaps.source) => {
                let rule = format!("pool \"{}\" belongs to another allocator", pool.name());
                return Err(Error::invalid_argument("DefragmentationDesc::pool", rule));
            }
            Some(pool) => Run::new(&pool.heaps).into_iter().collect(),
            // Those of the allocator's own heaps join with the first step.
            None => Vec::new(),
        };
        let is_of_pool = desc.pool.is_some();
        let is_default = inner.desc().suballocation_algorithm == SuballocationAlgorithm::Default;
        let is_supported = if is_of_pool { !runs.is_empty() } else { is_default };
        if !is_supported {
            return Err(Error::unsupported(
                "defragmentation of heaps with another than the default algorithm",
            ));
        }
        Ok(Defragmentation { allocator: Arc::clone(inner), is_of_pool, runs, finished: Vec::new() })
    }
}

impl Defragmentation {
    /// Plans moves within a budget, and gives heaps that are empty by now back to the device.
    ///
    /// Targets are held from here on; the moves are the caller's to carry out. Cost: bounded by the budget, and by a few
    /// nanoseconds for each heap.
    pub fn step(&mut self, budget: DefragmentationBudget) -> DefragmentationStep {
        let begin = Instant::now();
        self.add_new_kinds();
        let mut time_left = || begin.elapsed() < budget.time;
        let mut step = DefragmentationStep { moves: Vec::new(), state: DefragmentationState::Finished };
        let (mut moves, mut bytes) = (budget.moves, budget.bytes);
        let mut finished = Vec::new();
        for (place, run) in self.runs.iter().enumerate() {
            let budget = EvacuationBudget { moves, bytes, or_one_larger: step.moves.is_empty() };
            let planned = self.step_run(run, budget, &mut time_left, &mut step.moves);
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

    /// Heaps of a kind are there from their first use on, which may be later than the beginning.
    fn add_new_kinds(&mut self) {
        if self.is_of_pool {
            return;
        }
        for heaps in self.allocator.heaps.own() {
            let is_known = |run: &Run| run.heaps.desc.number == heaps.desc.number;
            if !self.runs.iter().chain(&self.finished).any(is_known) {
                self.runs.extend(Run::new(heaps));
            }
        }
    }

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
                let id = AllocationId::placed(run.heaps.desc.number, false, planned.source);
                let label = run.heaps.labels.get(id).unwrap_or_default();
                if label.backing.is_some() {
                    // A buffer that others are parts of: nobody could move it.
                    run.abandon(&planned);
                    continue;
                }
                sum.moves += 1;
                sum.bytes = sum.bytes.saturating_add(planned.source_range.size());
                moves.push(Move { run: run.clone(), planned: Some(planned), id, label, target: None });
            }
            let Some(size) = step.create else { return sum };
            let made = self.create_heap(&run.heaps, size);
            // A size that cannot be managed was not asked for.
            let _refused = run.lock().supply(size, made);
            if !time_left() || sum.moves >= budget.moves {
                return sum;
            }
        }
    }

    /// A heap for what several thin ones hold.
    fn create_heap(&self, heaps: &Arc<TypedHeaps>, size: ByteSize) -> Option<Arc<Heap>> {
        if size > heaps.desc.max_heap_size || !heaps.desc.heap_size.is_zero() {
            // There may be none of this size: the heaps of the pool have one size alone.
            return None;
        }
        let constraints = self.allocator.heaps.source.own_constraints();
        self.allocator.heaps.create_heap(heaps, size, constraints).ok()
    }

    /// What was done so far. O(heaps).
    #[must_use]
    pub fn progress(&self) -> DefragmentationProgress {
        let mut progress = DefragmentationProgress::default();
        for run in self.runs.iter().chain(&self.finished) {
            progress.add(&run.lock().progress());
        }
        progress
    }
}

impl Drop for Defragmentation {
    fn drop(&mut self) {
        for run in &self.runs {
            // Moves that are under way hold on to it.
            run.lock().cancel();
        }
    }
}

/// An evacuation, whose calls change what the heaps hold.
struct LockedRun<'a> {
    evacuation: MutexGuard<'a, HeapEvacuation>,
    heaps: &'a TypedHeaps,
}

impl Deref for LockedRun<'_> {
    type Target = HeapEvacuation;

    fn deref(&self) -> &HeapEvacuation {
        &self.evacuation
    }
}

impl DerefMut for LockedRun<'_> {
    fn deref_mut(&mut self) -> &mut HeapEvacuation {
        &mut self.evacuation
    }
}

impl Drop for LockedRun<'_> {
    fn drop(&mut self) {
        self.heaps.note_change();
    }
}

struct PlannedStep {
    moves: u32,
    bytes: ByteSize,
    state: EvacuationState,
}

/// An allocation that should be somewhere else, and the place that is held for it.
///
/// Carry it out in this order: [create the resource](Self::create_resource) at its new place, have the GPU copy, wait for that,
/// [complete](Self::complete) it. Dropping it abandons it: the place is free again, and the heap is left alone by this run.
#[must_use = "a move that is dropped is abandoned"]
pub struct Move {
    run: Run,
    /// `None` once it is completed.
    planned: Option<PlannedMove<Arc<Heap>>>,
    id: AllocationId,
    label: Label,
    /// Before the place: dropped first.
    target: Option<ID3D12Resource>,
}

impl Move {
    /// The allocation that is to move.
    #[must_use]
    pub fn allocation(&self) -> AllocationId {
        self.id
    }

    /// Its owner's number for it when the move was planned; zero if there was none.
    #[must_use]
    pub fn user_data(&self) -> u64 {
        self.label.user_data
    }

    /// Its debug name when the move was planned, if it had one.
    #[must_use]
    pub fn debug_name(&self) -> Option<&str> {
        self.label.name.as_deref()
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        self.planned.as_ref().map_or(ByteSize::ZERO, |planned| planned.source_range.size())
    }

    /// The heap that it goes to, and where in it.
    #[must_use]
    pub fn destination(&self) -> Option<(&ID3D12Heap, HeapOffset)> {
        let target = &self.planned.as_ref()?.target;
        Some((target.heap.d3d12(), target.range.start()))
    }

    /// The memory that it goes to, for the residency list of the command list that copies: the old place's is that of the allocation.
    /// `None` if the allocator has no residency manager.
    #[must_use]
    pub fn destination_memory(&self) -> Option<&ResidencyHeap> {
        self.planned.as_ref()?.target.heap.residency()
    }

    /// Creates the same resource at the new place, for the GPU to copy to. Another call replaces it.
    ///
    /// The description is the one that the resource tells of itself. Castable formats it does not tell; give them, if there are
    /// any, with [`create_resource_as`](Self::create_resource_as).
    ///
    /// # Errors
    ///
    /// Invalid argument: `allocation` is not the one that is to move. Whatever the device answers.
    pub fn create_resource(
        &mut self,
        allocation: &ResourceAllocation,
        initial_state: InitialState,
        clear_value: Option<&D3D12_CLEAR_VALUE>,
    ) -> Result<&ID3D12Resource, Error> {
        self.check(allocation)?;
        // SAFETY: the resource is a live COM object.
        let desc = unsafe { allocation.resource().GetDesc() };
        let mut resource = ResourceDesc::new(&desc);
        resource.initial_state = initial_state;
        resource.clear_value = clear_value.copied();
        if resource.desc.Flags & D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT != 0 {
            // What is told is what was found, and beside the flag no alignment may be asked for.
            resource.desc.Alignment = 0;
        }
        let allocator = self.allocator()?;
        self.create_placed(&allocator, &resource, &resource.desc)
    }

    /// As [`create_resource`](Self::create_resource), with a description that takes no more than the old one. Tight alignment is
    /// added where that is legal.
    ///
    /// # Errors
    ///
    /// As there; invalid argument, too, for a resource that does not fit in the place that is held, and what
    /// [`create`](ResourceAllocator::create) says of a description.
    pub fn create_resource_as(
        &mut self,
        allocation: &ResourceAllocation,
        resource: &ResourceDesc<'_>,
    ) -> Result<&ID3D12Resource, Error> {
        self.check(allocation)?;
        let allocator = self.allocator()?;
        check_interfaces(&allocator.heaps.source.devices, &allocator.caps, resource)?;
        let ResourceDesc { desc, castable_formats, sampler_feedback_mip_region: mip_region, .. } = *resource;
        let requested = RequestedResource { mip_region, castable_formats, ..RequestedResource::new(desc) };
        let requirements = allocator.requirements.requirements(&requested, Creation::Placed)?;
        let Some(planned) = &self.planned else { return Err(ended()) };
        let (place, alignment) = (planned.target.range, requirements.alignment);
        if requirements.size > place.size() || !place.start().get().is_multiple_of(alignment.get()) {
            let rule = format!(
                "{} at a multiple of {} B do not fit in the {} at {} that are held",
                requirements.size,
                alignment.get(),
                place.size(),
                place.start().get(),
            );
            return Err(Error::invalid_argument("resource", rule));
        }
        self.create_placed(&allocator, resource, &requirements.desc)
    }

    fn allocator(&self) -> Result<Arc<Inner>, Error> {
        let allocator = Inner::of(&self.run.heaps.source);
        allocator.ok_or_else(|| Error::invalid_argument("allocator", "its last handle was dropped"))
    }

    fn create_placed(
        &mut self,
        allocator: &Inner,
        resource: &ResourceDesc<'_>,
        desc: &D3D12_RESOURCE_DESC,
    ) -> Result<&ID3D12Resource, Error> {
        let Some(planned) = &self.planned else { return Err(ended()) };
        let heap = &*planned.target.heap;
        let offset = planned.target.range.start();
        let heap_type = self.run.heaps.desc.heap.Properties.Type;
        let made = place_resident(heap, || {
            create_placed(&allocator.heaps.source.devices, heap_type, heap.d3d12(), offset, resource, desc)
        });
        let made = made.map_err(Refused::into_error)?;
        Ok(self.target.insert(made))
    }

    /// Ends the move: `allocation` has the new resource and the new place from here on, with its name and number; its
    /// [id](ResourceAllocation::id) is another one.
    ///
    /// The old resource is released and its place is free: the GPU must be done with the copy, and with whatever else uses it.
    /// Views of it must be made anew.
    ///
    /// # Errors
    ///
    /// Invalid argument: another allocation than the one that is to move, or no resource was created at the new place. The
    /// move is abandoned then.
    pub fn complete(mut self, allocation: &mut ResourceAllocation) -> Result<(), Error> {
        self.check(allocation)?;
        let Some(planned) = self.planned.take() else { return Err(ended()) };
        let Some(resource) = self.target.take() else {
            self.planned = Some(planned);
            let rule = "no resource was created at the new place";
            return Err(Error::invalid_argument("Move", rule));
        };
        let alignment = allocation.alignment();
        let range =
            PlacedRange::new(Arc::clone(&self.run.heaps), Sharing::Shared, planned.target.clone(), alignment);
        if let Some(name) = allocation.debug_name() {
            // A name that the device does not take is no reason to lose the move.
            let _refused = set_debug_name(&resource, name);
        }
        let Some((old_resource, old_range)) = allocation.exchange(resource, range) else {
            return Err(ended());
        };
        drop(old_resource);
        // The run frees the place, as it keeps count of what is left in the heap.
        old_range.forget();
        let completed = self.run.lock().complete(&planned);
        debug_assert!(completed.is_moved, "the allocation was live until now");
        self.run.release(completed.release);
        Ok(())
    }

    fn check(&self, allocation: &ResourceAllocation) -> Result<(), Error> {
        if allocation.id() == self.id {
            return Ok(());
        }
        Err(Error::invalid_argument("allocation", "is not the one that is to move"))
    }
}

fn ended() -> Error {
    Error::invalid_argument("Move", "has ended")
}

impl Drop for Move {
    fn drop(&mut self) {
        // The resource before the place that it is at.
        drop(self.target.take());
        if let Some(planned) = self.planned.take() {
            self.run.abandon(&planned);
        }
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Move")
            .field("allocation", &self.id)
            .field("user_data", &self.user_data())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
