//! Possible writes of draws and dispatches through unordered access views.
//!
//! A dispatch may write everything that the descriptors of a heap show, which may be a million views. Most programs
//! dispatch again and again with the same heap. What a dispatch may have written stays so until the resource changes,
//! so only views of resources that changed since the heap's last use are visited, and views that are new.

use std::ops::Range;
use std::sync::Arc;

use heapwright_d3d12::D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;

use super::access::ResourcePart;
use super::content::{Cause, Content};
use super::ids::ResourceId;
use super::judge::{Judge, Step};
use super::note::UnorderedViews;
use super::resource::TrackedResource;
use super::view_tables::{Uses, ViewTable};

impl Judge {
    /// Applies what a draw or dispatch may write through the descriptors of a heap. O(views that are new, or of
    /// resources that changed since the last call).
    pub(super) fn write_viewed(&mut self, step: &mut Step<'_>, descriptors: &Arc<dyn UnorderedViews>) {
        self.changes.begin();
        let key = Arc::as_ptr(descriptors).cast::<()>().addr();
        let known = self.views.tables.remove(&key);
        let is_new = known.is_none();
        if is_new {
            self.forget_released_tables();
        }
        let mut table = known.unwrap_or_else(|| ViewTable::new(descriptors));
        if table.read_for != Some(step.submission.epoch) {
            table.read_for = Some(step.submission.epoch);
            for (index, parts) in descriptors.changed_views(is_new) {
                let known: Vec<_> = parts
                    .into_iter()
                    .filter_map(|(driver, part)| Some((self.id_of_live(&driver)?, part)))
                    .collect();
                for (id, parts) in table.replace(index, known.into_iter()) {
                    self.number_unknown(id, &parts, table.uses.skipped);
                }
            }
        }
        let mut written = std::mem::take(&mut table.new);
        written.extend(self.changes.after(table.uses.change).filter(|id| table.parts.contains_key(id)));
        for id in written {
            if self.resource(id).is_some_and(|resource| !resource.is_gone()) {
                for part in table.parts_of(id) {
                    self.may_write(step, id, part);
                }
            }
        }
        table.uses = Uses { change: self.changes.last(), skipped: self.skipped };
        self.views.tables.insert(key, table);
    }

    /// Applies what a draw or dispatch may write by addresses that the GPU reads. O(resources that changed since the
    /// last call).
    pub(super) fn write_anywhere(&mut self, step: &mut Step<'_>) {
        let is_first = self.views.indirect.skipped == 0;
        self.changes.begin();
        let changed: Vec<ResourceId> = if is_first {
            self.known().map(|resource| resource.id).collect()
        } else {
            self.changes.after(self.views.indirect.change).collect()
        };
        for id in changed {
            if self.resource(id).is_some_and(|resource| is_unordered_buffer(resource) && !resource.is_gone())
            {
                self.may_write(step, id, ResourcePart::Bytes(0, u64::MAX));
            }
        }
        self.views.indirect = Uses { change: self.changes.last(), skipped: self.skipped };
    }

    /// Forgets the views of descriptor heaps that were released.
    fn forget_released_tables(&mut self) {
        let tables = &mut self.views.tables;
        let is_released = |table: &ViewTable| table.descriptors.strong_count() == 0;
        let released = tables.iter().filter(|(_, table)| is_released(table)).map(|(&key, _)| key);
        let released: Vec<usize> = released.collect();
        for key in released {
            let Some(table) = self.views.tables.remove(&key) else { continue };
            for (id, parts) in &table.parts {
                for parts in parts.values() {
                    self.number_unknown(*id, parts, table.uses.skipped);
                }
            }
        }
    }

    /// Gives unknown contents of parts of a resource the number of the last draw or dispatch that may have written
    /// them, which was not visited. The views are about to be forgotten.
    fn number_unknown(&mut self, id: ResourceId, parts: &[ResourcePart<'static>], last: u64) {
        let Some(mut resource) = self.take(id) else { return };
        for part in parts {
            for piece in part.pieces(&resource.shape).0 {
                resource.content.update(piece.units, |content| {
                    if let Cause::Skipped { number } = &mut content.cause {
                        *number = (*number).max(last);
                    }
                });
            }
        }
        self.put_unchanged(resource);
    }

    /// Returns the units of a resource that draws or dispatches may have written after the first `skipped` of them,
    /// with their contents.
    pub(super) fn unknown_since(
        &self,
        resource: &TrackedResource,
        skipped: u64,
    ) -> Vec<(Range<u32>, Content)> {
        let mut unknown = resource.unknown_units(0..u32::MAX, skipped);
        // The numbers in the contents are those of the first of several uses without changes in between.
        if self.views.indirect.skipped > skipped && is_unordered_buffer(resource) {
            unknown.extend(resource.unknown_units(0..u32::MAX, 0));
        }
        for table in self.views.tables.values().filter(|table| table.uses.skipped > skipped) {
            for part in table.parts_of(resource.id) {
                let pieces = part.pieces(&resource.shape).0.into_iter();
                unknown.extend(pieces.flat_map(|piece| resource.unknown_units(piece.units, 0)));
            }
        }
        unknown
    }
}

impl TrackedResource {
    /// Returns those of `units` whose contents say that a draw or dispatch after the first `skipped` of them may have
    /// written them.
    fn unknown_units(&self, units: Range<u32>, skipped: u64) -> Vec<(Range<u32>, Content)> {
        let is_later =
            |content: &Content| matches!(content.cause, Cause::Skipped { number } if number > skipped);
        let units = self.content.iter(units).filter(|(_, content)| is_later(content));
        units.map(|(units, content)| (units, content.clone())).collect()
    }
}

fn is_unordered_buffer(resource: &TrackedResource) -> bool {
    resource.shape.is_buffer()
        && resource.identity.desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS != 0
}
