//! Paging in on a thread, where the device cannot do it by itself (no `ID3D12Device3`).

use std::fmt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::paged_object::PagedObjects;
use super::shared::Shared;

/// How long the worker gives others to free memory before it asks again.
const RETRY: Duration = Duration::from_millis(1);

type Job = (PagedObjects, FenceValue);

/// A thread that calls `MakeResident`, one call after the other, and signals the paging fence behind each.
pub(super) struct Worker {
    jobs: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Worker {
    /// Starts the thread. Where there is none to be had, nothing can be paged in.
    pub(super) fn start(shared: &Shared) -> Self {
        let (sender, jobs) = mpsc::channel();
        let pager = WorkerThread {
            device: shared.device.clone(),
            fence: shared.paging_fence.clone(),
            shared: Weak::clone(&shared.this),
        };
        let thread = std::thread::Builder::new()
            .name("heapwright paging".to_owned())
            .spawn(move || pager.run(&jobs))
            .inspect_err(|error| tracing::error!(%error, "the system gave no thread for paging"))
            .ok();
        let jobs = Mutex::new(thread.is_some().then_some(sender));
        Self { jobs, thread: Mutex::new(thread) }
    }

    /// Has the thread make objects resident, and bring the paging fence to `value` then.
    pub(super) fn make_resident(&self, objects: PagedObjects, value: FenceValue) -> Result<(), HRESULT> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = jobs.as_ref().ok_or(E_FAIL)?;
        sender.send((objects, value)).map_err(|_| E_FAIL)
    }
}

struct WorkerThread {
    device: ID3D12Device,
    fence: ID3D12Fence,
    shared: Weak<Shared>,
}

impl WorkerThread {
    fn run(self, jobs: &Receiver<Job>) {
        while let Ok((objects, value)) = jobs.recv() {
            let hresult = self.make_resident(objects.as_slice());
            if hresult.is_err() {
                tracing::error!(
                    "what command lists wait for could not be made resident: {:#}",
                    hresult::Named(hresult)
                );
                if let Some(shared) = self.shared.upgrade() {
                    shared.note_failure(hresult);
                }
            }
            // Also after a failure: nobody waits for ever, and the manager refuses everything from now on.
            // SAFETY: a live COM object; values only go up.
            let signalled = unsafe { self.fence.Signal(value.get()) };
            if signalled.is_err() {
                tracing::error!("the paging fence could not be signalled: {:#}", hresult::Named(signalled));
            }
        }
    }

    /// As long as there is no memory, others are evicted; after a while without any it fails.
    fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> HRESULT {
        let mut since = Instant::now();
        loop {
            // SAFETY: live COM objects of the device.
            let hresult = unsafe { self.device.MakeResident(objects) };
            if hresult != E_OUTOFMEMORY {
                return hresult;
            }
            let Some(shared) = self.shared.upgrade() else { return hresult };
            let evicted = shared.evict_at_least([shared.evict_size; 2]);
            if evicted > ByteSize::ZERO {
                since = Instant::now();
            } else if since.elapsed() >= shared.max_stall {
                return hresult;
            } else {
                drop(shared);
                std::thread::sleep(RETRY);
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last reference to the manager may be the thread's own.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}
