//! Room for new memory: which empty heaps are released for it, and when.
//!
//! Where a row of the ledger lacks bytes, or a pool has as many heaps as it may, empty heaps that count there are taken
//! out of their sets. They are released once nothing is missing; if something always is, they are put back, and the
//! request is refused. A budget that may be exceeded is if the empty heaps do not suffice.
//!
//! The device does not say what it lacks. So heaps are released for it after all other sources of memory were tried,
//! those of the heap type first, then those of the segment group or any, depending on whether the budget says that the
//! segment group is full.
//!
//! The memory of slabs without used slots and of unused backing buffers comes after empty heaps, under the same
//! conditions. It stays returned to its heaps if the request is refused.

use std::sync::Arc;

use heapwright_core::ByteSize;

use super::heap_kinds::{HeapKinds, release_from};
use super::typed_heaps::TypedHeaps;
use crate::error::{Limit, Obstacle, Refusal, Row};
use crate::source::{Account, Heap, NewMemory};

/// Room that is being made for new memory beside `heaps`.
struct Room<'a> {
    kinds: &'a HeapKinds,
    heaps: &'a TypedHeaps,
    new: &'a NewMemory,
    family: Vec<Arc<TypedHeaps>>,
    /// Empty heaps that are in no set any more, and the heaps that they were among.
    taken: Vec<(Arc<TypedHeaps>, Arc<Heap>)>,
    /// Bytes that other allocators of the process released.
    by_others: ByteSize,
}

impl Room<'_> {
    /// Returns whether other heaps count towards what refused the new memory.
    fn is_counted(&self, obstacle: Obstacle, heaps: &TypedHeaps) -> bool {
        let is_own = Arc::ptr_eq(&heaps.source, &self.kinds.source);
        let is_in_group = heaps.desc.segment_group == self.new.account.group;
        match obstacle {
            Obstacle::HeapCount { .. } => std::ptr::eq(heaps, self.heaps),
            Obstacle::Over(row) => match row.limit {
                Limit::HeapType => is_own && heaps.desc.heap_type == self.new.account.heap_type,
                Limit::BudgetShare { .. } => is_own && is_in_group,
                Limit::Budget(_) => is_in_group,
            },
            Obstacle::Device(_) | Obstacle::HeapSize { .. } | Obstacle::NoRoom => false,
        }
    }

    /// Returns the bytes that a row lacks, apart from what was taken.
    fn missing(&self, row: Row) -> ByteSize {
        let is_of = |(heaps, _): &&(Arc<TypedHeaps>, _)| self.is_counted(row.into(), heaps);
        let taken = self.taken.iter().filter(is_of).map(|(_, heap)| heap.size());
        let by_others = if matches!(row.limit, Limit::Budget(_)) { self.by_others } else { ByteSize::ZERO };
        taken.fold(row.missing(self.new.size), ByteSize::saturating_sub).saturating_sub(by_others)
    }

    /// Takes empty heaps of at least `bytes` bytes that count towards an obstacle. Returns whether there were any.
    fn take(&mut self, bytes: ByteSize, obstacle: Obstacle) -> bool {
        let is_by_bytes = matches!(obstacle, Obstacle::Over(_));
        let least = if is_by_bytes { self.kinds.source.desc.release_size } else { ByteSize::ZERO };
        let (before, mut missing) = (self.taken.len(), bytes.max(least));
        for heaps in &self.family {
            if self.is_counted(obstacle, heaps) {
                // None, once nothing is missing.
                for heap in heaps.take_leaving(missing) {
                    missing = missing.saturating_sub(heap.size());
                    self.taken.push((Arc::clone(heaps), heap));
                }
            }
        }
        self.taken.len() > before
    }

    /// As [`take`](Self::take), if there are so many: of what is empty, or else also of what unused slabs and backing
    /// buffers leave empty. Heaps that are taken in vain would count as newly empty.
    fn take_all(&mut self, bytes: ByteSize, obstacle: Obstacle) -> bool {
        let has_all = |room: &Self| {
            let counted = room.family.iter().filter(|heaps| room.is_counted(obstacle, heaps));
            let empty = counted.map(|heaps| heaps.totals().empty);
            empty.fold(ByteSize::ZERO, ByteSize::saturating_add) >= bytes
        };
        let is_enough = has_all(self) || self.return_unused_memory(obstacle) && has_all(self);
        is_enough && self.take(bytes, obstacle)
    }

    fn return_unused_memory(&self, obstacle: Obstacle) -> bool {
        self.kinds.return_unused_memory(&|heaps| self.is_counted(obstacle, heaps), true)
    }

    /// Takes what must leave. If that does not suffice, returns what is left, and the bytes that it lacks.
    fn take_needed(&mut self) -> Result<(), (Obstacle, ByteSize)> {
        let source = &self.kinds.source;
        while let Err(full) = self.heaps.check_heap_count(self.new) {
            if !self.take_all(ByteSize::new(1), full) {
                return Err((full, ByteSize::new(1)));
            }
        }
        // What a manager can evict is not in its row.
        let evicts = source.manager_for(self.new.allocation_flags).is_some();
        let lacks = |room: &Self, row: &Row| !room.missing(*row).is_zero();
        while let Some(row) = source.rows(self.new).find(|row| lacks(self, row)) {
            let (is_budget, bytes) = (matches!(row.limit, Limit::Budget(_)), self.missing(row));
            if is_budget && evicts || !self.take_all(bytes, row.into()) {
                return Err((row.into(), bytes));
            }
        }
        // Beyond the budget only if nothing is empty.
        for is_reclaimed in [false, true] {
            let Some(row) = source.budget_row(self.new).filter(|row| lacks(self, row)) else { break };
            if is_reclaimed {
                self.return_unused_memory(row.into());
            }
            self.take(self.missing(row), row.into());
        }
        Ok(())
    }

    /// Puts back what was taken.
    fn put_back(self) {
        for (heaps, heap) in self.taken {
            if heap.return_to_pool() {
                // Refused only if the heap numbers are exhausted; the heap is then released to the device.
                let _refused = heaps.insert_empty(heap);
            }
        }
    }
}

