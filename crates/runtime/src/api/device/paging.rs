//! The paging thread behind `EnqueueMakeResident`.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::ddi::PagingWork;
use crate::fence::Fence;
use crate::rules::Refusal;

/// One enqueued call: its time, the paging work, and the fence and the value to signal when the work is done.
type Job = (Instant, Vec<PagingWork>, Arc<Fence>, u64);

/// Runs paging work and signals fences in the order of the calls. The thread starts with the first call and ends with
/// the device.
#[derive(Default)]
pub(super) struct PagingQueue {
    jobs: Mutex<Option<Sender<Job>>>,
}

impl PagingQueue {
    /// Enqueues paging work. When it is done, the paging thread sets `fence` to `value`.
    pub(super) fn enqueue(
        &self,
        works: Vec<PagingWork>,
        fence: Arc<Fence>,
        value: u64,
    ) -> Result<(), Refusal> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &*jobs {
            Some(sender) => sender,
            None => jobs.insert(start()?),
        };
        sender
            .send((Instant::now(), works, fence, value))
            .map_err(|_| Refusal::out_of_memory("the paging thread has exited"))
    }
}

fn start() -> Result<Sender<Job>, Refusal> {
    let (sender, received) = mpsc::channel::<Job>();
    let page = move || {
        // Time at which the simulated paging engine completes the work received so far, regardless of delays of this
        // thread.
        let mut end = Instant::now();
        while let Ok((enqueued, works, fence, value)) = received.recv() {
            end = PagingWork::run_all(works, end.max(enqueued));
            fence.set(value);
        }
    };
    std::thread::Builder::new()
        .name("heapwright paging".to_owned())
        .spawn(page)
        .map_err(|error| Refusal::out_of_memory(format!("failed to spawn the paging thread: {error}")))?;
    Ok(sender)
}
