//! Queues of the simulated GPU. Each has a thread, which performs its work in order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use heapwright_d3d12::{DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED};

use super::address_space::AddressSpace;
use super::execute::Executor;
use crate::ddi::DriverError;
use crate::ddi::command::{DriverQueue, RemovalSink, Work};

/// The interval at which a queue that waits for a fence checks whether it was ended.
const WAIT_SLICE: Duration = Duration::from_millis(20);

/// A queue of the simulated GPU.
pub(super) struct HostQueue {
    works: Mutex<Option<Sender<Work>>>,
    ended: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl HostQueue {
    pub(super) fn start(
        space: &Arc<AddressSpace>,
        removal: Arc<dyn RemovalSink>,
    ) -> Result<Self, DriverError> {
        let (works, received) = mpsc::channel();
        let ended = Arc::new(AtomicBool::new(false));
        let worker =
            Worker { executor: Executor::new(Arc::clone(space)), removal, ended: Arc::clone(&ended) };
        let none = DriverError::HostOutOfMemory { requested: heapwright_core::ByteSize::ZERO };
        let thread = std::thread::Builder::new()
            .name("heapwright queue".to_owned())
            .spawn(move || worker.run(&received))
            .map_err(|_| none)?;
        Ok(Self { works: Mutex::new(Some(works)), ended, thread: Mutex::new(Some(thread)) })
    }
}

impl DriverQueue for HostQueue {
    fn submit(&self, works: &mut dyn Iterator<Item = Work>) {
        let sender = self.works.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            for work in works {
                // Sending fails only after the device was lost.
                let _ = sender.send(work);
            }
        }
    }
}

impl Drop for HostQueue {
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

struct Worker {
    executor: Executor,
    removal: Arc<dyn RemovalSink>,
    ended: Arc<AtomicBool>,
}

impl Worker {
    fn run(self, works: &Receiver<Work>) {
        while let Ok(work) = works.recv() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.perform(work)));
            match done {
                Ok(Ok(())) => {}
                Ok(Err(message)) => return self.removal.remove(DXGI_ERROR_DEVICE_HUNG, message),
                Err(_panic) => {
                    let message = "a queue thread panicked; this is a bug in heapwright-runtime".to_owned();
                    return self.removal.remove(DXGI_ERROR_DEVICE_REMOVED, message);
                }
            }
        }
    }

    /// Performs one work item. The error is the reason for the loss of the device.
    fn perform(&self, work: Work) -> Result<(), String> {
        match work {
            Work::Execute(commands) => commands
                .iter()
                .try_for_each(|command| self.executor.execute(command))
                .map_err(|e| e.to_string()),
            Work::Ask(question) => question
                .ask()
                .iter()
                .try_for_each(|command| self.executor.execute(command))
                .map_err(|e| e.to_string()),
            Work::Signal(fence, value) => {
                fence.set(value);
                Ok(())
            }
            Work::Wait(wait) => {
                while !wait.block_for(WAIT_SLICE) && !self.ended.load(Ordering::Relaxed) {}
                Ok(())
            }
            Work::UpdateTileMappings { resource, mappings } => {
                self.executor.update_tile_mappings(&*resource, &mappings);
                Ok(())
            }
            Work::CopyTileMappings { target, source } => {
                self.executor.copy_tile_mappings((&*target.0, &target.1), (&*source.0, &source.1));
                Ok(())
            }
        }
    }
}
