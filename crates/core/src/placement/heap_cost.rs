//! The cost of heaps: the time that a device takes to create and free them.

use std::borrow::Cow;
use std::time::Duration;

use crate::ByteSize;

/// The time to create and to free a heap of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapCost {
    /// The size of the heap.
    pub size: ByteSize,
    /// The time of `CreateHeap`.
    pub create: Duration,
    /// The time of the heap's last `Release`.
    pub free: Duration,
}

/// The time that a device takes to create and free heaps, by size: measured points, and lines between them.
///
/// Below the first point the time is that of the first point; above the last it grows with the size.
///
/// ```
/// use heapwright_core::ByteSize;
/// use heapwright_core::placement::HeapCosts;
///
/// let costs = HeapCosts::device_local();
/// let heap = costs.of(ByteSize::from_mib(64));
/// assert_eq!(heap.create.as_micros(), 1_371);
/// assert_eq!(heap.free.as_micros(), 1_087);
/// // 64 heaps of 1 MiB cost 5.5 times as much.
/// assert_eq!((costs.of(ByteSize::from_mib(1)).create * 64).as_micros(), 7_616);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapCosts {
    /// By increasing size; never empty.
    points: Cow<'static, [HeapCost]>,
}

impl HeapCosts {
    /// The time to create and destroy a placed resource in a heap that exists, without the time of the
    /// allocator: 0.2 us for a small buffer, measured with the table of heaps. A trace counts it once for
    /// each allocation.
    pub const PLACED_RESOURCE: Duration = Duration::from_nanos(200);

    /// Heaps in the GPU's own memory (`D3D12_HEAP_TYPE_DEFAULT` of a discrete GPU), measured on an NVIDIA
    /// H200 with `vkAllocateMemory` and `vkFreeMemory`, 2026-11-23, in a process that holds other memory: creating
    /// and freeing the only heap of a process takes two to four times as long.
    #[must_use]
    pub const fn device_local() -> Self {
        Self { points: Cow::Borrowed(&DEVICE_LOCAL) }
    }

    /// Heaps that the CPU can map (`D3D12_HEAP_TYPE_UPLOAD` and `D3D12_HEAP_TYPE_READBACK`), measured in the
    /// same way.
    #[must_use]
    pub const fn host_visible() -> Self {
        Self { points: Cow::Borrowed(&HOST_VISIBLE) }
    }

    /// Costs measured elsewhere. Returns `None` if there is no point, or the sizes do not increase.
    #[must_use]
    pub fn new(points: Vec<HeapCost>) -> Option<Self> {
        let increase = points.is_sorted_by(|a, b| a.size < b.size);
        (increase && !points.is_empty()).then_some(Self { points: Cow::Owned(points) })
    }

    /// Returns the measured points, by increasing size.
    #[must_use]
    pub fn points(&self) -> &[HeapCost] {
        &self.points
    }

    /// Returns the time to create and to free a heap of `size` bytes. O(log points).
    #[must_use]
    pub fn of(&self, size: ByteSize) -> HeapCost {
        let above = self.points.partition_point(|point| point.size < size);
        let (low, high) = match (above.checked_sub(1).map(|low| self.points[low]), self.points.get(above)) {
            (None, Some(first)) => (*first, *first),
            (Some(low), Some(&high)) => (low, high),
            // The last point is extended through the origin: its fixed part is negligible.
            (Some(last), None) => {
                let none = HeapCost { size: ByteSize::ZERO, create: Duration::ZERO, free: Duration::ZERO };
                (none, last)
            }
            (None, None) => unreachable!("there is always a point"),
        };
        let on_line = |low_time, high_time| between(low.size, high.size, size, low_time, high_time);
        HeapCost { size, create: on_line(low.create, high.create), free: on_line(low.free, high.free) }
    }

    /// Returns the time to create a heap of `size` bytes and to free it later. O(log points).
    #[must_use]
    pub fn round_trip(&self, size: ByteSize) -> Duration {
        let HeapCost { create, free, .. } = self.of(size);
        create.saturating_add(free)
    }
}

