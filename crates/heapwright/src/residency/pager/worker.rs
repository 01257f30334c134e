//! Makes heaps resident on a thread, if the device cannot do so asynchronously (no `ID3D12Device3`).

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use heapwright_core::{ByteSize, FenceValue};
use heapwright_d3d12::*;
use windows_core::HRESULT;

use super::Pager;
use super::gpu_wait::StallTimer;
use crate::residency::device::PagedObjects;

/// How long the worker waits for other threads to free memory before it tries again.
const RETRY: Duration = Duration::from_millis(1);

type Job = (PagedObjects, FenceValue);

/// A thread that calls `MakeResident`, one call after the other, and signals the paging fence after each.
pub(super) struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread, which gives up if nothing could be evicted for `max_stall`. If the thread cannot be created,
    /// nothing can be made resident.
    pub(super) fn start(
        device: &ID3D12Device,
        fence: &ID3D12Fence,
        max_stall: Duration,
        pager: Weak<Pager>,
    ) -> Self {
        let (sender, jobs) = mpsc::channel();
        let worker = WorkerThread { device: device.clone(), fence: fence.clone(), max_stall, pager };
        let thread = std::thread::Builder::new()
            .name("heapwright paging".to_owned())
            .spawn(move || worker.run(&jobs))
            .inspect_err(|error| tracing::error!(%error, "failed to spawn the paging thread"))
            .ok();
        Self { jobs: thread.is_some().then_some(sender), thread }
    }

    /// Makes objects resident on the thread, which then signals `value` on the paging fence.
    pub(super) fn make_resident(&self, objects: PagedObjects, value: FenceValue) -> HRESULT {
        let is_sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((objects, value)).is_ok());
        if is_sent { S_OK } else { E_FAIL }
    }
}

struct WorkerThread {
    device: ID3D12Device,
    fence: ID3D12Fence,
    max_stall: Duration,
    pager: Weak<Pager>,
}

impl WorkerThread {
    fn run(self, jobs: &Receiver<Job>) {
        while let Ok((objects, value)) = jobs.recv() {
            let hresult = self.make_resident(objects.as_slice());
            if hresult.is_err() {
                tracing::error!(
                    "MakeResident failed for heaps that submitted command lists use: {:#}",
                    hresult::Named(hresult)
                );
                if let Some(pager) = self.pager.upgrade() {
                    pager.failure.store(hresult.0, Ordering::Relaxed);
                }
            }
            // Also after a failure, so that no thread waits forever. The manager rejects all calls from then on.
            // SAFETY: a live COM object; values only go up.
            let signalled = unsafe { self.fence.Signal(value.get()) };
            if signalled.is_err() {
                tracing::error!("signalling the paging fence failed: {:#}", hresult::Named(signalled));
            }
        }
    }

    /// Makes objects resident. While the device is out of memory, others are evicted; fails if nothing could be evicted
    /// for some time.
    fn make_resident(&self, objects: &[Option<ID3D12Pageable>]) -> HRESULT {
        let mut freed = ByteSize::ZERO;
        let mut stall = StallTimer::new(self.max_stall, 0);
        loop {
            // SAFETY: live COM objects of the device.
            let hresult = unsafe { self.device.MakeResident(objects) };
            if hresult != E_OUTOFMEMORY {
                return hresult;
            }
            let Some(pager) = self.pager.upgrade() else { return hresult };
            let more = pager.evict_at_least([pager.evict_size; 2]);
            drop(pager);
            freed = freed.saturating_add(more);
            if stall.has_expired(freed.get()) {
                return hresult;
            }
            if more.is_zero() {
                std::thread::sleep(RETRY);
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // The thread itself may hold the last reference to the owner.
        if let Some(thread) =
            self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            let _ = thread.join();
        }
    }
}
