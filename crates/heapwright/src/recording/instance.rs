//! The part of an allocator or residency manager in a recording.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use heapwright_d3d12::*;
use heapwright_trace::session::{Action, Counter, Heap, HeapType, MAX_CONTENTS_LEN};

use windows_core::{IUnknown, Interface};

use super::event::{Event, HeapMemory, InstanceKind, NewHeap, Settings};
use super::recorder::Recorder;
use super::{chrome, environment};
use crate::{Error, RecordFlags, RecordOptions, RecordScope};

/// How often counters are read.
const COUNTER_INTERVAL: Duration = Duration::from_millis(10);

/// Recordings with the scope of the process, with the devices of their instances, which they keep alive.
static OF_DEVICES: Mutex<Vec<(usize, Weak<Recording>)>> = Mutex::new(Vec::new());

/// Returns a number that is equal for all interfaces of a device.
fn identity(device: &ID3D12Device) -> usize {
    device.cast::<IUnknown>().map_or(0, |device| device.as_raw().addr())
}

/// The recording of one allocator or residency manager. What it has created keeps it alive.
pub(crate) struct Recording {
    recorder: Arc<Recorder>,
    flags: RecordFlags,
    kind: InstanceKind,
    counts_each_allocation: bool,
    instance: u64,
    /// When counters are read next, in nanoseconds.
    next_count: AtomicU64,
}

impl Recording {
    /// Begins the recording of an instance of a device, if its options, the environment or another instance of the
    /// device select events. A nested allocator has a parent.
    pub(crate) fn begin(
        options: &RecordOptions,
        kind: InstanceKind,
        device: &ID3D12Device,
        parent: Option<&Self>,
        settings: impl FnOnce() -> Settings,
    ) -> Result<Option<Arc<Self>>, Error> {
        let is_named = !options.flags.is_empty();
        let of_environment = if is_named { None } else { environment::options().as_ref().ok() };
        let selected = if is_named { Some(options) } else { of_environment.and_then(Option::as_ref) };
        let opened = match selected {
            Some(options) => match Recorder::open(options.trace_file.as_deref(), options.scope) {
                Ok(recorder) => Some((recorder, options.flags, options.use_detailed_timing_events)),
                // The environment must not make a program fail.
                Err(error) if !is_named => {
                    tracing::error!("HEAPWRIGHT_RECORD: nothing is recorded: {error}");
                    None
                }
                Err(error) => return Err(error),
            },
            None if options.scope == RecordScope::PerProcess => Self::of_device(device)
                .map(|other| (other.recorder.joined(), other.flags, other.counts_each_allocation)),
            None => None,
        };
        let Some((recorder, flags, counts_each_allocation)) = opened else { return Ok(None) };
        let recording = Arc::new(Self {
            instance: recorder.next_id(),
            recorder,
            flags,
            kind,
            counts_each_allocation,
            next_count: AtomicU64::new(0),
        });
        if is_named && options.scope == RecordScope::PerProcess {
            recording.let_others_join(device);
        }
        if recording.records(RecordFlags::API_OBJECTS) {
            let (instance, settings) = (recording.instance, settings());
            // A parent whose beginning is not in the file cannot be named there.
            let is_known = |parent: &&Self| {
                parent.shares_file_with(&recording) && parent.records(RecordFlags::API_OBJECTS)
            };
            let parent = parent.filter(is_known).map(Self::instance);
            recording.push(Event::Begin { instance, kind, parent, settings });
        }
        Ok(Some(recording))
    }

    /// Lets instances of the device without options of their own join the recording.
    fn let_others_join(self: &Arc<Self>, device: &ID3D12Device) {
        let mut recordings = OF_DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        recordings.retain(|(_, recording)| recording.strong_count() > 0);
        recordings.push((identity(device), Arc::downgrade(self)));
    }

    /// Returns the recording of an instance of the device that others join: the first of those that live.
    pub(crate) fn of_device(device: &ID3D12Device) -> Option<Arc<Self>> {
        let recordings = OF_DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if recordings.is_empty() {
            return None;
        }
        let device = identity(device);
        recordings.iter().filter(|(of, _)| *of == device).find_map(|(_, recording)| recording.upgrade())
    }

    pub(crate) fn instance(&self) -> u64 {
        self.instance
    }

    pub(crate) fn records(&self, flags: RecordFlags) -> bool {
        self.flags.contains(flags)
    }

