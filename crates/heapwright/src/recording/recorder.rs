//! The queue of a recording, and the thread that writes it to a file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, mem};

use heapwright_trace::session::WriteError;
use heapwright_trace::stream::{Entry, Event, EventWriter};

use super::thread_names::{thread_name, thread_number};
use crate::{Error, RecordScope};

/// How often the file is written.
const INTERVAL: Duration = Duration::from_millis(250);

/// Number of events at which the writer is woken.
const WAKE_AT: usize = 8 << 10;

/// Number of events at which calls wait for the writer.
const CAPACITY: usize = 64 << 10;

/// Bytes of contents and ids at which the writer is woken.
const WAKE_AT_BYTES: usize = 8 << 20;

/// Bytes of contents and ids that events in the queue hold at most, except for a single event with more. The writer may
/// hold as many.
const CAPACITY_BYTES: usize = 256 << 20;

/// The longest time for which a call waits for a writer that makes no progress.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The file of GPGMM's options without a path.
const DEFAULT_FILE: &str = "gpgmm_event_trace.json";

/// The same for a single instance. N stands for a number, so that each has its own file.
const DEFAULT_FILE_OF_INSTANCE: &str = "gpgmm_event_trace.N.json";

/// The recording of a file.
pub(super) struct Recorder {
    shared: Arc<Shared>,
    users: Mutex<Users>,
}

/// Those who record. While there are any, a thread writes: none may be left when a program unloads a library with this
/// code.
#[derive(Default)]
struct Users {
    count: usize,
    writer: Option<JoinHandle<()>>,
}

struct Shared {
    path: PathBuf,
    is_session: bool,
    /// Locked by the thread that writes, as long as it does.
    output: Mutex<EventWriter<File>>,
    start: Instant,
    queue: Mutex<Queue>,
    /// Tells the writer of much work, of a request, or of the end.
    work: Condvar,
    /// Tells calls that the queue is empty, or that their request is done.
    written: Condvar,
    has_failed: AtomicBool,
    /// Number of events that the writer has written.
    progress: AtomicU64,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Queue {
    entries: Vec<Entry>,
    /// Bytes that the entries hold, as counted by [`Event::held_bytes`].
    bytes: usize,
    /// Number of requests to write, and of those that are done.
    requested: u64,
    done: u64,
    is_ending: bool,
}

impl Queue {
    /// Returns whether there is room for an event that holds some bytes.
    fn has_room_for(&self, bytes: usize) -> bool {
        let has_bytes = self.bytes == 0 || self.bytes.saturating_add(bytes) <= CAPACITY_BYTES;
        self.entries.len() < CAPACITY && has_bytes
    }

    /// Returns whether the writer has much to do.
    fn is_much(&self) -> bool {
        self.entries.len() >= WAKE_AT || self.bytes >= WAKE_AT_BYTES
    }

    fn push(&mut self, entry: Entry, bytes: usize) {
        self.entries.push(entry);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Exchanges the entries for an empty vector.
    fn take(&mut self, empty: &mut Vec<Entry>) {
        mem::swap(&mut self.entries, empty);
        self.bytes = 0;
    }
}

/// The recordings of this process.
static RECORDERS: Mutex<Vec<Known>> = Mutex::new(Vec::new());

struct Known {
    file: FileId,
    recorder: Weak<Recorder>,
    /// Keeps the file of a process open, to which later instances write, too.
    of_process: Option<Arc<Recorder>>,
}

impl Recorder {
    /// Creates the file, or finds the process's recorder of it, and adds a user.
    pub(super) fn open(path: Option<&Path>, scope: RecordScope) -> Result<Arc<Self>, Error> {
        let refuse = |rule: String| Error::invalid_argument("RecordOptions::trace_file", rule);
        let refuse_file =
            |path: &Path, error: io::Error| refuse(format!("{} cannot be written: {error}", path.display()));
        let mut recorders = RECORDERS.lock().unwrap_or_else(PoisonError::into_inner);
        recorders.retain(|known| known.recorder.strong_count() > 0);
        let (path, file) = match (path, scope) {
            (None, RecordScope::PerInstance) => {
                create_numbered().map_err(|error| refuse_file(DEFAULT_FILE_OF_INSTANCE.as_ref(), error))?
            }
            (path, _) => {
                let path = path.unwrap_or(DEFAULT_FILE.as_ref());
                let open = || {
                    // What it has is kept until it is known that no other instance writes it.
                    let file = File::options().write(true).create(true).truncate(false).open(path)?;
                    Ok((std::path::absolute(path)?, file))
                };
                check_extension(path)?;
                open().map_err(|error| refuse_file(path, error))?
            }
        };
        let id = FileId::of(&path, &file).map_err(|error| refuse_file(&path, error))?;
        if let Some(known) = recorders.iter().find(|known| known.file == id) {
            return match (&known.of_process, scope) {
                (Some(recorder), RecordScope::PerProcess) if recorder.is_session() == is_session(&path) => {
                    recorder.add_user().map_err(|error| refuse_file(&path, error))?;
                    Ok(Arc::clone(recorder))
                }
                _ => Err(refuse(format!("{} is being written by another instance", path.display()))),
            };
        }
        let recorder = Self::new(path.clone(), file).and_then(|recorder| {
            recorder.add_user()?;
            Ok(Arc::new(recorder))
        });
        let recorder = recorder.map_err(|error| refuse_file(&path, error))?;
        recorders.push(Known {
            file: id,
            recorder: Arc::downgrade(&recorder),
            of_process: (scope == RecordScope::PerProcess).then(|| Arc::clone(&recorder)),
        });
        Ok(recorder)
    }

