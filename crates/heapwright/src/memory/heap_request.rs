//! Carries out the decisions of [`heap_plan`](super::heap_plan), and handles refusals of the device.
//!
//! If the device has no memory for a heap of the intended size:
//!
//! 1. a free range of any heap of the kind is taken;
//! 2. empty heaps are released (unless `NEVER_OVER_ALLOCATE`), and the device is called again;
//! 3. the smallest possible heap for the request is created.
//!
//! No lock is held while the device creates or destroys a heap. With a residency manager, idle heaps are evicted to
//! keep a new heap within the budget, after empty heaps are released. `NEVER_RESIDENT` allocations never use a heap
//! that is held.

use super::heap_plan::{HeapPlan, HeapRequest};
use super::held_memory::TakenMemory;
use super::placed_range::PlacedRange;
use super::refusal::Refusal;

impl HeapRequest<'_> {
    /// Finds a free range, or creates a heap.
    #[inline]
    pub(crate) fn place(&self) -> Result<PlacedRange, Refusal> {
        if self.may_be_held() {
            if let Some(range) = PlacedRange::find(self.heaps, self.sharing, self.placement)? {
                return Ok(range);
            }
        }
        self.place_in_new()
    }

    #[cold]
    fn place_in_new(&self) -> Result<PlacedRange, Refusal> {
        let Self { kinds, heaps, sharing, placement, constraints } = *self;
        let in_new = |heap| Ok(PlacedRange::in_new(heaps, sharing, heap, placement)?);
        heaps.prefetch.count_miss();
        let held = &mut TakenMemory;
        let mut plan = self.plan(held)?;
        loop {
            match plan {
                HeapPlan::Spare(sizes) => {
                    if let Some(heap) = heaps.take_spare(sizes.least, sizes.wanted) {
                        return in_new(heap);
                    }
                    // Another thread was faster.
                    plan = self.plan_without_spare(sizes, held)?;
                }
                HeapPlan::Range(range) => return Ok(range),
                HeapPlan::New(sizes) => {
                    heaps.make_way(sharing, placement)?;
                    let mut refusal = match kinds.create_heap(heaps, sizes.wanted, constraints) {
                        Ok(heap) => return in_new(heap),
                        Err(refusal) if refusal.fatal.is_some() => return Err(refusal),
                        Err(refusal) => refusal,
                    };
                    if let Some(range) = self.any_range(held)? {
                        return Ok(range);
                    }
                    let (wanted, least) = (sizes.wanted, sizes.least);
                    return match kinds.create_after_refusal(
                        heaps,
                        wanted,
                        least,
                        constraints,
                        &mut refusal,
                    )? {
                        Some(heap) => in_new(heap),
                        None => Err(refusal),
                    };
                }
            }
        }
    }
}
