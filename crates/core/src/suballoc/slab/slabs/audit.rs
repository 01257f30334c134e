//! Full check of the rings of slabs, and of the vacant places.

use super::super::class::SizeClass;
use super::{SlabIndex, SlabRings};

impl SlabRings {
    /// Returns the first broken link as an error; otherwise the number of slabs in rings and the number of
    /// vacant places.
    #[inline]
    pub(in crate::suballoc::slab) fn audit(&self) -> Result<(u32, u32), String> {
        let (mut linked, mut vacant) = (0, 0);
        for class in SizeClass::rings() {
            let head = SlabIndex::head(class);
            let (mut previous, mut index, mut empty_before) = (head, self.first(class), false);
            while index != head {
                let slab = self.find(index).ok_or_else(|| format!("{index:?} is not in the table"))?;
                if slab.previous != previous {
                    return Err(format!("{index:?} follows {previous:?} but does not link back to it"));
                }
                if slab.class != class || slab.free == 0 || slab.free & !slab.all != 0 {
                    return Err(format!("{slab:?} is in the ring of {class:?}, but does not belong there"));
                }
                if empty_before && !slab.is_empty() {
                    return Err(format!("an empty slab precedes {slab:?}, which is not empty"));
                }
                linked += 1;
                if linked > self.place_count() {
                    return Err(format!("the ring of {class:?} has a cycle"));
                }
                (previous, index, empty_before) = (index, slab.next, slab.is_empty());
            }
            if self.last(class) != previous {
                return Err(format!("the last slab of {class:?} is {previous:?}, not the recorded one"));
            }
        }
        let mut index = self.vacant;
        while index != Self::NO_VACANT {
            let place =
                self.find(index).ok_or_else(|| format!("vacant place {index:?} is not in the table"))?;
            vacant += 1;
            if place.all != 0 || vacant > self.place_count() {
                return Err(format!("{index:?} is not vacant or is listed twice"));
            }
            index = place.next;
        }
        Ok((linked, vacant))
    }
}
