//! Checks that the records of a session refer to objects that exist.

use std::collections::{HashMap, HashSet};

use super::MAX_LIVE;
use super::fault::SessionFault;
use super::record::{Action, Record};

/// The objects to which records may refer.
///
/// Allocations are checked by the rules of traces; here, only their sizes are held. An allocation may be freed after its heap was
/// destroyed, as captures record both in any order.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Sizes of the live allocations, by id.
    allocations: HashMap<u64, u64>,
    heaps: HashSet<u64>,
    sets: HashSet<u64>,
    allocators: HashSet<u64>,
}

impl References {
    /// Checks a record, and takes notice of what it creates and destroys.
    pub(crate) fn check(&mut self, record: &Record) -> Result<(), SessionFault> {
        match &record.action {
            Action::Allocate(allocation) => {
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
            Action::DefineSet { set, heaps } => {
                heaps.iter().try_for_each(|&heap| self.heap(heap))?;
                self.sets.insert(*set);
                check_count("residency sets", self.sets.len())?;
            }
            // The heaps of a set may be gone by now.
            Action::Submit { sets, .. } => {
                if let Some(&set) = sets.iter().find(|set| !self.sets.contains(set)) {
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
                self.allocators.insert(*allocator);
                check_count("allocators", self.allocators.len())?;
            }
            Action::SetOption { .. }
            | Action::Frame
            | Action::IdlePeriod
            | Action::ReleaseHeaps { .. }
            | Action::Count { .. } => {}
        }
        Ok(())
    }

    fn allocation(&self, id: u64) -> Result<u64, SessionFault> {
        self.allocations.get(&id).copied().ok_or(SessionFault::NoSuchObject { what: "live allocation", id })
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
