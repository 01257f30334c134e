//! Small buffers that share one resource.

mod backing_buffers;
mod buffer_sets;
mod eligibility;

pub(crate) use self::backing_buffers::{BackingBuffers, BackingSource, BufferRange};
pub(crate) use self::buffer_sets::BufferSets;
pub(crate) use self::eligibility::part_of;
