//! Giving empty heaps back to the device, when their memory is needed for something else.

use std::sync::Arc;

use heapwright_core::ByteSize;
use heapwright_d3d12::D3D12_HEAP_FLAGS;

use super::desc::ResourceAllocatorFlags;
use super::heap_source::Terms;
use super::typed_heaps::TypedHeaps;
use super::{HeapType, Inner};
use crate::SegmentGroup;

impl Inner {
    /// Gives back what empty heaps hold beyond the limit and the budget once `size` bytes more are taken: for the limit, this
    /// allocator's heaps of the type; for the budget, any of the segment group, those of pools and nested allocators among them.
    ///
    /// With `NEVER_OVER_ALLOCATE` nothing is given back.
    pub(super) fn give_back_for(
        &self,
        place: (HeapType, SegmentGroup),
        size: ByteSize,
        flags: D3D12_HEAP_FLAGS,
        terms: Terms,
    ) {
        if self.desc.flags.contains(ResourceAllocatorFlags::NEVER_OVER_ALLOCATE) {
            return;
        }
        let bytes = self.bytes_to_give_back(place, size, flags, terms);
        let (heap_type, group) = place;
        let mut released = ByteSize::ZERO;
        if !bytes.of_type.is_zero() {
            self.return_unused_memory();
            let own = self.all_heaps();
            let of_type = own.iter().filter(|heaps| heaps.desc.heap_type == heap_type);
            released = release_from(of_type, bytes.of_type.max(self.desc.release_size));
        }
        if bytes.of_group > released {
            self.return_unused_memory();
            let family = self.heaps_of_family();
            let of_group = family.iter().filter(|heaps| heaps.desc.segment_group == group);
            let bytes = bytes.of_group.saturating_sub(released).max(self.desc.release_size);
            released = released.saturating_add(release_from(of_group, bytes));
        }
        if !released.is_zero() {
            tracing::debug!(%size, %released, "empty heaps were given back before more memory is taken");
        }
    }

    /// Gives empty heaps back because the device has no memory for `size` bytes, and returns their bytes. What helps goes first:
    /// memory is that of a segment group.
    pub(super) fn make_room(&self, size: ByteSize, heap_type: HeapType, group: SegmentGroup) -> ByteSize {
        self.collect_deferred();
        self.return_unused_memory();
        let rank = |heaps: &Arc<TypedHeaps>| {
            if heaps.desc.heap_type == heap_type {
                0
            } else {
                1 + u8::from(heaps.desc.segment_group != group)
            }
        };
        let mut heaps = self.heaps_of_family();
        heaps.sort_by_key(rank);
        let bytes = size.max(self.desc.release_size);
        let helping = heaps.iter().filter(|heaps| heaps.desc.segment_group == group);
        let released = release_from(helping, bytes);
        let others = heaps.iter().filter(|heaps| heaps.desc.segment_group != group);
        released.saturating_add(release_from(others, bytes.saturating_sub(released)))
    }

    /// Gives empty heaps of the allocator and its pools back to the device, whole ones until so many bytes are reached, and returns
    /// their bytes.
    pub(super) fn release(&self, bytes: ByteSize) -> ByteSize {
        self.return_unused_memory();
        release_from(self.all_heaps().iter(), bytes)
    }

    /// Has backing buffers and slabs that nothing is in return their memory to the heaps.
    pub(super) fn return_unused_memory(&self) {
        for within in self.all_backing_buffers() {
            within.release_empty();
        }
        for heaps in self.heaps_of_family() {
            heaps.shared().give_up_unused_slabs();
            heaps.note_change();
        }
    }

    /// The heaps of this allocator and its pools, and those of allocators that are nested with it.
    pub(super) fn heaps_of_family(&self) -> Vec<Arc<TypedHeaps>> {
        let mut heaps = self.all_heaps();
        heaps.extend(self.relations.heaps_of_others(self));
        heaps
    }
}

fn release_from<'a>(heaps: impl Iterator<Item = &'a Arc<TypedHeaps>>, bytes: ByteSize) -> ByteSize {
    let mut released = ByteSize::ZERO;
    for heaps in heaps {
        if released >= bytes {
            break;
        }
        released = released.saturating_add(heaps.release(bytes.saturating_sub(released)));
    }
    released
}
