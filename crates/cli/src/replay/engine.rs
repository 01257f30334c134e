//! Replays one trace: calls and clocks, no printing.

use heapwright::d3d12::{
    D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_GENERIC_READ,
    D3D12_RESOURCE_STATES, ID3D12Device, IDXGIAdapter3,
};
use heapwright::{
    ByteSize, Error, GpuVirtualAddress, HeapType, ResourceAllocation, ResourceAllocationDesc,
    ResourceAllocator, SegmentGroup, VideoMemoryInfo, buffer_desc,
};
use heapwright_trace::{AllocationIndex, Event, EventKind, Location, Trace};

use super::configuration::Configuration;
use super::finding::{Failures, Finding};
use super::report::{self, ReplayReport};
use super::timing::{Samples, Stopwatch};
use super::verify::{Buffer, Found, Verifier};

/// How to replay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) heap_type: HeapType,
    /// Needs a heap type that the CPU can write to.
    pub(super) verify: bool,
    pub(super) configuration: Configuration,
}

/// What came of it.
pub(super) struct Replayed {
    pub(super) report: ReplayReport,
    /// Empty if all is well.
    pub(super) findings: Vec<Finding>,
}

/// Replays `trace` through a fresh allocator on `device`, whose memory `adapter` accounts for and which nothing else
/// uses meanwhile. `progress` hears now and then, between calls that are timed, how many events are done.
///
/// An allocation that fails is counted, its free left out, and the replay goes on.
///
/// # Errors
///
/// If the allocator cannot be created, or the adapter does not answer.
pub(super) fn replay(
    trace: &Trace,
    device: &ID3D12Device,
    adapter: &IDXGIAdapter3,
    settings: Settings,
    progress: &mut dyn FnMut(usize),
) -> Result<Replayed, Error> {
    let usage_before = Usage::query(adapter)?;
    let mut replay = Replay::new(trace, device, adapter, settings)?;
    for (event_index, event) in trace.events().iter().enumerate() {
        if event_index.is_multiple_of(EVENTS_PER_PROGRESS) {
            progress(event_index);
        }
        match event.kind {
            EventKind::Alloc => replay.allocate(event_index, event)?,
            EventKind::Free => replay.free(event_index, event),
        }
        replay.peak_reserved = replay.peak_reserved.max(replay.allocator.stats().reserved);
    }
    replay.finish(usage_before)
}

/// Rare enough to cost nothing, often enough for a bar that moves.
const EVENTS_PER_PROGRESS: usize = 1024;

/// A replay under way.
struct Replay<'a> {
    trace: &'a Trace,
    adapter: &'a IDXGIAdapter3,
    heap_type: HeapType,
    configuration: Configuration,
    allocator: ResourceAllocator,
    allocation_desc: ResourceAllocationDesc<'static>,
    initial_state: D3D12_RESOURCE_STATES,
    /// By allocation index; empty before it is created, after it is freed, and if it failed.
    buffers: Vec<Option<ResourceAllocation>>,
    stopwatch: Stopwatch,
    alloc_times: Samples,
    free_times: Samples,
    /// Bytes of the buffers that exist, as the trace asked for them.
    live: u64,
    peak_reserved: ByteSize,
    failures: Option<Box<Failures>>,
    verifier: Option<Verifier<'a>>,
}

impl<'a> Replay<'a> {
    fn new(
        trace: &'a Trace,
        device: &ID3D12Device,
        adapter: &'a IDXGIAdapter3,
        settings: Settings,
    ) -> Result<Self, Error> {
        let Settings { heap_type, verify, configuration } = settings;
        let allocator = ResourceAllocator::new(device, Some(adapter), configuration.desc())?;
        let verifier = verify.then(|| Verifier::new(trace, allocator.caps().buffer_alignment));
        let alloc_count = trace.allocation_count();
        Ok(Self {
            trace,
            adapter,
            heap_type,
            configuration,
            allocator,
            allocation_desc: ResourceAllocationDesc::new(heap_type),
            initial_state: initial_state(heap_type),
            buffers: std::iter::repeat_with(|| None).take(alloc_count).collect(),
            stopwatch: Stopwatch::calibrate(),
            alloc_times: Samples::with_capacity(alloc_count),
            free_times: Samples::with_capacity(trace.events().len() - alloc_count),
            live: 0,
            peak_reserved: ByteSize::ZERO,
            failures: None,
            verifier,
        })
    }

    fn allocate(&mut self, event_index: usize, event: &Event) -> Result<(), Error> {
        let desc = buffer_desc(event.size);
        let (created, time) = self
            .stopwatch
            .time(|| self.allocator.create_resource(&self.allocation_desc, &desc, self.initial_state, None));
        match created {
            Ok(mut buffer) => {
                self.alloc_times.push(time);
                self.live += event.size.get();
                if let Some(verifier) = &mut self.verifier {
                    verifier.after_create(event_index, &mut buffer);
                }
                self.buffers[event.allocation.as_usize()] = Some(buffer);
                Ok(())
            }
            Err(error) => self.count_failure(event_index, event, &error),
        }
    }

