//! The heaps of an allocator: which heap serves a request, and what becomes of empty ones.
//!
//! | file | contents |
//! |---|---|
//! | `take` | the steps by which a request gets a range of a heap; the range, and the resource that is placed in it |
//! | `committed` | a resource with memory of its own |
//! | `heap_kinds` | [`HeapKinds`]: all heaps of an allocator, and those of other allocators that they may use |
//! | `room` | which empty heaps are released for new memory, and when |
//! | `typed_heaps`, `set_desc` | [`TypedHeaps`]: the heaps of one kind, and the set that divides them and keeps the empty ones |
//! | `prefetch` | heaps that are created in advance |
//! | `striped` | references that are counted per thread |

mod committed;
mod heap_kinds;
mod prefetch;
mod room;
mod set_desc;
mod striped;
mod take;
mod typed_heaps;

pub(crate) use self::committed::OwnResource;
pub(crate) use self::heap_kinds::HeapKinds;
pub(crate) use self::room::Nearness;
pub(crate) use self::set_desc::TypedHeapsDesc;
pub(crate) use self::striped::{Stripe, Striped};
pub(crate) use self::take::PlacedRange;
pub use self::take::PredictedMemory;
pub(crate) use self::typed_heaps::{Passed, TypedHeaps};
