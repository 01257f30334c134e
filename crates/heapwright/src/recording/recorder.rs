//! The queue of a recording, and the thread that writes it to a file.

use std::fs::File;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::chrome::ChromeTrace;
use super::event::{Entry, Event};
use super::session::Session;
use crate::{Error, RecordScope};

/// How often the file is written.
const INTERVAL: Duration = Duration::from_millis(250);

/// Number of events at which the writer is woken.
const WAKE_AT: usize = 8 << 10;

/// Number of events at which calls wait for the writer.
const CAPACITY: usize = 64 << 10;

/// How long calls wait for the writer.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The recording of a file.
#[derive(Debug)]
pub(super) struct Recorder {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    start: Instant,
    queue: Mutex<Queue>,
    /// Tells the writer of much work, of a request, or of the end.
    work: Condvar,
    /// Tells calls that the queue is empty, or that their request is done.
    written: Condvar,
    has_failed: AtomicBool,
    next_id: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    /// Number of requests to write, and of those that are done.
    requested: u64,
    done: u64,
    is_ending: bool,
}

/// The recordings of this process.
static RECORDERS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

struct Known {
    path: PathBuf,
    recorder: Weak<Recorder>,
    /// Keeps the file of a process open: it is written until the process ends.
    of_process: Option<Arc<Recorder>>,
}

impl Recorder {
    /// Creates the file, or returns the process's recorder of it.
    pub(super) fn open(path: &Path, scope: RecordScope) -> Result<Arc<Self>, Error> {
        let refuse = |rule: String| Error::invalid_argument("RecordOptions::trace_file", rule);
        let absolute = std::path::absolute(path).map_err(|error| refuse(error.to_string()))?;
        let mut recorders = RECORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        recorders.retain(|known| known.recorder.strong_count() > 0);
        if let Some(known) = recorders.iter().find(|known| known.path == absolute) {
            return match (&known.of_process, scope) {
                (Some(recorder), RecordScope::PerProcess) => Ok(Arc::clone(recorder)),
                _ => Err(refuse(format!("{} is being written by another instance", path.display()))),
            };
        }
        let recorder = Self::start(absolute.clone())
            .map_err(|error| refuse(format!("{} cannot be written: {error}", path.display())))?;
        let recorder = Arc::new(recorder);
        recorders.push(Known {
            path: absolute,
            recorder: Arc::downgrade(&recorder),
            of_process: (scope == RecordScope::PerProcess).then(|| Arc::clone(&recorder)),
        });
        Ok(recorder)
    }

    fn start(path: PathBuf) -> io::Result<Self> {
        let output = Output::create(&path)?;
        let shared = Arc::new(Shared {
            path,
            start: Instant::now(),
            queue: Mutex::default(),
            work: Condvar::new(),
            written: Condvar::new(),
            has_failed: AtomicBool::new(false),
            next_id: AtomicU64::new(0),
        });
        let of_writer = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("heapwright recording".to_owned())
            .spawn(move || of_writer.write(output))?;
        Ok(Self { shared, writer: Some(writer) })
    }

