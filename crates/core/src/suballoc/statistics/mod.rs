//! How full a suballocator is, and in what pieces: of one heap, or of several together.
//!
//! | type | cost | answers |
//! |---|---|---|
//! | [`Statistics`] | O(1) | how much is used, free and padding, and about how large a request would be served |
//! | [`DetailedStatistics`] | O(ranges) | the sizes of used and free ranges, and how fragmented the heap is |
//!
//! Both add up: `+=` and `sum()` make the statistics of several heaps out of those of each.
//!
//! # Fragmentation
//!
//! Two things make bytes unusable, and they are told apart because the remedies differ.
//!
//! *Internal fragmentation* is what handing out costs beyond what was asked for:
//!
//! ```text
//!   padding / (used + padding)
//! ```
//!
//! The share of the bytes taken that nobody asked for; size classes that are finer make it smaller. It is 0 where nothing
//! is taken, as nothing is lost.
//!
//! *External fragmentation* is what one request cannot have of the bytes that are free, as they are in several pieces:
//!
//! ```text
//!   1 - largest free range / free
//! ```
//!
//! It is 0 when all that is free is one piece, and close to 1 when it is dust; moving what is used would make it smaller.
//! It is 0 where nothing is free, as nothing is in pieces.
//!
//! For several heaps together, a request gets one of them and never lies in two. That is how the heaps were made, and not
//! what happened in them, so it does not count as fragmentation:
//!
//! ```text
//!   1 - (sum over the heaps of the largest free range in each) / (sum of their free bytes)
//! ```
//!
//! This is the mean of the heaps' own, each weighted by what is free in it: two empty heaps are not fragmented.

mod detailed;
mod histogram;
mod range_statistics;
mod summary;

pub use detailed::DetailedStatistics;
pub use histogram::SizeHistogram;
pub use range_statistics::RangeStatistics;
pub use summary::Statistics;

use crate::ByteSize;

/// The part that `size` is of `whole`, 0 to 1; 0 of nothing is 0.
#[expect(clippy::cast_precision_loss, reason = "15 digits of a ratio are enough")]
fn share(size: ByteSize, whole: ByteSize) -> f64 {
    if whole.is_zero() { 0.0 } else { size.get() as f64 / whole.get() as f64 }
}
