//! The modelled time of heaps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapCost, HeapCosts};

use super::profile::HostProfile;
use crate::ddi::{CpuPageProperty, HeapArgs, MemoryPool};

/// A clock that advances by the modelled time of each heap's creation and release.
#[derive(Debug)]
pub(super) struct HeapTime {
    video: HeapCosts,
    system: HeapCosts,
    nanos: AtomicU64,
}

/// A heap whose creation has been paid for. Dropping this pays for its release.
#[derive(Debug)]
pub(super) struct PaidHeap {
    time: Arc<HeapTime>,
    cost: HeapCost,
}

impl HeapTime {
    pub(super) fn new(profile: &HostProfile) -> Self {
        let (video, system) = (profile.video_heap_costs, profile.system_heap_costs);
        Self { video, system, nanos: AtomicU64::new(0) }
    }

    pub(super) fn passed(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    fn pass(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Lets the time for a new heap pass.
    pub(super) fn pay(self: &Arc<Self>, args: &HeapArgs, size: ByteSize) -> PaidHeap {
        let in_system =
            args.cpu_page_property != CpuPageProperty::NotAvailable && args.memory_pool == MemoryPool::L0;
        let cost = if in_system { self.system.of(size) } else { self.video.of(size) };
        self.pass(cost.create);
        PaidHeap { time: Arc::clone(self), cost }
    }
}

impl Drop for PaidHeap {
    fn drop(&mut self) {
        self.time.pass(self.cost.free);
    }
}
