//! Small buffers that share one resource.

mod backing_buffers;
mod eligibility;

pub(crate) use self::backing_buffers::{BackingBuffers, BackingSource, BufferRange, BufferSets};
pub(crate) use self::eligibility::part_of;