    /// Returns whether both are in the same file, where ids have the same meaning.
    pub(crate) fn shares_file_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.recorder, &other.recorder)
    }

    pub(crate) fn push(&self, event: Event) {
        self.recorder.push(event);
    }

    /// Records an action of the instance if calls are recorded.
    pub(crate) fn call(&self, action: impl FnOnce() -> Action) {
        self.event(|| Event::Action { allocator: Some(self.instance), action: action() });
    }

    /// Records an event if calls are recorded.
    pub(crate) fn event(&self, event: impl FnOnce() -> Event) {
        if self.records(RecordFlags::API_CALLS) {
            self.push(event());
        }
    }

    /// Records an action of an object.
    pub(crate) fn act(&self, action: Action) {
        self.push(Event::Action { allocator: None, action });
    }

    /// Records a call in a Chrome trace, if calls are recorded.
    pub(crate) fn note(&self, name: &'static str, args: impl FnOnce() -> String) {
        if self.records(RecordFlags::API_CALLS) && !self.recorder.is_session() {
            self.push(Event::Call { name, args: args() });
        }
    }

    /// Records a call that began at a time and has ended.
    pub(crate) fn made(&self, name: &'static str, args: impl FnOnce() -> String, start: Instant) {
        self.note(name, args);
        self.ended(name, start);
    }

    /// Records the duration of a call that began at a time and has ended, if timings are recorded.
    pub(crate) fn ended(&self, name: &'static str, start: Instant) {
        if self.records(RecordFlags::API_TIMINGS) {
            self.push(Event::Timing { call: name, duration_ns: nanoseconds(start.elapsed()) });
        }
    }

    /// Makes a call whose duration is recorded, if a recording is made. What it does is recorded as it happens.
    pub(crate) fn timed<T>(this: Option<&Self>, name: &'static str, call: impl FnOnce() -> T) -> T {
        match this {
            Some(this) => this.time(name, call),
            None => call(),
        }
    }

    /// Makes a call, which is recorded with its duration.
    pub(crate) fn traced<T>(
        this: Option<&Self>,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        let Some(this) = this else { return call() };
        this.note(name, args);
        this.time(name, call)
    }

    /// Makes a call, whose duration is recorded if timings are.
    pub(crate) fn time<T>(&self, name: &'static str, call: impl FnOnce() -> T) -> T {
        if !self.records(RecordFlags::API_TIMINGS) {
            return call();
        }
        let start = Instant::now();
        let result = call();
        self.ended(name, start);
        result
    }

    /// Records counters, if counters are recorded.
    pub(crate) fn count_now(&self, values: impl FnOnce() -> Vec<(Counter, u64)>) {
        if self.records(RecordFlags::COUNTERS) {
            self.push(Event::Count { instance: self.instance, kind: self.kind, values: values() });
        }
    }

    /// Records counters if they are due.
    pub(crate) fn count(&self, values: impl FnOnce() -> Vec<(Counter, u64)>) {
        if !self.records(RecordFlags::COUNTERS) {
            return;
        }
        let (now, next) = (nanoseconds(self.recorder.elapsed()), self.next_count.load(Ordering::Relaxed));
        if !self.counts_each_allocation {
            let then = now.saturating_add(nanoseconds(COUNTER_INTERVAL));
            let is_first = now >= next
                && self.next_count.compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            if !is_first {
                return;
            }
        }
        self.count_now(values);
    }

    /// Records a new heap, if objects or calls are recorded.
    pub(crate) fn heap(self: &Arc<Self>, memory: &HeapMemory) -> Option<RecordedHeap> {
        let is_object = self.records(RecordFlags::API_OBJECTS);
        let is_call = !self.recorder.is_session() && (is_object || self.records(RecordFlags::API_CALLS));
        if !is_object && !is_call {
            return None;
        }
        let id = self.recorder.next_id();
        let &HeapMemory { size, alignment, properties, flags } = memory;
        let heap_type = u8::try_from(properties.Type).ok().and_then(HeapType::from_d3d12);
        let heap_type = heap_type.unwrap_or(HeapType::Unknown);
        let heap = Heap { id, size, alignment, heap_type, flags, name: None };
        let call = is_call.then(|| chrome::heap_call(memory));
        self.push(Event::CreateHeap(Box::new(NewHeap { heap, is_object, call })));
        Some(RecordedHeap { recording: Arc::clone(self), id, is_object })
    }

    /// Records a new object that only Chrome traces have.
    pub(crate) fn object(self: &Arc<Self>, name: &'static str) -> RecordedObject {
        let object = RecordedObject { recording: Arc::clone(self), name, id: self.recorder.next_id() };
        object.push('N');
        object
    }

    /// Records a new pool, if calls are recorded.
    pub(crate) fn pool(self: &Arc<Self>, options: Vec<(&'static str, String)>) -> Option<Arc<RecordedPool>> {
        if !self.records(RecordFlags::API_CALLS) {
            return None;
        }
        let pool = self.recorder.next_id();
        let options = options.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.call(|| Action::CreatePool { pool, options });
        Some(Arc::new(RecordedPool { recording: Arc::clone(self), id: pool }))
    }

    /// Records that a pool could not be created, if calls are recorded.
    pub(crate) fn refuse_pool(&self, options: Vec<(&'static str, String)>) {
        let options = || options.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.call(|| Action::RefusePool { options: options() });
    }

    /// Records a new defragmentation, if calls are recorded.
    pub(crate) fn run(self: &Arc<Self>, pool: Option<&RecordedPool>) -> Option<Arc<RecordedRun>> {
        if !self.records(RecordFlags::API_CALLS) {
            return None;
        }
        let id = self.recorder.next_id();
        self.call(|| Action::BeginDefragmentation { run: id, pool: pool.map(RecordedPool::id) });
        Some(Arc::new(RecordedRun { recording: Arc::clone(self), id, planned: AtomicU64::new(0) }))
    }

    /// Records contents from an offset on, which a function reads from an offset and of a length. Chrome traces hold no
    /// bytes.
    pub(crate) fn contents(
        &self,
        allocation: u64,
        offset: u64,
        size: u64,
        read: impl Fn(u64, usize) -> Result<Vec<u8>, Error>,
    ) -> Result<(), Error> {
        self.push(Event::RecordContents { allocation, size });
        if !self.recorder.is_session() {
            return Ok(());
        }
        // In parts, so that the queue of events can bound its memory.
        let (mut offset, end) = (offset, offset.saturating_add(size));
        while offset < end {
            let len = usize::try_from(end - offset).unwrap_or(usize::MAX).min(MAX_CONTENTS_LEN);
            let bytes = read(offset, len)?;
            self.act(Action::Contents { allocation, offset, bytes });
            offset += len as u64;
        }
        Ok(())
    }

    /// Returns the id of a new object.
    pub(crate) fn next_id(&self) -> u64 {
        self.recorder.next_id()
    }

    /// Returns a new allocation of this size, which is recorded by the caller.
    pub(crate) fn new_allocation(self: &Arc<Self>, size: u64) -> RecordedAllocation {
        RecordedAllocation { id: self.recorder.next_id(), size, recording: Arc::clone(self), _own_heap: None }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.records(RecordFlags::API_OBJECTS) {
            self.push(Event::End { instance: self.instance, kind: self.kind });
        }
        self.recorder.remove_user();
    }
}

/// A heap in a recording. Dropping it records that the heap is destroyed.
pub(crate) struct RecordedHeap {
    recording: Arc<Recording>,
    id: u64,
    /// Whether its lifetime is recorded, and not only the call that created it.
    is_object: bool,
}

impl RecordedHeap {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the id of the heap in the file of a recording.
    pub(crate) fn id_in(&self, recording: &Recording) -> Option<u64> {
        self.recording.shares_file_with(recording).then_some(self.id)
    }
}

impl Drop for RecordedHeap {
    fn drop(&mut self) {
        if self.is_object {
            self.recording.act(Action::DestroyHeap { heap: self.id });
        }
    }
}

/// An object that only Chrome traces have. Dropping it records that it is destroyed.
pub(crate) struct RecordedObject {
    recording: Arc<Recording>,
    name: &'static str,
    id: u64,
}

impl RecordedObject {
    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    fn push(&self, phase: char) {
        if self.recording.records(RecordFlags::API_OBJECTS) && !self.recording.recorder.is_session() {
            self.recording.push(Event::Object { name: self.name, phase, id: self.id });
        }
    }
}

impl Drop for RecordedObject {
    fn drop(&mut self) {
        self.push('D');
    }
}

impl fmt::Debug for RecordedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name).field("id", &self.id).finish_non_exhaustive()
    }
}

