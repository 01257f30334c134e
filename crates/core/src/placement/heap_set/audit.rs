//! Full check of a set of heaps.

use super::{Closing, HeapSet, HeapSetTotals, Sharing};
use crate::suballoc::AuditError;

impl<H> HeapSet<H> {
    /// Checks that suballocators, indices and totals agree. O(heaps + ranges); for tests.
    ///
    /// # Errors
    ///
    /// Returns the first disagreement.
    pub(crate) fn audit(&self) -> Result<(), AuditError> {
        let mut counted = HeapSetTotals::default();
        let (mut empty, mut in_use) = (Vec::new(), Vec::new());
        for slot in 0..self.slot_limit() {
            let Some(heap) = self.table.get(slot) else { continue };
            heap.ranges.audit()?;
            counted.used = counted.used.saturating_add(heap.ranges.used());
            counted.reserved = counted.reserved.saturating_add(heap.ranges.capacity());
            counted.allocation_count += heap.ranges.allocation_count();
            counted.heap_count += 1;
            if heap.ranges.is_empty() {
                counted.empty_heap_count += 1;
                counted.empty = counted.empty.saturating_add(heap.ranges.capacity());
            }
            if heap.closing == Closing::Open {
                if heap.ranges.is_empty() {
                    empty.push(slot);
                } else if heap.sharing == Sharing::Shared {
                    in_use.push((self.block_size_of(slot), slot));
                }
            }
        }
        self.audit_closed()?;
        if counted != self.totals {
            return Err(AuditError::new(format!("counted {counted:?}, recorded {:?}", self.totals)));
        }
        for (mut found, of) in
            [(self.idle_slots(), "in their order"), (self.empty.slots(&self.table), "indexed")]
        {
            found.sort_unstable();
            if found != empty {
                return Err(AuditError::new(format!("the heaps {empty:?} are empty, {of} are {found:?}")));
            }
        }
        let mut indexed: Vec<_> =
            self.occupied.slots(&self.table).into_iter().map(|slot| (None, slot)).collect();
        self.blocks.list(&self.table, &mut indexed)?;
        indexed.sort_unstable();
        in_use.sort_unstable();
        if indexed != in_use {
            return Err(AuditError::new(format!("the heaps {in_use:?} are in use, indexed are {indexed:?}")));
        }
        if self.rule.has_one_heap() && in_use.len() > 1 {
            return Err(AuditError::new(format!("the heaps {in_use:?} are in use instead of one")));
        }
        Ok(())
    }

    /// Checks that each open heap is in the index of its class, and that empty closed heaps are recorded.
    fn audit_closed(&self) -> Result<(), AuditError> {
        let fail = |finding: String| Err(AuditError::new(finding));
        for slot in self.occupied.slots(&self.table) {
            let heap = self.table.heap(slot);
            if !heap.is_found() {
                let (sharing, closing) = (heap.sharing, heap.closing);
                return fail(format!(
                    "heap {slot} is indexed as one with room, but is {sharing:?}, {closing:?}"
                ));
            }
        }
        let closed = (0..self.slot_limit()).filter(|&slot| self.is_closed_slot(slot)).count();
        if closed != self.closed_count {
            return fail(format!("{closed} heaps are closed, recorded are {}", self.closed_count));
        }
        let mut empties = Vec::new();
        for slot in self.closed_slots() {
            let heap = self.table.heap(slot);
            if heap.closing == Closing::Fresh && !heap.ranges.is_empty() {
                return fail(format!("heap {slot} is marked as fresh but not empty"));
            }
            if heap.ranges.is_empty() && heap.closing == Closing::Closed {
                empties.push(slot);
            }
        }
        let mut drained = self.drained.clone();
        drained.sort_unstable();
        empties.sort_unstable();
        if drained != empties {
            return fail(format!(
                "closed heaps {empties:?} are empty, but {drained:?} are recorded as drained"
            ));
        }
        Ok(())
    }
}
