//! The tracker of a device: the interface through which the runtime reports events in their order.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;

use super::access::{Access, Kind, ResourcePart, of_command};
use super::content::{Cause, Content};
use super::ids::ResourceId;
use super::judge::{Judge, Step, TrackingOptions};
use super::laws::AliasingLaws;
use super::note::RecordedCall;
use super::options::{AliasingTracking, UsageModel};
use super::resource::{Identity, Label, TrackedHome, TrackedResource};
use super::runs::Runs;
use super::shape::Shape;
use super::state::BarrierState;
use super::submission::Submission;
use super::usage::Usage;
use super::violation::{Place, Severity, Violation};
use crate::ddi::{ResourceAllocation, ResourceArgs};
use crate::debug::MessageLog;
use crate::drivers::command::{Command, Question};
use crate::drivers::heap::DriverHeap;
use crate::drivers::resource::DriverResource;
use crate::drivers::tiles::TileMapping;
use crate::fence::clock::{CPU, Clock};
use crate::fence::{Fence, FenceWait};
use crate::rules::creation::Home;
use crate::rules::initial::Initial;

/// Maximum number of violations kept; later ones are only counted and logged.
const MAX_VIOLATIONS: usize = 4096;

/// Tracks the validity of the contents of a device's resources, while it is on.
pub(crate) struct AliasingTracker {
    is_on: AtomicBool,
    last_agent: AtomicU32,
    has_standard_swizzle: bool,
    log: Arc<MessageLog>,
    state: Mutex<State>,
    /// Locked after `state`. Held only for short, unlike `state`, so that a thread that polls a fence delays no queue.
    cpu: Mutex<CpuOrder>,
}

#[derive(Default)]
struct State {
    tracking: Option<AliasingTracking>,
    judge: Option<Judge>,
    violations: Vec<Violation>,
    count: u64,
    /// Disabled laws, for deliberately wrong devices.
    #[cfg(feature = "mutation")]
    forgotten: AliasingLaws,
}

/// The events that happened before the next call of the CPU.
#[derive(Default)]
struct CpuOrder {
    clock: Clock,
    /// Fence waits that were not released yet when the clock was last read.
    awaited: Vec<Arc<FenceWait>>,
}

/// A resource that was created.
pub(crate) struct CreatedResource<'a> {
    pub(crate) driver: &'a Arc<DriverResource>,
    pub(crate) args: &'a ResourceArgs,
    pub(crate) allocation: ResourceAllocation,
    pub(crate) identity: Identity,
    pub(crate) label: &'a Arc<Label>,
    pub(crate) home: Home<'a>,
    /// The name of the heap that a placed resource is in.
    pub(crate) heap_label: Option<Arc<Label>>,
    pub(crate) state: Initial,
}

/// A submitted list, as needed by the tracker.
#[derive(Clone)]
pub(crate) struct SubmittedList {
    pub(crate) commands: Arc<[Command]>,
    /// `None` if the list was recorded while the tracker was off.
    pub(crate) calls: Option<Arc<[RecordedCall]>>,
}

