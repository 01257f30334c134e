//! Heaps that are created before they are needed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use heapwright_core::ByteSize;

use super::devices::Devices;
use super::heap::Heap;
use super::heap_source::Terms;
use super::typed_heaps::TypedHeaps;

/// The heap that a heaps had made in advance: one at a time.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    state: Mutex<State>,
    arrived: Condvar,
    misses: AtomicU64,
    eliminated: AtomicU64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// The worker is at it.
    Pending,
    Ready(Arc<Heap>),
}

impl Prefetch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one can be started; the caller then starts it.
    fn begin(&self) -> bool {
        let mut state = self.state();
        let is_idle = matches!(*state, State::Idle);
        if is_idle {
            *state = State::Pending;
        }
        is_idle
    }

    /// What came of it. A heap that could not be had leaves no trace: the next allocation asks the device itself.
    fn finish(&self, heap: Option<Arc<Heap>>) {
        *self.state() = heap.map_or(State::Idle, State::Ready);
        self.arrived.notify_all();
    }

    /// The heap, if its size is right; waits for it while it is being made. Another size is given back to the device.
    pub(super) fn take(&self, at_least: ByteSize, wanted: ByteSize) -> Option<Arc<Heap>> {
        let mut state = self.state();
        if matches!(*state, State::Idle) {
            drop(state);
            self.misses.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        while matches!(*state, State::Pending) {
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let ready = std::mem::take(&mut *state);
        drop(state);
        let fits = |heap: &Arc<Heap>| heap.size() >= at_least && heap.size() <= wanted;
        match ready {
            State::Ready(heap) if fits(&heap) => {
                self.eliminated.fetch_add(1, Ordering::Relaxed);
                Some(heap)
            }
            State::Ready(_) | State::Idle | State::Pending => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Gives the heap back to the device, and answers how many bytes it had; waits for it while it is being made.
    pub(super) fn give_up(&self) -> ByteSize {
        let mut state = self.state();
        while matches!(*state, State::Pending) {
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::take(&mut *state) {
            State::Ready(heap) => {
                drop(state);
                heap.size()
            }
            before => {
                *state = before;
                ByteSize::ZERO
            }
        }
    }

    /// Heaps that wait, and their bytes.
    pub(super) fn held(&self) -> [u64; 2] {
        match &*self.state() {
            State::Ready(heap) => [1, heap.size().get()],
            State::Idle | State::Pending => [0, 0],
        }
    }

    /// Heaps that were needed and not there, and those that were.
    pub(super) fn misses_and_eliminated(&self) -> (u64, u64) {
        (self.misses.load(Ordering::Relaxed), self.eliminated.load(Ordering::Relaxed))
    }
}

/// Heaps larger than this are not made in advance (GPGMM's bound as well).
const LARGEST: ByteSize = ByteSize::from_mib(64);

/// The thread that creates heaps in advance; it ends with the allocator.
#[derive(Debug)]
pub(super) struct Prefetcher {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Job {
    heaps: Arc<TypedHeaps>,
    size: ByteSize,
    terms: Terms,
}

impl Prefetcher {
    /// Starts the thread; `None`, and a warning, when the system has none.
    pub(super) fn start(devices: Devices) -> Option<Self> {
        let (jobs, queue) = channel::<Job>();
        let work = move || {
            for Job { heaps, size, terms } in queue {
                let made = heaps.create_heap(&devices, size, terms);
                if let Err(refusal) = &made {
                    tracing::debug!(%size, ?refusal, "no heap could be made in advance");
                }
                heaps.prefetch.finish(made.ok());
                heaps.note_change();
            }
        };
        match std::thread::Builder::new().name("heapwright prefetch".into()).spawn(work) {
            Ok(thread) => Some(Self { jobs: Some(jobs), thread: Some(thread) }),
            Err(error) => {
                tracing::warn!(%error, "no thread to make heaps in advance");
                None
            }
        }
    }

    /// Has a heap of this size made for a heaps, unless one is already.
    pub(super) fn request(&self, heaps: &Arc<TypedHeaps>, size: ByteSize, terms: Terms) {
        if size > LARGEST || !heaps.prefetch.begin() {
            return;
        }
        let job = Job { heaps: Arc::clone(heaps), size, terms };
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            heaps.prefetch.finish(None);
        }
    }
}

impl Drop for Prefetcher {
    fn drop(&mut self) {
        // The queue ends when its sender does, and the thread with it.
        drop(self.jobs.take());
        let Some(thread) = self.thread.take() else { return };
        if thread.thread().id() != std::thread::current().id() {
            let _panicked = thread.join();
        }
    }
}
