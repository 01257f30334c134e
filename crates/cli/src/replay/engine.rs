//! Replay of one trace: makes the calls and measures them, without printing.

use std::time::Duration;

use heapwright::d3d12::{D3D12_RESOURCE_DIMENSION_UNKNOWN, IDXGIAdapter3};
use heapwright::{
    Alignment, ByteSize, Error, GpuVirtualAddress, InitialState, MemoryAllocation, ResourceAllocation,
    ResourceAllocationDesc, ResourceAllocator, SegmentGroup, VideoMemoryInfo,
};
use heapwright_loader::Gpu;
use heapwright_trace::{AllocationIndex, Event, EventKind, Location, Trace};

use super::allocators::Allocators;
use super::configuration::Configuration;
use super::defragmentation::Runs;
use super::exactness::Exactness;
use super::objects::import;
use super::recorded::{
    RecordedHeld, RecordedMove, RecordedRefusal, RecordedRun, RecordedTrace, Step, StepKind,
};
use super::report::{self, ReplayReport};
use super::request::{Request, RequestKind};
use super::settings::Settings;
use super::timing::{Samples, Stopwatch};
use super::verify::{Buffer, Found, Verifier};
use crate::format;

/// What an observer sees of a replay, outside the timed calls.
pub(super) enum Observed<'a> {
    /// The number of finished events, from time to time.
    Progress(usize),
    Created(AllocationIndex, &'a ResourceAllocation),
}

/// Result of a replay.
pub(super) struct Replayed {
    pub(super) report: ReplayReport,
    /// The errors found, each on one line; empty if there are none.
    pub(super) findings: Vec<Finding>,
}

/// A failure: a line, and what else is known of it, a line each.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) text: String,
    pub(super) details: Vec<String>,
}

impl From<String> for Finding {
    fn from(text: String) -> Self {
        Self { text, details: Vec::new() }
    }
}

/// Replays `trace` through a new allocator on `gpu`, which nothing else may use during the replay.
///
/// Failed allocations are counted and their frees are skipped.
///
/// # Errors
///
/// Returns an error if the allocator cannot be created or the adapter cannot be queried.
pub(super) fn replay(
    recorded: &RecordedTrace,
    gpu: &Gpu,
    settings: &Settings,
    observe: &mut dyn FnMut(Observed<'_>),
) -> Result<Replayed, Error> {
    let counted = gpu.adapter.as_ref().filter(|_| settings.compare_usage);
    let usage_before = counted.map(usage).transpose()?;
    let mut replay = Replay::new(recorded, gpu, settings)?;
    let mut steps = recorded.calls.steps.iter().enumerate().peekable();
    let has_steps = recorded.has_steps();
    for (event_index, event) in recorded.trace.events().iter().enumerate() {
        if event_index.is_multiple_of(EVENTS_PER_PROGRESS) {
            observe(Observed::Progress(event_index));
        }
        while let Some((index, step)) = steps.next_if(|(_, step)| step.events as usize <= event_index) {
            replay.check_held(event_index, index);
            replay.take(event_index, step)?;
        }
        replay.check_held(event_index, steps.peek().map_or(usize::MAX, |&(index, _)| index));
        replay.allocators.create(recorded.allocator_of(event.allocation.as_usize()))?;
        if !has_steps {
            let time = Duration::from_micros(event.time_us);
            replay.allocators.live().for_each(|allocator| allocator.on_time(time));
        }
        match event.kind {
            EventKind::Alloc => replay.allocate(event_index, event, observe)?,
            EventKind::Free => replay.free(event_index, event),
        }
        if has_steps {
            replay.allocators.update(recorded.allocator_of(event.allocation.as_usize()));
        } else {
            // Time may have changed what any of them holds.
            replay.update_all();
        }
        let total = replay.allocators.total();
        replay.held.record(event.time_us, replay.live, total);
    }
    // What the allocators hold at the end is a result, so that they are not dropped with the recorded ones.
    let is_drop = |step: &Step| matches!(step.kind, StepKind::Drop | StepKind::DropPool(_));
    let end = recorded.trace.events().len();
    for (index, step) in steps {
        if !is_drop(step) {
            replay.check_held(end, index);
            replay.take(end, step)?;
        }
    }
    replay.check_held(end, usize::MAX);
    replay.runs = Runs::default();
    replay.drop_buffers();
    replay.update_all();
    replay.held.idle_reserved = replay.allocators.total();
    replay.allocators.release_everything();
    let usage_after = counted.map(usage).transpose()?;
    Ok(replay.finish(usage_before.zip(usage_after)))
}

/// Number of events between two calls of `progress`.
const EVENTS_PER_PROGRESS: usize = 1024;

/// Failed allocations.
struct Failures {
    /// Location of the first one.
    location: String,
    count: u64,
    /// The request of the first one.
    request: String,
    /// The state at that time, and what was tried, a line each.
    details: Vec<String>,
}

/// State of a replay.
struct Replay<'a> {
    recorded: &'a RecordedTrace,
    trace: &'a Trace,
    gpu: &'a Gpu,
    settings: &'a Settings,
    allocators: Allocators<'a>,
    /// Live buffers by allocation index; `None` for failed allocations too.
    buffers: Vec<Option<Made>>,
    runs: Runs,
    exactness: Option<Exactness<'a>>,
    /// The recorded sums of held bytes that come next.
    held_recorded: &'a [RecordedHeld],
    stopwatch: Stopwatch,
    alloc_times: Samples,
    free_times: Samples,
    /// Sum of the requested sizes of the live buffers, in bytes.
    live: u64,
    held: Held,
    failures: Option<Failures>,
    verifier: Option<Verifier<'a>>,
}