    fn new(path: PathBuf, file: File) -> io::Result<Self> {
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        let is_session = is_session(&path);
        let mut output = match is_session {
            true => EventWriter::session(file)?,
            false => EventWriter::chrome(file, std::process::id(), &program_name(), thread_name)?,
        };
        output.checkpoint()?;
        let shared = Arc::new(Shared {
            path,
            is_session,
            output: Mutex::new(output),
            start: Instant::now(),
            queue: Mutex::default(),
            work: Condvar::new(),
            written: Condvar::new(),
            has_failed: AtomicBool::new(false),
            progress: AtomicU64::new(0),
            next_id: AtomicU64::new(0),
        });
        Ok(Self { shared, users: Mutex::default() })
    }

    /// Adds a user. The first one starts the thread.
    fn add_user(&self) -> io::Result<()> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.writer.is_none() {
            let shared = Arc::clone(&self.shared);
            let builder = thread::Builder::new().name("heapwright recording".to_owned());
            users.writer = Some(builder.spawn(move || shared.write())?);
        }
        users.count += 1;
        Ok(())
    }

    /// Adds a user beside one that exists.
    pub(super) fn joined(self: &Arc<Self>) -> Arc<Self> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(users.count > 0, "the other one keeps the thread");
        users.count += 1;
        Arc::clone(self)
    }

