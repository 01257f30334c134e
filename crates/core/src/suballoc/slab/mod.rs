//! Slabs: slots of few sizes, found by a bit scan.
//!
//! ```text
//!   class      640 B              768 B                    896 B
//!   ring        -                 slab - slab              slab
//!                                 |      |
//!                                 |      free slots 0011
//!                                 free slots 0100...        one word, so at most 64 slots
//! ```
//!
//! A size is rounded up to its *class*, 8 for each power of two, so that a slot is larger than its size by less than an
//! eighth (unless the heap is full, when a larger slot is better than none). A *slab* is a stretch of the heap cut into slots of one class; a word has a bit for each slot that is free. The
//! slabs of a class that have room are in a ring, so an allocation is one bit scan in the first of them.
//!
//! # How large a slab is
//!
//! A new slab has a quarter of the slots that its class has already, from 8 to 64, and 256 KiB at most. So a class that is used
//! little costs little, and the slots that are free in a class's newest slab are a small part of it.
//!
//! # What is kept
//!
//! Beside the heap: 48 bytes for a slab and what is held for its memory, and 16 for each slot; a slab has numbers for as many
//! slots as the next power of two.
//!
//! # Invariants
//!
//! [`Slabs::audit`] checks each of them:
//!
//! - each slab lies in a used range of the heap that is its own, from end to end;
//! - a slab with a free slot is in the ring of its class, and in no other; those without a used slot come last;
//! - the sets of classes that have room, or an empty slab, are right;
//! - the counters are the sums they claim to be;
//! - when nothing is live there is no slab.

mod audit;
pub(crate) mod class;
mod class_set;
mod slabs;
mod slots;
mod suballocator;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub use suballocator::Slabs;
