//! Errors of the allocator or the device that a replay found. Each sets exit code 1.

use std::fmt;

use heapwright::{ByteSize, HeapType, SegmentGroup, VideoMemoryInfo};

use super::verify::Fault;
use crate::format;

/// An error that a replay found. Its `Display` form is one line.
#[derive(Clone, Debug)]
pub(super) enum Finding {
    /// Allocations returned an error.
    Failures(Box<Failures>),
    /// A check of `--verify` failed.
    Fault { location: String, fault: Fault },
    /// More checks of `--verify` failed than are listed.
    MoreFaults { path: String, count: u64 },
    /// The allocator holds memory after all buffers were dropped.
    Held { path: String, used: ByteSize, reserved: ByteSize },
    /// The adapter's CurrentUsage differs from that before the replay, after all memory was released.
    Usage { path: String, segment_group: SegmentGroup, before: ByteSize, after: ByteSize },
}

/// Number of failed allocations, and the state at the first failure.
#[derive(Clone, Debug)]
pub(super) struct Failures {
    /// File and line of the first failed allocation.
    pub(super) location: String,
    pub(super) failure_count: u64,
    pub(super) allocation_count: u64,
    pub(super) id: u64,
    pub(super) size: ByteSize,
    pub(super) heap_type: HeapType,
    /// Sum of the requested sizes of the live buffers.
    pub(super) live: ByteSize,
    /// Bytes in the allocator's heaps.
    pub(super) reserved: ByteSize,
    /// Budget and usage of the heap type's segment group, or `None` without an adapter.
    pub(super) video_memory: Option<VideoMemoryInfo>,
    /// The library's error message.
    pub(super) error: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failures(failures) => failures.fmt(f),
            Self::Fault { location, fault } => write!(f, "{location}: {fault}"),
            Self::MoreFaults { path, count } => {
                write!(f, "{path}: {}", format::count_of(*count, "more error"))
            }
            Self::Held { path, used, reserved } => write!(
                f,
                "{path}: the allocator still has {} bytes in allocations and {} bytes in heaps after all buffers were dropped",
                used.get(),
                reserved.get()
            ),
            Self::Usage { path, segment_group, before, after } => write!(
                f,
                "{path}: CurrentUsage of the {segment_group} segment group changed from {} to {} bytes, although all memory \
                 was released",
                before.get(),
                after.get()
            ),
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { location, id, heap_type, live, reserved, error, .. } = self;
        write!(
            f,
            "{location}: {} of {} failed; first failure: {} for id {id} in {heap_type} heaps, with {live} live",
            format::count(self.failure_count),
            format::count_of(self.allocation_count, "allocation"),
            self.size,
        )?;
        match self.video_memory {
            Some(VideoMemoryInfo { budget, current_usage, .. }) => {
                write!(
                    f,
                    ", {reserved} reserved and CurrentUsage at {current_usage} of a budget of {budget}: {error}"
                )
            }
            None => {
                write!(f, " and {reserved} reserved (usage and budget unknown without an adapter): {error}")
            }
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
    fn failures_describe_the_first() {
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
            "t.csv:7: 1,200 of 4,000 allocations failed; first failure: 3.00 MiB for id 5 in GPU_UPLOAD heaps, with \
             250.00 MiB live, 255.00 MiB reserved and CurrentUsage at 256.00 MiB of a budget of 256.00 MiB: no space"
        );
        assert_eq!(
            Finding::Failures(Box::new(without_adapter)).to_string(),
            "t.csv:7: 1,200 of 4,000 allocations failed; first failure: 3.00 MiB for id 5 in GPU_UPLOAD heaps, with \
             250.00 MiB live and 255.00 MiB reserved (usage and budget unknown without an adapter): no space"
        );
    }

    #[test]
    fn unreleased_memory_is_reported_in_bytes() {
        let path = || "t.csv".to_owned();
        assert_eq!(
            Finding::Held { path: path(), used: ByteSize::ZERO, reserved: mib(1) }.to_string(),
            "t.csv: the allocator still has 0 bytes in allocations and 1048576 bytes in heaps after all buffers were dropped"
        );
        let usage = Finding::Usage {
            path: path(),
            segment_group: SegmentGroup::NonLocal,
            before: ByteSize::ZERO,
            after: ByteSize::new(65_537),
        };
        assert_eq!(
            usage.to_string(),
            "t.csv: CurrentUsage of the non-local segment group changed from 0 to 65537 bytes, although all memory was \
             released"
        );
        assert_eq!(Finding::MoreFaults { path: path(), count: 1 }.to_string(), "t.csv: 1 more error");
    }
}
