//! The number of heaps that a pool has, and its bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Obstacle;

/// Counts the heaps of a pool. A heap that [leaves](HeapPermit::give_up) is not counted while the device destroys it.
#[derive(Debug)]
pub(crate) struct PoolHeaps {
    least: u64,
    /// Zero is no limit.
    most: u64,
    count: AtomicU64,
    /// The number of heaps that have the pool's heap size. Heaps of their own may have another size.
    regular_count: AtomicU64,
}

impl PoolHeaps {
    /// Creates the counts of a pool that keeps `least` heaps of its heap size, and has no more than `most` heaps; zero is no limit.
    pub(crate) fn new(least: u64, most: u64) -> Arc<Self> {
        let [count, regular_count] = Default::default();
        Arc::new(Self { least, most, count, regular_count })
    }

    /// Checks whether one more heap is permitted after `released` of the existing heaps are released.
    pub(crate) fn check(&self, released: u64) -> Result<(), Obstacle> {
        if self.most != 0 && self.count.load(Ordering::Relaxed).saturating_sub(released) >= self.most {
            return Err(Obstacle::HeapCount { limit: self.most });
        }
        Ok(())
    }

    /// Returns how many empty heaps may be released, of which `regular` have the pool's heap size and `others` have not.
    pub(crate) fn releasable(&self, regular: u64, others: u64) -> u64 {
        let surplus = self.regular_count.load(Ordering::Relaxed).saturating_sub(self.least);
        others.saturating_add(regular.min(surplus))
    }

    /// Counts one more heap, if the limit permits it.
    pub(crate) fn add(self: &Arc<Self>, is_regular: bool) -> Result<HeapPermit, Obstacle> {
        let limit = if self.most == 0 { u64::MAX } else { self.most };
        let next = |count: u64| (count < limit).then_some(count + 1);
        self.count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Obstacle::HeapCount { limit })?;
        if is_regular {
            self.regular_count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(HeapPermit { pool: Arc::clone(self), is_regular, is_given_up: AtomicBool::new(false) })
    }
}

/// A permission to create one of a pool's heaps.
#[derive(Debug)]
pub(crate) struct HeapPermit {
    pool: Arc<PoolHeaps>,
    is_regular: bool,
    is_given_up: AtomicBool,
}

impl HeapPermit {
    /// Gives the permission up, unless the pool would then have fewer heaps of its heap size than its minimum. Returns whether it
    /// did; the heap, which is in no engine, must then be released to the device.
    pub(crate) fn give_up(&self) -> bool {
        if self.is_regular {
            let next = |count: u64| (count > self.pool.least).then(|| count - 1);
            if self.pool.regular_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_err() {
                return false;
            }
        }
        self.pool.count.fetch_sub(1, Ordering::Relaxed);
        self.is_given_up.store(true, Ordering::Relaxed);
        true
    }
}

impl Drop for HeapPermit {
    fn drop(&mut self) {
        if *self.is_given_up.get_mut() {
            return;
        }
        self.pool.count.fetch_sub(1, Ordering::Relaxed);
        if self.is_regular {
            self.pool.regular_count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
