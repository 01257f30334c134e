//! Coverage of parts of a unit.

/// A half-open box of texels of a subresource, or of bytes of a buffer along x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The subresource; 0 in a buffer.
    pub(crate) subresource: u32,
    pub(crate) start: [u64; 3],
    pub(crate) end: [u64; 3],
}

impl Region {
    /// Creates a region of bytes of a buffer.
    pub(super) fn bytes(start: u64, end: u64) -> Self {
        Self { subresource: 0, start: [start, 0, 0], end: [end, 1, 1] }
    }

    fn is_empty(&self) -> bool {
        (0..3).any(|axis| self.start[axis] >= self.end[axis])
    }

    /// Returns the common part, or `None` if it is empty.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let start = [0, 1, 2].map(|axis: usize| self.start[axis].max(other.start[axis]));
        let end = [0, 1, 2].map(|axis: usize| self.end[axis].min(other.end[axis]));
        let common = Self { subresource: self.subresource, start, end };
        (self.subresource == other.subresource && !common.is_empty()).then_some(common)
    }

    /// Returns the part outside of `other`, in at most six boxes.
    pub(super) fn without(&self, other: &Self) -> Vec<Self> {
        let Some(common) = self.intersection(other) else { return vec![*self] };
        let mut rest = *self;
        let mut parts = Vec::new();
        for axis in 0..3 {
            let (mut before, mut after) = (rest, rest);
            before.end[axis] = common.start[axis];
            after.start[axis] = common.end[axis];
            parts.extend([before, after].into_iter().filter(|part| !part.is_empty()));
            rest.start[axis] = common.start[axis];
            rest.end[axis] = common.end[axis];
        }
        parts
    }

    /// Returns the union if it is a box.
    fn joined(&self, other: &Self) -> Option<Self> {
        let same = |axis: usize| self.start[axis] == other.start[axis] && self.end[axis] == other.end[axis];
        let touch = |axis: usize| self.start[axis] <= other.end[axis] && other.start[axis] <= self.end[axis];
        let axis = (0..3).find(|&axis| (0..3).all(|other| other == axis || same(other)))?;
        if self.subresource != other.subresource || !touch(axis) {
            return None;
        }
        let mut joined = *self;
        joined.start[axis] = self.start[axis].min(other.start[axis]);
        joined.end[axis] = self.end[axis].max(other.end[axis]);
        Some(joined)
    }
}

/// A part of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole unit.
    Full,
    /// The part of the unit in a region.
    Region(Region),
}

/// The covered parts of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Coverage {
    None,
    Full,
    /// Boxes, in no particular order; they may overlap.
    Parts(Vec<Region>),
}

/// Maximum number of boxes per unit. If adding exceeds it, the whole unit counts as covered, in favour of the
/// application; if removing exceeds it, nothing does.
const MAX_PARTS: usize = 64;

impl Coverage {
    /// Returns whether a part is entirely covered.
    pub(super) fn covers(&self, part: Part) -> bool {
        match (self, part) {
            (Self::Full, _) => true,
            (Self::None, _) | (Self::Parts(_), Part::Full) => false,
            (Self::Parts(parts), Part::Region(region)) => {
                let mut left = vec![region];
                for part in parts {
                    left = left.iter().flat_map(|rest| rest.without(part)).collect();
                    if left.is_empty() {
                        return true;
                    }
                }
                false
            }
        }
    }

    /// Adds a part. `whole` is the region of the entire unit, if that is a single box.
    pub(super) fn add(&mut self, part: Part, whole: Option<Region>) {
        let region = match part {
            _ if *self == Self::Full => return,
            Part::Full => {
                *self = Self::Full;
                return;
            }
            Part::Region(region) => region,
        };
        if self.covers(part) {
            return;
        }
        let mut parts = match std::mem::replace(self, Self::Full) {
            Self::Parts(parts) => parts,
            Self::None | Self::Full => Vec::new(),
        };
        let mut joined = region;
        // Each join may enable another one.
        while let Some((index, both)) =
            parts.iter().enumerate().find_map(|(index, part)| Some((index, part.joined(&joined)?)))
        {
            parts.swap_remove(index);
            joined = both;
        }
        parts.push(joined);
        if parts.len() > MAX_PARTS {
            return;
        }
        let parts = Self::Parts(parts);
        if !whole.is_some_and(|whole| parts.covers(Part::Region(whole))) {
            *self = parts;
        }
    }