    /// Writes everything to the file. The last user waits for the end of the thread.
    pub(super) fn remove_user(&self) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.count -= 1;
        if users.count > 0 {
            // With the users locked, so that the last one does not end the thread before it has written.
            return self.flush();
        }
        self.shared.lock().is_ending = true;
        self.shared.work.notify_one();
        if let Some(writer) = users.writer.take() {
            // A panic of the writer has been reported by the panic hook.
            let _ = writer.join();
        }
        self.shared.lock().is_ending = false;
    }

    /// Returns whether the file is a session, and no Chrome trace.
    pub(super) fn is_session(&self) -> bool {
        self.shared.is_session
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
        let bytes = event.held_bytes();
        let mut queue = shared.lock();
        if !queue.has_room_for(bytes) {
            queue = shared.wait_while(queue, |queue| !queue.has_room_for(bytes));
            if shared.has_failed.load(Ordering::Relaxed) {
                return;
            }
        }
        // Read under the lock, so that times do not decrease.
        let time_ns = u64::try_from(shared.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let was_much = queue.is_much();
        queue.push(Entry { time_ns, thread, event }, bytes);
        if queue.is_much() && !was_much {
            shared.work.notify_one();
        }
    }

    /// Writes everything to the file before it returns.
    fn flush(&self) {
        let shared = &*self.shared;
        let mut queue = shared.lock();
        queue.requested += 1;
        let request = queue.requested;
        shared.work.notify_one();
        drop(shared.wait_while(queue, |queue| queue.done < request));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the writer while a condition holds. A writer without progress has failed, so that a call does not wait
    /// for a thread that Windows has ended with the process.
    fn wait_while<'a>(
        &self,
        mut queue: MutexGuard<'a, Queue>,
        mut condition: impl FnMut(&Queue) -> bool,
    ) -> MutexGuard<'a, Queue> {
        let mut is_waiting = |queue: &mut Queue| condition(queue) && !self.has_failed.load(Ordering::Relaxed);
        loop {
            let progress = self.progress.load(Ordering::Relaxed);
            let waited = self.written.wait_timeout_while(queue, MAX_WAIT, &mut is_waiting);
            let result;
            (queue, result) = waited.unwrap_or_else(PoisonError::into_inner);
            if !result.timed_out() {
                return queue;
            }
            if self.progress.load(Ordering::Relaxed) == progress {
                self.has_failed.store(true, Ordering::Relaxed);
                tracing::error!(path = %self.path.display(), "recording has stopped: its thread makes no progress");
                return queue;
            }
        }
    }

    /// Writes entries until the last user is gone.
    fn write(&self) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // Calls must not wait for a writer that is gone.
        let failed = FailOnDrop(self);
        let mut entries = Vec::new();
        loop {
            let mut queue = self.lock();
            if !queue.is_much() && queue.requested == queue.done && !queue.is_ending {
                queue = self.work.wait_timeout(queue, INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
            }
            queue.take(&mut entries);
            let (request, is_ending) = (queue.requested, queue.is_ending);
            drop(queue);
            self.written.notify_all();
            if !entries.is_empty() {
                let written = entries.drain(..).try_for_each(|entry| {
                    output.write(entry)?;
                    self.progress.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                });
                if let Err(error) = written.and_then(|()| output.checkpoint()) {
                    // A record beyond a limit is not in the file, which can be completed. A failed file is left as it
                    // is.
                    if error.get_ref().is_some_and(|error| error.is::<WriteError>()) {
                        let _ = output.checkpoint();
                    }
                    tracing::error!(path = %self.path.display(), "recording has stopped: {error}");
                    return;
                }
            }
            self.lock().done = request;
            self.written.notify_all();
            if is_ending {
                mem::forget(failed);
                return;
            }
        }
    }
}

/// Ends the recording when it is dropped.
struct FailOnDrop<'a>(&'a Shared);

impl Drop for FailOnDrop<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        self.0.has_failed.store(true, Ordering::Relaxed);
        queue.take(&mut Vec::new());
        drop(queue);
        self.0.written.notify_all();
    }
}

/// The identity of a file, which is equal for all paths to it.
#[derive(PartialEq, Eq)]
#[cfg(unix)]
struct FileId(u64, u64);

#[derive(PartialEq, Eq)]
#[cfg(not(unix))]
struct FileId(PathBuf);

