//! TLSF, two-level segregated fit: a good fit in constant time.
//!
//! After M. Masmano, I. Ripoll, A. Crespo and J. Real, "TLSF: a new dynamic memory allocator for real-time systems"
//! (ECRTS 2004). Three things differ: the notes are kept outside the memory; alignment is any power of two, without
//! searching for the size plus the alignment first; and a few free ranges that may fit are looked at before one that
//! must, which saves memory.
//!
//! ```text
//!   first level                  second level                   bins
//!   one bit per power of two     one bit per 1/32 of it         rings of free ranges of one size class
//!   .. 0 1 0 0 1 1 0 ..    -->   .. 0 0 1 0 0 1 0 ..      -->   64 KiB - 65.5 KiB - 64 KiB
//!      two bit scans find the lowest class, from a given one up, that has a free range in it
//! ```
//!
//! # What is kept
//!
//! - A *node* of 32 bytes for each range, used or free, linked to its neighbours in address order.
//! - The free ones are also linked into the *bin* of their size: one bin per size below 64 bytes, then 32 bins for each
//!   power of two, so that sizes in one bin differ by less than 1/32.
//! - Two levels of bitmaps say which bins are not empty.
//!
//! A bin costs 32 bytes, whether it is in use or not: 22 KiB for a heap of 64 MiB, 59 KiB for the largest.
//!
//! # Invariants
//!
//! [`Tlsf::audit`] checks each of them:
//!
//! - the ranges cover the heap from end to end, without gap or overlap;
//! - no two free ranges are neighbours: freeing coalesces at once;
//! - each free range is in the bin of its size, and in no other;
//! - a bit is set exactly when its bin, or its word of the second level, has something in it;
//! - the counters are the sums they claim to be;
//! - once something was allocated at the lowest offset, a tree has each free range in the order of offsets;
//! - when nothing is used, there is one free range and no trace of what was there before.
//!
//! # What it does not do
//!
//! A good fit is not the best fit: [`Tlsf::allocate`] says what is certain. Ranges never move, so a heap may refuse a
//! request that its free bytes together could hold. Among equal free ranges, the one freed last is taken; preferring
//! the lowest was measured on 2026-11-21, and cost 8 ns of 45 without lowering the peak of any of five real traces.

mod audit;
mod bins;
mod last_resort;
mod nodes;
mod numbering;
mod offset_index;
mod ranges;
mod search;
mod suballocator;
#[cfg(test)]
mod tests;

pub use ranges::Ranges;
pub(crate) use search::Placement;
pub use suballocator::Tlsf;
