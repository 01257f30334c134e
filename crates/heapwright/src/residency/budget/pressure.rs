//! How full a segment group is, and the callbacks that are called when that changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use heapwright_core::ByteSize;

use crate::SegmentGroup;

/// How full a segment group is.
///
/// | level | begins | ends |
/// |---|---|---|
/// | `None` | | |
/// | `Moderate` | at 70 % of the budget, where D3DX12Residency begins to evict what is old | below 65 % |
/// | `High` | at 90 %, where GPGMM warns | below 85 % |
/// | `Over` | above the budget | at the budget or below it |
///
/// What ends a level is lower than what begins it, so that usage at a threshold does not tell again and again; but what is above the
/// budget is evicted down to the budget and no further, which ends `Over`. The percentages are those libraries' and not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PressureLevel {
    /// There is room.
    #[default]
    None,
    /// What is easily made again could go.
    Moderate,
    /// What can go should go.
    High,
    /// More is used than the budget: the operating system may page out what it likes.
    Over,
}

/// A change of the level of a segment group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressure {
    /// The segment group.
    pub group: SegmentGroup,
    /// The level from now on.
    pub level: PressureLevel,
    /// The level until now.
    pub before: PressureLevel,
    /// Bytes that count against the budget.
    pub usage: ByteSize,
    /// The budget in force, in bytes.
    pub budget: ByteSize,
}

/// Levels from the highest, with the percentage of the budget that begins each.
const THRESHOLDS: [(PressureLevel, u128); 3] =
    [(PressureLevel::Over, 100), (PressureLevel::High, 90), (PressureLevel::Moderate, 70)];

/// How far below its threshold a level other than `Over` ends, in percent of the budget.
const HYSTERESIS: u128 = 5;

impl PressureLevel {
    /// Returns the level after this one, with so much in use.
    fn next(self, usage: ByteSize, budget: ByteSize) -> Self {
        let (used, whole) = (u128::from(usage.get()) * 100, u128::from(budget.get()));
        let highest = |reached: &dyn Fn(Self, u128) -> bool| {
            THRESHOLDS
                .iter()
                .find(|&&(level, percent)| reached(level, percent))
                .map_or(Self::None, |&(level, _)| level)
        };
        if usage.is_zero() {
            return Self::None;
        }
        let begun = highest(&|level, percent| match level {
            Self::Over => used > percent * whole,
            _ => used >= percent * whole,
        });
        let kept = highest(&|level, percent| match level {
            Self::Over => used > percent * whole,
            _ => used >= (percent - HYSTERESIS) * whole,
        });
        begun.max(self.min(kept))
    }

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

/// The levels of both groups, and the callbacks that are called when one changes.
#[derive(Debug, Default)]
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

/// The registration of a pressure callback, which ends when this is dropped.
///
/// A call that has begun on another thread by then may still be going on.
#[derive(Debug)]
#[must_use = "dropping it ends the registration"]
pub struct PressureRegistration {
    callbacks: Weak<Callbacks>,
    number: u64,
}

impl PressureMonitor {
    /// Returns the level of a group. O(1), one load.
    pub(crate) fn level(&self, group: SegmentGroup) -> PressureLevel {
        PressureLevel::from_number(self.levels[group.index()].load(Ordering::Relaxed))
    }

    /// Has `callback` called when a level changes.
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

    /// Updates how full a group is, and calls the callbacks if its level changes.
    ///
    /// O(1) while the level stays, and takes no lock. Called without any lock held; callbacks may call everything, this too. When
    /// several threads do at the same time, callbacks may hear of the changes in another order.
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
    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, pressure: &Pressure) {
        let callbacks: Vec<Callback> =
            self.lock().list.iter().map(|(_, callback)| Arc::clone(callback)).collect();
        for callback in callbacks {
            if catch_unwind(AssertUnwindSafe(|| callback(pressure))).is_err() {
                tracing::error!("a callback for memory pressure panicked");
            }
        }
    }
}

impl Drop for PressureRegistration {
    fn drop(&mut self) {
        let Some(callbacks) = self.callbacks.upgrade() else { return };
        let mut registered = callbacks.lock();
        let position = registered.list.iter().position(|&(number, _)| number == self.number);
        let ended = position.map(|position| registered.list.remove(position));
        // What the callback holds may be anything, and goes without the lock.
        drop(registered);
        drop(ended);
    }
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks").field("count", &self.lock().list.len()).finish()
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
    fn levels_begin_and_end_where_the_table_says() {
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
        assert_eq!(Over.next(ByteSize::ZERO, ByteSize::ZERO), None, "nothing is never too much");
        assert_eq!(None.next(ByteSize::from_gib(64), ByteSize::MAX), None, "no bound");
    }

    proptest! {
        #[test]
        fn a_level_that_is_reached_stays(usage: u64, budget: u64, before in 0_u8..4) {
            let (usage, budget) = (ByteSize::new(usage), ByteSize::new(budget));
            let before = PressureLevel::from_number(before);
            let level = before.next(usage, budget);
            prop_assert_eq!(level.next(usage, budget), level, "no flutter");
            prop_assert!(level >= PressureLevel::None.next(usage, budget));
            prop_assert!(level <= PressureLevel::Over.next(usage, budget));
        }
    }

    #[test]
    fn a_change_is_told_once_until_nobody_wants_to_know() {
        let monitor = PressureMonitor::default();
        let (told, changes) = channel();
        let registration =
            monitor.on_pressure(move |pressure| told.send(*pressure).expect("there is a receiver"));
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
        assert!(changes.recv().is_err(), "the callback is gone, and what it held");
    }

    #[test]
    fn callbacks_may_panic_register_and_end_themselves() {
        let monitor = Arc::new(PressureMonitor::default());
        let panics = monitor.on_pressure(|_| panic!("on purpose"));
        let (told, changes) = channel();
        let own: Arc<Mutex<Option<PressureRegistration>>> = Arc::default();
        let (again, slot) = (Arc::clone(&monitor), Arc::clone(&own));
        let registration = monitor.on_pressure(move |pressure| {
            told.send(pressure.level).expect("there is a receiver");
            // Ends itself, registers another, and changes a level: nothing of that finds a lock held.
            drop(slot.lock().expect("nobody panics with it").take());
            let _at_once = again.on_pressure(|_| ());
            again.update(SegmentGroup::NonLocal, BUDGET, BUDGET);
        });
        *own.lock().expect("nobody panics with it") = Some(registration);
        monitor.update(SegmentGroup::Local, BUDGET, BUDGET);
        assert_eq!(changes.try_iter().collect::<Vec<_>>(), [PressureLevel::High]);
        monitor.update(SegmentGroup::Local, ByteSize::new(1), BUDGET);
        assert_eq!(changes.try_iter().count(), 0);
        drop(panics);
        drop(monitor);
    }
}
