//! Statistics of suballocators: usage and fragmentation of one heap or of several.
//!
//! | type | cost | reports |
//! |---|---|---|
//! | [`Statistics`] | O(1) | the used, free and padding bytes, and about the largest request that would succeed |
//! | [`DetailedStatistics`] | O(ranges) | the sizes of used and free ranges, and the fragmentation |
//!
//! Both can be added: `+=` and `sum()` combine the statistics of several heaps.
//!
//! # Fragmentation
//!
//! There are two kinds of unusable bytes, reported separately because the remedies differ.
//!
//! *Internal fragmentation* is the overhead of allocated ranges over the requested sizes:
//!
//! ```text
//!   padding / (used + padding)
//! ```
//!
//! It is the fraction of the taken bytes that no request asked for. Finer size classes reduce it. It is 0 if
//! nothing is taken.
//!
//! *External fragmentation* is the part of the free bytes that one request cannot have, because they are in
//! several ranges:
//!
//! ```text
//!   1 - largest free range / free
//! ```
//!
//! It is 0 if the free bytes are one range, and close to 1 if they are many small ranges. Moving used ranges
//! reduces it. It is 0 if nothing is free.
//!
//! A request is served by one of several heaps and never spans two. That is a consequence of how the heaps
//! were created, not of fragmentation within them, so it is not counted:
//!
//! ```text
//!   1 - (sum over the heaps of the largest free range in each) / (sum of their free bytes)
//! ```
//!
//! This is the mean over the heaps, weighted by the free bytes of each: two empty heaps are not fragmented.

mod detailed;
mod histogram;
mod range_statistics;
mod summary;

pub use detailed::DetailedStatistics;
pub use histogram::SizeHistogram;
pub use range_statistics::RangeStatistics;
pub use summary::Statistics;

use crate::ByteSize;

/// Returns `size / whole`, 0 to 1, or 0 if `whole` is zero.
#[expect(clippy::cast_precision_loss, reason = "15 significant digits suffice for a ratio")]
fn share(size: ByteSize, whole: ByteSize) -> f64 {
    if whole.is_zero() { 0.0 } else { size.get() as f64 / whole.get() as f64 }
}
