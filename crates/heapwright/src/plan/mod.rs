//! The needs of a requested resource, and the placements that it may have: pure values, without a device or a lock.

mod decision;
mod order;
mod request;

pub use self::decision::{Placement, PlacementDecision, PlacementReason};
pub(crate) use self::order::{Facts, order};
pub(crate) use self::request::{Constraints, ResourceRequest, foreign_heap_flags};
