//! Paging in behind the application's back: the thread behind `EnqueueMakeResident`.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::ddi::PagingWork;
use crate::fence::Fence;
use crate::rules::Refusal;

/// What one call enqueued: when, memory to page in, and what to signal then.
type Job = (Instant, Vec<PagingWork>, Arc<Fence>, u64);

/// Pages in and signals, in the order of the calls. The thread begins with the first call and ends with the device.
#[derive(Default)]
pub(super) struct PagingQueue {
    jobs: Mutex<Option<Sender<Job>>>,
}

impl PagingQueue {
    /// Pages in and then sets `fence` to `value`, on the paging thread.
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
            .map_err(|_| Refusal::out_of_memory("the paging thread has ended"))
    }
}

fn start() -> Result<Sender<Job>, Refusal> {
    let (sender, received) = mpsc::channel::<Job>();
    let page = move || {
        // When the engine is done with what came so far, however late this thread is.
        let mut end = Instant::now();
        while let Ok((enqueued, works, fence, value)) = received.recv() {
            end = PagingWork::run_all(works, end.max(enqueued));
            fence.set(value);
        }
    };
    std::thread::Builder::new()
        .name("heapwright paging".to_owned())
        .spawn(page)
        .map_err(|error| Refusal::out_of_memory(format!("the system gave no thread for paging: {error}")))?;
    Ok(sender)
}
