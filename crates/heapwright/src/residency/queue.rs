//! Queues that a manager has seen: a fence for each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use heapwright_core::FenceValue;
use heapwright_core::residency::QueueSlot;
use heapwright_d3d12::*;
use windows_core::Interface;

use crate::Error;

/// A queue, and the fence that says how far it has come.
#[derive(Debug)]
pub(super) struct ManagedQueue {
    /// Held, so that its address is not another queue's while it is known.
    pub(super) queue: ID3D12CommandQueue,
    pub(super) slot: QueueSlot,
    pub(super) fence: ID3D12Fence,
    /// The last value that the queue was told to signal. Held while lists are handed over, so that values are signalled in their order.
    last: Mutex<FenceValue>,
}

impl ManagedQueue {
    pub(super) fn lock(&self) -> MutexGuard<'_, FenceValue> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the GPU has come.
    #[inline]
    pub(super) fn completed(&self) -> FenceValue {
        // SAFETY: a live COM object.
        FenceValue::new(unsafe { self.fence.GetCompletedValue() })
    }

    /// Whether nobody but the manager has a reference to the queue.
    fn is_abandoned(&self) -> bool {
        let queue = self.queue.clone();
        let (table, raw) = (queue.vtable().base__.base__.base__.base__.Release, queue.into_raw());
        // SAFETY: the reference that was just added is given back, and the answer is what is left.
        unsafe { table(raw) == 1 }
    }
}

/// The queues, by the address of the object.
#[derive(Debug, Default)]
pub(super) struct ManagedQueues {
    queues: RwLock<Vec<Arc<ManagedQueue>>>,
}

impl ManagedQueues {
    /// The queue, if it is known. O(queues).
    #[inline]
    pub(super) fn find(&self, queue: &ID3D12CommandQueue) -> Option<Arc<ManagedQueue>> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues.iter().find(|known| known.queue.as_raw() == queue.as_raw()).map(Arc::clone)
    }

    /// Adds a queue, unless somebody was quicker. Queues that nobody else holds any longer are forgotten: `forget` is told.
    pub(super) fn add(
        &self,
        device: &ID3D12Device,
        queue: &ID3D12CommandQueue,
        initial: FenceValue,
        new_slot: impl FnOnce() -> QueueSlot,
        mut forget: impl FnMut(QueueSlot),
    ) -> Result<Arc<ManagedQueue>, Error> {
        // SAFETY: a live COM object, and a result of the interface that is asked for.
        let fence: Result<ID3D12Fence, _> =
            unsafe { device.CreateFence(initial.get(), D3D12_FENCE_FLAG_NONE) };
        let fence = fence.map_err(|error| Error::device("ID3D12Device::CreateFence", error.code()))?;
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = queues.iter().find(|known| known.queue.as_raw() == queue.as_raw()) {
            return Ok(Arc::clone(known));
        }
        let mut abandoned = Vec::new();
        queues.retain(|known| {
            // Whoever submits holds a second reference and perhaps the lock, and waits for the queues: so the reference comes first.
            let goes =
                Arc::strong_count(known) == 1 && known.completed() >= *known.lock() && known.is_abandoned();
            if goes {
                forget(known.slot);
                abandoned.push(Arc::clone(known));
            }
            !goes
        });
        let known = Arc::new(ManagedQueue {
            queue: queue.clone(),
            slot: new_slot(),
            fence,
            last: Mutex::new(initial),
        });
        queues.push(Arc::clone(&known));
        drop(queues);
        // Without the lock: these are the last references to queues.
        drop(abandoned);
        Ok(known)
    }

    /// Calls `each` for all of them.
    pub(super) fn for_each(&self, mut each: impl FnMut(&ManagedQueue)) {
        for queue in self.queues.read().unwrap_or_else(PoisonError::into_inner).iter() {
            each(queue);
        }
    }

    /// The queue in a slot.
    pub(super) fn in_slot(&self, slot: QueueSlot) -> Option<Arc<ManagedQueue>> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues.iter().find(|known| known.slot == slot).map(Arc::clone)
    }
}
