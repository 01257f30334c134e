//! The granularity of aliasing: the memory around its bytes that a resource owns.

use super::laws::AliasingLaws;

use std::ops::Range;

/// The granularity of buffers and of most textures (Microsoft's *Memory Aliasing and Data Inheritance*), in bytes.
pub(super) const KIB_64: u64 = 64 * 1024;

/// The granularity with which a resource owns memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granularity {
    /// A buffer at a multiple of 64 KiB.
    Buffer,
    /// A tightly aligned buffer, by its alignment. Our choice: the tight alignment specification does not mention
    /// aliasing.
    TightBuffer(u64),
    /// A texture, by its alignment: 4 KiB if it is small, less if it is tightly aligned.
    Texture(u64),
}

impl Granularity {
    fn own(self, laws: AliasingLaws) -> u64 {
        match self {
            Self::Buffer if laws.contains(AliasingLaws::BUFFERS_OWN_64_KIB) => KIB_64,
            Self::Buffer => 1,
            Self::TightBuffer(_) if laws.contains(AliasingLaws::TIGHT_BUFFERS_OWN_64_KIB) => KIB_64,
            Self::TightBuffer(alignment) => alignment,
            Self::Texture(alignment) if laws.contains(AliasingLaws::SMALL_TEXTURES_OWN_4_KIB) => alignment,
            Self::Texture(alignment) => alignment.max(KIB_64),
        }
    }

    /// Returns the granularity that applies between two resources.
    ///
    /// According to *Memory Aliasing and Data Inheritance*, the larger one applies. That document is older than tight
    /// alignment, and no document says whether tight alignment narrows aliasing. Two tightly aligned buffers are
    /// distinguished by their bytes, or tight alignment could not be used at all; next to a texture, 64 KiB apply.
    pub(super) fn of_pair(self, other: Self, laws: AliasingLaws) -> u64 {
        if let (Self::TightBuffer(one), Self::TightBuffer(two)) = (self, other) {
            return one.max(two);
        }
        let (one, two) = (self.own(laws), other.own(laws));
        if laws.contains(AliasingLaws::LARGER_GRANULARITY) { one.max(two) } else { one.min(two) }
    }

    /// Returns the largest granularity that can apply to the resource.
    pub(super) fn largest(self) -> u64 {
        match self {
            Self::Buffer | Self::TightBuffer(_) => KIB_64,
            Self::Texture(alignment) => alignment.max(KIB_64),
        }
    }
}

/// Expands a range to whole granules.
pub(super) fn expand(range: &Range<u64>, granule: u64) -> Range<u64> {
    let granule = granule.max(1);
    let end = range.end.checked_next_multiple_of(granule).unwrap_or(u64::MAX);
    range.start - range.start % granule..end
}

/// Returns the intersection of two ranges, which may be empty.
pub(super) fn common(one: &Range<u64>, two: &Range<u64>) -> Range<u64> {
    let start = one.start.max(two.start);
    start..one.end.min(two.end).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB_4: u64 = 4 * 1024;

    #[test]
    fn the_larger_granularity_applies_except_for_tight_buffers() {
        let laws = AliasingLaws::D3D12;
        let small = Granularity::Texture(KIB_4);
        assert_eq!(small.of_pair(small, laws), KIB_4);
        assert_eq!(small.of_pair(Granularity::Texture(256), laws), KIB_4);
        assert_eq!(Granularity::Texture(256).of_pair(Granularity::Texture(512), laws), 512);
        assert_eq!(small.of_pair(Granularity::Buffer, laws), KIB_64);
        assert_eq!(Granularity::Buffer.of_pair(Granularity::Texture(4 << 20), laws), 4 << 20);
        let tight = Granularity::TightBuffer;
        assert_eq!(tight(8).of_pair(tight(256), laws), 256);
        assert_eq!(tight(8).of_pair(small, laws), KIB_64);
        assert_eq!(tight(8).of_pair(Granularity::Buffer, laws), KIB_64);
    }

    #[test]
    fn ranges_grow_to_whole_granules() {
        assert_eq!(expand(&(1..2), KIB_64), 0..KIB_64);
        assert_eq!(expand(&(0..KIB_64), KIB_64), 0..KIB_64);
        assert_eq!(expand(&(5..u64::MAX), KIB_64).end, u64::MAX);
        assert!(common(&(0..4), &(4..8)).is_empty());
        assert_eq!(common(&(0..6), &(4..8)), 4..6);
    }
}