/// A live allocation of the replay.
enum Made {
    Resource(ResourceAllocation),
    Memory(MemoryAllocation),
}

impl<'a> Replay<'a> {
    fn new(recorded: &'a RecordedTrace, gpu: &'a Gpu, settings: &'a Settings) -> Result<Self, Error> {
        let trace = &recorded.trace;
        let mut allocators = Allocators::new(recorded, gpu, settings);
        allocators.create(0)?;
        let alignment =
            allocators.get(0).map_or(Alignment::ONE, |allocator| allocator.caps().buffer_alignment);
        let verifier = settings.verify.then(|| Verifier::new(trace, alignment));
        let alloc_count = trace.allocation_count();
        Ok(Self {
            recorded,
            trace,
            gpu,
            settings,
            allocators,
            buffers: std::iter::repeat_with(|| None).take(alloc_count).collect(),
            runs: Runs::default(),
            exactness: (settings.is_exact && recorded.is_checkable).then(|| Exactness::new(recorded)),
            held_recorded: &recorded.calls.held,
            stopwatch: Stopwatch::calibrate(),
            alloc_times: Samples::with_capacity(alloc_count),
            free_times: Samples::with_capacity(trace.events().len() - alloc_count),
            live: 0,
            held: Held::default(),
            failures: None,
            verifier,
        })
    }