/// Returns the time of `size` on the line through two points, in whole nanoseconds, rounded down.
fn between(
    low: ByteSize,
    high: ByteSize,
    size: ByteSize,
    low_time: Duration,
    high_time: Duration,
) -> Duration {
    let run = i128::from(high.get()) - i128::from(low.get());
    if run == 0 {
        return low_time;
    }
    let nanos = |time: Duration| i128::try_from(time.as_nanos()).unwrap_or(i128::MAX >> 64);
    let rise = nanos(high_time) - nanos(low_time);
    let along = i128::from(size.get()) - i128::from(low.get());
    let time = nanos(low_time).saturating_add(rise.saturating_mul(along) / run).max(0);
    Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

const fn point(kib: u64, create_us: u64, free_us: u64) -> HeapCost {
    HeapCost {
        size: ByteSize::from_kib(kib),
        create: Duration::from_micros(create_us),
        free: Duration::from_micros(free_us),
    }
}

const MIB: u64 = 1 << 10;

/// Medians of 192 calls (48 above 64 MiB), with 1, 8 and 32 GiB held by the process.
static DEVICE_LOCAL: [HeapCost; 17] = [
    point(64, 83, 73),
    point(128, 85, 73),
    point(256, 95, 74),
    point(512, 98, 78),
    point(MIB, 119, 94),
    point(2 * MIB, 136, 89),
    point(4 * MIB, 174, 105),
    point(8 * MIB, 243, 135),
    point(16 * MIB, 413, 200),
    point(32 * MIB, 733, 395),
    point(64 * MIB, 1_371, 1_087),
    point(128 * MIB, 2_664, 2_312),
    point(256 * MIB, 5_310, 4_596),
    point(512 * MIB, 12_788, 12_255),
    point(1024 * MIB, 25_524, 26_300),
    point(2048 * MIB, 51_169, 53_921),
    point(4096 * MIB, 105_633, 120_082),
];

/// Medians of 192 calls (48 above 64 MiB), with 1, 4 and 8 GiB held by the process.
static HOST_VISIBLE: [HeapCost; 15] = [
    point(64, 299, 902),
    point(128, 330, 1_015),
    point(256, 294, 884),
    point(512, 428, 892),
    point(MIB, 674, 1_066),
    point(2 * MIB, 943, 1_048),
    point(4 * MIB, 1_681, 1_261),
    point(8 * MIB, 2_998, 1_396),
    point(16 * MIB, 5_806, 2_119),
    point(32 * MIB, 10_054, 2_919),
    point(64 * MIB, 19_866, 5_178),
    point(128 * MIB, 39_231, 11_831),
    point(256 * MIB, 79_580, 17_774),
    point(512 * MIB, 158_000, 38_308),
    point(1024 * MIB, 314_979, 73_153),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_sizes_cost_what_was_measured() {
        for costs in [HeapCosts::device_local(), HeapCosts::host_visible()] {
            for point in costs.points() {
                assert_eq!(costs.of(point.size), *point);
            }
        }
    }

    #[test]
    fn sizes_between_points_lie_on_the_line() {
        let costs = HeapCosts::device_local();
        let cost = costs.of(ByteSize::from_mib(96));
        assert_eq!((cost.create.as_micros(), cost.free.as_micros()), (2_017, 1_699));
        // A line may fall: freeing 1.5 MiB lies between 94 and 89 us.
        assert_eq!(costs.of(ByteSize::from_kib(1_536)).free.as_micros(), 91);
    }

    #[test]
    fn outside_of_the_points_small_heaps_cost_the_least_and_large_ones_their_share() {
        let costs = HeapCosts::device_local();
        assert_eq!(costs.of(ByteSize::ZERO).create.as_micros(), 83);
        assert_eq!(costs.of(ByteSize::from_mib(8192)).create.as_micros(), 211_266);
        let _no_overflow = costs.round_trip(ByteSize::new(u64::MAX));
    }

    #[test]
    fn measured_elsewhere() {
        let at = |kib| point(kib, kib, kib);
        assert_eq!(HeapCosts::new(vec![]), None);
        assert_eq!(HeapCosts::new(vec![at(2), at(2)]), None);
        assert_eq!(HeapCosts::new(vec![at(2), at(1)]), None);
        let costs = HeapCosts::new(vec![at(1), at(3)]).expect("the sizes increase");
        assert_eq!(costs.round_trip(ByteSize::from_kib(2)).as_micros(), 4);
    }
}
