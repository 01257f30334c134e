//! A heap that is kept full: how much fits, and the cost of making room.

use std::time::Instant;

use heapwright_core::{Alignment, ByteSize};

use super::{Best, Slices};
use crate::random::scale;
use crate::rival::{Rival, Terms};
use crate::rivals::Job;

/// Fills several heaps, with one free for every two allocations, each until a refusal. In the last one the workload
/// continues: it allocates, and after each refusal frees a random allocation and tries again.
///
/// The allocations to free depend on refusals, so from the first refusal on the rivals' operations differ. All rivals
/// serve the same sizes in the same order.
#[derive(Clone, Debug)]
pub struct Full {
    /// The terms for each rival.
    pub terms: Terms,
    /// The steps to fill each heap. Each list is longer than necessary.
    pub fills: Vec<Vec<Step>>,
    /// The steps in the full heap.
    pub steps: Vec<Step>,
}

/// Random bits that select an allocation to free, and the size to allocate.
pub type Step = (u64, ByteSize);

/// The result of [`Full`].
#[derive(Clone, Debug)]
pub struct Fullness {
    /// Live bytes, as requested, relative to the capacity at the first refusal; the mean over the heaps.
    pub first: f64,
    /// Live bytes, as requested, relative to the capacity at refusals after the first; the mean over the refusals.
    pub mean: f64,
    slices: Slices,
    steps: usize,
}

impl Fullness {
    /// Returns the time per served request after the first refusal, including the refusals and frees in between.
    #[must_use]
    pub fn nanoseconds(&self) -> f64 {
        self.slices.nanoseconds() / self.steps as f64
    }
}

impl Best for Fullness {
    fn keep_best(&mut self, again: Self) {
        self.slices.keep_best(again.slices);
    }
}

impl Job for Full {
    type Outcome = Fullness;

    fn run<R: Rival>(&self) -> Fullness {
        let Terms { capacity, alignment, .. } = self.terms;
        let mut heap = Heap::<R>::new(&self.terms);
        let mut first = 0.0;
        for (place, fill) in self.fills.iter().enumerate() {
            if place > 0 {
                heap = Heap::new(&self.terms);
            }
            heap.fill(fill, alignment);
            first += heap.used as f64 / self.fills.len() as f64;
        }
        let Heap { mut rival, mut live, mut used } = heap;
        let (mut refused_at, mut refusals) = (0_u128, 0_u64);
        let mut slices = Slices::default();
        for slice in self.steps.chunks(Slices::LENGTH) {
            let start = Instant::now();
            for &(bits, size) in slice {
                let mut bits = bits;
                loop {
                    if let Some((handle, _)) = rival.allocate(size, alignment) {
                        live.push((handle, size));
                        used += size.get();
                        break;
                    }
                    refused_at += u128::from(used);
                    refusals += 1;
                    bits = bits.rotate_left(23);
                    let Ok(count @ 1..) = u32::try_from(live.len()) else {
                        // The rival refuses although nothing is live; the comparison of refusals reports it.
                        break;
                    };
                    let (handle, freed) = live.swap_remove(scale(bits, count) as usize);
                    used -= freed.get();
                    rival.free(handle);
                }
            }
            slices.push(start.elapsed());
        }
        let share = |bytes: f64| bytes / capacity.get() as f64;
        Fullness {
            first: share(first),
            mean: share(refused_at as f64 / refusals as f64),
            slices,
            steps: self.steps.len(),
        }
    }
}

struct Heap<R: Rival> {
    rival: R,
    live: Vec<(R::Handle, ByteSize)>,
    used: u64,
}

impl<R: Rival> Heap<R> {
    fn new(terms: &Terms) -> Self {
        Self { rival: R::new(terms), live: Vec::new(), used: 0 }
    }

    /// Fills the heap until the first refusal. Without the frees there would be no holes, and all rivals would fill it
    /// entirely.
    fn fill(&mut self, steps: &[Step], alignment: Alignment) {
        for &(bits, size) in steps {
            let Some((handle, _)) = self.rival.allocate(size, alignment) else { return };
            self.live.push((handle, size));
            self.used += size.get();
            // The low bit decides whether to free, the high bits select the allocation.
            if bits & 1 == 1
                && let Ok(count) = u32::try_from(self.live.len())
            {
                let (handle, freed) = self.live.swap_remove(scale(bits, count) as usize);
                self.used -= freed.get();
                self.rival.free(handle);
            }
        }
    }
}
