//! Memory that comes back once the GPU is done with it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_core::FenceValue;
use heapwright_d3d12::*;
use windows_core::Interface;

use super::allocation::ResourceAllocation;

/// What waits to be freed.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    /// In the order in which fences came, so that what is freed together is freed in the same order each time.
    pending: BTreeMap<u64, Pending>,
    /// By the address of the fence, which its entry keeps alive: the number of the entry.
    numbers: BTreeMap<usize, u64>,
    /// How many allocations and fences there have been: their numbers.
    last: u64,
    count: usize,
}

/// What one fence frees.
#[derive(Debug)]
struct Pending {
    fence: ID3D12Fence,
    /// The lowest value first, and of one value what came first.
    allocations: BTreeMap<(FenceValue, u64), ResourceAllocation>,
}

impl Deferred {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an allocation until a fence has come to a value. O(log n), for n fences or allocations that wait.
    pub(crate) fn add(&self, allocation: ResourceAllocation, fence: &ID3D12Fence, value: FenceValue) {
        let mut queues = self.lock();
        let Queues { pending, numbers, last, count } = &mut *queues;
        *last += 1;
        let number = *numbers.entry(fence.as_raw() as usize).or_insert(*last);
        let pending = pending
            .entry(number)
            .or_insert_with(|| Pending { fence: fence.clone(), allocations: BTreeMap::new() });
        pending.allocations.insert((value, *last), allocation);
        *count += 1;
    }

    /// Frees what the GPU is done with, and answers how many that were. O(fences + what is freed log n).
    pub(crate) fn collect(&self) -> usize {
        let mut done = Vec::new();
        {
            let mut queues = self.lock();
            let Queues { pending, numbers, count, .. } = &mut *queues;
            pending.retain(|_, Pending { fence, allocations }| {
                // SAFETY: the fence is a live COM object. A removed device's fences are all at the highest value.
                let completed = FenceValue::new(unsafe { fence.GetCompletedValue() });
                while let Some(first) = allocations.first_entry() {
                    if first.key().0 > completed {
                        return true;
                    }
                    done.push(first.remove());
                }
                numbers.remove(&(fence.as_raw() as usize));
                false
            });
            *count -= done.len();
        }
        // Outside of the lock: drops give memory back, and resources call the device.
        let count = done.len();
        drop(done);
        count
    }

    /// How many wait. O(1).
    pub(crate) fn len(&self) -> usize {
        self.lock().count
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.collect();
        let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = queues.count;
        if count > 0 {
            tracing::warn!(
                count,
                "the allocator ends while the GPU may still use what was to be freed; it is never freed"
            );
            // Better lost than pulled from under the GPU.
            std::mem::forget(std::mem::take(queues));
        }
    }
}
