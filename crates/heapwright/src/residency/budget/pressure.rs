//! Memory pressure of a segment group, and the callbacks that are called when it changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// The memory pressure of a segment group.
///
/// | level | begins | ends |
/// |---|---|---|
/// | `None` | | |
/// | `Moderate` | at 70 % of the budget, where D3DX12Residency begins to evict old heaps | below 65 % |
/// | `High` | at 90 %, where GPGMM warns | below 85 % |
/// | `Over` | above the budget | at the budget or below it |
///
/// A level ends at a lower usage than it begins, so that usage near a threshold does not cause repeated notifications.
/// The exception is `Over`: eviction above the budget stops at the budget, so `Over` ends there. The percentages are
/// taken from those libraries and are not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PressureLevel {
    /// Memory is available.
    #[default]
    None,
    /// Memory that is easily recreated could be freed.
    Moderate,
    /// Memory that can be freed should be freed.
    High,
    /// Usage exceeds the budget. The operating system may page out any memory.
    Over,
}

/// A change of the level of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressure {
    /// The segment group.
    pub group: SegmentGroup,
    /// The new level.
    pub level: PressureLevel,
    /// The previous level.
    pub before: PressureLevel,
    /// Bytes that count against the budget.
    pub usage: ByteSize,
    /// The budget in force, in bytes.
    pub budget: ByteSize,
}

/// The levels, highest first, with the percentage of the budget at which each begins.
const THRESHOLDS: [(PressureLevel, u128); 3] =
    [(PressureLevel::Over, 100), (PressureLevel::High, 90), (PressureLevel::Moderate, 70)];

/// How far below its threshold a level other than `Over` ends, in percent of the budget.
const HYSTERESIS: u128 = 5;

impl PressureLevel {
    /// Returns the next level for a given usage and budget.
    #[inline]
    fn next(self, usage: ByteSize, budget: ByteSize) -> Self {
        if usage.is_zero() {
            return Self::None;
        }
        let (used, whole) = (u128::from(usage.get()) * 100, u128::from(budget.get()));
        let is_reached = |&&(level, percent): &&(Self, u128)| match level {
            Self::Over => used > percent * whole,
            // A level that was reached lasts longer.
            _ if level <= self => used >= (percent - HYSTERESIS) * whole,
            _ => used >= percent * whole,
        };
        THRESHOLDS.iter().find(is_reached).map_or(Self::None, |&(level, _)| level)
    }

    #[inline]
    const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Moderate,
            2 => Self::High,
            _ => Self::Over,
        }
    }
}

impl fmt::Display for PressureLevel {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Moderate => "moderate",
            Self::High => "high",
            Self::Over => "over budget",
        })
    }
}

type Callback = Arc<dyn Fn(&Pressure) + Send + Sync>;

/// The levels of both groups, and the callbacks that are called when a level changes.
#[derive(Default)]
pub(crate) struct PressureMonitor {
    levels: [AtomicU8; 2],
    callbacks: Arc<Callbacks>,
}

#[derive(Default)]
struct Callbacks {
    registered: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    last: u64,
    /// In the order of registration.
    list: Vec<(u64, Callback)>,
}

/// The registration of a pressure callback. Dropping it ends the registration.
///
/// A call that began on another thread before the drop may still be running.
#[derive(Debug)]
#[must_use = "dropping it unregisters the callback"]
pub struct PressureRegistration {
    callbacks: Weak<Callbacks>,
    number: u64,
}

impl PressureMonitor {
    /// Returns the level of a group. O(1), one load.
    #[inline]
    pub(crate) fn level(&self, group: SegmentGroup) -> PressureLevel {
        PressureLevel::from_number(self.levels[group.index()].load(Ordering::Relaxed))
    }

    /// Registers `callback`, which is called when a level changes.
    pub(crate) fn on_pressure(
        &self,
        callback: impl Fn(&Pressure) + Send + Sync + 'static,
    ) -> PressureRegistration {
        let mut registered = self.callbacks.lock();
        registered.last += 1;
        let number = registered.last;
        registered.list.push((number, Arc::new(callback)));
        PressureRegistration { callbacks: Arc::downgrade(&self.callbacks), number }
    }

    /// Updates usage and budget of a group, and calls the callbacks if its level changes.
    ///
    /// O(1) without a lock while the level stays the same. Called without any lock held; callbacks may call every
    /// function, including this one. If several threads call it at the same time, callbacks may receive the changes in
    /// another order.
    #[inline]
    pub(crate) fn update(&self, group: SegmentGroup, usage: ByteSize, budget: ByteSize) {
        let level = &self.levels[group.index()];
        let mut number = level.load(Ordering::Relaxed);
        let (before, after) = loop {
            let before = PressureLevel::from_number(number);
            let after = before.next(usage, budget);
            if before == after {
                return;
            }
            match level.compare_exchange_weak(number, after as u8, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break (before, after),
                Err(now) => number = now,
            }
        };
        tracing::debug!(%group, level = %after, %before, %usage, %budget, "memory pressure");
        self.callbacks.call(&Pressure { group, level: after, before, usage, budget });
    }
}

