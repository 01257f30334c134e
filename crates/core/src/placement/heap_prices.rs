//! Prices of heaps: what creating and freeing them takes, learned from calls that were made.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::ByteSize;
use crate::sync::{Mutex, lock};

/// The number of the latest calls of each kind that count.
const WINDOW: usize = 64;

/// The price of a class is the median of so many of its latest calls.
const MEDIAN_OF: usize = 5;

/// A frame at 60 Hz, in nanoseconds.
const FRAME: u64 = 16_666_667;

/// The number of classes of sizes: powers of two from 64 KiB to 128 TiB.
pub(super) const CLASSES: usize = 32;
const SMALLEST_LOG2: u32 = 16;

/// The time that a device takes to create and to free heaps of one type, by size, learned from the calls that were
/// made.
///
/// A heap's *price* is the time of `CreateHeap` and that of the last `Release` together. There is one price for each
/// power of two, the median of at most five calls for heaps of about that size, so a single slow call does not change
/// it once the size is known. Only the latest 64 creations and the latest 64 releases count. So when prices change, 64
/// heaps later nothing is left of the old ones. Prices of sizes without a call are on the line between their
/// neighbours.
///
/// The type locks itself. Reading is O(1) and takes no lock.
///
/// ```
/// use std::time::Duration;
///
/// use heapwright_core::ByteSize;
/// use heapwright_core::placement::HeapPrices;
///
/// let prices = HeapPrices::default();
/// assert_eq!(prices.of(ByteSize::from_mib(4)), None);
/// prices.note_created(ByteSize::from_mib(4), Duration::from_micros(170));
/// prices.note_freed(ByteSize::from_mib(4), Duration::from_micros(110));
/// assert_eq!(prices.of(ByteSize::from_mib(4)), Some(Duration::from_micros(280)));
/// ```
#[derive(Default)]
pub struct HeapPrices {
    calls: Mutex<Calls>,
    /// Nanoseconds by class, as of the last call that was noted; zero before the first.
    nanos: [AtomicU64; CLASSES],
    /// The largest size of a class that costs at most a frame; zero before the first call.
    within_frame: AtomicU64,
}

#[derive(Default)]
struct Calls {
    created: Window,
    freed: Window,
}

/// The latest calls of a kind, the median of each class that is among them, and the times of all classes.
struct Window {
    /// Rings of classes and nanoseconds.
    classes: [u8; WINDOW],
    nanos: [u64; WINDOW],
    count: usize,
    medians: [Option<u64>; CLASSES],
    times: Option<[u64; CLASSES]>,
}

impl Default for Window {
    fn default() -> Self {
        let (classes, nanos) = ([0; WINDOW], [0; WINDOW]);
        Self { classes, nanos, count: 0, medians: [None; CLASSES], times: None }
    }
}

impl Window {
    /// Notes a call. Returns whether the times of the classes changed, which most calls do not do.
    fn note(&mut self, class: usize, nanos: u64) -> bool {
        let place = self.count % WINDOW;
        let left = (self.count >= WINDOW).then_some(usize::from(self.classes[place]));
        self.classes[place] = u8::try_from(class).unwrap_or(u8::MAX);
        self.nanos[place] = nanos;
        self.count += 1;
        let mut is_changed = false;
        for class in [Some(class), left.filter(|&left| left != class)].into_iter().flatten() {
            let median = self.median(class);
            is_changed |= median != self.medians[class];
            self.medians[class] = median;
        }
        if is_changed {
            self.times = self.times_by_medians();
        }
        is_changed
    }

    /// Returns the median of the latest calls of a class; of an even number the lower one.
    fn median(&self, class: usize) -> Option<u64> {
        let oldest = self.count.saturating_sub(WINDOW);
        let latest = (oldest..self.count).rev().map(|call| call % WINDOW);
        let mut few = [0; MEDIAN_OF];
        let mut count = 0;
        for place in latest.filter(|&place| usize::from(self.classes[place]) == class).take(MEDIAN_OF) {
            few[count] = self.nanos[place];
            // In ascending order: a sort of the standard library would be 10 KB of code.
            for below in (0..count).rev() {
                if few[below] > few[below + 1] {
                    few.swap(below, below + 1);
                }
            }
            count += 1;
        }
        count.checked_sub(1).map(|last| few[last / 2])
    }