    fn free(&mut self, event_index: usize, event: &Event) {
        // Empty if the allocation failed.
        let Some(mut buffer) = self.buffers[event.allocation.as_usize()].take() else { return };
        if let Some(verifier) = &mut self.verifier {
            verifier.before_free(event_index, &mut buffer);
        }
        let ((), time) = self.stopwatch.time(|| drop(buffer));
        self.free_times.push(time);
        self.live -= event.size.get();
    }

    fn count_failure(&mut self, event_index: usize, event: &Event, error: &Error) -> Result<(), Error> {
        if let Some(failures) = &mut self.failures {
            failures.failure_count += 1;
            return Ok(());
        }
        let group = self.allocator.caps().segment_group(self.heap_type);
        self.failures = Some(Box::new(Failures {
            location: self.trace.location(event_index).to_string(),
            failure_count: 1,
            allocation_count: self.trace.allocation_count() as u64,
            id: self.trace.id(event.allocation),
            size: event.size,
            heap_type: self.heap_type,
            live: ByteSize::new(self.live),
            reserved: self.allocator.stats().reserved,
            video_memory: VideoMemoryInfo::query(self.adapter, group)?,
            error: error.to_string(),
        }));
        Ok(())
    }

    /// Drops what is left, and looks whether all memory has come back.
    fn finish(mut self, usage_before: Usage) -> Result<Replayed, Error> {
        self.drop_buffers();
        self.allocator.release_empty_heaps();
        let stats = self.allocator.stats();
        let usage_after = Usage::query(self.adapter)?;

        let path = || Location { path: self.trace.path(), line: None }.to_string();
        let mut findings = Vec::new();
        let failure_count = self.failures.as_ref().map_or(0, |failures| failures.failure_count);
        findings.extend(self.failures.take().map(Finding::Failures));
        if let Some(verifier) = self.verifier.take() {
            let Found { faults, unlisted } = verifier.into_found();
            findings.extend(faults.into_iter().map(|(event_index, fault)| Finding::Fault {
                location: self.trace.location(event_index).to_string(),
                fault,
            }));
            if unlisted > 0 {
                findings.push(Finding::MoreFaults { path: path(), count: unlisted });
            }
        }
        if !(stats.used.is_zero() && stats.reserved.is_zero()) {
            findings.push(Finding::Held { path: path(), used: stats.used, reserved: stats.reserved });
        }
        for (segment_group, before, after) in [
            (SegmentGroup::Local, usage_before.local, usage_after.local),
            (SegmentGroup::NonLocal, usage_before.non_local, usage_after.non_local),
        ] {
            if before != after {
                findings.push(Finding::Usage { path: path(), segment_group, before, after });
            }
        }
        let report = self.report(stats.heaps_created, failure_count);
        Ok(Replayed { report, findings })
    }

    fn drop_buffers(&mut self) {
        for (index, slot) in (0..).zip(&mut self.buffers) {
            if let (Some(buffer), Some(verifier)) = (&mut *slot, &mut self.verifier) {
                verifier.at_end(AllocationIndex::new(index), buffer);
            }
            *slot = None;
        }
    }

    fn report(&self, heaps_created: u64, failures: u64) -> ReplayReport {
        let peak_live_bytes = self.trace.peak_live().get();
        let peak_reserved_bytes = self.peak_reserved.get();
        ReplayReport {
            trace: self.trace.name().to_owned(),
            configuration: self.configuration,
            events: self.trace.events().len() as u64,
            allocations: self.trace.allocation_count() as u64,
            peak_live_bytes,
            peak_reserved_bytes,
            overhead: report::overhead(peak_reserved_bytes, peak_live_bytes),
            heaps_created,
            alloc_ns: self.alloc_times.percentiles(),
            free_ns: self.free_times.percentiles(),
            mean_op_ns: self.alloc_times.mean_with(&self.free_times).map(|mean| report::round(mean, 10.0)),
            failures,
        }
    }
}

/// What the adapter counts for this process.
#[derive(Clone, Copy, Debug)]
struct Usage {
    local: ByteSize,
    non_local: ByteSize,
}

impl Usage {
    fn query(adapter: &IDXGIAdapter3) -> Result<Self, Error> {
        let query = |group| VideoMemoryInfo::query(adapter, group);
        Ok(Self {
            local: query(SegmentGroup::Local)?.current_usage,
            non_local: query(SegmentGroup::NonLocal)?.current_usage,
        })
    }
}

/// The state that a buffer of a heap type must be created in.
fn initial_state(heap_type: HeapType) -> D3D12_RESOURCE_STATES {
    match heap_type {
        HeapType::Upload => D3D12_RESOURCE_STATE_GENERIC_READ,
        HeapType::Readback => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

impl Buffer for ResourceAllocation {
    fn size(&self) -> ByteSize {
        Self::size(self)
    }

    fn gpu_virtual_address(&self) -> Option<GpuVirtualAddress> {
        Self::gpu_virtual_address(self)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), String> {
        self.map().and_then(|mut mapping| mapping.write(offset, bytes)).map_err(|error| error.to_string())
    }

    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), String> {
        self.map().and_then(|mapping| mapping.read(offset, bytes)).map_err(|error| error.to_string())
    }
}
