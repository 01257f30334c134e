//! The paging thread behind `EnqueueMakeResident`.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use heapwright_d3d12::DXGI_ERROR_DEVICE_REMOVED;

use super::removal::Removal;
use crate::drivers::paging_work::PagingWork;
use crate::drivers::removal_sink::RemovalSink as _;
use crate::fence::Fence;
use crate::rules::Refusal;

/// One enqueued call: its time, the paging work, the device, which is removed if the work fails, and the fence and the
/// value to signal when it is done.
type Job = (Instant, Vec<PagingWork>, Arc<Removal>, (Arc<Fence>, u64));

/// Runs paging work and signals fences in the order of the calls. The thread starts with the first call and ends with
/// the device.
#[derive(Default)]
pub(super) struct PagingQueue {
    jobs: Mutex<Option<Sender<Job>>>,
}

/// The next place in the paging queue: no other call is enqueued while it exists.
pub(super) struct NextJob<'a> {
    sender: Sender<Job>,
    _jobs: MutexGuard<'a, Option<Sender<Job>>>,
}

impl PagingQueue {
    /// Waits for the calls that take their place, and takes the next one. Starts the thread if there is none.
    pub(super) fn next(&self) -> Result<NextJob<'_>, Refusal> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*jobs {
            Some(sender) => sender,
            None => jobs.insert(start()?),
        };
        Ok(NextJob { sender: sender.clone(), _jobs: jobs })
    }
}

impl NextJob<'_> {
    /// Enqueues paging work. When it is done, the paging thread sets `fence` to `value`. If it fails, the thread
    /// removes the device, as the call has returned already. Returns the work if it cannot be enqueued.
    pub(super) fn enqueue(
        self,
        works: Vec<PagingWork>,
        removal: &Arc<Removal>,
        fence: Arc<Fence>,
        value: u64,
    ) -> Result<(), (Refusal, Vec<PagingWork>)> {
        self.sender
            .send((Instant::now(), works, Arc::clone(removal), (fence, value)))
            .map_err(|job| (Refusal::out_of_memory("the paging thread has exited"), job.0.1))
    }
}

fn start() -> Result<Sender<Job>, Refusal> {
    let (sender, received) = mpsc::channel::<Job>();
    let page = move || {
        // Time at which the simulated paging engine completes the work received so far, regardless of delays of this
        // thread.
        let mut end = Instant::now();
        while let Ok((enqueued, works, removal, (fence, value))) = received.recv() {
            let (ended, paged) = PagingWork::run_all(works, end.max(enqueued));
            end = ended;
            match paged {
                Ok(()) => fence.set(value),
                Err(error) => {
                    removal.remove(DXGI_ERROR_DEVICE_REMOVED, format!("EnqueueMakeResident: {error}"));
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("heapwright paging".to_owned())
        .spawn(page)
        .map_err(|error| Refusal::out_of_memory(format!("failed to spawn the paging thread: {error}")))?;
    Ok(sender)
}
