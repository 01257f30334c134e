//! What a recording will hold.

use std::path::PathBuf;

use bitflags::bitflags;

bitflags! {
    /// What is recorded: `RECORD_FLAGS` (document GPGMM).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct RecordFlags: u32 {
        /// The lives of objects.
        const API_OBJECTS = 0x1;
        /// Calls and their parameters.
        const API_CALLS = 0x2;
        /// How long calls took.
        const API_TIMINGS = 0x4;
        /// Counters.
        const COUNTERS = 0x8;
        /// What replaying needs: objects and calls.
        const CAPTURE = 0x3;
        /// Everything.
        const ALL = 0xff;
    }
}

/// How far a recording reaches: `RECORD_SCOPE` (document GPGMM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RecordScope {
    /// All instances of the process together.
    #[default]
    PerProcess,
    /// This one.
    PerInstance,
}

/// What is recorded, and where to: `RECORD_OPTIONS` (document GPGMM).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordOptions {
    /// Nothing by default. This version does not record yet, and refuses anything else.
    pub flags: RecordFlags,
    /// How far it reaches.
    pub scope: RecordScope,
    /// Whether statistics are gathered after each allocation, so that counters have every step.
    pub use_detailed_timing_events: bool,
    /// The file; `None` is `gpgmm_event_trace.json` in the working directory.
    pub trace_file: Option<PathBuf>,
}
