//! The backing buffers of an allocator, of all kinds.

use std::sync::{Arc, OnceLock};

use heapwright_core::ByteSize;

use super::backing_buffers::{BackingBuffers, BackingKind, EmptyBacking};
use crate::HeapType;
use crate::heap_family::GrantedHeaps;
use crate::memory::{HeapSource, Striped};

/// The backing buffers of an allocator. Those of a kind are created on first use.
#[derive(Debug)]
pub(crate) struct BufferSets {
    source: Arc<HeapSource>,
    sets: [OnceLock<Striped<BackingBuffers>>; BackingKind::COUNT],
}

impl BufferSets {
    pub(crate) fn new(source: &Arc<HeapSource>) -> Self {
        Self { source: Arc::clone(source), sets: Default::default() }
    }

    /// Returns the backing buffers in the granted heaps.
    #[inline]
    pub(crate) fn of(&self, granted: &GrantedHeaps) -> &Striped<BackingBuffers> {
        let kind = BackingKind::of(granted);
        self.sets[kind.index()].get_or_init(|| Striped::new(BackingBuffers::new(kind, &self.source)))
    }

    /// Returns the backing buffers of each kind that was ever used.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Striped<BackingBuffers>> {
        self.sets.iter().filter_map(OnceLock::get)
    }

    /// Releases the empty backing buffers.
    pub(crate) fn release_empty(&self) {
        self.all().for_each(|buffers| buffers.release_empty());
    }

    /// Returns type and size of the heaps that contain only empty backing buffers. O(n log n) for n empty backing
    /// buffers.
    pub(crate) fn heaps_of_empty(&self) -> Vec<(HeapType, ByteSize)> {
        let mut empty: Vec<EmptyBacking> = self.all().flat_map(|buffers| buffers.places_of_empty()).collect();
        empty.sort_by_key(|backing| backing.heap);
        let heaps = empty.chunk_by(|one, other| one.heap == other.heap).filter_map(|of_heap| {
            let first = of_heap.first()?;
            let is_all = u64::try_from(of_heap.len()) == Ok(first.allocations_in_heap);
            is_all.then(|| (first.heaps.desc.heap_type, first.heap_size))
        });
        heaps.collect()
    }
}
