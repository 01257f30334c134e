//! Carries out what [`heap_plan`](super::heap_plan) decided: where a heap comes from, and what is tried when the device refuses one.
//!
//! When the device has no memory for a heap of the size that is wanted:
//!
//! 1. a free range of any heap of the kind is taken;
//! 2. empty heaps are given back (unless `NEVER_OVER_ALLOCATE`), and the device is asked again;
//! 3. the device is asked for a heap as small as the request allows.
//!
//! No lock is held while the device creates or destroys a heap. With a residency manager, what is idle is evicted to make room in the
//! budget for a new heap, after empty heaps are given back. What is `NEVER_RESIDENT` takes no heap that is held.

use super::heap_plan::{HeapPlan, HeapRequest};
use super::placed_range::PlacedRange;
use super::refusal::Refusal;

impl HeapRequest<'_> {
    /// Finds or makes room.
    #[inline]
    pub(crate) fn place(&self) -> Result<PlacedRange, Refusal> {
        if self.may_be_held() {
            if let Some(range) = PlacedRange::find(self.heaps, self.sharing, self.placement)? {
                return Ok(range);
            }
        }
        self.place_in_new()
    }

    fn any_range(&self) -> Result<Option<PlacedRange>, Refusal> {
        if !self.may_be_held() {
            return Ok(None);
        }
        Ok(PlacedRange::find_anywhere(self.heaps, self.sharing, self.placement)?)
    }

    #[cold]
    fn place_in_new(&self) -> Result<PlacedRange, Refusal> {
        let Self { kinds, heaps, sharing, placement, constraints } = *self;
        let in_new = |heap| Ok(PlacedRange::in_new(heaps, sharing, heap, placement)?);
        heaps.prefetch.count_miss();
        let mut plan = self.plan()?;
        // Other threads may take what was planned; each time it is planned again.
        loop {
            match plan {
                HeapPlan::Spare(sizes) => {
                    if let Some(heap) = heaps.take_spare(sizes.least, sizes.wanted) {
                        return in_new(heap);
                    }
                    plan = self.plan_without_spare(sizes)?;
                }
                HeapPlan::AnyRange => match self.any_range()? {
                    Some(range) => return Ok(range),
                    None => plan = self.plan()?,
                },
                HeapPlan::New(sizes) => {
                    heaps.make_way(sharing, placement)?;
                    let mut refusal = match kinds.create_heap(heaps, sizes.wanted, constraints) {
                        Ok(heap) => return in_new(heap),
                        Err(refusal) if refusal.fatal.is_some() => return Err(refusal),
                        Err(refusal) => refusal,
                    };
                    if let Some(range) = self.any_range()? {
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
