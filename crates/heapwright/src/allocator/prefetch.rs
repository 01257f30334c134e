//! Heaps that are created before they are needed.
//!
//! A heap made in advance joins the heaps of its kind as an empty one, and is kept or released as any other. Nobody waits for one
//! that is being made: an allocation that needs a heap meanwhile creates its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use heapwright_core::ByteSize;

use super::devices::Devices;
use super::heap_source::Terms;
use super::typed_heaps::{Sharing, TypedHeaps};

/// What is known of the heaps of one kind that are made in advance.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    /// Whether one is being made: no other is requested until it is there.
    is_pending: AtomicBool,
    misses: AtomicU64,
    eliminated: AtomicU64,
}

impl Prefetch {
    /// Waits for the heap that is being made, for tests: only then nothing changes any more.
    pub(super) fn wait(&self) {
        while self.is_pending.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    /// Counts a heap that was needed and had not been made in advance.
    pub(super) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the first use of a heap that had been made in advance.
    pub(super) fn count_eliminated(&self) {
        self.eliminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many heaps were needed and had not been made in advance, and how many had been.
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
    sharing: Sharing,
    size: ByteSize,
    terms: Terms,
}

impl Drop for Job {
    /// Also where the thread panics or has ended: the next heap may be requested.
    fn drop(&mut self) {
        self.heaps.prefetch.is_pending.store(false, Ordering::Release);
    }
}

impl Prefetcher {
    /// Starts the thread; `None`, and a warning, when the system has none.
    pub(super) fn start(devices: Devices) -> Option<Self> {
        let (jobs, queue) = channel::<Job>();
        let work = move || {
            for job in queue {
                let Job { heaps, sharing, size, terms } = &job;
                // What had room when it was requested may have none by now.
                let allocator = heaps.allocator.upgrade();
                if !allocator.is_some_and(|allocator| allocator.may_prefetch(heaps, *size, *terms)) {
                    continue;
                }
                match heaps.create_heap(&devices, *size, *terms) {
                    Ok(heap) => {
                        heap.mark_prefetched();
                        heaps.insert_prefetched(*sharing, heap);
                    }
                    // The allocation that needs one asks the device itself.
                    Err(refusal) => tracing::debug!(%size, ?refusal, "prefetching a heap failed"),
                }
            }
        };
        match std::thread::Builder::new().name("heapwright prefetch".into()).spawn(work) {
            Ok(thread) => Some(Self { jobs: Some(jobs), thread: Some(thread) }),
            Err(error) => {
                tracing::warn!(%error, "failed to spawn the heap prefetch thread; prefetching disabled");
                None
            }
        }
    }

    /// Requests a heap of this size for heaps of one kind, unless one is being made already. Never blocks.
    pub(super) fn request(&self, heaps: &Arc<TypedHeaps>, sharing: Sharing, size: ByteSize, terms: Terms) {
        if size > LARGEST || heaps.prefetch.is_pending.swap(true, Ordering::Acquire) {
            return;
        }
        let job = Job { heaps: Arc::clone(heaps), sharing, size, terms };
        // A job that cannot be sent is dropped.
        let _sent = self.jobs.as_ref().map(|jobs| jobs.send(job));
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
