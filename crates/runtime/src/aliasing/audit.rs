//! Consistency checks of the judge's state. They visit all of the state, so only tests run them.

use std::collections::HashMap;
use std::ops::Range;

use super::coverage::{Coverage, Part};
use super::ids::{HeapId, ResourceId};
use super::judge::Judge;
use super::resource::{TrackedHome, TrackedResource};

impl Judge {
    /// Checks the consistency of the state. O(size of the state).
    ///
    /// # Errors
    ///
    /// A description of the inconsistency.
    pub(super) fn audit(&self) -> Result<(), String> {
        self.audit_uses()?;
        self.known().try_for_each(|resource| {
            self.audit_owned(resource)
                .and_then(|()| audit_content(resource))
                .and_then(|()| audit_runs(resource))
                .map_err(|wrong| format!("resource {}: {wrong}", resource.id.0))
        })
    }

    /// Checks that each range belongs to a known resource with the correct count, and that ranges do not overlap.
    fn audit_uses(&self) -> Result<(), String> {
        let mut counts = HashMap::<ResourceId, i64>::new();
        for (HeapId(number), heap) in self.known_heaps() {
            let mut last_end = 0;
            for (range, user, _) in heap.memory.uses(&(0..u64::MAX)) {
                if range.start < last_end {
                    return Err(format!("heap {number}: {range:?} overlaps the previous range"));
                }
                last_end = range.end;
                if self.resource(user).is_none() {
                    return Err(format!(
                        "heap {number}: {range:?} belongs to resource {}, which is no longer tracked",
                        user.0
                    ));
                }
                *counts.entry(user).or_default() += 1;
            }
        }
        for resource in self.known() {
            let count = counts.get(&resource.id).copied().unwrap_or(0);
            if count != resource.use_count {
                let id = resource.id.0;
                return Err(format!(
                    "resource {id} has {count} ranges, but its use count is {}",
                    resource.use_count
                ));
            }
        }
        Ok(())
    }

    /// Checks that a resource is the last user of the memory that it owns.
    fn audit_owned(&self, resource: &TrackedResource) -> Result<(), String> {
        let all = 0..resource.shape.place_count();
        let owned = resource.owned.iter(all).filter(|(_, owned)| **owned).map(|(run, _)| run);
        for places in owned {
            for (heap, bytes, offset) in resource.memory_of_places(&places) {
                self.audit_used(resource, heap, &bytes, offset)?;
            }
        }
        Ok(())
    }

    fn audit_used(
        &self,
        resource: &TrackedResource,
        heap: HeapId,
        bytes: &Range<u64>,
        offset: u64,
    ) -> Result<(), String> {
        // Tile mappings outlive the heap.
        let Some(known) = self.heap_of(heap) else { return Ok(()) };
        let mut next = bytes.start;
        for (range, user, at) in known.memory.uses(bytes) {
            // Several tiles that are mapped to the same memory are not distinguished.
            let is_there = at == offset + (range.start - bytes.start)
                || matches!(resource.home, TrackedHome::Reserved(_));
            if range.start != next || user != resource.id || !is_there {
                return Err(format!(
                    "owns {bytes:?} of heap {}, but {range:?} belongs to resource {}",
                    heap.0, user.0
                ));
            }
            next = range.end;
        }
        if next == bytes.end {
            Ok(())
        } else {
            Err(format!("owns {bytes:?}, which is unused from {next:#x} on"))
        }
    }
}

/// Checks that valid contents are initialised.
fn audit_content(resource: &TrackedResource) -> Result<(), String> {
    for (units, content) in resource.content.iter(0..u32::MAX) {
        let is_covered = match &content.valid {
            Coverage::None => true,
            Coverage::Full => content.initialised == Coverage::Full,
            Coverage::Parts(parts) => {
                parts.iter().all(|part| content.initialised.covers(Part::Region(*part)))
            }
        };
        if !is_covered {
            return Err(format!("units {units:?} are valid but not initialised: {content:?}"));
        }
    }
    Ok(())
}

/// Checks that adjacent runs differ.
fn audit_runs(resource: &TrackedResource) -> Result<(), String> {
    let is_minimal = [
        ("content", resource.content.is_minimal()),
        ("owned", resource.owned.is_minimal()),
        ("state", resource.state.is_minimal()),
        ("no_access", resource.no_access.is_minimal()),
        ("home", !matches!(&resource.home, TrackedHome::Reserved(tiles) if !tiles.is_minimal())),
    ];
    match is_minimal.into_iter().find(|(_, is_minimal)| !is_minimal) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{name} has equal adjacent runs")),
    }
}
