//! Small buffers that share one resource.

mod backing_buffers;

pub(crate) use self::backing_buffers::{
    BELOW, BackingBuffers, BackingSource, BufferRange, BufferSets, SurveyedBuffer, canonical_state,
};
