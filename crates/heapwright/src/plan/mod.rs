//! What a resource that is asked for needs, and which placements it may have: values alone, no device and no lock.

mod decision;
mod order;
mod request;

pub use self::decision::{Decision, Placement, Reason};
pub(crate) use self::order::{Facts, order};
pub(crate) use self::request::{Constraints, ResourceRequest, foreign_heap_flags};
