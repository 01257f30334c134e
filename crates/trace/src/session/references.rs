//! Checks that the records of a session refer to objects that exist.

use std::collections::{HashMap, HashSet};

use super::MAX_LIVE;
use super::fault::SessionFault;
use super::record::{Action, Record};
use super::totals::{TooMuch, Totals};

/// The objects to which records may refer.
///
/// Allocations are checked by the rules of traces; here, only their sizes are held. An allocation may be freed after its heap was
/// destroyed, as captures record both in any order.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Sizes of the live allocations, by id.
    allocations: HashMap<u64, u64>,
    heaps: HashSet<u64>,
    /// Also knows the residency sets.
    totals: Totals,
    pools: HashSet<u64>,
    /// Allocators, and whether their last handle was dropped; `None` is the allocator before the first selection.
    allocators: HashMap<Option<u64>, bool>,
    selected: Option<u64>,
}

impl References {
    /// Checks a record, and takes notice of what it creates and destroys.
    pub(crate) fn check(&mut self, record: &Record) -> Result<(), SessionFault> {
        let added = self.totals.add(&record.action);
        added.map_err(|TooMuch { what, limit }| SessionFault::TooManyObjects { what, limit })?;
        match &record.action {
            Action::Allocate(allocation) => {
                self.selected()?;
                self.allocations.insert(allocation.id, allocation.size);
            }
            Action::Free { allocation } => {
                self.allocations.remove(allocation);
            }
            Action::CreateHeap(heap) => {
                if !self.heaps.insert(heap.id) {
                    return Err(SessionFault::CreatedTwice { what: "heap", id: heap.id });
                }
                check_count("heaps", self.heaps.len())?;
            }
            Action::DestroyHeap { heap } => {
                self.heap(*heap)?;
                self.heaps.remove(heap);
            }
            Action::Place { allocation, heap, offset: _ } => {
                self.allocation(*allocation)?;
                self.heap(*heap)?;
            }
            Action::Contents { allocation, offset, bytes } => {
                let size = self.allocation(*allocation)?;
                let end = offset.saturating_add(bytes.len() as u64);
                if end > size {
                    return Err(SessionFault::ContentsBeyondEnd { allocation: *allocation, end, size });
                }
            }
            Action::DefineSet { set: _, heaps } => {
                heaps.iter().try_for_each(|&heap| self.heap(heap))?;
                check_count("residency sets", self.totals.set_count())?;
            }
            // The heaps of a set may be gone by now.
            Action::Submit { sets, .. } => {
                if let Some(&set) = sets.iter().find(|&&set| !self.totals.has_set(set)) {
                    return Err(SessionFault::NoSuchObject { what: "residency set", id: set });
                }
            }
            Action::HeapAddress { heap, .. } | Action::MakeResident { heap } | Action::Evict { heap } => {
                self.heap(*heap)?;
            }
            Action::AllocationAddress { allocation, .. } | Action::Name { allocation, .. } => {
                self.allocation(*allocation)?;
            }
            Action::Describe(description) => {
                self.allocation(description.allocation)?;
            }
            Action::SelectAllocator { allocator } => {
                self.selected = Some(*allocator);
                self.allocators.entry(self.selected).or_default();
                check_count("allocators", self.allocators.len())?;
                self.selected()?;
            }
            Action::NestAllocator { parent } => {
                self.selected()?;
                if self.allocators.get(&Some(*parent)) != Some(&false) {
                    return Err(SessionFault::NoSuchObject { what: "live allocator", id: *parent });
                }
            }
            Action::DropAllocator => {
                self.selected()?;
                self.allocators.insert(self.selected, true);
            }
            Action::CreatePool { pool, options: _ } => {
                self.selected()?;
                if !self.pools.insert(*pool) {
                    return Err(SessionFault::CreatedTwice { what: "pool", id: *pool });
                }
                check_count("pools", self.pools.len())?;
            }
            Action::DropPool { pool } => {
                self.pool(*pool)?;
                self.pools.remove(pool);
            }
            Action::UsePool { allocation, pool } => {
                self.allocation(*allocation)?;
                self.pool(*pool)?;
            }
            Action::ReleasePool { pool } => self.pool(*pool)?,
            Action::PrefetchHeap { heap, pool, is_shared: _ } => {
                self.selected()?;
                self.heap(*heap)?;
                pool.map_or(Ok(()), |pool| self.pool(pool))?;
            }
            Action::SetOption { .. }
            | Action::HeapTime { .. }
            | Action::Frame
            | Action::IdlePeriod
            | Action::ReleaseHeaps { .. } => {
                self.selected()?;
            }
            Action::Count { .. } => {}
        }
        Ok(())
    }

    fn allocation(&self, id: u64) -> Result<u64, SessionFault> {
        self.allocations.get(&id).copied().ok_or(SessionFault::NoSuchObject { what: "live allocation", id })
    }

    /// Checks that the selected allocator has not been dropped.
    fn selected(&self) -> Result<(), SessionFault> {
        match (self.allocators.get(&self.selected), self.selected) {
            (Some(true), id) => {
                Err(SessionFault::NoSuchObject { what: "live allocator", id: id.unwrap_or_default() })
            }
            _ => Ok(()),
        }
    }

    fn pool(&self, id: u64) -> Result<(), SessionFault> {
        if self.pools.contains(&id) {
            Ok(())
        } else {
            Err(SessionFault::NoSuchObject { what: "live pool", id })
        }
    }

    fn heap(&self, id: u64) -> Result<(), SessionFault> {
        if self.heaps.contains(&id) {
            Ok(())
        } else {
            Err(SessionFault::NoSuchObject { what: "live heap", id })
        }
    }
}

/// Bounds the memory for malicious sessions.
fn check_count(what: &'static str, count: usize) -> Result<(), SessionFault> {
    if u32::try_from(count).is_ok_and(|count| count <= MAX_LIVE) {
        Ok(())
    } else {
        Err(SessionFault::TooManyObjects { what, limit: MAX_LIVE })
    }
}
