//! The times of calls that create and free memory.

use std::time::Duration;

use heapwright_core::ByteSize;
use heapwright_core::placement::{HeapCost, HeapCosts};

use super::meter::Block;

/// The times by size, for each kind of memory of the GPU.
#[derive(Clone, Debug)]
pub struct Prices {
    shared: HeapCosts,
    dedicated: HeapCosts,
}

impl Prices {
    /// Returns the times that were measured on an NVIDIA H200: core's table, and for dedicated memory those in
    /// `heap-times/sizes.csv`.
    ///
    /// # Panics
    ///
    /// Panics if the file has no increasing sizes of dedicated memory.
    #[must_use]
    pub fn on_h200() -> Self {
        let file = include_str!("../../heap-times/sizes.csv");
        let points = file.lines().filter_map(|line| line.strip_prefix("dedicated,")).map(|line| {
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
            let [size, create, free] = cells[..] else { panic!("three numbers, not {line}") };
            let [create, free] = [create, free].map(Duration::from_micros);
            HeapCost { size: ByteSize::new(size), create, free }
        });
        let dedicated = HeapCosts::new(points.collect()).expect("sizes that increase");
        Self { shared: HeapCosts::device_local(), dedicated }
    }

    /// Returns the time to create and to free a block.
    #[must_use]
    pub fn of(&self, block: Block) -> HeapCost {
        let costs = if block.is_dedicated { &self.dedicated } else { &self.shared };
        costs.of(block.size)
    }
}
