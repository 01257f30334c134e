//! Orders of a device's tracked resources: by their last change, and buffers by their addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::ids::ResourceId;
use super::resource::TrackedResource;

/// The resources in the order of their last changes, so that what is repeated (the same dispatch, again and again)
/// concerns only those that changed in between.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether anything is repeated. Until then, changes are not noted.
    is_used: bool,
    last: u64,
    by_change: BTreeMap<u64, ResourceId>,
}

impl Changes {
    /// The number of the last change.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Has changes noted from now on.
    pub(super) fn begin(&mut self) {
        self.is_used = true;
    }

    /// Notes that a resource has changed. O(log resources).
    pub(super) fn note(&mut self, resource: &mut TrackedResource) {
        if !self.is_used {
            return;
        }
        self.by_change.remove(&resource.changed);
        self.last += 1;
        resource.changed = self.last;
        self.by_change.insert(self.last, resource.id);
    }

    /// Removes a resource that no longer exists.
    pub(super) fn forget(&mut self, resource: &TrackedResource) {
        self.by_change.remove(&resource.changed);
    }

    /// Returns the resources that changed after a change, each once. O(log resources + returned).
    pub(super) fn after(&self, change: u64) -> impl Iterator<Item = ResourceId> {
        self.by_change.range(change.saturating_add(1)..).map(|(_, &id)| id)
    }
}

/// The buffers by their addresses. Placed buffers may overlap.
#[derive(Debug, Default)]
pub(super) struct BufferAddresses {
    /// By the position of the highest bit of the size, then by the first address.
    buffers: BTreeSet<(u32, u64, ResourceId)>,
    /// The positions of highest bits that occur or have occurred.
    classes: u64,
}

impl BufferAddresses {
    pub(super) fn add(&mut self, id: ResourceId, start: u64, size: u64) {
        let class = class(size);
        self.classes |= 1 << class;
        self.buffers.insert((class, start, id));
    }

    pub(super) fn remove(&mut self, id: ResourceId, start: u64, size: u64) {
        self.buffers.remove(&(class(size), start, id));
    }

    /// Returns buffers among which are all that contain an address; of the others, at most those that end up to their
    /// own size before it. O(log buffers + returned).
    pub(super) fn near(&self, address: u64) -> impl Iterator<Item = ResourceId> {
        let classes = (0..u64::BITS).filter(|class| self.classes & (1 << class) != 0);
        classes.flat_map(move |class| {
            // A buffer of this class has less than 2^(class + 1) bytes.
            let reach = 2_u64.checked_shl(class).unwrap_or(0).wrapping_sub(1);
            let first = (class, address.saturating_sub(reach), ResourceId(0));
            self.buffers.range(first..=(class, address, ResourceId(u64::MAX))).map(|&(_, _, id)| id)
        })
    }
}

fn class(size: u64) -> u32 {
    size.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn buffers_are_found_by_address(
            buffers in proptest::collection::vec((0_u64..500, 1_u64..100), 1..40),
            removed in 0_usize..40,
            asked in 0_u64..600,
        ) {
            let mut addresses = BufferAddresses::default();
            for (id, &(start, size)) in (1..).zip(&buffers) {
                addresses.add(ResourceId(id), start, size);
            }
            if let (Ok(id), Some(&(start, size))) = (u64::try_from(removed + 1), buffers.get(removed)) {
                addresses.remove(ResourceId(id), start, size);
            }
            let found: BTreeSet<ResourceId> = addresses.near(asked).collect();
            for (index, &(start, size)) in buffers.iter().enumerate() {
                let is_found = found.contains(&ResourceId(index as u64 + 1));
                prop_assert_eq!(is_found && index == removed, false);
                prop_assert!(is_found || index == removed || !(start..start + size).contains(&asked));
                prop_assert!(!is_found || (start..start + 2 * size).contains(&asked), "not near");
            }
        }
    }

    #[test]
    fn a_large_address_space_overflows_nothing() {
        let mut addresses = BufferAddresses::default();
        addresses.add(ResourceId(1), 1, u64::MAX - 1);
        assert_eq!(addresses.near(u64::MAX).collect::<Vec<_>>(), [ResourceId(1)]);
        assert_eq!(addresses.near(0).count(), 0);
    }
}
