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
//! A size is rounded up to its *class*. There are 8 classes per power of two, so a slot is larger than its
//! size by less than an eighth. A *slab* is a range
//! of the heap cut into slots of one class; a 64-bit word has a bit for each free slot. The slabs of a class
//! that have a free slot are linked in a ring, so an allocation is one bit scan in the first of them.
//!
//! # Slab size
//!
//! A new slab has a quarter of the slots that its class already has, from 8 to 64, and at most 256 KiB. A
//! rarely used class therefore costs little, and the free slots of a class's newest slab are a small part of
//! the class.
//!
//! # Host memory
//!
//! A slab takes 48 bytes and the owner's handle of its memory, and 16 bytes for each slot, where the number
//! of slots is rounded up to a power of two.

pub(crate) mod class;
mod slabs;
mod slots;
pub(crate) mod table;
#[cfg(test)]
mod tests;
