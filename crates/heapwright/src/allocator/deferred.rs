//! Deferred frees: allocations that are freed when a fence value is reached.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use heapwright_core::FenceValue;
use heapwright_d3d12::*;

use super::allocation::ResourceAllocation;
use crate::Error;

/// Allocations that wait to be freed.
#[derive(Default)]
pub(crate) struct Deferred {
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    /// In the order in which fences were added, so that allocations are freed in a reproducible order.
    pending: Vec<Pending>,
    /// The number of allocations that wait.
    count: usize,
}

/// The allocations that wait for one fence.
struct Pending {
    fence: ID3D12Fence,
    /// Lowest fence value first; for equal values, in the order in which they were added.
    allocations: VecDeque<(FenceValue, ResourceAllocation)>,
}

/// The error of [`ResourceAllocator::free_after`](crate::ResourceAllocator::free_after): the allocation belongs to
/// another allocator. It is still live, and is freed when this is dropped.
#[derive(Debug)]
pub struct NotFreed {
    pub(crate) allocation: Box<ResourceAllocation>,
}

const NOT_ITS_OWN: &str = "it must belong to the allocator that frees it";

impl NotFreed {
    /// Returns the allocation.
    #[must_use]
    pub fn into_allocation(self) -> ResourceAllocation {
        *self.allocation
    }
}

impl fmt::Display for NotFreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation: {NOT_ITS_OWN}")
    }
}

impl std::error::Error for NotFreed {}

impl From<NotFreed> for Error {
    fn from(_: NotFreed) -> Self {
        Self::invalid_argument("allocation", NOT_ITS_OWN)
    }
}

impl Deferred {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an allocation until a fence value is reached. O(fences + log n) for n waiting allocations, if the value is
    /// at least theirs; a lower one takes a place among them, O(n).
    #[inline]
    pub(crate) fn add(&self, allocation: ResourceAllocation, fence: &ID3D12Fence, value: FenceValue) {
        let mut queues = self.lock();
        queues.count += 1;
        let place = queues.pending.iter().position(|pending| pending.fence == *fence);
        let place = place.unwrap_or_else(|| {
            queues.pending.push(Pending { fence: fence.clone(), allocations: VecDeque::new() });
            queues.pending.len() - 1
        });
        let allocations = &mut queues.pending[place].allocations;
        let place = allocations.partition_point(|&(other, _)| other <= value);
        allocations.insert(place, (value, allocation));
    }

    /// Frees the allocations whose fence value is reached, and returns their number. O(fences log n + freed).
    pub(crate) fn collect(&self) -> usize {
        let mut done = Vec::new();
        {
            let mut queues = self.lock();
            queues.pending.retain_mut(|Pending { fence, allocations }| {
                // SAFETY: the fence is a live COM object. A removed device's fences are all at the highest value.
                let completed = FenceValue::new(unsafe { fence.GetCompletedValue() });
                let reached = allocations.partition_point(|&(value, _)| value <= completed);
                done.extend(allocations.drain(..reached));
                !allocations.is_empty()
            });
            queues.count -= done.len();
        }
        // Drop outside the lock: drops free memory, and resources call the device.
        let count = done.len();
        drop(done);
        count
    }

    /// Returns the number of waiting allocations. O(1).
    pub(crate) fn len(&self) -> usize {
        self.lock().count
    }
}

impl Drop for Deferred {
    /// Leaks the allocations whose fence values are not reached. The allocator has freed the others.
    fn drop(&mut self) {
        let queues = self.queues.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = queues.count;
        if count > 0 {
            tracing::warn!(
                count,
                "allocator dropped with deferred frees still pending on the GPU; leaking them"
            );
            // A leak is safe; freeing memory that the GPU uses is not.
            std::mem::forget(std::mem::take(queues));
        }
    }
}
