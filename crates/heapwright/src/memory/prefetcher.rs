//! The thread that creates heaps before they are needed.
//!
//! A prefetched heap is added to the heaps of its kind as an empty one, and is kept or released like any other. No
//! thread waits for a heap that is being prefetched: an allocation that needs a heap meanwhile creates its own.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use heapwright_core::ByteSize;

use super::typed_heaps::{Sharing, TypedHeaps};
use crate::plan::Constraints;

/// Larger heaps are not prefetched. GPGMM has the same limit.
const LARGEST: ByteSize = ByteSize::from_mib(64);

/// The thread that prefetches heaps; it ends with the allocator.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Job {
    heaps: Arc<TypedHeaps>,
    sharing: Sharing,
    size: ByteSize,
    constraints: Constraints,
}

impl Drop for Job {
    /// Also if the thread panics or has ended, so that the next heap can be requested.
    fn drop(&mut self) {
        self.heaps.prefetch.end();
    }
}

impl Prefetcher {
    /// Starts the thread. Returns `None`, with a warning, if the thread cannot be created.
    pub(crate) fn start() -> Option<Self> {
        let (jobs, queue) = channel::<Job>();
        let work = move || {
            for job in queue {
                let Job { heaps, sharing, size, constraints } = &job;
                let source = &heaps.source;
                // The budget may have changed since the request.
                let is_wanted = source.allocator.strong_count() > 0;
                if !is_wanted || !source.may_prefetch(heaps.desc.segment_group, *size, *constraints) {
                    continue;
                }
                match heaps.create_heap(*size, *constraints) {
                    Ok(heap) => {
                        heap.mark_prefetched();
                        heaps.insert_prefetched(*sharing, heap);
                    }
                    // The allocation that needs the heap calls the device itself.
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
        let job = Job { heaps: Arc::clone(heaps), sharing, size, constraints };
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
