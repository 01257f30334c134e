//! Functions shared by policies and the planner for choosing victims.

use super::HeapSlot;
use crate::ByteSize;

/// Removes victims that are not needed to reach `need`, the last first, and keeps the order of the others.
///
/// Heaps are large and of different sizes: a small victim chosen first is not needed any more if a large one
/// follows. Because policies name the least valuable heaps first, the most valuable are kept resident.
/// `size_of` is called at most twice for each victim.
///
/// Cost: O(victims). Nothing is allocated.
///
/// ```
/// use heapwright_core::ByteSize;
/// use heapwright_core::residency::policy::{HeapSlot, spare_unneeded};
///
/// let sizes = [2, 1, 8].map(ByteSize::new);
/// let mut victims: Vec<_> = (0..3).map(HeapSlot::new).collect();
/// spare_unneeded(&mut victims, ByteSize::new(9), |heap| sizes[heap.index()]);
/// // 11 bytes were chosen: the heap of one byte can stay, but then not the one of two.
/// assert_eq!(victims, [HeapSlot::new(0), HeapSlot::new(2)]);
/// ```
pub fn spare_unneeded(
    victims: &mut Vec<HeapSlot>,
    need: ByteSize,
    mut size_of: impl FnMut(HeapSlot) -> ByteSize,
) {
    let chosen = victims.iter().fold(0_u128, |sum, &heap| sum + u128::from(size_of(heap).get()));
    let Some(mut surplus) = chosen.checked_sub(u128::from(need.get())) else {
        return;
    };
    let mut kept = victims.len();
    for at in (0..victims.len()).rev() {
        let size = u128::from(size_of(victims[at]).get());
        if size <= surplus {
            surplus -= size;
        } else {
            kept -= 1;
            victims[kept] = victims[at];
        }
    }
    victims.drain(..kept);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn exactly_the_needed_victims_are_chosen(
            sizes in prop::collection::vec(0..30_u64, 0..20), need in 0..200_u64
        ) {
            let size_of = |heap: HeapSlot| ByteSize::new(sizes[heap.index()]);
            let mut victims: Vec<_> = (0..u32::try_from(sizes.len()).unwrap()).map(HeapSlot::new).collect();
            let before = victims.clone();
            spare_unneeded(&mut victims, ByteSize::new(need), size_of);
            let bytes: u64 = victims.iter().map(|&heap| size_of(heap).get()).sum();
            prop_assert!(victims.is_sorted());
            if sizes.iter().sum::<u64>() < need {
                prop_assert_eq!(victims, before);
            } else {
                prop_assert!(bytes >= need);
                for &victim in &victims {
                    prop_assert!(bytes - size_of(victim).get() < need, "{:?} is not needed", victim);
                }
            }
        }
    }
}