impl Callbacks {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn call(&self, pressure: &Pressure) {
        let callbacks: Vec<Callback> =
            self.lock().list.iter().map(|(_, callback)| Arc::clone(callback)).collect();
        for callback in callbacks {
            if catch_unwind(AssertUnwindSafe(|| callback(pressure))).is_err() {
                tracing::error!("memory pressure callback panicked; the panic is ignored");
            }
        }
    }
}

impl Drop for PressureRegistration {
    #[inline]
    fn drop(&mut self) {
        let Some(callbacks) = self.callbacks.upgrade() else { return };
        let mut registered = callbacks.lock();
        let position = registered.list.iter().position(|&(number, _)| number == self.number);
        let ended = position.map(|position| registered.list.remove(position));
        // The callback may own anything, so it is dropped without the lock.
        drop(registered);
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use proptest::prelude::*;

    use super::*;

    const BUDGET: ByteSize = ByteSize::new(1000);

    fn after(before: PressureLevel, usage: u64) -> PressureLevel {
        before.next(ByteSize::new(usage), BUDGET)
    }

    #[test]
    fn levels_change_at_the_documented_thresholds() {
        use PressureLevel::{High, Moderate, None, Over};
        for (before, usage, expected) in [
            (None, 699, None),
            (None, 700, Moderate),
            (None, 900, High),
            (None, 1000, High),
            (None, 1001, Over),
            (Moderate, 650, Moderate),
            (Moderate, 649, None),
            (High, 850, High),
            (High, 849, Moderate),
            (High, 600, None),
            (Over, 1001, Over),
            (Over, 1000, High),
            (Over, 949, High),
            (Over, 860, High),
            (Over, 840, Moderate),
            (Over, 0, None),
        ] {
            assert_eq!(after(before, usage), expected, "{usage} after {before}");
        }
        assert_eq!(None.next(ByteSize::new(1), ByteSize::ZERO), Over);
        assert_eq!(Over.next(ByteSize::ZERO, ByteSize::ZERO), None, "a usage of zero is never over budget");
        assert_eq!(None.next(ByteSize::from_gib(64), ByteSize::MAX), None, "unbounded");
    }

    proptest! {
        #[test]
        fn a_reached_level_is_stable(usage: u64, budget: u64, before in 0_u8..4) {
            let (usage, budget) = (ByteSize::new(usage), ByteSize::new(budget));
            let before = PressureLevel::from_number(before);
            let level = before.next(usage, budget);
            prop_assert_eq!(level.next(usage, budget), level, "no oscillation");
            prop_assert!(level >= PressureLevel::None.next(usage, budget));
            prop_assert!(level <= PressureLevel::Over.next(usage, budget));
        }
    }

    #[test]
    fn each_change_is_reported_once_while_registered() {
        let monitor = PressureMonitor::default();
        let (told, changes) = channel();
        let registration =
            monitor.on_pressure(move |pressure| told.send(*pressure).expect("the receiver exists"));
        for usage in [100, 750, 760, 1100] {
            monitor.update(SegmentGroup::Local, ByteSize::new(usage), BUDGET);
        }
        monitor.update(SegmentGroup::NonLocal, ByteSize::new(1), BUDGET);
        let seen: Vec<_> = changes.try_iter().map(|pressure| (pressure.before, pressure.level)).collect();
        use PressureLevel::{Moderate, None, Over};
        assert_eq!(seen, [(None, Moderate), (Moderate, Over)]);
        assert_eq!(monitor.level(SegmentGroup::Local), Over);
        assert_eq!(monitor.level(SegmentGroup::NonLocal), None);
        drop(registration);
        monitor.update(SegmentGroup::Local, ByteSize::new(10), BUDGET);
        assert_eq!(monitor.level(SegmentGroup::Local), None);
        assert!(changes.recv().is_err(), "the callback and its captures were dropped");
    }

    #[test]
    fn callbacks_may_panic_register_and_unregister_themselves() {
        let monitor = Arc::new(PressureMonitor::default());
        let panics = monitor.on_pressure(|_| panic!("intended panic"));
        let (told, changes) = channel();
        let own: Arc<Mutex<Option<PressureRegistration>>> = Arc::default();
        let (again, slot) = (Arc::clone(&monitor), Arc::clone(&own));
        let registration = monitor.on_pressure(move |pressure| {
            told.send(pressure.level).expect("the receiver exists");
            // Ends itself, registers another, and changes a level; none of these must find a lock held.
            drop(slot.lock().expect("no panic while it is locked").take());
            let _at_once = again.on_pressure(|_| ());
            again.update(SegmentGroup::NonLocal, BUDGET, BUDGET);
        });
        *own.lock().expect("no panic while it is locked") = Some(registration);
        monitor.update(SegmentGroup::Local, BUDGET, BUDGET);
        assert_eq!(changes.try_iter().collect::<Vec<_>>(), [PressureLevel::High]);
        monitor.update(SegmentGroup::Local, ByteSize::new(1), BUDGET);
        assert_eq!(changes.try_iter().count(), 0);
        drop(panics);
        drop(monitor);
    }
}
