//! The cost of heaps: the time that a device takes to create and free them.

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapCosts {
    /// By increasing size; never empty.
    points: &'static [HeapCost],
    factor: u32,
}

impl HeapCosts {
    /// The time to create and destroy a placed resource in a heap that exists, without the time of the
    /// allocator: 0.2 us for a small buffer, measured with the table of heaps. A trace counts it once for
    /// each allocation.
    pub const PLACED_RESOURCE: Duration = Duration::from_nanos(200);

    /// Returns the costs of a table, or `None` if it is empty or its sizes do not increase. Sizes between two points
    /// are interpolated. O(points).
    #[must_use]
    pub const fn new(points: &'static [HeapCost]) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let mut next = 1;
        while next < points.len() {
            if points[next].size.get() <= points[next - 1].size.get() {
                return None;
            }
            next += 1;
        }
        Some(Self { points, factor: 1 })
    }

    /// Heaps in the GPU's own memory (`D3D12_HEAP_TYPE_DEFAULT` of a discrete GPU), measured on an NVIDIA
    /// H200 with `vkAllocateMemory` and `vkFreeMemory`, 2026-11-23, in a process that holds other memory: creating
    /// and freeing the only heap of a process takes two to four times as long.
    #[must_use]
    pub const fn device_local() -> Self {
        Self { points: &DEVICE_LOCAL, factor: 1 }
    }

    /// Heaps that the CPU can map (`D3D12_HEAP_TYPE_UPLOAD` and `D3D12_HEAP_TYPE_READBACK`), measured in the
    /// same way.
    #[must_use]
    pub const fn host_visible() -> Self {
        Self { points: &HOST_VISIBLE, factor: 1 }
    }

    /// Memory that is dedicated to one buffer, with capture and replay of its address, measured on an NVIDIA H200 with
    /// Vulkan, 2026-11-23.
    #[must_use]
    pub const fn dedicated() -> Self {
        Self { points: &DEDICATED, factor: 1 }
    }

    /// Heaps of vkd3d-proton 3.1.0 in the GPU's own memory, measured on an NVIDIA H200, 2026-11-23. It cuts small heaps
    /// from chunks of its own.
    #[must_use]
    pub const fn vkd3d_proton() -> Self {
        Self { points: &VKD3D_PROTON, factor: 1 }
    }

    /// Returns costs that are `factor` times as high.
    #[must_use]
    pub const fn times(self, factor: u32) -> Self {
        Self { points: self.points, factor: self.factor * factor }
    }

    /// Returns the time to create and to free a heap of `size` bytes. O(log points).
    #[must_use]
    #[inline]
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
        let on_line = |low_time, high_time| on_line(low_time, high_time).saturating_mul(self.factor);
        HeapCost { size, create: on_line(low.create, high.create), free: on_line(low.free, high.free) }
    }

    /// Returns the time to create a heap of `size` bytes and to free it later. O(log points).
    #[must_use]
    #[inline]
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

const fn tenths(kib: u64, create: u64, free: u64) -> HeapCost {
    HeapCost {
        size: ByteSize::from_kib(kib),
        create: Duration::from_nanos(100 * create),
        free: Duration::from_nanos(100 * free),
    }
}

/// Medians, with 48 heaps of 16 MiB held by the process.
static DEDICATED: [HeapCost; 13] = [
    tenths(64, 529, 379),
    tenths(256, 752, 530),
    tenths(1024, 531, 388),
    tenths(2048, 572, 470),
    tenths(4096, 557, 482),
    tenths(8192, 568, 528),
    tenths(16384, 878, 614),
    tenths(32768, 1097, 813),
    tenths(65536, 1468, 1170),
    tenths(131072, 2447, 1937),
    tenths(262144, 3722, 2948),
    tenths(1048576, 8135, 5459),
    tenths(4194304, 28479, 18132),
];

/// Medians, with 48 heaps of 16 MiB held by the process.
static VKD3D_PROTON: [HeapCost; 10] = [
    tenths(64, 2, 1),
    tenths(256, 2, 1),
    tenths(1024, 2, 1),
    tenths(4096, 1008, 787),
    tenths(16384, 2821, 1547),
    tenths(32768, 5502, 2677),
    tenths(65536, 9842, 5875),
    tenths(131072, 18832, 16908),
    tenths(262144, 38979, 33984),
    tenths(1048576, 197722, 195443),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_sizes_cost_what_was_measured() {
        for costs in [
            HeapCosts::device_local(),
            HeapCosts::host_visible(),
            HeapCosts::dedicated(),
            HeapCosts::vkd3d_proton(),
        ] {
            assert!(costs.points.is_sorted_by(|a, b| a.size < b.size));
            for point in costs.points {
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
    fn costs_can_be_multiplied() {
        let tenfold = HeapCosts::device_local().times(10);
        assert_eq!(tenfold.of(ByteSize::from_mib(64)).create.as_micros(), 13_710);
        assert_eq!(tenfold.round_trip(ByteSize::from_mib(64)).as_micros(), 24_580);
    }
}
