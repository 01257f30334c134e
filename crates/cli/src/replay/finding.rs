//! What a replay found wrong with the allocator or the device: each makes the program exit with 1.

use std::fmt;

use heapwright::{ByteSize, HeapType, SegmentGroup, VideoMemoryInfo};

use super::verify::Fault;
use crate::format;

/// One line for standard error.
#[derive(Clone, Debug)]
pub(super) enum Finding {
    /// Allocations returned an error.
    Failures(Box<Failures>),
    /// A check of `--verify` failed.
    Fault { location: String, fault: Fault },
    /// More checks failed than are worth listing.
    MoreFaults { path: String, count: u64 },
    /// After everything was dropped the allocator still holds memory.
    Held { path: String, used: ByteSize, reserved: ByteSize },
    /// After everything was given back the adapter counts other usage than before the replay.
    Usage { path: String, segment_group: SegmentGroup, before: ByteSize, after: ByteSize },
}

/// How many allocations failed, and the situation when the first did.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    /// File and line of the first.
    pub(super) location: String,
    pub(super) failure_count: u64,
    pub(super) allocation_count: u64,
    pub(super) id: u64,
    pub(super) size: ByteSize,
    pub(super) heap_type: HeapType,
    /// Bytes live then, as the trace asked for them; what failed is not live.
    pub(super) live: ByteSize,
    /// Bytes that the allocator held in heaps then.
    pub(super) reserved: ByteSize,
    /// The segment group that the heap type lies in; nothing where there is no adapter.
    pub(super) video_memory: Option<VideoMemoryInfo>,
    /// The library's words.
    pub(super) error: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failures(failures) => failures.fmt(f),
            Self::Fault { location, fault } => write!(f, "{location}: {fault}"),
            Self::MoreFaults { path, count } => {
                write!(f, "{path}: {} more not listed", format::count_of(*count, "fault"))
            }
            Self::Held { path, used, reserved } => write!(
                f,
                "{path}: after everything was dropped the allocator still uses {} bytes and holds {} in heaps",
                used.get(),
                reserved.get()
            ),
            Self::Usage { path, segment_group, before, after } => write!(
                f,
                "{path}: after everything was given back CurrentUsage of the {segment_group} segment group is {} bytes, \
                 and was {} before",
                after.get(),
                before.get()
            ),
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { location, id, heap_type, live, reserved, error, .. } = self;
        write!(
            f,
            "{location}: {} of {} failed; the first, {} for id {id} in {heap_type} heaps, when {live} were live",
            format::count(self.failure_count),
            format::count_of(self.allocation_count, "allocation"),
            self.size,
        )?;
        match self.video_memory {
            Some(VideoMemoryInfo { budget, current_usage, .. }) => {
                write!(
                    f,
                    ", {reserved} reserved and CurrentUsage {current_usage} of a budget of {budget}: {error}"
                )
            }
            None => write!(f, " and {reserved} reserved (no adapter says usage and budget): {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(count: u64) -> ByteSize {
        ByteSize::from_mib(count)
    }

    #[test]
    fn failures_tell_the_situation_of_the_first() {
        let failures = Failures {
            location: "t.csv:7".to_owned(),
            failure_count: 1_200,
            allocation_count: 4_000,
            id: 5,
            size: mib(3),
            heap_type: HeapType::GpuUpload,
            live: mib(250),
            reserved: mib(255),
            video_memory: Some(VideoMemoryInfo {
                budget: mib(256),
                current_usage: mib(256),
                available_for_reservation: mib(0),
                current_reservation: mib(0),
            }),
            error: "no space".to_owned(),
        };
        let without_adapter = Failures { video_memory: None, ..failures.clone() };
        assert_eq!(
            Finding::Failures(Box::new(failures)).to_string(),
            "t.csv:7: 1,200 of 4,000 allocations failed; the first, 3.00 MiB for id 5 in GPU_UPLOAD heaps, when 250.00 MiB \
             were live, 255.00 MiB reserved and CurrentUsage 256.00 MiB of a budget of 256.00 MiB: no space"
        );
        assert_eq!(
            Finding::Failures(Box::new(without_adapter)).to_string(),
            "t.csv:7: 1,200 of 4,000 allocations failed; the first, 3.00 MiB for id 5 in GPU_UPLOAD heaps, when 250.00 MiB \
             were live and 255.00 MiB reserved (no adapter says usage and budget): no space"
        );
    }

    #[test]
    fn memory_that_does_not_come_back_is_told_in_exact_bytes() {
        let path = || "t.csv".to_owned();
        assert_eq!(
            Finding::Held { path: path(), used: ByteSize::ZERO, reserved: mib(1) }.to_string(),
            "t.csv: after everything was dropped the allocator still uses 0 bytes and holds 1048576 in heaps"
        );
        let usage = Finding::Usage {
            path: path(),
            segment_group: SegmentGroup::NonLocal,
            before: ByteSize::ZERO,
            after: ByteSize::new(65_537),
        };
        assert_eq!(
            usage.to_string(),
            "t.csv: after everything was given back CurrentUsage of the non-local segment group is 65537 bytes, and was 0 \
             before"
        );
        assert_eq!(
            Finding::MoreFaults { path: path(), count: 1 }.to_string(),
            "t.csv: 1 fault more not listed"
        );
    }
}
