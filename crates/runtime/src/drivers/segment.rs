//! Usage of the segment groups, with capacity and budget.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::ByteSize;

use super::host::profile::SegmentProfile;
use crate::ddi::{DriverError, SegmentGroup, VideoMemory};

/// Both segment groups of a GPU, and the listeners to changes of budgets.
pub(super) struct Segments {
    local: Segment,
    non_local: Segment,
    listeners: Mutex<Vec<Weak<Listener>>>,
}

/// A callback after each change of a budget.
pub(super) type Listener = dyn Fn() + Send + Sync;

impl Segments {
    pub(super) fn new(local: SegmentProfile, non_local: SegmentProfile) -> Self {
        Self {
            local: Segment::new(local),
            non_local: Segment::new(non_local),
            listeners: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn get(&self, group: SegmentGroup) -> &Segment {
        match group {
            SegmentGroup::Local => &self.local,
            SegmentGroup::NonLocal => &self.non_local,
        }
    }

    /// Sets a budget and calls the listeners.
    pub(super) fn set_budget(&self, group: SegmentGroup, budget: ByteSize) {
        self.get(group).budget.store(budget.get(), Ordering::Relaxed);
        let listeners: Vec<Arc<Listener>> = {
            let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|listener| listener.strong_count() > 0);
            listeners.iter().filter_map(Weak::upgrade).collect()
        };
        // Outside of the lock: listeners may be added or removed during the calls.
        for listener in listeners {
            listener();
        }
    }

    pub(super) fn listen(&self, listener: &Arc<Listener>) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(listener));
    }
}

/// The usage and limits of one segment group. All operations are O(1) and take no lock.
#[derive(Debug)]
pub(super) struct Segment {
    capacity: ByteSize,
    budget: AtomicU64,
    /// Usage in bytes; never above the capacity.
    usage: AtomicU64,
    /// The process's reservation in bytes.
    reservation: AtomicU64,
}

impl Segment {
    fn new(profile: SegmentProfile) -> Self {
        Self {
            capacity: profile.capacity,
            budget: AtomicU64::new(profile.budget.get()),
            usage: AtomicU64::new(0),
            reservation: AtomicU64::new(0),
        }
    }

    /// Adds `size` bytes to the usage. On error, when they would exceed the capacity, nothing changes.
    fn charge(&self, size: ByteSize) -> Result<(), DriverError> {
        self.usage
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |usage| {
                usage.checked_add(size.get()).filter(|&sum| sum <= self.capacity.get())
            })
            .map(|_| ())
            .map_err(|usage| DriverError::OutOfMemory {
                requested: size,
                usage: ByteSize::new(usage),
                capacity: self.capacity,
            })
    }

    /// Reverses [`charge`](Self::charge).
    fn discharge(&self, size: ByteSize) {
        let before = self.usage.fetch_sub(size.get(), Ordering::Relaxed);
        debug_assert!(before >= size.get(), "more bytes discharged than charged");
    }

    /// Returns whether `size` additional bytes would stay within the budget.
    pub(super) fn fits_budget(&self, size: ByteSize) -> bool {
        let usage = self.usage.load(Ordering::Relaxed);
        usage.checked_add(size.get()).is_some_and(|sum| sum <= self.budget.load(Ordering::Relaxed))
    }

    /// The size of the memory.
    #[cfg_attr(
        not(feature = "vulkan"),
        expect(dead_code, reason = "a simulated budget does not depend on it")
    )]
    pub(super) fn capacity(&self) -> ByteSize {
        self.capacity
    }

    pub(super) fn reserve(&self, reservation: ByteSize) -> Result<(), DriverError> {
        let available = self.available_for_reservation();
        if reservation > available {
            return Err(DriverError::ReservationTooLarge { requested: reservation, available });
        }
        self.reservation.store(reservation.get(), Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn report(&self) -> VideoMemory {
        VideoMemory {
            budget: ByteSize::new(self.budget.load(Ordering::Relaxed)),
            current_usage: ByteSize::new(self.usage.load(Ordering::Relaxed)),
            available_for_reservation: self.available_for_reservation(),
            current_reservation: ByteSize::new(self.reservation.load(Ordering::Relaxed)),
        }
    }

    /// Half of the budget, the order of magnitude of Windows' value.
    fn available_for_reservation(&self) -> ByteSize {
        ByteSize::new(self.budget.load(Ordering::Relaxed) / 2)
    }
}

/// The segment groups that a heap may be charged to when it becomes resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Residence {
    /// Always this group.
    In(SegmentGroup),
    /// CPU-visible video memory: the local group within its budget, otherwise system memory (GPU upload heaps
    /// specification, *How to find if GPU upload heaps are supported* and *Support for VRAM-only lockable surfaces*).
    LocalOrSystem,
}

/// Where a heap is charged, and for how many bytes.
pub(super) struct Account {
    pub(super) segments: Arc<Segments>,
    pub(super) residence: Residence,
    pub(super) size: ByteSize,
}

/// Bytes charged to a segment group until dropped.
pub(super) struct Charge {
    segments: Arc<Segments>,
    group: SegmentGroup,
    size: ByteSize,
}

impl Account {
    /// The segment group that is charged if it has room.
    pub(super) fn usual_group(&self) -> SegmentGroup {
        match self.residence {
            Residence::In(group) => group,
            Residence::LocalOrSystem => SegmentGroup::Local,
        }
    }

    /// Charges a segment group that currently has room.
    pub(super) fn charge(&self) -> Result<Charge, DriverError> {
        let charge = |group| {
            self.segments.get(group).charge(self.size)?;
            Ok(Charge { segments: Arc::clone(&self.segments), group, size: self.size })
        };
        let (local, system) = (SegmentGroup::Local, SegmentGroup::NonLocal);
        match self.residence {
            Residence::In(group) => charge(group),
            Residence::LocalOrSystem if self.segments.get(local).fits_budget(self.size) => {
                charge(local).or_else(|_: DriverError| charge(system))
            }
            // If system memory is full as well, video memory above the budget is the last resort.
            Residence::LocalOrSystem => charge(system).or_else(|error| charge(local).map_err(|_| error)),
        }
    }
}

impl Charge {
    /// The segment group that is charged.
    pub(super) fn group(&self) -> SegmentGroup {
        self.group
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.segments.get(self.group).discharge(self.size);
    }
}
