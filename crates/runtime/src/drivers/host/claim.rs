//! A range of one's own choice out of a suballocator, which chooses by itself.

use heapwright_core::suballoc::{Suballocation, SuballocationId, Tlsf};
use heapwright_core::{Alignment, ByteSize, HeapRange};

/// Uses exactly the bytes of `wanted`; `None`, and the same bytes used as before, when some of them are used already or
/// the suballocator has no room for more ranges.
///
/// It takes all that is free, gives back the free range around `wanted`, and so leaves the suballocator no choice. Cost:
/// O(n) in the ranges of the suballocator.
pub(super) fn claim(space: &mut Tlsf, wanted: HeapRange) -> Option<SuballocationId> {
    let around =
        space.ranges().find(|range| range.is_free() && range.range().contains_range(wanted))?.range();
    let mut held = Vec::new();
    while space.free_size() > ByteSize::ZERO {
        let Ok(taken) = space.allocate(space.largest_free_range(), Alignment::ONE) else {
            give_back(space, held);
            return None;
        };
        held.push(taken);
    }
    let (inside, outside): (Vec<_>, Vec<_>) =
        held.into_iter().partition(|taken| around.contains_range(taken.range));
    give_back(space, inside);
    let claimed = claim_in(space, around, wanted);
    give_back(space, outside);
    claimed
}

/// Uses `wanted` of `around`, which is all that is free.
fn claim_in(space: &mut Tlsf, around: HeapRange, wanted: HeapRange) -> Option<SuballocationId> {
    let in_front = wanted.start().checked_distance_from(around.start())?;
    let front = if in_front.is_zero() { None } else { Some(space.allocate(in_front, Alignment::ONE).ok()?) };
    let claimed = space.allocate(wanted.size(), Alignment::ONE);
    give_back(space, front);
    let claimed = claimed.ok()?;
    debug_assert_eq!(claimed.range, wanted, "there was no choice");
    Some(claimed.id)
}

fn give_back(space: &mut Tlsf, taken: impl IntoIterator<Item = Suballocation>) {
    for taken in taken {
        let freed = space.free(taken.id);
        debug_assert!(freed.is_ok(), "what was taken a moment ago: {freed:?}");
    }
}

#[cfg(test)]
mod tests;
