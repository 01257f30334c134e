//! The thread that creates heaps before they are needed.
//!
//! A prefetched heap is added to the heaps of its kind as an empty one, and is kept or released like any other. No
//! thread waits for a heap that is being prefetched: an allocation that needs a heap meanwhile creates its own.
//!
//! While a recording is made, the next call that allocates, releases heaps or counts a frame counts and adds the heap, so that a replay
//! can do the same at the same place.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use heapwright_core::ByteSize;

use super::prefetch::CreatedHeap;
use super::refusal::Refusal;
use super::typed_heaps::{Sharing, TypedHeaps};
use crate::Error;
use crate::plan::Constraints;

/// Larger heaps are not prefetched. GPGMM has the same limit.
const LARGEST: ByteSize = ByteSize::from_mib(64);

/// The thread that prefetches heaps; it ends with the allocator.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Where there are heaps that were created while a recording is made.
    created: Arc<Mutex<Vec<Weak<TypedHeaps>>>>,
}

#[derive(Debug)]
struct Job {
    heaps: Weak<TypedHeaps>,
    sharing: Sharing,
    size: ByteSize,
    constraints: Constraints,
}

impl Job {
    /// Creates the heap if it is still wanted. While a recording is made, it is only created.
    fn carry_out(&self, created: &Mutex<Vec<Weak<TypedHeaps>>>) -> Result<(), Refusal> {
        let &Self { ref heaps, sharing, size, constraints } = self;
        let Some(heaps) = heaps.upgrade() else { return Ok(()) };
        let source = &heaps.source;
        // The budget may have changed since the request.
        let is_wanted = source.allocator.strong_count() > 0;
        if !is_wanted || !source.may_prefetch(heaps.desc.segment_group, size, constraints) {
            return Ok(());
        }
        let Ok(_until_created) = source.charge_budget(heaps.desc.segment_group, size, constraints) else {
            return Ok(());
        };
        let create = || heaps.create_d3d12_heap(size);
        if source.recording.is_none() {
            return heaps.insert_prefetched(sharing, size, constraints, create);
        }
        let heap = create().map_err(|hresult| Error::device("ID3D12Device::CreateHeap", hresult))?;
        heaps.prefetch.add_created(CreatedHeap { sharing, size, constraints, heap });
        created.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&heaps));
        Ok(())
    }
}

impl Drop for Job {
    /// Also if the thread panics or has ended, so that the next heap can be requested.
    fn drop(&mut self) {
        if let Some(heaps) = self.heaps.upgrade() {
            heaps.prefetch.end();
        }
    }
}

impl Prefetcher {
    /// Starts the thread. Returns `None`, with a warning, if the thread cannot be created.
    pub(crate) fn start() -> Option<Self> {
        let (jobs, queue) = channel::<Job>();
        let created = Arc::<Mutex<Vec<Weak<TypedHeaps>>>>::default();
        let of_thread = Arc::clone(&created);
        let work = move || {
            for job in queue {
                if let Err(refusal) = job.carry_out(&of_thread) {
                    // The allocation that needs the heap calls the device itself.
                    tracing::debug!(size = %job.size, ?refusal, "prefetching a heap failed");
                }
            }
        };
        match std::thread::Builder::new().name("heapwright prefetch".into()).spawn(work) {
            Ok(thread) => Some(Self { jobs: Some(jobs), thread: Some(thread), created }),
            Err(error) => {
                tracing::warn!(%error, "failed to spawn the heap prefetch thread; prefetching disabled");
                None
            }
        }
    }

    /// Adds the heaps that were created while a recording is made.
    pub(crate) fn insert_created(&self) {
        let created = std::mem::take(&mut *self.created.lock().unwrap_or_else(PoisonError::into_inner));
        for heaps in created.iter().filter_map(Weak::upgrade) {
            heaps.insert_created();
        }
    }

    /// Requests a heap of this size for heaps of one kind, unless a request is in progress. Never blocks.
    pub(crate) fn request(
        &self,
        heaps: &Arc<TypedHeaps>,
        sharing: Sharing,
        size: ByteSize,
        constraints: Constraints,
    ) {
        if size > LARGEST || !heaps.prefetch.begin() {
            return;
        }
        let job = Job { heaps: Arc::downgrade(heaps), sharing, size, constraints };
        // A job that cannot be sent is dropped.
        let _sent = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }
}

impl Drop for Prefetcher {
    fn drop(&mut self) {
        // Dropping the sender ends the queue, and thereby the thread.
        drop(self.jobs.take());
        let Some(thread) = self.thread.take() else { return };
        if thread.thread().id() != std::thread::current().id() {
            let _panicked = thread.join();
        }
    }
}
