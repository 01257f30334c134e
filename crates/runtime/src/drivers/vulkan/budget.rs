//! Budgets of the operating system, from `VK_EXT_memory_budget`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ash::vk;
use heapwright_core::ByteSize;

use super::logical_device::LogicalDevice;
use crate::ddi::SegmentGroup;
use crate::drivers::segment::Segments;

/// The interval at which budgets are compared while anyone listens. Vulkan does not notify of changes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The age from which budgets are queried again: a query is a call into the operating system's driver.
const MAX_AGE: Duration = Duration::from_millis(5);

/// The fraction of a memory heap without a budget that is left to other processes.
const LEFT_TO_OTHERS: u64 = 16;

/// The budgets of both segment groups.
pub(super) struct Budgets {
    device: Arc<LogicalDevice>,
    /// The memory heap of the local segment group and that of the non-local one.
    heaps: [usize; 2],
    segments: Arc<Segments>,
    /// Limits set for tests, in bytes.
    limits: [AtomicU64; 2],
    is_polled: AtomicBool,
    opened: Instant,
    /// The time of the last query, in microseconds since `opened`.
    queried: AtomicU64,
    this: Weak<Self>,
}

impl Budgets {
    pub(super) fn new(device: &Arc<LogicalDevice>, heaps: [usize; 2], segments: &Arc<Segments>) -> Arc<Self> {
        let budgets = Arc::new_cyclic(|this| Self {
            device: Arc::clone(device),
            heaps,
            segments: Arc::clone(segments),
            limits: [const { AtomicU64::new(u64::MAX) }; 2],
            is_polled: AtomicBool::new(false),
            opened: Instant::now(),
            queried: AtomicU64::new(0),
            this: Weak::clone(this),
        });
        budgets.update();
        budgets
    }

    /// Queries the budgets if the last query is older than a few milliseconds.
    pub(super) fn update_if_old(&self) {
        let queried = Duration::from_micros(self.queried.load(Ordering::Relaxed));
        if self.opened.elapsed().saturating_sub(queried) >= MAX_AGE {
            self.update();
        }
    }

    /// Limits the budget of a group.
    pub(super) fn limit(&self, group: SegmentGroup, budget: ByteSize) {
        let [local, non_local] = &self.limits;
        let limit = if group == SegmentGroup::Local { local } else { non_local };
        limit.store(budget.get(), Ordering::Relaxed);
        self.update();
    }

    /// Queries the budgets again and again from now on, as long as the value lives.
    pub(super) fn watch(&self) {
        if self.is_polled.swap(true, Ordering::Relaxed) {
            return;
        }
        let budgets = Weak::clone(&self.this);
        let poll = move || {
            while let Some(budgets) = budgets.upgrade() {
                budgets.update();
                drop(budgets);
                std::thread::sleep(POLL_INTERVAL);
            }
        };
        let started = std::thread::Builder::new().name("heapwright budget".to_owned()).spawn(poll);
        if let Err(error) = started {
            self.is_polled.store(false, Ordering::Relaxed);
            tracing::error!(%error, "failed to spawn the budget thread; changes are noticed only when queried");
        }
    }

    /// Queries the budgets and tells listeners of changes.
    pub(super) fn update(&self) {
        let now = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.queried.store(now, Ordering::Relaxed);
        let hardware = self.device.hardware();
        let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let has_budget = hardware.extensions.memory_budget;
        if has_budget {
            let mut memory = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
            let instance = self.device.instance().functions();
            // SAFETY: the physical device is the instance's and has the extension; the structures outlive the call.
            unsafe { instance.get_physical_device_memory_properties2(hardware.device, &mut memory) };
        }
        let groups = [SegmentGroup::Local, SegmentGroup::NonLocal];
        for ((group, heap), limit) in groups.into_iter().zip(self.heaps).zip(&self.limits) {
            let capacity = self.segments.get(group).capacity();
            let of_system = match budget.heap_budget.get(heap).filter(|_| has_budget) {
                Some(&bytes) => bytes.min(capacity.get()),
                None => capacity.get() - capacity.get() / LEFT_TO_OTHERS,
            };
            let now = ByteSize::new(of_system.min(limit.load(Ordering::Relaxed)));
            if self.segments.get(group).report().budget != now {
                self.segments.set_budget(group, now);
            }
        }
    }
}
