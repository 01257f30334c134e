//! The state of prefetching for the heaps of one kind.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The state of prefetching for the heaps of one kind.
#[derive(Default)]
pub(crate) struct Prefetch {
    /// Whether a heap is being created. No other is requested until then.
    is_pending: Mutex<bool>,
    ended: Condvar,
    misses: AtomicU64,
    eliminated: AtomicU64,
}

impl Prefetch {
    /// Begins a prefetch; returns `false` if one is in progress.
    pub(crate) fn begin(&self) -> bool {
        !mem::replace(&mut *self.is_pending.lock().unwrap_or_else(PoisonError::into_inner), true)
    }

    pub(crate) fn end(&self) {
        *self.is_pending.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.ended.notify_all();
    }

    /// Waits for the heap that is being created. For tests, which need a state that does not change.
    pub(crate) fn wait(&self) {
        let is_pending = self.is_pending.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_while(is_pending, |is_pending| *is_pending));
    }

    /// Counts a heap that was needed and had not been prefetched.
    pub(crate) fn count_miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the first use of a prefetched heap.
    pub(crate) fn count_eliminated(&self) {
        self.eliminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of heaps that were needed and had not been prefetched, and the number of those that had been.
    pub(crate) fn misses_and_eliminated(&self) -> (u64, u64) {
        (self.misses.load(Ordering::Relaxed), self.eliminated.load(Ordering::Relaxed))
    }
}

/// The thread that prefetches heaps; it ends with the allocator.
pub(crate) struct Prefetcher {
    jobs: Arc<Jobs>,
    thread: Option<JoinHandle<()>>,
}

/// A heap to be created, and the state of its kind. Whoever waits for its end may then drop the heaps, and nothing else
/// keeps them alive.
type Job = (Box<dyn FnOnce() + Send>, Pending);

/// A prefetch in progress. Dropping this ends it, also if the thread panics or has ended, so that the next heap can be
/// requested.
struct Pending(Arc<Prefetch>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The jobs that wait for the thread. A channel of the standard library takes 27 KB of a program.
struct Jobs {
    /// `None` once no job is carried out any more.
    waiting: Mutex<Option<VecDeque<Job>>>,
    changed: Condvar,
}

impl Default for Jobs {
    fn default() -> Self {
        Self { waiting: Mutex::new(Some(VecDeque::new())), changed: Condvar::new() }
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Job>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, or drops it after the end.
    fn add(&self, job: Job) {
        if let Some(waiting) = &mut *self.lock() {
            waiting.push_back(job);
        }
        self.changed.notify_all();
    }

    /// Waits for a job. Returns `None` after the end.
    fn next(&self) -> Option<Job> {
        let none = |waiting: &mut Option<VecDeque<Job>>| waiting.as_ref().is_some_and(VecDeque::is_empty);
        let waiting = self.changed.wait_while(self.lock(), none);
        waiting.unwrap_or_else(PoisonError::into_inner).as_mut()?.pop_front()
    }

    /// Drops the jobs that wait, and lets the thread end.
    fn end(&self) {
        let ended = self.lock().take();
        self.changed.notify_all();
        drop(ended);
    }
}

/// Ends the jobs with the thread, also if it panics.
struct EndsJobs(Arc<Jobs>);

impl Drop for EndsJobs {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Prefetcher {
    /// Starts the thread. Returns `None`, with a warning, if the thread cannot be created.
    pub(crate) fn start() -> Option<Self> {
        let jobs = Arc::<Jobs>::default();
        let queue = EndsJobs(Arc::clone(&jobs));
        let work = move || {
            while let Some((create, _pending)) = queue.0.next() {
                create();
            }
        };
        match std::thread::Builder::new().name("heapwright prefetch".into()).spawn(work) {
            Ok(thread) => Some(Self { jobs, thread: Some(thread) }),
            Err(error) => {
                tracing::warn!(%error, "failed to spawn the heap prefetch thread; prefetching disabled");
                None
            }
        }
    }

    /// Has the thread create a heap, unless one of its kind is being created. If calls must be repeatable, `create` is
    /// called before this returns.
    pub(crate) fn request(
        &self,
        prefetch: &Arc<Prefetch>,
        is_repeatable: bool,
        create: impl FnOnce() + Send + 'static,
    ) {
        if !prefetch.begin() {
            return;
        }
        let pending = Pending(Arc::clone(prefetch));
        if is_repeatable {
            create();
        } else {
            self.jobs.add((Box::new(create), pending));
        }
    }
}

impl Drop for Prefetcher {
    fn drop(&mut self) {
        self.jobs.end();
        let Some(thread) = self.thread.take() else { return };
        if thread.thread().id() != std::thread::current().id() {
            let _panicked = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(prefetch: &Arc<Prefetch>) -> Job {
        assert!(prefetch.begin(), "another heap is being created");
        (Box::new(|| ()), Pending(Arc::clone(prefetch)))
    }

    #[test]
    fn jobs_are_taken_in_order_until_the_end_and_then_dropped() {
        let (first, second, third) = (Arc::default(), Arc::default(), Arc::default());
        let jobs = Jobs::default();
        jobs.add(job(&first));
        jobs.add(job(&second));
        let taken = jobs.next().expect("two jobs wait");
        assert!(Arc::ptr_eq(&taken.1.0, &first));
        assert!(!second.begin());
        jobs.end();
        assert!(jobs.next().is_none());
        jobs.add(job(&third));
        assert!(second.begin() && third.begin(), "jobs that are not carried out end");
        assert!(!first.begin());
        drop(taken);
        assert!(first.begin());
    }
}