    /// Returns the covered boxes of a unit with the region `whole`.
    pub(super) fn regions(&self, whole: Region) -> Vec<Region> {
        match self {
            Self::None => Vec::new(),
            Self::Full => vec![whole],
            Self::Parts(parts) => parts.clone(),
        }
    }

    /// Removes a region. `whole` is the region of the entire unit, if that is a single box; without it, removing from a
    /// fully covered unit removes everything.
    pub(super) fn remove(&mut self, region: Region, whole: Option<Region>) {
        let parts = match (std::mem::replace(self, Self::None), whole) {
            (Self::Full, Some(whole)) => vec![whole],
            (Self::Parts(parts), _) => parts,
            (Self::None, _) | (Self::Full, None) => return,
        };
        let left: Vec<Region> = parts.iter().flat_map(|part| part.without(&region)).collect();
        if !left.is_empty() {
            *self = if left.len() > MAX_PARTS { Self::None } else { Self::Parts(left) };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 6;

    fn region() -> impl Strategy<Value = Region> {
        let axis = || (0..SIZE, 0..SIZE).prop_map(|(a, b)| (a.min(b), a.max(b) + 1));
        (0_u32..2, axis(), axis(), 0_u64..2).prop_map(|(subresource, x, y, z)| Region {
            subresource,
            start: [x.0, y.0, z],
            end: [x.1, y.1, z + 1],
        })
    }

    fn texels(region: Region) -> impl Iterator<Item = (u32, u64, u64, u64)> {
        let at = move |axis: usize| region.start[axis]..region.end[axis];
        at(0).flat_map(move |x| at(1).flat_map(move |y| at(2).map(move |z| (region.subresource, x, y, z))))
    }

    proptest! {
        #[test]
        fn a_coverage_is_a_set_of_texels(
            steps in proptest::collection::vec((any::<bool>(), region()), 0..24),
            asked in region(),
        ) {
            let mut coverage = Coverage::None;
            let mut set = std::collections::BTreeSet::new();
            for (is_added, region) in steps {
                if is_added {
                    coverage.add(Part::Region(region), None);
                    set.extend(texels(region));
                } else {
                    coverage.remove(region, None);
                    for texel in texels(region) {
                        set.remove(&texel);
                    }
                }
                prop_assert_eq!(
                    coverage.covers(Part::Region(asked)),
                    texels(asked).all(|texel| set.contains(&texel))
                );
            }
        }
    }

    #[test]
    fn parts_that_cover_everything_are_full_coverage() {
        let whole = Region::bytes(0, 256);
        let mut coverage = Coverage::None;
        for start in [192, 128, 64, 0] {
            assert!(!coverage.covers(Part::Region(whole)));
            coverage.add(Part::Region(Region::bytes(start, start + 64)), Some(whole));
        }
        assert_eq!(coverage, Coverage::Full);
        coverage.remove(Region::bytes(10, 20), Some(whole));
        assert!(coverage.covers(Part::Region(Region::bytes(20, 256))));
        assert!(!coverage.covers(Part::Region(Region::bytes(19, 21))));
    }

    #[test]
    fn too_many_parts_count_as_all() {
        let mut coverage = Coverage::None;
        for index in 0..=MAX_PARTS as u64 {
            assert_ne!(coverage, Coverage::Full);
            coverage.add(Part::Region(Region::bytes(index * 2, index * 2 + 1)), None);
        }
        assert_eq!(coverage, Coverage::Full);
    }
}
