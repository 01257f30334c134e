//! The times of calls that create and free memory.

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

/// The simulated devices, with their names.
pub const DEVICES: [(&str, Prices); 4] = [
    ("heaps at the price of plain memory on an H200", Prices::on_h200()),
    ("heaps that are dedicated memory", Prices::of_all(HeapCosts::dedicated())),
    ("vkd3d-proton", Prices::of_all(HeapCosts::vkd3d_proton())),
    (
        "ten times plain memory",
        Prices { shared: HeapCosts::device_local().times(10), dedicated: HeapCosts::dedicated().times(10) },
    ),
];

impl Prices {
    /// Returns the times that were measured on an NVIDIA H200.
    #[must_use]
    pub const fn on_h200() -> Self {
        Self { shared: HeapCosts::device_local(), dedicated: HeapCosts::dedicated() }
    }

    /// Returns a price for all memory.
    const fn of_all(costs: HeapCosts) -> Self {
        Self { shared: costs, dedicated: costs }
    }

    /// Returns the time to create and to free a block.
    #[must_use]
    pub fn of(&self, block: Block) -> HeapCost {
        let costs = if block.is_dedicated { &self.dedicated } else { &self.shared };
        costs.of(block.size)
    }
}
