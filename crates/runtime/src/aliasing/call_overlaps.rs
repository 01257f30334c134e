//! The overlaps that count among the resources in one call of `Barrier`.

use std::collections::BTreeSet;
use std::ops::Range;

use super::ids::HeapId;

/// The effect of a call's barriers on a resource, as far as rules E-5 and E-6 distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// They flush writes, and change no layout.
    Flushed,
    /// They change layouts, without DISCARD.
    Changed,
    /// They discard subresources.
    Discarded,
}

impl Role {
    const ALL: [Self; 3] = [Self::Flushed, Self::Changed, Self::Discarded];

    /// Returns whether a rule forbids resources with these roles to overlap.
    pub(super) fn conflicts_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Discarded, _) | (_, Self::Discarded) | (Self::Changed, Self::Changed) => true,
            (Self::Flushed, _) | (_, Self::Flushed) => false,
        }
    }
}

/// A range of a heap that belongs to a resource, by the resource's place among those of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) heap: HeapId,
    pub(super) bytes: Range<u64>,
    pub(super) resource: usize,
    pub(super) role: Role,
}

/// Returns the pairs of resources that overlap and conflict, the smaller number first. `is_before` tells whether one
/// extent ends before another one, which does not begin before it, starts.
///
/// Cost: O(n log n + k) for n extents and k pairs of them that overlap and conflict, if no resource has a byte twice.
pub(super) fn conflicting(
    mut extents: Vec<Extent>,
    mut is_before: impl FnMut(&Extent, &Extent) -> bool,
) -> BTreeSet<(usize, usize)> {
    extents.retain(|extent| !extent.bytes.is_empty());
    extents.sort_unstable_by_key(|extent| (extent.heap, extent.bytes.start, extent.resource));
    let mut pairs = BTreeSet::new();
    // The extents that later ones may overlap, by role, so that those without a conflict are not compared.
    let mut open = Role::ALL.map(|role| (role, Vec::<&Extent>::new()));
    for extent in &extents {
        for (_, others) in open.iter_mut().filter(|(role, _)| role.conflicts_with(extent.role)) {
            others.retain(|other| !is_before(other, extent));
            let apart = others.iter().filter(|other| other.resource != extent.resource);
            pairs.extend(
                apart.map(|other| (other.resource.min(extent.resource), other.resource.max(extent.resource))),
            );
        }
        open.iter_mut().filter(|(role, _)| *role == extent.role).for_each(|(_, others)| others.push(extent));
    }
    pairs
}

/// Returns whether an extent ends before another one starts.
pub(super) fn is_before(one: &Extent, two: &Extent) -> bool {
    one.heap != two.heap || one.bytes.end <= two.bytes.start
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extent() -> impl Strategy<Value = Extent> {
        let role = proptest::sample::select(&Role::ALL[..]);
        (0..2_u64, 0..40_u64, 0..12_u64, 0..12_usize, role).prop_map(|(heap, start, len, resource, role)| {
            Extent { heap: HeapId(heap), bytes: start..start + len, resource, role }
        })
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_comparing_all(
            mut extents in proptest::collection::vec(extent(), 0..40),
            roles in proptest::collection::vec(proptest::sample::select(&Role::ALL[..]), 12),
        ) {
            for extent in &mut extents {
                extent.role = roles[extent.resource];
            }
            let mut expected = BTreeSet::new();
            for one in &extents {
                for two in &extents {
                    let shares_bytes = one.heap == two.heap && one.bytes.clone().any(|byte| two.bytes.contains(&byte));
                    if one.resource < two.resource && shares_bytes && one.role.conflicts_with(two.role) {
                        expected.insert((one.resource, two.resource));
                    }
                }
            }
            prop_assert_eq!(conflicting(extents, is_before), expected);
        }
    }

    /// Counts the comparisons of 4,000 resources, each `pitch` bytes after the one before and 64 bytes long.
    fn comparisons(pitch: u64, role: Role) -> (usize, usize) {
        let extents = (0..4000_usize).map(|resource| {
            let start = resource as u64 * pitch;
            Extent { heap: HeapId(1), bytes: start..start + 64, resource, role }
        });
        let mut count = 0;
        let pairs = conflicting(extents.collect(), |one, two| {
            count += 1;
            is_before(one, two)
        });
        (count, pairs.len())
    }

    #[test]
    fn only_neighbours_are_compared() {
        for role in [Role::Changed, Role::Discarded] {
            assert_eq!(comparisons(64, role), (3999, 0), "side by side");
            assert_eq!(comparisons(32, role), (2 * 3999 - 1, 3999), "each overlaps the next");
        }
        assert_eq!(comparisons(0, Role::Flushed), (0, 0), "nothing conflicts");
    }
}
