//! The allocators of the process: those of one adapter take the same memory, so before one of them fails, the empty
//! heaps of the others are released.
//!
//! The list is locked only to read it or to add to it. What is released is locked as by any thread that calls the other
//! allocator.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use heapwright_core::ByteSize;
use heapwright_d3d12::LUID;

use super::nesting::Nesting;
use super::{HeapKinds, TypedHeaps};
use crate::SegmentGroup;

/// Allocators that are nested in one another.
struct Family {
    adapter: LUID,
    nesting: Weak<Nesting>,
}

static FAMILIES: Mutex<Vec<Family>> = Mutex::new(Vec::new());

/// Adds the allocators of a device of this adapter.
pub(super) fn add(adapter: LUID, nesting: &Arc<Nesting>) {
    let mut families = FAMILIES.lock().unwrap_or_else(PoisonError::into_inner);
    families.retain(|family| family.nesting.strong_count() > 0);
    families.push(Family { adapter, nesting: Arc::downgrade(nesting) });
}

/// Returns the allocators of the same adapter that are not nested with these.
fn others(nesting: &Nesting) -> Vec<Arc<HeapKinds>> {
    let families = FAMILIES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_own = |family: &&Family| std::ptr::eq(family.nesting.as_ptr(), nesting);
    let Some(adapter) = families.iter().find(is_own).map(|own| own.adapter) else { return Vec::new() };
    let others = families.iter().filter(|family| family.adapter == adapter && !is_own(family));
    let others: Vec<_> = others.filter_map(|family| family.nesting.upgrade()).collect();
    drop(families);
    others.iter().flat_map(|nesting| nesting.alive()).collect()
}

impl HeapKinds {
    /// Returns the other allocators of the adapter whose empty heaps may be released.
    fn others(&self) -> impl Iterator<Item = Arc<Self>> + use<> {
        others(&self.nesting).into_iter().filter(|other| !other.source.never_over_allocates())
    }

    /// Returns whether other allocators of the process have empty heaps of at least `bytes` bytes in a segment group.
    pub(in crate::heaps) fn have_others(&self, group: SegmentGroup, bytes: ByteSize) -> bool {
        let heaps = self.others().flat_map(|other| other.all());
        let empty = heaps.filter(|heaps| heaps.desc.segment_group == group).map(|heaps| heaps.totals().empty);
        empty.fold(ByteSize::ZERO, ByteSize::saturating_add) >= bytes
    }

    /// Releases empty heaps in a segment group of other allocators of the process, until at least `bytes` are released.
    /// Returns the number of released bytes.
    pub(in crate::heaps) fn release_of_others(&self, group: SegmentGroup, bytes: ByteSize) -> ByteSize {
        let mut released = ByteSize::ZERO;
        for other in self.others() {
            if released >= bytes {
                break;
            }
            released = released.saturating_add(other.give_back(group, bytes.saturating_sub(released)));
        }
        if !released.is_zero() {
            tracing::debug!(%group, %bytes, %released, "other allocators of the process released empty heaps");
        }
        released
    }

    /// Releases at least `bytes` bytes of empty heaps in a segment group, or all of them, for another allocator.
    fn give_back(&self, group: SegmentGroup, bytes: ByteSize) -> ByteSize {
        let is_of = |heaps: &TypedHeaps| {
            Arc::ptr_eq(&heaps.source, &self.source) && heaps.desc.segment_group == group
        };
        let _alone = self.source.release_alone();
        self.release_of(&is_of, bytes)
    }
}
