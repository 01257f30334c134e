//! Which free range serves a request.

/// The choice among the free ranges that hold a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FreeRangeChoice {
    /// A free range of similar size, so that large free ranges stay whole. O(1).
    #[default]
    MinMemory,
    /// The first free range found that is certain to fit. O(1).
    MinTime,
    /// The free range at the lowest offset, so that the upper end of the heap stays free. O(n) for n ranges,
    /// used and free.
    MinOffset,
}