/// The heaps that are released when the device has no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nearness {
    /// Those of the heap type, in its segment group.
    HeapType,
    /// Those of the segment group, if its budget is exceeded.
    SegmentGroup,
    /// All of them, if it is not.
    Anywhere,
    /// Those of the segment group of other allocators of the process.
    Others,
}

impl Nearness {
    /// Those that are released for a placement, before others are tried.
    pub(crate) const FIRST: [Self; 2] = [Self::HeapType, Self::SegmentGroup];
    /// Those that are released before a request fails, because other requests need them.
    pub(crate) const LAST: [Self; 2] = [Self::Anywhere, Self::Others];
}

impl HeapKinds {
    /// Releases the empty heaps that stand in the way of new memory beside `heaps`, and returns their bytes. If that
    /// does not suffice, nothing is released. With `NEVER_OVER_ALLOCATE` nothing is released, and nothing refused.
    fn make_room(&self, heaps: &TypedHeaps, new: &NewMemory) -> Result<ByteSize, Refusal> {
        let is_within = heaps.check_heap_count(new).is_ok() && self.source.room(new) >= new.size;
        if self.source.never_over_allocates() || is_within {
            return Ok(ByteSize::ZERO);
        }
        let mut by_others = ByteSize::ZERO;
        loop {
            let alone = self.source.release_alone();
            let (family, taken) = (self.of_family(), Vec::new());
            let mut room = Room { kinds: self, heaps, new, family, taken, by_others };
            let (obstacle, missing) = match room.take_needed() {
                Ok(()) => {
                    let sizes = room.taken.iter().map(|(_, heap)| heap.size());
                    let released = sizes.fold(by_others, ByteSize::saturating_add);
                    tracing::debug!(size = %new.size, %released, "released empty heaps before allocating more memory");
                    return Ok(released);
                }
                Err(lacking) => lacking,
            };
            room.put_back();
            // Others may be waiting for this allocator.
            drop(alone);
            let is_of_process = matches!(obstacle, Obstacle::Over(Row { limit: Limit::Budget(_), .. }));
            let may_help = is_of_process && self.have_others(new.account.group, missing);
            let help = may_help.then(|| self.release_of_others(new.account.group, missing));
            let Some(released) = help.filter(|bytes| !bytes.is_zero()) else {
                return Err(new.refused(obstacle));
            };
            by_others = by_others.saturating_add(released);
        }
    }

