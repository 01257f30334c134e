//! The contents of a recording.

use std::path::PathBuf;

use bitflags::bitflags;

use crate::Error;

bitflags! {
    /// The events to record: `RECORD_FLAGS` of GPGMM.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct RecordFlags: u32 {
        /// Creation and destruction of objects.
        const API_OBJECTS = 0x1;
        /// Calls and their parameters.
        const API_CALLS = 0x2;
        /// The duration of calls.
        const API_TIMINGS = 0x4;
        /// Counters.
        const COUNTERS = 0x8;
        /// Everything that a replay needs: objects and calls.
        const CAPTURE = 0x3;
        /// Everything.
        const ALL = 0xff;
    }
}

/// The scope of a recording: `RECORD_SCOPE` of GPGMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum RecordScope {
    /// All instances of the process together.
    #[default]
    PerProcess,
    /// This instance only.
    PerInstance,
}

/// The events to record, and the output file: `RECORD_OPTIONS` of GPGMM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordOptions {
    /// The events to record; none by default. Then the [environment](crate::recording) may select some.
    pub flags: RecordFlags,
    /// The scope of the recording.
    pub scope: RecordScope,
    /// Whether statistics are gathered after each allocation, so that counters include every step.
    pub use_detailed_timing_events: bool,
    /// Path of the output file. `None` is `gpgmm_event_trace.json` in the working directory, or for [`RecordScope::PerInstance`] a new
    /// file `gpgmm_event_trace.1.json`, `gpgmm_event_trace.2.json` and so on. The extension `.hws` selects the
    /// [session format](crate::recording#files), and `.json` a Chrome trace; any other is an error.
    pub trace_file: Option<PathBuf>,
}

impl RecordOptions {
    pub(crate) fn check(&self, field: &'static str) -> Result<(), Error> {
        let unknown = self.flags.difference(RecordFlags::ALL);
        if unknown.is_empty() {
            return Ok(());
        }
        Err(Error::invalid_argument(field, format!("unknown flag bits {:#x}", unknown.bits())))
    }
}