impl FileId {
    #[cfg(unix)]
    fn of(_: &Path, file: &File) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = file.metadata()?;
        Ok(Self(metadata.dev(), metadata.ino()))
    }

    /// Without hard links.
    #[cfg(not(unix))]
    fn of(path: &Path, _: &File) -> io::Result<Self> {
        path.canonicalize().map(Self)
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

fn is_session(path: &Path) -> bool {
    has_extension(path, "hws")
}

/// Refuses a path whose extension names no format.
pub(super) fn check_extension(path: &Path) -> Result<(), Error> {
    if is_session(path) || has_extension(path, "json") {
        return Ok(());
    }
    let rule = format!("{} must end with .hws (a session) or .json (a Chrome trace)", path.display());
    Err(Error::invalid_argument("RecordOptions::trace_file", rule))
}

/// Creates the first of the default files of single instances that does not exist.
fn create_numbered() -> io::Result<(PathBuf, File)> {
    for number in 1_u64.. {
        let path = std::path::absolute(DEFAULT_FILE_OF_INSTANCE.replace('N', &number.to_string()))?;
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (path, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn program_name() -> String {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or(&program);
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use heapwright_trace::RecordReader;
    use heapwright_trace::session::{Action, Heap, HeapType, MAX_LIVE};
    use heapwright_trace::stream::NewHeap;

    use super::*;

    fn action(action: Action) -> Event {
        Event::Action { allocator: None, action }
    }

    fn new_heap(heap: Heap) -> Event {
        Event::CreateHeap(Box::new(NewHeap { heap, is_object: true, call: None }))
    }

    /// A recording that reaches a limit of its format stops, and readers accept the file.
    #[test]
    fn a_recording_beyond_a_limit_is_complete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("heaps.hws");
        let recorder = Recorder::open(Some(&path), RecordScope::PerInstance).expect("a file");
        for id in 0..=u64::from(MAX_LIVE) {
            let heap_type = HeapType::Default;
            let heap = Heap { id, size: 1, alignment: 1, heap_type, flags: 0, name: None };
            recorder.push(new_heap(heap));
        }
        recorder.flush();
        recorder.push(action(Action::DestroyHeap { heap: 0 }));
        recorder.remove_user();
        let mut reader = RecordReader::new(&path, File::open(&path).expect("written")).expect("a session");
        let count = reader.by_ref().inspect(|record| assert!(record.is_ok(), "{record:?}")).count();
        assert_eq!((count, reader.truncated_at()), (MAX_LIVE as usize, None));
    }

    /// The thread ends with the last user, and begins again with the next one.
    #[test]
    fn the_file_of_a_process_needs_no_thread_without_users() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("process.hws");
        let open = || Recorder::open(Some(&path), RecordScope::PerProcess).expect("a file");
        let has_writer = |recorder: &Recorder| recorder.users.lock().expect("no panic").writer.is_some();
        let records = || {
            let file = File::open(&path).expect("written");
            RecordReader::new(&path, file)
                .expect("a session")
                .inspect(|record| assert!(record.is_ok(), "{record:?}"))
                .count()
        };
        for round in 1..=3 {
            let (first, second) = (open(), open());
            assert!(Arc::ptr_eq(&first, &second) && has_writer(&first));
            let heap_type = HeapType::Default;
            let id = first.next_id();
            let heap = Heap { id, size: 1, alignment: 1, heap_type, flags: 0, name: None };
            first.push(new_heap(heap));
            first.remove_user();
            assert!(has_writer(&first));
            second.push(action(Action::DestroyHeap { heap: id }));
            second.remove_user();
            assert!(!has_writer(&second));
            assert_eq!(records(), 2 * round);
        }
    }

    /// A user that waits for the thread needs it, although it is not counted any more.
    #[test]
    fn the_thread_does_not_end_while_a_user_waits_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.hws");
        let open = || Recorder::open(Some(&path), RecordScope::PerProcess).expect("a file");
        let (first, second) = (open(), open());
        let the_thread_is_busy = second.shared.lock();
        let waiting = thread::spawn(move || first.remove_user());
        // Not found locked by chance, as between two statements.
        let mut locked = 0;
        while locked < 5 {
            match second.users.try_lock() {
                Ok(users) => {
                    assert_eq!(users.count, 2, "the other user waits, and the last one could end the thread")
                }
                Err(_) => locked += 1,
            }
            thread::sleep(Duration::from_millis(5));
        }
        drop(the_thread_is_busy);
        waiting.join().expect("no panic");
        second.remove_user();
        assert!(!second.shared.has_failed.load(Ordering::Relaxed));
    }

    fn contents(len: usize) -> Event {
        action(Action::Contents { allocation: 1, offset: 0, bytes: vec![0; len] })
    }

    #[test]
    fn the_bytes_in_the_queue_are_bounded() {
        let mut queue = Queue::default();
        let mut push = |event: Event| {
            let bytes = event.held_bytes();
            let has_room = queue.has_room_for(bytes);
            if has_room {
                queue.push(Entry { time_ns: 0, thread: 1, event }, bytes);
            }
            (has_room, queue.is_much())
        };
        assert_eq!(push(contents(WAKE_AT_BYTES - 8)), (true, false));
        assert_eq!(push(Event::Evict { heaps: vec![7] }), (true, true));
        assert!(push(Event::Submit { queue: 0, fence_value: 1, lists: vec![vec![7; 5], vec![7]] }).0);
        assert!(!push(contents(CAPACITY_BYTES - WAKE_AT_BYTES - 47)).0);
        assert!(push(contents(CAPACITY_BYTES - WAKE_AT_BYTES - 48)).0);
        assert!(push(action(Action::Frame)).0);
        assert!(!push(Event::MakeResident { heaps: vec![7] }).0);
        let mut entries = Vec::new();
        queue.take(&mut entries);
        assert_eq!(entries.len(), 5);
        // A single event may be larger, as it could not be recorded otherwise.
        assert!(queue.has_room_for(CAPACITY_BYTES + 1));
    }
}
