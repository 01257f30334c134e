//! The options of a replay.

use heapwright::{HeapType, RecordOptions};

use super::configuration::Configuration;

/// Options of a replay.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) heap_type: HeapType,
    /// Whether buffers are checked. Requires a heap type that the CPU can write to.
    pub(super) verify: bool,
    pub(super) configuration: Configuration,
    /// Options to set in addition.
    pub(super) options: Vec<(String, String)>,
    /// Whether resources are created as recorded, rather than as buffers of the recorded sizes.
    pub(super) as_recorded: bool,
    /// Whether the adapter's CurrentUsage after the replay must equal that before it.
    pub(super) compare_usage: bool,
    /// Whether the replay must be exact if the recording is complete.
    pub(super) is_exact: bool,
    /// Recording of the allocators, which the environment may request without it.
    pub(super) record_options: RecordOptions,
}