impl AliasingTracker {
    pub(crate) fn new(log: &Arc<MessageLog>, has_standard_swizzle: bool) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            last_agent: AtomicU32::new(CPU),
            has_standard_swizzle,
            log: Arc::clone(log),
            state: Mutex::default(),
            cpu: Mutex::default(),
        }
    }

    /// Returns whether tracking is on. Costs one relaxed load, the only cost while it is off.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Starts tracking, changes its options, or stops it. A change of options keeps the state of resources.
    pub(crate) fn set(&self, tracking: Option<AliasingTracking>) {
        let mut state = self.lock();
        state.tracking = tracking;
        state.violations.clear();
        state.count = 0;
        match tracking {
            None => {
                state.judge = None;
                *self.cpu() = CpuOrder::default();
            }
            Some(tracking) => {
                let laws = AliasingLaws::of(tracking.strictness);
                #[cfg(feature = "mutation")]
                let laws = laws.difference(state.forgotten);
                let options = TrackingOptions {
                    is_simple: tracking.model == UsageModel::Simple,
                    laws,
                    scramble: tracking.scramble_seed,
                };
                match &mut state.judge {
                    Some(judge) => judge.options = options,
                    None => state.judge = Some(Judge::new(options, self.has_standard_swizzle)),
                }
            }
        }
        self.is_on.store(tracking.is_some(), Ordering::Relaxed);
    }

    pub(crate) fn tracking(&self) -> Option<AliasingTracking> {
        self.lock().tracking
    }

    /// Disables a law from the next [`set`](Self::set) on. Returns whether the law exists.
    #[cfg(feature = "mutation")]
    pub(crate) fn forget(&self, law: &str) -> bool {
        let law = AliasingLaws::from_name(law);
        self.lock().forgotten |= law.unwrap_or_default();
        law.is_some()
    }

    /// Returns the agent number of a new queue.
    pub(crate) fn add_queue(&self) -> u32 {
        self.last_agent.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the violations that are kept.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    pub(crate) fn violation_count(&self) -> u64 {
        self.lock().count
    }

    pub(crate) fn violation(&self, index: u64) -> Option<Violation> {
        self.lock().violations.get(usize::try_from(index).ok()?).cloned()
    }

    pub(crate) fn clear_violations(&self) {
        let mut state = self.lock();
        state.violations.clear();
        state.count = 0;
    }

    /// Checks the consistency of the state. O(size of the state).
    ///
    /// # Errors
    ///
    /// A description of the inconsistency.
    #[cfg(debug_assertions)]
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.lock().judge.as_ref().map_or(Ok(()), Judge::audit)
    }

    /// Returns the number of parts of resources that draws and dispatches were found to write.
    #[cfg(test)]
    pub(super) fn visits(&self) -> u64 {
        self.lock().judge.as_ref().map_or(0, |judge| judge.visits)
    }

    /// Returns the numbers of known resources and heaps.
    #[cfg(test)]
    pub(super) fn known(&self) -> (usize, usize) {
        let state = self.lock();
        state.judge.as_ref().map_or((0, 0), |judge| (judge.known().count(), judge.known_heaps().count()))
    }

    /// Returns the state of the contents of a unit.
    pub(crate) fn contents(
        &self,
        resource: &Arc<DriverResource>,
        unit: u32,
    ) -> Option<HEAPWRIGHT_ALIASING_CONTENTS> {
        let state = self.lock();
        let judge = state.judge.as_ref()?;
        Some(judge.foresee(judge.id_of(resource)?, unit)?.summary())
    }

    /// Reports the creation of a heap.
    pub(crate) fn heap_created(&self, heap: &Arc<DriverHeap>, label: &Arc<Label>, flags: D3D12_HEAP_FLAGS) {
        self.judge("CreateHeap", |judge| {
            judge.heap(heap, label, Some(flags));
        });
    }

    /// Reports the creation of a resource.
    pub(crate) fn resource_created(&self, created: CreatedResource<'_>) {
        self.judge("CreateResource", |judge| {
            // A shared resource is opened as often as the application asks.
            if judge.id_of_live(&Arc::downgrade(created.driver)).is_some() {
                return;
            }
            let shape = Shape::new(created.args, created.allocation);
            let undefined = |zeroed| Content::undefined(Cause::Created { zeroed });
            let not_zeroed = D3D12_HEAP_FLAG_CREATE_NOT_ZEROED;
            let (home, content, is_owned) = match created.home {
                Home::Committed { flags, .. } => {
                    let content = if flags & not_zeroed == 0 { Content::valid() } else { undefined(false) };
                    (TrackedHome::Committed, content, true)
                }
                Home::Placed { heap, memory, offset, .. } => {
                    let label = created.heap_label.unwrap_or_default();
                    let heap = judge.heap(memory, &label, Some(heap.Flags));
                    let is_zeroed = judge.heap_of(heap).is_none_or(|heap| heap.is_zeroed);
                    let content = if memory.has_contents() { Content::valid() } else { undefined(is_zeroed) };
                    (TrackedHome::Placed { heap, offset }, content, false)
                }
                // Tiles without memory read as zero.
                Home::Reserved => {
                    (TrackedHome::Reserved(Runs::new(shape.place_count(), None)), Content::valid(), true)
                }
            };
            let state = match created.state {
                Initial::State(state) => BarrierState::legacy(state),
                // Buffers have no layout.
                Initial::Layout(_) if shape.is_buffer() => BarrierState::COMMON,
                Initial::Layout(layout) => BarrierState::Layout(layout),
            };
            judge.add(created.driver, |id| TrackedResource {
                id,
                driver: Arc::downgrade(created.driver),
                label: Arc::clone(created.label),
                identity: created.identity,
                content: Runs::new(shape.unit_count(), content),
                owned: Runs::new(shape.place_count(), is_owned),
                state: Runs::new(shape.subresource_count(), state),
                no_access: Runs::new(shape.subresource_count(), false),
                touches: Runs::new(shape.place_count().max(1), Vec::new()),
                shape,
                home,
                was_activated: false,
                needs_initialisation: false,
                came_from_undefined: false,
                last_seen: None,
                ended_in: None,
                map_count: 0,
                use_count: 0,
                used_after: 0,
                changed: 0,
                address: created.driver.gpu_virtual_address().get(),
            });
        });
    }

    /// Returns the callback that a queue executes in place of lists: it judges their commands and returns them.
    pub(crate) fn execute(
        self: &Arc<Self>,
        agent: u32,
        on_copy_queue: bool,
        lists: Vec<SubmittedList>,
    ) -> Question {
        let known = self.known_to_cpu();
        let this = Arc::clone(self);
        Question::new(move || {
            let judged = this.judge("ExecuteCommandLists", |judge| {
                judge.clock(agent).join(&known);
                execute(judge, agent, on_copy_queue, &lists)
            });
            judged.unwrap_or_else(|| lists.iter().flat_map(|list| list.commands.iter().cloned()).collect())
        })
    }

    /// Returns the callback that a queue executes before it signals a fence.
    pub(crate) fn before_signal(self: &Arc<Self>, agent: u32, fence: &Arc<Fence>, value: u64) -> Question {
        let (known, fence) = (self.known_to_cpu(), Arc::clone(fence));
        self.ask("Signal", move |judge| {
            judge.clock(agent).join(&known);
            fence.history().signalled(value, judge.clock(agent));
        })
    }

    /// Returns the callback that a queue executes after it has waited for a fence.
    pub(crate) fn after_wait(self: &Arc<Self>, agent: u32, wait: &Arc<FenceWait>) -> Question {
        let wait = Arc::clone(wait);
        self.ask("Wait", move |judge| {
            if let Some(clock) = wait.clock() {
                judge.clock(agent).join(&clock);
            }
        })
    }

    /// Returns the callback that a queue executes before it changes tile mappings.
    pub(crate) fn update_mappings(
        self: &Arc<Self>,
        resource: &Arc<DriverResource>,
        mappings: &[TileMapping],
    ) -> Question {
        let (resource, mappings) = (Arc::clone(resource), mappings.to_vec());
        self.ask("UpdateTileMappings", move |judge| {
            if let Some(id) = judge.id_of(&resource) {
                judge.update_mappings(id, &mappings);
            }
        })
    }

    /// Like [`update_mappings`](Self::update_mappings), for a copy of mappings.
    pub(crate) fn copy_mappings(
        self: &Arc<Self>,
        target: &(Arc<DriverResource>, Vec<u32>),
        source: &(Arc<DriverResource>, Vec<u32>),
    ) -> Question {
        let (target, source) = (target.clone(), source.clone());
        self.ask("CopyTileMappings", move |judge| {
            if let (Some(to), Some(from)) = (judge.id_of(&target.0), judge.id_of(&source.0)) {
                judge.copy_mappings((to, &target.1), (from, &source.1));
            }
        })
    }

    /// Returns a callback that adds no commands.
    fn ask(
        self: &Arc<Self>,
        name: &'static str,
        body: impl Fn(&mut Judge) + Send + Sync + 'static,
    ) -> Question {
        let this = Arc::clone(self);
        Question::new(move || {
            this.judge(name, &body);
            Vec::new()
        })
    }

    /// Reports that the CPU is about to signal a fence.
    pub(crate) fn cpu_signals(&self, fence: &Fence, value: u64) {
        if self.is_on() {
            let known = self.known_to_cpu();
            fence.history().signalled(value, &known);
        }
    }

    /// Reports that the CPU has seen a value of a fence.
    pub(crate) fn cpu_saw(&self, fence: &Fence, value: u64) {
        if self.is_on() {
            if let Some(clock) = fence.history().reached(value) {
                self.cpu().clock.join(clock);
            }
        }
    }

    /// Returns the argument of [`cpu_awaits`](Self::cpu_awaits), before the CPU waits for a fence; `None` while
    /// tracking is off.
    pub(crate) fn cpu_wait(&self, fence: &Fence, value: u64) -> Option<Arc<FenceWait>> {
        self.is_on().then(|| fence.begin_wait(value))
    }

    /// Same as [`cpu_wait`](Self::cpu_wait), for a wait for all of `fences`, or for `any` of them.
    pub(crate) fn cpu_wait_for_several(
        &self,
        fences: &[(Arc<Fence>, u64)],
        any: bool,
    ) -> Vec<Arc<FenceWait>> {
        let fences = || fences.iter().map(|(fence, value)| (&**fence, *value));
        match (self.is_on(), any) {
            (false, _) => Vec::new(),
            (true, true) => vec![FenceWait::for_any(fences())],
            (true, false) => fences().map(|(fence, value)| fence.begin_wait(value)).collect(),
        }
    }

    /// Reports fence waits of the CPU. When they are released, the CPU's clock advances.
    pub(crate) fn cpu_awaits(&self, waits: impl IntoIterator<Item = Arc<FenceWait>>) {
        if self.is_on() {
            self.cpu().awaited.extend(waits);
        }
    }

    /// Reports that the CPU reads or writes a part of a resource.
    pub(crate) fn cpu_accesses(
        &self,
        name: &'static str,
        resource: &Arc<DriverResource>,
        part: ResourcePart<'_>,
        is_read: bool,
    ) {
        self.judge(name, |judge| {
            let Some(id) = judge.id_of(resource) else { return };
            let Some(shape) = judge.resource(id).map(|resource| resource.shape.clone()) else { return };
            let (pieces, subresources) = part.pieces(&shape);
            let mut cpu = self.cpu();
            let epoch = cpu.up_to_date().advance(CPU);
            judge.clock(CPU).join(&cpu.clock);
            drop(cpu);
            let mut submission = Submission::new(epoch, false);
            submission.place = Place { list: None, call: 0, name };
            submission.next_step();
            let kind = if is_read { Kind::Read } else { Kind::Initialise };
            let usage = Usage { pieces, subresources, kind, sync: 0, state: 0 };
            // Undefined bytes are not overwritten for an access by the CPU, as no queue executes the commands.
            let mut commands = Vec::new();
            let mut step = Step { submission: &mut submission, commands: &mut commands };
            judge.use_resource(&mut step, id, &usage);
        });
    }

    /// Reports that the CPU maps or unmaps a resource.
    pub(crate) fn cpu_maps(&self, resource: &Arc<DriverResource>, is_mapped: bool) {
        self.judge("Map", |judge| {
            if let Some(resource) = judge.id_of(resource).and_then(|id| judge.resource_mut(id)) {
                let count = resource.map_count;
                resource.map_count =
                    if is_mapped { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        });
    }

    /// Returns the CPU's clock.
    fn known_to_cpu(&self) -> Clock {
        self.cpu().up_to_date().clone()
    }

    /// Runs `body` under the lock, if tracking is on, and then reports violations outside of the lock.
    fn judge<T>(&self, name: &'static str, body: impl FnOnce(&mut Judge) -> T) -> Option<T> {
        if !self.is_on() {
            return None;
        }
        let (result, found) = {
            let mut state = self.lock();
            let judge = state.judge.as_mut()?;
            let result = body(judge);
            let found = std::mem::take(&mut judge.found);
            state.count += found.len() as u64;
            let room = MAX_VIOLATIONS.saturating_sub(state.violations.len());
            state.violations.extend(found.iter().take(room).cloned());
            (result, found)
        };
        for violation in found {
            self.tell(name, &violation);
        }
        Some(result)
    }

    fn tell(&self, name: &'static str, violation: &Violation) {
        let severity = match violation.severity {
            Severity::Error => D3D12_MESSAGE_SEVERITY_ERROR,
            Severity::Warning => D3D12_MESSAGE_SEVERITY_WARNING,
            Severity::Info => D3D12_MESSAGE_SEVERITY_INFO,
        };
        self.log.report(name, severity, D3D12_MESSAGE_ID_UNKNOWN, violation);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cpu(&self) -> MutexGuard<'_, CpuOrder> {
        self.cpu.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CpuOrder {
    /// Returns the clock, after waits that were released are added to it.
    fn up_to_date(&mut self) -> &mut Clock {
        self.awaited.retain(|wait| {
            let is_released = wait.is_released();
            if let Some(clock) = wait.clock() {
                self.clock.join(&clock);
            }
            !is_released
        });
        &mut self.clock
    }
}

/// Judges the lists of a submission. Returns their commands, with commands that overwrite undefined bytes in between.
fn execute(judge: &mut Judge, agent: u32, on_copy_queue: bool, lists: &[SubmittedList]) -> Vec<Command> {
    let epoch = judge.clock(agent).advance(agent);
    let mut submission = Submission::new(epoch, on_copy_queue);
    let mut commands = Vec::with_capacity(lists.iter().map(|list| list.commands.len()).sum());
    for (number, list) in (0..).zip(lists) {
        let Some(calls) = &list.calls else {
            commands.extend(list.commands.iter().cloned());
            continue;
        };
        for (index, call) in (0..).zip(calls.iter()) {
            submission.place = Place { list: Some(number), call: index, name: call.name };
            let mut step = Step { submission: &mut submission, commands: &mut commands };
            judge.note_all(&mut step, &call.notes);
            let end = usize::try_from(index)
                .ok()
                .and_then(|index| calls.get(index + 1))
                .map_or(list.commands.len(), |next| next.first_command);
            for command in list.commands.get(call.first_command..end).unwrap_or_default() {
                perform(judge, &mut submission, &mut commands, command, call.name);
            }
        }
    }
    decay(judge, &mut submission);
    commands
}

fn perform(
    judge: &mut Judge,
    submission: &mut Submission,
    commands: &mut Vec<Command>,
    command: &Command,
    call: &str,
) {
    submission.next_step();
    let milder = judge.has(AliasingLaws::UNORDERED_CLEARS_INITIALISE);
    for access in of_command(command, call, milder) {
        let Some((id, usage)) = resolve(judge, &access) else { continue };
        judge.use_resource(&mut Step { submission, commands }, id, &usage);
    }
    if let Command::WriteImmediate { address, .. } = command {
        if let Some((id, offset)) = judge.buffer_at(*address) {
            if let Some(resource) = judge.resource(id) {
                let pieces = resource.shape.bytes(offset, 4);
                let (kind, sync) = (Kind::Write, D3D12_BARRIER_SYNC_COPY);
                let usage = Usage { pieces, subresources: 0..1, kind, sync, state: 0 };
                judge.use_resource(&mut Step { submission, commands }, id, &usage);
            }
        }
    }
    commands.push(command.clone());
}

fn resolve(judge: &Judge, access: &Access<'_>) -> Option<(ResourceId, Usage)> {
    let id = judge.id_of(access.resource)?;
    let shape = &judge.resource(id)?.shape;
    let (pieces, subresources) = access.part.pieces(shape);
    Some((id, Usage { pieces, subresources, kind: access.kind, sync: access.sync, state: access.state }))
}

/// Lets promoted states decay to COMMON.
fn decay(judge: &mut Judge, submission: &mut Submission) {
    let mut promoted = std::mem::take(&mut submission.promoted);
    promoted.sort_unstable();
    promoted.dedup();
    for id in promoted {
        if let Some(resource) = judge.resource_mut(id) {
            resource.state.update(0..u32::MAX, |state| *state = state.decayed(submission.on_copy_queue));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aliasing::options::Strictness;

    /// A call that needed the lock would wait for this thread.
    #[test]
    fn fences_do_not_wait_for_a_submission_that_is_judged() {
        let tracker = Arc::new(AliasingTracker::new(&Arc::new(MessageLog::new(false)), true));
        let (model, strictness) = (UsageModel::Advanced, Strictness::Documented);
        tracker.set(Some(AliasingTracking { model, strictness, scramble_seed: None }));
        let fence = Arc::new(Fence::new(0));
        drop(tracker.before_signal(1, &fence, 1).ask());
        fence.set(1);
        let judging = tracker.lock();
        tracker.cpu_saw(&fence, 1);
        tracker.cpu_awaits(tracker.cpu_wait(&fence, 2));
        tracker.cpu_signals(&fence, 2);
        drop(judging);
    }
}
