//! The times of calls that create and free memory.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapCost, HeapCosts};

use super::meter::Block;

/// The times by size, for each kind of memory of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// Memory for any number of buffers.
    pub shared: HeapCosts,
    /// Memory that is dedicated to one buffer.
    pub dedicated: HeapCosts,
}

/// Memory of Vulkan that is dedicated to one buffer, without capture and replay of its address: the rows `dedicated` of
/// `heap-times/sizes.csv`.
const VULKAN_DEDICATED: HeapCosts = HeapCosts::new(&[
    point(64, 29, 30),
    point(128, 27, 30),
    point(256, 27, 30),
    point(512, 28, 30),
    point(1024, 37, 32),
    point(2048, 28, 29),
    point(4096, 28, 30),
    point(8192, 28, 31),
    point(16384, 47, 35),
    point(32768, 63, 40),
    point(65536, 87, 55),
    point(131072, 145, 86),
    point(262144, 273, 148),
    point(524288, 536, 267),
    point(1048576, 1087, 510),
    point(2097152, 2054, 908),
    point(4194304, 4776, 2024),
])
.expect("sizes increase");

const fn point(kib: u64, create_us: u64, free_us: u64) -> HeapCost {
    HeapCost {
        size: ByteSize::from_kib(kib),
        create: Duration::from_micros(create_us),
        free: Duration::from_micros(free_us),
    }
}

/// The simulated devices, with their names.
pub const DEVICES: [(&str, Prices); 4] = [
    ("heaps at the price of plain memory on an H200", Prices::on_h200()),
    ("heaps that are dedicated memory", Prices::of_all(HeapCosts::dedicated())),
    ("vkd3d-proton", Prices::of_all(HeapCosts::vkd3d_proton())),
    (
        "ten times plain memory",
        Prices { shared: HeapCosts::device_local().times(10), dedicated: VULKAN_DEDICATED.times(10) },
    ),
];

impl Prices {
    /// Returns the times that were measured on an NVIDIA H200.
    #[must_use]
    pub const fn on_h200() -> Self {
        Self { shared: HeapCosts::device_local(), dedicated: VULKAN_DEDICATED }
    }

    /// Returns a price for all memory.
    const fn of_all(costs: HeapCosts) -> Self {
        Self { shared: costs, dedicated: costs }
    }

    /// Returns the prices with dedicated memory at the price of other memory, as committed resources have it on the
    /// implementations of Direct3D 12 that were measured.
    #[must_use]
    pub const fn without_dedicated(self) -> Self {
        Self::of_all(self.shared)
    }

    /// Returns the time to create and to free a block.
    #[must_use]
    pub fn of(&self, block: Block) -> HeapCost {
        let costs = if block.is_dedicated { &self.dedicated } else { &self.shared };
        costs.of(block.size)
    }
}