    /// Returns a new id of an object.
    pub(super) fn next_id(&self) -> u64 {
        self.shared.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// Records an event. Waits if the queue is full.
    pub(super) fn push(&self, event: Event) {
        let shared = &*self.shared;
        if shared.has_failed.load(Ordering::Relaxed) {
            return;
        }
        let thread = thread_number();
        let mut queue = shared.lock();
        if queue.entries.len() >= CAPACITY {
            queue = shared.wait_while(queue, |queue| queue.entries.len() >= CAPACITY);
            if shared.has_failed.load(Ordering::Relaxed) {
                return;
            }
        }
        // Read under the lock, so that times do not decrease.
        let time_ns = u64::try_from(shared.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        queue.entries.push(Entry { time_ns, thread, event });
        if queue.entries.len() == WAKE_AT {
            shared.work.notify_one();
        }
    }

    /// Writes everything to the file before it returns.
    pub(super) fn flush(&self) {
        let shared = &*self.shared;
        let mut queue = shared.lock();
        queue.requested += 1;
        let request = queue.requested;
        shared.work.notify_one();
        drop(shared.wait_while(queue, |queue| queue.done < request));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().is_ending = true;
        self.shared.work.notify_one();
        if let Some(writer) = self.writer.take() {
            // A panic of the writer has been reported by the panic hook.
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the writer while a condition holds. A writer without progress has failed, so that a call does not wait for a thread
    /// that Windows has ended with the process.
    fn wait_while<'a>(
        &self,
        queue: MutexGuard<'a, Queue>,
        mut condition: impl FnMut(&Queue) -> bool,
    ) -> MutexGuard<'a, Queue> {
        let is_waiting = |queue: &mut Queue| condition(queue) && !self.has_failed.load(Ordering::Relaxed);
        let waited = self.written.wait_timeout_while(queue, MAX_WAIT, is_waiting);
        let (queue, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() {
            self.has_failed.store(true, Ordering::Relaxed);
            tracing::error!(path = %self.path.display(), "recording has stopped: its thread makes no progress");
        }
        queue
    }

    /// Writes entries until the recorder is dropped.
    fn write(&self, mut output: Output) {
        // Calls must not wait for a writer that is gone.
        let _failed = SetOnDrop(self);
        let mut entries = Vec::new();
        loop {
            let mut queue = self.lock();
            if queue.entries.len() < WAKE_AT && queue.requested == queue.done && !queue.is_ending {
                queue = self.work.wait_timeout(queue, INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
            }
            mem::swap(&mut queue.entries, &mut entries);
            let (request, is_ending) = (queue.requested, queue.is_ending);
            drop(queue);
            self.written.notify_all();
            if !entries.is_empty() {
                let written = entries.drain(..).try_for_each(|entry| output.write(entry));
                if let Err(error) = written.and_then(|()| output.checkpoint()) {
                    tracing::error!(path = %self.path.display(), "recording has stopped: {error}");
                    return;
                }
            }
            self.lock().done = request;
            self.written.notify_all();
            if is_ending {
                return;
            }
        }
    }
}

struct SetOnDrop<'a>(&'a Shared);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        self.0.has_failed.store(true, Ordering::Relaxed);
        queue.entries.clear();
        drop(queue);
        self.0.written.notify_all();
    }
}

/// The file in its format.
enum Output {
    Session(Session<File>),
    Chrome(ChromeTrace<File>),
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let is_session = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("hws"));
        let file = File::create(path)?;
        let mut output = match is_session {
            true => Self::Session(Session::new(file)?),
            false => Self::Chrome(ChromeTrace::new(file)?),
        };
        output.checkpoint()?;
        Ok(output)
    }

    fn write(&mut self, entry: Entry) -> io::Result<()> {
        match self {
            Self::Session(session) => session.write(entry),
            Self::Chrome(trace) => trace.write(entry),
        }
    }

    fn checkpoint(&mut self) -> io::Result<()> {
        match self {
            Self::Session(session) => session.checkpoint(),
            Self::Chrome(trace) => trace.checkpoint(),
        }
    }
}

/// Names of the threads that have recorded something, by number, from 1.
static THREAD_NAMES: Mutex<Vec<Option<String>>> = Mutex::new(Vec::new());

/// Returns the name of a thread.
pub(super) fn thread_name(number: u32) -> Option<String> {
    let names = THREAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(usize::try_from(number).ok()?.checked_sub(1)?)?.clone()
}

/// Returns the number of this thread, which is unique in the process; 0 while the thread ends.
fn thread_number() -> u32 {
    thread_local!(static NUMBER: u32 = {
        let mut names = THREAD_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        names.push(thread::current().name().map(str::to_owned));
        u32::try_from(names.len()).unwrap_or(u32::MAX)
    });
    NUMBER.try_with(|&number| number).unwrap_or(0)
}
