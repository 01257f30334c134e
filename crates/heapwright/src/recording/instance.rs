//! The part of an allocator or residency manager in a recording.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use heapwright_d3d12::*;
use heapwright_trace::session::{Action, Counter, MAX_CONTENTS_LEN};
use heapwright_trace::stream::{Event, InstanceKind, Settings};

use windows_core::{IUnknown, Interface};

use super::environment;
use super::recorder::Recorder;
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
        if self.records(RecordFlags::API_CALLS) && !self.is_session() {
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

    /// Makes a call, whose duration is recorded if timings are. What it does is recorded as it happens.
    pub(crate) fn timed<T>(this: Option<&Self>, name: &'static str, call: impl FnOnce() -> T) -> T {
        let Some(this) = this.filter(|this| this.records(RecordFlags::API_TIMINGS)) else { return call() };
        let start = Instant::now();
        let result = call();
        this.ended(name, start);
        result
    }

    /// Makes a call, which is recorded with its duration.
    pub(crate) fn traced<T>(
        this: Option<&Self>,
        name: &'static str,
        args: impl FnOnce() -> String,
        call: impl FnOnce() -> T,
    ) -> T {
        if let Some(this) = this {
            this.note(name, args);
        }
        Self::timed(this, name, call)
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

    /// Records contents from an offset on, which a function reads from an offset and of a length. Chrome traces hold no
    /// bytes.
    pub(crate) fn contents(
        &self,
        allocation: u64,
        offset: u64,
        size: u64,
        read: impl Fn(u64, usize) -> Result<Vec<u8>, Error>,
    ) -> Result<(), Error> {
        let args = || format!("\"allocation\":\"{allocation:#x}\",\"SizeInBytes\":{size}");
        self.note("ResourceAllocation.RecordContents", args);
        if !self.is_session() {
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

    /// Returns whether the file is a session, and no Chrome trace.
    pub(super) fn is_session(&self) -> bool {
        self.recorder.is_session()
    }

    /// Returns the id of a new object.
    pub(super) fn next_id(&self) -> u64 {
        self.recorder.next_id()
    }
}

// By hand: derived, it would be code for all of the state.
impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("instance", &self.instance).finish_non_exhaustive()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Drop for Recording {
    fn drop(&mut self) {
        if self.records(RecordFlags::API_OBJECTS) {
            self.push(Event::Object { name: self.kind.name(), phase: 'D', id: self.instance });
        }
        self.recorder.remove_user();
    }
}
