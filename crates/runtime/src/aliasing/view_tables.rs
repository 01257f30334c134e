//! The views of descriptor heaps through which draws and dispatches may write.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use super::access::ResourcePart;
use super::ids::ResourceId;
use super::note::UnorderedViews;
use crate::fence::clock::Epoch;

/// The views of all descriptor heaps that were in use.
#[derive(Default)]
pub(super) struct SkippedViews {
    /// By the address of the heap's descriptors, which the table keeps from being reused.
    pub(super) tables: HashMap<usize, ViewTable>,
    /// Views by addresses that the GPU reads: all buffers with unordered access.
    pub(super) indirect: Uses,
}

/// The views of a descriptor heap.
pub(super) struct ViewTable {
    pub(super) descriptors: Weak<dyn UnorderedViews>,
    /// The resources that each descriptor refers to.
    referred: HashMap<u32, Vec<ResourceId>>,
    /// The parts of each resource, by descriptor.
    pub(super) parts: BTreeMap<ResourceId, BTreeMap<u32, Vec<ResourcePart<'static>>>>,
    /// Resources of which views are new.
    pub(super) new: BTreeSet<ResourceId>,
    /// The submission for which the descriptors were read. D3D12 forbids changes while it may use them.
    pub(super) read_for: Option<Epoch>,
    pub(super) uses: Uses,
}

/// The uses of views by draws and dispatches.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// The last change of a resource before the last use.
    pub(super) change: u64,
    /// The number of the last draw or dispatch; 0 if there was none.
    pub(super) skipped: u64,
}

impl ViewTable {
    pub(super) fn new(descriptors: &Arc<dyn UnorderedViews>) -> Self {
        Self {
            descriptors: Arc::downgrade(descriptors),
            referred: HashMap::new(),
            parts: BTreeMap::new(),
            new: BTreeSet::new(),
            read_for: None,
            uses: Uses::default(),
        }
    }

    /// Replaces the parts that a descriptor refers to. Returns those that it referred to before.
    pub(super) fn replace(
        &mut self,
        index: u32,
        parts: impl Iterator<Item = (ResourceId, ResourcePart<'static>)>,
    ) -> Vec<(ResourceId, Vec<ResourcePart<'static>>)> {
        let mut before = Vec::new();
        for id in self.referred.remove(&index).unwrap_or_default() {
            let Some(of_resource) = self.parts.get_mut(&id) else { continue };
            before.extend(of_resource.remove(&index).map(|parts| (id, parts)));
            if of_resource.is_empty() {
                self.parts.remove(&id);
            }
        }
        for (id, part) in parts {
            self.parts.entry(id).or_default().entry(index).or_default().push(part);
            self.referred.entry(index).or_default().push(id);
            self.new.insert(id);
        }
        before
    }

    pub(super) fn parts_of(&self, id: ResourceId) -> impl Iterator<Item = ResourcePart<'static>> {
        self.parts.get(&id).into_iter().flat_map(|parts| parts.values().flatten().copied())
    }
}
