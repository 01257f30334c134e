//! Prices of heaps: what creating and freeing them takes, learned from calls that were made.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::ByteSize;
use crate::sync::{Mutex, lock};

/// The number of the latest calls of each kind that count.
const WINDOW: usize = 32;

/// A frame at 60 Hz, in nanoseconds.
const FRAME: i64 = 16_666_667;

const GIB_LOG2: u32 = 30;

/// The number of classes of sizes: powers of two from 64 KiB to 128 TiB.
pub(super) const CLASSES: usize = 32;
const SMALLEST_LOG2: u32 = 16;

/// The time that a device takes to create and to free heaps of one type, by size, learned from the calls that were
/// made.
///
/// A heap's *price* is the time of `CreateHeap` and that of the last `Release` together: a fixed part, and a part for
/// each byte. Both are medians over the latest 32 creations and the latest 32 releases, so a single slow call changes
/// little once some heaps were created, and 32 heaps after prices change, nothing is left of the old ones. As long as
/// only heaps of one size are known, all sizes cost as much.
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
    /// The price as of the last call that was noted; zero before the first.
    fixed: AtomicI64,
    per_gib: AtomicI64,
}

#[derive(Default)]
struct Calls {
    created: Window,
    freed: Window,
}

/// The time of a call, in nanoseconds: a fixed part, and one for each GiB. Where small heaps cost next to nothing, because
/// they are parts of others, the fixed part is less than zero.
#[derive(Clone, Copy)]
struct Line {
    fixed: i64,
    per_gib: i64,
}

/// The latest calls of a kind: sizes and nanoseconds.
#[derive(Default)]
struct Window {
    calls: [(u64, i64); WINDOW],
    count: usize,
    line: Option<Line>,
}

impl Window {
    /// Notes a call.
    fn note(&mut self, size: ByteSize, nanos: i64) {
        self.calls[self.count % WINDOW] = (size.get(), nanos);
        self.count += 1;
        self.line = self.line_through_calls();
    }

    /// Returns the line as of the calls. Its slope is the median of those from each of the smaller half of the heaps to
    /// one of the larger half, in the order of their sizes; as many calls took longer than on the line as less time.
    fn line_through_calls(&self) -> Option<Line> {
        let mut calls = self.calls;
        let calls = &mut calls[..self.count.min(WINDOW)];
        sort(calls);
        let mut values = [0; WINDOW];
        let mut count = 0;
        for (&(small, low), &(large, high)) in calls.iter().zip(&calls[calls.len().div_ceil(2)..]) {
            if large > small {
                values[count] = (i128::from(high - low) << GIB_LOG2) / i128::from(large - small);
                count += 1;
            }
        }
        // A longer time for less memory says nothing of still more memory.
        let per_gib = median(&mut values[..count]).unwrap_or(0).max(0);
        for (value, &(size, nanos)) in values.iter_mut().zip(&*calls) {
            *value = i128::from(nanos) - ((i128::from(size) * per_gib) >> GIB_LOG2);
        }
        let fixed = median(&mut values[..calls.len()])?;
        // At most 2^50 ns, and as much for each byte.
        Some(Line { fixed: i64::try_from(fixed).ok()?, per_gib: i64::try_from(per_gib).unwrap_or(i64::MAX) })
    }
}

/// Returns the median; of an even number the upper one.
fn median(values: &mut [i128]) -> Option<i128> {
    sort(values);
    values.get(values.len() / 2).copied()
}

/// Sorts a few values: a sort of the standard library would be 10 KB of code.
fn sort<T: Ord>(values: &mut [T]) {
    for end in 1..values.len() {
        for at in (0..end).rev() {
            if values[at] <= values[at + 1] {
                break;
            }
            values.swap(at, at + 1);
        }
    }
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
        let nanos = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX).clamp(1, 1 << 50);
        let mut calls = lock(&self.calls);
        of(&mut calls).note(size, nanos);
        // Before a heap was freed, freeing is taken to cost as much as creating.
        let (created, freed) = (calls.created.line, calls.freed.line);
        let Some((created, freed)) = created.or(freed).zip(freed.or(created)) else { return };
        self.fixed.store(created.fixed.saturating_add(freed.fixed), Ordering::Relaxed);
        self.per_gib.store(created.per_gib.saturating_add(freed.per_gib), Ordering::Relaxed);
    }

    /// Returns the price of a heap of `size` bytes, or `None` before the first call.
    #[must_use]
    pub fn of(&self, size: ByteSize) -> Option<Duration> {
        Some(self.nanos_of(size)).filter(|&nanos| nanos > 0).map(Duration::from_nanos)
    }

    /// Returns the largest power of two that costs at most a frame at 60 Hz, or `None` before the first call, and if
    /// all sizes cost as much.
    pub(super) fn within_frame(&self) -> Option<ByteSize> {
        let rest = i128::from(FRAME.saturating_sub(self.fixed.load(Ordering::Relaxed)));
        let size = (rest << GIB_LOG2).checked_div(self.per_gib.load(Ordering::Relaxed).into())?;
        Some(ByteSize::new(1 << size.checked_ilog2().unwrap_or(0).min(63)))
    }

    /// Returns the price of a heap in nanoseconds, or zero before the first call.
    pub(super) fn nanos_of(&self, size: ByteSize) -> u64 {
        let [fixed, per_gib] =
            [&self.fixed, &self.per_gib].map(|part| i128::from(part.load(Ordering::Relaxed)));
        if (fixed, per_gib) == (0, 0) {
            return 0;
        }
        u64::try_from((fixed + ((i128::from(size.get()) * per_gib) >> GIB_LOG2)).max(1)).unwrap_or(u64::MAX)
    }
}

/// Returns the size of a class.
pub(super) const fn size_of_class(class: usize) -> ByteSize {
    ByteSize::new((1 << SMALLEST_LOG2) << class)
}