    /// Returns the time of each class: its median, or on the line between the next known ones. Outside of them, the
    /// line of the outermost two goes on upwards, and the time of the smallest one applies downwards.
    fn times_by_medians(&self) -> Option<[u64; CLASSES]> {
        let mut known = (0..CLASSES).filter_map(|class| Some((class, self.medians[class]?)));
        let (mut low, mut next) = (known.next()?, known.next());
        let first = low;
        let mut times = [first.1; CLASSES];
        for (class, time) in times.iter_mut().enumerate().skip(first.0 + 1) {
            if let Some(reached) = next.filter(|next| next.0 == class) {
                (low, next) = (reached, known.next());
            }
            let (from, to) = next.map_or((first, low), |next| (low, next));
            *time = on_line(from, to, class);
        }
        Some(times)
    }
}

/// Returns the time of a class on the line through two classes; never less than zero.
fn on_line(from: (usize, u64), to: (usize, u64), class: usize) -> u64 {
    if from.0 == to.0 {
        return to.1;
    }
    let size = |class: usize| i128::from(size_of_class(class).get());
    let rise = i128::from(to.1) - i128::from(from.1);
    // A longer time for less memory says nothing of still more memory.
    let rise = if class > to.0 { rise.max(0) } else { rise };
    let time = i128::from(to.1) + rise * (size(class) - size(to.0)) / (size(to.0) - size(from.0));
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}

/// Returns the class of a size: the nearest power of two.
pub(super) fn class_of(size: ByteSize) -> usize {
    let size = size.get().max(1);
    let log2 = size.ilog2();
    // Above the square root of two times the power, the next one is nearer.
    let is_above = (size >> log2.saturating_sub(8)) > 362;
    ((log2 + u32::from(is_above)).saturating_sub(SMALLEST_LOG2) as usize).min(CLASSES - 1)
}

impl HeapPrices {
    /// Notes that creating a heap of `size` bytes took so long.
    pub fn note_created(&self, size: ByteSize, time: Duration) {
        self.note(size, time, |calls| &mut calls.created);
    }

    /// Notes that freeing a heap of `size` bytes took so long.
    pub fn note_freed(&self, size: ByteSize, time: Duration) {
        self.note(size, time, |calls| &mut calls.freed);
    }

    fn note(&self, size: ByteSize, time: Duration, of: fn(&mut Calls) -> &mut Window) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).clamp(1, 1 << 50);
        let mut calls = lock(&self.calls);
        if !of(&mut calls).note(class_of(size), nanos) {
            return;
        }
        // Before a heap was freed, freeing is taken to cost as much as creating.
        let (created, freed) = (calls.created.times, calls.freed.times);
        let Some((created, freed)) = created.or(freed).zip(freed.or(created)) else { return };
        let mut within_frame = ByteSize::new(1);
        for (class, (created, freed)) in created.iter().zip(freed).enumerate() {
            let price = created.saturating_add(freed);
            self.nanos[class].store(price, Ordering::Relaxed);
            if price <= FRAME {
                within_frame = size_of_class(class);
            }
        }
        self.within_frame.store(within_frame.get(), Ordering::Relaxed);
    }

    /// Returns the price of a heap of `size` bytes, or `None` before the first call.
    #[must_use]
    pub fn of(&self, size: ByteSize) -> Option<Duration> {
        match self.nanos_of(class_of(size)) {
            0 => None,
            nanos => Some(Duration::from_nanos(nanos)),
        }
    }

    /// Returns the largest size that costs at most a frame at 60 Hz, or `None` before the first call.
    pub(super) fn within_frame(&self) -> Option<ByteSize> {
        Some(ByteSize::new(self.within_frame.load(Ordering::Relaxed))).filter(|size| !size.is_zero())
    }

    /// Returns the price of a class in nanoseconds, or zero before the first call.
    pub(super) fn nanos_of(&self, class: usize) -> u64 {
        self.nanos[class].load(Ordering::Relaxed)
    }
}

/// Returns the size of a class.
pub(super) const fn size_of_class(class: usize) -> ByteSize {
    ByteSize::new((1 << SMALLEST_LOG2) << class)
}