/// A pool in a recording. Dropping it records that the last handle of the pool is dropped.
pub(crate) struct RecordedPool {
    recording: Arc<Recording>,
    id: u64,
}

impl RecordedPool {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Records that the application releases the pool's empty heaps.
    pub(crate) fn release(&self) {
        self.recording.act(Action::ReleasePool { pool: self.id });
    }
}

impl Drop for RecordedPool {
    fn drop(&mut self) {
        self.recording.act(Action::DropPool { pool: self.id });
    }
}

/// A defragmentation in a recording.
pub(crate) struct RecordedRun {
    recording: Arc<Recording>,
    id: u64,
    /// Number of planned moves.
    planned: AtomicU64,
}

impl RecordedRun {
    /// Returns the number of a new move.
    pub(crate) fn next_move(self: &Arc<Self>) -> RecordedMove {
        RecordedMove { run: Arc::clone(self), number: self.planned.fetch_add(1, Ordering::Relaxed) }
    }

    /// Records a step that has planned moves within these limits.
    pub(crate) fn step(&self, moves: u32, bytes: u64, time_checks: Option<u64>, planned: usize) {
        let (run, planned) = (self.id, u32::try_from(planned).unwrap_or(u32::MAX));
        self.recording.call(|| Action::StepDefragmentation { run, moves, bytes, time_checks, planned });
    }

