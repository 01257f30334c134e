//! The time of a replacement: a random buffer is freed, and one of a random size is created. The allocators take turns
//! in rounds, and the fastest round of each counts.

use std::time::Instant;

use super::{MOST_UNITS, Point, UNIT, index_in};
use crate::memory::allocators::{Failed, MemoryAllocator};
use crate::memory::ours::{Default, Heapwright};
use crate::memory::peers::{GpuAllocator, Vma};
use crate::memory::prices::Prices;
use crate::random::Random;

/// Replacements before the first that is timed: by then, memory is as fragmented as it gets.
const WARM_UP: usize = 50_000;
/// Replacements in a round.
const ROUND: u32 = 5_000;
const ROUNDS: usize = 8;

/// An allocator with its live buffers. It is asked for one round at a time, in turns with the others.
struct Replacing<A: MemoryAllocator> {
    allocator: A,
    buffers: Vec<A::Buffer>,
    random: Random,
}

trait Rounds {
    /// Returns the time of a replacement in a round, in microseconds.
    fn round(&mut self) -> Result<f64, Failed>;
}

impl<A: MemoryAllocator> Replacing<A> {
    fn new(live: usize) -> Result<Self, Failed> {
        let mut random = Random::new(71);
        let mut allocator = A::new(&Prices::on_h200())?;
        let mut buffers = Vec::with_capacity(live);
        for _ in 0..live {
            buffers.push(allocator.allocate(random.log_size(MOST_UNITS, UNIT))?);
        }
        let mut replacing = Self { allocator, buffers, random };
        for _ in 0..WARM_UP {
            replacing.replace()?;
        }
        Ok(replacing)
    }

    fn replace(&mut self) -> Result<(), Failed> {
        let index = index_in(&self.buffers, &mut self.random);
        let buffer = self.buffers.swap_remove(index);
        self.allocator.free(buffer)?;
        self.buffers.push(self.allocator.allocate(self.random.log_size(MOST_UNITS, UNIT))?);
        Ok(())
    }
}

impl<A: MemoryAllocator> Rounds for Replacing<A> {
    fn round(&mut self) -> Result<f64, Failed> {
        let start = Instant::now();
        for _ in 0..ROUND {
            self.replace()?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUND))
    }
}

/// Measures with a number of live buffers.
///
/// # Errors
///
/// Returns the first error of an allocator.
pub fn measure(live: usize) -> Result<Vec<Point>, Failed> {
    let mut allocators: [(&str, Box<dyn Rounds>); 3] = [
        ("heapwright", Box::new(Replacing::<Heapwright<Default>>::new(live)?)),
        ("VMA", Box::new(Replacing::<Vma>::new(live)?)),
        ("gpu-allocator", Box::new(Replacing::<GpuAllocator>::new(live)?)),
    ];
    let mut points =
        allocators.each_ref().map(|&(allocator, _)| Point { allocator, live, microseconds: f64::INFINITY });
    for _ in 0..ROUNDS {
        for ((_, allocator), point) in allocators.iter_mut().zip(&mut points) {
            point.microseconds = point.microseconds.min(allocator.round()?);
        }
    }
    Ok(points.to_vec())
}