    fn allocate(
        &mut self,
        event_index: usize,
        event: &Event,
        observe: &mut dyn FnMut(Observed<'_>),
    ) -> Result<(), Error> {
        let index = event.allocation.as_usize();
        let request = if self.settings.as_recorded { self.recorded.request(index, event.size) } else { None };
        let request = request.unwrap_or_else(|| Request::buffer(event.size, self.settings.heap_type));
        let request = if self.repeats_calls() { request } else { request.into_resource() };
        let of = self.recorded.allocator_of(index);
        if self.allocators.get(of).is_none() {
            // Readers refuse allocations of an allocator that has been dropped.
            return Ok(());
        }
        let pool = if self.settings.as_recorded { self.recorded.pool_of(index) } else { None };
        let (created, time) = self.make(of, &request, pool);
        match created {
            Ok(mut made) => {
                self.alloc_times.push(time);
                self.live += event.size.get();
                self.allocators.add_live(of, event.size.get());
                match &mut made {
                    Made::Resource(buffer) => {
                        if let Some(verifier) = &mut self.verifier {
                            verifier.after_create(event_index, buffer);
                        }
                        if let Some(exactness) = &mut self.exactness {
                            exactness.check_resource(event_index + 1, index, buffer);
                        }
                        observe(Observed::Created(event.allocation, buffer));
                    }
                    Made::Memory(memory) => {
                        if let Some(exactness) = &mut self.exactness {
                            exactness.check_memory(event_index + 1, index, memory);
                        }
                    }
                }
                self.buffers[index] = Some(made);
                Ok(())
            }
            Err(error) => {
                // The finding of the failure says it, unless it is a consequence.
                self.exactness = self.exactness.take().filter(Exactness::has_difference);
                self.count_failure(event_index, event, &error)
            }
        }
    }

    /// Returns whether calls other than those for resources are repeated.
    fn repeats_calls(&self) -> bool {
        self.settings.as_recorded && self.settings.configuration == Configuration::Captured
    }

    /// Makes a request of an allocator that exists, and returns the time that it took.
    fn make(&self, allocator: usize, request: &Request, pool: Option<u32>) -> (Result<Made, String>, u64) {
        let Some(allocator) = self.allocators.get(allocator) else {
            return (Err("the allocator was dropped".to_owned()), 0);
        };
        let pool = pool.and_then(|pool| self.allocators.pool(pool));
        let &Request { kind, allocation, ref resource, initial_state } = request;
        let text = |error: Error| error.to_string();
        let allocation = ResourceAllocationDesc { pool, ..allocation };
        self.stopwatch.time(|| match kind {
            RequestKind::Import => import(self.gpu, allocator, request).map(Made::Resource),
            RequestKind::Memory { resources, alignment } => {
                let size = ByteSize::new(resource.Width);
                let made = allocator.allocate_memory(&allocation, resources, size, alignment);
                made.map(Made::Memory).map_err(text)
            }
            RequestKind::Resource => {
                let made = allocator.create_resource(&allocation, resource, initial_state, None);
                made.map(Made::Resource).map_err(text)
            }
        })
    }

    /// Does what the application did. `events` is the number of events before it.
    fn take(&mut self, events: usize, step: &Step) -> Result<(), Error> {
        let calls = &self.recorded.calls;
        if !self.repeats_calls() {
            return self.allocators.take(step);
        }
        let allocator = step.allocator as usize;
        self.allocators.create(allocator)?;
        match step.kind {
            StepKind::Refuse(index) => self.refuse(events, allocator, &calls.refusals[index as usize]),
            StepKind::RefusePool(index) => {
                let desc = self.recorded.pool(index)?;
                let made = self.allocators.get(allocator).map(|allocator| allocator.create_pool(desc));
                if made.is_some_and(|made| made.is_ok()) {
                    self.differs(events, "a pool could be created");
                }
            }
            StepKind::BeginRun(run) => {
                let RecordedRun { pool, .. } = calls.runs[run as usize];
                let pool = pool.and_then(|pool| self.allocators.pool(pool));
                let allocator = self.allocators.get(allocator);
                allocator.map_or(Ok(()), |allocator| self.runs.begin(run, allocator, pool))?;
            }
            StepKind::StepRun { run, moves, bytes, time_checks, planned: recorded } => {
                let planned = self.runs.step(run, moves, bytes, time_checks);
                if planned as u64 != u64::from(recorded) {
                    let how = format!(
                        "a step of a defragmentation planned {planned} moves, in the recording {recorded}"
                    );
                    self.differs(events, &how);
                }
            }
            StepKind::CompleteMove(index) => self.complete_move(events, &calls.moves[index as usize]),
            StepKind::AbandonMove { run, number } => self.runs.abandon(run, number),
            StepKind::EndRun(run) => self.runs.end(run),
            _ => return self.allocators.take(step),
        }
        self.allocators.update(allocator);
        Ok(())
    }

    /// Makes a request that failed in the recording.
    fn refuse(&mut self, events: usize, allocator: usize, refusal: &RecordedRefusal) {
        let request = self.recorded.refused_request(refusal);
        if request.resource.Dimension == D3D12_RESOURCE_DIMENSION_UNKNOWN {
            self.allocators.get(allocator).into_iter().for_each(ResourceAllocator::replay_invalid_request);
            return;
        }
        let (made, _) = self.make(allocator, &request, refusal.pool);
        // Of other errors, a record does not have everything that leads to them.
        if made.is_ok() && refusal.is_out_of_memory {
            self.differs(events, "a request found memory that found none in the recording");
        }
    }

    fn complete_move(&mut self, events: usize, moved: &RecordedMove) {
        let &RecordedMove { run, number, allocation: index, place } = moved;
        // `None` if the allocation failed.
        let Some(made) = &mut self.buffers[index as usize] else { return };
        let moved = match made {
            Made::Resource(allocation) => {
                let request = self.recorded.request(index as usize, allocation.size());
                let state = InitialState::State(request.map_or(0, |request| request.initial_state));
                self.runs.complete(run, number, allocation, state)
            }
            Made::Memory(memory) => self.runs.complete_memory(run, number, memory),
        };
        match (moved, made, &mut self.exactness) {
            (Ok(()), Made::Resource(allocation), Some(exactness)) => {
                exactness.check_move(events, place, allocation);
            }
            (Ok(()), Made::Memory(memory), Some(exactness)) => {
                exactness.check_memory_move(events, place, memory);
            }
            (Ok(()), _, None) => {}
            (Err(error), ..) => {
                self.differs(events, &format!("a move of a defragmentation failed: {error}"));
            }
        }
    }

    /// Compares the bytes that allocators hold with the recorded sums that come before a step.
    fn check_held(&mut self, events: usize, step: usize) {
        while let Some((next, rest)) = self.held_recorded.split_first() {
            let &RecordedHeld { events: of_events, steps, allocator, bytes: recorded } = next;
            if of_events as usize > events || steps as usize > step {
                return;
            }
            self.held_recorded = rest;
            let found = self.allocators.get(allocator as usize).filter(|_| self.allocators.are_all_live());
            let found = found.map(|allocator| allocator.reserved().get());
            if let Some(found) = found.filter(|&found| found != recorded) {
                self.differs(
                    events,
                    &format!("an allocator holds {found} bytes, in the recording {recorded}"),
                );
            }
        }
    }

    fn differs(&mut self, events: usize, how: &str) {
        if let Some(exactness) = &mut self.exactness {
            exactness.differs(events, how);
        }
    }

    fn free(&mut self, event_index: usize, event: &Event) {
        // `None` if the allocation failed.
        let Some(mut made) = self.buffers[event.allocation.as_usize()].take() else { return };
        if let (Made::Resource(buffer), Some(verifier)) = (&mut made, &mut self.verifier) {
            verifier.before_free(event_index, buffer);
        }
        let ((), time) = self.stopwatch.time(|| drop(made));
        self.free_times.push(time);
        self.live -= event.size.get();
        let of = self.recorded.allocator_of(event.allocation.as_usize());
        self.allocators.remove_live(of, event.size.get());
    }

    fn count_failure(&mut self, event_index: usize, event: &Event, error: &str) -> Result<(), Error> {
        if let Some(failures) = &mut self.failures {
            failures.count += 1;
            return Ok(());
        }
        let of = self.recorded.allocator_of(event.allocation.as_usize());
        self.allocators.update(of);
        let heap_type = self.settings.heap_type;
        let group = self.allocators.get(of).map(|allocator| allocator.caps().segment_group(heap_type));
        let video_memory = self
            .gpu
            .adapter
            .as_ref()
            .zip(group)
            .map(|(adapter, group)| VideoMemoryInfo::query(adapter, group));
        let (live, reserved) = (ByteSize::new(self.live), ByteSize::new(self.allocators.total()));
        let usage = match video_memory.transpose()? {
            Some(VideoMemoryInfo { budget, current_usage, .. }) => {
                format!("CurrentUsage at {current_usage} of a budget of {budget}")
            }
            None => "usage and budget unknown without an adapter".to_owned(),
        };
        let id = self.trace.id(event.allocation);
        let error = error.to_string();
        let attempts = error.split("; tried ").flat_map(|part| part.split(", then ")).map(str::to_owned);
        self.failures = Some(Failures {
            location: self.trace.location(event_index).to_string(),
            count: 1,
            request: format!("{} for id {id} in {heap_type} heaps, {usage}", event.size),
            details: std::iter::once(format!("with {live} live and {reserved} reserved"))
                .chain(attempts)
                .collect(),
        });
        Ok(())
    }

    /// Checks that all memory was released after all buffers were dropped. `usage` holds the adapter's usage before and
    /// after the replay if the two must be equal.
    fn finish(mut self, usage: Option<([ByteSize; 2], [ByteSize; 2])>) -> Replayed {
        let (mut used, mut reserved) = (ByteSize::ZERO, ByteSize::ZERO);
        for allocator in self.allocators.live() {
            let of_one = allocator.stats();
            used = used.saturating_add(of_one.used);
            reserved = reserved.saturating_add(of_one.reserved);
        }
        let heaps_created = self.allocators.heaps_created();

        let path = Location { path: self.trace.path(), position: None };
        let difference = self.exactness.take().and_then(Exactness::into_difference);
        let mut findings: Vec<Finding> = difference.into_iter().map(Finding::from).collect();
        let failure_count = self.failures.as_ref().map_or(0, |failures| failures.count);
        if let Some(Failures { location, count, request, details }) = self.failures.take() {
            let (count, of) = (format::count(count), self.trace.allocation_count() as u64);
            let of = format::count_of(of, "allocation");
            let text = format!("{location}: {count} of {of} failed; first failure: {request}");
            findings.push(Finding { text, details });
        }
        if let Some(verifier) = self.verifier.take() {
            let Found { faults, unlisted } = verifier.into_found();
            let location = |event_index| self.trace.location(event_index);
            findings.extend(
                faults.into_iter().map(|(event, fault)| format!("{}: {fault}", location(event)).into()),
            );
            if unlisted > 0 {
                findings.push(format!("{path}: {}", format::count_of(unlisted, "more error")).into());
            }
        }
        if !(used.is_zero() && reserved.is_zero()) {
            let (used, reserved) = (used.get(), reserved.get());
            findings.push(format!(
                "{path}: the allocator still has {used} bytes in allocations and {reserved} bytes in heaps after all buffers \
                 were dropped"
            ).into());
        }
        for (group, (before, after)) in usage
            .into_iter()
            .flat_map(|(before, after)| SegmentGroup::ALL.into_iter().zip(before.into_iter().zip(after)))
        {
            if before != after {
                findings.push(format!(
                    "{path}: CurrentUsage of the {group} segment group changed from {} to {} bytes, although all memory \
                     was released",
                    before.get(),
                    after.get()
                ).into());
            }
        }
        let report = self.report(heaps_created, failure_count);
        Replayed { report, findings }
    }

    fn update_all(&mut self) {
        (0..self.allocators.len()).for_each(|allocator| self.allocators.update(allocator));
    }

    fn drop_buffers(&mut self) {
        for (index, slot) in (0..).zip(&mut self.buffers) {
            if let (Some(Made::Resource(buffer)), Some(verifier)) = (&mut *slot, &mut self.verifier) {
                verifier.at_end(AllocationIndex::new(index), buffer);
            }
            *slot = None;
        }
    }

    fn report(&self, heaps_created: u64, failures: u64) -> ReplayReport {
        let peak_live_bytes = self.trace.peak_live().get();
        let events = self.trace.events().len() as u64;
        let held = &self.held;
        let [mean_live_bytes, mean_reserved_bytes] = held.means(events);
        ReplayReport {
            trace: self.trace.name().to_owned(),
            configuration: self.settings.configuration,
            events,
            allocations: self.trace.allocation_count() as u64,
            peak_live_bytes,
            peak_reserved_bytes: held.peak_reserved,
            overhead: report::overhead(held.peak_reserved, peak_live_bytes).filter(|_| failures == 0),
            mean_live_bytes,
            mean_reserved_bytes,
            mean_overhead: report::overhead(mean_reserved_bytes, mean_live_bytes),
            mean_overhead_by_time: held.overhead_by_time(),
            end_live_bytes: held.end_live,
            held_at_end_bytes: held.end_reserved,
            idle_reserved_bytes: held.idle_reserved,
            heaps_created,
            alloc_ns: self.alloc_times.percentiles(),
            free_ns: self.free_times.percentiles(),
            mean_op_ns: self.alloc_times.mean_with(&self.free_times).map(|mean| report::round(mean, 10.0)),
            failures,
        }
    }
}

/// Live and reserved bytes over the events.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    peak_reserved: u64,
    /// Sum over the events. 128 bits cannot overflow with 2^64 events of 2^64 bytes.
    live_sum: u128,
    reserved_sum: u128,
    /// Time of the last event, and sums weighted by the time between events.
    end_us: u64,
    live_by_time: u128,
    reserved_by_time: u128,
    /// Live bytes after the last event.
    end_live: u64,
    end_reserved: u64,
    /// Reserved bytes after all buffers were dropped.
    idle_reserved: u64,
}

