//! Memory that comes back once the GPU is done with it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use heapwright_core::FenceValue;
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;

/// What waits to be freed.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    fences: Mutex<Vec<Pending>>,
}

/// Anything that holds memory until it is dropped.
#[derive(Debug)]
pub(super) enum Garbage {
    Allocation(#[expect(dead_code, reason = "held for its drop")] ResourceAllocation),
}

/// What one fence frees.
#[derive(Debug)]
struct Pending {
    fence: ID3D12Fence,
    /// By value: the lowest first.
    queue: VecDeque<(FenceValue, Garbage)>,
}

impl Deferred {
    /// Keeps something until a fence has come to a value. O(fences), and O(log n + values that are out of order).
    pub(super) fn add(&self, garbage: Garbage, fence: &ID3D12Fence, value: FenceValue) {
        let mut fences = self.fences.lock().unwrap_or_else(PoisonError::into_inner);
        let position = fences.iter().position(|pending| pending.fence == *fence).unwrap_or_else(|| {
            fences.push(Pending { fence: fence.clone(), queue: VecDeque::new() });
            fences.len() - 1
        });
        let queue = &mut fences[position].queue;
        // As a rule values come in order, and this is the end.
        let place = queue.partition_point(|&(other, _)| other <= value);
        queue.insert(place, (value, garbage));
    }

    /// Frees what the GPU is done with, and answers how many that were. O(fences + what is freed).
    pub(super) fn collect(&self) -> usize {
        let mut done = Vec::new();
        {
            let mut fences = self.fences.lock().unwrap_or_else(PoisonError::into_inner);
            for Pending { fence, queue } in fences.iter_mut() {
                // SAFETY: the fence is a live COM object. A removed device's fences are all at the highest value.
                let completed = FenceValue::new(unsafe { fence.GetCompletedValue() });
                let count = queue.partition_point(|&(value, _)| value <= completed);
                done.extend(queue.drain(..count));
            }
            fences.retain(|pending| !pending.queue.is_empty());
        }
        // Outside of the lock: drops give memory back, and resources call the device.
        let count = done.len();
        drop(done);
        count
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        let fences = self.fences.lock().unwrap_or_else(PoisonError::into_inner);
        fences.iter().map(|pending| pending.queue.len()).sum()
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        self.collect();
        let fences = self.fences.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count: usize = fences.iter().map(|pending| pending.queue.len()).sum();
        if count > 0 {
            tracing::warn!(
                count,
                "the allocator ends while the GPU may still use what was to be freed; it is never freed"
            );
            // Better lost than pulled from under the GPU.
            std::mem::forget(std::mem::take(fences));
        }
    }
}