    /// Calls `create` after the empty heaps were released that stand in the way of new memory beside `heaps`, and again
    /// while other threads take what was released.
    pub(super) fn with_room<T>(
        &self,
        heaps: &TypedHeaps,
        new: &NewMemory,
        create: impl Fn() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.make_room(heaps, new)?;
        let mut made = create();
        while made.as_ref().is_err_and(Refusal::is_by_limit) && !self.make_room(heaps, new)?.is_zero() {
            made = create();
        }
        made
    }

    /// Calls `attempt`, and again each time after empty heaps were released because the device has no memory for what
    /// it attempts. With `NEVER_OVER_ALLOCATE` nothing is released.
    pub(crate) fn with_device_room<T>(
        &self,
        order: [Nearness; 2],
        account: Account,
        mut attempt: impl FnMut() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut made = attempt();
        for nearness in order {
            let Some(size) = made.as_ref().err().and_then(Refusal::bytes_refused_by_device) else { break };
            let released = self.release_near(nearness, account, size);
            if !released.is_zero() {
                tracing::debug!(%size, %released, "the device has no memory; released empty heaps to retry");
                made = attempt();
            }
        }
        made
    }

    /// Releases empty heaps because the device has no memory for `size` bytes, and returns their bytes.
    fn release_near(&self, nearness: Nearness, account: Account, size: ByteSize) -> ByteSize {
        let may_help = match (nearness, self.source.exceeds_budget(account.group, size)) {
            (Nearness::HeapType | Nearness::Others, _) | (_, None) => true,
            (Nearness::SegmentGroup, Some(is_missing)) => is_missing,
            (Nearness::Anywhere, Some(is_missing)) => !is_missing,
        };
        if self.source.never_over_allocates() || !may_help {
            return ByteSize::ZERO;
        }
        let is_near = |heaps: &TypedHeaps| {
            let (group, heap_type) = (heaps.desc.segment_group, heaps.desc.heap_type);
            match nearness {
                Nearness::HeapType => (group, heap_type) == (account.group, account.heap_type),
                Nearness::SegmentGroup => group == account.group,
                Nearness::Anywhere | Nearness::Others => true,
            }
        };
        match nearness {
            Nearness::Others => self.release_of_others(account.group, size),
            _ => self.release_of(&is_near, size.max(self.source.desc.release_size)),
        }
    }

    /// Releases empty heaps of some kinds, also of nested allocators, until at least `bytes` are released, and returns
    /// their bytes.
    pub(super) fn release_of(&self, is_of: &dyn Fn(&TypedHeaps) -> bool, bytes: ByteSize) -> ByteSize {
        let family: Vec<_> = self.of_family().into_iter().filter(|heaps| is_of(heaps)).collect();
        let reserved =
            || family.iter().fold(ByteSize::ZERO, |sum, heaps| sum.saturating_add(heaps.totals().reserved));
        let before = reserved();
        self.return_unused_memory(is_of, false);
        // Heaps that are empty then and not kept were released.
        let returned = before.saturating_sub(reserved());
        returned.saturating_add(release_from(family.iter(), bytes.saturating_sub(returned)))
    }

    /// Returns the memory of unused backing buffers and slabs in heaps of some kinds to them. `keeps_heaps` says
    /// whether heaps that are empty then stay even if they are not worth keeping. Returns whether there was any.
    pub(super) fn return_unused_memory(
        &self,
        is_of: &dyn Fn(&TypedHeaps) -> bool,
        keeps_heaps: bool,
    ) -> bool {
        let family: Vec<_> = self.of_family().into_iter().filter(|heaps| is_of(heaps)).collect();
        let is_in = |number| family.iter().any(|heaps| heaps.desc.number == number);
        let mut is_any = false;
        for owner in self.owners_of_family() {
            is_any |= owner.release_unused_buffers(&is_in, keeps_heaps);
        }
        for heaps in &family {
            is_any |= heaps.set.give_up_unused_slabs();
        }
        is_any
    }
}
