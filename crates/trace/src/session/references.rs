//! Checks that the records of a session refer to objects that exist.

use std::collections::{HashMap, HashSet};

use super::record::{Action, Record};
use super::totals::{TooMuch, Totals};
use super::{MAX_LIVE, TILE_SIZE};

/// The objects to which records may refer.
///
/// Allocations are checked by the rules of traces; here, only their sizes are held. An allocation may be freed after
/// its heap was destroyed, as captures record both in any order.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Sizes of the live allocations, by id.
    allocations: HashMap<u64, u64>,
    heaps: HashSet<u64>,
    /// Numbers of tiles of the reserved resources, by id.
    reserved: HashMap<u64, u32>,
    /// Also knows the residency sets.
    totals: Totals,
    pools: HashSet<u64>,
    /// Defragmentations that can have moves.
    runs: HashMap<u64, Run>,
    /// Allocators, and whether their last handle was dropped; `None` is the allocator before the first selection.
    allocators: HashMap<Option<u64>, bool>,
    selected: Option<u64>,
}

/// A defragmentation.
#[derive(Debug, Default)]
struct Run {
    is_ended: bool,
    /// Number of moves that are neither completed nor abandoned.
    moves: u64,
}

impl References {
    /// Checks a record, and takes notice of what it creates and destroys.
    pub(crate) fn check(&mut self, record: &Record) -> Result<(), String> {
        let added = self.totals.add(&record.action);
        added.map_err(|TooMuch { what, limit }| too_many(what, limit))?;
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
                    return Err(created_twice("heap", heap.id));
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
                    return Err(format!(
                        "contents of allocation {allocation} end at {end}, beyond its size of {size}"
                    ));
                }
            }
            Action::DefineSet { set: _, heaps } => {
                heaps.iter().try_for_each(|&heap| self.heap(heap))?;
                check_count("residency sets", self.totals.set_count())?;
            }
            // The heaps of a set may be gone by now.
            Action::Submit { sets, .. } => {
                sets.iter().try_for_each(|&set| expect(self.totals.has_set(set), "residency set", set))?;
            }
            Action::HeapAddress { heap, .. } | Action::MakeResident { heap } | Action::Evict { heap } => {
                self.heap(*heap)?;
            }
            Action::AllocationAddress { allocation, .. }
            | Action::Name { allocation, .. }
            | Action::Reason { allocation, .. }
            | Action::Ask { allocation, .. } => {
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
                let is_live = self.allocators.get(&Some(*parent)) == Some(&false);
                expect(is_live, "live allocator", *parent)?;
            }
            Action::DropAllocator => {
                self.selected()?;
                self.allocators.insert(self.selected, true);
            }
            Action::CreatePool { pool, options: _ } => {
                self.selected()?;
                if !self.pools.insert(*pool) {
                    return Err(created_twice("pool", *pool));
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
                self.pool_or_none(*pool)?;
            }
            Action::Refuse(refusal) => {
                self.selected()?;
                self.pool_or_none(refusal.pool)?;
            }
            Action::BeginDefragmentation { run, pool } => {
                self.selected()?;
                self.pool_or_none(*pool)?;
                if self.runs.insert(*run, Run::default()).is_some() {
                    return Err(created_twice("defragmentation", *run));
                }
                check_count("defragmentations", self.runs.len())?;
            }
            Action::StepDefragmentation { run, planned, .. } => {
                let run = self.runs.get_mut(run).filter(|run| !run.is_ended).ok_or_else(|| no_run(*run))?;
                run.moves = run.moves.saturating_add((*planned).into());
            }
            Action::CompleteMove { run, allocation, number: _ } => {
                self.allocation(*allocation)?;
                self.end_move(*run)?;
            }
            Action::AbandonMove { run, number: _ } => self.end_move(*run)?,
            Action::EndDefragmentation { run } => {
                let ended = self.runs.get_mut(run).filter(|run| !run.is_ended).ok_or_else(|| no_run(*run))?;
                ended.is_ended = true;
                if ended.moves == 0 {
                    self.runs.remove(run);
                }
            }
            Action::Reserve { resource, tiles, .. } => {
                if self.reserved.insert(*resource, *tiles).is_some() {
                    return Err(created_twice("reserved resource", *resource));
                }
                check_count("reserved resources", self.reserved.len())?;
            }
            Action::MapTiles { resource, first, count, memory } => {
                let tiles = self.reserved(*resource)?;
                let end = u64::from(*first) + u64::from(*count);
                if end > tiles.into() {
                    return Err(format!(
                        "tiles of reserved resource {resource} end at {end}, beyond its {tiles}"
                    ));
                }
                if let Some((allocation, tile)) = memory {
                    let size = self.allocation(*allocation)?;
                    let end = (u64::from(*tile) + u64::from(*count)) * TILE_SIZE;
                    if end > size {
                        return Err(format!(
                            "tiles in allocation {allocation} end at {end}, beyond its size of {size}"
                        ));
                    }
                }
            }
            Action::Unreserve { resource } => {
                self.reserved(*resource)?;
                self.reserved.remove(resource);
            }
            Action::SetOption { .. }
            | Action::RefusePool { .. }
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

    fn allocation(&self, id: u64) -> Result<u64, String> {
        let size = self.allocations.get(&id).copied();
        expect(size.is_some(), "live allocation", id).map(|()| size.unwrap_or_default())
    }

    /// Returns the number of tiles of a reserved resource.
    fn reserved(&self, id: u64) -> Result<u32, String> {
        let tiles = self.reserved.get(&id).copied();
        expect(tiles.is_some(), "reserved resource", id).map(|()| tiles.unwrap_or_default())
    }

    /// Checks that the selected allocator has not been dropped.
    fn selected(&self) -> Result<(), String> {
        let is_dropped = self.allocators.get(&self.selected) == Some(&true);
        expect(!is_dropped, "live allocator", self.selected.unwrap_or_default())
    }

    fn pool(&self, id: u64) -> Result<(), String> {
        expect(self.pools.contains(&id), "live pool", id)
    }

    fn pool_or_none(&self, pool: Option<u64>) -> Result<(), String> {
        pool.map_or(Ok(()), |pool| self.pool(pool))
    }

    /// Counts a move that is completed or abandoned, which may be after the end of its run.
    fn end_move(&mut self, id: u64) -> Result<(), String> {
        let run = self.runs.get_mut(&id).filter(|run| run.moves > 0);
        let run = run.ok_or_else(|| format!("there is no planned move of defragmentation {id}"))?;
        run.moves -= 1;
        if run.is_ended && run.moves == 0 {
            self.runs.remove(&id);
        }
        Ok(())
    }

    fn heap(&self, id: u64) -> Result<(), String> {
        expect(self.heaps.contains(&id), "live heap", id)
    }
}

fn expect(exists: bool, what: &str, id: u64) -> Result<(), String> {
    if exists { Ok(()) } else { Err(format!("there is no {what} {id}")) }
}

fn no_run(id: u64) -> String {
    format!("there is no live defragmentation {id}")
}

fn created_twice(what: &str, id: u64) -> String {
    format!("{what} {id} is created a second time")
}

fn too_many(what: &str, limit: u32) -> String {
    format!("there are more than {limit} {what}")
}

/// Bounds the memory for malicious sessions.
fn check_count(what: &str, count: usize) -> Result<(), String> {
    if count <= MAX_LIVE as usize { Ok(()) } else { Err(too_many(what, MAX_LIVE)) }
}
