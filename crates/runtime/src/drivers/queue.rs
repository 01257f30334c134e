//! Queues. Each has a thread, which performs its work in order.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use heapwright_d3d12::DXGI_ERROR_DEVICE_REMOVED;

use super::driver::GpuMemory;
use super::execute;
use super::page_fault::PageFault;
use crate::ddi::DriverError;
use crate::drivers::command::{Command, Work};
use crate::drivers::removal_sink::RemovalSink;

/// The interval at which a queue that waits for a fence checks whether it was ended.
const WAIT_SLICE: Duration = Duration::from_millis(20);

/// A queue. Dropping it performs what was submitted, up to a wait for a fence that is not released by then, and blocks
/// until that is done.
pub(crate) struct DriverQueue {
    works: Mutex<Option<Sender<Work>>>,
    /// Set when the queue is dropped: waits are given up.
    ended: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl DriverQueue {
    /// Starts a queue that works asynchronously.
    ///
    /// # Errors
    ///
    /// [`DriverError::HostOutOfMemory`] if the operating system cannot create a thread.
    pub(crate) fn start(
        memory: Box<dyn GpuMemory + Send>,
        removal: Arc<dyn RemovalSink>,
    ) -> Result<Self, DriverError> {
        let (works, received) = mpsc::channel();
        let ended = Arc::new(AtomicBool::new(false));
        let worker = Worker { memory, removal, ended: Arc::clone(&ended), has_unfinished: false };
        let none = DriverError::HostOutOfMemory { requested: heapwright_core::ByteSize::ZERO };
        let thread = std::thread::Builder::new()
            .name("heapwright queue".to_owned())
            .spawn(move || worker.run(&received))
            .map_err(|_| none)?;
        Ok(Self { works: Mutex::new(Some(works)), ended, thread: Mutex::new(Some(thread)) })
    }

    /// Appends consecutive work and returns without waiting for it.
    pub(crate) fn submit(&self, works: &mut dyn Iterator<Item = Work>) {
        let sender = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            for work in works {
                // Sending fails only after the device was lost.
                let _ = sender.send(work);
            }
        }
    }
}

impl Drop for DriverQueue {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        drop(self.works.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last reference may be dropped by work of this queue.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// The next task of a queue's thread.
enum Step {
    Work(Work),
    /// Finishes what the memory deferred.
    Finish,
}

struct Worker {
    memory: Box<dyn GpuMemory + Send>,
    removal: Arc<dyn RemovalSink>,
    ended: Arc<AtomicBool>,
    /// Whether commands were executed since the memory last finished.
    has_unfinished: bool,
}

impl Worker {
    fn run(mut self, works: &Receiver<Work>) {
        while let Some(work) = self.next(works) {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.perform(work)));
            match done {
                Ok(Ok(ControlFlow::Continue(()))) => {}
                Ok(Ok(ControlFlow::Break(()))) => return,
                Ok(Err(fault)) => return self.removal.remove(fault.reason(), fault.to_string()),
                Err(_panic) => {
                    let message = "a queue thread panicked; this is a bug in heapwright-runtime".to_owned();
                    return self.removal.remove(DXGI_ERROR_DEVICE_REMOVED, message);
                }
            }
        }
    }

    /// Waits for work, and finishes the work before if there is none yet. Returns `None` at the end of the queue.
    fn next(&mut self, works: &Receiver<Work>) -> Option<Step> {
        match works.try_recv() {
            Ok(work) => Some(Step::Work(work)),
            Err(_) if self.has_unfinished => Some(Step::Finish),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => works.recv().ok().map(Step::Work),
        }
    }

    /// Performs one step. Breaks at a wait that is given up. The error is the reason for the loss of the device.
    fn perform(&mut self, step: Step) -> Result<ControlFlow<()>, PageFault> {
        let Step::Work(work) = step else { return self.finish().map(ControlFlow::Continue) };
        match work {
            Work::Execute(commands) => self.execute(&commands)?,
            Work::Ask(question) => {
                self.finish()?;
                self.execute(&question.ask())?;
            }
            Work::Signal(fence, value) => {
                self.finish()?;
                fence.set(value);
            }
            Work::Wait(wait) => {
                self.finish()?;
                while !wait.block_for(WAIT_SLICE) {
                    if self.ended.load(Ordering::Relaxed) {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            Work::UpdateTileMappings { resource, mappings } => {
                self.finish()?;
                execute::update_tile_mappings(&resource, &mappings);
            }
            Work::CopyTileMappings { target, source } => {
                self.finish()?;
                execute::copy_tile_mappings((&target.0, &target.1), (&source.0, &source.1));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn execute(&mut self, commands: &[Command]) -> Result<(), PageFault> {
        self.has_unfinished = true;
        commands.iter().try_for_each(|command| execute::execute(&mut *self.memory, command))
    }

    fn finish(&mut self) -> Result<(), PageFault> {
        self.has_unfinished = false;
        self.memory.finish()
    }
}