    /// Records the end.
    pub(crate) fn end(&self) {
        self.recording.act(Action::EndDefragmentation { run: self.id });
    }
}

/// The call that completes a move.
pub(crate) const COMPLETE_MOVE: &str = "Defragmentation.CompleteMove";

/// A planned move in a recording.
pub(crate) struct RecordedMove {
    run: Arc<RecordedRun>,
    number: u64,
}

impl RecordedMove {
    /// Records that an allocation is moved. Without objects, it has no id.
    pub(crate) fn complete(self, allocation: Option<u64>) {
        let Self { run, number } = self;
        match allocation {
            Some(allocation) => {
                run.recording.act(Action::CompleteMove { run: run.id, number, allocation });
            }
            None => {
                run.recording.note(COMPLETE_MOVE, || format!("\"run\":\"{:#x}\",\"move\":{number}", run.id))
            }
        }
    }

    /// Records that nothing is moved.
    pub(crate) fn abandon(self) {
        let Self { run, number } = self;
        run.recording.act(Action::AbandonMove { run: run.id, number });
    }
}

/// A mapping in a recording: the call that begins it, and the one that ends it.
pub(crate) struct RecordedMapping {
    recording: Arc<Recording>,
    args: String,
}

impl RecordedMapping {
    pub(crate) fn new(recording: &Arc<Recording>, args: String) -> Self {
        Self { recording: Arc::clone(recording), args }
    }

    /// Makes the call that maps, which is recorded with its duration.
    pub(crate) fn map<T>(this: Option<&Self>, map: impl FnOnce() -> T) -> T {
        Self::traced(this, "ResourceAllocation.Map", map)
    }

    /// Makes the call that unmaps, which is recorded with its duration.
    pub(crate) fn unmap<T>(this: Option<&Self>, unmap: impl FnOnce() -> T) -> T {
        Self::traced(this, "ResourceAllocation.Unmap", unmap)
    }

    fn traced<T>(this: Option<&Self>, name: &'static str, call: impl FnOnce() -> T) -> T {
        match this {
            None => call(),
            Some(this) => Recording::traced(Some(&*this.recording), name, || this.args.clone(), call),
        }
    }
}

impl fmt::Debug for RecordedMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedMapping").field("args", &self.args).finish_non_exhaustive()
    }
}

/// An allocation in a recording. Dropping it records that the allocation is freed.
pub(crate) struct RecordedAllocation {
    recording: Arc<Recording>,
    id: u64,
    size: u64,
    /// The implicit heap of a committed resource.
    _own_heap: Option<RecordedHeap>,
}

impl RecordedAllocation {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Returns the size of the allocation in the file, which does not change when it is moved.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    pub(crate) fn own(&mut self, heap: Option<RecordedHeap>) {
        self._own_heap = heap;
    }
}

impl Drop for RecordedAllocation {
    fn drop(&mut self) {
        self.recording.act(Action::Free { allocation: self.id });
    }
}
