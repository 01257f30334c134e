//! The queues that a manager has used, with a fence for each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use heapwright_core::FenceValue;
use heapwright_core::residency::{ManagedHeapId, QueueSlot, UnknownHeap};
use heapwright_d3d12::*;
use windows_core::Interface;

use super::device::{ManagedDevice, completed, create_fence, next_value};
use crate::Error;

/// A queue, and the fence that the manager signals on it.
pub(super) struct ManagedQueue {
    /// Held so that no other queue gets the same address while the entry exists.
    pub(super) queue: ID3D12CommandQueue,
    pub(super) slot: QueueSlot,
    pub(super) fence: ID3D12Fence,
    state: Mutex<QueueState>,
}

/// The state of a queue's current submission. Locked while lists are submitted, so that fence values are signaled in
/// order.
pub(super) struct QueueState {
    /// The last value that the queue was told to signal.
    pub(super) last: FenceValue,
    /// The value up to which submissions do not read the fence.
    unread: FenceValue,
    /// The heaps of the submission; reused, so that submitting allocates nothing in the steady state.
    pub(super) heaps: SubmittedHeaps,
}

/// The number of submissions from one that reads the queue's fence to the next. The GPU writes the fence, so that
/// reading it is slow; paging reads it before it decides.
const SUBMISSIONS_UNREAD: u64 = 8;

/// The lock of a queue.
pub(super) type QueueGuard<'a> = MutexGuard<'a, QueueState>;

/// The heaps that the command lists of a submission use, copied from the residency lists, so that later changes of
/// these do not matter.
#[derive(Default)]
pub(super) struct SubmittedHeaps {
    /// The heaps of one list after the other.
    pub(super) heaps: Vec<ManagedHeapId>,
    /// The end of each list in `heaps`.
    pub(super) list_ends: Vec<usize>,
    /// Number of lists that were removed because they are executed.
    pub(super) executed: usize,
}

impl SubmittedHeaps {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.heaps.clear();
        self.list_ends.clear();
        self.executed = 0;
    }

    /// Adds the heaps of another list.
    #[inline]
    pub(super) fn push_list(&mut self, heaps: &[ManagedHeapId]) {
        self.heaps.extend_from_slice(heaps);
        self.list_ends.push(self.heaps.len());
    }

    /// Removes the first lists, after they were executed.
    #[inline]
    pub(super) fn remove_executed(&mut self, lists: usize) {
        let Some(&end) = lists.checked_sub(1).and_then(|last| self.list_ends.get(last)) else { return };
        self.heaps.drain(..end);
        self.list_ends.drain(..lists);
        self.list_ends.iter_mut().for_each(|list_end| *list_end -= end);
        self.executed += lists;
    }

    /// Like [`destroyed`], for a position in `heaps`.
    #[cold]
    #[inline]
    pub(super) fn heap_is_gone(&self, gone: UnknownHeap) -> Error {
        let list = self.list_ends.iter().position(|&end| gone.position < end).unwrap_or(0);
        let begin = list.checked_sub(1).map_or(0, |before| self.list_ends[before]);
        destroyed(self.executed + list, gone.position - begin)
    }
}

/// Returns the error that names the destroyed heap and its list.
#[cold]
#[inline]
pub(super) fn destroyed(list: usize, position: usize) -> Error {
    let rule = format!("heap {position} of list {list} was destroyed after it was added");
    Error::invalid_argument("lists", rule)
}

impl QueueState {
    #[inline]
    fn new(initial: FenceValue) -> Self {
        Self { last: initial, unread: initial, heaps: SubmittedHeaps::default() }
    }

    /// Returns whether the next submission reads the fence: the first one, and then one of several.
    #[inline]
    pub(super) fn is_reading_due(&mut self) -> bool {
        let is_due = self.last >= self.unread;
        if is_due {
            self.unread = FenceValue::new(self.last.get().saturating_add(SUBMISSIONS_UNREAD));
        }
        is_due
    }

    /// Returns the value that the queue signals after the next submission.
    #[inline]
    pub(super) fn next_value(&self) -> Result<FenceValue, Error> {
        next_value(self.last)
            .ok_or_else(|| Error::invalid_argument("queue", "its fence value has reached the maximum"))
    }
}

impl ManagedQueue {
    #[inline]
    pub(super) fn lock(&self) -> QueueGuard<'_> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the fence value that the GPU has reached.
    #[inline]
    pub(super) fn completed(&self) -> FenceValue {
        completed(&self.fence)
    }

    /// Checks whether the manager has the only reference to the queue.
    #[inline]
    fn is_abandoned(&self) -> bool {
        let queue = self.queue.clone();
        let (table, raw) = (queue.vtable().base__.base__.base__.base__.Release, queue.into_raw());
        // SAFETY: releases the reference that was just added; `Release` returns the number of references that are left.
        unsafe { table(raw) == 1 }
    }
}

/// The queues that a manager has used.
pub(super) struct ManagedQueues {
    queues: RwLock<Vec<Arc<ManagedQueue>>>,
    /// The initial value of the fences of new queues.
    initial: FenceValue,
}

impl ManagedQueues {
    #[inline]
    pub(super) fn new(initial: FenceValue) -> Self {
        Self { queues: RwLock::default(), initial }
    }

    /// Returns the entry of a queue, found by the object's address. O(queues).
    #[inline]
    pub(super) fn find(&self, queue: &ID3D12CommandQueue) -> Option<Arc<ManagedQueue>> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues.iter().find(|known| known.queue.as_raw() == queue.as_raw()).map(Arc::clone)
    }

    /// Adds a queue, unless another thread has added it, and removes queues to which the manager has the only
    /// reference.
    #[cold]
    pub(super) fn add(
        &self,
        device: &ManagedDevice,
        queue: &ID3D12CommandQueue,
        new_slot: impl FnOnce() -> QueueSlot,
        mut forget: impl FnMut(QueueSlot),
    ) -> Result<Arc<ManagedQueue>, Error> {
        device.check_owner("queue", queue)?;
        let fence = create_fence(device.interface(), self.initial)?;
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = queues.iter().find(|known| known.queue.as_raw() == queue.as_raw()) {
            return Ok(Arc::clone(known));
        }
        let mut abandoned = Vec::new();
        queues.retain(|known| {
            // A submitting thread holds a second reference and perhaps the lock, and waits for the queues. Check the
            // reference first.
            let goes = Arc::strong_count(known) == 1
                && known.completed() >= known.lock().last
                && known.is_abandoned();
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
            state: Mutex::new(QueueState::new(self.initial)),
        });
        queues.push(Arc::clone(&known));
        drop(queues);
        // Without the lock: these are the last references to the queues.
        drop(abandoned);
        Ok(known)
    }

    /// Locks the table. Until the result is dropped, each slot stays with its queue: another queue may get the slot of
    /// one that is removed, and its fence begins anew.
    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<ManagedQueue>>> {
        self.queues.read().unwrap_or_else(PoisonError::into_inner)
    }
}