impl Held {
    /// Records the bytes after an event.
    fn record(&mut self, time_us: u64, live: u64, reserved: u64) {
        let elapsed = u128::from(time_us.saturating_sub(self.end_us));
        self.live_by_time += elapsed * u128::from(self.end_live);
        self.reserved_by_time += elapsed * u128::from(self.end_reserved);
        self.end_us = time_us;
        self.peak_reserved = self.peak_reserved.max(reserved);
        self.live_sum += u128::from(live);
        self.reserved_sum += u128::from(reserved);
        (self.end_live, self.end_reserved) = (live, reserved);
    }

    /// Returns the mean of the reserved bytes over time by that of the live ones.
    fn overhead_by_time(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a ratio of six decimals needs no more than 53 bits")]
        (self.live_by_time > 0)
            .then(|| report::round(self.reserved_by_time as f64 / self.live_by_time as f64, 1e6))
    }

    /// Returns the means of the live and reserved bytes, rounded down.
    fn means(&self, events: u64) -> [u64; 2] {
        // A mean of 64-bit numbers fits in 64 bits.
        [self.live_sum, self.reserved_sum]
            .map(|sum| u64::try_from(sum / u128::from(events.max(1))).unwrap_or(u64::MAX))
    }
}

/// Returns the adapter's CurrentUsage of this process, by segment group.
fn usage(adapter: &IDXGIAdapter3) -> Result<[ByteSize; 2], Error> {
    let [local, non_local] = SegmentGroup::ALL.map(|group| VideoMemoryInfo::query(adapter, group));
    Ok([local?.current_usage, non_local?.current_usage])
}

impl Buffer for ResourceAllocation {
    fn size(&self) -> ByteSize {
        Self::size(self)
    }

    fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        Self::gpu_virtual_address(self)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        self.map().and_then(|mut mapping| mapping.write(offset, bytes)).map_err(|error| error.to_string())
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        self.map().and_then(|mapping| mapping.read(offset, bytes)).map_err(|error| error.to_string())
    }
}
