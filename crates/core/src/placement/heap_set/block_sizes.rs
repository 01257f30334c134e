//! Heaps of blocks of one size each.

use std::collections::HashMap;

use super::super::heap_index::HeapIndex;
use super::super::heap_table::HeapTable;
use super::Slot;
use crate::ByteSize;
use crate::suballoc::AuditError;

/// The numbers of requests of known and of new sizes: GPGMM's `SizeCacheHits` and `SizeCacheMisses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeCacheCounts {
    /// The number of requests of a known size.
    pub hits: u64,
    /// The number of requests of a size that was new, or had been forgotten.
    pub misses: u64,
}

/// The block sizes that are known.
#[derive(Default)]
pub(super) struct BlockSizes {
    sizes: HashMap<ByteSize, BlockSize>,
    pub(super) counts: SizeCacheCounts,
}

/// The data of a block size. It is dropped with the last heap of that size, unless it is to be remembered.
struct BlockSize {
    is_remembered: bool,
    /// The size of the last heap by the rule of sizes.
    last_heap_size: Option<ByteSize>,
    /// The heaps in use, full ones first.
    heaps: HeapIndex,
}

impl BlockSizes {
    fn entry(&mut self, size: ByteSize) -> &mut BlockSize {
        self.sizes.entry(size).or_insert_with(|| BlockSize {
            is_remembered: false,
            last_heap_size: None,
            heaps: HeapIndex::new(),
        })
    }

    /// Counts a request by whether its size is known.
    pub(super) fn count(&mut self, size: ByteSize, is_remembered: bool) {
        match self.sizes.contains_key(&size) {
            true => self.counts.hits += 1,
            false => self.counts.misses += 1,
        }
        if is_remembered {
            self.entry(size).is_remembered = true;
        }
    }

    pub(super) fn heaps(&self, size: ByteSize) -> Option<&HeapIndex> {
        self.sizes.get(&size).map(|known| &known.heaps)
    }

    pub(super) fn last_heap_size(&self, size: ByteSize) -> Option<ByteSize> {
        self.sizes.get(&size)?.last_heap_size
    }

    pub(super) fn set_last_heap_size(&mut self, size: ByteSize, by_rule: ByteSize) {
        self.entry(size).last_heap_size = Some(by_rule);
    }

    /// Returns the heaps in use of a size, which is known from then on.
    pub(super) fn heaps_mut(&mut self, size: ByteSize) -> &mut HeapIndex {
        &mut self.entry(size).heaps
    }

    /// Forgets a size that has no heaps, unless it is to be remembered.
    pub(super) fn forget_if_unused(&mut self, size: ByteSize) {
        if self.sizes.get(&size).is_some_and(|known| known.heaps.len() == 0 && !known.is_remembered) {
            self.sizes.remove(&size);
        }
    }

    /// Checks that all sizes are needed, and adds their heaps to a list.
    pub(super) fn list<H>(
        &self,
        heaps: &HeapTable<H>,
        listed: &mut Vec<(Option<ByteSize>, Slot)>,
    ) -> Result<(), AuditError> {
        for (&size, known) in &self.sizes {
            let slots = known.heaps.slots(heaps);
            if slots.len() != known.heaps.len() as usize || slots.is_empty() && !known.is_remembered {
                let (count, noted) = (slots.len(), known.heaps.len());
                return Err(AuditError::new(format!(
                    "blocks of {size}: counted {count} heaps, recorded {noted}"
                )));
            }
            listed.extend(slots.into_iter().map(|slot| (Some(size), slot)));
        }
        Ok(())
    }
}
